"""Many numbers into one: sums, means, extremes, and sums that run along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..dtype import bool_, int64
from ..ops.cast import TensorLike, as_float, as_tensor, cast_to
from ..ops.rules import normalize_axis
from ..tensor import Tensor
from .arrangement import ravel
from .elementwise import typed

Axis = int | Sequence[int] | None


def _reduction(name: str, function: Callable[..., Tensor], summary: str, result: str) -> Any:
    """Return a reduction with the parameters that most of NumPy's have."""

    def call(a: TensorLike, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
        tensor = typed(as_tensor(a), dtype)
        return function(tensor, tuple(axis) if isinstance(axis, list) else axis, keepdims)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""{summary}

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or sequence of int, optional
        The axes that disappear; by default all.
    dtype : DType, optional
        Element type in which it is computed.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        {result}
    """
    return call


def _number(tensor: Tensor) -> Tensor:
    return cast_to(tensor, int64) if tensor.dtype is bool_ else tensor


def _where_number(
    least: float, function: Callable[..., Tensor]
) -> Callable[[Tensor, Any, bool], Tensor]:
    """Return an extreme that passes over NaN; NaN alone gives NaN."""

    def call(tensor: Tensor, axis: Any, keepdims: bool) -> Tensor:
        x = as_float(tensor)
        missing = ops.isnan(x)
        found = function(ops.where(missing, least, x), axis, keepdims)
        nothing = ops.all(missing, axis, keepdims)
        return ops.where(nothing, float("nan"), found)

    return call


sum = _reduction(
    "sum", lambda t, axis, keep: ops.sum(_number(t), axis, keep), "Add up.", "The sums."
)
prod = _reduction(
    "prod", lambda t, axis, keep: ops.prod(_number(t), axis, keep), "Multiply.", "The products."
)
mean = _reduction(
    "mean", lambda t, axis, keep: ops.mean(as_float(t), axis, keep), "Average.", "The means."
)
nansum = _reduction("nansum", ops.nansum, "Add up all but NaN.", "The sums.")
nanmean = _reduction(
    "nanmean", lambda t, axis, keep: ops.nanmean(as_float(t), axis, keep), "Average all but NaN.",
    "The means.",
)  # fmt: skip
amax = _reduction("amax", ops.amax, "Return the largest numbers.", "NaN where one is.")
amin = _reduction("amin", ops.amin, "Return the smallest numbers.", "NaN where one is.")
nanmax = _reduction(
    "nanmax", _where_number(-np.inf, ops.amax), "Return the largest numbers but NaN.",
    "NaN where there is no other.",
)  # fmt: skip
nanmin = _reduction(
    "nanmin", _where_number(np.inf, ops.amin), "Return the smallest numbers but NaN.",
    "NaN where there is no other.",
)  # fmt: skip
ptp = _reduction(
    "ptp", lambda t, axis, keep: ops.amax(t, axis, keep) - ops.amin(t, axis, keep),
    "Return how far the numbers spread.", "Largest minus smallest.",
)  # fmt: skip
any = _reduction(
    "any", lambda t, axis, keep: ops.any(cast_to(t, bool_), axis, keep),
    "Tell whether one is true.",
    "Bool.",
)  # fmt: skip
all = _reduction(
    "all", lambda t, axis, keep: ops.all(cast_to(t, bool_), axis, keep),
    "Tell whether all are true.",
    "Bool.",
)  # fmt: skip
max, min, sometrue = amax, amin, any


def _spread(name: str, function: Callable[..., Tensor], summary: str) -> Any:
    def call(a: TensorLike, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
        axes = tuple(axis) if isinstance(axis, list) else axis
        return function(as_float(a), axes, ddof, keepdims)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""{summary}

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or sequence of int, optional
        The axes that disappear; by default all.
    ddof : int
        What is taken off the count before it divides.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        Not negative.
    """
    return call


def _nanvar(tensor: Tensor, axis: Any, ddof: int, keepdims: bool) -> Tensor:
    centred = tensor - ops.nanmean(tensor, axis, True)
    squares = ops.nansum(centred * centred, axis, keepdims)
    count = ops.sum(cast_to(ops.logical_not(ops.isnan(tensor)), tensor.dtype), axis, keepdims)
    return squares / (count - ddof)


var = _spread("var", ops.var, "Return the variances.")
std = _spread("std", ops.std, "Return the standard deviations.")
nanvar = _spread("nanvar", _nanvar, "Return the variances of all but NaN.")
nanstd = _spread(
    "nanstd", lambda *args: ops.sqrt(_nanvar(*args)), "Return the deviations of all but NaN."
)


def average(a: TensorLike, axis: int | None = None, weights: TensorLike | None = None) -> Tensor:
    """Return means in which each number has a weight.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int, optional
        The axis that disappears; by default all do.
    weights : array_like, optional
        The weights: the shape of `a`, or one for each position of the axis; equal by default.

    Returns
    -------
    Tensor
        The means.
    """
    tensor = as_float(a)
    if weights is None:
        return ops.mean(tensor, axis)
    weight = as_float(weights)
    if axis is not None and len(weight.shape) == 1 and len(tensor.shape) > 1:
        shape = [1] * len(tensor.shape)
        shape[normalize_axis("average", axis, len(shape))] = -1
        weight = ops.reshape(weight, tuple(shape))
    whole = ops.broadcast_to(weight, tuple(tensor.shape))
    return ops.sum(tensor * whole, axis) / ops.sum(whole, axis)


def count_nonzero(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Count the numbers that are not zero.

    Parameters
    ----------
    x : array_like
        Any shape.
    axis : int or sequence of int, optional
        The axes that disappear; by default all.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        Int64.
    """
    truth = cast_to(ops.not_equal(as_tensor(x), 0), int64)
    return ops.sum(truth, tuple(axis) if isinstance(axis, list) else axis, keepdims)


def argmax(a: TensorLike, axis: int | None = None) -> Tensor:
    """Return the position of the largest number.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int, optional
        The axis that disappears; by default the elements in their order.

    Returns
    -------
    Tensor
        Integers.
    """
    return ops.argmax(as_tensor(a), axis)


def argmin(a: TensorLike, axis: int | None = None) -> Tensor:
    """Return the position of the smallest number.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int, optional
        The axis that disappears; by default the elements in their order.

    Returns
    -------
    Tensor
        Integers.
    """
    return ops.argmin(as_tensor(a), axis)


# ---- along an axis ---------------------------------------------------------------------------


def _running(name: str, function: Callable[..., Tensor], summary: str) -> Any:
    def call(a: TensorLike, axis: int | None = None, dtype: Any = None) -> Tensor:
        tensor = _number(typed(as_tensor(a), dtype))
        return function(ravel(tensor) if axis is None else tensor, 0 if axis is None else axis)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""{summary}

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int, optional
        Along which axis; by default the elements in their order.
    dtype : DType, optional
        Element type in which it is computed.

    Returns
    -------
    Tensor
        As many numbers as there are elements.
    """
    return call


cumsum = _running("cumsum", ops.cumsum, "Add up from the first number to each.")
cumprod = _running("cumprod", ops.cumprod, "Multiply from the first number to each.")
nancumsum = _running(
    "nancumsum", lambda t, axis: ops.cumsum(ops.where(ops.isnan(t), 0.0, t), axis),
    "Add up from the first number to each, NaN as zero.",
)  # fmt: skip


def diff(a: TensorLike, n: int = 1, axis: int = -1) -> Tensor:
    """Return the differences of neighbours.

    Parameters
    ----------
    a : array_like
        At least one axis.
    n : int
        How many times.
    axis : int
        Along which axis.

    Returns
    -------
    Tensor
        `n` elements fewer on the axis.
    """
    return ops.diff(as_tensor(a), n, axis)


def ediff1d(
    ary: TensorLike, to_end: TensorLike | None = None, to_begin: TensorLike | None = None
) -> Tensor:
    """Return the differences of neighbours among the elements in their order.

    Parameters
    ----------
    ary : array_like
        Any shape.
    to_end, to_begin : array_like, optional
        Numbers to stand behind, and before, the differences.

    Returns
    -------
    Tensor
        One axis.
    """
    found = ops.diff(ravel(ary))
    parts = [part for part in (to_begin, found, to_end) if part is not None]
    return ops.concat([ravel(cast_to(as_tensor(part), found.dtype)) for part in parts])


def trapz(y: TensorLike, x: TensorLike | None = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """Integrate by the trapezoidal rule.

    Parameters
    ----------
    y : array_like
        Values of the function.
    x : array_like, optional
        Where they are.
    dx : float
        Their distance, where `x` is not given.
    axis : int
        Along which axis.

    Returns
    -------
    Tensor
        The integrals.
    """
    values = as_float(y)
    if x is None:
        return ops.trapz(values, dx=dx, dim=axis)
    return ops.trapz(values, as_float(x), dim=axis)


def cov(m: TensorLike, rowvar: bool = True, bias: bool = False) -> Tensor:
    """Return the covariances of variables.

    Parameters
    ----------
    m : array_like
        One variable a row.
    rowvar : bool
        Whether rows are variables, else columns are.
    bias : bool
        Whether sums are divided by the count, else by one less.

    Returns
    -------
    Tensor
        A square matrix.
    """
    tensor = as_float(m)
    if not rowvar and len(tensor.shape) == 2:
        tensor = tensor.transpose()
    return ops.cov(tensor, correction=0 if bias else 1)


def corrcoef(x: TensorLike, rowvar: bool = True) -> Tensor:
    """Return the correlations of variables.

    Parameters
    ----------
    x : array_like
        One variable a row.
    rowvar : bool
        Whether rows are variables, else columns are.

    Returns
    -------
    Tensor
        A square matrix of numbers in -1..1.
    """
    tensor = as_float(x)
    return ops.corrcoef(tensor.transpose() if not rowvar and len(tensor.shape) == 2 else tensor)


def median(a: TensorLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the medians: the middle number, or the mean of the two middle ones.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int, optional
        The axis that disappears; by default all do.
    keepdims : bool
        Whether it stays, with size 1.

    Returns
    -------
    Tensor
        The medians.
    """
    return quantile(a, 0.5, axis, keepdims)


def quantile(a: TensorLike, q: float, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the numbers below which a share of all lies, between neighbours by proportion.

    Parameters
    ----------
    a : array_like
        Any shape.
    q : float
        The share, in 0..1.
    axis : int, optional
        The axis that disappears; by default all do.
    keepdims : bool
        Whether it stays, with size 1.

    Returns
    -------
    Tensor
        The numbers.
    """
    return ops.quantile(as_float(a), q, axis, keepdims)
