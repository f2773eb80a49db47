"""Wires on the canvas: each keeps its path, label and marks; one layer draws those in sight."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from ...nodes.items import Edge
from .. import theme
from ..theme import Theme
from .geometry import Route, text_width

PILL_HEIGHT, PILL_PAD = 18.0, 6.0
DOT = 6.5
HALO = 13.0
MARK_ROOM = 20.0
MARGIN = 16.0


@dataclass(frozen=True)
class Wire:
    """How a wire looks: its label, and what breakpoints, watches and the run say about it."""

    label: str = ""
    short: str = ""
    """What is written where the label does not fit."""
    ran: bool = False
    paused: bool = False
    failed: bool = False
    selected: bool = False
    breakpoint: str = ""
    """`on` or `off`, else none."""
    conditional: bool = False
    gradient: str = ""
    """As `breakpoint`, for the gradient that comes back over the wire."""
    watch: bool = False


class EdgeItem:
    """A wire of the document as it is drawn; the layer of wires draws it."""

    def __init__(self, edge: Edge, route: Route, wire: Wire) -> None:
        self.edge, self.route, self.wire = edge, route, wire
        self.hidden = False
        self.marks: list[str] = []
        """What stands on the wire beside its label, from left to right."""
        self.label, self.pill = "", QRectF()
        """What is written on the wire, and where; nothing where there is no room."""
        self.rect = QRectF()
        """What it covers of the scene."""
        self._fit()

    def show_route(self, route: Route) -> None:
        """Take another way."""
        self.route = route
        self._fit()

    def show_wire(self, wire: Wire) -> bool:
        """Look otherwise; True if something is different."""
        if wire == self.wire:
            return False
        self.wire = wire
        self._fit()
        return True

    def mark_at(self, mark: str) -> QPointF:
        """The middle of a mark's dot."""
        place = self.marks.index(mark) if mark in self.marks else 0
        half = (MARK_ROOM * len(self.marks) + self.pill.width()) / 2
        return self.route.middle + QPointF(MARK_ROOM * (place + 0.5) - half, 0.0)

    def _arrange(self) -> None:
        """Find the marks, and the label's rectangle: empty where there is no room for it."""
        wire, middle = self.wire, self.route.middle
        states = (("breakpoint", wire.breakpoint), ("gradient", wire.gradient))
        self.marks = [name for name, state in states if state]
        if wire.watch:
            self.marks.append("watch")
        marks = MARK_ROOM * len(self.marks)
        self.pill, self.label = QRectF(), ""
        for label in (wire.label, wire.short) if not wire.paused else ():
            width = _pill_width(label)
            if label and marks + width <= self.route.room + 2.0:
                right = middle.x() + (marks + width) / 2
                top = middle.y() - PILL_HEIGHT / 2
                self.pill, self.label = QRectF(right - width, top, width, PILL_HEIGHT), label
                return

    def _fit(self) -> None:
        self._arrange()
        rect = self.route.path.controlPointRect()
        middle, half = self.route.middle, (MARK_ROOM * len(self.marks) + self.pill.width()) / 2
        rect |= QRectF(middle.x() - half, middle.y() - 10.0, 2 * half, 20.0)
        self.rect = rect.adjusted(-MARGIN, -MARGIN, MARGIN, MARGIN)

    def paint_label(self, painter: QPainter, colors: Theme) -> None:
        """Draw what stands on the wire: halo, marks and label."""
        wire = self.wire
        if wire.paused:
            self._paint_halo(painter, colors)
        if self.marks:
            self._paint_marks(painter, colors)
        if not self.pill.isEmpty():
            _paint_pill(painter, colors, self.pill, self.label)

    def _paint_halo(self, painter: QPainter, colors: Theme) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colors.color("stop", 0.3))
        at = self.mark_at("breakpoint") if self.marks else self.route.middle
        painter.drawEllipse(at, HALO, HALO)
        if not self.marks:
            painter.setBrush(QColor(colors.stop))
            painter.drawEllipse(at, DOT, DOT)

    def _paint_marks(self, painter: QPainter, colors: Theme) -> None:
        wire = self.wire
        for mark in self.marks:
            at = self.mark_at(mark)
            if mark == "watch":
                _paint_eye(painter, colors, at)
                continue
            on = (wire.breakpoint if mark == "breakpoint" else wire.gradient) == "on"
            painter.setPen(QPen(QColor(colors.stop), 2.0))
            painter.setBrush(QColor(colors.stop if on else colors.canvas))
            painter.drawEllipse(at, DOT - 1.0, DOT - 1.0)
            ink = QColor(colors.canvas if on else colors.stop)
            if mark == "gradient":
                _paint_arrow(painter, ink, at)
            elif wire.conditional:
                painter.setPen(QPen(ink, 1.6))
                for dy in (-1.6, 1.6):
                    painter.drawLine(at + QPointF(-2.6, dy), at + QPointF(2.6, dy))


