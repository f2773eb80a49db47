"""Public functions of hot ops: the common case costs little more than NumPy itself.

The common case is tensors of one float dtype with no trace active. Everything else (Python
scalars, mixed dtypes, traced tensors, mistakes) goes through the op's preparing function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Tensor
from .cast import literal
from .registry import Attrs, Call, Op, apply, find_kernel, log, records, traces

_new = object.__new__
_ndarray = np.ndarray
_asarray = np.asarray
_concatenate: Callable[..., np.ndarray] = getattr(np.concatenate, "_implementation", np.concatenate)
# without the search for other libraries' arrays, which takes a third of the call
_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_MISSES = (AttributeError, ValueError, TypeError, RuntimeWarning, OverflowError, IndexError)
# What a miss of the common case raises; the general path then gives the answer or explains.


def binary(
    kernel: Callable[..., Any], *, floats_only: bool = False
) -> Callable[[Op, Callable[..., Call]], Callable[..., Any]]:
    """Return a maker of the public function of a two-operand op over a NumPy function."""

    def make(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
        def call(input: Any, other: Any) -> Any:
            if not traces:
                try:
                    a = input.data
                    dtype = a.dtype
                    kind = other.__class__
                    if kind is float or kind is int:
                        if dtype is _F32 or dtype is _F64:
                            return _with_number(entry, kernel, input, other)
                        inputs, attrs = prepare(input, other)
                        return apply(entry, inputs, attrs)
                    b = other.data
                    if dtype is b.dtype and (dtype is _F32 or dtype is _F64 or not floats_only):
                        array = kernel(a, b)
                        if array.__class__ is not _ndarray:
                            array = _asarray(array)
                        result = _new(Tensor)
                        result.data = array
                        if records:
                            log(entry, (input, other), (result,), {})
                        return result
                except _MISSES:
                    pass
            inputs, attrs = prepare(input, other)
            return apply(entry, inputs, attrs)

        return call

    return make


def _with_number(entry: Op, kernel: Callable[..., Any], input: Tensor, other: float) -> Tensor:
    """Run a two-operand op on a float tensor and a Python number, which takes its dtype."""
    result = _new(Tensor)
    result.data = _asarray(kernel(input.data, other))
    if records:
        log(entry, (input, literal(other, input.dtype)), (result,), {})
    return result


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
                            log(entry, (input,), (result,), {})
                        return result
                except _MISSES:
                    pass
            inputs, attrs = prepare(input)
            return apply(entry, inputs, attrs)

        return call

    return make


_FULL = ({"axis": None, "keepdims": False}, {"axis": None, "keepdims": True})


def reduction(
    kernel: Callable[..., Any],
) -> Callable[[Op, Callable[..., Call]], Callable[..., Any]]:
    """Return a maker of the public function of a reduction with ``axis`` and ``keepdims``."""

    def make(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
        def call(
            input: Any, axis: Any = None, keepdims: bool = False, *,
            dim: Any = None, keepdim: bool = False, keep_dims: bool = False,
        ) -> Any:  # fmt: skip
            if dim is not None:
                axis = one_axis(entry.name, axis, dim)
            keepdims = keepdims or keepdim or keep_dims
            if not traces:
                try:
                    a = input.data
                    dtype = a.dtype
                    if dtype is _F32 or dtype is _F64:
                        if axis is None:
                            attrs = _FULL[keepdims]
                        else:
                            attrs = {"axis": _from_front(axis, a.ndim), "keepdims": keepdims}
                        array = kernel(a, attrs["axis"], keepdims=keepdims)
                        result = _new(Tensor)
                        result.data = _asarray(array)
                        if records:
                            log(entry, (input,), (result,), attrs)
                        return result
                except _MISSES:
                    pass
            inputs, attrs = prepare(input, axis, keepdims)
            return apply(entry, inputs, attrs)

        return call

    return make


def one_axis(name: str, axis: Any, dim: Any) -> Any:
    """Return the axes that were given as ``dim``, where none were given as ``axis``."""
    if axis is not None:
        raise TypeError(f"{name}: axis, dim name a parameter twice.")
    return dim


def _from_front(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return one axis, counted from the front, as a tuple; a miss for what needs more care."""
    if axis.__class__ is not int or not -ndim <= axis < ndim:
        raise TypeError
    return (axis if axis >= 0 else axis + ndim,)


