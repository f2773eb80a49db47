"""Choosing boxes of detectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....engine.tensor import Tensor, wrap
from ..call import Call
from ..registry import operator


@operator("NonMaxSuppression", reads=(2, 3, 4))
def non_max_suppression(call: Call, boxes: Tensor, scores: Tensor, *_: Any) -> Tensor:
    """Return (batch, class, box) of the best boxes that overlap no better one too much."""
    limit = int(call.number(2, 0))
    overlap, least = float(call.number(3, 0.0)), call.number(4)
    centred = bool(call.attr("center_point_box", 0))
    found: list[tuple[int, int, int]] = []
    for batch, (rows, classes) in enumerate(zip(boxes.asnumpy(), scores.asnumpy(), strict=True)):
        corners = _corners(rows, centred)
        for number, marks in enumerate(classes):
            kept = _kept(corners, marks, limit, overlap, least)
            found += [(batch, number, box) for box in kept]
    return wrap(np.asarray(found, np.int64).reshape(-1, 3))


def _corners(rows: np.ndarray, centred: bool) -> np.ndarray:
    """Return boxes as low and high corners."""
    if centred:
        middle, half = rows[:, 1::-1], rows[:, 3:1:-1] / 2
        return np.concatenate((middle - half, middle + half), 1)
    first, second = rows[:, :2], rows[:, 2:]
    return np.concatenate((np.minimum(first, second), np.maximum(first, second)), 1)


def _kept(
    corners: np.ndarray, marks: np.ndarray, limit: int, overlap: float, least: Any
) -> list[int]:
    kept: list[int] = []
    for box in np.argsort(-marks, kind="stable"):
        if len(kept) >= limit or (least is not None and marks[box] <= least):
            break
        if all(_shared(corners[box], corners[other]) <= overlap for other in kept):
            kept.append(int(box))
    return kept


def _shared(a: np.ndarray, b: np.ndarray) -> float:
    """Return the area in both boxes over the area in either."""
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    both = float(np.prod(sides))
    either = float(np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2])) - both
    return both / either if either > 0 else 0.0
