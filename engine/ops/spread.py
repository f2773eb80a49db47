"""Two results of one pass: variance and mean, smallest and largest."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import reduce, statistics
from .cast import TensorLike, as_float, as_tensor
from .declarations import composite
from .reduce import Axis, prepare
from .registry import Call


def _with_mean(spread: Any) -> Any:
    def expand(input: Tensor, axis: Any, ddof: int, keepdims: bool) -> tuple[Tensor, Tensor]:
        return spread(input, axis, ddof, keepdims), reduce.mean(input, axis, keepdims)

    return expand


@composite(_with_mean(statistics.var), category="reduce", inputs=("input",))
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


@composite(_with_mean(statistics.std), category="reduce", inputs=("input",))
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
