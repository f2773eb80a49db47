"""Elements turned round, moved on and repeated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import ops
from ..ops.cast import TensorLike, as_tensor
from ..tensor import Tensor
from .arrangement import Axes, axes_of, ravel


def flip(m: TensorLike, axis: Axes | None = None) -> Tensor:
    """Reverse the order along axes.

    Parameters
    ----------
    m : array_like
        Any shape.
    axis : int or sequence of int, optional
        Which; by default all.

    Returns
    -------
    Tensor
        The reversed elements.
    """
    tensor = as_tensor(m)
    return ops.flip(tensor, tuple(range(len(tensor.shape))) if axis is None else axes_of(axis))


def flipud(m: TensorLike) -> Tensor:
    """Reverse the order of rows.

    Parameters
    ----------
    m : array_like
        At least one axis.

    Returns
    -------
    Tensor
        The last row first.
    """
    return flip(m, 0)


def fliplr(m: TensorLike) -> Tensor:
    """Reverse the order of columns.

    Parameters
    ----------
    m : array_like
        At least two axes.

    Returns
    -------
    Tensor
        The last column first.
    """
    return flip(m, 1)


def rot90(a: TensorLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """Turn a plane by right angles.

    Parameters
    ----------
    a : array_like
        At least two axes.
    k : int
        How many right angles, from the first axis toward the second.
    axes : sequence of int
        The two axes of the plane.

    Returns
    -------
    Tensor
        The turned elements.
    """
    return ops.rot90(as_tensor(a), k, tuple(axes))


def roll(a: TensorLike, shift: Axes, axis: Axes | None = None) -> Tensor:
    """Move the elements on; those that leave at the end come in again in front.

    Parameters
    ----------
    a : array_like
        Any shape.
    shift : int or sequence of int
        By how many places.
    axis : int or sequence of int, optional
        Along which axes; by default the elements in their order.

    Returns
    -------
    Tensor
        The moved elements.
    """
    tensor = as_tensor(a)
    if axis is None:
        return ops.reshape(ops.roll(ravel(tensor), shift, 0), tuple(tensor.shape))
    return ops.roll(tensor, shift, axis)


def repeat(a: TensorLike, repeats: Axes, axis: int | None = None) -> Tensor:
    """Repeat each element.

    Parameters
    ----------
    a : array_like
        Any shape.
    repeats : int or sequence of int
        How often, the same for all or one number each.
    axis : int, optional
        Along which axis; by default the elements in their order.

    Returns
    -------
    Tensor
        The repeated elements.
    """
    return as_tensor(a).repeat(repeats, axis)


def tile(a: TensorLike, reps: Axes) -> Tensor:
    """Lay copies of a tensor side by side.

    Parameters
    ----------
    a : array_like
        Any shape.
    reps : int or sequence of int
        How many along each axis, the last ones if there are fewer.

    Returns
    -------
    Tensor
        The copies.
    """
    tensor, times = as_tensor(a), axes_of(reps)
    times = (1,) * (len(tensor.shape) - len(times)) + times
    return ops.tile(tensor, times)


def resize(a: TensorLike, new_shape: Axes) -> Tensor:
    """Return the elements in another size, from the first on again where more are asked for.

    Parameters
    ----------
    a : array_like
        Any shape.
    new_shape : int or sequence of int
        The shape.

    Returns
    -------
    Tensor
        The elements.
    """
    flat, shape = ravel(a), axes_of(new_shape)
    count = int(np.prod(shape))
    places = np.resize(np.arange(int(flat.shape[0])), count)
    return ops.reshape(ops.gather(flat, as_tensor(places), 0), shape)
