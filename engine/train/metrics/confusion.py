"""Which classes are taken for which, and the many shares that are computed of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .metric import Metric, array_of, rearrange_inputs, require_inputs

NORMALIZATIONS = ("no_norm", "target", "prediction", "all")


class ConfusionMatrix(Metric):
    """How many examples of each class were taken for each class.

    Parameters
    ----------
    num_classes : int
        The number of classes.
    normalize : {"no_norm", "target", "prediction", "all"}
        Whether rows, columns or the whole matrix are divided by their sums.
    threshold : float
        What scores of two classes, given as one number each, are compared with.

    Raises
    ------
    ValueError
        If `normalize` is not known.
    """

    def __init__(
        self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5
    ) -> None:
        super().__init__()
        if normalize not in NORMALIZATIONS:
            raise ValueError(
                f"ConfusionMatrix: normalize must be one of {', '.join(NORMALIZATIONS)}, not"
                f" {normalize!r}."
            )
        self.num_classes, self.normalize = int(num_classes), normalize
        self.threshold = float(threshold)
        self.clear()

    def clear(self) -> None:
        """Forget what was learned."""
        self._counts = np.zeros((self.num_classes, self.num_classes))
        self._known = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Learn of classes, shares of class 1, or scores ``[N, C]``, and of the true classes."""
        require_inputs(self, inputs, 2, "predictions, labels")
        said, there = (array_of(item) for item in inputs)
        if said.ndim == there.ndim + 1:
            said = said.argmax(1)
        elif said.dtype.kind == "f" and not np.array_equal(said, np.floor(said)):
            said = said > self.threshold
        if said.shape != there.shape:
            raise ValueError(
                f"ConfusionMatrix: predictions of shape {list(said.shape)} do not fit labels of"
                f" shape {list(there.shape)}."
            )
        for classes in (said, there):
            if classes.size and not 0 <= classes.min() <= classes.max() < self.num_classes:
                raise ValueError(
                    f"ConfusionMatrix: classes are 0..{self.num_classes - 1}, some are"
                    f" {classes.min():g}..{classes.max():g}."
                )
        np.add.at(self._counts, (there.astype(np.int64), said.astype(np.int64)), 1)
        self._known = True

    def eval(self) -> np.ndarray:
        """Return the matrix ``[C, C]``: true classes by row, what was said by column."""
        self.require(self._known)
        counts = self._counts
        sums: Any = {
            "no_norm": 1.0, "target": counts.sum(1, keepdims=True),
            "prediction": counts.sum(0, keepdims=True), "all": counts.sum(),
        }[self.normalize]  # fmt: skip
        return np.divide(counts, sums, out=np.zeros_like(counts), where=np.asarray(sums) != 0)


