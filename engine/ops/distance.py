"""Distances, angles and lengths of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..shape import ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, array, index, math, reduce
from .cast import TensorLike, as_float, as_float_pair
from .composite_reductions import root_of_squares, vector_length
from .declarations import composite
from .literals import constant
from .registry import Call
from .rules import broadcast, normalize_axes, normalize_axis


def _expand_cosine(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    dot = reduce.sum(arithmetic.mul(x1, x2), dim)
    first = arithmetic.maximum(root_of_squares(x1, dim, False), eps)
    second = arithmetic.maximum(root_of_squares(x2, dim, False), eps)
    return arithmetic.div(dot, arithmetic.mul(first, second))


@composite(_expand_cosine, category="reduce", inputs=("x1", "x2"))
def cosine_similarity(x1: TensorLike, x2: TensorLike, dim: int = 1, eps: float = 1e-08) -> Call:
    """Return the cosine of the angle between vectors along an axis.

    Parameters
    ----------
    x1, x2 : Tensor
        Shapes that broadcast; integers are cast to float32.
    dim : int
        The axis of the vectors.
    eps : float
        The least length that is divided by.

    Returns
    -------
    Tensor
        Values in -1..1, without the axis.
    """
    first, second = as_float_pair(x1, x2)
    shape = broadcast("cosine_similarity", x1=first.aval, x2=second.aval)
    at = normalize_axis("cosine_similarity", dim, len(shape))
    first, second = array.broadcast_to(first, shape), array.broadcast_to(second, shape)
    return (first, second), {"dim": at, "eps": float(eps)}


def _expand_cdist(x1: Tensor, x2: Tensor, p: float) -> Tensor:
    gaps = arithmetic.sub(array.expand_dims(x1, -2), array.expand_dims(x2, -3))
    return vector_length(gaps, p, len(gaps.shape) - 1, False)


def _require_order(name: str, p: float) -> float:
    if p < 0:
        raise ValueError(f"{name}: p must not be negative, it is {p}.")
    return float(p)


@composite(_expand_cdist, category="reduce", inputs=("x1", "x2"), primitive="Cdist")
def cdist(x1: TensorLike, x2: TensorLike, p: float = 2.0) -> Call:
    """Return the distance of each row of ``x1`` from each row of ``x2``.

    Parameters
    ----------
    x1 : Tensor
        ``[..., n, k]``; integers are cast to float32.
    x2 : Tensor
        ``[..., m, k]``; leading axes broadcast.
    p : float
        Order of the norm, Inf included.

    Returns
    -------
    Tensor
        ``[..., n, m]``; of equal rows the gradient is zero.

    Raises
    ------
    ValueError
        If the rows differ in size or ``p`` is negative.
    """
    first, second = as_float_pair(x1, x2)
    if len(first.shape) < 2 or len(second.shape) < 2 or first.shape[-1] != second.shape[-1]:
        raise ShapeError(
            f"cdist: x1 {shape_text(first.shape)} and x2 {shape_text(second.shape)} need two axes"
            " or more and rows of one size."
        )
    return (first, second), {"p": _require_order("cdist", p)}


def _expand_pdist(input: Tensor, p: float) -> Tensor:
    count = input.shape[-2]
    if not isinstance(count, int):
        raise ShapeError(f"pdist: the number of rows must be known, it is {count}.")
    above, below = np.triu_indices(count, 1)
    axis = len(input.shape) - 2
    first = index.gather(input, constant(above.astype(np.int64)), axis)
    second = index.gather(input, constant(below.astype(np.int64)), axis)
    return vector_length(arithmetic.sub(first, second), p, axis + 1, False)


@composite(_expand_pdist, category="reduce", inputs=("input",))
def pdist(input: TensorLike, p: float = 2.0) -> Call:
    """Return the distance of each row from each later row.

    Parameters
    ----------
    input : Tensor
        ``[..., n, k]``; integers are cast to float32.
    p : float
        Order of the norm, Inf included.

    Returns
    -------
    Tensor
        ``[..., n * (n - 1) / 2]``; of equal rows the gradient is zero.

    Raises
    ------
    ValueError
        If the input has fewer than two axes or ``p`` is negative.
    """
    tensor = as_float(input)
    if len(tensor.shape) < 2:
        raise ShapeError(f"pdist: input {shape_text(tensor.shape)} needs two axes or more.")
    return (tensor,), {"p": _require_order("pdist", p)}


def _expand_pairwise(x: Tensor, y: Tensor, p: float, eps: float, keepdims: bool) -> Tensor:
    gap = arithmetic.add(arithmetic.sub(x, y), eps)
    return vector_length(gap, p, len(gap.shape) - 1, keepdims)


@composite(_expand_pairwise, category="reduce", inputs=("x", "y"))
def pairwise_distance(
    x: TensorLike, y: TensorLike, p: float = 2.0, eps: float = 1e-06, keepdims: bool = False
) -> Call:
    """Return the distance of each row of ``x`` from its partner in ``y``.

    Parameters
    ----------
    x, y : Tensor
        Shapes that broadcast; integers are cast to float32.
    p : float
        Order of the norm, Inf included.
    eps : float
        Added to each difference.
    keepdims : bool
        Whether the last axis stays, with size 1.

    Returns
    -------
    Tensor
        The distances, without the last axis.
    """
    first, second = as_float_pair(x, y)
    broadcast("pairwise_distance", x=first.aval, y=second.aval)
    return (first, second), {"p": float(p), "eps": float(eps), "keepdims": bool(keepdims)}


def _expand_normalize(input: Tensor, p: float, axis: Any, eps: float) -> Tensor:
    length = vector_length(input, p, axis, True)
    return arithmetic.div(input, arithmetic.maximum(length, eps))


@composite(_expand_normalize, category="reduce", inputs=("input",))
def normalize(
    input: TensorLike, p: float = 2.0, axis: int | tuple[int, ...] = 1, eps: float = 1e-12
) -> Call:
    """Divide vectors along axes by their norm.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    p : float
        Order of the norm, Inf included.
    axis : int or tuple of int
        The axes of the vectors.
    eps : float
        The least norm that is divided by.

    Returns
    -------
    Tensor
        Vectors of norm one.
    """
    tensor = as_float(input)
    axes = normalize_axes("normalize", axis, len(tensor.shape))
    return (tensor,), {"p": float(p), "axis": axes, "eps": float(eps)}


def _expand_l2_normalize(input: Tensor, axis: Any, epsilon: float) -> Tensor:
    total = reduce.sum(math.square(input), axis, keepdims=True)
    return arithmetic.mul(input, math.rsqrt(arithmetic.maximum(total, epsilon)))


@composite(_expand_l2_normalize, category="reduce", inputs=("input",), primitive="L2Normalize")
def l2_normalize(input: TensorLike, axis: int | tuple[int, ...] = 0, epsilon: float = 1e-4) -> Call:
    """Divide vectors along axes by their length.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    axis : int or tuple of int
        The axes of the vectors.
    epsilon : float
        The least square of a length that is divided by.

    Returns
    -------
    Tensor
        Vectors of length one.
    """
    tensor = as_float(input)
    axes = normalize_axes("l2_normalize", axis, len(tensor.shape))
    return (tensor,), {"axis": axes, "epsilon": float(epsilon)}
