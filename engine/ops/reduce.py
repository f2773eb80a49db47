"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import bool_, int32, int64
from ..shape import Aval, Dim, ShapeError, SymDim, shape_text
from ..tensor import Tensor
from . import array, fast, logic, math
from .cast import TensorLike, as_float, as_tensor, cast_to
from .registry import Call, Composite, GradContext, Host, Reduce, op
from .rules import normalize_axes, normalize_axis, product, reduced_shape, require_float

Axis = int | Sequence[int] | None
Grads = tuple[Tensor | None, ...]


def _rule(name: str) -> Any:
    def infer(input: Aval, axis: tuple[int, ...] | None, keepdims: bool) -> Aval:
        axes = normalize_axes(name, axis, input.ndim)
        return Aval(reduced_shape(input.shape, axes, keepdims), input.dtype)

    return infer


def _prepare(name: str, input: Tensor, axis: Axis, keepdims: bool) -> Call:
    axes = None if axis is None else normalize_axes(name, axis, len(input.shape))
    return (input,), {"axis": axes, "keepdims": bool(keepdims)}


def restore(reduced: Tensor, like: Tensor, axis: tuple[int, ...] | None, keepdims: bool) -> Tensor:
    """Put reduced axes back with size 1, ready to broadcast beside ``like``."""
    if keepdims or not like.shape:
        return reduced
    axes = normalize_axes("restore", axis, len(like.shape))
    return array.reshape(reduced, reduced_shape(like.shape, axes, True))


def _restored(ctx: GradContext, value: Tensor) -> Tensor:
    return restore(value, ctx.inputs[0], ctx.attrs["axis"], ctx.attrs["keepdims"])


def _count(tensor: Tensor, axis: tuple[int, ...] | None) -> Dim:
    axes = normalize_axes("mean", axis, len(tensor.shape))
    return product([tensor.shape[a] for a in axes])


