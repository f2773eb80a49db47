"""What lies behind the nodes: compile groups, frames and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from ...nodes.items import Frame, Note
from .. import theme
from ..session import messages as m
from .geometry import elide, text_width

GROUP_PAD, GROUP_HEADER = 20.0, 26.0
RADIUS = 12.0
FRAME_HEADER = 26.0


@dataclass(frozen=True)
class GroupLook:
    """A compile group: its name, its state, and one line about it."""

    name: str
    state: str
    line: str
    selected: bool = False


class GroupItem(QGraphicsRectItem):
    """The frame around a compile group; its rectangle follows its nodes."""

    def __init__(self, id: str, rect: QRectF, look: GroupLook) -> None:
        super().__init__(rect)
        self.id, self.look = id, look
        self.setPen(Qt.PenStyle.NoPen)
        self.setZValue(-3.0)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)

    @property
    def frame(self) -> QRectF:
        """The frame in the scene."""
        return self.rect().adjusted(2.0, 2.0, -2.0, -2.0)

    @property
    def handle(self) -> QRectF:
        """The header, by which the group is taken."""
        frame = self.frame
        return QRectF(frame.left(), frame.top(), frame.width(), GROUP_HEADER)

    def show_group(self, rect: QRectF, look: GroupLook) -> None:
        """Show another state."""
        if rect != self.rect():
            self.setRect(rect)
        if look != self.look:
            self.look = look
            self.update()

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        """Draw frame and header."""
        colors, look = theme.current(), self.look
        token = _TOKENS.get(look.state, "muted")
        frame, header = self.frame, self.handle
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colors.color(token, 0.10))
        painter.drawRoundedRect(frame, RADIUS, RADIUS)
        painter.setClipRect(header)
        painter.drawRoundedRect(frame, RADIUS, RADIUS)
        painter.setClipping(False)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        accent = colors.accent if look.selected else getattr(colors, token)
        painter.setPen(QPen(QColor(accent), 2.0 if look.selected else 1.4))
        painter.drawRoundedRect(frame, RADIUS, RADIUS)
        text = QColor(getattr(colors, f"{token}_text", colors.muted))
        painter.setPen(text)
        painter.setFont(theme.font(theme.BODY, 600))
        base = header.top() + 17.5
        painter.drawText(QPointF(header.left() + 14.0, base), f"⚡ {look.name}")
        used = text_width(f"⚡ {look.name}", theme.BODY, 600) + 30.0
        painter.setFont(theme.font(theme.SMALL))
        painter.setPen(QColor(colors.muted))
        line = elide(look.line, header.width() - used - 12.0, theme.SMALL)
        painter.drawText(QPointF(header.left() + used, base), line)


_TOKENS = {"compiled": "ok", "stale": "warn", "eager": "stop", "compiling": "warn"}


def group_rect(frames: Sequence[QRectF]) -> QRectF:
    """The rectangle around the cards of a group's nodes."""
    rect = QRectF()
    for frame in frames:
        rect = rect.united(frame)
    return rect.adjusted(-GROUP_PAD, -GROUP_PAD - GROUP_HEADER, GROUP_PAD, GROUP_PAD)


def group_line(news: m.GroupChanged | None, report: m.GroupReport | None) -> tuple[str, str]:
    """The state of a group, and the line that tells about it."""
    state = news.state if news is not None else "compiled" if report is not None else "new"
    if report is None and (state in ("new", "stale") or not (news and news.reason)):
        return ("compiling", "compiling…") if state == "compiling" else ("new", "not compiled yet")
    if state == "compiling":
        return state, "compiling…"
    if state == "stale":
        return state, f"stale · {news.reason}" if news and news.reason else "stale"
    if state == "eager" or report is None:
        reason = news.reason if news is not None else ""
        return "eager", f"runs eagerly · {reason}" if reason else "runs eagerly"
    return "compiled", report_line(report)


