"""The drawing from far away: nodes too small to read are drawn in a few batched calls."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from .. import theme
from .boxes import GroupItem
from .scene import CanvasScene

FAR = 0.5
"""Below this zoom no item paints itself."""
READABLE = 0.3
"""Below this zoom names are left out, and wires are straight lines."""


def paint(painter: QPainter, scene: CanvasScene, visible: QRectF, zoom: float) -> None:
    """Draw what is visible of the scene; the painter works in scene coordinates."""
    colors = theme.current()
    for item in scene.boxes.values():
        if item.frame.intersects(visible):
            token = "ok" if isinstance(item, GroupItem) else "faint"
            painter.setPen(QPen(colors.color(token), 1.0 / zoom))
            painter.setBrush(colors.color(token, 0.12))
            painter.drawRoundedRect(item.frame, 12.0, 12.0)
    _paint_wires(painter, scene, visible, zoom)
    _paint_nodes(painter, scene, visible, zoom)


def _paint_wires(painter: QPainter, scene: CanvasScene, visible: QRectF, zoom: float) -> None:
    colors = theme.current()
    bounds = scene.edge_bounds
    items = [scene.edges[bounds.keys[i]] for i in bounds.places_touching(visible)]
    painter.setBrush(Qt.BrushStyle.NoBrush)
    curved = zoom >= READABLE
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, curved)
    lines: dict[str, list[QLineF]] = defaultdict(list)
    for item in items:
        wire = item.wire
        token = "stop" if wire.paused or wire.failed else "ok" if wire.ran else "wire"
        token = "accent" if wire.selected else token
        if curved:
            painter.setPen(QPen(QColor(getattr(colors, token)), 1.8))
            painter.drawPath(item.route.path)
        else:
            path = item.route.path
            first, last = path.elementAt(0), path.elementAt(path.elementCount() - 1)
            lines[token].append(QLineF(first.x, first.y, last.x, last.y))
    for token, batch in lines.items():
        painter.setPen(QPen(QColor(getattr(colors, token)), 0))
        painter.drawLines(batch)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    dots = [item for item in items if item.wire.breakpoint or item.wire.gradient]
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colors.stop))
    for item in dots:
        painter.drawEllipse(item.mark_at(item.marks[0]), 4.0 / zoom, 4.0 / zoom)


def _paint_nodes(painter: QPainter, scene: CanvasScene, visible: QRectF, zoom: float) -> None:
    colors = theme.current()
    bounds = scene.node_bounds
    places: np.ndarray = bounds.places_touching(visible)
    items = [scene.nodes[bounds.keys[i]] for i in places]
    frames = [item.frame for item in items]
    painter.setPen(QPen(QColor(colors.outline), 0))
    painter.setBrush(QColor(colors.node))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.drawRects(frames)
    bars: dict[str, list[QRectF]] = defaultdict(list)
    for item, frame in zip(items, frames, strict=True):
        bar = QRectF(frame.left(), frame.top(), 12.0, frame.height())
        bars[item.look.category].append(bar)
    painter.setPen(Qt.PenStyle.NoPen)
    for category, batch in bars.items():
        painter.setBrush(colors.category(category))
        painter.drawRects(batch)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for item, frame in zip(items, frames, strict=True):
        look = item.look
        if look.selected or look.error or look.next:
            color = colors.accent if look.selected else colors.stop if look.error else colors.warn
            painter.setPen(QPen(QColor(color), 2.0 / zoom))
            painter.drawRect(frame)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    if zoom >= READABLE:
        painter.setFont(theme.font(22.0, 600))
        painter.setPen(QColor(colors.text))
        for item, frame in zip(items, frames, strict=True):
            painter.drawText(frame.adjusted(22.0, 0.0, -4.0, 0.0), _MIDDLE, item.node.name)


_MIDDLE = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
