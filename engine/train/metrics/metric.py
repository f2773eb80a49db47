"""What a metric is: cleared, told of batches, asked for its value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import numpy as np

from ...tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


class Metric:
    """The base of metrics; a subclass defines ``clear``, ``update`` and ``eval``."""

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """Which of the inputs of ``update`` are taken, and in which order; None: all."""
        return self._indexes

    def set_indexes(self, indexes: Sequence[int]) -> Self:
        """Choose which of the inputs of ``update`` are taken.

        Raises
        ------
        ValueError
            If they are no list of integers.
        """
        if not isinstance(indexes, list | tuple) or not all(isinstance(i, int) for i in indexes):
            raise ValueError(f"set_indexes takes a list of ints, not {indexes!r}.")
        self._indexes = list(indexes)
        return self

    def clear(self) -> None:
        """Forget what was learned."""
        raise NotImplementedError(f"{type(self).__name__} must define clear().")

    def update(self, *inputs: Any) -> None:
        """Learn of one batch."""
        raise NotImplementedError(f"{type(self).__name__} must define update(...).")

    def eval(self) -> Any:
        """Return the metric over all batches since it was cleared."""
        raise NotImplementedError(f"{type(self).__name__} must define eval().")

    def __call__(self, *inputs: Any) -> Any:
        """Return the metric of one batch alone."""
        self.clear()
        self.update(*inputs)
        return self.eval()

    def require(self, known: object) -> None:
        """Raise RuntimeError unless something was learned."""
        if not known:
            raise RuntimeError(
                f"{type(self).__name__}: there is nothing to evaluate; call update first."
            )


class Averaged(Metric):
    """The base of metrics that are a sum over their number; ``update`` adds to both."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Forget what was learned."""
        self._sum, self._count = 0.0, 0

    def eval(self) -> float:
        """Return the mean."""
        self.require(self._count)
        return self._sum / self._count


def rearrange_inputs(function: F) -> F:
    """Make an ``update`` take those of its inputs that ``set_indexes`` chose.

    Parameters
    ----------
    function : callable
        The ``update`` of a metric.

    Returns
    -------
    callable
        The same, of the chosen inputs.
    """

    @functools.wraps(function)
    def chosen(self: Metric, *inputs: Any) -> Any:
        indexes = self.indexes
        if indexes is None or len(inputs) < 2:
            return function(self, *inputs)
        return function(self, *[inputs[index] for index in indexes])

    return chosen  # pyright: ignore[reportReturnType]


class EvaluationBase(Metric):
    """The base of metrics of classes.

    Parameters
    ----------
    eval_type : {"classification", "multilabel"}
        Whether an example has one class or several.

    Raises
    ------
    TypeError
        If it is something else.
    """

    def __init__(self, eval_type: str) -> None:
        super().__init__()
        if eval_type not in ("classification", "multilabel"):
            raise TypeError(
                f"{type(self).__name__}: eval_type must be 'classification' or 'multilabel', not"
                f" {eval_type!r}."
            )
        self._type = eval_type

    def classes_of(self, predicted: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
        """The scores and the labels of a batch, checked, as arrays.

        Raises
        ------
        ValueError
            If the shapes do not fit each other.
        """
        scores, target = array_of(predicted), array_of(labels)
        if self._type == "multilabel":
            if scores.shape != target.shape:
                self._refuse(scores, target)
            for array in (scores, target):
                if not np.isin(array, (0, 1)).all():
                    raise ValueError(
                        f"{type(self).__name__}: with eval_type 'multilabel' both are 0 or 1."
                    )
            return scores, target
        if scores.ndim == target.ndim and scores.shape == target.shape:
            target = target.argmax(1)
        if scores.ndim != target.ndim + 1 or scores.shape[:1] != target.shape[:1]:
            self._refuse(scores, target)
        return scores, target.astype(np.int64)

    def _refuse(self, scores: np.ndarray, target: np.ndarray) -> None:
        raise ValueError(
            f"{type(self).__name__}: predictions of shape {list(scores.shape)} do not fit labels of"
            f" shape {list(target.shape)}; with eval_type {self._type!r} they are [N, C] and [N] or"
            " [N, C]."
        )


def array_of(value: Any) -> np.ndarray:
    """Return a tensor, array or list as an array.

    Raises
    ------
    TypeError
        If it is something else.
    """
    if isinstance(value, Tensor):
        return value.asnumpy()
    if isinstance(value, np.ndarray | list | tuple | float | int | np.generic):
        return np.asarray(value)
    raise TypeError(f"a metric takes tensors, arrays and lists, not {type(value).__name__}.")


def require_inputs(metric: Metric, inputs: Sequence[Any], count: int, names: str) -> None:
    """Raise ValueError unless `update` was given as many inputs as it takes."""
    if len(inputs) != count:
        raise ValueError(
            f"{type(metric).__name__}.update takes {count} inputs ({names}), {len(inputs)} were"
            " given."
        )
