"""A deep stack compiled as one graph, and module by module: seconds, and memory of the plans.

Run ``python -m benchmarks.modules`` (``--json`` for scripts). Blocks of attention and dense
layers, as in BERT, are compiled for the first time, called again, and compiled once more after
one block was changed. Kernels are kept in a folder of this run, so that the first compilation
finds none.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import cellwire as cw
import numpy as np
from cellwire import nn, ops

BLOCKS = 6
WIDTH = 64
HEADS = 4
BATCH, LENGTH = 8, 32


class Block(nn.Cell):
    """Attention over a sequence, then two dense layers, each with a sum and a norm."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.mix = nn.Dense(width, 3 * width)
        self.out = nn.Dense(width, width)
        self.first, self.second = nn.Dense(width, inner), nn.Dense(inner, width)
        self.before, self.after = nn.LayerNorm((width,)), nn.LayerNorm((width,))

    def construct(self, x: cw.Tensor) -> cw.Tensor:
        """Return ``[batch, length, width]`` of the same."""
        batch, length, width = x.shape
        parts = self.mix(x).reshape(batch, length, 3, HEADS, width // HEADS)
        q, k, v = (parts[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
        scores = ops.softmax(q @ k.swapaxes(-1, -2) / (width // HEADS) ** 0.5, -1)
        mixed = (scores @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)
        x = self.before(x + self.out(mixed))
        return self.after(x + self.second(ops.gelu(self.first(x))))


def stack(blocks: int) -> list[Block]:
    """Return blocks of one shape."""
    return [Block(WIDTH, 2 * WIDTH) for _ in range(blocks)]


def whole(blocks: list[Block]) -> tuple[Callable[[Any], Any], list[Any]]:
    """Return the stack as one compiled function, and what is compiled."""
    made = cw.jit(nn.SequentialCell(*blocks), fullgraph=True)
    return made, [made]


def split(blocks: list[Block], known: dict[int, Any]) -> tuple[Callable[[Any], Any], list[Any]]:
    """Return the stack with each block compiled by itself; blocks in ``known`` are compiled."""
    parts = [known.setdefault(id(b), cw.jit(b, fullgraph=True)) for b in blocks]

    def call(x: Any) -> Any:
        for part in parts:
            x = part(x)
        return x

    return call, parts


def seconds(call: Callable[[Any], Any], x: cw.Tensor) -> float:
    """Return what one call takes, until its result is there."""
    began = time.perf_counter()
    call(x).asnumpy()
    return time.perf_counter() - began


def measure(blocks: int = BLOCKS) -> dict[str, dict[str, float]]:
    """Return seconds of the first call, of a later one and of one after an edit, and bytes."""
    draw = np.random.default_rng(0)
    x = cw.Tensor(draw.standard_normal((BATCH, LENGTH, WIDTH)).astype(np.float32))
    found: dict[str, dict[str, float]] = {}
    cells, known = stack(blocks), {}
    edited = [*cells[:-1], Block(WIDTH, 3 * WIDTH)]
    ways: dict[str, Callable[[list[Block]], Any]] = {
        "one graph": whole,
        "module by module": lambda chosen: split(chosen, known),
    }
    for name, way in ways.items():
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.dict(os.environ, CELLWIRE_CACHE_DIR=folder),
        ):
            call, parts = way(cells)
            row = {"first": seconds(call, x)}
            row["later"] = min(seconds(call, x) for _ in range(5))
            plans = [part.explain(x).report for part in parts]
            row["arena bytes"] = max(plan.arena_bytes for plan in plans)
            changed, _ = way(edited)
            row["after an edit"] = seconds(changed, x)
            found[name] = row
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.blocks)
    if options.json:
        json.dump(found, sys.stdout, indent=1)
        return
    heads = list(found["one graph"])
    print(" " * 18 + "".join(f"{head:>15}" for head in heads))
    for name, row in found.items():
        print(f"{name:18}" + "".join(f"{row[head]:15.4f}" for head in heads))


if __name__ == "__main__":
    main()
