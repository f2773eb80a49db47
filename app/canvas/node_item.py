"""A node on the canvas: one item that paints its card, its words and its ports."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from ...nodes.items import NodeItem as NodeData
from .. import theme
from ..theme import Theme
from .geometry import PORT_RADIUS, Card, elide, text_width

MARGIN = 8.0
RADIUS = 9.0
ERROR_HEIGHT = 22.0
LEAST_ERROR_WIDTH = 220.0


@dataclass(frozen=True)
class Look:
    """What a node shows besides its name: its category, words, error, and what a run told."""

    category: str
    summary: str
    card: Card
    error: str = ""
    note: str = ""
    """Top right: its time, `fused`, `next`."""
    selected: bool = False
    next: bool = False


class NodeItem(QGraphicsRectItem):
    """Draws a node of the document; the rectangle is native, so nothing here is asked for it."""

    def __init__(self, node: NodeData, look: Look) -> None:
        super().__init__()
        self.node, self.look = node, look
        self.setPen(Qt.PenStyle.NoPen)
        self.setPos(*node.position)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self._fit()

    @property
    def frame(self) -> QRectF:
        """The card's rectangle in the scene."""
        return self.look.card.rect.translated(self.pos())

    @property
    def covered(self) -> QRectF:
        """What wires go around: the card, with the sentence of an error below it."""
        return self.frame.adjusted(0.0, 0.0, 0.0, ERROR_HEIGHT if self.look.error else 0.0)

    def input_at(self, port: str) -> QPointF:
        """Where an input is in the scene; one that the card does not have is at its corner."""
        return self.pos() + self.look.card.inputs.get(port, QPointF(0.0, self.look.card.height))

    def output_at(self, port: str) -> QPointF:
        """Where an output is in the scene; one that the card does not have is at its corner."""
        card = self.look.card
        return self.pos() + card.outputs.get(port, QPointF(card.width, card.height))

    def show_node(self, node: NodeData, look: Look) -> None:
        """Show another state of the node; draws again only if something is different."""
        if node.position != (self.x(), self.y()):
            self.setPos(*node.position)
        changed = look != self.look or node.name != self.node.name
        self.node = node
        if changed:
            self.look = look
            self._fit()
            self.update()

    def _fit(self) -> None:
        card, error = self.look.card, self.look.error
        rect = card.rect.adjusted(-MARGIN, -MARGIN, MARGIN, MARGIN)
        if error:
            extra = max(0.0, LEAST_ERROR_WIDTH - card.width)
            rect.adjust(0.0, 0.0, extra, ERROR_HEIGHT)
        if rect != self.rect():
            self.setRect(rect)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        """Draw the card."""
        colors, look = theme.current(), self.look
        _paint_card(painter, colors, look)
        _paint_words(painter, colors, look, self.node.name)
        _paint_ports(painter, colors, look)
        if look.error:
            _paint_error(painter, colors, look)


def _paint_card(painter: QPainter, colors: Theme, look: Look) -> None:
    rect = look.card.rect
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colors.shadow))
    painter.drawRoundedRect(rect.translated(0.0, 2.0), RADIUS, RADIUS)
    painter.setBrush(QColor(colors.node))
    outline, width = colors.outline, 1.0
    if look.error:
        outline, width = colors.stop, 1.5
    elif look.next:
        outline, width = colors.warn, 1.5
    if look.selected and not look.error:
        outline, width = colors.accent, 2.0
    painter.setPen(QPen(QColor(outline), width))
    painter.drawRoundedRect(rect, RADIUS, RADIUS)
    if look.selected and look.error:
        painter.setPen(QPen(QColor(colors.accent), 2.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(rect.adjusted(-3.0, -3.0, 3.0, 3.0), RADIUS + 3.0, RADIUS + 3.0)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colors.category(look.category))
    painter.drawRoundedRect(QRectF(10.0, 11.0, 4.0, 14.0), 2.0, 2.0)


def _paint_words(painter: QPainter, colors: Theme, look: Look, name: str) -> None:
    card = look.card
    right = card.width - 12.0
    if look.note:
        painter.setFont(theme.font(theme.SMALL, mono=True))
        painter.setPen(QColor(colors.warn_text if look.next else colors.muted))
        width = text_width(look.note, theme.SMALL, mono=True)
        painter.drawText(QPointF(right - width, 22.0), look.note)
        right -= width + 8.0
    painter.setFont(theme.font(theme.TITLE, 600))
    painter.setPen(QColor(colors.text))
    painter.drawText(QPointF(20.0, 22.5), elide(name, right - 20.0, theme.TITLE, 600))
    painter.setFont(theme.font(theme.SMALL))
    painter.setPen(QColor(colors.muted))
    room = card.width - 32.0
    painter.drawText(QPointF(20.0, 39.0), elide(look.summary, room, theme.SMALL))
    for names, ports in ((card.name_inputs, card.inputs), (card.name_outputs, card.outputs)):
        if not names:
            continue
        for port, at in ports.items():
            x = 11.0
            if ports is card.outputs:
                x = card.width - 11.0 - text_width(port, theme.SMALL)
            painter.drawText(QPointF(x, at.y() + 4.0), port)


def _paint_ports(painter: QPainter, colors: Theme, look: Look) -> None:
    color = colors.category(look.category)
    radius = PORT_RADIUS - 1.0
    painter.setPen(QPen(color, 2.0))
    painter.setBrush(QColor(colors.canvas))
    for at in look.card.inputs.values():
        painter.drawEllipse(at, radius, radius)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    for at in look.card.outputs.values():
        painter.drawEllipse(at, PORT_RADIUS - 0.5, PORT_RADIUS - 0.5)


def _paint_error(painter: QPainter, colors: Theme, look: Look) -> None:
    room = max(look.card.width, LEAST_ERROR_WIDTH)
    painter.setFont(theme.font(theme.SMALL))
    painter.setPen(QColor(colors.stop_text))
    painter.drawText(
        QPointF(4.0, look.card.height + 19.0), elide(look.error, room - 8.0, theme.SMALL)
    )
