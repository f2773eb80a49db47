"""Losses of regions and of classes that are rare, as Cells."""

from __future__ import annotations

from .. import ops
from ..tensor import Tensor
from .activation import get_activation
from .cell import Cell
from .loss import LossBase, Reduction


class DiceLoss(LossBase):
    """One minus the Dice coefficient of prediction and label.

    Parameters
    ----------
    smooth : float
        Added to the divisor, above zero.
    logits : Tensor
        Predictions of any shape, in 0..1.
    label : Tensor
        What they should be, of the same shape.

    Raises
    ------
    ValueError
        If `smooth` is not above zero, or the shapes differ.

    References
    ----------
    Milletari, Navab and Ahmadi, V-Net, 2016.
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        if smooth <= 0:
            raise ValueError(f"DiceLoss: smooth must be above zero, it is {smooth}.")
        self.smooth = smooth

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        """Return the loss."""
        if tuple(logits.shape) != tuple(label.shape):
            raise ValueError(
                f"DiceLoss: logits {list(logits.shape)} and label {list(label.shape)} must have one"
                " shape."
            )
        shared = ops.sum(logits * label)
        both = ops.sum(logits * logits) + ops.sum(label * label)
        return 1.0 - 2.0 * shared / (both + self.smooth)

    def extend_repr(self) -> str:
        """The term in the divisor."""
        return f"smooth={self.smooth}"


class MultiClassDiceLoss(LossBase):
    """`DiceLoss` averaged over the classes.

    Parameters
    ----------
    weights : Tensor, optional
        ``[c]``, a factor of each class's loss.
    ignore_indiex : int, optional
        A class that counts nothing.
    activation : str or Cell, optional
        What makes predictions of the logits; None takes them as they are.
    logits : Tensor
        ``[n, c, ...]``.
    label : Tensor
        What they should be, of the same shape.

    References
    ----------
    Milletari, Navab and Ahmadi, V-Net, 2016.
    """

    def __init__(
        self,
        weights: Tensor | None = None,
        ignore_indiex: int | None = None,
        activation: str | Cell | None = "softmax",
    ) -> None:
        super().__init__()
        self.weights, self.ignore_indiex = weights, ignore_indiex
        if activation == "softmax":
            self.activation = get_activation("softmax")
            self.activation.axis = 1  # pyright: ignore[reportAttributeAccessIssue]
        else:
            self.activation = (
                get_activation(activation) if isinstance(activation, str) else activation
            )
        self.dice = DiceLoss()

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        """Return the loss."""
        shares = logits if self.activation is None else self.activation(logits)
        total = ops.sum(logits * 0.0)
        for number in range(label.shape[1]):
            if number != self.ignore_indiex:
                loss = self.dice(shares[:, number], label[:, number])
                total = total + (loss if self.weights is None else loss * self.weights[number])
        return total / label.shape[1]


class FocalLoss(LossBase):
    """The focal loss: a cross entropy in which classes that are surely right count less.

    Parameters
    ----------
    weight : Tensor, optional
        ``[c]``, a factor of each class's loss.
    gamma : float
        How much less: losses are scaled by ``(1 - probability)**gamma``.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the examples.
    logits : Tensor
        ``[n, c]`` or ``[n, c, ...]``, not normalised.
    labels : Tensor
        Class numbers ``[n, 1]`` or ``[n, 1, ...]``, or probabilities of the logits' shape.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    References
    ----------
    Lin et al., Focal Loss for Dense Object Detection, 2017.
    """

    def __init__(
        self, weight: Tensor | None = None, gamma: float = 2.0, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(reduction)
        self.weight, self.gamma = weight, gamma

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        classes = logits.shape[1]
        if len(labels.shape) != len(logits.shape) or labels.shape[1] not in (1, classes):
            raise ValueError(
                f"FocalLoss: labels {list(labels.shape)} must have the axes of logits"
                f" {list(logits.shape)}, with 1 or {classes} elements on axis 1."
            )
        places = (logits.shape[0], classes, -1)
        logs = ops.log_softmax(ops.reshape(logits, places), 1)
        share = ops.reshape(labels, (logits.shape[0], labels.shape[1], -1))
        numbered = labels.shape[1] == 1 and classes > 1
        if numbered:
            share = ops.one_hot(ops.cast(ops.squeeze(share, 1), "int32"), classes, axis=1)
        faded = ops.pow(1.0 - ops.exp(logs), self.gamma)
        losses = -(faded * ops.cast(share, logs.dtype) * logs)
        if self.weight is not None:
            losses = losses * ops.reshape(self.weight, (1, classes, 1))
        # Of class numbers one class counts at each place; of probabilities all do, on average.
        found = ops.mean(ops.sum(losses, 1), 1) if numbered else ops.mean(losses, (1, 2))
        return self.get_loss(found)

    def extend_repr(self) -> str:
        """The exponent and the reduction."""
        return f"gamma={self.gamma}, reduction={self.reduction}"
