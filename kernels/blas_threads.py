"""How many threads BLAS may use: small products run on one.

OpenBLAS hands half of every product beyond some 10 µs to a second thread and spins until it is
done. Where another program holds that core, a product of 80 µs then takes a whole time slice of
the scheduler, some 40 ms.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from .expressions import FLOAT16, FLOAT32

T = TypeVar("T")
R = TypeVar("R")

THREADS_FROM: Final = 1 << 24
"""Multiplications (m·n·k) from which a product may use every thread: some 0.3 ms on one."""
ALWAYS_ONE: Final = 1 << 18
"""Up to this many OpenBLAS uses one thread by itself."""
SMALL: Final = 1 << 10
"""Elements up to which a matrix's product takes little longer than its call."""

SetThreads = Callable[[int], Any]


@cache
def thread_setter(package: str) -> tuple[SetThreads, int] | None:
    """Return what sets the thread count of ``package``'s OpenBLAS, and its count at first.

    None where the package comes with another BLAS, or with one thread only.
    """
    for path in _libraries(package):
        library = ctypes.CDLL(str(path))
        for suffix in ("64_", ""):
            setter = getattr(library, f"scipy_openblas_set_num_threads{suffix}", None)
            getter = getattr(library, f"scipy_openblas_get_num_threads{suffix}", None)
            if setter is not None and getter is not None:
                setter.argtypes, setter.restype = (ctypes.c_int,), None
                count = int(getter())
                return (setter, count) if count > 1 else None
    return None


def _libraries(package: str) -> list[Path]:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return []
    root = Path(spec.origin).parent
    folders = (root.parent / f"{package}.libs", root / ".dylibs")
    return [path for folder in folders for path in sorted(folder.glob("*openblas*"))]


def on_one_thread(run: Callable[[T], R]) -> Callable[[T], R]:
    """Return ``run``, native code that calls SciPy's BLAS, held to one thread."""
    found = thread_setter("scipy")
    if found is None:
        return run
    set_threads, count = found

    def held(packed: T) -> R:
        set_threads(1)
        result = run(packed)
        set_threads(count)
        return result

    return held


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``np.matmul``, on one thread where a second one gains little; float16 goes by float32."""
    matrices = a.ndim == 2 and b.ndim == 2
    if matrices and a.size <= SMALL and b.size <= SMALL:
        return a.dot(b)  # for matrices the same as matmul, and three times as fast to call
    if a.dtype == b.dtype == FLOAT16:  # NumPy multiplies these number by number
        with np.errstate(over="ignore"):
            return matmul(a.astype(FLOAT32), b.astype(FLOAT32)).astype(FLOAT16)
    work = a.size * (b.shape[-1] if b.ndim > 1 else 1)
    if ALWAYS_ONE < work < THREADS_FROM:
        found = thread_setter("numpy")
        if found is not None:
            found[0](1)
            try:
                return np.matmul(a, b)
            finally:
                found[0](found[1])
    return np.matmul(a, b)
