"""Tensors made from data or filled with a value, and the types they meet in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from ..dtype import DType, dtype_of, float32, promote
from ..ops.cast import TensorLike, as_tensor
from ..tensor import Tensor
from .elementwise import typed

Size = int | Sequence[int]


def array(obj: TensorLike, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """Return a tensor of data.

    Parameters
    ----------
    obj : array_like
        Numbers, nested sequences of them, arrays or tensors.
    dtype : DType, optional
        Element type; by default Float32 for Python floats, else the data's own.
    copy : bool
        Whether a tensor is copied.
    ndmin : int
        Number of axes at least; more are added in front.

    Returns
    -------
    Tensor
        The data.
    """
    tensor = obj if isinstance(obj, Tensor) else Tensor(obj, dtype)
    tensor = typed(tensor, dtype)
    if copy and tensor is obj:
        tensor = ops.identity(tensor)
    missing = ndmin - len(tensor.shape)
    return ops.reshape(tensor, (*(1,) * missing, *tensor.shape)) if missing > 0 else tensor


def asarray(a: TensorLike, dtype: Any = None) -> Tensor:
    """Return data as a tensor, which stays itself if it is one.

    Parameters
    ----------
    a : array_like
        Numbers, nested sequences of them, arrays or tensors.
    dtype : DType, optional
        Element type.

    Returns
    -------
    Tensor
        The data.
    """
    return array(a, dtype, copy=False)


def asfarray(a: TensorLike, dtype: Any = float32) -> Tensor:
    """Return data as a tensor of floats.

    Parameters
    ----------
    a : array_like
        Any numbers.
    dtype : DType
        A float type; another one gives Float32.

    Returns
    -------
    Tensor
        The floats.
    """
    kind = dtype_of(dtype)
    return array(a, kind if kind.is_float else float32, copy=False)


def copy(a: TensorLike) -> Tensor:
    """Return a copy with memory of its own.

    Parameters
    ----------
    a : array_like
        Any shape.

    Returns
    -------
    Tensor
        The copy.
    """
    return array(a)


# ---- filled ----------------------------------------------------------------------------------


def zeros(shape: Size, dtype: Any = float32) -> Tensor:
    """Return zeros.

    Parameters
    ----------
    shape : int or sequence of int
        Sizes of the axes.
    dtype : DType
        Element type.

    Returns
    -------
    Tensor
        The zeros.
    """
    return ops.zeros(shape, dtype)


def ones(shape: Size, dtype: Any = float32) -> Tensor:
    """Return ones.

    Parameters
    ----------
    shape : int or sequence of int
        Sizes of the axes.
    dtype : DType
        Element type.

    Returns
    -------
    Tensor
        The ones.
    """
    return ops.ones(shape, dtype)


def empty(shape: Size, dtype: Any = float32) -> Tensor:
    """Return a tensor whose values are still to be written: zeros.

    Parameters
    ----------
    shape : int or sequence of int
        Sizes of the axes.
    dtype : DType
        Element type.

    Returns
    -------
    Tensor
        The tensor.
    """
    return ops.zeros(shape, dtype)


def full(shape: Size, fill_value: TensorLike, dtype: Any = None) -> Tensor:
    """Return a tensor filled with a value.

    Parameters
    ----------
    shape : int or sequence of int
        Sizes of the axes.
    fill_value : array_like
        The value, which broadcasts to the shape.
    dtype : DType, optional
        Element type; by default the value's.

    Returns
    -------
    Tensor
        The filled tensor.
    """
    if isinstance(fill_value, bool | int | float):
        return ops.full(shape, fill_value, dtype)
    return ops.broadcast_to(typed(as_tensor(fill_value), dtype), _sizes(shape))


def _sizes(shape: Size) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def zeros_like(a: TensorLike, dtype: Any = None, shape: Size | None = None) -> Tensor:
    """Return zeros like a tensor.

    Parameters
    ----------
    a : array_like
        Gives shape and dtype.
    dtype : DType, optional
        Another element type.
    shape : int or sequence of int, optional
        Another shape.

    Returns
    -------
    Tensor
        The zeros.
    """
    return full_like(a, 0, dtype, shape)


def ones_like(a: TensorLike, dtype: Any = None, shape: Size | None = None) -> Tensor:
    """Return ones like a tensor.

    Parameters
    ----------
    a : array_like
        Gives shape and dtype.
    dtype : DType, optional
        Another element type.
    shape : int or sequence of int, optional
        Another shape.

    Returns
    -------
    Tensor
        The ones.
    """
    return full_like(a, 1, dtype, shape)


def empty_like(prototype: TensorLike, dtype: Any = None, shape: Size | None = None) -> Tensor:
    """Return a tensor like another one, whose values are still to be written: zeros.

    Parameters
    ----------
    prototype : array_like
        Gives shape and dtype.
    dtype : DType, optional
        Another element type.
    shape : int or sequence of int, optional
        Another shape.

    Returns
    -------
    Tensor
        The tensor.
    """
    return full_like(prototype, 0, dtype, shape)


def full_like(
    a: TensorLike, fill_value: TensorLike, dtype: Any = None, shape: Size | None = None
) -> Tensor:
    """Return a tensor like another one, filled with a value.

    Parameters
    ----------
    a : array_like
        Gives shape and dtype.
    fill_value : array_like
        The value.
    dtype : DType, optional
        Another element type.
    shape : int or sequence of int, optional
        Another shape.

    Returns
    -------
    Tensor
        The filled tensor.
    """
    tensor = as_tensor(a)
    sizes = tuple(tensor.shape) if shape is None else _sizes(shape)
    return full(sizes, fill_value, tensor.dtype if dtype is None else dtype)


# ---- types -----------------------------------------------------------------------------------


def result_type(*operands: Any) -> DType:
    """Return the type in which operands meet.

    Parameters
    ----------
    *operands : array_like or DType
        Tensors, numbers or element types.

    Returns
    -------
    DType
        The type.
    """
    tensors = [ops.zeros((), o) if isinstance(o, DType) else o for o in operands]
    total = as_tensor(tensors[0])
    for tensor in tensors[1:]:
        total = total + tensor if as_tensor(tensor).dtype is not total.dtype else total
    return total.dtype


def promote_types(type1: Any, type2: Any) -> DType:
    """Return the type in which tensors of two types meet.

    Parameters
    ----------
    type1, type2 : DType
        The types.

    Returns
    -------
    DType
        The type.
    """
    return promote(dtype_of(type1), dtype_of(type2))
