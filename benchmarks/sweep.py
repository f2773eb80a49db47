"""How cost grows: with depth, width, batch, and with ever other lengths.

Run ``python -m benchmarks.sweep [depth | width | batch | lengths]`` (``--json`` for scripts). The
model is blocks of add, layer norm, dense and ReLU with a mean square as loss; compiled are its
forward pass and its training step with Adam. Each size is compiled in a process of its own with an
empty cache folder. The verdict is the slope of seconds over size, both as logarithms, over the
larger half of the sizes: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np

DEPTH, WIDTH, BATCH = 6, 64, 32
SIZES: dict[str, tuple[int, ...]] = {
    "depth": (1, 2, 4, 8, 16, 32, 64, 128, 256),
    "width": (16, 32, 64, 128, 256, 512, 1024),
    "batch": (1, 4, 16, 64, 256, 1024),
}
LIMITS = {"depth": 1.15, "width": 1.0, "batch": 0.3}
"""The largest slopes of compile seconds: sizes of a batch are runtime arguments."""
LENGTHS, LONGEST = 10_000, 10_000


class Blocks(cw.nn.Cell):
    """Blocks of add, layer norm, dense and ReLU."""

    def __init__(self, depth: int, width: int) -> None:
        super().__init__()
        self.norms = cw.nn.CellList([cw.nn.LayerNorm((width,)) for _ in range(depth)])
        self.layers = cw.nn.CellList(
            [cw.nn.Dense(width, width, activation="relu") for _ in range(depth)]
        )

    def construct(self, x: Any) -> Any:
        """Return what comes out of the last block."""
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x))
        return x


def forward_pass(depth: int, width: int) -> Callable[[Any], Any]:
    """Return the compiled loss."""
    net = Blocks(depth, width)
    return cw.jit(lambda x: net(x).square().mean(), fullgraph=True)


def training_step(depth: int, width: int) -> Callable[[Any], Any]:
    """Return a compiled step of training."""
    net = Blocks(depth, width).set_train()
    optimizer = cw.nn.Adam(net.trainable_params(), 1e-3)
    derive = cw.value_and_grad(lambda x: net(x).square().mean(), None, optimizer.parameters)

    def step(x: Any) -> Any:
        loss, grads = derive(x)
        optimizer(grads)
        return loss

    return cw.jit(step, fullgraph=True)


MAKERS = {"forward": forward_pass, "training": training_step}


def numbers(*shape: int) -> cw.Tensor:
    """Return normal numbers."""
    return cw.Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def measure_one(kind: str, depth: int, width: int, batch: int) -> dict[str, float]:
    """Return seconds of the first call and of a later one, in this process."""
    MAKERS[kind](1, 8)(numbers(2, 8))  # the engine's own first steps
    run, x = MAKERS[kind](depth, width), numbers(batch, width)
    began = time.perf_counter()
    run(x).asnumpy()
    first = time.perf_counter() - began
    later = []
    for _ in range(20):
        began = time.perf_counter()
        run(x).asnumpy()
        later.append(time.perf_counter() - began)
    return {"compile": first - min(later), "run": min(later)}


def measure_apart(kind: str, axis: str, size: int) -> dict[str, float]:
    """Return the seconds of one size, measured in a process of its own."""
    chosen = {"depth": DEPTH, "width": WIDTH, "batch": BATCH, axis: size}
    command = [sys.executable, "-m", __spec__.name, "one", kind, *map(str, chosen.values())]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CELLWIRE_CACHE_DIR": folder, "CELLWIRE_KEPT_PLANS": "0"}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout.splitlines()[-1])


def slope(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the slope of the logarithms over the larger half of the sizes."""
    half = len(sizes) // 2
    x, y = np.log(sizes[half:]), np.log(seconds[half:])
    return float(np.polyfit(x, y, 1)[0])


@dataclass(frozen=True)
class Lengths:
    """What ever other lengths cost."""

    plans: int
    first_seconds: float
    last_seconds: float
    grown_mib: float


def resident_mib() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure_lengths(count: int) -> Lengths:
    """Run sequences of so many different lengths through one compiled function.

    Seconds are those of one new length, the median of the first and of the last tenth; memory is
    what was added between the end of the first half and the end.
    """
    net = Blocks(1, 8)
    run = cw.jit(lambda x: cw.ops.softmax(net(x), 1).sum(1), fullgraph=True)
    lengths = np.random.default_rng(1).permutation(LONGEST)[:count] + 1
    seconds: list[float] = []
    middle = 0.0
    for number, length in enumerate(lengths.tolist()):
        x = cw.Tensor(np.ones((1, length, 8), np.float32))
        began = time.perf_counter()
        run(x)
        seconds.append(time.perf_counter() - began)
        if number == count // 2:
            middle = resident_mib()
    tenth = max(1, count // 10)
    plans = sum(len(situation.paths) for situation in run.situations.values())
    first, last = (float(np.median(part)) for part in (seconds[:tenth], seconds[-tenth:]))
    return Lengths(plans, first, last, resident_mib() - middle)


def sweep(axis: str, kind: str, show: bool) -> dict[str, Any]:
    """Measure all sizes of an axis and return the rows with their slopes."""
    if show:
        print(f"{axis}, {kind}\n{'size':>8}  {'first call':>13}  {'later':>13}")
    rows = []
    for size in SIZES[axis]:
        row = {"size": size, **measure_apart(kind, axis, size)}
        rows.append(row)
        if show:
            print(f"{size:8}  {row['compile'] * 1e3:10.1f} ms  {row['run'] * 1e6:10.1f} µs",
                  flush=True)  # fmt: skip
    sizes = [row["size"] for row in rows]
    slopes = {
        what: slope(sizes, [max(row[what], 1e-7) for row in rows]) for what in ("compile", "run")
    }
    if show:
        over = "" if slopes["compile"] <= LIMITS[axis] else "  over"
        print(f"   slope  {slopes['compile']:10.2f} {slopes['run']:16.2f}   limit of the first "
              f"{LIMITS[axis]}{over}\n", flush=True)  # fmt: skip
    return {"rows": rows, "slopes": slopes, "limit": LIMITS[axis]}


def sweep_lengths(count: int, show: bool) -> dict[str, Any]:
    """Measure so many different lengths."""
    found = measure_lengths(count)
    if show:
        print(f"{count} different lengths: {found.plans} plans kept, a new one takes "
              f"{found.first_seconds * 1e3:.2f} ms at first, {found.last_seconds * 1e3:.2f} ms at "
              f"last; memory grew {found.grown_mib:.1f} MiB in the second half")  # fmt: skip
    return asdict(found)


def main() -> None:
    """Measure what the command line names, by default everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__)
    parser.add_argument("axes", nargs="*", help="depth, width, batch, lengths")
    parser.add_argument("--kind", action="append", choices=MAKERS)
    parser.add_argument("--count", type=int, default=LENGTHS, help="different lengths")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    axes, show = options.axes or [*SIZES, "lengths"], not options.json
    found: dict[str, Any] = {}
    for axis in (axis for axis in axes if axis in SIZES):
        for kind in options.kind or MAKERS:
            found[f"{axis}, {kind}"] = sweep(axis, kind, show)
    if "lengths" in axes:
        found["lengths"] = sweep_lengths(options.count, show)
    if options.json:
        json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(measure_one(sys.argv[2], *map(int, sys.argv[3:]))))
    else:
        main()
