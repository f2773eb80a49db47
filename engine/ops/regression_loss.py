"""Losses of numbers: smooth absolute differences, likelihoods, divergences."""

from __future__ import annotations

import math as numbers
from typing import Any

from ..shape import ShapeError
from ..tensor import Tensor
from . import arithmetic, array, exponentials, logic, math, reduce
from .cast import TensorLike, as_float, as_float_pair, cast_to
from .declarations import composite
from .loss import check_reduction, reduced
from .registry import Call
from .rules import broadcast
from .weighted_sums import floats_together


def _require_broadcast(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    broadcast(name, input=input.aval, target=target.aval)
    return input, target


def _bent(gap: Tensor, bend: float, flat: float) -> Tensor:
    """Return squares near zero and straight lines beyond ``bend``, which they touch."""
    size = math.abs(gap)
    curve = arithmetic.mul(math.square(gap), 0.5 * flat)
    line = arithmetic.mul(arithmetic.sub(size, 0.5 * bend), flat * bend)
    return logic.select(logic.less(size, bend), curve, line)


def _expand_smooth(input: Tensor, target: Tensor, beta: float, reduction: str) -> Tensor:
    return reduced(_bent(arithmetic.sub(input, target), beta, 1 / beta), reduction)


@composite(_expand_smooth, category="loss", inputs=("input", "target"), primitive="SmoothL1Loss")
def smooth_l1_loss(
    input: TensorLike, target: TensorLike, beta: float = 1.0, reduction: str = "none"
) -> Call:
    """Return ``d**2 / (2 beta)`` for differences below ``beta``, else ``|d| - beta / 2``.

    Parameters
    ----------
    input, target : Tensor
        Shapes that broadcast; integers are cast to float32.
    beta : float
        Where the curve becomes a line, above zero.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Tensor
        One number, or all losses.

    Raises
    ------
    ValueError
        If ``beta`` is not above zero, the shapes do not broadcast or the reduction is another
        word.

    References
    ----------
    Girshick, Fast R-CNN, 2015.
    """
    if beta <= 0:
        raise ValueError(f"smooth_l1_loss: beta must be above zero, it is {beta}.")
    check_reduction("smooth_l1_loss", reduction)
    inputs = _require_broadcast("smooth_l1_loss", *as_float_pair(input, target))
    return inputs, {"beta": float(beta), "reduction": reduction}


def _expand_huber(input: Tensor, target: Tensor, reduction: str, delta: float) -> Tensor:
    return reduced(_bent(arithmetic.sub(input, target), delta, 1.0), reduction)


@composite(_expand_huber, category="loss", inputs=("input", "target"))
def huber_loss(
    input: TensorLike, target: TensorLike, reduction: str = "mean", delta: float = 1.0
) -> Call:
    """Return ``d**2 / 2`` for differences up to ``delta``, else ``delta (|d| - delta / 2)``.

    Parameters
    ----------
    input, target : Tensor
        Shapes that broadcast; integers are cast to float32.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.
    delta : float
        Where the curve becomes a line, above zero.

    Returns
    -------
    Tensor
        One number, or all losses.

    Raises
    ------
    ValueError
        If ``delta`` is not above zero, the shapes do not broadcast or the reduction is another
        word.

    References
    ----------
    Huber, Robust Estimation of a Location Parameter, 1964.
    """
    if delta <= 0:
        raise ValueError(f"huber_loss: delta must be above zero, it is {delta}.")
    check_reduction("huber_loss", reduction)
    inputs = _require_broadcast("huber_loss", *as_float_pair(input, target))
    return inputs, {"reduction": reduction, "delta": float(delta)}


def _expand_kl(logits: Tensor, labels: Tensor, reduction: str) -> Tensor:
    losses = arithmetic.sub(exponentials.xlogy(labels, labels), arithmetic.mul(labels, logits))
    if reduction != "batchmean":
        return reduced(losses, reduction)
    rest = tuple(range(1, len(losses.shape)))
    return reduce.mean(reduce.sum(losses, rest) if rest else losses)


@composite(_expand_kl, category="loss", inputs=("logits", "labels"), primitive="KLDivLoss")
def kl_div(logits: TensorLike, labels: TensorLike, reduction: str = "mean") -> Call:
    """Return the Kullback-Leibler divergence: ``labels * (log(labels) - logits)``.

    Parameters
    ----------
    logits : Tensor
        Logarithms of probabilities.
    labels : Tensor
        Probabilities, of a shape that broadcasts; zeros count nothing.
    reduction : str
        ``"mean"``, ``"sum"``, ``"none"``, or ``"batchmean"``: the sum over the size of the first
        axis.

    Returns
    -------
    Tensor
        One number, or all losses.

    Raises
    ------
    ValueError
        If the shapes do not broadcast or the reduction is another word.

    References
    ----------
    Kullback and Leibler, On Information and Sufficiency, 1951.
    """
    if reduction != "batchmean":
        check_reduction("kl_div", reduction)
    inputs = _require_broadcast("kl_div", *as_float_pair(logits, labels))
    if reduction == "batchmean" and not inputs[0].shape:
        raise ShapeError("kl_div: reduction 'batchmean' needs an axis of the batch.")
    return inputs, {"reduction": reduction}


def _log_above(x: Tensor) -> Tensor:
    """Return logarithms, of what is below a tiny number that of the number."""
    tiny = max(1e-12, float(x.dtype.limits.smallest_subnormal))
    return math.log(arithmetic.maximum(x, tiny))


def _expand_binary(logits: Tensor, labels: Tensor, *weight: Tensor, reduction: str) -> Tensor:
    yes = arithmetic.mul(labels, _log_above(logits))
    no = arithmetic.mul(arithmetic.sub(1.0, labels), _log_above(arithmetic.sub(1.0, logits)))
    losses = math.neg(arithmetic.add(yes, no))
    return reduced(arithmetic.mul(losses, weight[0]) if weight else losses, reduction)


@composite(_expand_binary, category="loss", inputs=("logits", "labels", "weight"))
def binary_cross_entropy(
    logits: TensorLike,
    labels: TensorLike,
    weight: TensorLike | None = None,
    reduction: str = "mean",
) -> Call:
    """Return the binary cross entropy of probabilities.

    Parameters
    ----------
    logits : Tensor
        Probabilities in 0..1; for their logits use `binary_cross_entropy_with_logits`.
    labels : Tensor
        Probabilities of yes, of a shape that broadcasts.
    weight : Tensor, optional
        Factor of each loss.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Tensor
        One number, or all losses; probabilities below 1e-12 count as that.

    Raises
    ------
    ValueError
        If the shapes do not broadcast or the reduction is another word.
    """
    check_reduction("binary_cross_entropy", reduction)
    x, y = _require_broadcast("binary_cross_entropy", *as_float_pair(logits, labels))
    extra = () if weight is None else (cast_to(as_float(weight), x.dtype),)
    return (x, y, *extra), {"reduction": reduction}


def _expand_gaussian(
    x: Tensor, target: Tensor, var: Tensor, full: bool, eps: float, reduction: str
) -> Tensor:
    spread = logic.select(logic.less(var, eps), eps, var)
    squares = arithmetic.div(math.square(arithmetic.sub(x, target)), spread)
    losses = arithmetic.mul(arithmetic.add(math.log(spread), squares), 0.5)
    if full:
        losses = arithmetic.add(losses, 0.5 * numbers.log(2 * numbers.pi))
    return reduced(losses, reduction)


@composite(_expand_gaussian, category="loss", inputs=("x", "target", "var"))
def gaussian_nll_loss(
    x: TensorLike,
    target: TensorLike,
    var: TensorLike,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Call:
    """Return the negative log likelihood of numbers under normal distributions.

    Parameters
    ----------
    x : Tensor
        Means; integers are cast to float32.
    target : Tensor
        Numbers seen, of a shape that broadcasts.
    var : Tensor
        Variances: of the shape of ``x``, without its last axis, or with size 1 there.
    full : bool
        Whether the constant ``log(2 pi) / 2`` is added.
    eps : float
        The least variance.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Tensor
        One number, or all losses.

    Raises
    ------
    ValueError
        If the shapes do not fit or the reduction is another word.

    References
    ----------
    Nix and Weigend, Estimating the Mean and Variance of the Target Probability Distribution, 1994.
    """
    check_reduction("gaussian_nll_loss", reduction)
    mean, seen, spread = floats_together(x, target, var)
    if tuple(spread.shape) == tuple(mean.shape[:-1]) and spread.shape != mean.shape:
        spread = array.expand_dims(spread, -1)
    broadcast("gaussian_nll_loss", x=mean.aval, target=seen.aval, var=spread.aval)
    attrs = {"full": bool(full), "eps": float(eps), "reduction": reduction}
    return (mean, seen, spread), attrs


def _expand_poisson(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: str
) -> Tensor:
    if log_input:
        losses = arithmetic.sub(math.exp(input), arithmetic.mul(target, input))
    else:
        logs = math.log(arithmetic.add(input, eps))
        losses = arithmetic.sub(input, arithmetic.mul(target, logs))
    if full:
        losses = arithmetic.add(losses, _stirling(target))
    return reduced(losses, reduction)


def _stirling(target: Tensor) -> Tensor:
    """Return Stirling's approximation of ``log(target!)``, zero up to one."""
    safe = arithmetic.maximum(target, 1.0)
    plain = arithmetic.sub(arithmetic.mul(safe, math.log(safe)), safe)
    rest = arithmetic.mul(math.log(arithmetic.mul(safe, 2 * numbers.pi)), 0.5)
    return logic.select(logic.greater(target, 1), arithmetic.add(plain, rest), 0.0)


@composite(_expand_poisson, category="loss", inputs=("input", "target"))
def poisson_nll_loss(
    input: TensorLike,
    target: TensorLike,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-08,
    reduction: str = "mean",
) -> Call:
    """Return the negative log likelihood of counts under Poisson distributions.

    Parameters
    ----------
    input : Tensor
        Rates, or their logarithms; integers are cast to float32.
    target : Tensor
        Counts, of a shape that broadcasts.
    log_input : bool
        Whether ``input`` holds logarithms.
    full : bool
        Whether Stirling's approximation of ``log(target!)`` is added.
    eps : float
        Added to rates before their logarithm is taken.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Tensor
        One number, or all losses.

    Raises
    ------
    ValueError
        If the shapes do not broadcast or the reduction is another word.

    References
    ----------
    Cameron and Trivedi, Regression Analysis of Count Data, 1998.
    """
    check_reduction("poisson_nll_loss", reduction)
    attrs: dict[str, Any] = {"log_input": bool(log_input), "full": bool(full), "eps": float(eps)}
    inputs = _require_broadcast("poisson_nll_loss", *as_float_pair(input, target))
    return inputs, {**attrs, "reduction": reduction}
