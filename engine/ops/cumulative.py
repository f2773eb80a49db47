"""Running sums, products and extremes along an axis; differences and areas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtype import bool_, dtype_of, int64
from ..shape import Aval, ShapeError
from ..tensor import Tensor
from . import arithmetic, array, joining, logic, math, reduce, slicing
from .cast import TensorLike, as_float, as_number, as_tensor, cast_to
from .declarations import composite, in_dtype
from .gathering import gather_elements
from .registry import Call, GradContext, Grads, Host, op
from .rules import normalize_axis, require_float, same

_REASON = "runs along an axis in order, in NumPy"


def _running(function: Callable[..., Any], neutral: float) -> Callable[..., np.ndarray]:
    """Return the kernel of a running fold, from either end, with or without each element."""

    def kernel(x: np.ndarray, axis: int, exclusive: bool, reverse: bool) -> np.ndarray:
        turned = np.flip(x, axis) if reverse else x
        found = function(turned, axis, dtype=x.dtype)
        if exclusive:
            found = np.roll(found, 1, axis)
            found[(slice(None),) * axis + (slice(0, 1),)] = neutral
        return np.flip(found, axis) if reverse else found

    return kernel


def _turned(ctx: GradContext, tensor: Tensor) -> Tensor:
    """Return the running sum from the other end: what a running fold's gradient is made of."""
    attrs = ctx.attrs
    return cumsum(tensor, attrs["axis"], exclusive=attrs["exclusive"], reverse=not attrs["reverse"])


def _cumsum_grad(ctx: GradContext) -> Grads:
    return (_turned(ctx, ctx.dout),)


def _axis_of(name: str, tensor: Tensor, axis: int) -> int:
    if isinstance(axis, Tensor):
        axis = int(axis)
    return normalize_axis(name, axis, len(tensor.shape))


def _typed(x: TensorLike, dtype: Any) -> Tensor:
    tensor = as_number(x)
    return tensor if dtype is None else cast_to(tensor, dtype_of(dtype))


@op(
    infer=same,
    kernel=_running(np.cumsum, 0),
    grad=_cumsum_grad,
    lowering=Host(_REASON),
    category="reduce",
    inputs=("x",),
    primitive="CumSum",
    method=True,
)
def cumsum(
    x: TensorLike,
    axis: int = -1,
    dtype: Any = None,
    *,
    exclusive: bool = False,
    reverse: bool = False,
) -> Call:
    """Return cumulative sums along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis; Bool is counted in int64.
    axis : int
        The axis to add up along.
    dtype : DType, optional
        Type to add up in; by default the input's.
    exclusive : bool
        Whether each sum leaves out its own element.
    reverse : bool
        Whether to run from the end.

    Returns
    -------
    Tensor
        The shape of the input.
    """
    tensor = _typed(x, dtype)
    at = _axis_of("cumsum", tensor, axis)
    return (tensor,), {"axis": at, "exclusive": bool(exclusive), "reverse": bool(reverse)}


def _cumprod_grad(ctx: GradContext) -> Grads:
    # Behind a single zero the products of the others count; behind two nothing does.
    x, axis = ctx.inputs[0], ctx.attrs["axis"]
    options = {"exclusive": ctx.attrs["exclusive"], "reverse": ctx.attrs["reverse"]}
    zero = logic.equal(x, 0)
    filled = logic.select(zero, 1.0, x)
    alone = logic.equal(cumsum(cast_to(zero, x.dtype), axis, **options), 1)
    others = logic.select(alone, cumprod(filled, axis, **options), 0.0)
    at_zero = _turned(ctx, arithmetic.mul(ctx.dout, others))
    plain = arithmetic.div(_turned(ctx, arithmetic.mul(ctx.dout, ctx.outputs[0])), filled)
    return (logic.select(zero, at_zero, plain),)


