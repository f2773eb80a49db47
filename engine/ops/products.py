"""Products of vectors and matrices made of matmul."""

from __future__ import annotations

from typing import Any

from ..shape import ShapeError, element_count, shape_text
from ..tensor import Tensor
from . import arithmetic, array, linalg
from .cast import TensorLike, as_pair
from .declarations import composite
from .registry import Call
from .rules import normalize_axis, require_ndim


def sized(name: str, **tensors: tuple[Tensor, int]) -> tuple[Tensor, ...]:
    """Return tensors after asking for each that it has so many axes."""
    for argument, (tensor, ndim) in tensors.items():
        require_ndim(name, argument, tensor.aval, ndim)
    return tuple(tensor for tensor, _ in tensors.values())


@composite(linalg.matmul, category="linalg", method=True)
def mm(input: TensorLike, mat2: TensorLike) -> Call:
    """Multiply two matrices.

    Parameters
    ----------
    input : Tensor
        ``[n, k]``.
    mat2 : Tensor
        ``[k, m]``; the dtypes promote.

    Returns
    -------
    Tensor
        ``[n, m]``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    a, b = as_pair(input, mat2)
    return sized("mm", input=(a, 2), mat2=(b, 2)), {}


@composite(linalg.matmul, category="linalg", method=True)
def mv(mat: TensorLike, vec: TensorLike) -> Call:
    """Multiply a matrix by a vector.

    Parameters
    ----------
    mat : Tensor
        ``[n, k]``.
    vec : Tensor
        ``[k]``; the dtypes promote.

    Returns
    -------
    Tensor
        ``[n]``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    a, b = as_pair(mat, vec)
    return sized("mv", mat=(a, 2), vec=(b, 1)), {}


def _expand_dot(input: Tensor, other: Tensor) -> Tensor:
    if len(input.shape) == 0 or len(other.shape) == 0:
        return arithmetic.mul(input, other)
    if len(other.shape) <= 2:
        return linalg.matmul(input, other)
    return _contract(input, other, (len(input.shape) - 1,), (len(other.shape) - 2,))


@composite(_expand_dot, category="linalg", method=True)
def dot(input: TensorLike, other: TensorLike) -> Call:
    """Sum products over the last axis of ``input`` and the last but one of ``other``.

    Parameters
    ----------
    input : Tensor
        ``[..., k]``.
    other : Tensor
        ``[k]`` or ``[..., k, m]``; the dtypes promote.

    Returns
    -------
    Tensor
        The axes that are left, those of ``input`` first.

    Raises
    ------
    ValueError
        If the sizes differ.
    """
    return as_pair(input, other), {}


@composite(linalg.matmul, category="linalg")
def vdot(x: TensorLike, other: TensorLike) -> Call:
    """Return the sum of products of two vectors.

    Parameters
    ----------
    x, other : Tensor
        ``[n]``; the dtypes promote.

    Returns
    -------
    Tensor
        One number.

    Raises
    ------
    ValueError
        If the sizes differ.
    """
    a, b = as_pair(x, other)
    return sized("vdot", x=(a, 1), other=(b, 1)), {}


def _expand_inner(input: Tensor, other: Tensor) -> Tensor:
    if not input.shape or not other.shape:
        return arithmetic.mul(input, other)
    return _contract(input, other, (len(input.shape) - 1,), (len(other.shape) - 1,))


@composite(_expand_inner, category="linalg", method=True)
def inner(input: TensorLike, other: TensorLike) -> Call:
    """Sum products over the last axes of both tensors.

    Parameters
    ----------
    input, other : Tensor
        ``[..., k]``; the dtypes promote.

    Returns
    -------
    Tensor
        The axes that are left, those of ``input`` first.

    Raises
    ------
    ValueError
        If the sizes differ.
    """
    a, b = as_pair(input, other)
    if a.shape and b.shape and a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            f"inner: the last axes of input {shape_text(a.shape)} and other {shape_text(b.shape)}"
            " must be of one size."
        )
    return (a, b), {}


def outer_product(input: Tensor, vec2: Tensor) -> Tensor:
    """Return the product of each element of one vector with each of another."""
    return arithmetic.mul(array.expand_dims(input, 1), array.expand_dims(vec2, 0))


