"""Shape and dtype rules that many ops share, and the axes they speak of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dtype import DType, bool_
from ..shape import Aval, Shape, ShapeError, SymDim, broadcast_shapes, shape_text


def same(input: Aval, *_: Aval, **__: Any) -> Aval:
    """Return the first input's aval: shape and dtype stay."""
    return input


def require_same_dtype(op: str, **avals: Aval) -> DType:
    """Return the one dtype of all inputs.

    Raises
    ------
    TypeError
        If they differ.
    """
    (first, aval), *rest = avals.items()
    for name, other in rest:
        if other.dtype is not aval.dtype:
            raise TypeError(
                f"{op}: {first} is {aval.dtype} and {name} is {other.dtype};"
                f" cast one of them, as in {name}.astype({first}.dtype)."
            )
    return aval.dtype


def require_float(op: str, name: str, aval: Aval) -> None:
    """Raise TypeError unless the input is of a float dtype."""
    if not aval.dtype.is_float:
        raise TypeError(
            f"{op}: {name} must be of a float type, it is {aval.dtype}; cast it to float32."
        )


def float_rule(op: str) -> Callable[..., Aval]:
    """Return the rule of an op that keeps the shape and dtype of its one float input."""

    def infer(input: Aval, **_: Any) -> Aval:
        require_float(op, "input", input)
        return input

    return infer


def require_int(op: str, name: str, aval: Aval) -> None:
    """Raise TypeError unless the input is of an integer dtype."""
    if not aval.dtype.is_int:
        raise TypeError(
            f"{op}: {name} must be of an integer type, it is {aval.dtype}; cast it to int32."
        )


def require_ndim(op: str, name: str, aval: Aval, ndim: int) -> None:
    """Raise ShapeError unless the input has ``ndim`` axes."""
    if aval.ndim != ndim:
        raise ShapeError(
            f"{op}: {name} must have {ndim} axes, it has {aval.ndim}: {shape_text(aval.shape)}."
        )


def broadcast(op: str, **avals: Aval) -> Shape:
    """Return the shape to which the inputs broadcast.

    Raises
    ------
    ShapeError
        If they do not; the message names the op and its inputs.
    """
    try:
        return broadcast_shapes(*(aval.shape for aval in avals.values()))
    except ShapeError as error:
        shapes = " and ".join(f"{n} {shape_text(a.shape)}" for n, a in avals.items())
        raise ShapeError(
            f"{op}: {shapes} do not broadcast; sizes on an axis must be equal or 1."
        ) from error


def elementwise(op: str) -> Callable[..., Aval]:
    """Return the rule of a two-operand op: same dtype, broadcast shapes."""

    def infer(input: Aval, other: Aval) -> Aval:
        dtype = require_same_dtype(op, input=input, other=other)
        return Aval(broadcast(op, input=input, other=other), dtype)

    return infer


def comparison(op: str) -> Callable[..., Aval]:
    """Return the rule of a comparison: same dtype, broadcast shapes, Bool result."""

    def infer(input: Aval, other: Aval) -> Aval:
        require_same_dtype(op, input=input, other=other)
        return Aval(broadcast(op, input=input, other=other), bool_)

    return infer


def as_shape(size: Any) -> Shape:
    """Return a size or sequence of sizes as a tuple of dims."""
    if isinstance(size, int | SymDim):
        return (size,)
    return tuple(dim if isinstance(dim, SymDim) else int(dim) for dim in size)


def normalize_axis(op: str, axis: int, ndim: int) -> int:
    """Return ``axis`` counted from the front.

    Raises
    ------
    ShapeError
        If there is no such axis.
    """
    if not -ndim <= axis < ndim:
        raise ShapeError(
            f"{op}: axis {axis} does not exist in {ndim} axes; use {-ndim} to {ndim - 1}."
        )
    return axis % ndim


def normalize_axes(op: str, axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return the named axes counted from the front, in order; None and ``()`` mean all."""
    if axis is None or axis in ((), []):
        return tuple(range(ndim))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    found = tuple(sorted(normalize_axis(op, item, ndim) for item in axes))
    if len(set(found)) != len(found):
        raise ShapeError(f"{op}: axis {axes} names an axis twice.")
    return found


def reduced_shape(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """Return ``shape`` without ``axes``, or with size 1 there."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)
