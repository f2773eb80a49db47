"""Tensors made from sizes and numbers: filled, like another, identities, evenly spaced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, dtype_of, float32
from ..shape import Aval, ShapeError, comparable, shape_text
from ..tensor import Tensor
from . import arithmetic
from .cast import TensorLike, as_float_pair, as_tensor, cast_to
from .declarations import composite
from .literals import constant
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


def _full_like_rule(input: Aval, fill_value: float, dtype: DType | None) -> Aval:
    return _like_rule(input, dtype)


@op(
    infer=_full_like_rule,
    kernel=lambda input, fill_value, dtype: np.full_like(
        input, fill_value, dtype.numpy if dtype else input.dtype
    ),
    lowering=Pointwise(
        lambda b, input, fill_value, dtype: b.const(
            fill_value, dtype.numpy if dtype else input.dtype
        )
    ),
    category="array",
    inputs=("input",),
)
def full_like(input: TensorLike, fill_value: float, *, dtype: Any = None) -> Call:
    """Return one number everywhere, in the shape of ``input``.

    Parameters
    ----------
    input : Tensor
        Gives the shape.
    fill_value : number
        The number.
    dtype : DType, optional
        Element type; by default the input's.

    Returns
    -------
    Tensor
        The filled tensor.
    """
    kind = None if dtype is None else dtype_of(dtype)
    return (as_tensor(input),), {"fill_value": fill_value, "dtype": kind}


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
    """Return zeros.

    Parameters
    ----------
    size : int or sequence of int
        Shape.
    dtype : DType
        Element type.

    Returns
    -------
    Tensor
        The zeros.
    """
    return full(size, 0, dtype or float32)


def ones(size: Any, dtype: Any = float32) -> Tensor:
    """Return ones.

    Parameters
    ----------
    size : int or sequence of int
        Shape.
    dtype : DType
        Element type.

    Returns
    -------
    Tensor
        The ones.
    """
    return full(size, 1, dtype or float32)


def empty(*size: Any, dtype: Any = float32) -> Tensor:
    """Return a tensor whose values mean nothing yet; they are zeros.

    Parameters
    ----------
    *size : int
        The shape, as several sizes or one tuple.
    dtype : DType
        Element type.

    Returns
    -------
    Tensor
        The tensor.
    """
    shape = size[0] if len(size) == 1 and isinstance(size[0], tuple | list) else size
    return full(shape, 0, dtype or float32)


def empty_like(input: TensorLike, *, dtype: Any = None) -> Tensor:
    """Return a tensor whose values mean nothing yet (they are zeros), in the shape of ``input``.

    Parameters
    ----------
    input : Tensor
        Gives the shape.
    dtype : DType, optional
        Element type; by default the input's.

    Returns
    -------
    Tensor
        The tensor.
    """
    return zeros_like(input, dtype)


def fill(type: Any, shape: Any, value: float) -> Tensor:
    """Return a tensor filled with one number.

    Parameters
    ----------
    type : DType
        Element type.
    shape : tuple of int
        Shape.
    value : number
        The number.

    Returns
    -------
    Tensor
        The filled tensor.
    """
    return full(shape, value, type)


def _arange_rule(start: Any, end: Any, step: Any, dtype: DType) -> Aval:
    if not comparable(start, end, step):  # counted along an axis whose size is a symbol
        return Aval(((end - start + step - 1) // step,), dtype)
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


def range(start: Any, end: Any = None, step: Any = 1, maxlen: int = 1000000) -> Tensor:
    """Return numbers from ``start`` up to, not including, ``end``.

    Parameters
    ----------
    start, end, step : number or Tensor
        As of ``arange``; tensors have one element.
    maxlen : int
        The most numbers allowed.

    Returns
    -------
    Tensor
        One axis.

    Raises
    ------
    ValueError
        If they are more than ``maxlen``, or ``step`` is zero.
    """
    given = (start, end, step)
    numbers = [item.item() if isinstance(item, Tensor) else item for item in given]
    found = arange(*numbers)
    if len(found) > maxlen:
        raise ValueError(
            f"range: {len(found)} numbers are more than maxlen {maxlen}; give a larger maxlen."
        )
    return found


ONCE = Host("made once, in NumPy")


@op(
    infer=lambda n, m, dtype: Aval((n, m), dtype),
    kernel=lambda n, m, dtype: np.eye(n, m, dtype=dtype.numpy),
    lowering=ONCE,
    category="array",
    inputs=(),
)
def eye(n: int, m: int | None = None, dtype: Any = None) -> Call:
    """Return ones on the diagonal and zeros elsewhere.

    Parameters
    ----------
    n : int
        Number of rows.
    m : int, optional
        Number of columns; by default as many.
    dtype : DType, optional
        Element type; by default ``Float32``.

    Returns
    -------
    Tensor
        ``[n, m]``.

    Raises
    ------
    ValueError
        If a size is negative.
    """
    columns = n if m is None else m
    if n < 0 or columns < 0:
        raise ValueError(f"eye: n and m must not be negative, they are {n} and {columns}.")
    return (), {"n": int(n), "m": int(columns), "dtype": dtype_of(dtype or float32)}


def _linspace(start: Tensor, end: Tensor, steps: int) -> Tensor:
    share = np.linspace(0.0, 1.0, steps)
    kind = start.dtype.numpy
    left, right = constant((1.0 - share).astype(kind)), constant(share.astype(kind))
    return arithmetic.add(arithmetic.mul(start, left), arithmetic.mul(end, right))


def _ends(name: str, start: TensorLike, end: TensorLike, steps: int) -> tuple[Tensor, Tensor]:
    if steps < 1:
        raise ValueError(f"{name}: steps must be positive, it is {steps}.")
    first, last = as_float_pair(as_tensor(start), as_tensor(end))
    for label, tensor in (("start", first), ("end", last)):
        if tensor.shape:
            raise ShapeError(f"{name}: {label} {shape_text(tensor.shape)} must have no axes.")
    return first, last


@composite(_linspace, category="array", inputs=("start", "end"), primitive="LinSpace")
def linspace(start: TensorLike, end: TensorLike, steps: int) -> Call:
    """Return evenly spaced numbers from ``start`` to ``end``, both included.

    Parameters
    ----------
    start, end : number or Tensor
        The first and the last number; tensors have no axes.
    steps : int
        How many numbers.

    Returns
    -------
    Tensor
        ``[steps]``, ``Float32`` for Python numbers.

    Raises
    ------
    ValueError
        If ``steps`` is not positive.
    """
    return _ends("linspace", start, end, steps), {"steps": int(steps)}


def _logspace(start: Tensor, end: Tensor, steps: int, base: float, dtype: DType) -> Tensor:
    exponents = _linspace(start, end, steps)
    powers = arithmetic.pow(full((), base, exponents.dtype), exponents)
    return cast_to(powers, dtype)


@composite(_logspace, category="array", inputs=("start", "end"), primitive="LogSpace")
def logspace(
    start: TensorLike, end: TensorLike, steps: int, base: float = 10, *, dtype: Any = float32
) -> Call:
    """Return powers of ``base`` with evenly spaced exponents from ``start`` to ``end``.

    Parameters
    ----------
    start, end : number or Tensor
        The first and the last exponent; tensors have no axes.
    steps : int
        How many numbers.
    base : number
        The base.
    dtype : DType
        Element type of the result.

    Returns
    -------
    Tensor
        ``[steps]``.

    Raises
    ------
    ValueError
        If ``steps`` is not positive.
    """
    attrs = {"steps": int(steps), "base": float(base), "dtype": dtype_of(dtype)}
    return _ends("logspace", start, end, steps), attrs
