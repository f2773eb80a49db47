"""The ops behind random numbers: they depend on a key tensor alone (``engine.random``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import random as streams
from ..dtype import bool_, dtype_of, float32
from ..shape import Aval, Shape
from ..tensor import Tensor
from . import arithmetic, logic
from .cast import TensorLike, as_float
from .registry import Call, Composite, GradContext, Grads, Host, op
from .rules import as_shape, require_float

_REASON = "draws random numbers in NumPy"
Seed = int | streams.Generator | None
"""A seed of its own for one call, a generator, or None for the current stream."""


def key_of(seed: Seed) -> Tensor:
    """Return the key of one call: the current stream's next one, or that of a seed of its own."""
    if seed is None:
        return streams.next_key()
    if isinstance(seed, streams.Generator):
        return seed.next_key()
    return streams.RandomState(int(seed)).next_key()


def draw(key: np.ndarray) -> np.random.Generator:
    """Return the generator from which a kernel draws the numbers of one call."""
    return streams.generator(key)


def _kept_kernel(key: np.ndarray, size: Any, p: float) -> np.ndarray:
    # float32 draws serve every dtype, so that a mask does not depend on it.
    return np.asarray(draw(key).random(size, np.float32) >= p)


@op(
    infer=lambda key, size, p: Aval(size, bool_),
    kernel=_kept_kernel,
    lowering=Host(_REASON),
    category="random",
    inputs=("key",),
)
def random_kept(key: Tensor, size: Any, p: float) -> Call:
    """Decide by a key what is kept: each element with probability ``1 - p``.

    Parameters
    ----------
    key : Tensor
        Int64 ``[2]``; the same key decides the same.
    size : tuple of int
        Shape.
    p : float
        Probability of False.

    Returns
    -------
    Tensor
        Bool.
    """
    return (key,), {"size": as_shape(size), "p": float(p)}


def _dropout_rule(input: Aval, key: Aval, p: float) -> Aval:
    require_float("dropout", "input", input)
    return input


def _dropout_kernel(input: np.ndarray, key: np.ndarray, p: float) -> np.ndarray:
    kept = _kept_kernel(key, input.shape, p)
    scale = input.dtype.type(1.0 / (1.0 - p)) if p < 1 else input.dtype.type(0)
    return np.where(kept, input * scale, input.dtype.type(0))


def _expand_dropout(input: Tensor, key: Tensor, p: float) -> Tensor:
    scaled = arithmetic.mul(input, 1.0 / (1.0 - p) if p < 1 else 0.0)
    return logic.select(random_kept(key, tuple(input.shape), p), scaled, 0.0)


def _dropout_grad(ctx: GradContext) -> Grads:
    # Dropout is linear: its gradient is the same mask and scale.
    return masked_dropout(ctx.dout, ctx.inputs[1], ctx.attrs["p"]), None


@op(
    infer=_dropout_rule,
    kernel=_dropout_kernel,
    grad=_dropout_grad,
    lowering=Composite(_expand_dropout),
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


def _draw_rule(key: Aval, size: Shape, dtype: Any) -> Aval:
    return Aval(size, dtype)


def _uniform_kernel(key: np.ndarray, size: Any, dtype: Any) -> np.ndarray:
    kind = np.float32 if dtype.itemsize < 8 else np.float64
    drawn = np.asarray(draw(key).random(size, kind))
    if dtype.itemsize < 4:  # cut to the type's digits, since rounding would reach one
        steps = 2.0 / float(dtype.limits.eps)
        drawn = np.floor(drawn * steps) / steps
    return drawn.astype(dtype.numpy)


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
    return np.asarray(draw(key).standard_normal(size, kind)).astype(dtype.numpy)


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
