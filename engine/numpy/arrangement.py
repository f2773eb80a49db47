"""Other arrangements of the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from ..ops.cast import TensorLike, as_tensor
from ..ops.rules import normalize_axis
from ..shape import broadcast_shapes
from ..tensor import Tensor

Axes = int | Sequence[int]


def axes_of(axis: Axes) -> tuple[int, ...]:
    return (axis,) if isinstance(axis, int) else tuple(axis)


def reshape(x: TensorLike, new_shape: Axes) -> Tensor:
    """Arrange the elements in another shape.

    Parameters
    ----------
    x : array_like
        Any shape.
    new_shape : int or sequence of int
        The shape; -1 for one size that follows from the others.

    Returns
    -------
    Tensor
        The same elements in their order.
    """
    return ops.reshape(as_tensor(x), axes_of(new_shape))


def ravel(x: TensorLike) -> Tensor:
    """Join all axes into one.

    Parameters
    ----------
    x : array_like
        Any shape.

    Returns
    -------
    Tensor
        One axis.
    """
    return ops.reshape(as_tensor(x), (-1,))


def transpose(a: TensorLike, axes: Sequence[int] | None = None) -> Tensor:
    """Put the axes in another order.

    Parameters
    ----------
    a : array_like
        Any shape.
    axes : sequence of int, optional
        The order; by default reversed.

    Returns
    -------
    Tensor
        The elements by their new positions.
    """
    tensor = as_tensor(a)
    return tensor.transpose() if axes is None else tensor.transpose(tuple(axes))


def swapaxes(x: TensorLike, axis1: int, axis2: int) -> Tensor:
    """Exchange two axes.

    Parameters
    ----------
    x : array_like
        Any shape.
    axis1, axis2 : int
        The axes.

    Returns
    -------
    Tensor
        The elements by their new positions.
    """
    return ops.swapaxes(as_tensor(x), axis1, axis2)


def moveaxis(a: TensorLike, source: Axes, destination: Axes) -> Tensor:
    """Move axes to other places.

    Parameters
    ----------
    a : array_like
        Any shape.
    source, destination : int or sequence of int
        Where the axes are, and where they go.

    Returns
    -------
    Tensor
        The elements by their new positions.
    """
    return ops.moveaxis(as_tensor(a), source, destination)


def rollaxis(x: TensorLike, axis: int, start: int = 0) -> Tensor:
    """Move one axis back until it lies before another.

    Parameters
    ----------
    x : array_like
        Any shape.
    axis : int
        The axis to move.
    start : int
        The axis before which it comes to lie.

    Returns
    -------
    Tensor
        The elements by their new positions.
    """
    tensor = as_tensor(x)
    count = len(tensor.shape)
    axis = normalize_axis("rollaxis", axis, count)
    start = normalize_axis("rollaxis", start, count + 1) if start >= 0 else start + count
    return ops.moveaxis(tensor, axis, start - 1 if axis < start else start)


def expand_dims(a: TensorLike, axis: Axes) -> Tensor:
    """Add axes of size 1.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or sequence of int
        Where they stand in the result.

    Returns
    -------
    Tensor
        More axes.
    """
    tensor = as_tensor(a)
    places = axes_of(axis)
    count = len(tensor.shape) + len(places)
    for place in sorted(normalize_axis("expand_dims", place, count) for place in places):
        tensor = ops.expand_dims(tensor, place)
    return tensor


def squeeze(a: TensorLike, axis: Axes | None = None) -> Tensor:
    """Drop axes of size 1.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or sequence of int, optional
        Which; by default all of them.

    Returns
    -------
    Tensor
        Fewer axes.
    """
    tensor = as_tensor(a)
    return ops.squeeze(tensor) if axis is None else ops.squeeze(tensor, axis)


def _with_axes(arrays: tuple[TensorLike, ...], least: Any) -> Any:
    found = [least(as_tensor(item)) for item in arrays]
    return found[0] if len(found) == 1 else found


def atleast_1d(*arys: TensorLike) -> Any:
    """Give numbers an axis.

    Parameters
    ----------
    *arys : array_like
        Any shapes.

    Returns
    -------
    Tensor or list of Tensor
        At least one axis each.
    """
    return _with_axes(arys, lambda t: t if t.shape else t.reshape(1))


def atleast_2d(*arys: TensorLike) -> Any:
    """Give tensors two axes, new ones in front.

    Parameters
    ----------
    *arys : array_like
        Any shapes.

    Returns
    -------
    Tensor or list of Tensor
        At least two axes each.
    """
    return _with_axes(
        arys, lambda t: t if len(t.shape) > 1 else t.reshape((*(1,) * (2 - len(t.shape)), *t.shape))
    )


def atleast_3d(*arys: TensorLike) -> Any:
    """Give tensors three axes: a row becomes ``[1, n, 1]``, a matrix ``[m, n, 1]``.

    Parameters
    ----------
    *arys : array_like
        Any shapes.

    Returns
    -------
    Tensor or list of Tensor
        At least three axes each.
    """

    def least(tensor: Tensor) -> Tensor:
        if len(tensor.shape) > 2:
            return tensor
        return ops.expand_dims(atleast_2d(tensor), 2)

    return _with_axes(arys, least)


def broadcast_to(array: TensorLike, shape: Sequence[int]) -> Tensor:
    """Repeat a tensor along axes of size 1 and new ones in front.

    Parameters
    ----------
    array : array_like
        A shape that broadcasts.
    shape : sequence of int
        The shape.

    Returns
    -------
    Tensor
        The repeated elements.
    """
    return ops.broadcast_to(as_tensor(array), tuple(shape))


def broadcast_arrays(*args: TensorLike) -> list[Tensor]:
    """Repeat tensors to the shape in which they meet.

    Parameters
    ----------
    *args : array_like
        Shapes that broadcast.

    Returns
    -------
    list of Tensor
        The tensors in one shape.
    """
    tensors = [as_tensor(item) for item in args]
    shape = broadcast_shapes(*(tuple(tensor.shape) for tensor in tensors))
    return [ops.broadcast_to(tensor, shape) for tensor in tensors]
