"""Functions applied along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from ..ops.cast import TensorLike, as_tensor
from ..ops.rules import normalize_axis
from ..tensor import Tensor


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: TensorLike, *args: Any, **kwargs: Any
) -> Tensor:
    """Apply a function to each vector along an axis.

    Parameters
    ----------
    func1d : callable
        Takes a tensor of one axis.
    axis : int
        The axis.
    arr : array_like
        At least one axis.
    *args, **kwargs
        Further arguments of the function.

    Returns
    -------
    Tensor
        What the function gives stands in the place of the axis.
    """
    tensor = as_tensor(arr)
    at = normalize_axis("apply_along_axis", axis, len(tensor.shape))
    moved = ops.moveaxis(tensor, at, -1)
    others = tuple(moved.shape[:-1])
    rows = ops.reshape(moved, (-1, moved.shape[-1]))
    found = [
        as_tensor(func1d(rows[number], *args, **kwargs)) for number in range(int(rows.shape[0]))
    ]
    result = ops.reshape(ops.stack(found), (*others, *found[0].shape))
    if not found[0].shape:
        return result
    added = len(found[0].shape)
    return ops.moveaxis(result, tuple(range(-added, 0)), tuple(range(at, at + added)))


def apply_over_axes(
    func: Callable[[Tensor, int], Any], a: TensorLike, axes: int | Sequence[int]
) -> Tensor:
    """Apply a function over several axes, one after the other.

    Parameters
    ----------
    func : callable
        Takes a tensor and an axis; where its result lacks the axis, one of size 1 takes its place.
    a : array_like
        Any shape.
    axes : int or sequence of int
        The axes.

    Returns
    -------
    Tensor
        As many axes as before.
    """
    tensor = as_tensor(a)
    count = len(tensor.shape)
    for axis in (axes,) if isinstance(axes, int) else axes:
        found = as_tensor(func(tensor, axis))
        if len(found.shape) < count:
            found = ops.expand_dims(found, normalize_axis("apply_over_axes", axis, count))
        tensor = found
    return tensor


def ndim(a: TensorLike) -> int:
    """Return the number of axes.

    Parameters
    ----------
    a : array_like
        Any shape.

    Returns
    -------
    int
        The number.
    """
    return len(as_tensor(a).shape)


def shape(a: TensorLike) -> tuple[Any, ...]:
    """Return the sizes of the axes.

    Parameters
    ----------
    a : array_like
        Any shape.

    Returns
    -------
    tuple of int
        The sizes.
    """
    return tuple(as_tensor(a).shape)


def size(a: TensorLike, axis: int | None = None) -> int:
    """Return the number of elements, or the size of an axis.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int, optional
        The axis.

    Returns
    -------
    int
        The number.
    """
    tensor = as_tensor(a)
    if axis is None:
        return tensor.size
    return tensor.shape[normalize_axis("size", axis, len(tensor.shape))]


def isscalar(element: Any) -> bool:
    """Tell whether something is one number, not a tensor of it.

    Parameters
    ----------
    element : object
        Anything.

    Returns
    -------
    bool
        Whether it is.
    """
    return isinstance(element, bool | int | float | complex | str)
