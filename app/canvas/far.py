"""The drawing from far away: nodes too small to read are drawn in a few batched calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from ...nodes.items import EdgeKey
from .. import theme
from .boxes import BoxItem, GroupItem
from .edge_item import EdgeItem
from .index import Bounds
from .node_item import NodeItem

FAR = 0.6
"""Below this zoom no item paints itself."""
READABLE, CURVED = 0.38, 0.3
"""Below these zooms names are left out, and wires are straight lines."""
BLOCKS = 0.12
"""Below this zoom a node is a block in its category's colour."""
_MIDDLE = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)


@dataclass
class FarPicture:
    """What the items show, as plain lists made once for all frames until something changes."""

    frames: list[QRectF] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    blocks: dict[str, list[QRectF]] = field(default_factory=lambda: defaultdict(list))
    bars: dict[str, list[QRectF]] = field(default_factory=lambda: defaultdict(list))
    bar_of: list[tuple[str, QRectF]] = field(default_factory=list)
    outlined: dict[str, list[QRectF]] = field(default_factory=lambda: defaultdict(list))
    lines: dict[str, list[QLineF]] = field(default_factory=lambda: defaultdict(list))
    paths: list[tuple[str, QPainterPath]] = field(default_factory=list)
    marks: list[QPointF] = field(default_factory=list)


def picture(nodes: Mapping[str, NodeItem], edges: Mapping[EdgeKey, EdgeItem]) -> FarPicture:
    """Gather what nodes and wires show from far away, in the order of the items."""
    made = FarPicture()
    for item in nodes.values():
        frame, look = item.frame, item.look
        bar = QRectF(frame.left(), frame.top(), 12.0, frame.height())
        made.frames.append(frame)
        made.names.append(item.node.name)
        made.bars[look.category].append(bar)
        made.blocks[look.category].append(frame)
        made.bar_of.append((look.category, bar))
        if look.selected or look.error or look.next:
            token = "accent" if look.selected else "stop" if look.error else "warn"
            made.outlined[token].append(frame)
    for item in edges.values():
        wire, path = item.wire, item.route.path
        token = "stop" if wire.paused or wire.failed else "ok" if wire.ran else "wire"
        token = "accent" if wire.selected else token
        first, last = path.elementAt(0), path.elementAt(path.elementCount() - 1)
        made.lines[token].append(QLineF(first.x, first.y, last.x, last.y))
        made.paths.append((token, path))
        if wire.breakpoint or wire.gradient:
            made.marks.append(item.mark_at(item.marks[0]))
    return made


def paint(
    painter: QPainter,
    made: FarPicture,
    node_bounds: Bounds[str],
    edge_bounds: Bounds[EdgeKey],
    visible: QRectF,
    zoom: float,
) -> None:
    """Draw nodes and wires; the painter works in scene coordinates."""
    if zoom < CURVED:
        _paint_lines(painter, made)
        if zoom < BLOCKS:
            _paint_blocks(painter, made)
        else:
            _paint_cards(painter, made.frames, made.bars)
    else:
        _paint_curves(painter, [made.paths[i] for i in edge_bounds.places_touching(visible)])
        places = node_bounds.places_touching(visible)
        bars: dict[str, list[QRectF]] = defaultdict(list)
        for category, bar in (made.bar_of[i] for i in places):
            bars[category].append(bar)
        _paint_cards(painter, [made.frames[i] for i in places], bars)
        if zoom >= READABLE:
            _paint_names(painter, [(made.frames[i], made.names[i]) for i in places])
    _paint_outlines(painter, made, zoom)


def paint_boxes(painter: QPainter, boxes: Mapping[str, BoxItem], zoom: float) -> None:
    """Draw groups, frames and notes as tinted rectangles."""
    colors = theme.current()
    for item in boxes.values():
        token = "ok" if isinstance(item, GroupItem) else "faint"
        painter.setPen(QPen(colors.color(token), 1.0 / zoom))
        painter.setBrush(colors.color(token, 0.12))
        painter.drawRoundedRect(item.frame, 12.0, 12.0)


def _paint_lines(painter: QPainter, made: FarPicture) -> None:
    colors = theme.current()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    for token, batch in made.lines.items():
        painter.setPen(QPen(QColor(getattr(colors, token)), 0))
        painter.drawLines(batch)


def _paint_curves(painter: QPainter, paths: list[tuple[str, QPainterPath]]) -> None:
    colors = theme.current()
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    current = ""
    for token, path in paths:
        if token != current:
            painter.setPen(QPen(QColor(getattr(colors, token)), 1.8))
            current = token
        painter.drawPath(path)


def _paint_blocks(painter: QPainter, made: FarPicture) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    for category, batch in made.blocks.items():
        painter.setBrush(theme.current().category(category))
        painter.drawRects(batch)


def _paint_cards(painter: QPainter, frames: list[QRectF], bars: dict[str, list[QRectF]]) -> None:
    colors = theme.current()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(QPen(QColor(colors.outline), 0))
    painter.setBrush(QColor(colors.node))
    painter.drawRects(frames)
    painter.setPen(Qt.PenStyle.NoPen)
    for category, batch in bars.items():
        painter.setBrush(colors.category(category))
        painter.drawRects(batch)


def _paint_names(painter: QPainter, named: list[tuple[QRectF, str]]) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setFont(theme.font(20.0, 600))
    painter.setPen(QColor(theme.current().text))
    for frame, name in named:
        painter.drawText(frame.adjusted(22.0, 0.0, -4.0, 0.0), _MIDDLE, name)


def _paint_outlines(painter: QPainter, made: FarPicture, zoom: float) -> None:
    colors = theme.current()
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    for token, frames in made.outlined.items():
        painter.setPen(QPen(QColor(getattr(colors, token)), 0))
        painter.drawRects(frames)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colors.stop))
    for at in made.marks:
        painter.drawEllipse(at, 4.0 / zoom, 4.0 / zoom)
