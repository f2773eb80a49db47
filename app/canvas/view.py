"""The canvas: turns mouse and keys over the sheet into gestures and actions."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QCursor,
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPen,
)
from PySide6.QtWidgets import QToolTip

from ...nodes.items import EdgeKey
from .. import theme
from ..palette import MIME
from ..state import EditorState, Selection
from . import hits, menus
from .asking import Asking
from .boxes import GroupItem
from .editor import BIG_NUDGE, NUDGE, Editor
from .sheet import SheetView
from .tools import BandTool, ClickTool, MoveTool, PanTool, ResizeTool, Tool, WireTool


class CanvasView(SheetView):
    """Shows and edits the document of a state."""

    run_to_asked = Signal(str)
    rerun_asked = Signal(str)
    compile_asked = Signal()
    dissolve_asked = Signal()

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self._tool: Tool | None = None
        self._space = False
        self._grip_was_chosen = False
        self._lit: EdgeKey | None = None
        self._pointer: QPoint | None = None
        self.editor = Editor(self)
        self.asking = Asking(self)
        for signal in (state.document_changed, state.document_replaced):
            signal.connect(self._drop_gesture)

    def paint_over(self) -> None:
        """Draw the wire that is lit up and the gesture that is going on."""
        super().paint_over()
        if self._tool is None and self._lit is None:
            return
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setWorldTransform(self.viewportTransform())
        if self._lit in self.canvas.edges:
            path = self.canvas.edges[self._lit].route.path
            painter.strokePath(path, QPen(theme.current().color("accent"), 3.0))
        if self._tool is not None:
            self._tool.paint(painter)
        painter.end()

    def highlight_wire(self, key: EdgeKey | None) -> None:
        """Light up the wire that a node would be put into."""
        if key != self._lit:
            self._lit = key
            self.viewport().update()

    # mouse

    def cursor_place(self) -> QPoint:
        """Where the pointer is on the screen, as the last mouse event told."""
        return self._pointer if self._pointer is not None else QCursor.pos()

    def far_enough(self, by: QPointF) -> bool:
        """Whether the pointer has moved so far that this is a drag and no click."""
        return math.hypot(by.x(), by.y()) * self.zoom >= 4.0

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a gesture."""
        self._pointer = event.globalPosition().toPoint()
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        left = event.button() == Qt.MouseButton.LeftButton
        if event.button() == Qt.MouseButton.MiddleButton or (left and self._space):
            self._begin(PanTool(self, event.position().toPoint()))
        elif left:
            self._press(self.mapToScene(event.position().toPoint()), event.modifiers())
        event.accept()

    def _press(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        found = hits.hit(self.canvas, at, self.zoom)
        adding = bool(modifiers & _ADDING)
        chosen = self.state.selection
        self._grip_was_chosen = found.id in chosen.nodes or found.id in chosen.boxes
        if found.kind in ("input", "output"):
            self._begin(WireTool(self, found))
        elif found.kind == "node":
            if found.id not in self.state.selection.nodes:
                self._choose(nodes={found.id}, adding=adding)
            self._begin(MoveTool(self, at, found))
        elif found.kind == "box":
            if found.id not in self.state.selection.boxes:
                self._choose(boxes={found.id}, adding=adding)
            self._begin(MoveTool(self, at, found))
        elif found.kind == "corner":
            self._choose(boxes={found.id}, adding=False)
            self._begin(ResizeTool(self, at, found.id))
        elif found.kind == "nothing":
            self._begin(BandTool(self, at, adding=adding))
        else:
            self._begin(ClickTool(self, at, found))

    def _choose(
        self,
        *,
        nodes: set[str] | None = None,
        boxes: set[str] | None = None,
        edges: set[EdgeKey] | None = None,
        adding: bool,
    ) -> None:
        new = Selection(frozenset(nodes or ()), frozenset(edges or ()), frozenset(boxes or ()))
        if adding:
            old = self.state.selection
            new = Selection(old.nodes ^ new.nodes, old.edges ^ new.edges, old.boxes ^ new.boxes)
        self.state.select(new)

    def clicked(self, found: hits.Hit, modifiers: Qt.KeyboardModifier) -> None:
        """A click on something, without a drag: select; on a wire, toggle its breakpoint."""
        adding = bool(modifiers & _ADDING)
        if found.kind == "node":
            if not adding or self._grip_was_chosen:
                self._choose(nodes={found.id}, adding=adding)
        elif found.kind == "box":
            if not adding or self._grip_was_chosen:
                self._choose(boxes={found.id}, adding=adding)
        elif found.edge is not None:
            self._choose(edges={found.edge}, adding=adding)
            if found.kind == "wire" and not adding:
                self.editor.toggle_breakpoint(found.edge)
            elif found.kind == "mark" and found.name != "watch" and not adding:
                self.editor.toggle_breakpoint(
                    found.edge, "gradient" if found.name == "gradient" else "forward"
                )

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Go on with the gesture, or say what is under the pointer."""
        self._pointer = event.globalPosition().toPoint()
        place = event.position().toPoint()
        if isinstance(self._tool, PanTool):
            self._tool.move_view(place)
        elif self._tool is not None:
            self._tool.move(self.mapToScene(place), event.modifiers())
        else:
            self._hover(self.mapToScene(place))
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End the gesture."""
        self._pointer = event.globalPosition().toPoint()
        tool, self._tool = self._tool, None
        if tool is not None:
            tool.release(self.mapToScene(event.position().toPoint()), event.modifiers())
            self.viewport().unsetCursor()
            self.viewport().update()
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Rename a node or box, edit a breakpoint's condition, or search on the empty sheet."""
        self._pointer = event.globalPosition().toPoint()
        if event.button() != Qt.MouseButton.LeftButton:
            return
        found = hits.hit(self.canvas, self.mapToScene(event.position().toPoint()), self.zoom)
        if found.kind == "node":
            self.asking.rename_node(found.id)
        elif found.kind in ("box", "corner"):
            self.asking.edit_box(found.id)
        elif found.edge is not None:
            self.asking.edit_condition(
                found.edge, "gradient" if found.name == "gradient" else "forward"
            )
        elif found.kind == "nothing":
            self.asking.search_here()
        event.accept()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """The menu of what is under the pointer."""
        self._pointer = event.globalPos()
        found = hits.hit(self.canvas, self.mapToScene(event.pos()), self.zoom)
        if found.kind == "node" and found.id not in self.state.selection.nodes:
            self._choose(nodes={found.id}, adding=False)
        elif found.kind in ("box", "corner"):
            self._choose(boxes={found.id}, adding=False)
        elif found.edge is not None:
            self._choose(edges={found.edge}, adding=False)
        menus.menu_for(self, found).popup(event.globalPos())
        event.accept()

    def _begin(self, tool: Tool) -> None:
        self._tool = tool
        if tool.cursor is not None:
            self.viewport().setCursor(tool.cursor)

    def _hover(self, at: QPointF) -> None:
        found = hits.hit(self.canvas, at, self.zoom)
        shapes = {
            "input": Qt.CursorShape.CrossCursor,
            "output": Qt.CursorShape.CrossCursor,
            "wire": Qt.CursorShape.PointingHandCursor,
            "mark": Qt.CursorShape.PointingHandCursor,
            "label": Qt.CursorShape.PointingHandCursor,
            "corner": Qt.CursorShape.SizeFDiagCursor,
        }
        shape = shapes.get(found.kind)
        if self._space:
            shape = Qt.CursorShape.OpenHandCursor
        if shape is None:
            self.viewport().unsetCursor()
        else:
            self.viewport().setCursor(shape)

    def viewportEvent(self, event: QEvent) -> bool:
        """Tool tips, and the pinch of a touch pad."""
        if event.type() == QEvent.Type.ToolTip:
            place = event.pos()  # type: ignore[attr-defined]
            found = hits.hit(self.canvas, self.mapToScene(place), self.zoom)
            QToolTip.showText(event.globalPos(), menus.tip_for(self, found), self)  # type: ignore[attr-defined]
            return True
        pinch = Qt.NativeGestureType.ZoomNativeGesture
        if isinstance(event, QNativeGestureEvent) and event.gestureType() == pinch:
            self.zoom_to(self.zoom * (1.0 + event.value()), event.position())
            return True
        return super().viewportEvent(event)

    # keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move the selection, Escape gives up, Space holds the sheet."""
        step = BIG_NUDGE if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else NUDGE
        arrows = {
            Qt.Key.Key_Left: QPointF(-step, 0.0),
            Qt.Key.Key_Right: QPointF(step, 0.0),
            Qt.Key.Key_Up: QPointF(0.0, -step),
            Qt.Key.Key_Down: QPointF(0.0, step),
        }
        key = Qt.Key(event.key())
        if key in arrows:
            if self.state.selection.nodes:
                self.editor.nudge(arrows[key])
            else:
                self.pan((-arrows[key] * 4).toPoint())
        elif key == Qt.Key.Key_Escape:
            self._give_up()
        elif key == Qt.Key.Key_Space and not event.isAutoRepeat():
            self._space = True
            self.viewport().setCursor(Qt.CursorShape.OpenHandCursor)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.asking.rename_selected()
        else:
            super().keyPressEvent(event)
            return
        event.accept()

    def _give_up(self) -> None:
        if self._tool is None:
            self.state.select(Selection())
        self._drop_gesture()

    def _drop_gesture(self, _: object = None) -> None:
        """End a gesture without a change: what it holds may be gone when the document changes."""
        tool, self._tool = self._tool, None
        if tool is not None:
            tool.cancel()
            self.viewport().unsetCursor()
            self.viewport().update()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """Let go of the sheet."""
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self._space = False
            self.viewport().unsetCursor()
        super().keyReleaseEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab is the search's key here."""
        return False

    # drops from the palette

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take node types."""
        self._take_drag(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Take node types, everywhere."""
        self._take_drag(event)

    def _take_drag(self, event: QDragMoveEvent) -> None:
        if event.mimeData().hasFormat(MIME):
            event.acceptProposedAction()
        else:
            event.ignore()

    def dropEvent(self, event: QDropEvent) -> None:
        """Add the node where it is dropped."""
        if not event.mimeData().hasFormat(MIME):
            event.ignore()
            return
        type = bytes(event.mimeData().data(MIME).data()).decode()
        at = self.mapToScene(event.position().toPoint()) - QPointF(12.0, 16.0)
        self.editor.add_node(type, at)
        self.setFocus()
        event.acceptProposedAction()

    # the end

    def close_scene(self) -> None:
        """Let go of the scene and its items, in order."""
        self._tool = None
        super().close_scene()

    def is_group(self, id: str) -> bool:
        """Whether a box is a compile group."""
        return isinstance(self.canvas.boxes.get(id), GroupItem)


_ADDING = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier
