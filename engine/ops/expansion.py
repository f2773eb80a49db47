"""Composite ops run from their own expansion: as a NumPy kernel, and as a gradient rule."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .registry import only_records, traces


def expanded(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a NumPy kernel that runs a composite op's expansion, its `__wrapped__`, op by op."""

    def kernel(*arrays: np.ndarray, **attrs: Any) -> Any:
        if traces and traces[-1].thread != threading.get_ident():  # its ops do not come here
            return _arrays(fn(*[wrap(array) for array in arrays], **attrs))
        outer = traces[:]
        traces.clear()
        try:
            with only_records([]):
                result = fn(*[wrap(array) for array in arrays], **attrs)
        finally:
            traces[:] = outer
        return _arrays(result)

    kernel.__wrapped__ = fn  # pyright: ignore[reportFunctionMemberAccess]
    return kernel


def _arrays(result: Any) -> Any:
    if isinstance(result, Tensor):
        return result.data
    return tuple(tensor.data for tensor in result)
