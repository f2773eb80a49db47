"""Losses of sequences, as Cells."""

from __future__ import annotations

from .. import ops
from ..tensor import Tensor
from .loss import LossBase, Reduction


class CTCLoss(LossBase):
    """The connectionist temporal classification (CTC) loss of sequences of labels.

    Parameters
    ----------
    blank : int
        The class of the blank.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses; "mean" divides each by its number of labels first.
    zero_infinity : bool
        Whether losses of labels that do not fit into their sequence count as zero.
    log_probs : Tensor
        ``[t, n, c]`` logarithmic probabilities.
    targets : Tensor
        ``[n, s]`` integer labels, filled up at the end.
    input_lengths : Tensor
        ``[n]``, how many steps each sequence has.
    target_lengths : Tensor
        ``[n]``, how many labels each has.

    References
    ----------
    Graves et al., Connectionist Temporal Classification, 2006.
    """

    def __init__(
        self, blank: int = 0, reduction: Reduction = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def construct(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor
    ) -> Tensor:
        """Return the loss."""
        return ops.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
            self.zero_infinity,
        )[0]  # fmt: skip
