"""Public functions of hot ops: the common case costs little more than NumPy itself.

The common case is tensors of one float dtype with no trace active. Everything else (Python
scalars, mixed dtypes, traced tensors, mistakes) goes through the op's preparing function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import origin as origins
from ..tensor import Tensor
from .registry import Call, Entry, Op, apply, records, traces

_new = object.__new__
_ndarray = np.ndarray
_asarray = np.asarray
_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_MISSES = (AttributeError, ValueError, TypeError, RuntimeWarning)
# What a miss of the common case raises; the general path then gives the answer or explains.


def _log(op: Op, inputs: tuple[Tensor, ...], result: Tensor) -> None:
    entry = Entry(op, inputs, (result,), {}, origins.current())
    for record in records:
        record.entries.append(entry)


def binary(
    kernel: Callable[..., Any], *, floats_only: bool = False
) -> Callable[[Op, Callable[..., Call]], Callable[..., Any]]:
    """Return a maker of the public function of a two-operand op over a NumPy function."""

    def make(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
        def call(input: Any, other: Any) -> Any:
            if not traces:
                try:
                    a = input.data
                    b = other.data
                    dtype = a.dtype
                    if dtype is b.dtype and (dtype is _F32 or dtype is _F64 or not floats_only):
                        array = kernel(a, b)
                        if array.__class__ is not _ndarray:
                            array = _asarray(array)
                        result = _new(Tensor)
                        result.data = array
                        if records:
                            _log(entry, (input, other), result)
                        return result
                except _MISSES:
                    pass
            inputs, attrs = prepare(input, other)
            return apply(entry, inputs, attrs)

        return call

    return make


def unary(
    kernel: Callable[..., Any],
) -> Callable[[Op, Callable[..., Call]], Callable[..., Any]]:
    """Return a maker of the public function of a one-operand op without attributes."""

    def make(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
        def call(input: Any) -> Any:
            if not traces:
                try:
                    a = input.data
                    dtype = a.dtype
                    if dtype is _F32 or dtype is _F64:
                        array = kernel(a)
                        if array.__class__ is not _ndarray:
                            array = _asarray(array)
                        result = _new(Tensor)
                        result.data = array
                        if records:
                            _log(entry, (input,), result)
                        return result
                except _MISSES:
                    pass
            inputs, attrs = prepare(input)
            return apply(entry, inputs, attrs)

        return call

    return make
