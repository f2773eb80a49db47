"""Linear algebra: norms, inverses, determinants, solutions of linear equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..ops.cast import TensorLike, as_float
from ..ops.rules import normalize_axis
from ..tensor import Tensor
from .products import multi_dot

__all__ = ["det", "inv", "multi_dot", "norm", "solve"]


def norm(
    x: TensorLike,
    ord: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """Return the norms of vectors or matrices.

    Parameters
    ----------
    x : array_like
        Any shape.
    ord : {None, "fro", inf, -inf, 0, 1, -1, 2} or float
        Which norm: the root of the sum of squares by default. Of vectors any power; of matrices
        sums of columns (1, -1) or of rows (inf, -inf).
    axis : int or pair of int, optional
        The axis of the vectors, or both of the matrices; by default all.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Tensor
        The norms.

    Raises
    ------
    ValueError
        If there is no such norm.
    """
    tensor = as_float(x)
    axes = _axes(axis, len(tensor.shape), ord)
    if ord in (None, "fro") or (ord == 2 and len(axes) == 1):
        return ops.sqrt(ops.sum(tensor * tensor, axes, keepdims))
    if len(axes) == 1:
        return _vector_norm(ops.abs(tensor), ord, axes[0], keepdims)
    return _matrix_norm(ops.abs(tensor), ord, axes, keepdims)


def _axes(axis: Any, count: int, order: Any) -> tuple[int, ...]:
    if axis is None:
        axes = tuple(range(count))
        if order is not None and count > 2:
            raise ValueError(f"norm: name the axis, or axes, of the vectors among {count} axes.")
        return axes
    named = (axis,) if isinstance(axis, int) else axis
    return tuple(normalize_axis("norm", item, count) for item in named)


def _vector_norm(size: Tensor, order: Any, axis: int, keepdims: bool) -> Tensor:
    if order == np.inf:
        return ops.amax(size, axis, keepdims)
    if order == -np.inf:
        return ops.amin(size, axis, keepdims)
    if order == 0:
        return ops.sum(ops.cast(ops.not_equal(size, 0), size.dtype), axis, keepdims)
    if not isinstance(order, int | float):
        raise ValueError(f"norm: there is no norm {order!r} of vectors.")
    return ops.sum(size**order, axis, keepdims) ** (1.0 / order)


def _matrix_norm(size: Tensor, order: Any, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if order not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"norm: there is no norm {order!r} of matrices; use 1, -1, inf or 'fro'.")
    summed, chosen = axes if abs(order) == 1 else axes[::-1]
    sums = ops.sum(size, summed, True)
    extreme = ops.amax if order > 0 else ops.amin
    found = extreme(sums, chosen, True)
    return found if keepdims else ops.squeeze(found, axes)


def inv(a: TensorLike) -> Tensor:
    """Return the inverses of matrices.

    Parameters
    ----------
    a : array_like
        ``[..., n, n]``.

    Returns
    -------
    Tensor
        ``[..., n, n]``.
    """
    return ops.inverse(as_float(a))


def det(a: TensorLike) -> Tensor:
    """Return the determinants of matrices.

    Parameters
    ----------
    a : array_like
        ``[..., n, n]``.

    Returns
    -------
    Tensor
        ``[...]``.
    """
    return ops.det(as_float(a))


def solve(a: TensorLike, b: TensorLike) -> Tensor:
    """Solve systems of linear equations.

    Parameters
    ----------
    a : array_like
        The coefficients, ``[..., n, n]``.
    b : array_like
        The right-hand sides, ``[..., n]`` or ``[..., n, k]``.

    Returns
    -------
    Tensor
        ``x`` with ``a @ x == b``.
    """
    return ops.solve(as_float(a), as_float(b))
