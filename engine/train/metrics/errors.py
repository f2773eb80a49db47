"""Metrics of numbers: losses, errors, perplexity, likeness."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .metric import Averaged, Metric, array_of, rearrange_inputs, require_inputs

SMALLEST_SHARE = 1e-10
"""The least probability that perplexity takes the logarithm of."""


class Loss(Averaged):
    """The mean of the losses of all batches."""

    def update(self, *inputs: Any) -> None:
        """Learn of one loss, a scalar.

        Raises
        ------
        ValueError
            If it has more than one element.
        """
        require_inputs(self, inputs, 1, "the loss")
        loss = array_of(inputs[0])
        if loss.size != 1:
            raise ValueError(f"Loss: the loss must be one number, its shape is {list(loss.shape)}.")
        self._sum += float(loss.reshape(()))
        self._count += 1


class _Deviation(Averaged):
    """The sum of an error over examples, divided by their number."""

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Learn of predictions and what they should be, of one shape."""
        require_inputs(self, inputs, 2, "predictions, labels")
        predicted, wanted = (array_of(item).astype(np.float64) for item in inputs)
        if predicted.size != wanted.size:
            raise ValueError(
                f"{type(self).__name__}: predictions of shape {list(predicted.shape)} do not fit"
                f" labels of shape {list(wanted.shape)}."
            )
        self._sum += float(self.errors(predicted - wanted.reshape(predicted.shape)).sum())
        self._count += predicted.shape[0] if predicted.ndim else 1

    @staticmethod
    def errors(difference: np.ndarray) -> np.ndarray:
        """The error of each element."""
        raise NotImplementedError("an error metric defines errors(difference).")


class MAE(_Deviation):
    """The absolute difference, summed over each example, on average."""

    errors = staticmethod(np.abs)  # pyright: ignore[reportAssignmentType]


class MSE(_Deviation):
    """The squared difference, summed over each example, on average."""

    errors = staticmethod(np.square)  # pyright: ignore[reportAssignmentType]


class Perplexity(Averaged):
    """How many classes a prediction hesitates between, on average.

    Parameters
    ----------
    ignore_label : int, optional
        A label whose examples do not count.

    References
    ----------
    Jelinek et al., Perplexity: a measure of the difficulty of speech recognition tasks, 1977.
    """

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        if ignore_label is not None and not isinstance(ignore_label, int):
            raise TypeError(f"Perplexity: ignore_label must be an int, not {ignore_label!r}.")
        self.ignore_label = ignore_label

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Learn of probabilities ``[..., C]`` and labels ``[...]``."""
        require_inputs(self, inputs, 2, "probabilities, labels")
        shares, labels = array_of(inputs[0]), array_of(inputs[1]).reshape(-1).astype(np.int64)
        rows = shares.reshape(-1, shares.shape[-1])
        if len(rows) != len(labels):
            raise ValueError(
                f"Perplexity: probabilities of shape {list(shares.shape)} do not fit"
                f" {len(labels)} labels."
            )
        taken = rows[np.arange(len(rows)), labels].astype(np.float64)
        if self.ignore_label is not None:
            taken = taken[labels != self.ignore_label]
        self._sum -= float(np.log(np.maximum(taken, SMALLEST_SHARE)).sum())
        self._count += len(taken)

    def eval(self) -> float:
        """Return the perplexity."""
        return math.exp(super().eval())


class CosineSimilarity(Metric):
    """The cosines of the angles between the rows of a matrix.

    Parameters
    ----------
    similarity : {"cosine", "dot"}
        Whether rows are taken at length one.
    reduction : {"none", "sum", "mean"}
        What becomes of each row of the result.
    zero_diagonal : bool
        Whether a row's product with itself is taken as zero.

    Raises
    ------
    ValueError
        If a word is not known.
    """

    def __init__(
        self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True
    ) -> None:
        super().__init__()
        if similarity not in ("cosine", "dot") or reduction not in ("none", "sum", "mean"):
            raise ValueError(
                "CosineSimilarity: similarity must be 'cosine' or 'dot' and reduction 'none',"
                f" 'sum' or 'mean', not {similarity!r} and {reduction!r}."
            )
        self.similarity, self.reduction = similarity, reduction
        self.zero_diagonal = bool(zero_diagonal)
        self.clear()

    def clear(self) -> None:
        """Forget what was learned."""
        self._matrix: np.ndarray | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Learn of a matrix ``[N, C]``."""
        require_inputs(self, inputs, 1, "a matrix")
        rows = array_of(inputs[0]).astype(np.float64)
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        products = rows @ rows.T
        if self.zero_diagonal:
            np.fill_diagonal(products, 0)
        self._matrix = products

    def eval(self) -> np.ndarray:
        """Return the products ``[N, N]``, or each row's sum or mean."""
        self.require(self._matrix is not None)
        assert self._matrix is not None
        if self.reduction == "none":
            return self._matrix
        return self._matrix.mean(-1) if self.reduction == "mean" else self._matrix.sum(-1)
