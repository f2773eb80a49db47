"""The sheet's grid of dots, coarser when far away."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPixmap, QTransform

from .. import theme
from .geometry import GRID

LEAST_ZOOM = 0.15
"""Farther away than this there are no dots."""
LEAST_PIXELS = 14.0
"""Dots never stand closer on the screen than this."""


def paint_grid(painter: QPainter, rect: QRectF, zoom: float) -> None:
    """The sheet, and dots every 20 units, or 40, 80, … when those would stand too close."""
    if zoom < LEAST_ZOOM:
        painter.fillRect(rect, QColor(theme.current().canvas))
        return
    step = float(GRID)
    while step * zoom < LEAST_PIXELS:
        step *= 2
    painter.fillRect(rect, _brush(step, zoom))


def _brush(step: float, zoom: float) -> QBrush:
    """A brush that tiles one dot a step, in whole pixels of the screen."""
    key = (theme.current().name, step, round(zoom, 4))
    if key not in _BRUSHES:
        _BRUSHES.clear()
        _BRUSHES[key] = _make_brush(step, zoom)
    return _BRUSHES[key]


_BRUSHES: dict[tuple[str, float, float], QBrush] = {}


def _make_brush(step: float, zoom: float) -> QBrush:
    pixels = max(1, math.ceil(step * zoom))
    tile = QPixmap(pixels, pixels)
    tile.fill(QColor(theme.current().canvas))
    painter = QPainter(tile)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.current().dots))
    painter.drawEllipse(QPointF(1.2, 1.2), 1.1, 1.1)
    painter.end()
    brush = QBrush(tile)
    brush.setTransform(QTransform.fromScale(step / pixels, step / pixels))
    return brush
