"""Copies of arrays and other views of their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..shape import Aval, Dim, Shape, ShapeError, element_count, shape_text
from ..tensor import Tensor
from . import fast, unbroadcast
from .cast import TensorLike, as_tensor
from .registry import Call, GradContext, Grads, Op, Pointwise, View, apply, op
from .rules import as_shape, normalize_axes, normalize_axis, same


@op(
    infer=same,
    kernel=np.copy,
    grad=lambda ctx: (ctx.dout,),
    lowering=Pointwise(lambda b, input: input),
    category="array",
    primitive="Identity",
)
def identity(input: TensorLike) -> Call:
    """Return the same values.

    Parameters
    ----------
    input : Tensor
        Any shape and dtype.

    Returns
    -------
    Tensor
        A copy.
    """
    return (as_tensor(input),), {}


def _stopper(entry: Op, prepare: Any) -> Any:
    """Make a public function that leaves objects other than tensors as they are."""

    def call(input: Any) -> Any:
        if isinstance(input, tuple | list):
            items = [call(item) for item in input]
            return type(input)(*items) if hasattr(input, "_fields") else type(input)(items)
        if isinstance(input, dict):
            return {key: call(item) for key, item in input.items()}
        return apply(entry, *prepare(input)) if isinstance(input, Tensor) else input

    return call


@op(
    infer=same,
    kernel=lambda input: input,
    lowering=Pointwise(lambda b, input: input),
    category="array",
    fast=_stopper,
)
def stop_gradient(input: TensorLike) -> Call:
    """Return the same values, through which no gradient flows back.

    Parameters
    ----------
    input : Tensor
        Any shape and dtype; tuples, lists and dictionaries are gone through, other objects
        returned.

    Returns
    -------
    Tensor
        The values, sharing memory.
    """
    return (as_tensor(input),), {}


def _reshape_rule(input: Aval, shape: Shape) -> Aval:
    if element_count(input.shape) != element_count(shape):
        raise ShapeError(
            f"reshape: input {shape_text(input.shape)} has {element_count(input.shape)} elements,"
            f" shape {shape_text(shape)} takes {element_count(shape)}; they must be equal."
        )
    return Aval(shape, input.dtype)


def _resolve(input: Shape, shape: Shape) -> Shape:
    """Return ``shape`` with its one -1 put in as what is left over."""
    holes = [axis for axis, size in enumerate(shape) if size == -1]
    if not holes:
        return shape
    known = element_count([size for size in shape if size != -1])
    total = element_count(input)
    fits = len(holes) == 1 and known != 0
    rest: Dim = total // known if fits else 0
    if not fits or rest * known != total:
        raise ShapeError(
            f"reshape: input {shape_text(input)} does not fit shape {shape_text(shape)};"
            " one size may be -1 and the others must divide the number of elements."
        )
    return tuple(rest if size == -1 else size for size in shape)


def reshape_grad(ctx: GradContext) -> Grads:
    """Return the gradient of an op that keeps the elements' order: in the input's shape."""
    return (reshape(ctx.dout, ctx.inputs[0].shape),)


@op(
    infer=_reshape_rule,
    kernel=lambda input, shape: input.reshape(shape),
    grad=reshape_grad,
    lowering=View(),
    category="array",
    fast=fast.reshaping,
    inputs=("input",),
)
def reshape(input: TensorLike, shape: Any) -> Call:
    """Arrange the elements in another shape.

    Parameters
    ----------
    input : Tensor
        Any shape.
    shape : tuple of int
        The new shape; one size may be -1 and is worked out.

    Returns
    -------
    Tensor
        The same elements in the same order.

    Raises
    ------
    ValueError
        If the number of elements differs.
    """
    tensor = as_tensor(input)
    return (tensor,), {"shape": _resolve(tensor.shape, as_shape(shape))}


def _transpose_rule(input: Aval, axes: tuple[int, ...]) -> Aval:
    if sorted(axes) != list(range(input.ndim)):
        raise ShapeError(
            f"transpose: axes {axes} must name each of the {input.ndim} axes of input"
            f" {shape_text(input.shape)} once."
        )
    return Aval(tuple(input.shape[axis] for axis in axes), input.dtype)


def _transpose_grad(ctx: GradContext) -> Grads:
    axes = ctx.attrs["axes"]
    return (transpose(ctx.dout, tuple(axes.index(axis) for axis in range(len(axes)))),)


@op(
    infer=_transpose_rule,
    kernel=lambda input, axes: input.transpose(axes),
    grad=_transpose_grad,
    lowering=View(),
    category="array",
    fast=fast.transposing,
    inputs=("input",),
)
def transpose(input: TensorLike, axes: Sequence[int]) -> Call:
    """Put the axes in another order.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axes : tuple of int
        For each axis of the result the axis of ``input``.

    Returns
    -------
    Tensor
        A view with its axes permuted.
    """
    tensor = as_tensor(input)
    order = tuple(normalize_axis("transpose", int(a), len(tensor.shape)) for a in axes)
    return (tensor,), {"axes": order}


def permute(input: Tensor, axis: Sequence[int]) -> Tensor:
    """Put the axes in another order: ``transpose`` by MindSpore's other name.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axis : tuple of int
        For each axis of the result the axis of ``input``.

    Returns
    -------
    Tensor
        A view with its axes permuted.
    """
    return transpose(input, tuple(axis))


def _swapped(axis0: int, axis1: int, ndim: int) -> tuple[int, ...]:
    axes = list(range(ndim))
    axes[axis0], axes[axis1] = axes[axis1], axes[axis0]
    return tuple(axes)


def _swap_grad(ctx: GradContext) -> Grads:
    return (swapaxes(ctx.dout, **ctx.attrs),)


@op(
    infer=lambda input, axis0, axis1: _transpose_rule(input, _swapped(axis0, axis1, input.ndim)),
    kernel=lambda input, axis0, axis1: input.swapaxes(axis0, axis1),
    grad=_swap_grad,
    lowering=View(),
    category="array",
    inputs=("input",),
)
def swapaxes(input: TensorLike, axis0: int, axis1: int) -> Call:
    """Exchange two axes.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axis0, axis1 : int
        The two axes.

    Returns
    -------
    Tensor
        A view with the axes exchanged.

    Raises
    ------
    ValueError
        If there is no such axis.
    """
    tensor = as_tensor(input)
    ndim = len(tensor.shape)
    first = normalize_axis("swapaxes", axis0, ndim)
    return (tensor,), {"axis0": first, "axis1": normalize_axis("swapaxes", axis1, ndim)}


def _broadcast_rule(input: Aval, shape: Shape) -> Aval:
    lead = len(shape) - input.ndim
    if any(isinstance(size, int) and size < 0 for size in shape[: max(lead, 0)]):
        raise ShapeError(
            f"broadcast_to: {shape_text(shape)} keeps the size of an axis that input"
            f" {shape_text(input.shape)} does not have; -1 stands for an axis of the input."
        )
    fits = lead >= 0 and all(
        size in (1, want) for size, want in zip(input.shape, shape[lead:], strict=True)
    )
    if not fits:
        raise ShapeError(
            f"broadcast_to: input {shape_text(input.shape)} does not broadcast to"
            f" {shape_text(shape)}; sizes on an axis must be equal or 1 in the input."
        )
    return Aval(shape, input.dtype)


def _broadcast_grad(ctx: GradContext) -> Grads:
    return (unbroadcast.sum_to(ctx.dout, ctx.inputs[0].shape),)


@op(
    infer=_broadcast_rule,
    kernel=np.broadcast_to,
    grad=_broadcast_grad,
    lowering=View(),
    category="array",
    inputs=("input",),
    method=True,
)
def broadcast_to(input: TensorLike, shape: Any) -> Call:
    """Repeat axes of size 1 to a larger shape, without a copy.

    Parameters
    ----------
    input : Tensor
        Any shape.
    shape : tuple of int
        The larger shape; -1 keeps a size.

    Returns
    -------
    Tensor
        A view.
    """
    tensor = as_tensor(input)
    sizes = as_shape(shape)
    lead = len(sizes) - len(tensor.shape)
    sizes = tuple(
        tensor.shape[axis - lead] if size == -1 and axis >= lead else size
        for axis, size in enumerate(sizes)
    )
    return (tensor,), {"shape": sizes}


def _expand_rule(input: Aval, axis: int) -> Aval:
    at = normalize_axis("expand_dims", axis, input.ndim + 1)
    return Aval((*input.shape[:at], 1, *input.shape[at:]), input.dtype)


def _expand_grad(ctx: GradContext) -> Grads:
    return (squeeze(ctx.dout, ctx.attrs["axis"]),)


@op(
    infer=_expand_rule,
    kernel=np.expand_dims,
    grad=_expand_grad,
    lowering=View(),
    category="array",
    inputs=("input",),
    method=True,
)
def expand_dims(input: TensorLike, axis: int) -> Call:
    """Put in an axis of size 1.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axis : int
        Where the new axis stands in the result.

    Returns
    -------
    Tensor
        A view with one axis more.
    """
    tensor = as_tensor(input)
    return (tensor,), {"axis": normalize_axis("expand_dims", axis, len(tensor.shape) + 1)}


def _squeeze_rule(input: Aval, axis: tuple[int, ...]) -> Aval:
    for item in axis:
        if input.shape[item] != 1:
            raise ShapeError(
                f"squeeze: axis {item} of input {shape_text(input.shape)} has size"
                f" {input.shape[item]}; only axes of size 1 can be taken away."
            )
    return Aval(tuple(s for a, s in enumerate(input.shape) if a not in axis), input.dtype)


@op(
    infer=_squeeze_rule,
    kernel=np.squeeze,
    grad=reshape_grad,
    lowering=View(),
    category="array",
    method=True,
)
def squeeze(input: TensorLike, axis: int | Sequence[int] | None = None) -> Call:
    """Take away axes of size 1.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axis : int or tuple of int, optional
        Which axes; by default all of size 1.

    Returns
    -------
    Tensor
        A view with fewer axes.

    Raises
    ------
    ValueError
        If a named axis is not of size 1.
    """
    tensor = as_tensor(input)
    shape = tensor.shape
    if axis is None:
        return (tensor,), {"axis": tuple(a for a, size in enumerate(shape) if size == 1)}
    return (tensor,), {"axis": normalize_axes("squeeze", axis, len(shape))}


def unsqueeze(input: TensorLike, dim: int) -> Tensor:
    """Put in an axis of size 1: ``expand_dims`` by its other name.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dim : int
        Where the new axis stands in the result.

    Returns
    -------
    Tensor
        A view with one axis more.
    """
    return expand_dims(input, dim)


swapdims = swapaxes
expand = broadcast_to
