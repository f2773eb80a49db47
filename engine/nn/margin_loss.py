"""Losses that ask for a margin, as Cells."""

from __future__ import annotations

from .. import ops
from ..tensor import Tensor
from .loss import LossBase, Reduction


class SoftMarginLoss(LossBase):
    """``log(1 + exp(-labels * logits))`` for labels of -1 and 1.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    logits : Tensor
        Scores of any shape.
    labels : Tensor
        -1 or 1, of the same shape.
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.soft_margin_loss(logits, labels, self.reduction)


class MarginRankingLoss(LossBase):
    """``max(0, -target * (x1 - x2) + margin)`` of pairs of scores.

    Parameters
    ----------
    margin : float
        By how much it should be larger.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    input1 : Tensor
        Scores.
    input2 : Tensor
        Scores of the same shape.
    target : Tensor
        1 where `input1` should be larger, -1 where `input2` should.
    """

    def __init__(self, margin: float = 0.0, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return ops.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class HingeEmbeddingLoss(LossBase):
    """Distances of pairs labelled 1, and ``max(0, margin - distance)`` of those labelled -1.

    Parameters
    ----------
    margin : float
        How far others should be apart.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    logits : Tensor
        Distances.
    labels : Tensor
        1 for pairs that are alike, -1 for others.
    """

    def __init__(self, margin: float = 1.0, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class CosineEmbeddingLoss(LossBase):
    """``1 - cos`` of pairs that are alike, ``max(0, cos - margin)`` of others.

    Parameters
    ----------
    margin : float
        Cosine up to which others cost nothing, in -1..1.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    logits_x1 : Tensor
        ``[n, d]`` or ``[d]``.
    logits_x2 : Tensor
        Vectors of the same shape.
    labels : Tensor
        ``[n]`` or one number: 1 for pairs that are alike, -1 for others.
    """

    def __init__(self, margin: float = 0.0, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits_x1: Tensor, logits_x2: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class TripletMarginLoss(LossBase):
    """``max(d(anchor, positive) - d(anchor, negative) + margin, 0)``.

    Parameters
    ----------
    p : float
        Order of the distance.
    swap : bool
        Whether the positive's distance from the negative counts if it is the smaller one.
    eps : float
        Added to each difference.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    margin : float
        By how much positives should be closer.
    x : Tensor
        Anchors ``[n, d]``.
    positive : Tensor
        Vectors of the same shape that belong to them.
    negative : Tensor
        Vectors of the same shape that do not.

    References
    ----------
    Balntas et al., Learning local feature descriptors with triplets, 2016.
    """

    def __init__(
        self,
        p: float = 2.0,
        swap: bool = False,
        eps: float = 1e-06,
        reduction: Reduction = "mean",
        margin: float = 1.0,
    ) -> None:
        super().__init__(reduction)
        self.p, self.swap, self.eps, self.margin = p, swap, eps, margin

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Return the loss."""
        return ops.triplet_margin_loss(
            x, positive, negative, self.margin, self.p, self.eps, self.swap, self.reduction
        )


class MultiMarginLoss(LossBase):
    """The hinge loss of classes: ``mean(max(0, margin - x[target] + x[i]) ** p)``.

    Parameters
    ----------
    p : {1, 2}
        Whether excesses count as they are (1) or squared (2).
    margin : float
        The margin.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    weight : Tensor, optional
        ``[c]``, a weight for each class.
    x : Tensor
        Scores ``[n, c]``.
    target : Tensor
        ``[n]`` class numbers.

    References
    ----------
    Crammer and Singer, Multiclass Kernel-based Vector Machines, 2001.
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        reduction: Reduction = "mean",
        weight: Tensor | None = None,
    ) -> None:
        super().__init__(reduction)
        self.p, self.margin, self.weight = p, margin, weight

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return ops.multi_margin_loss(x, target, self.p, self.margin, self.weight, self.reduction)


class MultilabelMarginLoss(LossBase):
    """How far classes without a label reach over those with one less a margin of one.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    x : Tensor
        Scores ``[n, c]`` or ``[c]``.
    target : Tensor
        Integers of the same shape: each row's labels, then -1.

    References
    ----------
    Crammer and Singer, Multiclass Kernel-based Vector Machines, 2001.
    """

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return ops.multilabel_margin_loss(x, target, self.reduction)


class MultiLabelSoftMarginLoss(LossBase):
    """The binary cross entropy of logits, averaged over the classes.

    Parameters
    ----------
    weight : Tensor, optional
        ``[c]``, a weight for each class.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    x : Tensor
        Logits ``[n, c]``.
    target : Tensor
        0 or 1 for each, of the same shape.
    """

    def __init__(self, weight: Tensor | None = None, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return ops.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)
