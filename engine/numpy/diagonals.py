"""Diagonals and triangles of matrices."""

from __future__ import annotations

from .. import ops
from ..ops.cast import TensorLike, as_tensor
from ..tensor import Tensor
from .arrangement import ravel


def diagflat(v: TensorLike, k: int = 0) -> Tensor:
    """Write the elements on a diagonal of a matrix of zeros.

    Parameters
    ----------
    v : array_like
        Any shape; its elements in their order.
    k : int
        The diagonal: above the main one if positive, below it if negative.

    Returns
    -------
    Tensor
        A square matrix.
    """
    return ops.diagflat(ravel(v), k)


def diag(v: TensorLike, k: int = 0) -> Tensor:
    """Return a matrix with a diagonal, or a matrix' diagonal.

    Parameters
    ----------
    v : array_like
        One axis: the diagonal; two axes: the matrix.
    k : int
        The diagonal, as of `diagflat`.

    Returns
    -------
    Tensor
        The matrix, or its diagonal.
    """
    return ops.diag(as_tensor(v), k)


def diagonal(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return the diagonals of matrices.

    Parameters
    ----------
    a : array_like
        At least two axes.
    offset : int
        The diagonal, as of `diagflat`.
    axis1, axis2 : int
        The axes of the matrices.

    Returns
    -------
    Tensor
        The other axes, then the diagonal.
    """
    return ops.diagonal(as_tensor(a), offset, axis1, axis2)


def tril(m: TensorLike, k: int = 0) -> Tensor:
    """Put zeros above a diagonal.

    Parameters
    ----------
    m : array_like
        At least two axes.
    k : int
        The diagonal, as of `diagflat`.

    Returns
    -------
    Tensor
        The lower triangles.
    """
    return ops.tril(as_tensor(m), k)


def triu(m: TensorLike, k: int = 0) -> Tensor:
    """Put zeros below a diagonal.

    Parameters
    ----------
    m : array_like
        At least two axes.
    k : int
        The diagonal, as of `diagflat`.

    Returns
    -------
    Tensor
        The upper triangles.
    """
    return ops.triu(as_tensor(m), k)


def trace(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return the sums of diagonals.

    Parameters
    ----------
    a : array_like
        At least two axes.
    offset : int
        The diagonal, as of `diagflat`.
    axis1, axis2 : int
        The axes of the matrices.

    Returns
    -------
    Tensor
        The other axes.
    """
    return ops.trace(as_tensor(a), offset, axis1, axis2)