def _sum_kernel(input: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    return np.add.reduce(input, axis, dtype=input.dtype, keepdims=keepdims)


def _sum_grad(ctx: GradContext) -> Grads:
    x = ctx.inputs[0]
    return (array.broadcast_to(_restored(ctx, ctx.dout), x.shape),)


@op(
    infer=_rule("sum"),
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
    return _prepare(
        "sum", cast_to(tensor, int64) if tensor.dtype is bool_ else tensor, axis, keepdims
    )


def _mean_rule(input: Aval, axis: Any, keepdims: bool) -> Aval:
    require_float("mean", "input", input)
    return _rule("mean")(input, axis, keepdims)


def _mean_kernel(input: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    if input.dtype == np.float16:  # summed in float32, which NumPy's mean does
        return np.mean(input, axis, keepdims=keepdims)
    total = np.add.reduce(input, axis, keepdims=keepdims)
    return np.true_divide(total, input.size // total.size if total.size else 1)


def _divide_by_count(value: Tensor, tensor: Tensor, axis: tuple[int, ...] | None) -> Tensor:
    count = _count(tensor, axis)
    if isinstance(count, SymDim):
        ones = array.ones_like(tensor)
        return math.div(value, sum(ones, axis, keepdims=len(value.shape) == len(tensor.shape)))
    return math.mul(value, 1.0 / count) if count else math.div(value, 0.0)


def _mean_grad(ctx: GradContext) -> Grads:
    x, axis = ctx.inputs[0], ctx.attrs["axis"]
    scaled = _divide_by_count(ctx.dout, x, axis)
    return (array.broadcast_to(_restored(ctx, scaled), x.shape),)


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
    return _prepare("mean", as_float(input), axis, keepdims)


def _extremum_rule(name: str) -> Any:
    base = _rule(name)

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
    won = cast_to(logic.equal(x, _restored(ctx, ctx.outputs[0])), ctx.dout.dtype)
    # Equal winners share the gradient.
    share = math.div(won, sum(won, axis, keepdims=True))
    return (math.mul(share, _restored(ctx, ctx.dout)),)


@op(
    infer=_extremum_rule("amax"),
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
    return _prepare("amax", as_tensor(input), axis, keepdims)


@op(
    infer=_extremum_rule("amin"),
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
    return _prepare("amin", as_tensor(input), axis, keepdims)


def max(input: Tensor, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the maximum and its position: one pair over all elements, or along ``axis``."""
    return _with_position(amax, argmax, input, axis, keepdims)


def min(input: Tensor, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the minimum and its position: one pair over all elements, or along ``axis``."""
    return _with_position(amin, argmin, input, axis, keepdims)


def _with_position(value: Any, position: Any, input: Tensor, axis: Any, keepdims: bool) -> Any:
    return value(input, axis, keepdims), position(input, axis, keepdims)


def _prod_kernel(input: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    return np.multiply.reduce(input, axis, dtype=input.dtype, keepdims=keepdims)


def _prod_grad(ctx: GradContext) -> Grads:
    x, axis = ctx.inputs[0], ctx.attrs["axis"]
    zero = logic.equal(x, 0)
    count = sum(cast_to(zero, x.dtype), axis, keepdims=True)
    filled = logic.select(zero, array.ones_like(x), x)
    others = prod(filled, axis, keepdims=True)
    # With one zero only its own gradient is not zero, with two or more none is.
    alone = logic.logical_and(zero, logic.equal(count, 1))
    none = logic.logical_and(logic.logical_not(zero), logic.equal(count, 0))
    rest = logic.select(
        logic.logical_or(alone, none), math.div(others, filled), array.zeros_like(x)
    )
    return (math.mul(rest, _restored(ctx, ctx.dout)),)


@op(
    infer=_rule("prod"),
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
    return _prepare("prod", as_tensor(input), axis, keepdims)


def _position_rule(name: str) -> Any:
    def infer(input: Aval, axis: int | None, keepdims: bool) -> Aval:
        _extremum_rule(name)(input, axis, keepdims)
        axes = normalize_axes(name, axis, input.ndim)
        return Aval(reduced_shape(input.shape, axes, keepdims), int32)

    return infer


def _position_kernel(find: Any) -> Any:
    def kernel(input: np.ndarray, axis: int | None, keepdims: bool) -> np.ndarray:
        return np.asarray(find(input, axis, keepdims=keepdims)).astype(np.int32)

    return kernel


@op(
    infer=_position_rule("argmax"),
    kernel=_position_kernel(np.argmax),
    lowering=Host("finds positions in NumPy"),
    category="reduce",
    primitive="Argmax",
    method=True,
)
def argmax(input: TensorLike, axis: int | None = None, keepdims: bool = False) -> Call:
    """Return where the largest element stands; of equal ones the first.

    Parameters
    ----------
    input : Tensor
        Any shape; NaN counts as largest.
    axis : int, optional
        The axis to search; None searches all elements in order.
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    Tensor
        Int32 positions.

    Raises
    ------
    ValueError
        If the axis is empty.
    """
    return _positions("argmax", input, axis, keepdims)


@op(
    infer=_position_rule("argmin"),
    kernel=_position_kernel(np.argmin),
    lowering=Host("finds positions in NumPy"),
    category="reduce",
    primitive="Argmin",
    method=True,
)
def argmin(input: TensorLike, axis: int | None = None, keepdims: bool = False) -> Call:
    """Return where the smallest element stands; of equal ones the first.

    Parameters
    ----------
    input : Tensor
        Any shape; NaN counts as smallest.
    axis : int, optional
        The axis to search; None searches all elements in order.
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    Tensor
        Int32 positions.

    Raises
    ------
    ValueError
        If the axis is empty.
    """
    return _positions("argmin", input, axis, keepdims)


def _positions(name: str, input: TensorLike, axis: int | None, keepdims: bool) -> Call:
    tensor = as_tensor(input)
    at = None if axis is None else normalize_axis(name, axis, len(tensor.shape))
    return (tensor,), {"axis": at, "keepdims": bool(keepdims)}


def _var_rule(name: str) -> Any:
    def infer(input: Aval, axis: Any, ddof: int, keepdims: bool) -> Aval:
        require_float(name, "input", input)
        return _rule(name)(input, axis, keepdims)

    return infer


def _expand_var(input: Tensor, axis: Any, ddof: int, keepdims: bool) -> Tensor:
    centred = math.sub(input, mean(input, axis, keepdims=True))
    squares = mean(math.square(centred), axis, keepdims)
    if not ddof:
        return squares
    count = _count(input, axis)
    if isinstance(count, SymDim):
        total = sum(array.ones_like(input), axis, keepdims)
        return math.mul(squares, math.div(total, math.sub(total, float(ddof))))
    return math.mul(squares, count / (count - ddof) if count != ddof else float("nan"))


def _var_slope(ctx: GradContext) -> Tensor:
    """Return the gradient of the variance: 2 (x - mean) / (count - ddof)."""
    x, axis = ctx.inputs[0], ctx.attrs["axis"]
    centred = math.sub(x, mean(x, axis, keepdims=True))
    total = sum(array.ones_like(x), axis, keepdims=True)
    return math.div(math.mul(centred, 2.0), math.sub(total, float(ctx.attrs["ddof"])))


def _var_grad(ctx: GradContext) -> Grads:
    return (math.mul(_restored(ctx, ctx.dout), _var_slope(ctx)),)


def _var_kernel(input: np.ndarray, axis: Any, ddof: int, keepdims: bool) -> np.ndarray:
    return np.var(input, axis, ddof=ddof, keepdims=keepdims)


@op(
    infer=_var_rule("var"),
    kernel=_var_kernel,
    grad=_var_grad,
    lowering=Composite(_expand_var),
    category="reduce",
    primitive="ReduceVar",
    method=True,
)
def var(input: TensorLike, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Call:
    """Return the variance along axes.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    axis : int or tuple of int, optional
        Axes to reduce; None means all.
    ddof : int
        Subtracted from the number of elements in the divisor; 1 is the sample variance.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        The variances.
    """
    inputs, attrs = _prepare("var", as_float(input), axis, keepdims)
    return inputs, {**attrs, "ddof": int(ddof)}


def _std_grad(ctx: GradContext) -> Grads:
    out = _restored(ctx, math.mul(ctx.outputs[0], 2.0))
    return (math.div(math.mul(_restored(ctx, ctx.dout), _var_slope(ctx)), out),)


def _std_kernel(input: np.ndarray, axis: Any, ddof: int, keepdims: bool) -> np.ndarray:
    return np.std(input, axis, ddof=ddof, keepdims=keepdims)


@op(
    infer=_var_rule("std"),
    kernel=_std_kernel,
    grad=_std_grad,
    lowering=Composite(lambda *args, **attrs: math.sqrt(_expand_var(*args, **attrs))),
    category="reduce",
    primitive="ReduceStd",
    method=True,
)
def std(input: TensorLike, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Call:
    """Return the standard deviation along axes.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    axis : int or tuple of int, optional
        Axes to reduce; None means all.
    ddof : int
        Subtracted from the number of elements in the divisor.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        The square roots of the variances.
    """
    inputs, attrs = _prepare("std", as_float(input), axis, keepdims)
    return inputs, {**attrs, "ddof": int(ddof)}


def any(input: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Tell whether any element along axes is true (not zero)."""
    counts = sum(cast_to(logic.as_bool(input), int32), axis, keep_dims)
    return logic.not_equal(counts, 0)


def all(input: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Tell whether all elements along axes are true (not zero)."""
    missing = sum(cast_to(logic.logical_not(input), int32), axis, keep_dims)
    return logic.equal(missing, 0)
