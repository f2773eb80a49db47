"""The minimap: the whole drawing in a corner, kept as one picture; a drag in it moves the view."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from .. import theme
from .boxes import GroupItem
from .scene import CanvasScene

SIZE = QSize(150, 92)
PAD = 8.0
REDRAW_MS = 80


class Minimap(QWidget):
    """A picture of all nodes with the rectangle that the view shows."""

    def __init__(
        self,
        scene: CanvasScene,
        visible: Callable[[], QRectF],
        center_on: Callable[[QPointF], None],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setFixedSize(SIZE)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName("Minimap")
        self._scene, self._visible, self._center_on = scene, visible, center_on
        self._picture: QPixmap | None = None
        self._world = QRectF()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REDRAW_MS)
        self._timer.timeout.connect(self._drop_picture)
        state = scene.state
        for signal in (state.document_changed, state.document_replaced, state.group_changed):
            signal.connect(self._soon)
        theme.switch.changed.connect(self._drop_picture)

    def _soon(self, _: object) -> None:
        self._timer.start()

    def _drop_picture(self, _: object = None) -> None:
        self._picture = None
        self.update()

    def stop(self) -> None:
        """Stop the timer, and listen no more."""
        self._timer.stop()
        theme.switch.changed.disconnect(self._drop_picture)

    def _scale(self) -> tuple[float, QPointF]:
        """From the scene to the picture: a factor, and where the scene's corner is."""
        world = self._world
        room_x, room_y = SIZE.width() - 2 * PAD, SIZE.height() - 2 * PAD
        factor = min(room_x / max(1.0, world.width()), room_y / max(1.0, world.height()), 0.2)
        left = (SIZE.width() - world.width() * factor) / 2
        top = (SIZE.height() - world.height() * factor) / 2
        return factor, QPointF(left, top)

    def _to_picture(self, rect: QRectF) -> QRectF:
        factor, corner = self._scale()
        place = (rect.topLeft() - self._world.topLeft()) * factor + corner
        return QRectF(place, rect.size() * factor)

    def _draw_picture(self) -> QPixmap:
        colors = theme.current()
        self._world = self._scene.drawing_rect()
        ratio = self.devicePixelRatioF()
        picture = QPixmap(SIZE * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(colors.line), 1.0))
        painter.setBrush(colors.color("canvas", 0.92))
        painter.drawRoundedRect(QRectF(0.5, 0.5, SIZE.width() - 1, SIZE.height() - 1), 6, 6)
        painter.setPen(Qt.PenStyle.NoPen)
        for item in self._scene.boxes.values():
            token = "ok" if isinstance(item, GroupItem) else "faint"
            painter.setBrush(colors.color(token, 0.25))
            painter.drawRect(self._to_picture(item.frame))
        batches: dict[str, list[QRectF]] = {}
        for item in self._scene.nodes.values():
            rect = self._to_picture(item.frame)
            rect.setWidth(max(1.5, rect.width()))
            rect.setHeight(max(1.5, rect.height()))
            batches.setdefault(item.look.category, []).append(rect)
        for category, batch in batches.items():
            painter.setBrush(colors.category(category))
            painter.drawRects(batch)
        painter.end()
        return picture

    def paintEvent(self, event: QPaintEvent) -> None:
        """The kept picture, and the view's rectangle on it."""
        if self._picture is None:
            self._picture = self._draw_picture()
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture)
        if not self._world.isEmpty():
            inside = QRectF(self.rect()).adjusted(2.5, 2.5, -2.5, -2.5)
            view = self._to_picture(self._visible()).intersected(inside)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(theme.current().color("accent"), 1.0))
            painter.setBrush(theme.current().color("accent", 0.06))
            painter.drawRoundedRect(view, 2, 2)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Look there."""
        self._look(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Look along."""
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._look(event)

    def _look(self, event: QMouseEvent) -> None:
        factor, corner = self._scale()
        if factor > 0:
            self._center_on((event.position() - corner) / factor + self._world.topLeft())
        event.accept()
