"""Random ops: their numbers depend on a key tensor alone (``engine.random``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import random as streams
from ..dtype import dtype_of, float32
from ..shape import Aval, Shape
from ..tensor import Tensor
from .array import identity
from .cast import TensorLike, as_float
from .registry import Call, GradContext, Grads, Host, op
from .rules import as_shape, require_float

_REASON = "draws random numbers in NumPy"


def _dropout_rule(input: Aval, key: Aval, p: float) -> Aval:
    require_float("dropout", "input", input)
    return input


def _dropout_kernel(input: np.ndarray, key: np.ndarray, p: float) -> np.ndarray:
    # float32 draws serve every dtype, so that a mask does not depend on it.
    kept = streams.generator(key).random(input.shape, np.float32) >= p
    scale = input.dtype.type(1.0 / (1.0 - p)) if p < 1 else input.dtype.type(0)
    return np.where(kept, input * scale, input.dtype.type(0))


def _dropout_grad(ctx: GradContext) -> Grads:
    # Dropout is linear: its gradient is the same mask and scale.
    return masked_dropout(ctx.dout, ctx.inputs[1], ctx.attrs["p"]), None


@op(
    infer=_dropout_rule,
    kernel=_dropout_kernel,
    grad=_dropout_grad,
    lowering=Host(_REASON),
    category="random",
    inputs=("input", "key"),
    primitive="Dropout",
)
def masked_dropout(input: TensorLike, key: Tensor, p: float) -> Call:
    """Set elements to zero with probability ``p``, by a key, and scale the others.

    Parameters
    ----------
    input : Tensor
        Any shape, a float dtype.
    key : Tensor
        Int64 ``[2]`` from ``random.next_key()``; the same key gives the same zeros.
    p : float
        Probability of zero.

    Returns
    -------
    Tensor
        The kept elements divided by ``1 - p``.
    """
    return (as_float(input), key), {"p": float(p)}


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, seed: int | None = None
) -> Tensor:
    """Set elements to zero with probability ``p`` while training, and scale the others.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    p : float
        Probability of zero, in 0..1.
    training : bool
        Outside training the input comes back as it is.
    seed : int, optional
        A seed of its own for this call; by default the current random stream is used.

    Returns
    -------
    Tensor
        The kept elements divided by ``1 - p``.

    Raises
    ------
    ValueError
        If ``p`` is not in 0..1.

    References
    ----------
    Srivastava et al., Dropout, 2014.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p must be in 0..1, it is {p}.")
    if not training or p == 0:
        return identity(as_float(input))
    key = streams.next_key() if seed is None else streams.RandomState(seed).next_key()
    return masked_dropout(input, key, p)


def _draw_rule(key: Aval, size: Shape, dtype: Any) -> Aval:
    return Aval(size, dtype)


def _uniform_kernel(key: np.ndarray, size: Any, dtype: Any) -> np.ndarray:
    kind = np.float32 if dtype.itemsize < 8 else np.float64
    return np.asarray(streams.generator(key).random(size, kind)).astype(dtype.numpy)


@op(
    infer=_draw_rule,
    kernel=_uniform_kernel,
    lowering=Host(_REASON),
    category="random",
    inputs=("key",),
    primitive="UniformReal",
)
def uniform_by_key(key: Tensor, size: Any, dtype: Any = float32) -> Call:
    """Draw numbers evenly from 0..1 by a key.

    Parameters
    ----------
    key : Tensor
        Int64 ``[2]``.
    size : tuple of int
        Shape.
    dtype : DType
        A float type.

    Returns
    -------
    Tensor
        The numbers.
    """
    return (key,), {"size": as_shape(size), "dtype": dtype_of(dtype)}


def _normal_kernel(key: np.ndarray, size: Any, dtype: Any) -> np.ndarray:
    kind = np.float32 if dtype.itemsize < 8 else np.float64
    return np.asarray(streams.generator(key).standard_normal(size, kind)).astype(dtype.numpy)


@op(
    infer=_draw_rule,
    kernel=_normal_kernel,
    lowering=Host(_REASON),
    category="random",
    inputs=("key",),
    primitive="StandardNormal",
)
def normal_by_key(key: Tensor, size: Any, dtype: Any = float32) -> Call:
    """Draw numbers from the standard normal distribution by a key.

    Parameters
    ----------
    key : Tensor
        Int64 ``[2]``.
    size : tuple of int
        Shape.
    dtype : DType
        A float type.

    Returns
    -------
    Tensor
        The numbers.
    """
    return (key,), {"size": as_shape(size), "dtype": dtype_of(dtype)}


def rand(*size: Any, dtype: Any = float32, seed: int | None = None) -> Tensor:
    """Return numbers drawn evenly from 0..1, in a shape given as sizes or a tuple."""
    return uniform_by_key(_key(seed), _size(size), dtype)


def randn(*size: Any, dtype: Any = float32, seed: int | None = None) -> Tensor:
    """Return numbers drawn from the standard normal distribution."""
    return normal_by_key(_key(seed), _size(size), dtype)


def standard_normal(shape: Any, seed: int | None = None) -> Tensor:
    """Return Float32 numbers drawn from the standard normal distribution."""
    return normal_by_key(_key(seed), shape, float32)


def uniform(
    shape: Any, minval: float, maxval: float, seed: int | None = None, dtype: Any = float32
) -> Tensor:
    """Return numbers drawn evenly from ``minval..maxval``."""
    return uniform_by_key(_key(seed), shape, dtype) * (maxval - minval) + minval


def _key(seed: int | None) -> Tensor:
    return streams.next_key() if seed is None else streams.RandomState(seed).next_key()


def _size(size: tuple[Any, ...]) -> Any:
    return size[0] if len(size) == 1 and isinstance(size[0], tuple | list) else size
