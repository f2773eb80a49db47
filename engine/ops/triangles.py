"""Triangles and diagonals of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..shape import Aval, Dim, ShapeError, shape_text
from ..tensor import Tensor
from . import array, grids, index, logic, reduce
from .cast import TensorLike, as_number, as_tensor
from .declarations import composite
from .literals import constant
from .registry import Call
from .rules import normalize_axis, same


def known(name: str, size: Dim) -> int:
    """Return a size that must be known while a graph is made."""
    if not isinstance(size, int):
        raise ShapeError(f"{name}: the size of the matrices must be known, it is {size}.")
    return size


def require_matrices(name: str, tensor: Tensor | Aval) -> None:
    """Raise ShapeError unless there are two axes or more."""
    if len(tensor.shape) < 2:
        raise ShapeError(
            f"{name}: input {shape_text(tensor.shape)} needs two axes or more: [..., rows,"
            " columns]."
        )


def _expand_triangle(lower: bool) -> Any:
    def expand(input: Tensor, diagonal: int) -> Tensor:
        rows, columns = (known("tril", size) for size in input.shape[-2:])
        full = np.ones((rows, columns), bool)
        kept = np.tril(full, diagonal) if lower else np.triu(full, diagonal)
        return logic.select(constant(kept), input, 0)

    return expand


def _lower_kernel(input: np.ndarray, diagonal: int) -> np.ndarray:
    return np.tril(input, diagonal)


def _upper_kernel(input: np.ndarray, diagonal: int) -> np.ndarray:
    return np.triu(input, diagonal)


@composite(
    _expand_triangle(True), category="linalg", infer=same, kernel=_lower_kernel,
    inputs=("input",), method=True,
)  # fmt: skip
def tril(input: TensorLike, diagonal: int = 0) -> Call:
    """Return the lower triangles of matrices, zeros elsewhere.

    Parameters
    ----------
    input : Tensor
        ``[..., rows, columns]``.
    diagonal : int
        The last diagonal that is kept: 0 is the main one, 1 the one above it.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If the input has fewer than two axes.
    """
    tensor = as_number(input)
    require_matrices("tril", tensor)
    return (tensor,), {"diagonal": int(diagonal)}


@composite(
    _expand_triangle(False), category="linalg", infer=same, kernel=_upper_kernel,
    inputs=("input",), method=True,
)  # fmt: skip
def triu(input: TensorLike, diagonal: int = 0) -> Call:
    """Return the upper triangles of matrices, zeros elsewhere.

    Parameters
    ----------
    input : Tensor
        ``[..., rows, columns]``.
    diagonal : int
        The first diagonal that is kept: 0 is the main one, 1 the one above it.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If the input has fewer than two axes.
    """
    tensor = as_number(input)
    require_matrices("triu", tensor)
    return (tensor,), {"diagonal": int(diagonal)}


def _expand_diagonal(input: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    count = len(input.shape)
    rest = [axis for axis in range(count) if axis not in (dim1, dim2)]
    moved = array.transpose(input, (dim1, dim2, *rest))
    rows, columns = (known("diagonal", size) for size in moved.shape[:2])
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    first = np.arange(length) + max(0, -offset)
    second = np.arange(length) + max(0, offset)
    layout = (0, 1, *([-1] * len(rest)))
    found = index.index(moved, (constant(first), constant(second)), layout)
    return array.transpose(found, (*range(1, count - 1), 0))


def _diagonal_kernel(input: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    return np.ascontiguousarray(np.diagonal(input, offset, dim1, dim2))


def _plane(name: str, tensor: Tensor, dim1: int, dim2: int) -> tuple[int, int]:
    require_matrices(name, tensor)
    first, second = (normalize_axis(name, int(dim), len(tensor.shape)) for dim in (dim1, dim2))
    if first == second:
        raise ShapeError(f"{name}: dim1 and dim2 both name axis {first}; name two axes.")
    return first, second


@composite(
    _expand_diagonal, category="linalg", kernel=_diagonal_kernel, inputs=("input",), method=True
)
def diagonal(input: TensorLike, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Call:
    """Return the diagonals of matrices.

    Parameters
    ----------
    input : Tensor
        Two axes or more.
    offset : int
        0 is the main diagonal, 1 the one above it, -1 the one below.
    dim1, dim2 : int
        The axes of rows and of columns.

    Returns
    -------
    Tensor
        The input without the two axes, the diagonal along a new last one.

    Raises
    ------
    ValueError
        If there are fewer than two axes, or both are one.
    """
    tensor = as_tensor(input)
    first, second = _plane("diagonal", tensor, dim1, dim2)
    return (tensor,), {"offset": int(offset), "dim1": first, "dim2": second}


def _expand_trace(input: Tensor, offset: int, axis1: int, axis2: int) -> Tensor:
    return reduce.sum(_expand_diagonal(input, offset, axis1, axis2), -1)


@composite(_expand_trace, category="linalg", inputs=("input",), method=True)
def trace(input: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Call:
    """Return the sums of the diagonals of matrices.

    Parameters
    ----------
    input : Tensor
        Two axes or more; Bool is counted in int64.
    offset : int
        0 is the main diagonal, 1 the one above it, -1 the one below.
    axis1, axis2 : int
        The axes of rows and of columns.

    Returns
    -------
    Tensor
        The input's shape without the two axes.

    Raises
    ------
    ValueError
        If there are fewer than two axes, or both are one.
    """
    tensor = as_number(input)
    first, second = _plane("trace", tensor, axis1, axis2)
    return (tensor,), {"offset": int(offset), "axis1": first, "axis2": second}


def _expand_diag(input: Tensor, diagonal: int) -> Tensor:
    if len(input.shape) == 1:
        return grids.diag_embed(input, diagonal, 0, 1)
    return _expand_diagonal(input, diagonal, 0, 1)


@composite(_expand_diag, category="linalg", inputs=("input",), method=True)
def diag(input: TensorLike, diagonal: int = 0) -> Call:
    """Return a matrix with this diagonal, or the diagonal of this matrix.

    Parameters
    ----------
    input : Tensor
        One axis (a diagonal) or two (a matrix).
    diagonal : int
        0 is the main diagonal, 1 the one above it, -1 the one below.

    Returns
    -------
    Tensor
        Two axes, or one.

    Raises
    ------
    ValueError
        If the input has neither one nor two axes.
    """
    tensor = as_number(input)
    if len(tensor.shape) not in (1, 2):
        raise ShapeError(f"diag: input {shape_text(tensor.shape)} must have one axis or two.")
    return (tensor,), {"diagonal": int(diagonal)}


def _expand_diagflat(input: Tensor, offset: int) -> Tensor:
    return grids.diag_embed(array.reshape(input, (-1,)), offset, 0, 1)


@composite(_expand_diagflat, category="linalg", inputs=("input",), method=True)
def diagflat(input: TensorLike, offset: int = 0) -> Call:
    """Return a matrix with all elements of the input as its diagonal.

    Parameters
    ----------
    input : Tensor
        Any shape.
    offset : int
        0 is the main diagonal, 1 the one above it, -1 the one below.

    Returns
    -------
    Tensor
        Two axes.
    """
    return (as_number(input),), {"offset": int(offset)}
