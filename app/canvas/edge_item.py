"""A wire on the canvas: one item with its path kept, its label, and its breakpoint's dot."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from ...nodes.items import Edge
from .. import theme
from ..theme import Theme
from .geometry import Route, text_width

PILL_HEIGHT, PILL_PAD = 18.0, 8.0
DOT = 6.5
HALO = 13.0
MARK_ROOM = 20.0
MARGIN = 16.0


@dataclass(frozen=True)
class Wire:
    """How a wire looks: its label, and what breakpoints, watches and the run say about it."""

    label: str = ""
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


class EdgeItem(QGraphicsRectItem):
    """Draws a wire of the document; its rectangle is native and holds the path and its marks."""

    def __init__(self, edge: Edge, route: Route, wire: Wire) -> None:
        super().__init__()
        self.edge, self.route, self.wire = edge, route, wire
        self.setPen(Qt.PenStyle.NoPen)
        self.setZValue(-1.0)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self._fit()

    def show_route(self, route: Route) -> None:
        """Take another way."""
        self.route = route
        self._fit()
        self.update()

    def show_wire(self, wire: Wire) -> None:
        """Look otherwise; draws again only if something is different."""
        if wire != self.wire:
            self.wire = wire
            self.setZValue(-0.5 if wire.paused or wire.selected else -1.0)
            self._fit()
            self.update()

    @property
    def marks(self) -> list[str]:
        """What stands on the wire beside its label, from left to right."""
        wire = self.wire
        found = [("breakpoint", wire.breakpoint), ("gradient", wire.gradient)]
        marks = [name for name, state in found if state]
        return [*marks, "watch"] if wire.watch else marks

    @property
    def label_fits(self) -> bool:
        """Whether there is room for the label on the wire."""
        if not self.wire.label or self.wire.paused:
            return False
        return self._cluster_width(True) <= self.route.room + 2.0

    def pill(self) -> QRectF:
        """The label's rectangle; empty when it does not fit."""
        if not self.label_fits:
            return QRectF()
        width = _pill_width(self.wire.label)
        left = self.route.middle.x() + self._cluster_width(True) / 2 - width
        return QRectF(left, self.route.middle.y() - PILL_HEIGHT / 2, width, PILL_HEIGHT)

    def mark_at(self, mark: str) -> QPointF:
        """The middle of a mark's dot."""
        place = self.marks.index(mark) if mark in self.marks else 0
        left = self.route.middle.x() - self._cluster_width(self.label_fits) / 2
        return QPointF(left + MARK_ROOM * (place + 0.5), self.route.middle.y())

    def _cluster_width(self, with_label: bool) -> float:
        label = _pill_width(self.wire.label) if with_label else 0.0
        return MARK_ROOM * len(self.marks) + label

    def _fit(self) -> None:
        rect = self.route.path.controlPointRect()
        middle, half = self.route.middle, self._cluster_width(bool(self.wire.label)) / 2
        rect |= QRectF(middle.x() - half, middle.y() - 10.0, 2 * half, 20.0)
        rect.adjust(-MARGIN, -MARGIN, MARGIN, MARGIN)
        if rect != self.rect():
            self.setRect(rect)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        """Draw the wire."""
        colors, wire = theme.current(), self.wire
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(_pen(colors, wire))
        painter.drawPath(self.route.path)
        if wire.paused:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colors.color("stop", 0.3))
            at = self.mark_at("breakpoint") if self.marks else self.route.middle
            painter.drawEllipse(at, HALO, HALO)
            if not self.marks:
                painter.setBrush(QColor(colors.stop))
                painter.drawEllipse(at, DOT, DOT)
        if self.marks:
            self._paint_marks(painter, colors)
        if self.label_fits:
            _paint_pill(painter, colors, self.pill(), wire.label)

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


def _pen(colors: Theme, wire: Wire) -> QPen:
    if wire.paused or wire.failed:
        color, width = colors.stop, 2.6
    elif wire.ran:
        color, width = colors.ok, 2.6
    else:
        color, width = colors.wire, 1.8
    if wire.selected:
        color, width = (colors.accent if not wire.paused else color), max(width, 2.6)
    pen = QPen(QColor(color), width)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    return pen


def _pill_width(label: str) -> float:
    return text_width(label, theme.SMALL, mono=True) + 2 * PILL_PAD


def _paint_pill(painter: QPainter, colors: Theme, rect: QRectF, label: str) -> None:
    painter.setPen(QPen(QColor(colors.line), 1.0))
    painter.setBrush(QColor(colors.canvas))
    painter.drawRoundedRect(rect, PILL_HEIGHT / 2, PILL_HEIGHT / 2)
    painter.setFont(theme.font(theme.SMALL, mono=True))
    painter.setPen(QColor(colors.muted))
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
