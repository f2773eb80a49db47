"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtype import bool_, int32, int64
from ..shape import Aval, Dim, ShapeError, SymDim, element_count, shape_text
from ..tensor import Tensor
from . import arithmetic, array, creation, fast, logic
from .cast import TensorLike, as_float, as_tensor, cast_to
from .registry import Call, Composite, GradContext, Grads, Reduce, op
from .rules import normalize_axes, reduced_shape, require_float

Axis = int | Sequence[int] | None


def reduced_rule(name: str) -> Any:
    """Return the shape rule of a reduction."""

    def infer(input: Aval, axis: tuple[int, ...] | None, keepdims: bool) -> Aval:
        axes = normalize_axes(name, axis, input.ndim)
        return Aval(reduced_shape(input.shape, axes, keepdims), input.dtype)

    return infer


def prepare(name: str, input: Tensor, axis: Axis, keepdims: bool) -> Call:
    """Return a reduction's call, its axes counted from the front."""
    axes = None if axis is None else normalize_axes(name, axis, len(input.shape))
    return (input,), {"axis": axes, "keepdims": bool(keepdims)}


def restore(reduced: Tensor, like: Tensor, axis: tuple[int, ...] | None, keepdims: bool) -> Tensor:
    """Put reduced axes back with size 1, ready to broadcast beside ``like``."""
    if keepdims or not like.shape:
        return reduced
    axes = normalize_axes("restore", axis, len(like.shape))
    return array.reshape(reduced, reduced_shape(like.shape, axes, True))


def restored(ctx: GradContext, value: Tensor) -> Tensor:
    """Return a value of the reduced shape, ready to broadcast beside the input."""
    return restore(value, ctx.inputs[0], ctx.attrs["axis"], ctx.attrs["keepdims"])


def count_of(tensor: Tensor, axis: tuple[int, ...] | None) -> Dim:
    """Return how many elements meet in one of the result."""
    axes = normalize_axes("mean", axis, len(tensor.shape))
    return element_count([tensor.shape[a] for a in axes])


