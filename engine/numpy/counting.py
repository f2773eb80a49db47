"""Tensors counted up, and numbers laid out by position: ranges, diagonals, windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..dtype import dtype_of, float32
from ..ops.cast import TensorLike, as_tensor
from ..tensor import Tensor


def arange(
    start: float, stop: float | None = None, step: float | None = None, dtype: Any = None
) -> Tensor:
    """Return evenly spaced numbers from ``start`` up to, not including, ``stop``.

    Parameters
    ----------
    start, stop, step : number
        One number alone is the stop; the step is 1 by default.
    dtype : DType, optional
        Element type; by default Int64, or Float32 if a number is a float.

    Returns
    -------
    Tensor
        One axis.
    """
    return ops.arange(start, stop, 1 if step is None else step, dtype)


def _spaced(numbers: np.ndarray, dtype: Any) -> Tensor:
    return as_tensor(numbers.astype((float32 if dtype is None else dtype_of(dtype)).numpy))


def linspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: Any = None
) -> Tensor:
    """Return evenly spaced numbers.

    Parameters
    ----------
    start, stop : float
        First and last number.
    num : int
        How many.
    endpoint : bool
        Whether the last one is among them.
    dtype : DType, optional
        Element type, by default Float32.

    Returns
    -------
    Tensor
        Shape ``[num]``.
    """
    return _spaced(np.linspace(start, stop, num, endpoint), dtype)


def logspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, base: float = 10.0,
    dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return numbers whose logarithms are evenly spaced.

    Parameters
    ----------
    start, stop : float
        Exponents of the first and the last number.
    num : int
        How many.
    endpoint : bool
        Whether the last one is among them.
    base : float
        Base of the powers.
    dtype : DType, optional
        Element type, by default Float32.

    Returns
    -------
    Tensor
        Shape ``[num]``.
    """
    return _spaced(np.logspace(start, stop, num, endpoint, base), dtype)


def geomspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: Any = None
) -> Tensor:
    """Return numbers of which each is the same multiple of the one before.

    Parameters
    ----------
    start, stop : float
        First and last number, of one sign and not zero.
    num : int
        How many.
    endpoint : bool
        Whether the last one is among them.
    dtype : DType, optional
        Element type, by default Float32.

    Returns
    -------
    Tensor
        Shape ``[num]``.
    """
    return _spaced(np.geomspace(start, stop, num, endpoint), dtype)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float32) -> Tensor:  # noqa: N803
    """Return ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    N, M : int
        Rows and columns; as many columns as rows by default.
    k : int
        The diagonal: above the main one if positive, below it if negative.
    dtype : DType
        Element type.

    Returns
    -------
    Tensor
        Shape ``[N, M]``.
    """
    return _spaced(np.eye(N, M, k), dtype)


def identity(n: int, dtype: Any = float32) -> Tensor:
    """Return the identity matrix.

    Parameters
    ----------
    n : int
        Rows and columns.
    dtype : DType
        Element type.

    Returns
    -------
    Tensor
        Shape ``[n, n]``.
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float32) -> Tensor:  # noqa: N803
    """Return ones on and below a diagonal and zeros elsewhere.

    Parameters
    ----------
    N, M : int
        Rows and columns; as many columns as rows by default.
    k : int
        The diagonal, as of `eye`.
    dtype : DType
        Element type.

    Returns
    -------
    Tensor
        Shape ``[N, M]``.
    """
    return _spaced(np.tri(N, M, k), dtype)


def indices(dimensions: Sequence[int], dtype: Any = "int32") -> Tensor:
    """Return the position of each element of a tensor along each of its axes.

    Parameters
    ----------
    dimensions : sequence of int
        Shape of the tensor.
    dtype : DType
        Element type.

    Returns
    -------
    Tensor
        Shape ``[axes, *dimensions]``.
    """
    return _spaced(np.indices(tuple(dimensions)), dtype)


def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """Return a Vandermonde matrix: the powers of each number in a row.

    Parameters
    ----------
    x : array_like
        One axis.
    N : int, optional
        Number of powers; by default as many as numbers.
    increasing : bool
        Whether the powers rise from left to right.

    Returns
    -------
    Tensor
        Shape ``[len(x), N]``.
    """
    tensor = as_tensor(x)
    count = int(tensor.shape[0]) if N is None else N
    powers: list[Any] = [ops.ones_like(tensor)]
    for _ in range(count - 1):
        powers.append(powers[-1] * tensor)
    powers = powers[:count] if increasing else powers[:count][::-1]
    return ops.stack(powers, 1)


# ---- windows ---------------------------------------------------------------------------------


def bartlett(M: int) -> Tensor:  # noqa: N803
    """Return the triangular window of Bartlett.

    Parameters
    ----------
    M : int
        Number of points.

    Returns
    -------
    Tensor
        Float32 ``[M]``.
    """
    return _spaced(np.bartlett(M), None)


def blackman(M: int) -> Tensor:  # noqa: N803
    """Return the window of Blackman, a sum of three cosines.

    Parameters
    ----------
    M : int
        Number of points.

    Returns
    -------
    Tensor
        Float32 ``[M]``.
    """
    return _spaced(np.blackman(M), None)


def hamming(M: int) -> Tensor:  # noqa: N803
    """Return the window of Hamming, a raised cosine that does not reach zero.

    Parameters
    ----------
    M : int
        Number of points.

    Returns
    -------
    Tensor
        Float32 ``[M]``.
    """
    return _spaced(np.hamming(M), None)


def hanning(M: int) -> Tensor:  # noqa: N803
    """Return the window of Hann, a raised cosine.

    Parameters
    ----------
    M : int
        Number of points.

    Returns
    -------
    Tensor
        Float32 ``[M]``.
    """
    return _spaced(np.hanning(M), None)
