"""Losses of numbers as Cells: smooth differences, likelihoods, divergences."""

from __future__ import annotations

from typing import Literal

from .. import ops
from ..tensor import Tensor
from .loss import LossBase, Reduction


class RMSELoss(LossBase):
    """The root of the mean squared error.

    Parameters
    ----------
    logits : Tensor
        Predictions of any shape.
    labels : Tensor
        What they should be, of the same shape.
    """

    def __init__(self) -> None:
        super().__init__("mean")

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.sqrt(ops.mse_loss(logits, labels))


class SmoothL1Loss(LossBase):
    """Squares of small differences, absolute values of large ones.

    Parameters
    ----------
    beta : float
        Where the curve becomes a line.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    logits : Tensor
        Predictions of any shape.
    labels : Tensor
        What they should be, of the same shape.

    References
    ----------
    Girshick, Fast R-CNN, 2015.
    """

    def __init__(self, beta: float = 1.0, reduction: Reduction = "none") -> None:
        super().__init__(reduction)
        self.beta = beta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.smooth_l1_loss(logits, labels, self.beta, self.reduction)


class HuberLoss(LossBase):
    """Squares of small differences, absolute values of large ones, joined at `delta`.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    delta : float
        Where the curve becomes a line.
    logits : Tensor
        Predictions of any shape.
    labels : Tensor
        What they should be, of the same shape.

    References
    ----------
    Huber, Robust Estimation of a Location Parameter, 1964.
    """

    def __init__(self, reduction: Reduction = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.huber_loss(logits, labels, self.reduction, self.delta)


class BCELoss(LossBase):
    """The binary cross entropy of probabilities.

    Parameters
    ----------
    weight : Tensor, optional
        Factors of the elements; they broadcast.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    logits : Tensor
        Probabilities in 0..1, of any shape.
    labels : Tensor
        Probabilities of yes, of the same shape.
    """

    def __init__(self, weight: Tensor | None = None, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class KLDivLoss(LossBase):
    """The Kullback-Leibler divergence.

    Parameters
    ----------
    reduction : {"mean", "sum", "none", "batchmean"}
        What becomes of the losses of the elements; "batchmean" is their sum over the batch size.
    logits : Tensor
        Logarithms of probabilities.
    labels : Tensor
        Probabilities of the same shape.

    References
    ----------
    Kullback and Leibler, On Information and Sufficiency, 1951.
    """

    def __init__(self, reduction: Literal["mean", "sum", "none", "batchmean"] = "mean") -> None:
        super().__init__("sum" if reduction == "batchmean" else reduction)
        self.word = reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss."""
        return ops.kl_div(logits, labels, self.word)

    def extend_repr(self) -> str:
        """The reduction."""
        return f"reduction={self.word}"


class PoissonNLLLoss(LossBase):
    """The negative log likelihood of counts under Poisson distributions.

    Parameters
    ----------
    log_input : bool
        Whether the input holds logarithms of rates.
    full : bool
        Whether Stirling's approximation of ``log(target!)`` is added.
    eps : float
        Added to rates before their logarithm is taken.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    input : Tensor
        Rates, or their logarithms.
    target : Tensor
        Counts of the same shape.

    References
    ----------
    Cameron and Trivedi, Regression Analysis of Count Data, 1998.
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-08,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss."""
        return ops.poisson_nll_loss(
            input, target, self.log_input, self.full, self.eps, self.reduction
        )


class GaussianNLLLoss(LossBase):
    """The negative log likelihood of numbers under normal distributions.

    Parameters
    ----------
    full : bool
        Whether the constant ``log(2 pi) / 2`` is added.
    eps : float
        The least variance.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements.
    logits : Tensor
        Means.
    labels : Tensor
        Numbers seen, of the same shape.
    var : Tensor
        Variances: of the same shape, without the last axis, or with size 1 there.

    References
    ----------
    Nix and Weigend, Estimating the Mean and Variance of the Target Probability Distribution, 1994.
    """

    def __init__(
        self, *, full: bool = False, eps: float = 1e-06, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(reduction)
        self.full, self.eps = full, eps

    def construct(self, logits: Tensor, labels: Tensor, var: Tensor) -> Tensor:
        """Return the loss."""
        return ops.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)
