"""Activations that draw random numbers; a key decides which (``engine.random``)."""

from __future__ import annotations

from .. import random as streams
from ..tensor import Tensor
from . import arithmetic, array, index, logic, math, random, statistics
from .cast import TensorLike, as_float
from .declarations import composite
from .registry import Call
from .rules import normalize_axis
from .softmax import softmax

_LEAST = 1e-20
"""Keeps the logarithm of a drawn zero finite."""


def _expand_gumbel(logits: Tensor, key: Tensor, tau: float, hard: bool, dim: int) -> Tensor:
    drawn = random.uniform_by_key(key, tuple(logits.shape), logits.dtype)
    spread = math.neg(math.log(arithmetic.maximum(drawn, _LEAST)))
    noise = math.neg(math.log(arithmetic.maximum(spread, _LEAST)))
    soft = softmax(arithmetic.div(arithmetic.add(logits, noise), tau), dim)
    count = soft.shape[dim]
    if not hard:
        return soft
    assert isinstance(count, int)
    best = statistics.argmax(soft, dim)
    ones = index.one_hot(best, count, 1.0, 0.0, dim, logits.dtype)
    # Forward the choice, backward what is smooth.
    return arithmetic.add(array.stop_gradient(arithmetic.sub(ones, soft)), soft)


@composite(_expand_gumbel, category="random", inputs=("logits", "key"))
def gumbel_by_key(logits: TensorLike, key: Tensor, tau: float, hard: bool, dim: int) -> Call:
    """Draw soft choices by Gumbel noise from a key.

    Parameters
    ----------
    logits : Tensor
        At least one axis; integers are cast to float32.
    key : Tensor
        Int64 ``[2]`` from ``random.next_key()``.
    tau : float
        Temperature.
    hard : bool
        Whether the result is a choice of one rather than shares.
    dim : int
        The axis that sums to one.

    Returns
    -------
    Tensor
        The shape of the logits.
    """
    tensor = as_float(logits)
    at = normalize_axis("gumbel_softmax", dim, len(tensor.shape))
    return (tensor, key), {"tau": float(tau), "hard": bool(hard), "dim": at}


def gumbel_softmax(
    logits: TensorLike, tau: float = 1.0, hard: bool = False, dim: int = -1
) -> Tensor:
    """Draw from the Gumbel-softmax distribution along an axis: soft or one-hot choices.

    Parameters
    ----------
    logits : Tensor
        At least one axis; integers are cast to float32.
    tau : float
        Temperature above zero: the lower, the closer to a choice of one.
    hard : bool
        Whether the result is a choice of one, with the gradient of the soft one.
    dim : int
        The axis that sums to one.

    Returns
    -------
    Tensor
        The shape of the logits.

    Raises
    ------
    ValueError
        If ``tau`` is not above zero.

    References
    ----------
    Jang, Gu and Poole, Categorical Reparameterization with Gumbel-Softmax, 2016.
    """
    if tau <= 0:
        raise ValueError(f"gumbel_softmax: tau must be above zero, it is {tau}.")
    return gumbel_by_key(logits, streams.next_key(), tau, hard, dim)


def _expand_rrelu(input: Tensor, key: Tensor, lower: float, upper: float) -> Tensor:
    drawn = random.uniform_by_key(key, tuple(input.shape), input.dtype)
    slope = arithmetic.add(arithmetic.mul(drawn, upper - lower), lower)
    return logic.select(logic.greater(input, 0), input, arithmetic.mul(input, slope))


@composite(_expand_rrelu, category="random", inputs=("input", "key"))
def rrelu_by_key(input: TensorLike, key: Tensor, lower: float, upper: float) -> Call:
    """Scale what is negative by slopes drawn from a key.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    key : Tensor
        Int64 ``[2]`` from ``random.next_key()``.
    lower, upper : float
        Range of the slopes.

    Returns
    -------
    Tensor
        The shape of the input.
    """
    return (as_float(input), key), {"lower": float(lower), "upper": float(upper)}


def rrelu(input: TensorLike, lower: float = 1 / 8, upper: float = 1 / 3) -> Tensor:
    """Return ``input`` where positive, else times a slope drawn for each element.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    lower, upper : float
        Range of the slopes.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If ``lower`` is above ``upper``.

    References
    ----------
    Xu et al., Empirical Evaluation of Rectified Activations in Convolutional Network, 2015.
    """
    if lower > upper:
        raise ValueError(f"rrelu: lower must be at most upper, they are {lower} and {upper}.")
    return rrelu_by_key(input, streams.next_key(), lower, upper)
