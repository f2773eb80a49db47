"""Joining and repeating arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dtype import promote
from ..shape import Aval, Dim, ShapeError, shape_text
from ..tensor import Tensor
from . import fast, reduce, slicing
from .array import expand_dims, reshape, squeeze
from .cast import TensorLike, as_tensor, cast_to
from .registry import Call, Composite, GradContext, Grads, Host, op
from .rules import normalize_axis, require_same_dtype


def _concat_rule(*tensors: Aval, axis: int) -> Aval:
    first = tensors[0]
    at = normalize_axis("concat", axis, first.ndim)
    total: Dim = 0
    for number, aval in enumerate(tensors):
        require_same_dtype("concat", **{"tensors[0]": first, f"tensors[{number}]": aval})
        if aval.ndim != first.ndim or any(
            a != b for i, (a, b) in enumerate(zip(aval.shape, first.shape, strict=True)) if i != at
        ):
            raise ShapeError(
                f"concat: tensors[0] {shape_text(first.shape)} and tensors[{number}]"
                f" {shape_text(aval.shape)} may differ on axis {at} only."
            )
        total = total + aval.shape[at]
    return Aval((*first.shape[:at], total, *first.shape[at + 1 :]), first.dtype)


def _concat_grad(ctx: GradContext) -> Grads:
    axis = ctx.attrs["axis"]
    start: Dim = 0
    grads: list[Tensor | None] = []
    for tensor, need in zip(ctx.inputs, ctx.needs, strict=True):
        end = start + tensor.shape[axis]
        grads.append(slicing.narrow(ctx.dout, axis, start, end) if need else None)
        start = end
    return tuple(grads)


@op(
    infer=_concat_rule,
    kernel=lambda *tensors, axis: np.concatenate(tensors, axis),
    grad=_concat_grad,
    lowering=Host("joins arrays in memory"),
    category="array",
    inputs=("tensors",),
    variadic=True,
    fast=fast.joining,
)
def concat(tensors: Sequence[TensorLike], axis: int = 0) -> Call:
    """Join tensors along an axis.

    Parameters
    ----------
    tensors : sequence of Tensor
        Equal shapes but for ``axis``; the dtypes promote.
    axis : int
        The axis along which they follow each other.

    Returns
    -------
    Tensor
        All elements.

    Raises
    ------
    ValueError
        If there are no tensors or their shapes differ elsewhere.
    """
    items = _same_dtype("concat", tensors)
    return items, {"axis": normalize_axis("concat", axis, len(items[0].shape))}


cat = concat


def _same_dtype(name: str, tensors: Sequence[TensorLike]) -> tuple[Tensor, ...]:
    items = [as_tensor(item) for item in tensors]
    if not items:
        raise ValueError(f"{name}: tensors is empty; give at least one tensor.")
    dtype = items[0].dtype
    for item in items[1:]:
        dtype = promote(dtype, item.dtype)
    return tuple(cast_to(item, dtype) for item in items)


def _stack_rule(*tensors: Aval, axis: int) -> Aval:
    for number, aval in enumerate(tensors):
        require_same_dtype("stack", **{"tensors[0]": tensors[0], f"tensors[{number}]": aval})
        if aval.shape != tensors[0].shape:
            raise ShapeError(
                f"stack: tensors[0] {shape_text(tensors[0].shape)} and tensors[{number}]"
                f" {shape_text(aval.shape)} must have equal shapes."
            )
    shape = tensors[0].shape
    at = normalize_axis("stack", axis, len(shape) + 1)
    return Aval((*shape[:at], len(tensors), *shape[at:]), tensors[0].dtype)


def _stack_grad(ctx: GradContext) -> Grads:
    axis = ctx.attrs["axis"]
    return tuple(
        squeeze(slicing.narrow(ctx.dout, axis, i, i + 1), axis) if need else None
        for i, need in enumerate(ctx.needs)
    )


@op(
    infer=_stack_rule,
    kernel=lambda *tensors, axis: np.stack(tensors, axis),
    grad=_stack_grad,
    lowering=Composite(
        lambda *tensors, axis: concat([expand_dims(item, axis) for item in tensors], axis)
    ),
    category="array",
    inputs=("tensors",),
    variadic=True,
)
def stack(tensors: Sequence[TensorLike], axis: int = 0) -> Call:
    """Join tensors of one shape along a new axis.

    Parameters
    ----------
    tensors : sequence of Tensor
        Equal shapes; the dtypes promote.
    axis : int
        Where the new axis stands in the result.

    Returns
    -------
    Tensor
        One axis more than each input.
    """
    items = _same_dtype("stack", tensors)
    return items, {"axis": normalize_axis("stack", axis, len(items[0].shape) + 1)}


def _tile_rule(input: Aval, dims: tuple[int, ...]) -> Aval:
    ndim = max(input.ndim, len(dims))
    shape = (1,) * (ndim - input.ndim) + input.shape
    times = (1,) * (ndim - len(dims)) + dims
    return Aval(tuple(s * t for s, t in zip(shape, times, strict=True)), input.dtype)


def _tile_grad(ctx: GradContext) -> Grads:
    x, dims = ctx.inputs[0], ctx.attrs["dims"]
    ndim = max(len(x.shape), len(dims))
    shape = (1,) * (ndim - len(x.shape)) + tuple(x.shape)
    times = (1,) * (ndim - len(dims)) + dims
    pairs = tuple(part for pair in zip(times, shape, strict=True) for part in pair)
    summed = reduce.sum(reshape(ctx.dout, pairs), tuple(range(0, 2 * ndim, 2)))
    return (reshape(summed, x.shape),)


@op(
    infer=_tile_rule,
    kernel=lambda input, dims: np.tile(input, dims),  # noqa: PLW0108 - other keyword
    grad=_tile_grad,
    lowering=Host("copies the array several times"),
    category="array",
    inputs=("input",),
    method=True,
)
def tile(input: TensorLike, dims: Sequence[int]) -> Call:
    """Repeat the whole tensor along each axis.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dims : tuple of int
        How often along each axis, counted from the last.

    Returns
    -------
    Tensor
        The repeated elements.

    Raises
    ------
    ValueError
        If a number is negative.
    """
    times = (dims,) if isinstance(dims, int) else tuple(int(n) for n in dims)
    if any(n < 0 for n in times):
        raise ValueError(f"tile: dims must not be negative, they are {times}.")
    return (as_tensor(input),), {"dims": times}
