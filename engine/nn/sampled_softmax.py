"""Softmax over the right class and some drawn ones, as a Cell."""

from __future__ import annotations

from collections.abc import Sequence

from .. import ops
from ..tensor import Tensor
from .loss import LossBase, Reduction

_NEVER = -1e37
"""A logit that softmax gives nothing, in float32 too."""


class SampledSoftmaxLoss(LossBase):
    """The cross entropy of the right classes among some drawn ones, for training alone.

    Parameters
    ----------
    num_sampled : int
        How many classes are drawn.
    num_classes : int
        Number of classes.
    num_true : int
        Right classes of each example.
    sampled_values : sequence of Tensor, optional
        Drawn classes, and how often each right and each drawn one is expected; by default they
        are drawn by `ops.log_uniform_candidate_sampler`.
    remove_accidental_hits : bool
        Whether drawn classes that are right do not count as wrong.
    seed : int
        A seed of its own; with 0 the current random stream is used.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the examples.
    weights : Tensor
        ``[num_classes, d]``.
    biases : Tensor
        ``[num_classes]``.
    labels : Tensor
        ``[n, num_true]`` class numbers.
    logits : Tensor
        ``[n, d]``, what goes into the last layer.

    References
    ----------
    Jean et al., On Using Very Large Target Vocabulary for Neural Machine Translation, 2015.
    """

    def __init__(
        self,
        num_sampled: int,
        num_classes: int,
        num_true: int = 1,
        sampled_values: Sequence[Tensor] | None = None,
        remove_accidental_hits: bool = True,
        seed: int = 0,
        reduction: Reduction = "none",
    ) -> None:
        super().__init__(reduction)
        self.num_sampled, self.num_classes, self.num_true = num_sampled, num_classes, num_true
        self.sampled_values = None if sampled_values is None else tuple(sampled_values)
        self.remove_accidental_hits, self.seed = remove_accidental_hits, seed

    def construct(self, weights: Tensor, biases: Tensor, labels: Tensor, logits: Tensor) -> Tensor:
        """Return the loss."""
        drawn, of_right, of_drawn = self.sampled_values or ops.log_uniform_candidate_sampler(
            labels, self.num_true, self.num_sampled, True, self.num_classes, self.seed
        )
        near = ops.sum(ops.gather(weights, labels) * ops.expand_dims(logits, 1), -1)
        right = near + ops.gather(biases, labels) - ops.log(of_right)
        others = ops.dense(logits, ops.gather(weights, drawn), ops.gather(biases, drawn))
        others = others - ops.log(of_drawn)
        if self.remove_accidental_hits:
            hits = ops.any(ops.equal(ops.expand_dims(labels, 2), drawn), 1)
            others = ops.select(hits, _NEVER, others)
        scores = ops.log_softmax(ops.concat((right, others), 1), 1)
        return self.get_loss(-ops.mean(scores[:, : self.num_true], 1))

    def extend_repr(self) -> str:
        """What is drawn of what."""
        return f"num_sampled={self.num_sampled}, num_classes={self.num_classes}"
