"""Sums that need care: of exponentials, of powers, past NaN, of what is not zero."""

from __future__ import annotations

import math as numbers
from typing import Any

from ..dtype import DType, dtype_of, int32
from ..tensor import Tensor
from . import arithmetic, array, logic, math, reduce
from .cast import TensorLike, as_float, as_float_of, as_tensor, cast_to
from .declarations import composite
from .reduce import Axis, prepare
from .registry import Call


def _expand_logsumexp(input: Tensor, axis: Any, keep_dims: bool) -> Tensor:
    top = reduce.amax(input, axis, keepdims=True)
    # An infinite top would give Inf - Inf.
    shift = array.stop_gradient(logic.select(logic.isfinite(top), top, 0.0))
    total = reduce.sum(math.exp(arithmetic.sub(input, shift)), axis, keep_dims)
    return arithmetic.add(math.log(total), reduce.sum(shift, axis, keep_dims))


@composite(_expand_logsumexp, category="reduce", inputs=("input",), method=True)
def logsumexp(input: TensorLike, axis: Axis = None, keep_dims: bool = False) -> Call:
    """Return the logarithm of the sum of exponentials along axes, without overflow.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    axis : int or tuple of int, optional
        Axes to reduce; None means all.
    keep_dims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        ``log(sum(exp(input)))``.

    Raises
    ------
    ValueError
        If a reduced axis is empty.
    """
    inputs, attrs = prepare("logsumexp", as_float(input), axis, keep_dims)
    reduce.extremum_rule("logsumexp")(inputs[0].aval, **attrs)
    return inputs, {"axis": attrs["axis"], "keep_dims": attrs["keepdims"]}


def root_of_squares(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    """Return Euclidean lengths; where one is zero its gradient is zero, not NaN."""
    total = reduce.sum(math.square(x), axis, keepdims)
    zero = logic.equal(total, 0)
    return logic.select(zero, 0.0, math.sqrt(logic.select(zero, 1.0, total)))


def vector_length(x: Tensor, ord: float, axis: Any, keepdims: bool) -> Tensor:
    """Return the norm of vectors along axes."""
    size = math.abs(x)
    if ord == 2:
        return root_of_squares(x, axis, keepdims)
    if ord == numbers.inf:
        return reduce.amax(size, axis, keepdims)
    if ord == -numbers.inf:
        return reduce.amin(size, axis, keepdims)
    if ord == 0:
        return reduce.sum(cast_to(logic.not_equal(x, 0), x.dtype), axis, keepdims)
    if ord == 1:
        return reduce.sum(size, axis, keepdims)
    return _root_of_powers(size, ord, axis, keepdims)


def _root_of_powers(size: Tensor, ord: float, axis: Any, keepdims: bool) -> Tensor:
    """Return ``sum(size ** ord) ** (1 / ord)``, with a gradient of zero at zero."""
    empty = logic.equal(size, 0)
    powers = arithmetic.pow(logic.select(empty, 1.0, size), ord)
    at_zero = 0.0 if ord > 0 else numbers.inf
    total = reduce.sum(logic.select(empty, at_zero, powers), axis, keepdims)
    flat = logic.logical_or(logic.equal(total, 0), logic.isinf(total))
    root = arithmetic.pow(logic.select(flat, 1.0, total), 1.0 / ord)
    limit = total if ord > 0 else arithmetic.mul(logic.select(flat, 0.0, total), 0.0)
    return logic.select(flat, limit, root)


@composite(vector_length, category="linalg", inputs=("x",), primitive="LpNorm")
def vector_norm(
    x: TensorLike,
    ord: float = 2,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dtype: Any = None,
) -> Call:
    """Return norms of vectors along axes.

    Parameters
    ----------
    x : Tensor
        Any shape; integers are cast to float32.
    ord : float
        Order: 2 is the length, 1 the sum of sizes, Inf the largest size, -Inf the smallest, 0 the
        count of what is not zero, any other ``sum(|x|**ord)**(1/ord)``.
    axis : int or tuple of int, optional
        Axes to reduce; None means all.
    keepdims : bool
        Whether the axes stay, with size 1.
    dtype : DType, optional
        Type to compute in; by default the input's.

    Returns
    -------
    Tensor
        The norms.
    """
    inputs, attrs = prepare("vector_norm", as_float_of(x, dtype), axis, keepdims)
    return inputs, {"ord": float(ord), "axis": attrs["axis"], "keepdims": attrs["keepdims"]}


def _expand_nansum(input: Tensor, axis: Any, keepdims: bool) -> Tensor:
    return reduce.sum(logic.select(logic.isnan(input), 0.0, input), axis, keepdims)


@composite(_expand_nansum, category="reduce", inputs=("input",), method=True)
def nansum(
    input: TensorLike, axis: Axis = None, keepdims: bool = False, *, dtype: Any = None
) -> Call:
    """Add up the elements along axes, NaN as zero.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    axis : int or tuple of int, optional
        Axes to add up; None means all.
    keepdims : bool
        Whether the axes stay, with size 1.
    dtype : DType, optional
        A float type to add up in; by default the input's.

    Returns
    -------
    Tensor
        The sums.
    """
    return prepare("nansum", as_float_of(input, dtype), axis, keepdims)


def _expand_nanmean(input: Tensor, axis: Any, keepdims: bool) -> Tensor:
    known = cast_to(logic.logical_not(logic.isnan(input)), input.dtype)
    return arithmetic.div(_expand_nansum(input, axis, keepdims), reduce.sum(known, axis, keepdims))


@composite(_expand_nanmean, category="reduce", inputs=("input",), method=True)
def nanmean(
    input: TensorLike, axis: Axis = None, keepdims: bool = False, *, dtype: Any = None
) -> Call:
    """Average the elements along axes that are not NaN.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    axis : int or tuple of int, optional
        Axes to average; None means all.
    keepdims : bool
        Whether the axes stay, with size 1.
    dtype : DType, optional
        A float type to compute in; by default the input's.

    Returns
    -------
    Tensor
        The means; of nothing but NaN NaN.
    """
    return prepare("nanmean", as_float_of(input, dtype), axis, keepdims)


def _expand_count(x: Tensor, axis: Any, keep_dims: bool, dtype: DType) -> Tensor:
    return reduce.sum(cast_to(logic.not_equal(x, 0), dtype), axis, keep_dims)


@composite(_expand_count, category="reduce", inputs=("x",), primitive="CountNonZero", method=True)
def count_nonzero(
    x: TensorLike, axis: Axis = (), keep_dims: bool = False, dtype: Any = int32
) -> Call:
    """Count the elements along axes that are not zero.

    Parameters
    ----------
    x : Tensor
        Any shape.
    axis : int or tuple of int, optional
        Axes to reduce; None and the empty tuple mean all.
    keep_dims : bool
        Whether the axes stay, with size 1.
    dtype : DType
        Type of the counts.

    Returns
    -------
    Tensor
        The counts.
    """
    inputs, attrs = prepare("count_nonzero", as_tensor(x), None if axis == () else axis, keep_dims)
    return inputs, {
        "axis": attrs["axis"], "keep_dims": attrs["keepdims"], "dtype": dtype_of(dtype),
    }  # fmt: skip
