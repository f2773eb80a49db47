"""Losses as Cells: scalars to be made small."""

from __future__ import annotations

from typing import Literal

from .. import ops
from ..tensor import Tensor
from .cell import Cell

Reduction = Literal["mean", "sum", "none"]


class LossBase(Cell):
    """What all losses share.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        Whether the losses of all elements are averaged, summed, or left as they are.

    Raises
    ------
    ValueError
        If `reduction` is something else.
    """

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(
                f"{type(self).__name__}: reduction must be 'mean', 'sum' or 'none', it is"
                f" {reduction!r}."
            )
        self.reduction: Reduction = reduction

    def get_axis(self, x: Tensor) -> tuple[int, ...]:
        """Return all axes of a tensor, to reduce over."""
        return tuple(range(len(x.shape)))

    def get_loss(self, x: Tensor, weights: Tensor | float = 1.0) -> Tensor:
        """Return the losses of elements, weighed and reduced as `reduction` says.

        Parameters
        ----------
        x : Tensor
            The losses.
        weights : Tensor or float
            Factors of a shape that broadcasts.

        Returns
        -------
        Tensor
            One number, or all losses.
        """
        weighed = x if isinstance(weights, float | int) and weights == 1 else x * weights
        if self.reduction == "none":
            return weighed
        return ops.mean(weighed) if self.reduction == "mean" else ops.sum(weighed)

    def extend_repr(self) -> str:
        """The reduction."""
        return f"reduction={self.reduction}"


class L1Loss(LossBase):
    """The absolute difference.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    logits : Tensor
        Predictions of any shape.
    labels : Tensor
        What they should be, of the same shape.
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.l1_loss(logits, labels, self.reduction)


class MAELoss(LossBase):
    """The mean absolute error.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    logits : Tensor
        Predictions of any shape.
    labels : Tensor
        What they should be, of the same shape.
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.l1_loss(logits, labels, self.reduction)


class MSELoss(LossBase):
    """The mean squared error.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    logits : Tensor
        Predictions of any shape.
    labels : Tensor
        What they should be, of the same shape.
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.mse_loss(logits, labels, self.reduction)


class CrossEntropyLoss(LossBase):
    """The negative logarithm of the probability that softmax gives to the right class.

    Parameters
    ----------
    weight : Tensor, optional
        ``[c]``, a weight for each class.
    ignore_index : int
        A label that counts for nothing.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the examples.
    label_smoothing : float
        Share of the label that is spread over all classes, in 0..1.
    logits : Tensor
        ``[n, c]`` or ``[n, c, ...]``, not normalised.
    labels : Tensor
        ``[n]`` class numbers, or probabilities of the logits' shape.

    References
    ----------
    Szegedy et al., Rethinking the Inception Architecture, 2015 (label smoothing).
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index
        self.label_smoothing = label_smoothing

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.cross_entropy(
            logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class NLLLoss(LossBase):
    """The negative of the right class's logarithmic probability.

    Parameters
    ----------
    weight : Tensor, optional
        ``[c]``, a weight for each class.
    ignore_index : int
        A label that counts for nothing.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the examples.
    logits : Tensor
        ``[n, c]`` logarithmic probabilities.
    labels : Tensor
        ``[n]`` class numbers.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """The binary cross entropy of logits.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    weight, pos_weight : Tensor, optional
        Weights of the elements, and of the yes labels; they broadcast.
    logits : Tensor
        Any shape.
    labels : Tensor
        Probabilities in 0..1, of the same shape.
    """

    def __init__(
        self,
        reduction: Reduction = "mean",
        weight: Tensor | None = None,
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.binary_cross_entropy_with_logits(
            logits, labels, self.weight, self.pos_weight, self.reduction
        )


class SoftmaxCrossEntropyWithLogits(LossBase):
    """The cross entropy of each example, by default not averaged.

    Parameters
    ----------
    sparse : bool
        Whether labels are class numbers rather than probabilities.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the examples.
    logits : Tensor
        ``[n, c]``, not normalised.
    labels : Tensor
        ``[n]`` class numbers if `sparse`, else ``[n, c]`` probabilities.
    """

    def __init__(self, sparse: bool = False, reduction: Reduction = "none") -> None:
        super().__init__(reduction)
        self.sparse = bool(sparse)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        if self.sparse == (len(labels.shape) == len(logits.shape)):
            wanted = "class numbers [n]" if self.sparse else "probabilities [n, c]"
            raise ValueError(
                f"SoftmaxCrossEntropyWithLogits: sparse={self.sparse} takes {wanted}, labels have"
                f" shape {list(labels.shape)}."
            )
        return ops.cross_entropy(logits, labels, reduction=self.reduction)
