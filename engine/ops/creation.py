"""Tensors made from nothing: filled, counted up, or like another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, dtype_of, float32
from ..shape import Aval
from ..tensor import Tensor
from .cast import TensorLike, as_tensor
from .registry import Call, Host, Pointwise, op
from .rules import as_shape


def _like(fill: int) -> Pointwise:
    return Pointwise(lambda b, input, dtype: b.const(fill, dtype.numpy if dtype else input.dtype))


def _like_rule(input: Aval, dtype: DType | None) -> Aval:
    return Aval(input.shape, dtype or input.dtype)


@op(
    infer=_like_rule,
    kernel=lambda input, dtype: np.zeros(input.shape, dtype.numpy if dtype else input.dtype),
    lowering=_like(0),
    category="array",
)
def zeros_like(input: TensorLike, dtype: Any = None) -> Call:
    """Return zeros in the shape of ``input``.

    Parameters
    ----------
    input : Tensor
        Gives the shape.
    dtype : DType, optional
        Element type; by default the input's.

    Returns
    -------
    Tensor
        Zeros.
    """
    return (as_tensor(input),), {"dtype": None if dtype is None else dtype_of(dtype)}


@op(
    infer=_like_rule,
    kernel=lambda input, dtype: np.ones(input.shape, dtype.numpy if dtype else input.dtype),
    lowering=_like(1),
    category="array",
)
def ones_like(input: TensorLike, dtype: Any = None) -> Call:
    """Return ones in the shape of ``input``.

    Parameters
    ----------
    input : Tensor
        Gives the shape.
    dtype : DType, optional
        Element type; by default the input's.

    Returns
    -------
    Tensor
        Ones.
    """
    return (as_tensor(input),), {"dtype": None if dtype is None else dtype_of(dtype)}


@op(
    infer=lambda size, fill_value, dtype: Aval(size, dtype),
    kernel=lambda size, fill_value, dtype: np.full(size, fill_value, dtype.numpy),
    lowering=Pointwise(lambda b, size, fill_value, dtype: b.const(fill_value, dtype.numpy)),
    category="array",
    inputs=(),
    primitive="FillV2",
)
def full(size: Any, fill_value: float, dtype: Any = None) -> Call:
    """Return a tensor filled with one number.

    Parameters
    ----------
    size : int or sequence of int
        Shape.
    fill_value : number
        The number.
    dtype : DType, optional
        Element type; by default the number's (``Float32`` or ``Int64``).

    Returns
    -------
    Tensor
        The filled tensor.
    """
    kind = dtype_of(type(fill_value)) if dtype is None else dtype_of(dtype)
    return (), {"size": as_shape(size), "fill_value": fill_value, "dtype": kind}


def zeros(size: Any, dtype: Any = float32) -> Tensor:
    """Return zeros of a shape and dtype (``Float32`` by default)."""
    return full(size, 0, dtype or float32)


def ones(size: Any, dtype: Any = float32) -> Tensor:
    """Return ones of a shape and dtype (``Float32`` by default)."""
    return full(size, 1, dtype or float32)


def _arange_rule(start: float, end: float, step: float, dtype: DType) -> Aval:
    return Aval((len(np.arange(start, end, step)),), dtype)


@op(
    infer=_arange_rule,
    kernel=lambda start, end, step, dtype: np.arange(start, end, step).astype(dtype.numpy),
    lowering=Host("numbers counted up are made once, in NumPy"),
    category="array",
    inputs=(),
    primitive="Range",
)
def arange(start: float = 0, end: float | None = None, step: float = 1, dtype: Any = None) -> Call:
    """Return evenly spaced numbers from ``start`` up to, not including, ``end``.

    Parameters
    ----------
    start, end, step : number
        One number alone is the end.
    dtype : DType, optional
        Element type; by default ``Int64``, or ``Float32`` if a number is a float.

    Returns
    -------
    Tensor
        One axis.

    Raises
    ------
    ValueError
        If ``step`` is zero.
    """
    if step == 0:
        raise ValueError("arange: step must not be zero.")
    if end is None:
        start, end = 0, start
    if dtype is None:
        dtype = float32 if any(isinstance(n, float) for n in (start, end, step)) else "int64"
    return (), {"start": start, "end": end, "step": step, "dtype": dtype_of(dtype)}
