"""Random numbers by distributions: Bernoulli, gamma, Laplace, multinomial, Poisson."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, dtype_of, float32, float64, int32, int64
from ..shape import Aval, Shape, ShapeError, broadcast_shapes, shape_text
from ..tensor import Tensor
from . import arithmetic, logic
from .array import broadcast_to
from .cast import TensorLike, as_float, as_tensor, cast_to
from .declarations import composite
from .random import Seed, draw, key_of, uniform_by_key
from .random_numbers import HOST, located
from .registry import OPS, Call, Composite, Host, apply, op
from .rules import as_shape, require_ndim, same


def _gamma_kernel(key: np.ndarray, alpha: np.ndarray, size: Any) -> np.ndarray:
    found = draw(key).standard_gamma(alpha.astype(np.float64), size)
    return np.asarray(found).astype(alpha.dtype)


@op(
    infer=lambda key, alpha, size: Aval(size, alpha.dtype),
    kernel=_gamma_kernel, lowering=HOST, category="random", inputs=("key", "alpha"),
)  # fmt: skip
def random_gamma(shape: Any, alpha: TensorLike, seed: Seed = None) -> Call:
    """Draw numbers from gamma distributions of scale 1.

    Parameters
    ----------
    shape : tuple of int
        How many numbers of each distribution.
    alpha : number or Tensor
        The shape parameters, positive.
    seed : int or Generator, optional
        A stream of its own; by default the current one.

    Returns
    -------
    Tensor
        ``shape`` followed by the shape of ``alpha``.
    """
    parameter = as_float(alpha)
    return (key_of(seed), parameter), {"size": (*as_shape(shape), *parameter.shape)}


def _gamma(key: Tensor, alpha: Tensor, beta: Tensor, size: Shape) -> Tensor:
    parts = broadcast_shapes(tuple(alpha.shape), tuple(beta.shape))
    whole = alpha if tuple(alpha.shape) == parts else broadcast_to(alpha, parts)
    drawn = apply(OPS["random_gamma"], (key, whole), {"size": (*size, *parts)})
    return arithmetic.div(drawn, beta)


@composite(_gamma, category="random", inputs=("key", "alpha", "beta"))
def gamma(shape: Any, alpha: TensorLike, beta: TensorLike, seed: Seed = None) -> Call:
    """Draw ``Float32`` numbers from gamma distributions.

    Parameters
    ----------
    shape : tuple of int
        How many numbers of each distribution.
    alpha : number or Tensor
        The shape parameters, positive.
    beta : number or Tensor
        The rates, positive; gradients flow back to them.
    seed : int or Generator, optional
        A stream of its own; by default the current one.

    Returns
    -------
    Tensor
        ``shape`` followed by the shape to which ``alpha`` and ``beta`` broadcast.
    """
    parameters = (cast_to(as_tensor(item), float32) for item in (alpha, beta))
    return (key_of(seed), *parameters), {"size": as_shape(shape)}


def _poisson_kernel(key: np.ndarray, rate: np.ndarray, size: Any, dtype: DType) -> np.ndarray:
    return np.asarray(draw(key).poisson(rate.astype(np.float64), size)).astype(dtype.numpy)


def _sized_rule(key: Aval, parameter: Aval, size: Shape, dtype: DType) -> Aval:
    return Aval(size, dtype)


@op(
    infer=_sized_rule, kernel=_poisson_kernel, lowering=HOST, category="random",
    inputs=("key", "rate"),
)  # fmt: skip
def random_poisson(shape: Any, rate: TensorLike, seed: Seed = None, dtype: Any = float32) -> Call:
    """Draw counts from Poisson distributions.

    Parameters
    ----------
    shape : tuple of int
        How many counts of each distribution.
    rate : number or Tensor
        The means, not negative.
    seed : int or Generator, optional
        A stream of its own; by default the current one.
    dtype : DType
        Element type of the result.

    Returns
    -------
    Tensor
        ``shape`` followed by the shape of ``rate``.
    """
    mean = as_float(rate)
    size = (*as_shape(shape), *mean.shape)
    return (key_of(seed), mean), {"size": size, "dtype": dtype_of(dtype)}


@op(
    infer=_sized_rule, kernel=_poisson_kernel, lowering=HOST, category="random",
    inputs=("key", "rate"),
)  # fmt: skip
def poisson(rate: TensorLike, seed: Seed = None) -> Call:
    """Draw one count from each of several Poisson distributions.

    Parameters
    ----------
    rate : Tensor
        The means, not negative, a float type.
    seed : int or Generator, optional
        A stream of its own; by default the current one.

    Returns
    -------
    Tensor
        The counts, of the shape and dtype of ``rate``.
    """
    mean = as_float(rate)
    return (key_of(seed), mean), {"size": tuple(mean.shape), "dtype": mean.dtype}


NO_CHANCE = "bernoulli: p must lie in 0..1."


def _chances_kernel(p: np.ndarray) -> np.ndarray:
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(NO_CHANCE)
    return p


@op(
    infer=same, kernel=_chances_kernel, lowering=Host("looks for numbers out of range"),
    category="gradient", inputs=("p",),
)  # fmt: skip
def require_chances(p: Tensor) -> Call:
    """Give probabilities back if all of them are.

    Parameters
    ----------
    p : Tensor
        A float type.

    Returns
    -------
    Tensor
        The same.

    Raises
    ------
    ValueError
        If one is not in 0..1.
    """
    return (p,), {}


def _expand_bernoulli(key: Tensor, p: Tensor, size: Any, dtype: DType) -> Tensor:
    chance = cast_to(require_chances(p), float64)
    return cast_to(logic.less(uniform_by_key(key, size, float64), chance), dtype)


def _bernoulli_kernel(key: np.ndarray, p: np.ndarray, size: Any, dtype: DType) -> np.ndarray:
    wide = _chances_kernel(p.astype(np.float64))
    return (draw(key).random(size) < wide).astype(dtype.numpy)


@op(
    infer=_sized_rule, kernel=_bernoulli_kernel, lowering=Composite(_expand_bernoulli),
    category="random", inputs=("key", "p"),
)  # fmt: skip
def bernoulli(input: TensorLike, p: TensorLike = 0.5, seed: Seed = None) -> Call:
    """Draw from Bernoulli distributions: ones with probability ``p``, else zeros.

    Parameters
    ----------
    input : Tensor
        Gives shape and dtype.
    p : number or Tensor
        The probability of one, in 0..1; a tensor broadcasts to the shape.
    seed : int or Generator, optional
        A stream of its own; by default the current one.

    Returns
    -------
    Tensor
        Zeros and ones.

    Raises
    ------
    ValueError
        If a probability is not in 0..1.
    """
    like, chance = as_tensor(input), as_float(p)
    size = tuple(like.shape)
    if broadcast_shapes(size, tuple(chance.shape)) != size:
        raise ShapeError(
            f"bernoulli: p {shape_text(chance.shape)} does not broadcast to input"
            f" {shape_text(size)}."
        )
    return (key_of(seed), chance), {"size": size, "dtype": like.dtype}


def _chosen(key: np.ndarray, weights: np.ndarray, count: int, replacement: bool) -> np.ndarray:
    """Return the choices of each row of weights, which need not add up to one."""
    stream = draw(key)
    if not replacement:
        # The largest of log(weight) plus Gumbel noise are a draw without replacement.
        with np.errstate(divide="ignore"):
            noisy = np.log(weights) + stream.gumbel(size=weights.shape)
        return np.argsort(-noisy, axis=-1, kind="stable")[..., :count]
    sums = np.cumsum(weights, -1)
    places = stream.random((*weights.shape[:-1], count)) * sums[..., -1:]
    found = np.empty(places.shape, np.int64)
    for row in np.ndindex(*weights.shape[:-1]):
        found[row] = np.searchsorted(sums[row], places[row], side="right")
    last = weights.shape[-1] - 1 - np.argmax(weights[..., ::-1] > 0, -1)[..., None]
    return np.minimum(found, last)


def _multinomial_kernel(
    key: np.ndarray, input: np.ndarray, num_samples: int, replacement: bool, dtype: DType
) -> np.ndarray:
    weights = input.astype(np.float64)
    if not np.isfinite(weights).all() or (weights < 0).any() or (weights.sum(-1) <= 0).any():
        raise ValueError(
            "multinomial: input must hold weights that are finite and not negative, with a positive"
            " one in each row."
        )
    if not replacement and ((weights > 0).sum(-1) < num_samples).any():
        raise ValueError(
            f"multinomial: without replacement each row must have at least num_samples"
            f" {num_samples} positive weights."
        )
    return _chosen(key, weights, num_samples, replacement).astype(dtype.numpy)


def _choice_rule(key: Aval, input: Aval, num_samples: int, replacement: bool, dtype: DType) -> Aval:
    return Aval((*input.shape[:-1], num_samples), dtype)


def _choice_call(
    name: str, input: TensorLike, count: int, replacement: bool, seed: Seed, dtype: DType
) -> Call:
    weights = as_float(input)
    if len(weights.shape) not in (1, 2):
        raise ShapeError(f"{name}: input {shape_text(weights.shape)} must have one or two axes.")
    if count < 1:
        raise ValueError(f"{name}: the number of choices must be positive, it is {count}.")
    attrs = {"num_samples": int(count), "replacement": bool(replacement), "dtype": dtype}
    return (key_of(seed), weights), attrs


@op(
    infer=_choice_rule, kernel=_multinomial_kernel, lowering=HOST, category="random",
    inputs=("key", "input"), method=True,
)  # fmt: skip
def multinomial(
    input: TensorLike, num_samples: int, replacement: bool = True, seed: Seed = None
) -> Call:
    """Draw positions with the probabilities that weights give.

    Parameters
    ----------
    input : Tensor
        Weights, not negative: ``[n]``, or ``[rows, n]`` for a choice in each row.
    num_samples : int
        How many choices.
    replacement : bool
        Whether a position may be chosen again.
    seed : int or Generator, optional
        A stream of its own; by default the current one.

    Returns
    -------
    Tensor
        Int32 ``[num_samples]`` or ``[rows, num_samples]``.

    Raises
    ------
    ValueError
        If weights are negative or all zero, or too few are positive.
    """
    return _choice_call("multinomial", input, num_samples, replacement, seed, int32)


@op(
    infer=_choice_rule, kernel=_multinomial_kernel, lowering=HOST, category="random",
    inputs=("key", "x"),
)  # fmt: skip
def multinomial_with_replacement(
    x: TensorLike, seed: Seed, offset: int, numsamples: int, replacement: bool = False
) -> Call:
    """Draw positions with replacement, with the probabilities that weights give.

    Parameters
    ----------
    x : Tensor
        Weights, not negative: ``[n]``, or ``[rows, n]`` for a choice in each row.
    seed : int, Generator or None
        A stream of its own; None takes the current one.
    offset : int
        Which key of a seed's stream is taken.
    numsamples : int
        How many choices.
    replacement : bool
        Has no effect: a position may always be chosen again.

    Returns
    -------
    Tensor
        Int64 ``[numsamples]`` or ``[rows, numsamples]``.

    Raises
    ------
    ValueError
        If weights are negative or all zero.
    """
    (key, weights), attrs = _choice_call(
        "multinomial_with_replacement", x, numsamples, True, seed, int64
    )
    if isinstance(seed, int):
        key = arithmetic.add(key, as_tensor(np.array([0, offset], np.int64)))
    return (key, weights), attrs


def _categorical_kernel(
    key: np.ndarray, logits: np.ndarray, num_sample: int, dtype: DType
) -> np.ndarray:
    wide = logits.astype(np.float64)
    weights = np.exp(wide - wide.max(-1, keepdims=True))
    return _chosen(key, weights, num_sample, True).astype(dtype.numpy)


@op(
    infer=lambda key, logits, num_sample, dtype: Aval((logits.shape[0], num_sample), dtype),
    kernel=_categorical_kernel, lowering=HOST, category="random", inputs=("key", "logits"),
)  # fmt: skip
def random_categorical(
    logits: TensorLike, num_sample: int, seed: Seed = 0, dtype: Any = int64
) -> Call:
    """Draw classes with the probabilities that logits give.

    Parameters
    ----------
    logits : Tensor
        ``[rows, classes]``, a float type.
    num_sample : int
        How many choices in each row.
    seed : int or Generator
        A stream of its own; 0 or None takes the current one.
    dtype : DType
        An integer type.

    Returns
    -------
    Tensor
        ``[rows, num_sample]``.
    """
    scores = as_float(logits)
    require_ndim("random_categorical", "logits", scores.aval, 2)
    attrs = {"num_sample": int(num_sample), "dtype": dtype_of(dtype)}
    return (key_of(seed or None), scores), attrs


def _laplace_kernel(key: np.ndarray, size: Any, dtype: DType) -> np.ndarray:
    return np.asarray(draw(key).laplace(size=size)).astype(dtype.numpy)


@op(
    infer=lambda key, size, dtype: Aval(size, dtype), kernel=_laplace_kernel, lowering=HOST,
    category="random", inputs=("key",),
)  # fmt: skip
def standard_laplace(shape: Any, seed: Seed = None) -> Call:
    """Draw ``Float32`` numbers from the Laplace distribution of mean 0 and scale 1.

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
    return (key_of(seed),), {"size": as_shape(shape), "dtype": float32}


def _laplace(key: Tensor, mean: Tensor, scale: Tensor, size: Any) -> Tensor:
    part = apply(OPS["standard_laplace"], (key,), {"size": size, "dtype": mean.dtype})
    return arithmetic.add(arithmetic.mul(part, scale), mean)


@composite(_laplace, category="random", inputs=("key", "mean", "lambda_param"))
def laplace(shape: Any, mean: TensorLike, lambda_param: TensorLike, seed: Seed = None) -> Call:
    """Draw ``Float32`` numbers from a Laplace distribution, to whose parameters gradients flow.

    Parameters
    ----------
    shape : tuple of int
        The shape, to which the parameters broadcast.
    mean, lambda_param : number or Tensor
        Mean and scale.
    seed : int or Generator, optional
        A stream of its own; by default the current one.

    Returns
    -------
    Tensor
        The numbers.
    """
    centre, width, size = located("laplace", shape, mean, lambda_param)
    return (key_of(seed), centre, width), {"size": size}
