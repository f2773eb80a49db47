"""Axes moved, turned round, joined, split and cut: mostly views of the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..shape import Aval, Dim, ShapeError, comparable, shape_text
from ..tensor import Tensor
from . import slicing
from .cast import TensorLike, as_tensor
from .registry import Call, GradContext, Grads, Host, Op, View, apply, op
from .rules import normalize_axes, normalize_axis, same

Ints = int | Sequence[int]


def as_ints(value: Ints) -> tuple[int, ...]:
    """Return one number or several as a tuple."""
    return (int(value),) if isinstance(value, int) else tuple(int(item) for item in value)


def _moved(source: tuple[int, ...], destination: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    order = [axis for axis in range(ndim) if axis not in source]
    for to, of in sorted(zip(destination, source, strict=True)):
        order.insert(to, of)
    return tuple(order)


def _movedim_grad(ctx: GradContext) -> Grads:
    return (movedim(ctx.dout, ctx.attrs["destination"], ctx.attrs["source"]),)


@op(
    infer=lambda input, source, destination: Aval(
        tuple(input.shape[axis] for axis in _moved(source, destination, input.ndim)), input.dtype
    ),
    kernel=np.moveaxis,
    grad=_movedim_grad,
    lowering=View(),
    category="array",
    inputs=("x",),
    primitive="MoveDim",
)
def movedim(x: TensorLike, source: Ints, destination: Ints) -> Call:
    """Move axes to other places; the others keep their order.

    Parameters
    ----------
    x : Tensor
        Any shape.
    source : int or tuple of int
        The axes to move.
    destination : int or tuple of int
        Where each of them goes.

    Returns
    -------
    Tensor
        A view.

    Raises
    ------
    ValueError
        If an axis does not exist, is named twice, or the numbers of axes differ.
    """
    tensor = as_tensor(x)
    ndim = len(tensor.shape)
    sources = tuple(normalize_axis("movedim", a, ndim) for a in as_ints(source))
    targets = tuple(normalize_axis("movedim", a, ndim) for a in as_ints(destination))
    if len(sources) != len(targets) or len({*sources}) != len(sources):
        raise ShapeError(
            f"movedim: source {source} and destination {destination} must name as many axes, each"
            " once."
        )
    if len({*targets}) != len(targets):
        raise ShapeError(f"movedim: destination {destination} names an axis twice.")
    return (tensor,), {"source": sources, "destination": targets}


moveaxis = movedim


def _flip_grad(ctx: GradContext) -> Grads:
    return (flip(ctx.dout, ctx.attrs["axis"]),)


@op(
    infer=same,
    kernel=np.flip,
    grad=_flip_grad,
    lowering=View(),
    category="array",
    inputs=("input",),
    primitive="ReverseV2",
)
def flip(input: TensorLike, dims: Ints) -> Call:
    """Reverse the order of the elements along axes.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dims : int or tuple of int
        The axes.

    Returns
    -------
    Tensor
        A view from the last element to the first.

    Raises
    ------
    ValueError
        If an axis does not exist or is named twice.
    """
    tensor = as_tensor(input)
    if not isinstance(dims, int) and not len(dims):
        return (tensor,), {"axis": ()}
    return (tensor,), {"axis": normalize_axes("flip", dims, len(tensor.shape))}


def reverse(x: TensorLike, axis: Ints) -> Tensor:
    """Turn the order of the elements round along axes: ``flip`` by MindSpore's other name.

    Parameters
    ----------
    x : Tensor
        Any shape.
    axis : int or tuple of int
        The axes.

    Returns
    -------
    Tensor
        A view from the last element to the first.
    """
    return flip(x, axis)


def _require_axes(name: str, tensor: Tensor, count: int) -> None:
    if len(tensor.shape) < count:
        raise ShapeError(
            f"{name}: input {shape_text(tensor.shape)} must have at least {count} axes."
        )


@op(
    infer=same,
    kernel=np.fliplr,
    grad=lambda ctx: (flip(ctx.dout, 1),),
    lowering=View(),
    category="array",
)
def fliplr(input: TensorLike) -> Call:
    """Turn the second axis round: left becomes right.

    Parameters
    ----------
    input : Tensor
        At least two axes.

    Returns
    -------
    Tensor
        A view.
    """
    tensor = as_tensor(input)
    _require_axes("fliplr", tensor, 2)
    return (tensor,), {}


@op(
    infer=same,
    kernel=np.flipud,
    grad=lambda ctx: (flip(ctx.dout, 0),),
    lowering=View(),
    category="array",
)
def flipud(input: TensorLike) -> Call:
    """Turn the first axis round: up becomes down.

    Parameters
    ----------
    input : Tensor
        At least one axis.

    Returns
    -------
    Tensor
        A view.
    """
    tensor = as_tensor(input)
    _require_axes("flipud", tensor, 1)
    return (tensor,), {}


def _rot90_rule(input: Aval, k: int, axes: tuple[int, int]) -> Aval:
    shape = list(input.shape)
    if k % 2:
        shape[axes[0]], shape[axes[1]] = shape[axes[1]], shape[axes[0]]
    return Aval(tuple(shape), input.dtype)


def _rot90_grad(ctx: GradContext) -> Grads:
    return (rot90(ctx.dout, -ctx.attrs["k"], ctx.attrs["axes"]),)


@op(
    infer=_rot90_rule,
    kernel=np.rot90,
    grad=_rot90_grad,
    lowering=View(),
    category="array",
    inputs=("input",),
)
def rot90(input: TensorLike, k: int = 1, dims: Sequence[int] = (0, 1)) -> Call:
    """Rotate the plane of two axes by right angles.

    Parameters
    ----------
    input : Tensor
        At least two axes.
    k : int
        How many times, from the first axis towards the second; negative turns back.
    dims : tuple of int
        The two axes.

    Returns
    -------
    Tensor
        A view.

    Raises
    ------
    ValueError
        If ``dims`` are not two different axes.
    """
    tensor = as_tensor(input)
    axes = tuple(normalize_axis("rot90", int(a), len(tensor.shape)) for a in dims)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ShapeError(f"rot90: dims must be two different axes, they are {tuple(dims)}.")
    return (tensor,), {"k": int(k) % 4, "axes": axes}


def _roll_grad(ctx: GradContext) -> Grads:
    back = tuple(-shift for shift in ctx.attrs["shifts"])
    return (roll(ctx.dout, back, ctx.attrs["dims"]),)


def _roll_kernel(input: np.ndarray, shifts: tuple[int, ...], dims: Any) -> np.ndarray:
    return np.roll(input, shifts if dims is not None else shifts[0], dims)


@op(
    infer=same,
    kernel=_roll_kernel,
    grad=_roll_grad,
    lowering=Host("moves elements round the end of an axis"),
    category="array",
    inputs=("input",),
    method=True,
)
def roll(input: TensorLike, shifts: Ints, dims: Ints | None = None) -> Call:
    """Move elements along axes; those that leave at the end come in at the front.

    Parameters
    ----------
    input : Tensor
        Any shape.
    shifts : int or tuple of int
        By how many places.
    dims : int or tuple of int, optional
        The axis of each shift; by default the elements are taken as one row.

    Returns
    -------
    Tensor
        The same shape.

    Raises
    ------
    ValueError
        If there are not as many shifts as axes.
    """
    tensor = as_tensor(input)
    places = as_ints(shifts)
    if dims is None:
        if len(places) != 1:
            raise ShapeError(f"roll: {len(places)} shifts need as many dims, none are given.")
        return (tensor,), {"shifts": places, "dims": None}
    axes = tuple(normalize_axis("roll", a, len(tensor.shape)) for a in as_ints(dims))
    if len(axes) != len(places):
        raise ShapeError(f"roll: {len(places)} shifts and {len(axes)} dims must be as many.")
    return (tensor,), {"shifts": places, "dims": axes}


def _narrow_rule(input: Aval, axis: int, start: Dim, length: Dim) -> Aval:
    return Aval((*input.shape[:axis], length, *input.shape[axis + 1 :]), input.dtype)


def _narrow_kernel(input: np.ndarray, axis: int, start: int, length: int) -> np.ndarray:
    return input[(slice(None),) * axis + (slice(start, start + length),)]


def _narrow_grad(ctx: GradContext) -> Grads:
    x, axis, start = ctx.inputs[0], ctx.attrs["axis"], ctx.attrs["start"]
    lead, tail = (None,) * axis, (None,) * (len(x.shape) - axis - 1)
    ends = (*lead, start + ctx.attrs["length"], *tail)
    begin, steps = (*lead, start, *tail), (1,) * len(x.shape)
    return (slicing.unslice(ctx.dout, x.shape, begin, ends, steps),)


@op(
    infer=_narrow_rule,
    kernel=_narrow_kernel,
    grad=_narrow_grad,
    lowering=View(),
    category="array",
    inputs=("input",),
    method=True,
)
def narrow(input: TensorLike, axis: int, start: int, length: int) -> Call:
    """Cut a range out of one axis.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axis : int
        The axis.
    start : int
        Where the range begins; negative counts from the end.
    length : int
        How many elements it has.

    Returns
    -------
    Tensor
        A view of the range.

    Raises
    ------
    ValueError
        If the range does not lie within the axis.
    """
    tensor = as_tensor(input)
    at = normalize_axis("narrow", axis, len(tensor.shape))
    size = tensor.shape[at]
    begin: Dim = start + size if isinstance(start, int) and start < 0 else start
    known = comparable(size, begin, length)
    if known and not 0 <= begin <= begin + length <= size:  # pyright: ignore[reportOperatorIssue]
        raise ShapeError(
            f"narrow: {length} elements from {start} on do not lie within axis {axis} of size"
            f" {size}."
        )
    return (tensor,), {"axis": at, "start": begin, "length": length}


def each(entry: Op, prepare: Any) -> Any:
    """Make a public function that takes one tensor, or a list of them one by one."""

    def call(inputs: Any) -> Any:
        if isinstance(inputs, tuple | list) and all(isinstance(t, Tensor) for t in inputs):
            return [call(item) for item in inputs]
        return apply(entry, *prepare(inputs))

    return call
