"""What one eager op costs on 2×2 tensors, recorded and not, beside PyTorch.

Run ``python -m benchmarks.dispatch`` (``--json`` for scripts). Each figure is the median over
rounds of the time per call in a loop; both frameworks take turns in every round. Recorded means
under ``value_and_grad``'s record here, and with ``requires_grad`` there.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

for _name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(_name, None)

import cellwire as cw  # noqa: E402
import numpy as np  # noqa: E402 - the environment is read when NumPy is loaded
from cellwire.engine.autograd import Record  # noqa: E402

ROUNDS = 15
CALLS = 4000
NAMES = ("add", "mul", "matmul", "exp", "relu", "sum", "mean", "reshape", "transpose", "a[0]",
         "concat")  # fmt: skip


def calls(library: Any, a: Any, b: Any) -> dict[str, Callable[[], Any]]:
    """Return each op as users write it, by its name."""
    ops, relu, concat = library
    return {
        "add": lambda: a + b,
        "mul": lambda: a * b,
        "matmul": lambda: ops.matmul(a, b),
        "exp": lambda: ops.exp(a),
        "relu": lambda: relu(a),
        "sum": a.sum,
        "mean": a.mean,
        "reshape": lambda: a.reshape((4,)),
        "transpose": lambda: a.T,
        "a[0]": lambda: a[0],
        "concat": lambda: concat((a, b)),
    }


def per_call(call: Callable[[], Any]) -> float:
    """Return microseconds per call."""
    gc.disable()
    began = time.perf_counter()
    for _ in range(CALLS):
        call()
    taken = time.perf_counter() - began
    gc.enable()
    return taken / CALLS * 1e6


def recorded(call: Callable[[], Any]) -> float:
    """Return microseconds per call of ours while a record is active."""
    record = Record()
    with record:
        taken = per_call(call)
    record.clear()
    return taken


def measure() -> dict[str, dict[str, float]]:
    """Return medians in microseconds by op and contender."""
    import torch

    torch.set_num_threads(2)
    x = np.random.default_rng(0).standard_normal((2, 2)).astype(np.float32)
    ours = calls((cw.ops, cw.ops.relu, cw.ops.concat), cw.Tensor(x), cw.Tensor(x))
    peer = (torch, torch.relu, torch.cat)
    plain, tracked = (
        calls(peer, *(torch.from_numpy(x.copy()).requires_grad_(flag) for _ in range(2)))
        for flag in (False, True)
    )
    runs: dict[str, Callable[[str], float]] = {
        "cellwire": lambda name: per_call(ours[name]),
        "torch": lambda name: per_call(plain[name]),
        "cellwire_recorded": lambda name: recorded(ours[name]),
        "torch_recorded": lambda name: per_call(tracked[name]),
    }
    times: dict[str, dict[str, list[float]]] = {n: {r: [] for r in runs} for n in NAMES}
    for _ in range(ROUNDS):
        for name in NAMES:
            for run, function in runs.items():
                times[name][run].append(function(name))
    return {
        name: {run: statistics.median(found) for run, found in of_name.items()}
        for name, of_name in times.items()
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the medians as JSON")
    options = parser.parse_args()
    found = measure()
    if options.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{'':10}  {'not recorded (µs)':>24}  {'recorded (µs)':>24}")
    print(
        f"{'op':10}  {'ours':>7} {'torch':>7} {'ratio':>8}  {'ours':>7} {'torch':>7} {'ratio':>8}"
    )
    for name, row in found.items():
        a, b = row["cellwire"], row["torch"]
        c, d = row["cellwire_recorded"], row["torch_recorded"]
        print(f"{name:10}  {a:7.2f} {b:7.2f} {a / b:8.2f}  {c:7.2f} {d:7.2f} {c / d:8.2f}")


if __name__ == "__main__":
    main()