@op(
    infer=same,
    kernel=_running(np.cumprod, 1),
    grad=_cumprod_grad,
    lowering=Host(_REASON),
    category="reduce",
    inputs=("input",),
    primitive="CumProd",
    method=True,
)
def cumprod(
    input: TensorLike,
    dim: int = -1,
    dtype: Any = None,
    *,
    exclusive: bool = False,
    reverse: bool = False,
) -> Call:
    """Return cumulative products along an axis.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    dim : int
        The axis to multiply along.
    dtype : DType, optional
        Type to multiply in; by default the input's.
    exclusive : bool
        Whether each product leaves out its own element.
    reverse : bool
        Whether to run from the end.

    Returns
    -------
    Tensor
        The shape of the input.
    """
    tensor = _typed(input, dtype)
    at = _axis_of("cumprod", tensor, dim)
    return (tensor,), {"axis": at, "exclusive": bool(exclusive), "reverse": bool(reverse)}


def _logcumsumexp_rule(input: Aval, axis: int, reverse: bool) -> Aval:
    require_float("logcumsumexp", "input", input)
    return input


def _logcumsumexp_kernel(input: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    turned = np.flip(input, axis) if reverse else input
    found = np.logaddexp.accumulate(turned, axis, dtype=input.dtype)
    return np.flip(found, axis) if reverse else found


def _log_of_positive(tensor: Tensor) -> Tensor:
    above = logic.greater(tensor, 0)
    return logic.select(above, math.log(logic.select(above, tensor, 1.0)), -np.inf)


def _logcumsumexp_grad(ctx: GradContext) -> Grads:
    # exp(x) times the sum of dout / exp(out) from here on, both kept as logarithms.
    x, axis, reverse = ctx.inputs[0], ctx.attrs["axis"], not ctx.attrs["reverse"]
    parts = []
    for side in (ctx.dout, math.neg(ctx.dout)):
        logs = arithmetic.sub(_log_of_positive(side), ctx.outputs[0])
        parts.append(math.exp(arithmetic.add(logcumsumexp(logs, axis, reverse=reverse), x)))
    return (arithmetic.sub(*parts),)


@op(
    infer=_logcumsumexp_rule,
    kernel=in_dtype(_logcumsumexp_kernel),
    grad=_logcumsumexp_grad,
    lowering=Host(_REASON),
    category="reduce",
    inputs=("input",),
    primitive="CumulativeLogsumexp",
    method=True,
)
def logcumsumexp(input: TensorLike, axis: int, *, reverse: bool = False) -> Call:
    """Return logarithms of cumulative sums of exponentials, without overflow.

    Parameters
    ----------
    input : Tensor
        At least one axis; integers are cast to float32.
    axis : int
        The axis to run along.
    reverse : bool
        Whether to run from the end.

    Returns
    -------
    Tensor
        The shape of the input.
    """
    tensor = as_float(input)
    return (tensor,), {"axis": _axis_of("logcumsumexp", tensor, axis), "reverse": bool(reverse)}


def _record_rule(input: Aval, axis: int, largest: bool) -> Aval:
    return Aval(input.shape, int64)


def _record_kernel(input: np.ndarray, axis: int, largest: bool) -> np.ndarray:
    extreme = np.maximum if largest else np.minimum
    best = extreme.accumulate(input, axis)
    shape = [1] * input.ndim
    shape[axis] = -1
    places = np.arange(input.shape[axis]).reshape(shape)
    found = (input == best) | np.isnan(input)
    return np.maximum.accumulate(np.where(found, places, 0), axis).astype(np.int64)


@op(
    infer=_record_rule,
    kernel=_record_kernel,
    lowering=Host(_REASON),
    category="gradient",
    inputs=("input",),
)
def record_positions(input: TensorLike, axis: int, largest: bool) -> Call:
    """Return where the extreme element so far stands, the last of equal ones.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axis : int
        The axis to run along.
    largest : bool
        Whether the largest or the smallest is meant.

    Returns
    -------
    Tensor
        Int64 positions in the input's shape.
    """
    return (as_tensor(input),), {"axis": axis, "largest": largest}


def _expand_records(largest: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    def expand(input: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        where = record_positions(input, axis, largest)
        return gather_elements(input, axis, where), where

    return expand


@composite(_expand_records(True), category="reduce", inputs=("input",), method=True)
def cummax(input: TensorLike, axis: int) -> Call:
    """Return cumulative maxima along an axis, and where they stand.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    axis : int
        The axis to run along.

    Returns
    -------
    tuple of Tensor
        Running maxima, and their Int64 positions; of equal ones the last.
    """
    tensor = as_number(input)
    return (tensor,), {"axis": _axis_of("cummax", tensor, axis)}


@composite(_expand_records(False), category="reduce", inputs=("input",), method=True)
def cummin(input: TensorLike, axis: int) -> Call:
    """Return cumulative minima along an axis, and where they stand.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    axis : int
        The axis to run along.

    Returns
    -------
    tuple of Tensor
        Running minima, and their Int64 positions; of equal ones the last.
    """
    tensor = as_number(input)
    return (tensor,), {"axis": _axis_of("cummin", tensor, axis)}


def part(tensor: Tensor, axis: int, start: int | None, stop: int | None) -> Tensor:
    """Return the elements ``start..stop`` of one axis."""
    lead = (None,) * axis
    return slicing.strided_slice(tensor, (*lead, start), (*lead, stop))


def _expand_diff(*x: Tensor, n: int, axis: int) -> Tensor:
    found = x[0] if len(x) == 1 else joining.concat(x, axis)
    for _ in range(n):
        later, earlier = part(found, axis, 1, None), part(found, axis, None, -1)
        if found.dtype is bool_:
            found = logic.not_equal(later, earlier)
        else:
            found = arithmetic.sub(later, earlier)
    return found if n else array.identity(found)


@composite(_expand_diff, category="math", inputs=("x", "prepend", "append"), method=True)
def diff(
    x: TensorLike,
    n: int = 1,
    axis: int = -1,
    prepend: TensorLike | None = None,
    append: TensorLike | None = None,
) -> Call:
    """Return differences of neighbours along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    n : int
        How often differences are taken.
    axis : int
        The axis along which elements are neighbours.
    prepend, append : Tensor, optional
        Elements before and after those of ``x``, of its shape but for the axis.

    Returns
    -------
    Tensor
        The axis is shorter by ``n``; Bool tells where neighbours differ.

    Raises
    ------
    ValueError
        If ``n`` is negative.
    """
    if n < 0:
        raise ValueError(f"diff: n must not be negative, it is {n}.")
    tensor = as_tensor(x)
    parts = [cast_to(as_tensor(p), tensor.dtype) for p in (prepend,) if p is not None]
    parts += [tensor, *(cast_to(as_tensor(p), tensor.dtype) for p in (append,) if p is not None)]
    return tuple(parts), {"n": int(n), "axis": _axis_of("diff", tensor, axis)}


def _expand_trapz(y: Tensor, *x: Tensor, dx: float, dim: int) -> Tensor:
    pairs = arithmetic.add(part(y, dim, 1, None), part(y, dim, None, -1))
    if not x:
        return arithmetic.mul(reduce.sum(pairs, dim), dx / 2)
    widths = x[0]
    if len(widths.shape) == 1:
        widths = array.reshape(widths, (-1,) + (1,) * (len(y.shape) - 1 - dim))
        steps = arithmetic.sub(part(widths, 0, 1, None), part(widths, 0, None, -1))
    else:
        steps = arithmetic.sub(part(widths, dim, 1, None), part(widths, dim, None, -1))
    return arithmetic.mul(reduce.sum(arithmetic.mul(pairs, steps), dim), 0.5)


@composite(_expand_trapz, category="math", inputs=("y", "x"))
def trapz(y: TensorLike, x: TensorLike | None = None, *, dx: float = 1.0, dim: int = -1) -> Call:
    """Integrate along an axis by the trapezoidal rule.

    Parameters
    ----------
    y : Tensor
        Heights; integers are cast to float32.
    x : Tensor, optional
        Where the points stand: one axis, or the shape of ``y``.
    dx : float
        Their distance where ``x`` is not given.
    dim : int
        The axis along which points follow each other.

    Returns
    -------
    Tensor
        The areas, without the axis.

    Raises
    ------
    ValueError
        If ``x`` does not have a place for each point.
    """
    heights = as_float(y)
    at = _axis_of("trapz", heights, dim)
    if x is None:
        return (heights,), {"dx": float(dx), "dim": at}
    places = cast_to(as_float(x), heights.dtype)
    if places.shape[-1 if len(places.shape) == 1 else at] != heights.shape[at]:
        raise ShapeError(
            f"trapz: x {list(places.shape)} must have a place for each of the"
            f" {heights.shape[at]} points along axis {at} of y."
        )
    return (heights, places), {"dx": float(dx), "dim": at}
