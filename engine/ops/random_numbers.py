"""Tensors of random numbers: uniform, normal, whole, permuted.

Each call draws one key from the current stream (``set_seed``), or from a seed of its own, and its
numbers depend on that key alone: eager and compiled runs give the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, dtype_of, float32, float64, int64
from ..shape import Aval, Shape, ShapeError, broadcast_shapes, shape_text
from ..tensor import Tensor
from . import arithmetic
from .cast import TensorLike, as_tensor, cast_to
from .declarations import composite
from .index import gather
from .random import Seed, draw, key_of, normal_by_key, uniform_by_key
from .registry import Call, Host, op
from .rules import as_shape

HOST = Host("draws random numbers in NumPy")


def _sizes(size: tuple[Any, ...]) -> Shape:
    """Return a shape given as several sizes, or as one tuple."""
    return as_shape(size[0] if len(size) == 1 and isinstance(size[0], tuple | list) else size)


def _given(key: Tensor, size: Any, dtype: Any) -> Call:
    return (key,), {"size": as_shape(size), "dtype": dtype_of(dtype or float32)}


def _uniform(key: Tensor, size: Any, dtype: DType) -> Tensor:
    return uniform_by_key(key, size, dtype)


def _normal(key: Tensor, size: Any, dtype: DType) -> Tensor:
    return normal_by_key(key, size, dtype)


@composite(_uniform, category="random", inputs=("key",))
def rand(*size: Any, dtype: Any = None, seed: Seed = None) -> Call:
    """Draw numbers from the uniform distribution on 0 to 1.

    Parameters
    ----------
    *size : int
        The shape, as several sizes or one tuple.
    dtype : DType, optional
        A float type, by default ``Float32``.
    seed : int or Generator, optional
        A stream of its own; by default the current one.

    Returns
    -------
    Tensor
        The numbers, below 1.
    """
    return _given(key_of(seed), _sizes(size), dtype)


@composite(_normal, category="random", inputs=("key",))
def randn(*size: Any, dtype: Any = None, seed: Seed = None) -> Call:
    """Draw numbers from the standard normal distribution.

    Parameters
    ----------
    *size : int
        The shape, as several sizes or one tuple.
    dtype : DType, optional
        A float type, by default ``Float32``.
    seed : int or Generator, optional
        A stream of its own; by default the current one.

    Returns
    -------
    Tensor
        The numbers.
    """
    return _given(key_of(seed), _sizes(size), dtype)


@composite(_normal, category="random", inputs=("key",))
def standard_normal(shape: Any, seed: Seed = None) -> Call:
    """Draw ``Float32`` numbers from the standard normal distribution.

    Parameters
    ----------
    shape : tuple of int
        The shape.
    seed : int or Generator, optional
        A stream of its own; by default the current one.

    Returns
    -------
    Tensor
        The numbers.
    """
    return _given(key_of(seed), shape, float32)


def _like(input: TensorLike, seed: Seed, dtype: Any) -> Call:
    tensor = as_tensor(input)
    kind = dtype_of(dtype) if dtype is not None else tensor.dtype
    return _given(key_of(seed), tuple(tensor.shape), kind if kind.is_float else float32)


@composite(_uniform, category="random", inputs=("key",))
def rand_like(input: TensorLike, seed: Seed = None, *, dtype: Any = None) -> Call:
    """Draw numbers from the uniform distribution on 0 to 1, in the shape of ``input``.

    Parameters
    ----------
    input : Tensor
        Gives shape and dtype; for integers the dtype is ``Float32``.
    seed : int or Generator, optional
        A stream of its own; by default the current one.
    dtype : DType, optional
        A float type.

    Returns
    -------
    Tensor
        The numbers, below 1.
    """
    return _like(input, seed, dtype)


@composite(_normal, category="random", inputs=("key",))
def randn_like(input: TensorLike, seed: Seed = None, *, dtype: Any = None) -> Call:
    """Draw numbers from the standard normal distribution, in the shape of ``input``.

    Parameters
    ----------
    input : Tensor
        Gives shape and dtype; for integers the dtype is ``Float32``.
    seed : int or Generator, optional
        A stream of its own; by default the current one.
    dtype : DType, optional
        A float type.

    Returns
    -------
    Tensor
        The numbers.
    """
    return _like(input, seed, dtype)


# ---- whole numbers ---------------------------------------------------------------------------


def _integers_kernel(key: np.ndarray, low: int, high: int, size: Any, dtype: DType) -> np.ndarray:
    return np.asarray(draw(key).integers(low, high, size)).astype(dtype.numpy)


def _integers_call(low: int, high: int, size: Any, seed: Seed, dtype: Any) -> Call:
    if not low < high:
        raise ValueError(f"randint: low {low} must be less than high {high}.")
    _, attrs = _given(as_tensor(0), size, dtype or int64)
    return (key_of(seed),), {"low": int(low), "high": int(high), **attrs}


def _integers_rule(key: Aval, low: int, high: int, size: Shape, dtype: DType) -> Aval:
    return Aval(size, dtype)


@op(
    infer=_integers_rule, kernel=_integers_kernel, lowering=HOST, category="random",
    inputs=("key",), primitive="UniformInt",
)  # fmt: skip
def randint(low: int, high: int, size: Any, seed: Seed = None, *, dtype: Any = None) -> Call:
    """Draw integers uniformly from ``low`` to below ``high``.

    Parameters
    ----------
    low, high : int
        The range.
    size : tuple of int
        The shape.
    seed : int or Generator, optional
        A stream of its own; by default the current one.
    dtype : DType, optional
        Element type, by default ``Int64``.

    Returns
    -------
    Tensor
        The numbers.

    Raises
    ------
    ValueError
        If the range is empty.
    """
    return _integers_call(low, high, size, seed, dtype)


@op(
    infer=_integers_rule, kernel=_integers_kernel, lowering=HOST, category="random",
    inputs=("key",),
)  # fmt: skip
def randint_like(
    input: TensorLike, low: int, high: int, seed: Seed = None, *, dtype: Any = None
) -> Call:
    """Draw integers uniformly from ``low`` to below ``high``, in the shape of ``input``.

    Parameters
    ----------
    input : Tensor
        Gives shape and dtype.
    low, high : int
        The range.
    seed : int or Generator, optional
        A stream of its own; by default the current one.
    dtype : DType, optional
        Element type.

    Returns
    -------
    Tensor
        The numbers.

    Raises
    ------
    ValueError
        If the range is empty.
    """
    tensor = as_tensor(input)
    return _integers_call(low, high, tuple(tensor.shape), seed, dtype or tensor.dtype)


def _permutation_kernel(key: np.ndarray, n: int, offset: int, dtype: DType) -> np.ndarray:
    return (draw(key).permutation(n) + offset).astype(dtype.numpy)


@op(
    infer=lambda key, n, offset, dtype: Aval((n,), dtype),
    kernel=_permutation_kernel, lowering=HOST, category="random", inputs=("key",),
)  # fmt: skip
def randperm(n: int, seed: Seed = None, offset: int = 0, dtype: Any = int64) -> Call:
    """Return a random permutation of the integers below ``n``.

    Parameters
    ----------
    n : int
        How many.
    seed : int or Generator, optional
        A stream of its own; by default the current one.
    offset : int
        What is added to each number.
    dtype : DType
        Element type.

    Returns
    -------
    Tensor
        ``[n]``.

    Raises
    ------
    ValueError
        If ``n`` is negative.
    """
    if n < 0:
        raise ValueError(f"randperm: n must not be negative, it is {n}.")
    return (key_of(seed),), {"n": int(n), "offset": int(offset), "dtype": dtype_of(dtype)}


def _shuffle(x: Tensor, key: Tensor) -> Tensor:
    return gather(x, random_order(key, x), 0)


def _order_kernel(key: np.ndarray, like: np.ndarray) -> np.ndarray:
    return draw(key).permutation(len(like))


@op(
    infer=lambda key, like: Aval((like.shape[0],), int64),
    kernel=_order_kernel, lowering=HOST, category="gradient", inputs=("key", "like"),
)  # fmt: skip
def random_order(key: Tensor, like: Tensor) -> Call:
    """Return the positions along the first axis of a tensor in random order.

    Parameters
    ----------
    key : Tensor
        Int64 ``[2]``.
    like : Tensor
        Gives the number of positions.

    Returns
    -------
    Tensor
        Int64, one axis.
    """
    return (key, like), {}


@composite(_shuffle, category="random", inputs=("x", "key"), primitive="RandomShuffle")
def shuffle(x: TensorLike, seed: Seed = None) -> Call:
    """Permute the slices along the first axis at random.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    seed : int or Generator, optional
        A stream of its own; by default the current one.

    Returns
    -------
    Tensor
        The slices.

    Raises
    ------
    ValueError
        If ``x`` has no axes.
    """
    tensor = as_tensor(x)
    if not tensor.shape:
        raise ShapeError("shuffle: x has no axes, so there is nothing to put in another order.")
    return (tensor, key_of(seed)), {}


# ---- distributions by their parameters -------------------------------------------------------


def _between(key: Tensor, minval: Tensor, maxval: Tensor, size: Any) -> Tensor:
    width = arithmetic.sub(maxval, minval)
    if minval.dtype.is_float:
        part = uniform_by_key(key, size, minval.dtype)
        return arithmetic.add(arithmetic.mul(part, width), minval)
    part = arithmetic.mul(uniform_by_key(key, size, float64), cast_to(width, float64))
    return arithmetic.add(cast_to(part, minval.dtype), minval)


def _around(key: Tensor, mean: Tensor, stddev: Tensor, size: Any) -> Tensor:
    part = normal_by_key(key, size, mean.dtype)
    return arithmetic.add(arithmetic.mul(part, stddev), mean)


def located(name: str, shape: Any, a: TensorLike, b: TensorLike, dtype: Any = float32) -> Any:
    """Return two parameters in one dtype, and the shape to which they and ``shape`` broadcast."""
    kind = dtype_of(dtype)
    first, second = cast_to(as_tensor(a), kind), cast_to(as_tensor(b), kind)
    sizes = as_shape(shape)
    whole = broadcast_shapes(sizes, tuple(first.shape), tuple(second.shape))
    if sizes and whole != sizes:
        raise ShapeError(
            f"{name}: parameters {shape_text(first.shape)} and {shape_text(second.shape)} do not"
            f" broadcast to shape {shape_text(sizes)}."
        )
    return first, second, whole


@composite(_between, category="random", inputs=("key", "minval", "maxval"))
def uniform(
    shape: Any, minval: TensorLike, maxval: TensorLike, seed: Seed = None, dtype: Any = float32
) -> Call:
    """Draw numbers from the uniform distribution between two bounds, to which gradients flow.

    Parameters
    ----------
    shape : tuple of int
        The shape, to which the bounds broadcast.
    minval, maxval : number or Tensor
        The bounds.
    seed : int or Generator, optional
        A stream of its own; by default the current one.
    dtype : DType
        A float type, or an integer type for integers from the lower to below the upper bound.

    Returns
    -------
    Tensor
        The numbers.

    Raises
    ------
    TypeError
        If ``dtype`` is no type of numbers.
    """
    kind = dtype_of(dtype or float32)
    if not kind.is_float and not kind.is_int:
        raise TypeError(f"uniform: dtype must be a type of numbers, it is {kind}.")
    low, high, size = located("uniform", shape, minval, maxval, kind)
    return (key_of(seed), low, high), {"size": size}


@composite(_around, category="random", inputs=("key", "mean", "stddev"))
def normal(shape: Any, mean: TensorLike, stddev: TensorLike, seed: Seed = None) -> Call:
    """Draw ``Float32`` numbers from a normal distribution, to whose parameters gradients flow.

    Parameters
    ----------
    shape : tuple of int
        The shape, to which the parameters broadcast.
    mean, stddev : number or Tensor
        Mean and standard deviation.
    seed : int or Generator, optional
        A stream of its own; by default the current one.

    Returns
    -------
    Tensor
        The numbers.
    """
    centre, width, size = located("normal", shape, mean, stddev)
    return (key_of(seed), centre, width), {"size": size}
