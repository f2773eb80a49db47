"""Tensors put together and cut apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from ..dtype import promote
from ..ops.cast import TensorLike, as_tensor, cast_to
from ..ops.rules import normalize_axis
from ..tensor import Tensor
from .arrangement import atleast_1d, atleast_2d, atleast_3d, ravel

Sections = int | Sequence[int]


def _alike(arrays: Sequence[TensorLike]) -> list[Tensor]:
    """Return tensors of the dtype in which all meet."""
    tensors = [as_tensor(item) for item in arrays]
    dtype = tensors[0].dtype
    for tensor in tensors[1:]:
        dtype = promote(dtype, tensor.dtype)
    return [cast_to(tensor, dtype) for tensor in tensors]


def concatenate(arrays: Sequence[TensorLike], axis: int | None = 0) -> Tensor:
    """Join tensors along an axis.

    Parameters
    ----------
    arrays : sequence of array_like
        Shapes that differ on the axis only.
    axis : int or None
        The axis; None joins the elements in their order.

    Returns
    -------
    Tensor
        The joined tensors.
    """
    tensors = _alike(arrays)
    if axis is None:
        return ops.concat([ravel(tensor) for tensor in tensors])
    return ops.concat(tensors, axis)


def append(arr: TensorLike, values: TensorLike, axis: int | None = None) -> Tensor:
    """Join one tensor to the end of another.

    Parameters
    ----------
    arr, values : array_like
        Shapes that differ on the axis only.
    axis : int, optional
        The axis; by default the elements in their order.

    Returns
    -------
    Tensor
        The joined tensors.
    """
    return concatenate([arr, values], axis)


def stack(arrays: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Join tensors along a new axis.

    Parameters
    ----------
    arrays : sequence of array_like
        Tensors of one shape.
    axis : int
        Where the new axis stands.

    Returns
    -------
    Tensor
        One axis more.
    """
    return ops.stack(_alike(arrays), axis)


def vstack(tup: Sequence[TensorLike]) -> Tensor:
    """Join tensors one below the other.

    Parameters
    ----------
    tup : sequence of array_like
        Rows, or tensors that differ on the first axis only.

    Returns
    -------
    Tensor
        At least two axes.
    """
    return concatenate([atleast_2d(item) for item in tup], 0)


def hstack(tup: Sequence[TensorLike]) -> Tensor:
    """Join tensors side by side: along the second axis, or the only one.

    Parameters
    ----------
    tup : sequence of array_like
        Tensors that differ on that axis only.

    Returns
    -------
    Tensor
        The joined tensors.
    """
    tensors = [atleast_1d(item) for item in tup]
    return concatenate(tensors, 0 if len(tensors[0].shape) == 1 else 1)


def dstack(tup: Sequence[TensorLike]) -> Tensor:
    """Join tensors along the third axis.

    Parameters
    ----------
    tup : sequence of array_like
        Tensors that differ on that axis only.

    Returns
    -------
    Tensor
        At least three axes.
    """
    return concatenate([atleast_3d(item) for item in tup], 2)


def column_stack(tup: Sequence[TensorLike]) -> Tensor:
    """Join columns, or matrices side by side.

    Parameters
    ----------
    tup : sequence of array_like
        Tensors of one axis, which become columns, and matrices.

    Returns
    -------
    Tensor
        A matrix.
    """
    tensors = [as_tensor(item) for item in tup]
    return concatenate([t if len(t.shape) > 1 else t.reshape(-1, 1) for t in tensors], 1)


# ---- cut apart -------------------------------------------------------------------------------


def array_split(x: TensorLike, indices_or_sections: Sections, axis: int = 0) -> list[Tensor]:
    """Cut a tensor into pieces of sizes as equal as possible.

    Parameters
    ----------
    x : array_like
        At least one axis.
    indices_or_sections : int or sequence of int
        The number of pieces, or the positions of the cuts.
    axis : int
        The axis to cut.

    Returns
    -------
    list of Tensor
        The pieces.
    """
    sections = indices_or_sections
    parts = sections if isinstance(sections, int) else tuple(sections)
    return list(ops.tensor_split(as_tensor(x), parts, axis))


def split(x: TensorLike, indices_or_sections: Sections, axis: int = 0) -> list[Tensor]:
    """Cut a tensor into equal pieces.

    Parameters
    ----------
    x : array_like
        At least one axis.
    indices_or_sections : int or sequence of int
        The number of pieces, or the positions of the cuts.
    axis : int
        The axis to cut.

    Returns
    -------
    list of Tensor
        The pieces.

    Raises
    ------
    ValueError
        If the axis does not divide into that many pieces.
    """
    tensor = as_tensor(x)
    count = tensor.shape[normalize_axis("split", axis, len(tensor.shape))]
    if isinstance(indices_or_sections, int) and count % indices_or_sections:
        raise ValueError(
            f"split: {count} elements do not divide into {indices_or_sections} equal pieces; use"
            " array_split."
        )
    return array_split(tensor, indices_or_sections, axis)


def vsplit(x: TensorLike, indices_or_sections: Sections) -> list[Tensor]:
    """Cut a tensor along the first axis.

    Parameters
    ----------
    x : array_like
        At least two axes.
    indices_or_sections : int or sequence of int
        The number of equal pieces, or the positions of the cuts.

    Returns
    -------
    list of Tensor
        The pieces.
    """
    return split(x, indices_or_sections, 0)


def hsplit(x: TensorLike, indices_or_sections: Sections) -> list[Tensor]:
    """Cut a tensor along the second axis, or the only one.

    Parameters
    ----------
    x : array_like
        At least one axis.
    indices_or_sections : int or sequence of int
        The number of equal pieces, or the positions of the cuts.

    Returns
    -------
    list of Tensor
        The pieces.
    """
    return split(x, indices_or_sections, 0 if len(as_tensor(x).shape) == 1 else 1)


def dsplit(x: TensorLike, indices_or_sections: Sections) -> list[Tensor]:
    """Cut a tensor along the third axis.

    Parameters
    ----------
    x : array_like
        At least three axes.
    indices_or_sections : int or sequence of int
        The number of equal pieces, or the positions of the cuts.

    Returns
    -------
    list of Tensor
        The pieces.
    """
    return split(x, indices_or_sections, 2)


def meshgrid(*xi: TensorLike, sparse: bool = False, indexing: str = "xy") -> list[Tensor]:
    """Return the coordinates of a grid's points along each axis.

    Parameters
    ----------
    *xi : array_like
        Coordinates, one axis each.
    sparse : bool
        Whether sizes that only repeat stay 1.
    indexing : {"xy", "ij"}
        Whether the first tensor runs along the second axis, as on paper, or along the first.

    Returns
    -------
    list of Tensor
        One tensor for each axis.

    Raises
    ------
    ValueError
        If `indexing` is something else.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid: indexing must be "xy" or "ij", not {indexing!r}.')
    count = len(xi)
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[:2] = [1, 0]
    tensors: list[Any] = []
    for item, place in zip(xi, places, strict=True):
        shape = [1] * count
        shape[place] = -1
        tensors.append(ops.reshape(as_tensor(item), tuple(shape)))
    if sparse:
        return tensors
    sizes = [tensors[places.index(axis)].shape[axis] for axis in range(count)]
    return [ops.broadcast_to(tensor, tuple(sizes)) for tensor in tensors]