Counts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""True positives, false positives, true negatives, false negatives."""


def _share(one: Any, other: Any) -> np.ndarray:
    """One over the sum of both; NaN of nothing."""
    whole = np.asarray(one + other, np.float64)
    return np.divide(one, whole, out=np.full(whole.shape, np.nan), where=whole != 0)


def _youden(c: Counts) -> np.ndarray:
    return _share(c[0], c[3]) + _share(c[2], c[1]) - 1.0


def _prevalence_threshold(c: Counts) -> np.ndarray:
    hit, quiet = _share(c[0], c[3]), _share(c[2], c[1])
    return _over(np.sqrt(hit * (1.0 - quiet)) + quiet - 1.0, hit + quiet - 1.0)


def _matthews(c: Counts) -> np.ndarray:
    tp, fp, tn, fn = c
    return _over(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def _over(one: Any, other: Any) -> np.ndarray:
    other = np.asarray(other, np.float64)
    return np.divide(one, other, out=np.full(other.shape, np.nan), where=other != 0)


SHARES: dict[str, Callable[[Counts], np.ndarray]] = {
    "sensitivity": lambda c: _share(c[0], c[3]),
    "specificity": lambda c: _share(c[2], c[1]),
    "precision": lambda c: _share(c[0], c[1]),
    "negative predictive value": lambda c: _share(c[2], c[3]),
    "miss rate": lambda c: _share(c[3], c[0]),
    "fall out": lambda c: _share(c[1], c[2]),
    "false discovery rate": lambda c: _share(c[1], c[0]),
    "false omission rate": lambda c: _share(c[3], c[2]),
    "prevalence threshold": _prevalence_threshold,
    "threat score": lambda c: _share(c[0], c[3] + c[1]),
    "accuracy": lambda c: _share(c[0] + c[2], c[1] + c[3]),
    "balanced accuracy": lambda c: (_share(c[0], c[3]) + _share(c[2], c[1])) / 2.0,
    "f1 score": lambda c: _share(2.0 * c[0], c[3] + c[1]),
    "matthews correlation coefficient": _matthews,
    "fowlkes mallows index": lambda c: np.sqrt(_share(c[0], c[1]) * _share(c[0], c[3])),
    "informedness": _youden,
    "markedness": lambda c: _share(c[0], c[1]) + _share(c[2], c[3]) - 1.0,
}
"""Each as a function of the counts."""
SHORT = {
    "recall": "sensitivity", "hit rate": "sensitivity", "tpr": "sensitivity",
    "true positive rate": "sensitivity", "tnr": "specificity", "true negative rate": "specificity",
    "selectivity": "specificity", "ppv": "precision", "positive predictive value": "precision",
    "npv": "negative predictive value", "fnr": "miss rate", "false negative rate": "miss rate",
    "fpr": "fall out", "false positive rate": "fall out", "fdr": "false discovery rate",
    "for": "false omission rate", "pt": "prevalence threshold", "ts": "threat score",
    "critical success index": "threat score", "csi": "threat score", "acc": "accuracy",
    "ba": "balanced accuracy", "f1": "f1 score", "mcc": "matthews correlation coefficient",
    "fm": "fowlkes mallows index", "bm": "informedness", "mk": "markedness",
    "bookmaker informedness": "informedness", "deltap": "markedness",
}  # fmt: skip
DECREASES: dict[str, Callable[[np.ndarray], Any]] = {
    "none": lambda a: a,
    "mean": lambda a: np.nanmean(np.nanmean(a, 1)),
    "sum": np.nansum,
    "mean_batch": lambda a: np.nanmean(a, 0),
    "sum_batch": lambda a: np.nansum(a, 0),
    "mean_channel": lambda a: np.nanmean(a, 1),
    "sum_channel": lambda a: np.nansum(a, 1),
}


class ConfusionMatrixMetric(Metric):
    """One share of what was right and wrong, class by class.

    Parameters
    ----------
    skip_channel : bool
        Whether the first class, the background, does not count.
    metric_name : str
        Which share, as ``sensitivity``, ``specificity``, ``precision``, ``accuracy``,
        ``f1 score`` or ``matthews correlation coefficient``; usual short names are known too.
    calculation_method : bool
        Whether the share of each example is taken before they are averaged; else the counts of
        all are added up first.
    decrease : str
        What becomes of the shares ``[N, C]``: ``none``, ``mean``, ``sum``, ``mean_batch``,
        ``sum_batch``, ``mean_channel`` or ``sum_channel``.

    Raises
    ------
    ValueError
        If a name is not known.
    """

    def __init__(
        self,
        skip_channel: bool = True,
        metric_name: str = "sensitivity",
        calculation_method: bool = False,
        decrease: str = "mean",
    ) -> None:
        super().__init__()
        plain = metric_name.lower().replace("_", " ")
        self.metric_name = SHORT.get(plain, plain)
        if self.metric_name not in SHARES or decrease not in DECREASES:
            raise ValueError(
                f"ConfusionMatrixMetric: metric_name {metric_name!r} must be one of"
                f" {', '.join(SHARES)}, and decrease {decrease!r} one of {', '.join(DECREASES)}."
            )
        self.skip_channel, self.calculation_method = bool(skip_channel), bool(calculation_method)
        self.decrease = decrease
        self.clear()

    def clear(self) -> None:
        """Forget what was learned."""
        self._counts: list[np.ndarray] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Learn of predictions and the truth, both 0 or 1, ``[N, C, ...]``."""
        require_inputs(self, inputs, 2, "predictions, labels")
        said, there = (array_of(item) for item in inputs)
        if said.shape != there.shape or said.ndim < 2:
            raise ValueError(
                f"ConfusionMatrixMetric: predictions of shape {list(said.shape)} must have the"
                f" labels' shape {list(there.shape)}, [N, C, ...]."
            )
        if self.skip_channel and said.shape[1] > 1:
            said, there = said[:, 1:], there[:, 1:]
        said, there = (a.reshape(*a.shape[:2], -1) > 0 for a in (said, there))
        parts = [said & there, said & ~there, ~said & ~there, ~said & there]
        self._counts.append(np.stack([part.sum(-1) for part in parts], -1).astype(np.float64))

    def eval(self) -> Any:
        """Return the share, as `decrease` says; NaN where there was nothing."""
        self.require(self._counts)
        counts = np.concatenate(self._counts)
        if not self.calculation_method:
            counts = counts.sum(0, keepdims=True)
        tp, fp, tn, fn = np.moveaxis(counts, -1, 0)
        with np.errstate(invalid="ignore"):
            found = DECREASES[self.decrease](SHARES[self.metric_name]((tp, fp, tn, fn)))
        return float(found) if np.ndim(found) == 0 else found
