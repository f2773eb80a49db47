"""Metrics of segmented pictures: how well two regions cover each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from .metric import Averaged, Metric, array_of, rearrange_inputs, require_inputs

DISTANCES = ("euclidean", "chessboard", "taxicab")


class Dice(Averaged):
    """Twice what two regions have in common over their sizes, averaged over batches.

    Parameters
    ----------
    smooth : float
        Added to the sizes, for empty regions.

    References
    ----------
    Dice, Measures of the Amount of Ecologic Association Between Species, 1945.
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        if smooth <= 0:
            raise ValueError(f"Dice: smooth must be positive, it is {smooth}.")
        self.smooth = float(smooth)

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Learn of predicted shares and the truth, of one shape."""
        require_inputs(self, inputs, 2, "predictions, labels")
        one, other = (array_of(item).astype(np.float64) for item in inputs)
        if one.shape != other.shape:
            raise ValueError(
                f"Dice: predictions of shape {list(one.shape)} do not fit labels of shape"
                f" {list(other.shape)}."
            )
        one, other = one.reshape(-1), other.reshape(-1)
        self._sum += 2.0 * float(one @ other) / float(one @ one + other @ other + self.smooth)
        self._count += 1


class HausdorffDistance(Metric):
    """The largest distance from the edge of one region to that of another.

    Parameters
    ----------
    distance_metric : {"euclidean", "chessboard", "taxicab"}
        How distances between elements are measured.
    percentile : float, optional
        Which percentile (0..100) of the distances is taken instead of the largest.
    directed : bool
        Whether only distances from the prediction to the truth count.
    crop : bool
        Taken for MindSpore's scripts; it changes no result.

    Raises
    ------
    ValueError
        If a setting is not known.

    References
    ----------
    Huttenlocher et al., Comparing Images Using the Hausdorff Distance, 1993.
    """

    def __init__(
        self,
        distance_metric: str = "euclidean",
        percentile: float | None = None,
        directed: bool = False,
        crop: bool = True,
    ) -> None:
        super().__init__()
        if distance_metric not in DISTANCES:
            raise ValueError(
                f"HausdorffDistance: distance_metric must be one of {', '.join(DISTANCES)}, not"
                f" {distance_metric!r}."
            )
        if percentile is not None and not 0 <= percentile <= 100:
            raise ValueError(f"HausdorffDistance: percentile must be in 0..100, not {percentile}.")
        self.distance_metric, self.percentile = distance_metric, percentile
        self.directed = bool(directed)
        self.clear()

    def clear(self) -> None:
        """Forget what was learned."""
        self._regions: tuple[np.ndarray, np.ndarray] | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Learn of predicted classes, true classes, and which class is compared."""
        require_inputs(self, inputs, 3, "predictions, labels, the class")
        one, other = (np.squeeze(array_of(item)) for item in inputs[:2])
        if one.shape != other.shape or not one.size:
            raise ValueError(
                f"HausdorffDistance: shapes {list(one.shape)} and {list(other.shape)} must be equal"
                " and not empty."
            )
        self._regions = one == inputs[2], other == inputs[2]

    def eval(self) -> float:
        """Return the distance; NaN or infinite where a region is empty."""
        self.require(self._regions is not None)
        assert self._regions is not None
        one, other = (_edge(region) for region in self._regions)
        found = self._reach(one, other)
        return found if self.directed else max(found, self._reach(other, one))

    def _reach(self, start: np.ndarray, target: np.ndarray) -> float:
        from scipy import ndimage

        if not start.any() or not target.any():
            return float("nan") if not start.any() else float("inf")
        if self.distance_metric == "euclidean":
            away = ndimage.distance_transform_edt(~target)
        else:
            away = ndimage.distance_transform_cdt(~target, metric=self.distance_metric)
        distances = np.asarray(away)[start]
        if self.percentile is None:
            return float(distances.max())
        return float(np.percentile(distances, self.percentile))


def _edge(region: np.ndarray) -> np.ndarray:
    """The elements of a region that have a neighbour outside of it."""
    from scipy import ndimage

    return region & ~ndimage.binary_erosion(region)
