"""Curves of hits against false alarms, and the area under them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .metric import Metric, array_of, rearrange_inputs, require_inputs


class ROC(Metric):
    """The receiver operating characteristic: hits against false alarms at each threshold.

    Parameters
    ----------
    class_num : int, optional
        The number of classes; None is two, with one score an example.
    pos_label : int, optional
        Which label is a hit where there are two classes, 1 by default.

    References
    ----------
    Fawcett, An introduction to ROC analysis, 2006.
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        if class_num is not None and class_num < 1:
            raise ValueError(f"ROC: class_num must be positive, it is {class_num}.")
        self.class_num = class_num
        self.pos_label = 1 if pos_label is None else int(pos_label)
        self.clear()

    def clear(self) -> None:
        """Forget what was learned."""
        self._scores: list[np.ndarray] = []
        self._labels: list[np.ndarray] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Learn of scores ``[N]`` or ``[N, C]`` and labels ``[N]``."""
        require_inputs(self, inputs, 2, "predictions, labels")
        scores, labels = (array_of(item) for item in inputs)
        if scores.ndim == 2 and scores.shape[1] == 1:
            scores = scores.reshape(-1)
        many = self.class_num is not None and self.class_num > 1
        if scores.ndim != (2 if many else 1) or len(scores) != labels.size:
            raise ValueError(
                f"ROC: predictions of shape {list(scores.shape)} do not fit labels of shape"
                f" {list(labels.shape)} and class_num {self.class_num}."
            )
        self._scores.append(scores)
        self._labels.append(labels.reshape(-1))

    def eval(self) -> tuple[Any, Any, Any]:
        """Return false alarms, hits and thresholds; lists of them, one a class, for several."""
        self.require(self._scores)
        scores, labels = np.concatenate(self._scores), np.concatenate(self._labels)
        if scores.ndim == 1:
            return _curve(scores, labels == self.pos_label)
        curves = [_curve(scores[:, k], labels == k) for k in range(scores.shape[1])]
        alarms, hits, thresholds = (list(part) for part in zip(*curves, strict=True))
        return alarms, hits, thresholds


def _curve(scores: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    order = np.argsort(-scores, kind="stable")
    scores, there = scores[order], there[order]
    ends = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)
    hits = np.cumsum(there)[ends].astype(np.float64)
    alarms = 1.0 + ends - hits
    thresholds = np.append(scores[ends[0]] + 1, scores[ends])
    return _shares(alarms), _shares(hits), thresholds


def _shares(counts: np.ndarray) -> np.ndarray:
    """Counts over the last one, from zero on; zeros where nothing is counted."""
    whole = counts[-1]
    return np.append(0.0, counts / whole if whole else np.zeros_like(counts))


def auc(x: Any, y: Any, reorder: bool = False) -> float:
    """Return the area under a curve, by trapezoids.

    Parameters
    ----------
    x, y : sequence of float, or lists of one array
        False alarms and hits, as ``ROC`` gives them.
    reorder : bool
        Whether the points are put in the order of `x` first.

    Returns
    -------
    float
        The area; of a falling `x` the same as of a rising one.

    Raises
    ------
    ValueError
        If lengths differ, there are fewer than two points, or `x` neither rises nor falls.
    """
    across, up = np.asarray(x, np.float64).reshape(-1), np.asarray(y, np.float64).reshape(-1)
    if across.shape != up.shape or len(across) < 2:
        raise ValueError(
            f"auc: {len(across)} and {len(up)} numbers must be equally many, 2 or more."
        )
    if reorder:
        order = np.lexsort((up, across))
        across, up = across[order], up[order]
    steps = np.diff(across)
    if (steps < 0).any() and (steps > 0).any():
        raise ValueError("auc: x must rise or fall throughout; give reorder=True to sort it.")
    area = float(np.trapezoid(up, across))
    return -area if (steps < 0).any() else area
