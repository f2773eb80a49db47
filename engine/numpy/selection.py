"""Elements found, chosen and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..dtype import int64
from ..ops.cast import TensorLike, as_float, as_tensor, cast_to
from ..tensor import Tensor
from .arrangement import ravel


def where(condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None) -> Any:
    """Choose between two tensors, or find where a condition holds.

    Parameters
    ----------
    condition : array_like
        Truth values.
    x, y : array_like, optional
        What is taken where they are true, and where not; shapes that broadcast.

    Returns
    -------
    Tensor or tuple of Tensor
        The chosen elements; without `x` and `y` the positions that hold, one tensor an axis.
    """
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("where: give both x and y, or neither.")
    return ops.where(as_tensor(condition), x, y)


def nonzero(a: TensorLike) -> tuple[Tensor, ...]:
    """Return the positions of the numbers that are not zero.

    Parameters
    ----------
    a : array_like
        Any shape.

    Returns
    -------
    tuple of Tensor
        Int64 positions, one tensor for each axis.
    """
    found = ops.nonzero(as_tensor(a))
    return tuple(found[:, axis] for axis in range(int(found.shape[1])))


def select(
    condlist: Sequence[TensorLike], choicelist: Sequence[TensorLike], default: TensorLike = 0
) -> Tensor:
    """Choose from several tensors by several conditions.

    Parameters
    ----------
    condlist : sequence of array_like
        Conditions; the first that is true decides.
    choicelist : sequence of array_like
        What is taken where each is.
    default : array_like
        What is taken where none is.

    Returns
    -------
    Tensor
        The chosen elements.
    """
    found: Any = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        found = ops.where(as_tensor(condition), as_tensor(choice), found)
    return found


def choose(a: TensorLike, choices: Sequence[TensorLike]) -> Tensor:
    """Choose from several tensors by number.

    Parameters
    ----------
    a : array_like
        Which tensor each element is taken from.
    choices : sequence of array_like
        The tensors; shapes that broadcast.

    Returns
    -------
    Tensor
        The chosen elements.
    """
    return as_tensor(a).choose(choices)


def piecewise(
    x: TensorLike, condlist: Sequence[TensorLike], funclist: Sequence[Callable[..., Any] | float]
) -> Tensor:
    """Compute each number by the function whose condition holds there.

    Parameters
    ----------
    x : array_like
        Any shape.
    condlist : sequence of array_like
        Conditions; the last that is true decides.
    funclist : sequence of callable or float
        A function or a number for each; one more is for the numbers where none is true.

    Returns
    -------
    Tensor
        The values.
    """
    tensor = as_tensor(x)
    values = [function(tensor) if callable(function) else function for function in funclist]
    found: Any = values[len(condlist)] if len(values) > len(condlist) else ops.zeros_like(tensor)
    for condition, value in zip(condlist, values, strict=False):
        found = ops.where(as_tensor(condition), value, found)
    return found


def take(a: TensorLike, indices: TensorLike, axis: int | None = None) -> Tensor:
    """Pick elements by position.

    Parameters
    ----------
    a : array_like
        Any shape.
    indices : array_like
        Positions, of any shape; negative ones count from the end.
    axis : int, optional
        The axis to pick from; by default the elements in their order.

    Returns
    -------
    Tensor
        The axis replaced by the shape of the positions.
    """
    tensor, places = as_tensor(a), as_tensor(indices)
    return ops.gather(ravel(tensor) if axis is None else tensor, places, axis or 0)


def take_along_axis(arr: TensorLike, indices: TensorLike, axis: int | None) -> Tensor:
    """Pick one element for each position of a tensor of indices.

    Parameters
    ----------
    arr : array_like
        Any shape.
    indices : array_like
        Positions on the axis, in a shape that fits the others.
    axis : int or None
        The axis; None takes the elements in their order.

    Returns
    -------
    Tensor
        The shape of `indices`.
    """
    tensor, places = as_tensor(arr), as_tensor(indices)
    if axis is None:
        return ops.gather(ravel(tensor), places, 0)
    return ops.take_along_dim(tensor, places, axis)


def searchsorted(a: TensorLike, v: TensorLike, side: str = "left") -> Tensor:
    """Return where numbers would stand in a rising sequence.

    Parameters
    ----------
    a : array_like
        The sequence, one axis.
    v : array_like
        The numbers.
    side : {"left", "right"}
        Whether they stand before or behind equal ones.

    Returns
    -------
    Tensor
        Int64 positions in the shape of `v`.
    """
    return cast_to(ops.searchsorted(as_tensor(a), as_tensor(v), right=side == "right"), int64)


def digitize(x: TensorLike, bins: TensorLike, right: bool = False) -> Tensor:
    """Return the number of the bin of each value.

    Parameters
    ----------
    x : array_like
        Any shape.
    bins : array_like
        Rising edges, one axis.
    right : bool
        Whether a bin holds its right edge, else its left one.

    Returns
    -------
    Tensor
        Int64, 0 for values below the first edge.
    """
    return searchsorted(bins, x, "left" if right else "right")


def unique(x: TensorLike) -> Tensor:
    """Return the different numbers, in rising order.

    Parameters
    ----------
    x : array_like
        Any shape.

    Returns
    -------
    Tensor
        One axis.
    """
    values = ops.sort(ravel(x))[0]
    if int(values.shape[0]) < 2:
        return values
    first = ops.ones((1,), "bool")
    return values[ops.concat([first, ops.not_equal(values[1:], values[:-1])])]


def isin(element: TensorLike, test_elements: TensorLike, invert: bool = False) -> Tensor:
    """Tell which numbers are among others.

    Parameters
    ----------
    element : array_like
        Any shape.
    test_elements : array_like
        The others, any shape.
    invert : bool
        Whether to tell which are not.

    Returns
    -------
    Tensor
        Bool, in the shape of `element`.
    """
    tensor, others = as_tensor(element), ravel(test_elements)
    found = ops.any(ops.equal(ops.expand_dims(tensor, -1), others), -1)
    return ops.logical_not(found) if invert else found


def in1d(ar1: TensorLike, ar2: TensorLike, invert: bool = False) -> Tensor:
    """Tell which numbers are among others, the elements in their order.

    Parameters
    ----------
    ar1, ar2 : array_like
        The numbers, and the others.
    invert : bool
        Whether to tell which are not.

    Returns
    -------
    Tensor
        Bool, one axis.
    """
    return isin(ravel(ar1), ar2, invert)


def array_equal(a1: TensorLike, a2: TensorLike, equal_nan: bool = False) -> Tensor:
    """Tell whether two tensors have one shape and equal elements.

    Parameters
    ----------
    a1, a2 : array_like
        The tensors.
    equal_nan : bool
        Whether NaN equals NaN.

    Returns
    -------
    Tensor
        One Bool.
    """
    left, right = as_tensor(a1), as_tensor(a2)
    if tuple(left.shape) != tuple(right.shape):
        return as_tensor(False)
    same = ops.equal(left, right)
    if equal_nan:
        same = ops.logical_or(same, ops.logical_and(ops.isnan(left), ops.isnan(right)))
    return ops.all(same)


def sort(a: TensorLike, axis: int | None = -1) -> Tensor:
    """Return the numbers in rising order.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or None
        Along which axis; None sorts the elements in their order.

    Returns
    -------
    Tensor
        The sorted numbers.
    """
    return ops.sort(ravel(a))[0] if axis is None else ops.sort(as_tensor(a), axis)[0]


def argsort(a: TensorLike, axis: int | None = -1) -> Tensor:
    """Return the positions that bring the numbers into rising order.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or None
        Along which axis; None takes the elements in their order.

    Returns
    -------
    Tensor
        Integers.
    """
    return ops.argsort(ravel(a)) if axis is None else ops.argsort(as_tensor(a), axis)


def unravel_index(indices: TensorLike, shape: Sequence[int]) -> tuple[Tensor, ...]:
    """Return the positions on each axis of elements that are numbered in their order.

    Parameters
    ----------
    indices : array_like
        Numbers of elements.
    shape : sequence of int
        Shape of the tensor.

    Returns
    -------
    tuple of Tensor
        One tensor for each axis.
    """
    number = as_tensor(indices)
    steps = np.cumprod((1, *tuple(shape)[:0:-1]))[::-1].tolist()
    return tuple(
        ops.mod(ops.floor_div(number, step), size) for step, size in zip(steps, shape, strict=True)
    )


# ---- counted ---------------------------------------------------------------------------------


def bincount(x: TensorLike, weights: TensorLike | None = None, minlength: int = 0) -> Tensor:
    """Count how often each whole number occurs.

    Parameters
    ----------
    x : array_like
        Whole numbers that are not negative, one axis.
    weights : array_like, optional
        What each occurrence counts.
    minlength : int
        How many counts at least.

    Returns
    -------
    Tensor
        The counts of 0, 1, 2 and so on.
    """
    weight = None if weights is None else as_tensor(weights)
    return ops.bincount(as_tensor(x), weight, minlength)


def histogram(
    a: TensorLike,
    bins: int | Sequence[float] = 10,
    range: tuple[float, float] | None = None,
) -> tuple[Tensor, Tensor]:
    """Count the numbers in bins.

    Parameters
    ----------
    a : array_like
        Any shape.
    bins : int or sequence of float
        How many equal bins, or their edges.
    range : tuple of float, optional
        Ends of equal bins; by default the least and the largest number.

    Returns
    -------
    counts : Tensor
        Int64, one for each bin.
    edges : Tensor
        One more than bins.
    """
    flat = as_float(ravel(a))
    if isinstance(bins, int):
        low, high = range or (float(ops.amin(flat)), float(ops.amax(flat)))
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = as_tensor(np.linspace(low, high, bins + 1).astype(flat.dtype.numpy))
    else:
        edges = cast_to(as_tensor(bins), flat.dtype)
    count = int(edges.shape[0]) - 1
    place = digitize(flat, edges) - 1
    # The last bin holds its right edge too.
    place = ops.where(ops.equal(flat, edges[-1]), count - 1, place)
    inside = ops.logical_and(ops.greater_equal(place, 0), ops.less(place, count))
    place = ops.where(inside, place, count)
    return cast_to(bincount(place, minlength=count + 1)[:count], int64), edges
