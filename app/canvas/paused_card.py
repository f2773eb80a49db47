"""The card under a wire at which the run is paused: before what, which hit, and why."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from .. import theme
from ..session import messages as m
from .geometry import text_width

PAD, HEIGHT = 12.0, 46.0


class PausedCard(QGraphicsRectItem):
    """Two lines in a card with a red outline, above everything."""

    def __init__(self, title: str, why: str) -> None:
        self.title, self.why = title, why
        width = max(
            text_width(title, theme.SMALL, 600), text_width(why, theme.SMALL, mono=True), 120.0
        )
        super().__init__(QRectF(-width / 2 - PAD, 0.0, width + 2 * PAD, HEIGHT))
        self.setPen(Qt.PenStyle.NoPen)
        self.setZValue(5.0)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        """Draw the card."""
        colors, rect = theme.current(), self.rect().adjusted(1.0, 1.0, -1.0, -1.0)
        painter.setPen(QPen(QColor(colors.stop), 1.2))
        painter.setBrush(QColor(colors.panel))
        painter.drawRoundedRect(rect, 7.0, 7.0)
        painter.setPen(QColor(colors.text))
        painter.setFont(theme.font(theme.SMALL, 600))
        painter.drawText(QPointF(rect.left() + PAD, rect.top() + 18.0), self.title)
        painter.setPen(QColor(colors.muted))
        painter.setFont(theme.font(theme.SMALL, mono=True))
        painter.drawText(QPointF(rect.left() + PAD, rect.top() + 35.0), self.why)


def words(paused: m.Paused, name: str) -> tuple[str, str]:
    """The two lines: `Paused before relu2 · hit 3` and `absmax 214.7 > 100`."""
    where = "at the gradient of" if paused.direction == "gradient" else "before"
    title = f"Paused {where} {name}"
    if paused.reason == "breakpoint" and paused.hit:
        title += f" · hit {paused.hit}"
    return title, why(paused)


def why(paused: m.Paused) -> str:
    """The condition with the value that met it, or how the run came to stop."""
    if paused.condition:
        first, _, rest = paused.condition.partition(" ")
        value = getattr(paused.stats, first, None) if paused.stats is not None else None
        if rest and isinstance(value, int | float):
            return f"{first} {value:.4g} {rest}"
        return paused.condition
    return {"breakpoint": "always", "step": "stepped", "user": "paused by you"}.get(
        paused.reason, "reached"
    )
