"""The sheet: looks at the scene; zooms, pans, fits, and draws far views in batches."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPixmapCache, QResizeEvent, QTransform, QWheelEvent
from PySide6.QtWidgets import QGraphicsView

from ...nodes.items import View as SavedView
from .. import theme
from ..state import EditorState
from . import far
from .background import paint_grid
from .crumbs import Crumbs
from .minimap import Minimap
from .scene import CanvasScene

LEAST_ZOOM, MOST_ZOOM = 0.04, 3.0
ZOOM_STEP = 1.2
CACHE_KIB = 96 * 1024
WELCOME = "Drag a node here from the left, or press Tab to search for one"
FIT_MARGIN = 48.0
"""Pixels left free around the drawing when it is fitted."""


class SheetView(QGraphicsView):
    """Shows the document of a state, and moves over it."""

    zoom_changed = Signal(float)

    def __init__(self, state: EditorState) -> None:
        super().__init__()
        QPixmapCache.setCacheLimit(CACHE_KIB)
        self.state = state
        self.canvas = CanvasScene(state)
        self.setScene(self.canvas)
        self._set_up()
        self._look_later = True
        self.crumbs = Crumbs(state, self)
        self.minimap = Minimap(self.canvas, self.visible_rect, self.center_on, self)
        state.document_replaced.connect(self._show_saved_view)
        state.document_changed.connect(lambda _: self._show_minimap())

    def _set_up(self) -> None:
        self.setObjectName("canvas")
        self.setAccessibleName("Canvas")
        self.setFrameShape(QGraphicsView.Shape.NoFrame)
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.setOptimizationFlag(QGraphicsView.OptimizationFlag.DontSavePainterState)
        self.setOptimizationFlag(QGraphicsView.OptimizationFlag.DontAdjustForAntialiasing)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setResizeAnchor(QGraphicsView.ViewportAnchor.AnchorViewCenter)
        self.setMouseTracking(True)
        self.setAcceptDrops(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(200, 150)

    @property
    def zoom(self) -> float:
        """Pixels a scene unit."""
        return self.transform().m11()

    def visible_rect(self) -> QRectF:
        """What of the scene is seen."""
        return self.mapToScene(self.viewport().rect()).boundingRect()

    def center_on(self, point: QPointF) -> None:
        """Look at a point of the scene."""
        self.centerOn(point)
        self._looked()

    def zoom_to(self, zoom: float, about: QPointF | None = None) -> None:
        """Zoom so that the point of the view `about` (else its middle) stays where it is."""
        zoom = min(MOST_ZOOM, max(LEAST_ZOOM, zoom))
        place = about if about is not None else QRectF(self.viewport().rect()).center()
        under = self.mapToScene(place.toPoint())
        self.setTransform(QTransform.fromScale(zoom, zoom))
        moved = self.mapFromScene(under) - place.toPoint()
        self.pan(-moved)
        self.zoom_changed.emit(zoom)

    def zoom_in(self) -> None:
        """One step nearer."""
        self.zoom_to(self.zoom * ZOOM_STEP)

    def zoom_out(self) -> None:
        """One step away."""
        self.zoom_to(self.zoom / ZOOM_STEP)

    def zoom_reset(self) -> None:
        """To 100 %."""
        self.zoom_to(1.0)

    def fit(self) -> None:
        """Show the whole drawing, at 100 % at most."""
        rect = self.canvas.drawing_rect()
        if rect.isEmpty():
            self.zoom_to(1.0)
            self.center_on(QPointF())
            return
        room = self.viewport().size()
        across = (room.width() - 2 * FIT_MARGIN) / rect.width()
        down = (room.height() - 2 * FIT_MARGIN) / rect.height()
        self.zoom_to(min(1.0, across, down))
        self.center_on(rect.center())
        self._clear_minimap(rect)

    def _clear_minimap(self, drawing: QRectF) -> None:
        """Move the drawing up from behind the minimap, as far as there is room."""
        corner = self.mapToScene(self.minimap.geometry().adjusted(-12, -12, 12, 12)).boundingRect()
        behind = self.canvas.node_bounds.touching(corner)
        if behind:
            lowest = max(self.canvas.nodes[id].frame.bottom() for id in behind)
            above = drawing.top() - self.visible_rect().top() - FIT_MARGIN / self.zoom
            rise = min(max(0.0, above), lowest - corner.top())
            self.center_on(self.visible_rect().center() + QPointF(0.0, rise))

    def pan(self, by: QPoint) -> None:
        """Move the sheet by so many pixels."""
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        across.setValue(across.value() - by.x())
        down.setValue(down.value() - by.y())
        self._looked()

    def _looked(self) -> None:
        middle = self.visible_rect().center()
        self.state.document.view = SavedView(center=(middle.x(), middle.y()), zoom=self.zoom)
        self._show_minimap()

    def _show_minimap(self) -> None:
        """The minimap gives way to a card behind it when everything is seen anyway."""
        corner = self.mapToScene(self.minimap.geometry()).boundingRect()
        bounds = self.canvas.node_bounds
        whole = self.visible_rect().contains(bounds.united())
        hides = whole and bool(bounds.touching(corner))
        self.minimap.setVisible(bool(bounds.keys) and not hides)
        self.minimap.update()

    def _show_saved_view(self, _: object = None) -> None:
        """Look where the document was looked at last, if anything is to be seen there."""
        if not self.isVisible():
            self._look_later = True
            return
        saved = self.state.document.view
        self.zoom_to(saved.zoom)
        self.center_on(QPointF(*saved.center))
        if saved == SavedView() or not self.canvas.node_bounds.touching(self.visible_rect()):
            self.fit()

    def showEvent(self, event: QEvent) -> None:
        """At first, fit the drawing."""
        super().showEvent(event)  # type: ignore[arg-type]
        if self._look_later:
            self._look_later = False
            self._show_saved_view()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the overlays in their corners."""
        super().resizeEvent(event)
        self.crumbs.move(14, 10)
        corner = QPoint(self.width() - self.minimap.width(), self.height() - self.minimap.height())
        self.minimap.move(corner - QPoint(14, 14))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Items paint themselves near; far away everything is drawn in batches."""
        if self.zoom >= far.FAR:
            super().paintEvent(event)
        else:
            painter = QPainter(self.viewport())
            painter.setWorldTransform(self.viewportTransform())
            paint_grid(painter, self.visible_rect(), self.zoom)
            far.paint_boxes(painter, self.canvas.boxes, self.zoom)
            far.paint(
                painter,
                self.canvas.far_picture,
                self.canvas.node_bounds,
                self.canvas.edge_bounds,
                self.visible_rect(),
                self.zoom,
            )
            painter.end()
        self.paint_over()

    def paint_over(self) -> None:
        """Draw over the scene: on an empty sheet, how to begin."""
        if not (self.canvas.nodes or self.canvas.boxes):
            painter = QPainter(self.viewport())
            painter.setFont(theme.font(theme.HEAD))
            painter.setPen(theme.current().color("muted"))
            middle = int(Qt.AlignmentFlag.AlignCenter)
            painter.drawText(self.viewport().rect(), middle, WELCOME)
            painter.end()

    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """The sheet with its grid of dots."""
        paint_grid(painter, QRectF(rect), self.zoom)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The wheel zooms at the pointer; two fingers on a touch pad move the sheet."""
        touched = event.phase() != Qt.ScrollPhase.NoScrollPhase
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if touched and not control and not event.pixelDelta().isNull():
            self.pan(event.pixelDelta())
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            steps = event.angleDelta().x() or event.angleDelta().y()
            self.pan(QPoint(steps // 2, 0))
        else:
            steps = event.angleDelta().y() / 120.0
            self.zoom_to(self.zoom * ZOOM_STEP**steps, event.position())
        event.accept()

    def close_scene(self) -> None:
        """Let go of the scene and its items, in order."""
        self.minimap.stop()
        self.canvas.close()
