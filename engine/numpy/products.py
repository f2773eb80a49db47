"""Products of vectors and matrices, and convolutions of sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..dtype import promote
from ..ops.cast import TensorLike, as_tensor, cast_to
from ..tensor import Tensor
from .arrangement import ravel
from .elementwise import typed


def _pair(a: TensorLike, b: TensorLike) -> tuple[Tensor, Tensor]:
    left, right = as_tensor(a), as_tensor(b)
    dtype = promote(left.dtype, right.dtype)
    return cast_to(left, dtype), cast_to(right, dtype)


def matmul(x1: TensorLike, x2: TensorLike, dtype: Any = None) -> Tensor:
    """Multiply matrices, of which there may be a batch.

    Parameters
    ----------
    x1, x2 : array_like
        ``[..., m, k]`` and ``[..., k, n]``; one axis alone is a vector.
    dtype : DType, optional
        Element type of the result.

    Returns
    -------
    Tensor
        ``[..., m, n]``.
    """
    return typed(ops.matmul(*_pair(x1, x2)), dtype)


def dot(a: TensorLike, b: TensorLike) -> Tensor:
    """Multiply vectors, or matrices: the last axis of one by the last but one of the other.

    Parameters
    ----------
    a, b : array_like
        Vectors, matrices or numbers.

    Returns
    -------
    Tensor
        The axes of both that are left.
    """
    left, right = _pair(a, b)
    if not left.shape or not right.shape:
        return left * right
    if len(right.shape) == 1:
        return ops.tensordot(left, right, ((-1,), (0,)))
    return ops.tensordot(left, right, ((len(left.shape) - 1,), (len(right.shape) - 2,)))


def vdot(a: TensorLike, b: TensorLike) -> Tensor:
    """Multiply two tensors as vectors, their elements in their order.

    Parameters
    ----------
    a, b : array_like
        As many elements each.

    Returns
    -------
    Tensor
        One number.
    """
    left, right = _pair(a, b)
    return ops.sum(ravel(left) * ravel(right))


def inner(a: TensorLike, b: TensorLike) -> Tensor:
    """Sum products over the last axes of two tensors.

    Parameters
    ----------
    a, b : array_like
        Last axes of one size.

    Returns
    -------
    Tensor
        The axes of both that are left.
    """
    left, right = _pair(a, b)
    if not left.shape or not right.shape:
        return left * right
    return ops.tensordot(left, right, ((len(left.shape) - 1,), (len(right.shape) - 1,)))


def outer(a: TensorLike, b: TensorLike) -> Tensor:
    """Multiply each number of one tensor by each of another.

    Parameters
    ----------
    a, b : array_like
        Any shapes; their elements in their order.

    Returns
    -------
    Tensor
        A row for each number of `a`, a column for each of `b`.
    """
    left, right = _pair(a, b)
    return ops.reshape(left, (-1, 1)) * ops.reshape(right, (1, -1))


def tensordot(a: TensorLike, b: TensorLike, axes: Any = 2) -> Tensor:
    """Sum products over chosen axes of two tensors.

    Parameters
    ----------
    a, b : array_like
        Any shapes.
    axes : int or pair of sequences of int
        How many last axes of `a` and first axes of `b`, or which of each.

    Returns
    -------
    Tensor
        The axes of `a` that are left, then those of `b`.
    """
    return ops.tensordot(*_pair(a, b), axes)


def kron(a: TensorLike, b: TensorLike) -> Tensor:
    """Return the Kronecker product: a copy of `b` for each number of `a`, times that number.

    Parameters
    ----------
    a, b : array_like
        Any shapes.

    Returns
    -------
    Tensor
        Sizes are the products of both.
    """
    return ops.kron(*_pair(a, b))


def cross(a: TensorLike, b: TensorLike, axis: int = -1) -> Tensor:
    """Return the vectors at right angles to two others.

    Parameters
    ----------
    a, b : array_like
        Vectors of three numbers, shapes that broadcast.
    axis : int
        The axis of the vectors.

    Returns
    -------
    Tensor
        The vectors.

    Raises
    ------
    ValueError
        If the vectors have not three numbers.
    """
    left, right = (ops.moveaxis(tensor, axis, -1) for tensor in _pair(a, b))
    if left.shape[-1] != 3 or right.shape[-1] != 3:
        raise ValueError(
            f"cross: the vectors must have three numbers, they have {left.shape[-1]} and"
            f" {right.shape[-1]}."
        )
    found = (
        left[..., [1, 2, 0]] * right[..., [2, 0, 1]] - left[..., [2, 0, 1]] * right[..., [1, 2, 0]]
    )
    return ops.moveaxis(found, -1, axis)


def multi_dot(arrays: Sequence[TensorLike]) -> Tensor:
    """Multiply a chain of matrices.

    Parameters
    ----------
    arrays : sequence of array_like
        Matrices, the first and the last may be vectors.

    Returns
    -------
    Tensor
        The product.
    """
    found = as_tensor(arrays[0])
    for item in arrays[1:]:
        found = dot(found, item)
    return found


# ---- sequences -------------------------------------------------------------------------------

MODES = ("full", "same", "valid")


def convolve(a: TensorLike, v: TensorLike, mode: str = "full") -> Tensor:
    """Convolve two sequences.

    Parameters
    ----------
    a, v : array_like
        One axis each.
    mode : {"full", "same", "valid"}
        All sums, the middle ones (as many as the longer sequence has), or those where the
        sequences overlap completely.

    Returns
    -------
    Tensor
        One axis.

    Raises
    ------
    ValueError
        If the mode is not known.
    """
    if mode not in MODES:
        raise ValueError(f"convolve: mode must be one of {', '.join(MODES)}, not {mode!r}.")
    long, short = (ravel(item) for item in _pair(a, v))
    if int(short.shape[0]) > int(long.shape[0]):
        long, short = short, long
    n, m = int(long.shape[0]), int(short.shape[0])
    # Every sum has a row: the long sequence with zeros at its ends, read backwards from there.
    ends = ops.zeros((m - 1,), long.dtype)
    padded = ops.concat([ends, long, ends])
    places = np.arange(n + m - 1)[:, None] + np.arange(m)[::-1]
    sums = ops.matmul(ops.gather(padded, as_tensor(places), 0), short)
    if mode == "full":
        return sums
    first, count = ((m - 1) // 2, n) if mode == "same" else (m - 1, n - m + 1)
    return sums[first : first + count]


def correlate(a: TensorLike, v: TensorLike, mode: str = "valid") -> Tensor:
    """Correlate two sequences: sums of products at each distance.

    Parameters
    ----------
    a, v : array_like
        One axis each.
    mode : {"full", "same", "valid"}
        As of `convolve`.

    Returns
    -------
    Tensor
        One axis.
    """
    left, right = (ravel(item) for item in _pair(a, v))
    turned = ops.flip(right, (0,))
    if mode == "same" and int(right.shape[0]) > int(left.shape[0]):
        return ops.flip(convolve(right, ops.flip(left, (0,)), "same"), (0,))
    return convolve(left, turned, mode)
