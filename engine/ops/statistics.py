"""Variance and standard deviation, extremes and where they stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import bool_, int32, uint8
from ..shape import Aval, SymDim
from ..tensor import Tensor
from . import arithmetic, array, creation, fast, logic, math, reduce
from .cast import TensorLike, as_float, as_tensor, cast_to
from .declarations import composite
from .reduce import Axis, Grads, count_of, extremum_rule, prepare, reduced_rule, restored
from .registry import Call, Composite, GradContext, Op, apply, checked, op
from .rules import normalize_axes, normalize_axis, reduced_shape, require_float


def _by_torch_names(entry: Op, prepare: Any) -> Any:
    """Make the public function, which takes ``dim`` and ``keepdim`` as well."""

    def call(
        input: Any, axis: Any = None, keepdims: bool = False, *,
        dim: Any = None, keepdim: bool = False, keep_dims: bool = False,
    ) -> Any:  # fmt: skip
        if dim is not None:
            axis = fast.one_axis(entry.name, axis, dim)
        inputs, attrs = prepare(input, axis, keepdims or keepdim or keep_dims)
        return apply(entry, inputs, attrs)

    return call


def _position_rule(name: str) -> Any:
    def infer(input: Aval, axis: int | None, keepdims: bool) -> Aval:
        extremum_rule(name)(input, axis, keepdims)
        axes = normalize_axes(name, axis, input.ndim)
        return Aval(reduced_shape(input.shape, axes, keepdims), int32)

    return infer


def _position_kernel(find: Any) -> Any:
    def kernel(input: np.ndarray, axis: int | None, keepdims: bool) -> np.ndarray:
        return np.asarray(find(input, axis, keepdims=keepdims)).astype(np.int32)

    return kernel


def _expand_position(extreme: Any) -> Any:
    """Return the first position of what equals the extreme, or of NaN, in other ops."""

    def expand(input: Tensor, axis: int | None, keepdims: bool) -> Tensor:
        shape = _position_rule("argmax")(input.aval, axis, keepdims).shape
        x = cast_to(input, uint8) if input.dtype is bool_ else input
        x = array.reshape(x, (-1,)) if axis is None else x
        at = normalize_axis("argmax", axis or 0, len(x.shape))
        hit = logic.equal(x, extreme(x, at, keepdims=True))
        if x.dtype.is_float:
            hit = logic.logical_or(hit, logic.not_equal(x, x))
        size: Any = x.shape[at]
        sizes = tuple(size if i == at else 1 for i in range(len(x.shape)))
        places = array.reshape(creation.arange(0, size, 1, int32), sizes)
        return array.reshape(reduce.amin(logic.select(hit, places, size), at), shape)

    return expand


def _no_slope(_: GradContext) -> Grads:
    """Let nothing flow back: positions move in steps."""
    return (None,)


@op(
    infer=_position_rule("argmax"),
    kernel=_position_kernel(np.argmax),
    grad=_no_slope,
    lowering=Composite(_expand_position(reduce.amax)),
    category="reduce",
    primitive="Argmax",
    method=True,
    fast=_by_torch_names,
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
    grad=_no_slope,
    lowering=Composite(_expand_position(reduce.amin)),
    category="reduce",
    primitive="Argmin",
    method=True,
    fast=_by_torch_names,
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


def _expand_extremum(value: Any, position: Any) -> Any:
    def expand(input: Tensor, axis: int | None, keepdims: bool) -> tuple[Tensor, Tensor]:
        return value(input, axis, keepdims), position(input, axis, keepdims)

    return expand


def _prepare_extremum(name: str, input: TensorLike, axis: int | None, keepdims: bool) -> Call:
    inputs, attrs = _positions(name, input, axis, keepdims)
    return checked(_position_rule(name), inputs, attrs)


@composite(_expand_extremum(reduce.amax, argmax), category="reduce", inputs=("input",))
def max(input: TensorLike, axis: int | None = None, keepdims: bool = False) -> Call:
    """Return the largest element and where it stands; of equal ones the first.

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
    tuple of Tensor
        The maxima, and their Int32 positions.

    Raises
    ------
    ValueError
        If the axis is empty.
    """
    return _prepare_extremum("max", input, axis, keepdims)


@composite(_expand_extremum(reduce.amin, argmin), category="reduce", inputs=("input",))
def min(input: TensorLike, axis: int | None = None, keepdims: bool = False) -> Call:
    """Return the smallest element and where it stands; of equal ones the first.

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
    tuple of Tensor
        The minima, and their Int32 positions.

    Raises
    ------
    ValueError
        If the axis is empty.
    """
    return _prepare_extremum("min", input, axis, keepdims)


def _var_rule(name: str) -> Any:
    def infer(input: Aval, axis: Any, ddof: int, keepdims: bool) -> Aval:
        require_float(name, "input", input)
        return reduced_rule(name)(input, axis, keepdims)

    return infer


def _expand_var(input: Tensor, axis: Any, ddof: int, keepdims: bool) -> Tensor:
    centred = arithmetic.sub(input, reduce.mean(input, axis, keepdims=True))
    squares = reduce.mean(math.square(centred), axis, keepdims)
    if not ddof:
        return squares
    count = count_of(input, axis)
    if isinstance(count, SymDim):
        total = reduce.sum(creation.ones_like(input), axis, keepdims)
        return arithmetic.mul(squares, arithmetic.div(total, arithmetic.sub(total, float(ddof))))
    return arithmetic.mul(squares, count / (count - ddof) if count != ddof else float("nan"))


def _var_slope(ctx: GradContext) -> Tensor:
    """Return the gradient of the variance: 2 (x - mean) / (count - ddof)."""
    x, axis = ctx.inputs[0], ctx.attrs["axis"]
    centred = arithmetic.sub(x, reduce.mean(x, axis, keepdims=True))
    total = reduce.sum(creation.ones_like(x), axis, keepdims=True)
    return arithmetic.div(
        arithmetic.mul(centred, 2.0), arithmetic.sub(total, float(ctx.attrs["ddof"]))
    )


def _var_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(restored(ctx, ctx.dout), _var_slope(ctx)),)


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
    inputs, attrs = prepare("var", as_float(input), axis, keepdims)
    return inputs, {**attrs, "ddof": int(ddof)}


def _std_grad(ctx: GradContext) -> Grads:
    out = restored(ctx, arithmetic.mul(ctx.outputs[0], 2.0))
    # Equal elements: the root has no slope at zero, and the gradient is zero instead of 0 / 0.
    zero = logic.equal(out, 0)
    slope = arithmetic.div(_var_slope(ctx), logic.select(zero, 1.0, out))
    return (arithmetic.mul(restored(ctx, ctx.dout), logic.select(zero, 0.0, slope)),)


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
    inputs, attrs = prepare("std", as_float(input), axis, keepdims)
    return inputs, {**attrs, "ddof": int(ddof)}


def _with_mean(spread: Any) -> Any:
    def expand(input: Tensor, axis: Any, ddof: int, keepdims: bool) -> tuple[Tensor, Tensor]:
        return spread(input, axis, ddof, keepdims), reduce.mean(input, axis, keepdims)

    return expand


@composite(_with_mean(var), category="reduce", inputs=("input",))
def var_mean(input: TensorLike, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Call:
    """Return the variance and the mean along axes.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    axis : int or tuple of int, optional
        Axes to reduce; None means all.
    ddof : int
        Subtracted from the number of elements in the variance's divisor.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    tuple of Tensor
        Variances and means.
    """
    inputs, attrs = prepare("var_mean", as_float(input), axis, keepdims)
    return inputs, {**attrs, "ddof": int(ddof)}


@composite(_with_mean(std), category="reduce", inputs=("input",))
def std_mean(input: TensorLike, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Call:
    """Return the standard deviation and the mean along axes.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    axis : int or tuple of int, optional
        Axes to reduce; None means all.
    ddof : int
        Subtracted from the number of elements in the variance's divisor.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    tuple of Tensor
        Deviations and means.
    """
    inputs, attrs = prepare("std_mean", as_float(input), axis, keepdims)
    return inputs, {**attrs, "ddof": int(ddof)}


def _expand_aminmax(input: Tensor, axis: Any, keepdims: bool) -> tuple[Tensor, Tensor]:
    return reduce.amin(input, axis, keepdims), reduce.amax(input, axis, keepdims)


@composite(_expand_aminmax, category="reduce", inputs=("input",), method=True)
def aminmax(input: TensorLike, *, axis: int | None = 0, keepdims: bool = False) -> Call:
    """Return the smallest and the largest elements along an axis.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axis : int, optional
        The axis to reduce; None means all.
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    tuple of Tensor
        Minima and maxima.

    Raises
    ------
    ValueError
        If the axis is empty.
    """
    tensor = as_tensor(input)
    inputs, attrs = prepare("aminmax", tensor, axis if tensor.shape else None, keepdims)
    reduce.extremum_rule("aminmax")(tensor.aval, **attrs)
    return inputs, attrs
