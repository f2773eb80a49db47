"""Loop functions of tests: buffers that most of them use, and how they are run."""

from __future__ import annotations

import ctypes
from typing import Any

from cellwire.kernels.loops import FLOAT32, Buffer, Function, Loop, affine, load
from cellwire.kernels.native import compile_module
from cellwire.kernels.target import Target, host

X, Y = Buffer("x", FLOAT32), Buffer("y", FLOAT32)
X_I = load(X, affine("i"))
SHORT = Target(host().triple, host().cpu, host().features, 16, 16)


def run(function: Function, arrays: Any, ints: Any = (), target: Target | None = None) -> None:
    """Compile a function and run it on arrays and numbers."""
    library = compile_module([function], target)
    kinds = [ctypes.c_void_p] * len(arrays) + [ctypes.c_int64] * len(ints)
    native = ctypes.CFUNCTYPE(None, *kinds)(library[function.name])
    native(*[a.ctypes.data for a in arrays], *ints)


def over_i(
    *body: Any, ints: Any = ("n",), buffers: Any = (X, Y), scratch: Any = (), accumulators: Any = ()
) -> Function:
    loop = Loop("i", "n", body, True, accumulators)
    return Function("f", buffers, ints, (loop,), scratch)
