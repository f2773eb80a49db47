"""Where nodes and wires are, as arrays: what is in a rectangle, in one vectorised comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np
from PySide6.QtCore import QPointF, QRectF

K = TypeVar("K")


class Bounds(Generic[K]):
    """Rectangles by key."""

    def __init__(self, keys: Sequence[K] = (), rects: Iterable[QRectF] = ()) -> None:
        self.keys = list(keys)
        flat = [(r.left(), r.top(), r.right(), r.bottom()) for r in rects]
        self.sides = np.array(flat, dtype=np.float64).reshape(-1, 4)

    def touching(self, rect: QRectF) -> list[K]:
        """The keys whose rectangles touch this one."""
        return [self.keys[i] for i in self.places_touching(rect)]

    def places_touching(self, rect: QRectF) -> np.ndarray:
        """The places, in the order of the keys, whose rectangles touch this one."""
        left, top, right, bottom = self.sides.T
        hits = (left <= rect.right()) & (right >= rect.left())
        hits &= (top <= rect.bottom()) & (bottom >= rect.top())
        return np.flatnonzero(hits)

    def inside(self, rect: QRectF) -> list[K]:
        """The keys whose rectangles lie wholly in this one."""
        left, top, right, bottom = self.sides.T
        hits = (left >= rect.left()) & (right <= rect.right())
        hits &= (top >= rect.top()) & (bottom <= rect.bottom())
        return [self.keys[i] for i in np.flatnonzero(hits)]

    def at(self, point: QPointF, reach: float = 0.0) -> list[K]:
        """The keys whose rectangles come within `reach` of a point."""
        return self.touching(QRectF(point, point).adjusted(-reach, -reach, reach, reach))

    def united(self) -> QRectF:
        """The rectangle around all."""
        if not self.keys:
            return QRectF()
        left, top = self.sides[:, :2].min(axis=0)
        right, bottom = self.sides[:, 2:].max(axis=0)
        return QRectF(QPointF(left, top), QPointF(right, bottom))