@composite(outer_product, category="linalg", method=True)
def outer(input: TensorLike, vec2: TensorLike) -> Call:
    """Return the product of each element of one vector with each of another.

    Parameters
    ----------
    input : Tensor
        ``[n]``.
    vec2 : Tensor
        ``[m]``; the dtypes promote.

    Returns
    -------
    Tensor
        ``[n, m]``.

    Raises
    ------
    ValueError
        If one is no vector.
    """
    a, b = as_pair(input, vec2)
    return sized("outer", input=(a, 1), vec2=(b, 1)), {}


ger = outer
"""MindSpore's other name of ``outer``."""


def _contract(
    first: Tensor, second: Tensor, own: tuple[int, ...], other: tuple[int, ...]
) -> Tensor:
    """Sum products over pairs of axes by one matrix product."""
    kept = [axis for axis in range(len(first.shape)) if axis not in own]
    rest = [axis for axis in range(len(second.shape)) if axis not in other]
    inner_size = element_count([first.shape[axis] for axis in own])
    rows = [first.shape[axis] for axis in kept]
    columns = [second.shape[axis] for axis in rest]
    left = array.transpose(first, (*kept, *own))
    right = array.transpose(second, (*other, *rest))
    left = array.reshape(left, (element_count(rows), inner_size))
    right = array.reshape(right, (inner_size, element_count(columns)))
    return array.reshape(linalg.matmul(left, right), (*rows, *columns))


def _expand_tensordot(x1: Tensor, x2: Tensor, axes: Any) -> Tensor:
    return _contract(x1, x2, *axes)


@composite(_expand_tensordot, category="linalg", inputs=("x1", "x2"), primitive="TensorDot")
def tensordot(x1: TensorLike, x2: TensorLike, axes: Any = 2) -> Call:
    """Sum products over pairs of axes.

    Parameters
    ----------
    x1, x2 : Tensor
        The dtypes promote.
    axes : int or two sequences of int
        The axes of ``x1`` and of ``x2``; a number is that many of the last and of the first.

    Returns
    -------
    Tensor
        The axes that are left, those of ``x1`` first.

    Raises
    ------
    ValueError
        If the axes differ in number or size.
    """
    a, b = as_pair(x1, x2)
    if isinstance(axes, int):
        own, other = tuple(range(len(a.shape) - axes, len(a.shape))), tuple(range(axes))
    else:
        own, other = ((axis,) if isinstance(axis, int) else tuple(axis) for axis in axes)
    own = tuple(normalize_axis("tensordot", axis, len(a.shape)) for axis in own)
    other = tuple(normalize_axis("tensordot", axis, len(b.shape)) for axis in other)
    if [a.shape[axis] for axis in own] != [b.shape[axis] for axis in other]:
        raise ShapeError(
            f"tensordot: axes {own} of x1 {shape_text(a.shape)} and {other} of x2"
            f" {shape_text(b.shape)} must be pairs of one size."
        )
    return (a, b), {"axes": (own, other)}


tensor_dot = tensordot
"""MindSpore's name of ``tensordot``."""


def _expand_kron(input: Tensor, other: Tensor) -> Tensor:
    ndim = max(len(input.shape), len(other.shape))
    a = array.reshape(input, (1,) * (ndim - len(input.shape)) + tuple(input.shape))
    b = array.reshape(other, (1,) * (ndim - len(other.shape)) + tuple(other.shape))
    sizes = [first * second for first, second in zip(a.shape, b.shape, strict=True)]
    wide = array.reshape(a, tuple(size for dim in a.shape for size in (dim, 1)))
    narrow = array.reshape(b, tuple(size for dim in b.shape for size in (1, dim)))
    return array.reshape(arithmetic.mul(wide, narrow), tuple(sizes))


@composite(_expand_kron, category="linalg", method=True)
def kron(input: TensorLike, other: TensorLike) -> Call:
    """Return the Kronecker product: ``other`` times each element of ``input``, side by side.

    Parameters
    ----------
    input, other : Tensor
        Any shapes; the dtypes promote.

    Returns
    -------
    Tensor
        Each axis has the product of both sizes.
    """
    return as_pair(input, other), {}
