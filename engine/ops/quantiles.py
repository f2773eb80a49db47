"""Medians and quantiles: what stands at a place of the sorted elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import float64, int64
from ..tensor import Tensor
from . import arithmetic, array, creation, joining, logic, reduce, rounding
from .cast import TensorLike, as_float, as_tensor, cast_to
from .declarations import composite
from .gathering import gather_elements
from .registry import Call
from .rules import normalize_axis
from .sorting import argsort


def _count(input: Tensor, axis: int, skip_nan: bool) -> Tensor:
    """Return how many elements there are along an axis, that are not NaN if they are skipped."""
    if skip_nan:
        known = logic.logical_not(logic.isnan(input))
        return reduce.sum(cast_to(known, int64), axis, keepdims=True)
    return reduce.sum(creation.ones_like(input, int64), axis, keepdims=True)


def _has_nan(input: Tensor, axis: int) -> Tensor:
    return reduce.any(logic.isnan(input), axis, keep_dims=True)


def _expand_median(skip_nan: bool) -> Any:
    def expand(input: Tensor, axis: int, keepdims: bool) -> tuple[Tensor, Tensor]:
        order = argsort(input, axis)
        last = arithmetic.sub(_count(input, axis, skip_nan), 1)
        middle = arithmetic.floor_div(arithmetic.maximum(last, 0), 2)
        if input.dtype.is_float and not skip_nan:
            middle = logic.select(_has_nan(input, axis), last, middle)
        where = gather_elements(order, axis, middle)
        value = gather_elements(input, axis, where)
        if keepdims:
            return value, where
        return array.squeeze(value, axis), array.squeeze(where, axis)

    return expand


def _prepare_median(name: str, input: TensorLike, axis: int, keepdims: bool) -> Call:
    tensor = as_tensor(input)
    at = normalize_axis(name, axis, len(tensor.shape))
    reduce.extremum_rule(name)(tensor.aval, at, keepdims)
    return (tensor,), {"axis": at, "keepdims": bool(keepdims)}


@composite(_expand_median(False), category="reduce", inputs=("input",), method=True)
def median(input: TensorLike, axis: int = -1, keepdims: bool = False) -> Call:
    """Return the median along an axis and where it stands: of two middle elements the lower.

    Parameters
    ----------
    input : Tensor
        At least one axis; NaN wins.
    axis : int
        The axis to reduce.
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    tuple of Tensor
        The medians, and their Int64 positions.

    Raises
    ------
    ValueError
        If the axis is empty.
    """
    return _prepare_median("median", input, axis, keepdims)


@composite(_expand_median(True), category="reduce", inputs=("input",), method=True)
def nanmedian(input: TensorLike, axis: int = -1, keepdims: bool = False) -> Call:
    """Return the median of the elements that are not NaN, and where it stands.

    Parameters
    ----------
    input : Tensor
        At least one axis; integers are cast to float32.
    axis : int
        The axis to reduce.
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    tuple of Tensor
        The medians, and their Int64 positions.

    Raises
    ------
    ValueError
        If the axis is empty.
    """
    return _prepare_median("nanmedian", as_float(input), axis, keepdims)


def _quantile_at(input: Tensor, ordered: Tensor, q: float, axis: int, skip_nan: bool) -> Tensor:
    last = arithmetic.sub(_count(input, axis, skip_nan), 1)
    place = arithmetic.mul(cast_to(arithmetic.maximum(last, 0), float64), q)
    below = rounding.floor(place)
    low = gather_elements(ordered, axis, cast_to(below, int64))
    high = gather_elements(ordered, axis, cast_to(rounding.ceil(place), int64))
    share = cast_to(arithmetic.sub(place, below), input.dtype)
    return arithmetic.add(low, arithmetic.mul(share, arithmetic.sub(high, low)))


def _expand_quantile(skip_nan: bool) -> Any:
    def expand(
        input: Tensor, q: tuple[float, ...], axis: int, keepdims: bool, single: bool
    ) -> Tensor:
        ordered = gather_elements(input, axis, argsort(input, axis))
        parts = [_quantile_at(input, ordered, place, axis, skip_nan) for place in q]
        if not skip_nan:
            unknown = _has_nan(input, axis)
            parts = [logic.select(unknown, float("nan"), part) for part in parts]
        if not keepdims:
            parts = [array.squeeze(part, axis) for part in parts]
        return parts[0] if single else joining.stack(parts, 0)

    return expand


def _prepare_quantile(name: str, input: TensorLike, q: Any, axis: Any, keepdims: bool) -> Call:
    tensor = as_float(input)
    places = np.asarray(q.asnumpy() if isinstance(q, Tensor) else q, np.float64)
    if places.ndim > 1 or not ((places >= 0) & (places <= 1)).all():
        raise ValueError(
            f"{name}: q must be a number or a list of numbers in 0..1, it is {places.tolist()}."
        )
    whole = axis is None
    if whole:
        kept = (1,) * len(tensor.shape)
        tensor = array.reshape(tensor, (-1, *kept[1:]) if keepdims and kept else (-1,))
    at = 0 if whole else normalize_axis(name, axis, len(tensor.shape))
    reduce.extremum_rule(name)(tensor.aval, at, keepdims)
    attrs = {
        "q": tuple(places.reshape(-1).tolist()), "axis": at, "keepdims": bool(keepdims),
        "single": not places.ndim,
    }  # fmt: skip
    return (tensor,), attrs


@composite(_expand_quantile(False), category="reduce", inputs=("input",), method=True)
def quantile(input: TensorLike, q: Any, axis: int | None = None, keepdims: bool = False) -> Call:
    """Return quantiles along an axis, by linear interpolation between the sorted elements.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32. NaN wins.
    q : float, sequence of float or Tensor
        Shares of the elements that lie below, in 0..1.
    axis : int, optional
        The axis to reduce; None means all.
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    Tensor
        The quantiles; of several ``q`` one after the other along a new first axis.

    Raises
    ------
    ValueError
        If ``q`` is outside 0..1, or the axis is empty.

    References
    ----------
    Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996, definition 7.
    """
    return _prepare_quantile("quantile", input, q, axis, keepdims)


@composite(_expand_quantile(True), category="reduce", inputs=("input",), method=True)
def nanquantile(input: TensorLike, q: Any, axis: int | None = None, keepdims: bool = False) -> Call:
    """Return quantiles of the elements along an axis that are not NaN.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    q : float, sequence of float or Tensor
        Shares of the elements that lie below, in 0..1.
    axis : int, optional
        The axis to reduce; None means all.
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    Tensor
        The quantiles; of several ``q`` one after the other along a new first axis.

    Raises
    ------
    ValueError
        If ``q`` is outside 0..1, or the axis is empty.

    References
    ----------
    Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996, definition 7.
    """
    return _prepare_quantile("nanquantile", input, q, axis, keepdims)
