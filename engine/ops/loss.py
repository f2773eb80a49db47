"""Losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..shape import Aval
from ..tensor import Tensor
from . import activation, arithmetic, math, reduce
from .cast import TensorLike, as_float, as_float_pair, cast_to
from .expansion import expanded
from .registry import Call, Composite, op
from .rules import broadcast, require_float, require_same_dtype

REDUCTIONS = ("none", "mean", "sum")


def check_reduction(name: str, reduction: str) -> str:
    """Return the word, or raise ValueError."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{name}: reduction must be 'none', 'mean' or 'sum', it is {reduction!r}.")
    return reduction


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Return losses as they are, their mean or their sum."""
    if reduction == "none":
        return losses
    return reduce.mean(losses) if reduction == "mean" else reduce.sum(losses)


def _pair_rule(name: str) -> Any:
    def infer(input: Aval, target: Aval, reduction: str) -> Aval:
        require_float(name, "input", input)
        dtype = require_same_dtype(name, input=input, target=target)
        shape = broadcast(name, input=input, target=target)
        return Aval(shape if reduction == "none" else (), dtype)

    return infer


# ---- differences -----------------------------------------------------------------------------


def _expand_mse(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    return reduced(math.square(arithmetic.sub(input, target)), reduction)


def _mse_kernel(input: np.ndarray, target: np.ndarray, reduction: str) -> np.ndarray:
    squares = np.square(input - target)
    return squares if reduction == "none" else getattr(squares, reduction)()


@op(
    infer=_pair_rule("mse_loss"),
    kernel=_mse_kernel,
    lowering=Composite(_expand_mse),
    category="loss",
    inputs=("input", "target"),
    primitive="MSELoss",
)
def mse_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> Call:
    """Return the squared difference of each pair of elements.

    Parameters
    ----------
    input, target : Tensor
        Shapes that broadcast; integers are cast to float32.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Tensor
        One number, or all differences.

    Raises
    ------
    ValueError
        If the shapes do not broadcast or the reduction is another word.
    """
    return as_float_pair(input, target), {"reduction": check_reduction("mse_loss", reduction)}


def _expand_l1(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    return reduced(math.abs(arithmetic.sub(input, target)), reduction)


def _l1_kernel(input: np.ndarray, target: np.ndarray, reduction: str) -> np.ndarray:
    sizes = np.abs(input - target)
    return sizes if reduction == "none" else getattr(sizes, reduction)()


@op(
    infer=_pair_rule("l1_loss"),
    kernel=_l1_kernel,
    lowering=Composite(_expand_l1),
    category="loss",
    inputs=("input", "target"),
    primitive="L1Loss",
)
def l1_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> Call:
    """Return the absolute difference of each pair of elements.

    Parameters
    ----------
    input, target : Tensor
        Shapes that broadcast; integers are cast to float32.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Tensor
        One number, or all differences.

    Raises
    ------
    ValueError
        If the shapes do not broadcast or the reduction is another word.
    """
    return as_float_pair(input, target), {"reduction": check_reduction("l1_loss", reduction)}


# ---- binary cross entropy --------------------------------------------------------------------


def _bce_rule(logits: Aval, label: Aval, *weights: Aval, reduction: str) -> Aval:
    base = _pair_rule("binary_cross_entropy_with_logits")(logits, label, reduction)
    if reduction != "none":
        return base
    named = {f"weight{number}": aval for number, aval in enumerate(weights)}
    shape = broadcast("binary_cross_entropy_with_logits", logits=logits, label=label, **named)
    return Aval(shape, base.dtype)


def _expand_bce(logits: Tensor, label: Tensor, *weights: Tensor, reduction: str) -> Tensor:
    # softplus(-x) = -log sigmoid(x); with it loss = (1 - y) x + (1 + (p - 1) y) softplus(-x).
    soft = activation.softplus(math.neg(logits))
    if len(weights) == 2:
        scale = arithmetic.add(arithmetic.mul(arithmetic.sub(weights[1], 1.0), label), 1.0)
        soft = arithmetic.mul(scale, soft)
    losses = arithmetic.add(arithmetic.mul(arithmetic.sub(1.0, label), logits), soft)
    if weights:
        losses = arithmetic.mul(losses, weights[0])
    return reduced(losses, reduction)


@op(
    infer=_bce_rule,
    kernel=expanded(_expand_bce),
    lowering=Composite(_expand_bce),
    category="loss",
    inputs=("logits", "label", "weight", "pos_weight"),
    primitive="BCEWithLogitsLoss",
)
def binary_cross_entropy_with_logits(
    logits: TensorLike,
    label: TensorLike,
    weight: TensorLike | None = None,
    pos_weight: TensorLike | None = None,
    reduction: str = "mean",
) -> Call:
    """Return the binary cross entropy of logits.

    Parameters
    ----------
    logits : Tensor
        Any shape; ``sigmoid`` of them are the probabilities.
    label : Tensor
        Probabilities of yes, of a shape that broadcasts.
    weight : Tensor, optional
        Factor of each loss.
    pos_weight : Tensor, optional
        Factor of the losses of yes.
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
    """
    check_reduction("binary_cross_entropy_with_logits", reduction)
    x, y = as_float_pair(logits, label)
    extra: list[Tensor] = []
    if weight is not None or pos_weight is not None:
        extra.append(cast_to(as_float(1.0 if weight is None else weight), x.dtype))
    if pos_weight is not None:
        extra.append(cast_to(as_float(pos_weight), x.dtype))
    return (x, y, *extra), {"reduction": reduction}