def reshaping(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
    """Make the public function of ``reshape``."""

    def call(input: Any, shape: Any) -> Any:
        if not traces and shape.__class__ is tuple:
            try:
                array = input.data.reshape(shape)
                result = _new(Tensor)
                result.data = array
                if records:
                    log(entry, (input,), (result,), {"shape": array.shape})
                return result
            except _MISSES:
                pass
        inputs, attrs = prepare(input, shape)
        return apply(entry, inputs, attrs)

    return call


def transposing(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
    """Make the public function of ``transpose``."""

    def call(input: Any, axes: Any) -> Any:
        if not traces and axes.__class__ is tuple:
            try:
                array = input.data.transpose(axes)
                result = _new(Tensor)
                result.data = array
                if records:
                    if not axes or min(axes) < 0:
                        axes = prepare(input, axes)[1]["axes"]
                    log(entry, (input,), (result,), {"axes": axes})
                return result
            except _MISSES:
                pass
        inputs, attrs = prepare(input, axes)
        return apply(entry, inputs, attrs)

    return call


def reversing(entry: Op, general: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return the getter of ``tensor.T``: ``transpose``, the row ``entry``, of all axes."""

    def get(input: Tensor) -> Tensor:
        if traces:
            return general(input)
        result = _new(Tensor)
        result.data = array = input.data.T
        if records:
            log(entry, (input,), (result,), {"axes": tuple(range(array.ndim))[::-1]})
        return result

    return get


def joining(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
    """Make the public function of ``concat``."""

    def call(tensors: Any, axis: int = 0) -> Any:
        if not traces and axis.__class__ is int:
            try:
                array = _concatenate(_alike(tensors), axis)
                result = _new(Tensor)
                result.data = array
                if records:
                    at = axis if axis >= 0 else axis + array.ndim
                    log(entry, tuple(tensors), (result,), {"axis": at})
                return result
            except _MISSES:
                pass
        inputs, attrs = prepare(tensors, axis)
        return apply(entry, inputs, attrs)

    return call


def _alike(tensors: Any) -> Any:
    """Return the arrays of tensors of one float dtype; a miss for others."""
    if len(tensors) == 2:
        first, second = tensors
        arrays = (first.data, second.data)
        alike = arrays[0].dtype is arrays[1].dtype
    else:
        arrays = [tensor.data for tensor in tensors]
        alike = len({id(array.dtype) for array in arrays}) == 1
    dtype = arrays[0].dtype
    if not alike or not (dtype is _F32 or dtype is _F64):
        raise TypeError
    return arrays


def composite(
    default: Any,
) -> Callable[[Op, Callable[..., Call]], Callable[..., Any]]:
    """Return a maker of the public function of a composite op of one tensor and one attribute."""

    def make(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
        runs: dict[Any, tuple[Callable[..., np.ndarray], Attrs]] = {}
        (name,) = entry.attrs

        def call(input: Any, *options: Any, **named: Any) -> Any:
            option = options[0] if options else named.get(name, default)
            if not traces and len(options) + len(named) < 2:
                try:
                    a = input.data
                    found = runs.get((a.shape, option))
                    if found is not None and a.dtype is _F32:
                        result = _new(Tensor)
                        result.data = found[0]((a,))
                        if records:
                            log(entry, (input,), (result,), found[1])
                        return result
                except _MISSES:
                    pass
            inputs, attrs = prepare(input, *options, **named)
            result = apply(entry, inputs, attrs)
            if not traces and inputs[0].data.dtype is _F32:
                run = find_kernel(entry, inputs, attrs)
                if run is not None:
                    if len(runs) >= MAX_RUNS:
                        runs.clear()
                    runs[inputs[0].data.shape, option] = run, attrs
            return result

        return call

    return make


MAX_RUNS = 256
"""Compiled calls remembered by one op; all are forgotten when there are more."""


class Affine:
    """The common case of ``f(input, weight, bias)`` in float32: compiled code, found by shapes."""

    __slots__ = ("op", "runs")

    def __init__(self, op: Op) -> None:
        self.op = op
        self.runs: dict[Any, tuple[Callable[..., np.ndarray], Attrs]] = {}

    def __call__(self, input: Any, weight: Any, bias: Any, extra: Any) -> Tensor | None:
        """Return the result, or None where this is not the common case."""
        if traces:
            return None
        try:
            x, w, b = arrays = input.data, weight.data, bias.data
            found = self.runs.get((x.shape, w.shape, b.shape, extra))
        except (AttributeError, TypeError):  # not tensors, or unhashable: the general path says
            return None
        if found is None or not x.dtype is w.dtype is b.dtype is _F32:
            return None
        result = _new(Tensor)
        result.data = found[0](arrays)
        if records:
            log(self.op, (input, weight, bias), (result,), found[1])
        return result

    def learn(self, inputs: tuple[Tensor, ...], attrs: Attrs, extra: Any) -> None:
        """Keep compiled code for calls like the one just prepared, once there is some."""
        if traces or len(inputs) != 3 or any(t.data.dtype is not _F32 for t in inputs):
            return
        run = find_kernel(self.op, inputs, attrs)
        if run is not None:
            if len(self.runs) >= MAX_RUNS:
                self.runs.clear()
            self.runs[(*(t.data.shape for t in inputs), extra)] = run, attrs
