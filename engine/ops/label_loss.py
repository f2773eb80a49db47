"""Losses of labels that ask for a margin between classes."""

from __future__ import annotations

import numpy as np

from ..dtype import int64
from ..shape import ShapeError, shape_text
from ..tensor import Tensor
from . import activation, arithmetic, array, creation, logic, math, reduce, smooth_activation
from .cast import TensorLike, as_float, as_float_pair, as_tensor, cast_to
from .declarations import composite
from .gathering import gather_elements
from .literals import constant
from .loss import check_reduction, reduced
from .registry import Call
from .rules import broadcast, require_int
from .triangles import known


def _require_rows(name: str, input: Tensor) -> None:
    if len(input.shape) not in (1, 2):
        raise ShapeError(
            f"{name}: input {shape_text(input.shape)} must have one axis [classes] or two"
            " [n, classes]."
        )


def _expand_multi(
    input: Tensor, target: Tensor, *weight: Tensor, p: int, margin: float, reduction: str
) -> Tensor:
    single = len(input.shape) == 1
    x = array.expand_dims(input, 0) if single else input
    labels = array.reshape(target, (-1, 1))
    count = known("multi_margin_loss", x.shape[1])
    right = gather_elements(x, 1, labels)
    gaps = activation.relu(arithmetic.add(arithmetic.sub(x, right), margin))
    gaps = math.square(gaps) if p == 2 else gaps
    numbers = creation.arange(0, count, 1, labels.dtype)
    hot = logic.equal(array.expand_dims(numbers, 0), labels)
    if weight:
        share = reduce.sum(logic.select(hot, weight[0], 0.0), 1, keepdims=True)
        gaps = arithmetic.mul(gaps, share)
    losses = arithmetic.mul(reduce.sum(logic.select(hot, 0.0, gaps), 1), 1.0 / count)
    return reduced(array.squeeze(losses, 0) if single else losses, reduction)


@composite(_expand_multi, category="loss", inputs=("input", "target", "weight"))
def multi_margin_loss(
    input: TensorLike,
    target: TensorLike,
    p: int = 1,
    margin: float = 1.0,
    weight: TensorLike | None = None,
    reduction: str = "mean",
) -> Call:
    """Return the hinge loss of classes: ``mean(max(0, margin - x[target] + x[i]) ** p)``.

    Parameters
    ----------
    input : Tensor
        Scores ``[n, classes]`` or ``[classes]``; integers are cast to float32.
    target : Tensor
        Integer labels ``[n]``, or one.
    p : {1, 2}
        Whether excesses count as they are or squared.
    margin : float
        The margin.
    weight : Tensor, optional
        ``[classes]``, the weight of each class.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Tensor
        One number, or one loss a label.

    Raises
    ------
    ValueError
        If the shapes do not fit, ``p`` is neither 1 nor 2, or the reduction is another word.

    References
    ----------
    Crammer and Singer, Multiclass Kernel-based Vector Machines, 2001.
    """
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p must be 1 or 2, it is {p}.")
    check_reduction("multi_margin_loss", reduction)
    x, labels = as_float(input), as_tensor(target)
    _require_rows("multi_margin_loss", x)
    require_int("multi_margin_loss", "target", labels.aval)
    if tuple(labels.shape) != tuple(x.shape[:-1]):
        raise ShapeError(
            f"multi_margin_loss: target {shape_text(labels.shape)} must hold one label for each row"
            f" of input {shape_text(x.shape)}."
        )
    extra = () if weight is None else (cast_to(as_float(weight), x.dtype),)
    attrs = {"p": int(p), "margin": float(margin), "reduction": reduction}
    return (x, labels, *extra), attrs