def report_line(report: m.GroupReport) -> str:
    """`compiled · 5 nodes → 2 kernels · 14 ms · 3.4× faster · parity 2e-7`."""
    steps = len(report.kernels) + len(report.host_steps)
    kernels = f"{steps} kernel{'s' if steps != 1 else ''}"
    parts = [
        "compiled",
        f"{len(report.nodes)} nodes → {kernels}",
        f"{report.compile_milliseconds:.0f} ms",
    ]
    if report.compiled_microseconds > 0:
        gain = report.eager_microseconds / report.compiled_microseconds
        parts.append(f"{gain:.1f}× faster" if gain >= 1.05 else "as fast as eager")
    parity = f"{report.parity:.0e}".replace("e-0", "e-") if report.parity else "0"
    parts.append(f"parity {parity}")
    return " · ".join(parts)


class _Placed(QGraphicsRectItem):
    """A rectangle that the document places."""

    depth = 0.0

    def __init__(self, item: Frame | Note) -> None:
        super().__init__()
        self.data_item, self.selected = item, False
        self.setPen(Qt.PenStyle.NoPen)
        self.setZValue(self.depth)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self._place()

    @property
    def frame(self) -> QRectF:
        """The rectangle in the scene."""
        return self.mapRectToScene(self.rect()).adjusted(2.0, 2.0, -2.0, -2.0)

    def show_item(self, item: Frame | Note, selected: bool) -> None:
        """Show another state, at the document's place also after a drag that came to nothing."""
        changed = item is not self.data_item or selected != self.selected
        self.data_item, self.selected = item, selected
        self._place()
        if changed:
            self.update()

    def show_size(self, width: float, height: float) -> None:
        """Show another size, while a corner is being pulled."""
        self.setRect(QRectF(0.0, 0.0, width, height).adjusted(-2.0, -2.0, 2.0, 2.0))

    def _place(self) -> None:
        x, y, width, height = self.data_item.rect
        self.show_size(width, height)
        self.setPos(x, y)


class FrameItem(_Placed):
    """A titled rectangle behind nodes."""

    data_item: Frame
    depth = -4.0

    @property
    def handle(self) -> QRectF:
        """The title's line, by which the frame is taken."""
        frame = self.frame
        return QRectF(frame.left(), frame.top(), frame.width(), FRAME_HEADER)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        """Draw the rectangle and its title."""
        colors = theme.current()
        rect = self.rect().adjusted(2.0, 2.0, -2.0, -2.0)
        painter.setBrush(colors.color("faint", 0.10))
        pen = QPen(QColor(colors.accent if self.selected else colors.outline))
        pen.setWidthF(2.0 if self.selected else 1.2)
        painter.setPen(pen)
        painter.drawRoundedRect(rect, RADIUS, RADIUS)
        painter.setFont(theme.font(theme.BODY, 600))
        painter.setPen(QColor(colors.muted))
        title = elide(self.data_item.title or "Frame", rect.width() - 28.0, theme.BODY, 600)
        painter.drawText(QPointF(rect.left() + 14.0, rect.top() + 18.0), title)


class NoteItem(_Placed):
    """A text note."""

    data_item: Note
    depth = -2.0

    @property
    def handle(self) -> QRectF:
        """A note is taken anywhere."""
        return self.frame

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        """Draw the text on its card, with a bar of the data's colour at the left."""
        colors = theme.current()
        rect = self.rect().adjusted(2.0, 2.0, -2.0, -2.0)
        painter.setBrush(QColor(colors.field))
        pen = QPen(QColor(colors.accent if self.selected else colors.line))
        pen.setWidthF(2.0 if self.selected else 1.0)
        painter.setPen(pen)
        painter.drawRoundedRect(rect, 6.0, 6.0)
        painter.setFont(theme.font(theme.BODY))
        text = self.data_item.text
        painter.setPen(QColor(colors.text if text else colors.muted))
        flags = Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
        inside = rect.adjusted(12.0, 10.0, -12.0, -10.0)
        painter.drawText(inside, int(flags), text or "Double-click to write a note")


BoxItem = GroupItem | FrameItem | NoteItem
