"""The answer to Inspect: a tensor in the form that was asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...engine.run.inspect import heat_map, histogram, image_grid, parse_slice, statistics, table
from .messages import HistoryPoint, Inspect, InspectionResult


def inspect(
    command: Inspect, array: np.ndarray, history: Sequence[HistoryPoint] = ()
) -> InspectionResult:
    """The array's statistics, and the one form that the command names.

    Raises
    ------
    ValueError
        The slice does not fit the array, or the array cannot be shown as images.
    """
    what, text = command.what, command.slice
    return InspectionResult(
        request=command.request,
        edge=command.edge,
        what=what,
        gradient=command.gradient,
        stats=statistics(array),
        histogram=histogram(_sliced(array, text)) if what == "histogram" else None,
        heat_map=heat_map(array, text) if what == "heat_map" else None,
        images=image_grid(_sliced(array, text)) if what == "images" else None,
        table=table(array, text, command.row, command.column) if what == "table" else None,
        history=tuple(history) if what == "history" else None,
    )


def _sliced(array: np.ndarray, text: str) -> np.ndarray:
    return np.asarray(array[parse_slice(text, array.shape)])
