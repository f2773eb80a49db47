"""Metrics of classes: accuracy, precision, recall and their like."""

from __future__ import annotations

from typing import Any

import numpy as np

from .metric import Averaged, EvaluationBase, array_of, rearrange_inputs, require_inputs

TINY = float(np.finfo(np.float64).eps)
"""What keeps shares of nothing finite."""


class Accuracy(Averaged, EvaluationBase):
    """The share of examples whose largest score is their label's.

    Parameters
    ----------
    eval_type : {"classification", "multilabel"}
        Whether an example has one class or several, all of which must be right.
    """

    def __init__(self, eval_type: str = "classification") -> None:
        EvaluationBase.__init__(self, eval_type)
        self.clear()

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Learn of scores ``[N, C]`` and labels ``[N]`` or ``[N, C]``."""
        require_inputs(self, inputs, 2, "predictions, labels")
        scores, labels = self.classes_of(*inputs)
        if self._type == "classification":
            right = scores.argmax(1) == labels
        else:  # classes along axis 1, one example a position of the others
            right = (scores == labels).all(1)
        self._sum += int(right.sum())
        self._count += int(right.size)


class _Counted(EvaluationBase):
    """Counts, for each class, what was right, what was said and what there was."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        """Forget what was learned."""
        self._right: Any = 0
        self._said: Any = 0
        self._there: Any = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Learn of scores ``[N, C]`` and labels ``[N]`` or ``[N, C]``."""
        require_inputs(self, inputs, 2, "predictions, labels")
        scores, labels = self.classes_of(*inputs)
        count = scores.shape[1]
        if self._type == "classification":
            if labels.size and not 0 <= labels.min() <= labels.max() < count:
                raise ValueError(
                    f"{type(self).__name__}: labels are {labels.min()}..{labels.max()}, there are"
                    f" {count} classes from 0 on."
                )
            said = np.eye(count)[scores.argmax(1).reshape(-1)]
            there = np.eye(count)[labels.reshape(-1)]
        else:
            said, there = (np.moveaxis(a, 1, -1).reshape(-1, count) for a in (scores, labels))
        if not np.isscalar(self._there) and len(self._there) != count:
            raise ValueError(f"{type(self).__name__}: the number of classes changed to {count}.")
        self._right = self._right + (said * there).sum(0)
        self._said = self._said + said.sum(0)
        self._there = self._there + there.sum(0)

    def of_classes(self) -> np.ndarray:
        """The metric of each class."""
        raise NotImplementedError(f"{type(self).__name__} must define of_classes().")

    def eval(self, average: bool = False) -> Any:
        """Return the metric of each class, or the mean over classes."""
        self.require(not np.isscalar(self._there))
        found = self.of_classes()
        return float(found.mean()) if average else found


class Precision(_Counted):
    """Of what was said to be of a class, the share that is.

    Parameters
    ----------
    eval_type : {"classification", "multilabel"}
        Whether an example has one class or several.
    """

    def of_classes(self) -> np.ndarray:
        """The share of each class."""
        return self._right / (self._said + TINY)


class Recall(_Counted):
    """Of what is of a class, the share that was said to be.

    Parameters
    ----------
    eval_type : {"classification", "multilabel"}
        Whether an example has one class or several.
    """

    def of_classes(self) -> np.ndarray:
        """The share of each class."""
        return self._right / (self._there + TINY)


class Fbeta(_Counted):
    """The weighted harmonic mean of precision and recall.

    Parameters
    ----------
    beta : float
        How much recall counts against precision.

    Raises
    ------
    ValueError
        If it is not positive.

    References
    ----------
    van Rijsbergen, Information Retrieval, 1979.
    """

    def __init__(self, beta: float) -> None:
        if beta <= 0:
            raise ValueError(f"Fbeta: beta must be positive, it is {beta}.")
        self.beta = float(beta)
        super().__init__("classification")

    def of_classes(self) -> np.ndarray:
        """The weighted mean of each class."""
        square = self.beta**2
        return (1 + square) * self._right / (self._said + square * self._there + TINY)


class F1(Fbeta):
    """The harmonic mean of precision and recall."""

    def __init__(self) -> None:
        super().__init__(1.0)


class TopKCategoricalAccuracy(Averaged):
    """The share of examples whose label has one of the k largest scores.

    Parameters
    ----------
    k : int
        How many scores count.

    Raises
    ------
    TypeError
        If it is no int.
    ValueError
        If it is not positive.
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        if not isinstance(k, int) or isinstance(k, bool):
            raise TypeError(f"TopKCategoricalAccuracy: k must be an int, not {type(k).__name__}.")
        if k < 1:
            raise ValueError(f"TopKCategoricalAccuracy: k must be positive, it is {k}.")
        self.k = k

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Learn of scores ``[N, C]`` and labels ``[N]`` or ``[N, C]``."""
        require_inputs(self, inputs, 2, "predictions, labels")
        scores, labels = (array_of(item) for item in inputs)
        if labels.ndim == scores.ndim:
            labels = labels.argmax(1)
        if scores.ndim != 2 or scores.shape[0] != labels.shape[0]:
            raise ValueError(
                f"TopKCategoricalAccuracy: scores of shape {list(scores.shape)} do not fit labels"
                f" of shape {list(labels.shape)}."
            )
        # of equal scores the first counts as larger
        best = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
        self._sum += int((best == labels.reshape(-1, 1)).any(1).sum())
        self._count += len(scores)


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of examples whose label has the largest score."""

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of examples whose label has one of the five largest scores."""

    def __init__(self) -> None:
        super().__init__(5)
