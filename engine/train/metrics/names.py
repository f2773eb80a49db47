"""Metrics by their names, as ``Model(..., metrics={"accuracy"})`` takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .classes import (
    F1,
    Accuracy,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from .confusion import ConfusionMatrix, ConfusionMatrixMetric
from .curves import ROC, auc
from .errors import MAE, MSE, CosineSimilarity, Loss, Perplexity
from .metric import Metric
from .shapes import Dice, HausdorffDistance

FACTORY: dict[str, Callable[..., Any]] = {
    "accuracy": Accuracy,
    "acc": Accuracy,
    "precision": Precision,
    "recall": Recall,
    "F1": F1,
    "dice": Dice,
    "roc_curve": ROC,
    "auc": auc,
    "cosine_similarity": CosineSimilarity,
    "topk": TopKCategoricalAccuracy,
    "hausdorff_distance": HausdorffDistance,
    "top_1_accuracy": Top1CategoricalAccuracy,
    "top_5_accuracy": Top5CategoricalAccuracy,
    "mae": MAE,
    "mse": MSE,
    "loss": Loss,
    "perplexity": Perplexity,
    "confusion_matrix": ConfusionMatrix,
    "confusion_matrix_metric": ConfusionMatrixMetric,
}


def names() -> list[str]:
    """Return the names of all metrics.

    Returns
    -------
    list of str
        What ``get_metric_fn`` and ``Model(metrics=...)`` take.
    """
    return list(FACTORY)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Any:
    """Make a metric.

    Parameters
    ----------
    name : str
        One of ``names()``.
    *args, **kwargs
        What its class takes.

    Returns
    -------
    Metric
        The metric.

    Raises
    ------
    KeyError
        If there is no such metric.
    """
    if name not in FACTORY:
        raise KeyError(f"there is no metric {name!r}; there are {', '.join(FACTORY)}.")
    return FACTORY[name](*args, **kwargs)


def get_metrics(metrics: Any) -> dict[str, Metric]:
    """Return metrics by name, from a dict of them or a list or set of names.

    Raises
    ------
    TypeError
        If something is neither a Metric nor a name.
    """
    if metrics is None:
        return {}
    if isinstance(metrics, dict):
        for name, metric in metrics.items():
            if not isinstance(name, str) or not isinstance(metric, Metric):
                raise TypeError(f"metrics: {name!r} must be a name with a Metric, not {metric!r}.")
        return dict(metrics)
    if isinstance(metrics, set | list | tuple) and all(isinstance(n, str) for n in metrics):
        return {name: get_metric_fn(name) for name in metrics}
    raise TypeError(f"metrics must be a dict of Metrics or a set of names, not {metrics!r}.")