def _expand_multilabel(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    single = len(input.shape) == 1
    x = array.expand_dims(input, 0) if single else input
    labels = array.expand_dims(target, 0) if single else target
    count = known("multilabel_margin_loss", x.shape[1])
    # Labels count up to the first negative one.
    ends = cast_to(logic.less(labels, 0), int64)
    before = constant(np.tri(count, dtype=np.int64))
    valid = logic.equal(reduce.sum(arithmetic.mul(array.expand_dims(ends, 1), before), 2), 0)
    safe = logic.select(valid, labels, 0)
    numbers = array.reshape(creation.arange(0, count, 1, labels.dtype), (1, 1, count))
    named = logic.logical_and(
        logic.equal(array.expand_dims(safe, 2), numbers), array.expand_dims(valid, 2)
    )
    is_label = reduce.any(named, 1)
    scores = gather_elements(x, 1, safe)
    gaps = arithmetic.sub(array.expand_dims(x, 1), array.expand_dims(scores, 2))
    gaps = activation.relu(arithmetic.add(gaps, 1.0))
    counted = logic.logical_and(
        array.expand_dims(valid, 2), array.expand_dims(logic.logical_not(is_label), 1)
    )
    losses = reduce.sum(logic.select(counted, gaps, 0.0), (1, 2))
    losses = arithmetic.mul(losses, 1.0 / count)
    return reduced(array.squeeze(losses, 0) if single else losses, reduction)


@composite(
    _expand_multilabel, category="loss", inputs=("input", "target"),
    primitive="MultilabelMarginLoss",
)  # fmt: skip
def multilabel_margin_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> Call:
    """Return how far classes without a label reach over those with one less a margin of one.

    Parameters
    ----------
    input : Tensor
        Scores ``[n, classes]`` or ``[classes]``; integers are cast to float32.
    target : Tensor
        Integers of the same shape: each row's labels, then -1.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Tensor
        One number, or one loss a row.

    Raises
    ------
    ValueError
        If the shapes differ or the reduction is another word.

    References
    ----------
    Crammer and Singer, Multiclass Kernel-based Vector Machines, 2001.
    """
    x, labels = as_float(input), as_tensor(target)
    _require_rows("multilabel_margin_loss", x)
    require_int("multilabel_margin_loss", "target", labels.aval)
    if tuple(labels.shape) != tuple(x.shape):
        raise ShapeError(
            f"multilabel_margin_loss: target {shape_text(labels.shape)} must have the shape of"
            f" input {shape_text(x.shape)}."
        )
    return (x, labels), {"reduction": check_reduction("multilabel_margin_loss", reduction)}


def _expand_multilabel_soft(
    input: Tensor, target: Tensor, *weight: Tensor, reduction: str
) -> Tensor:
    yes = arithmetic.mul(target, smooth_activation.logsigmoid(input))
    no = arithmetic.mul(arithmetic.sub(1.0, target), smooth_activation.logsigmoid(math.neg(input)))
    losses = math.neg(arithmetic.add(yes, no))
    losses = arithmetic.mul(losses, weight[0]) if weight else losses
    return reduced(reduce.mean(losses, -1), reduction)


@composite(_expand_multilabel_soft, category="loss", inputs=("input", "target", "weight"))
def multilabel_soft_margin_loss(
    input: TensorLike,
    target: TensorLike,
    weight: TensorLike | None = None,
    reduction: str = "mean",
) -> Call:
    """Return the binary cross entropy of logits, averaged over the classes.

    Parameters
    ----------
    input : Tensor
        Logits ``[n, classes]``; integers are cast to float32.
    target : Tensor
        0 or 1 for each, of a shape that broadcasts.
    weight : Tensor, optional
        ``[classes]``, the weight of each class.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Tensor
        One number, or one loss a row.

    Raises
    ------
    ValueError
        If the shapes do not broadcast or the reduction is another word.
    """
    x, y = as_float_pair(input, target)
    broadcast("multilabel_soft_margin_loss", input=x.aval, target=y.aval)
    check_reduction("multilabel_soft_margin_loss", reduction)
    extra = () if weight is None else (cast_to(as_float(weight), x.dtype),)
    return (x, y, *extra), {"reduction": reduction}
