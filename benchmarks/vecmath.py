"""Errors of the vector math over every float32: ``python -m benchmarks.vecmath``.

Each function runs as the kernel that plans use, on all 2^32 arguments (``--stride 97`` for every
97th), beside NumPy's in float64. The error is in units in the last place of the exact result; what
is exactly infinite, zero or NaN must be so here too. Some minutes a function and thread.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import scipy.special
from cellwire.kernels.loops import FLOAT32, Buffer, Function, Loop, Store, affine, call, load
from cellwire.kernels.runtime import SingleKernel
from cellwire.kernels.vecmath import MAX_ULP

BLOCK = 1 << 20
TINY = float(np.finfo(np.float32).smallest_subnormal)

EXACT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "sigmoid": scipy.special.expit,
    "erf": scipy.special.erf,
    "sin": np.sin,
    "cos": np.cos,
}
"""The functions of one argument, in float64."""


def kernel(name: str) -> SingleKernel:
    """Return a function over ``n`` floats as a kernel."""
    x, y = Buffer("x", FLOAT32), Buffer("y", FLOAT32)
    body = (Store("y", affine("i"), call(name, load(x, affine("i")))),)
    return SingleKernel(Function(name, (x, y), ("n",), (Loop("i", "n", body, True),)), 2, ("n",))


def errors(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Return the errors in units of float32's last place; infinite where the kind differs."""
    rounded = exact.astype(np.float32)
    unit = np.maximum(np.spacing(np.abs(rounded)).astype(np.float64), TINY)
    same = (got == rounded) | (np.isnan(got) & np.isnan(exact))
    found = np.abs(got.astype(np.float64) - exact) / unit
    return np.where(same & ~np.isfinite(rounded), 0.0, np.where(np.isnan(found), np.inf, found))


def worst_of_block(run: SingleKernel, name: str, stride: int, first: int) -> tuple[float, float]:
    """Return the largest error in a block of arguments, and where it is."""
    bits = first + stride * np.arange(BLOCK, dtype=np.int64)
    x = bits[bits < 1 << 32].astype(np.uint32).view(np.float32)
    y = np.empty_like(x)
    run(x, y, n=len(x))
    with np.errstate(all="ignore"):
        found = errors(y, EXACT[name](x.astype(np.float64)))
    at = int(found.argmax())
    return float(found[at]), float(x[at])


def sweep(name: str, stride: int, threads: int) -> tuple[float, float]:
    """Return the largest error of a function over every ``stride``-th float32, and where."""
    starts = range(0, 1 << 32, BLOCK * stride)
    with ThreadPoolExecutor(threads) as pool:
        work = partial(worst_of_block, kernel(name), name, stride)
        return max(pool.map(work, starts), key=lambda found: found[0])


def main() -> None:
    """Sweep what the command line names, by default everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vecmath", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"functions: {', '.join(EXACT)}")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name in options.names or EXACT:
        began = time.perf_counter()
        worst, at = sweep(name, options.stride, options.threads)
        bound = MAX_ULP[name][0]
        found[name] = {"worst": worst, "at": at, "bound": bound}
        if not options.json:
            mark = "" if worst <= bound else "  over"
            print(f"{name:8} {worst:8.3f} ulp at {at!r:24} bound {bound}{mark}"
                  f"   {time.perf_counter() - began:6.1f} s", flush=True)  # fmt: skip
    if options.json:
        json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