class WireLayer(QGraphicsRectItem):
    """One item for all wires: asked to paint, it draws those in the exposed rectangle."""

    def __init__(self, extent: QRectF, seen: Callable[[QRectF], Iterable[EdgeItem]]) -> None:
        super().__init__(extent)
        self._seen = seen
        self.setPen(Qt.PenStyle.NoPen)
        self.setZValue(-1.0)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self.setFlag(QGraphicsRectItem.GraphicsItemFlag.ItemUsesExtendedStyleOption)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        """Draw the lines, the important ones last, then what stands on them."""
        colors = theme.current()
        rect = option.exposedRect  # type: ignore[attr-defined]
        seen = sorted((e for e in self._seen(rect) if not e.hidden), key=_weight)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        last: QPen | None = None
        for item in seen:
            pen = _pen(colors, item.wire)
            if pen is not last:
                painter.setPen(pen)
                last = pen
            painter.drawPath(item.route.path)
        for item in seen:
            if item.marks or item.wire.paused or not item.pill.isEmpty():
                item.paint_label(painter, colors)


def _weight(item: EdgeItem) -> int:
    wire = item.wire
    return 3 if wire.paused else 2 if wire.selected else 1 if wire.ran else 0


def _pen(colors: Theme, wire: Wire) -> QPen:
    if wire.paused or wire.failed:
        return _pen_of(colors.stop, 2.6)
    if wire.selected:
        return _pen_of(colors.accent, 2.6)
    return _pen_of(colors.ok, 2.6) if wire.ran else _pen_of(colors.wire, 1.8)


@lru_cache(maxsize=64)
def _pen_of(color: str, width: float) -> QPen:
    return QPen(QColor(color), width)


def _pill_width(label: str) -> float:
    return text_width(label, theme.SMALL, mono=True) + 2 * PILL_PAD


def _paint_pill(painter: QPainter, colors: Theme, rect: QRectF, label: str) -> None:
    painter.setPen(_pen_of(colors.line, 1.0))
    painter.setBrush(QColor(colors.canvas))
    painter.drawRoundedRect(rect, PILL_HEIGHT / 2, PILL_HEIGHT / 2)
    painter.setFont(theme.font(theme.SMALL, mono=True))
    painter.setPen(_pen_of(colors.muted, 1.0))
    painter.drawText(QPointF(rect.left() + PILL_PAD, rect.center().y() + 4.0), label)


def _paint_eye(painter: QPainter, colors: Theme, at: QPointF) -> None:
    painter.setPen(QPen(QColor(colors.accent), 1.6))
    painter.setBrush(QColor(colors.canvas))
    painter.drawEllipse(at, 8.0, 5.0)
    painter.setBrush(QColor(colors.accent))
    painter.drawEllipse(at, 1.8, 1.8)


def _paint_arrow(painter: QPainter, ink: QColor, at: QPointF) -> None:
    painter.setPen(QPen(ink, 1.6))
    painter.drawLine(at + QPointF(-3.0, 0.0), at + QPointF(3.0, 0.0))
    painter.drawLine(at + QPointF(-3.0, 0.0), at + QPointF(-0.6, -2.2))
    painter.drawLine(at + QPointF(-3.0, 0.0), at + QPointF(-0.6, 2.2))
