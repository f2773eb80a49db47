"""Whether memory stays flat: training steps of ever other lengths, and steps that fail.

Run ``python -m benchmarks.memory`` (``--steps 10000``, ``--json`` for scripts). Two runs, each of
so many steps of a small model with its optimizer: first every step has another sequence length,
drawn from 1 to 10,000; then every step raises an exception in the forward pass. At intervals the
resident memory of the process and the number of live tensors are printed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
from cellwire import nn, ops

LONGEST = 10_000
WIDTH = 8


class Pooled(nn.Cell):
    """A layer on each element of a sequence, attention over them, and a class for the whole."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Dense(WIDTH, WIDTH, activation="relu")
        self.norm = nn.LayerNorm((WIDTH,))
        self.score = nn.Dense(WIDTH, 1)
        self.head = nn.Dense(WIDTH, 3)

    def construct(self, x: cw.Tensor) -> cw.Tensor:
        """Return logits ``[batch, 3]`` of ``[batch, length, WIDTH]``."""
        hidden = self.norm(self.layer(x))
        weights = ops.softmax(self.score(hidden), 1)
        return self.head((hidden * weights).sum(1))


def resident_mib() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def live_tensors() -> int:
    """Return how many tensors exist."""
    gc.collect()
    return sum(issubclass(type(item), cw.Tensor) for item in gc.get_objects())


def training_step(fails: Callable[[], bool]) -> Callable[[int], None]:
    """Return a step of training on a sequence of a given length."""
    net = Pooled().set_train()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=1e-3)
    rng = np.random.default_rng(0)
    labels = cw.Tensor(np.array([0, 1], np.int32))

    def forward(x: cw.Tensor) -> cw.Tensor:
        loss = ops.cross_entropy(net(x), labels)
        if fails():
            raise FloatingPointError("a step that fails")
        return loss

    derived = cw.value_and_grad(forward, None, optimizer.parameters)

    def step(length: int) -> None:
        x = cw.Tensor(rng.standard_normal((2, length, WIDTH)).astype(np.float32))
        try:
            _, grads = derived(x)
        except FloatingPointError:
            return
        optimizer(grads)

    return step


def lengths(steps: int) -> list[int]:
    """Return another length for each step, as long as there are others."""
    rng = np.random.default_rng(1)
    rounds = -(-steps // LONGEST)
    return np.concatenate([rng.permutation(LONGEST) + 1 for _ in range(rounds)])[:steps].tolist()


def watch(step: Callable[[int], None], steps: int, rows: int) -> Iterator[dict[str, Any]]:
    """Run the steps and yield what memory is like at intervals."""
    every, started = max(1, steps // rows), time.perf_counter()
    for number, length in enumerate(lengths(steps), 1):
        step(length)
        if number % every == 0:
            yield {
                "step": number, "rss_mib": round(resident_mib(), 1), "tensors": live_tensors(),
                "seconds": round(time.perf_counter() - started, 1),
            }  # fmt: skip


def main() -> None:
    """Run both parts and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=20, help="intervals printed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results: dict[str, list[dict[str, Any]]] = {}
    for name, fails in (("other lengths", lambda: False), ("exceptions", lambda: True)):
        results[name] = []
        for row in watch(training_step(fails), options.steps, options.rows):
            results[name].append(row)
            if not options.json:
                print(
                    f"{name:14} step {row['step']:6}  {row['rss_mib']:8.1f} MiB "
                    f" {row['tensors']:5} tensors  {row['seconds']:7.1f} s", flush=True,
                )  # fmt: skip
    if options.json:
        json.dump(results, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
