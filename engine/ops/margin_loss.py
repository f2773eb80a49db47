"""Losses that ask for a margin between what is right and what is wrong."""

from __future__ import annotations

from ..shape import Aval, ShapeError
from ..tensor import Tensor
from . import activation, arithmetic, distance, logic, math, reduce
from .cast import TensorLike, as_float_pair
from .declarations import composite
from .loss import check_reduction, reduced
from .registry import Call
from .rules import broadcast
from .weighted_sums import floats_together


def _expand_soft(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    return reduced(activation.softplus(math.neg(arithmetic.mul(target, input))), reduction)


@composite(_expand_soft, category="loss", inputs=("input", "target"), primitive="SoftMarginLoss")
def soft_margin_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> Call:
    """Return ``log(1 + exp(-target * input))`` for targets of -1 and 1.

    Parameters
    ----------
    input : Tensor
        Scores; integers are cast to float32.
    target : Tensor
        -1 or 1, of a shape that broadcasts.
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
    x, y = as_float_pair(input, target)
    broadcast("soft_margin_loss", input=x.aval, target=y.aval)
    return (x, y), {"reduction": check_reduction("soft_margin_loss", reduction)}


def _expand_ranking(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str
) -> Tensor:
    lead = arithmetic.mul(math.neg(target), arithmetic.sub(input1, input2))
    return reduced(activation.relu(arithmetic.add(lead, margin)), reduction)


@composite(_expand_ranking, category="loss", inputs=("input1", "input2", "target"))
def margin_ranking_loss(
    input1: TensorLike,
    input2: TensorLike,
    target: TensorLike,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Call:
    """Return ``max(0, -target * (input1 - input2) + margin)``.

    Parameters
    ----------
    input1, input2 : Tensor
        Scores that are compared; integers are cast to float32.
    target : Tensor
        1 where ``input1`` should be larger, -1 where ``input2`` should.
    margin : float
        By how much.
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
    a, b, y = floats_together(input1, input2, target)
    broadcast("margin_ranking_loss", input1=a.aval, input2=b.aval, target=y.aval)
    check_reduction("margin_ranking_loss", reduction)
    return (a, b, y), {"margin": float(margin), "reduction": reduction}


def _expand_hinge(inputs: Tensor, targets: Tensor, margin: float, reduction: str) -> Tensor:
    away = activation.relu(arithmetic.sub(margin, inputs))
    other = logic.select(logic.equal(targets, -1), away, 0.0)
    alike = logic.select(logic.equal(targets, 1), inputs, 0.0)
    return reduced(arithmetic.add(alike, other), reduction)


@composite(_expand_hinge, category="loss", inputs=("inputs", "targets"))
def hinge_embedding_loss(
    inputs: TensorLike, targets: TensorLike, margin: float = 1.0, reduction: str = "mean"
) -> Call:
    """Return distances of pairs labelled 1, and ``max(0, margin - distance)`` of those labelled -1.

    Parameters
    ----------
    inputs : Tensor
        Distances; integers are cast to float32.
    targets : Tensor
        1 for pairs that are alike, -1 for others, of a shape that broadcasts.
    margin : float
        How far others should be apart.
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
    x, y = as_float_pair(inputs, targets)
    broadcast("hinge_embedding_loss", inputs=x.aval, targets=y.aval)
    check_reduction("hinge_embedding_loss", reduction)
    return (x, y), {"margin": float(margin), "reduction": reduction}


_LENGTH_EPS = 1e-12


def _expand_cosine(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str
) -> Tensor:
    dot = reduce.sum(arithmetic.mul(input1, input2), -1)
    first = arithmetic.add(reduce.sum(math.square(input1), -1), _LENGTH_EPS)
    second = arithmetic.add(reduce.sum(math.square(input2), -1), _LENGTH_EPS)
    cosine = arithmetic.div(dot, math.sqrt(arithmetic.mul(first, second)))
    alike = arithmetic.sub(1.0, cosine)
    other = activation.relu(arithmetic.sub(cosine, margin))
    losses = logic.select(logic.equal(target, 1), alike, 0.0)
    return reduced(
        arithmetic.add(losses, logic.select(logic.equal(target, -1), other, 0.0)), reduction
    )


@composite(_expand_cosine, category="loss", inputs=("input1", "input2", "target"))
def cosine_embedding_loss(
    input1: TensorLike,
    input2: TensorLike,
    target: TensorLike,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Call:
    """Return ``1 - cos`` of pairs that are alike, ``max(0, cos - margin)`` of others.

    Parameters
    ----------
    input1, input2 : Tensor
        ``[n, d]`` or ``[d]``; integers are cast to float32.
    target : Tensor
        ``[n]`` or one number: 1 for pairs that are alike, -1 for others.
    margin : float
        Cosine up to which others cost nothing, in -1..1.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Tensor
        One number, or all losses.

    Raises
    ------
    ValueError
        If the shapes do not fit, ``margin`` is outside -1..1 or the reduction is another word.
    """
    if not -1 <= margin <= 1:
        raise ValueError(f"cosine_embedding_loss: margin must be in -1..1, it is {margin}.")
    check_reduction("cosine_embedding_loss", reduction)
    a, b, y = floats_together(input1, input2, target)
    shape = broadcast("cosine_embedding_loss", input1=a.aval, input2=b.aval)
    if not shape:
        raise ShapeError("cosine_embedding_loss: input1 and input2 need an axis of vectors.")
    rows = Aval(shape[:-1], a.dtype)
    broadcast("cosine_embedding_loss", rows=rows, target=y.aval)
    return (a, b, y), {"margin": float(margin), "reduction": reduction}


def _expand_triplet(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float,
    swap: bool, reduction: str,
) -> Tensor:  # fmt: skip
    near = distance.pairwise_distance(anchor, positive, p, eps)
    far = distance.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = arithmetic.minimum(far, distance.pairwise_distance(positive, negative, p, eps))
    gap = arithmetic.add(arithmetic.sub(near, far), margin)
    return reduced(activation.relu(gap), reduction)


@composite(_expand_triplet, category="loss", inputs=("anchor", "positive", "negative"))
def triplet_margin_loss(
    anchor: TensorLike,
    positive: TensorLike,
    negative: TensorLike,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: str = "mean",
) -> Call:
    """Return ``max(d(anchor, positive) - d(anchor, negative) + margin, 0)``.

    Parameters
    ----------
    anchor, positive, negative : Tensor
        ``[n, d]``; integers are cast to float32.
    margin : float
        By how much they should be closer.
    p : float
        Order of the distance.
    eps : float
        Added to each difference.
    swap : bool
        Whether the positive's distance from the negative counts if it is the smaller one.
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
    Balntas et al., Learning local feature descriptors with triplets, 2016.
    """
    a, b, c = floats_together(anchor, positive, negative)
    broadcast("triplet_margin_loss", anchor=a.aval, positive=b.aval, negative=c.aval)
    attrs = {"margin": float(margin), "p": float(p), "eps": float(eps), "swap": bool(swap)}
    return (a, b, c), {**attrs, "reduction": check_reduction("triplet_margin_loss", reduction)}