def _sum_kernel(input: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    return np.add.reduce(input, axis, dtype=input.dtype, keepdims=keepdims)


def _sum_grad(ctx: GradContext) -> Grads:
    x = ctx.inputs[0]
    return (array.broadcast_to(restored(ctx, ctx.dout), x.shape),)


@op(
    infer=reduced_rule("sum"),
    kernel=_sum_kernel,
    grad=_sum_grad,
    lowering=Reduce("sum"),
    category="reduce",
    primitive="ReduceSum",
    method=True,
    fast=fast.reduction(np.add.reduce),
)
def sum(input: TensorLike, axis: Axis = None, keepdims: bool = False) -> Call:
    """Add up the elements along axes.

    Parameters
    ----------
    input : Tensor
        Any shape; Bool is counted in int64.
    axis : int or tuple of int, optional
        Axes to add up; None means all.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        The sums, in the input's dtype.
    """
    tensor = as_tensor(input)
    return prepare(
        "sum", cast_to(tensor, int64) if tensor.dtype is bool_ else tensor, axis, keepdims
    )


def _mean_rule(input: Aval, axis: Any, keepdims: bool) -> Aval:
    require_float("mean", "input", input)
    return reduced_rule("mean")(input, axis, keepdims)


def _mean_kernel(input: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    if input.dtype == np.float16:  # summed in float32, which NumPy's mean does
        return np.mean(input, axis, keepdims=keepdims)
    total = np.add.reduce(input, axis, keepdims=keepdims)
    return total / (input.size // total.size if total.size else 1)


def _divide_by_count(value: Tensor, tensor: Tensor, axis: tuple[int, ...] | None) -> Tensor:
    count = count_of(tensor, axis)
    if isinstance(count, SymDim):
        ones = creation.ones_like(tensor)
        return arithmetic.div(
            value, sum(ones, axis, keepdims=len(value.shape) == len(tensor.shape))
        )
    return arithmetic.mul(value, 1.0 / count) if count else arithmetic.div(value, 0.0)


def _mean_grad(ctx: GradContext) -> Grads:
    x, axis = ctx.inputs[0], ctx.attrs["axis"]
    scaled = _divide_by_count(ctx.dout, x, axis)
    return (array.broadcast_to(restored(ctx, scaled), x.shape),)


def _expand_mean(input: Tensor, axis: tuple[int, ...] | None, keepdims: bool) -> Tensor:
    return _divide_by_count(sum(input, axis, keepdims), input, axis)


@op(
    infer=_mean_rule,
    kernel=_mean_kernel,
    grad=_mean_grad,
    lowering=Composite(_expand_mean),
    category="reduce",
    primitive="ReduceMean",
    method=True,
    fast=fast.reduction(_mean_kernel),
)
def mean(input: TensorLike, axis: Axis = None, keepdims: bool = False) -> Call:
    """Average the elements along axes.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    axis : int or tuple of int, optional
        Axes to average; None means all.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        The means; of nothing NaN.
    """
    return prepare("mean", as_float(input), axis, keepdims)


def extremum_rule(name: str) -> Any:
    """Return the shape rule of a reduction that needs at least one element."""
    base = reduced_rule(name)

    def infer(input: Aval, axis: Any, keepdims: bool) -> Aval:
        for item in normalize_axes(name, axis, input.ndim):
            if input.shape[item] == 0:
                raise ShapeError(
                    f"{name}: axis {item} of input {shape_text(input.shape)} is empty and has no"
                    f" {name}; give it at least one element."
                )
        return base(input, axis, keepdims)

    return infer


def _extremum_grad(ctx: GradContext) -> Grads:
    x, axis = ctx.inputs[0], ctx.attrs["axis"]
    won = cast_to(logic.equal(x, restored(ctx, ctx.outputs[0])), ctx.dout.dtype)
    # Equal winners share the gradient.
    share = arithmetic.div(won, sum(won, axis, keepdims=True))
    return (arithmetic.mul(share, restored(ctx, ctx.dout)),)


@op(
    infer=extremum_rule("amax"),
    kernel=lambda input, axis, keepdims: np.max(input, axis, keepdims=keepdims),
    grad=_extremum_grad,
    lowering=Reduce("max"),
    category="reduce",
    primitive="ReduceMax",
    method=True,
    fast=fast.reduction(np.maximum.reduce),
)
def amax(input: TensorLike, axis: Axis = None, keepdims: bool = False) -> Call:
    """Return the largest elements along axes; NaN wins.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axis : int or tuple of int, optional
        Axes to reduce; None means all.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        The maxima; equal winners share the gradient.

    Raises
    ------
    ValueError
        If a reduced axis is empty.
    """
    return prepare("amax", as_tensor(input), axis, keepdims)


@op(
    infer=extremum_rule("amin"),
    kernel=lambda input, axis, keepdims: np.min(input, axis, keepdims=keepdims),
    grad=_extremum_grad,
    lowering=Reduce("min"),
    category="reduce",
    primitive="ReduceMin",
    method=True,
    fast=fast.reduction(np.minimum.reduce),
)
def amin(input: TensorLike, axis: Axis = None, keepdims: bool = False) -> Call:
    """Return the smallest elements along axes; NaN wins.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axis : int or tuple of int, optional
        Axes to reduce; None means all.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        The minima; equal winners share the gradient.

    Raises
    ------
    ValueError
        If a reduced axis is empty.
    """
    return prepare("amin", as_tensor(input), axis, keepdims)


def _prod_kernel(input: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    return np.multiply.reduce(input, axis, dtype=input.dtype, keepdims=keepdims)


def _prod_grad(ctx: GradContext) -> Grads:
    x, axis = ctx.inputs[0], ctx.attrs["axis"]
    zero = logic.equal(x, 0)
    count = sum(cast_to(zero, x.dtype), axis, keepdims=True)
    filled = logic.select(zero, creation.ones_like(x), x)
    others = prod(filled, axis, keepdims=True)
    # With one zero only its own gradient is not zero, with two or more none is.
    alone = logic.logical_and(zero, logic.equal(count, 1))
    none = logic.logical_and(logic.logical_not(zero), logic.equal(count, 0))
    rest = logic.select(
        logic.logical_or(alone, none), arithmetic.div(others, filled), creation.zeros_like(x)
    )
    return (arithmetic.mul(rest, restored(ctx, ctx.dout)),)


@op(
    infer=reduced_rule("prod"),
    kernel=_prod_kernel,
    grad=_prod_grad,
    lowering=Reduce("prod"),
    category="reduce",
    primitive="ReduceProd",
    method=True,
)
def prod(input: TensorLike, axis: Axis = None, keepdims: bool = False) -> Call:
    """Multiply the elements along axes.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axis : int or tuple of int, optional
        Axes to multiply; None means all.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        The products, in the input's dtype.
    """
    return prepare("prod", as_tensor(input), axis, keepdims)


def _truth_rule(name: str) -> Callable[..., Aval]:
    def infer(input: Aval, axis: Any, keep_dims: bool) -> Aval:
        return Aval(reduced_rule(name)(input, axis, keep_dims).shape, bool_)

    return infer


def _expand_any(input: Tensor, axis: Any, keep_dims: bool) -> Tensor:
    return logic.not_equal(sum(cast_to(input, int32), axis, keep_dims), 0)


def _expand_all(input: Tensor, axis: Any, keep_dims: bool) -> Tensor:
    missing = sum(cast_to(logic.logical_not(input), int32), axis, keep_dims)
    return logic.equal(missing, 0)


def _prepare_truth(name: str, input: TensorLike, axis: Axis, keep_dims: bool) -> Call:
    inputs, attrs = prepare(name, logic.as_bool(as_tensor(input)), axis, keep_dims)
    return inputs, {"axis": attrs["axis"], "keep_dims": attrs["keepdims"]}


@op(
    infer=_truth_rule("any"),
    kernel=lambda input, axis, keep_dims: np.any(input, axis, keepdims=keep_dims),
    lowering=Composite(_expand_any),
    category="reduce",
    primitive="ReduceAny",
)
def any(input: TensorLike, axis: Axis = None, keep_dims: bool = False) -> Call:
    """Tell whether any element along axes is true (not zero).

    Parameters
    ----------
    input : Tensor
        Any shape; converted to Bool.
    axis : int or tuple of int, optional
        Axes to reduce; None means all.
    keep_dims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        Bool.
    """
    return _prepare_truth("any", input, axis, keep_dims)


@op(
    infer=_truth_rule("all"),
    kernel=lambda input, axis, keep_dims: np.all(input, axis, keepdims=keep_dims),
    lowering=Composite(_expand_all),
    category="reduce",
    primitive="ReduceAll",
)
def all(input: TensorLike, axis: Axis = None, keep_dims: bool = False) -> Call:
    """Tell whether all elements along axes are true (not zero).

    Parameters
    ----------
    input : Tensor
        Any shape; converted to Bool.
    axis : int or tuple of int, optional
        Axes to reduce; None means all.
    keep_dims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        Bool.
    """
    return _prepare_truth("all", input, axis, keep_dims)
