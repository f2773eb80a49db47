"""The canvas: looks at the scene, turns mouse and keys into gestures and actions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
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
    QPaintEvent,
    QPen,
    QPixmapCache,
    QResizeEvent,
    QTransform,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QGraphicsView, QToolTip

from ...engine.run.breakpoints import parse_condition
from ...nodes import changes as c
from ...nodes.clipboard import can_paste, copy_nodes, paste
from ...nodes.evaluate import evaluate
from ...nodes.items import Direction, Edge, EdgeKey, Point
from ...nodes.items import View as SavedView
from ...nodes.spec import NodeSpec
from ...nodes.state import DocumentError
from .. import theme
from ..palette import MIME
from ..search import Entry, SearchPopup, node_entries
from ..state import EditorState, Selection
from . import edits, far, geometry, hits, menus
from .background import paint_grid
from .boxes import GroupItem
from .crumbs import Crumbs
from .inline import InlineEdit
from .minimap import Minimap
from .scene import CanvasScene
from .tools import BandTool, ClickTool, MoveTool, PanTool, ResizeTool, Tool, WireTool

LEAST_ZOOM, MOST_ZOOM = 0.04, 3.0
ZOOM_STEP = 1.2
CACHE_KIB = 96 * 1024
NUDGE, BIG_NUDGE = 10.0, 50.0
FIT_MARGIN = 48.0
"""Pixels left free around the drawing when it is fitted."""


class CanvasView(QGraphicsView):
    """Shows and edits the document of a state."""

    zoom_changed = Signal(float)
    run_to_asked = Signal(str)
    rerun_asked = Signal(str)
    compile_asked = Signal()
    dissolve_asked = Signal()

    def __init__(self, state: EditorState) -> None:
        super().__init__()
        QPixmapCache.setCacheLimit(CACHE_KIB)
        self.state = state
        self.canvas = CanvasScene(state)
        self.setScene(self.canvas)
        self._set_up()
        self._tool: Tool | None = None
        self._space = False
        self._editor: InlineEdit | None = None
        self._popup: SearchPopup | None = None
        self._lit: EdgeKey | None = None
        self._pasted = 0
        self._look_later = True
        self.crumbs = Crumbs(state, self)
        self.minimap = Minimap(self.canvas, self.visible_rect, self.center_on, self)
        state.document_replaced.connect(self._show_saved_view)

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

    # looking

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

    def pan(self, by: QPoint) -> None:
        """Move the sheet by so many pixels."""
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        across.setValue(across.value() - by.x())
        down.setValue(down.value() - by.y())
        self._looked()

    def reveal(self, node: str) -> None:
        """Select a node, and bring it into view if it is not."""
        item = self.canvas.nodes.get(node)
        if item is not None:
            self.state.select(Selection(nodes=frozenset({node})))
            if not self.visible_rect().contains(item.frame):
                self.center_on(item.frame.center())

    def _looked(self) -> None:
        middle = self.visible_rect().center()
        self.state.document.view = SavedView(center=(middle.x(), middle.y()), zoom=self.zoom)
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
            painter.fillRect(self.viewport().rect(), theme.current().color("canvas"))
            painter.setWorldTransform(self.viewportTransform())
            paint_grid(painter, self.visible_rect(), self.zoom)
            far.paint(painter, self.canvas, self.visible_rect(), self.zoom)
            painter.end()
        self._paint_over()

    def _paint_over(self) -> None:
        if self._tool is None and self._lit is None:
            return
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setWorldTransform(self.viewportTransform())
        if self._lit in self.canvas.edges:
            painter.strokePath(self.canvas.edges[self._lit].route.path, _thick())
        if self._tool is not None:
            self._tool.paint(painter)
        painter.end()

    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """The sheet with its grid of dots."""
        painter.fillRect(rect, theme.current().color("canvas"))
        paint_grid(painter, QRectF(rect), self.zoom)

    # editing

    def perform(self, change: c.Change, text: str = "", merge: str = "") -> bool:
        """Apply a change; one that does not fit says why next to the pointer."""
        try:
            self.state.perform(change, text, merge)
        except DocumentError as error:
            self.canvas.drop_drag()
            self.refuse(str(error))
            return False
        return True

    def refuse(self, reason: str) -> None:
        """Say next to the pointer why something cannot be."""
        QToolTip.showText(self.cursor_place() + QPoint(14, 18), reason, self, QRect(), 6000)
        self.state.add_log("warning", reason)

    def add_node(self, type: str, at: QPointF, *, onto_wire: bool = True) -> str | None:
        """Add a node with its corner at a point; dropped on a wire it is put into it."""
        spec = self.state.library.get(type)
        if spec is None:
            return None
        node = edits.new_node(self.state.document, spec, _point(geometry.snapped(at)))
        if not self.perform(c.AddNode(node), f"Add {spec.title}"):
            return None
        self.state.select(Selection(nodes=frozenset({node.id})))
        if onto_wire:
            self._put_onto_wire(node.id)
        return node.id

    def _put_onto_wire(self, id: str) -> None:
        """Put a new node into the wire under it, as the same step of undo."""
        middle = self.canvas.nodes[id].frame.center()
        key = hits.wire_near(self.canvas, middle, 0.5)
        if key is None:
            return
        document = self.state.document
        parts = edits.insertion(document, self.state.inference, id, key)
        if not parts:
            return
        node = document.nodes[id]
        self.state.undo_stack.undo()
        self.perform(c.Compound("Insert on the wire", (c.AddNode(node), *parts)))
        self.state.select(Selection(nodes=frozenset({id})))

    def add_node_in_view(self, type: str) -> str | None:
        """Add a node right of the one that is selected, else in the middle of what is seen."""
        chosen = self.state.selection.nodes
        if len(chosen) == 1:
            frame = self.canvas.nodes[next(iter(chosen))].frame
            at = QPointF(frame.right() + 60.0, frame.top())
        else:
            at = self.visible_rect().center() - QPointF(70.0, 37.0)
        id = self.add_node(type, self._free_place(at), onto_wire=False)
        if id is not None and not self.visible_rect().contains(self.canvas.nodes[id].frame):
            self.center_on(self.canvas.nodes[id].frame.center())
        return id

    def _free_place(self, at: QPointF) -> QPointF:
        """This place, or the next one below where no card lies."""
        while self.canvas.node_bounds.touching(QRectF(at.x(), at.y(), 140.0, 74.0)):
            at = at + QPointF(0.0, 100.0)
        return at

    def delete_selection(self) -> None:
        """Delete what is selected."""
        change = edits.delete(self.state.document, self.state.selection)
        if change is not None:
            self.perform(change)

    def copy(self) -> bool:
        """Copy the selected nodes."""
        nodes = self._chosen_nodes()
        if nodes:
            QApplication.clipboard().setText(copy_nodes(self.state.document, nodes))
            self._pasted = 0
        return bool(nodes)

    def cut(self) -> None:
        """Copy the selected nodes and delete them."""
        if self.copy():
            self.delete_selection()

    def paste(self) -> None:
        """Paste nodes at the pointer, as one step."""
        text = QApplication.clipboard().text()
        if can_paste(text):
            at = geometry.snapped(self._paste_place())
            self._add_all(paste(self.state.document, text, _point(at)))

    def _paste_place(self) -> QPointF:
        """Where the pointer is, or a little off the middle of the view each time."""
        under = self.viewport().mapFromGlobal(self.cursor_place())
        if self.viewport().rect().contains(under) and self.underMouse():
            return self.mapToScene(under)
        self._pasted += 1
        return self.visible_rect().center() + QPointF(20.0, 20.0) * self._pasted

    def duplicate(self) -> None:
        """Copy the selected nodes to the right below."""
        nodes = self._chosen_nodes()
        if nodes:
            rect = QRectF()
            for id in nodes:
                rect = rect.united(self.canvas.nodes[id].frame)
            at = _point(geometry.snapped(rect.topLeft() + QPointF(40.0, 40.0)))
            self._add_all(edits.duplicate(self.state.document, nodes, at))

    def _add_all(self, change: c.Change) -> None:
        if self.perform(change):
            self.state.select(Selection(nodes=edits.added_nodes(change)))

    def _chosen_nodes(self) -> set[str]:
        nodes = set(self.state.selection.nodes)
        for id in self.state.selection.boxes:
            nodes |= self.nodes_of_box(id)
        return nodes

    def nodes_of_box(self, id: str) -> set[str]:
        """The nodes of a group, or those that lie in a frame."""
        group = self.state.document.groups.get(id)
        if group is not None:
            return set(group.nodes)
        if id in self.state.document.frames:
            return set(self.canvas.node_bounds.inside(self.canvas.boxes[id].frame))
        return set()

    def select_all(self) -> None:
        """Select every node, frame and note."""
        document = self.state.document
        boxes = frozenset(document.frames) | frozenset(document.notes)
        self.state.select(Selection(nodes=frozenset(document.nodes), boxes=boxes))

    def add_frame(self) -> None:
        """Put a frame around the selected nodes."""
        rect = QRectF()
        for id in self._chosen_nodes():
            rect = rect.united(self.canvas.nodes[id].frame)
        if rect.isEmpty():
            rect = QRectF(self.visible_rect().center() - QPointF(160, 100), QPointF(0, 0))
            rect.setSize(geometry.QRectF(0, 0, 320, 200).size())
        change = edits.frame_around((rect.x(), rect.y(), rect.width(), rect.height()))
        if self.perform(change):
            self.state.select(Selection(boxes=frozenset({change.frame.id})))

    def add_note(self) -> None:
        """Put an empty note at the pointer, and write into it."""
        at = geometry.snapped(self._paste_place())
        change = edits.note_at(_point(at))
        if self.perform(change):
            self.state.select(Selection(boxes=frozenset({change.note.id})))
            self.edit_box(change.note.id)

    def toggle_breakpoint(self, key: EdgeKey, direction: Direction = "forward") -> None:
        """Set or remove the breakpoint on a wire."""
        self.perform(edits.toggle_breakpoint(self.state.document, key, direction))

    def toggle_breakpoint_selected(self) -> None:
        """Set or remove the breakpoint on the selected wire, or on all that enter the node."""
        keys = set(self.state.selection.edges)
        for node in self.state.selection.nodes:
            keys |= {edge.key for edge in self.state.document.edges_into(node)}
        parts = [edits.toggle_breakpoint(self.state.document, key) for key in sorted(keys)]
        if change := edits.together("Toggle breakpoints", parts):
            self.perform(change)

    def nudge(self, by: QPointF) -> None:
        """Move the selected nodes; held arrow keys make one step of undo."""
        nodes = self.state.selection.nodes
        if nodes:
            places = {id: _point(self.canvas.nodes[id].pos() + by) for id in sorted(nodes)}
            self.perform(c.MoveNodes(places), "Move", merge="nudge " + " ".join(sorted(nodes)))

    def highlight_wire(self, key: EdgeKey | None) -> None:
        """Light up the wire that a node would be put into."""
        if key != self._lit:
            self._lit = key
            self.viewport().update()

    # searching

    def search_here(self) -> None:
        """Search for a node to add at the pointer."""
        at = self._paste_place()
        self._open_search(
            node_entries(self.state), lambda entry: self.add_node(entry.type, at), "Add a node"
        )

    def search_for_port(self, side: str, id: str, port: str, at: QPointF) -> None:
        """Search for a node that a wire from this port can go to; it is added and connected."""
        specs = [
            spec for spec in self.state.library.values() if self._suits(spec, side, (id, port))
        ]

        def add(entry: Entry) -> None:
            self._add_connected(entry.type, side, id, port, at)

        self._open_search(
            node_entries(self.state, specs),
            add,
            f"What {port} goes to" if side == "output" else f"Where {port} comes from",
        )

    def _suits(self, spec: NodeSpec, side: str, port: tuple[str, str]) -> bool:
        if side == "input":
            return bool(spec.outputs)
        aval = self.state.inference.avals.get(port)
        needed = [p.name for p in spec.input_ports() if p.required]
        if not spec.inputs or aval is None or len(needed) > 1:
            return bool(spec.inputs)
        first = spec.input_ports()[0].name
        found = evaluate(spec, {}, ((first, aval),)).findings
        return not any(finding.severity == "error" for finding in found)

    def _add_connected(self, type: str, side: str, id: str, port: str, at: QPointF) -> None:
        spec, document = self.state.library[type], self.state.document
        if side == "output":
            place = at - QPointF(0.0, geometry.FIRST_PORT)
        else:
            place = at - QPointF(geometry.LEAST_WIDTH, geometry.FIRST_PORT)
        node = edits.new_node(document, spec, _point(geometry.snapped(place)))
        if side == "output":
            edge = Edge(id, port, node.id, spec.input_ports()[0].name)
        else:
            edge = Edge(node.id, spec.outputs[0].name, id, port)
        change = c.Compound(f"Add {spec.title}", (c.AddNode(node), c.Connect(edge)))
        if self.perform(change):
            self.state.select(Selection(nodes=frozenset({node.id})))

    def _open_search(
        self, entries: Sequence[Entry], choose: Callable[[Entry], object], hint: str
    ) -> None:
        popup = SearchPopup(self, entries, hint)
        popup.chosen.connect(choose)
        popup.open_at(self.cursor_place() + QPoint(4, 4))

    # renaming and conditions

    def rename_selected(self) -> None:
        """Edit the name of the selected node or box."""
        selection = self.state.selection
        if len(selection.nodes) == 1 and not selection.boxes:
            self.rename_node(next(iter(selection.nodes)))
        elif len(selection.boxes) == 1 and not selection.nodes:
            self.edit_box(next(iter(selection.boxes)))

    def rename_node(self, id: str) -> None:
        """Edit a node's name where it stands."""
        item = self.canvas.nodes[id]
        rect = QRectF(
            item.pos() + QPointF(14.0, 4.0), item.pos() + QPointF(item.look.card.width, 28.0)
        )
        self._edit(item.node.name, rect, lambda name: self._try(c.RenameNode(id, name.strip())))

    def edit_box(self, id: str) -> None:
        """Edit a group's name, a frame's title or a note's text where it stands."""
        document = self.state.document
        frame = self.canvas.boxes[id].frame
        item = document.groups.get(id) or document.frames.get(id) or document.notes[id]
        text = next(
            str(getattr(item, name)) for name in ("name", "title", "text") if hasattr(item, name)
        )
        rect = QRectF(frame.topLeft() + QPointF(6, 0), frame.topRight() + QPointF(-6, 28))
        self._edit(text, rect, lambda text: self._try(edits.rename_box(document, id, text.strip())))

    def edit_condition(self, key: EdgeKey, direction: Direction = "forward") -> None:
        """Edit the condition of a wire's breakpoint where it stands."""
        item = self.canvas.edges[key]
        mark = self.state.document.breakpoints.get((*key, direction))
        corner = item.route.middle - QPointF(70.0, 36.0)
        rect = QRectF(corner, corner + QPointF(140.0, 28.0))
        self._edit(
            mark.condition if mark else "",
            rect,
            lambda text: self._set_condition(key, text.strip(), direction),
        )
        if self._editor is not None:
            self._editor.setPlaceholderText("nan, inf, absmax > 100 …")

    def _set_condition(self, key: EdgeKey, text: str, direction: Direction) -> str:
        try:
            if text:
                parse_condition(text)
        except ValueError as error:
            return str(error)
        return self._try(edits.set_condition(self.state.document, key, text, direction))

    def _edit(self, text: str, rect: QRectF, commit: Callable[[str], str]) -> None:
        place = self.mapFromScene(rect).boundingRect()
        self._editor = InlineEdit(self, text, place, commit)
        self._editor.destroyed.connect(self._edited)

    def _edited(self) -> None:
        self._editor = None

    def _try(self, change: c.Change) -> str:
        try:
            self.state.perform(change)
        except DocumentError as error:
            return str(error)
        return ""

    # mouse

    def cursor_place(self) -> QPoint:
        """Where the pointer is on the screen, as the last mouse event told."""
        return self._pointer if self._pointer is not None else QCursor.pos()

    _pointer: QPoint | None = None

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
            if not adding:
                self._choose(nodes={found.id}, adding=False)
        elif found.kind == "box":
            if not adding:
                self._choose(boxes={found.id}, adding=False)
        elif found.edge is not None:
            self._choose(edges={found.edge}, adding=adding)
            if found.kind == "wire" and not adding:
                self.toggle_breakpoint(found.edge)
            elif found.kind == "mark" and found.name != "watch" and not adding:
                self.toggle_breakpoint(
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
            self.rename_node(found.id)
        elif found.kind in ("box", "corner"):
            self.edit_box(found.id)
        elif found.edge is not None:
            self.edit_condition(found.edge, "gradient" if found.name == "gradient" else "forward")
        elif found.kind == "nothing":
            self.search_here()
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
        if isinstance(event, QNativeGestureEvent):
            if event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
                self.zoom_to(self.zoom * (1.0 + event.value()), event.position())
                return True
        return super().viewportEvent(event)

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
                self.nudge(arrows[key])
            else:
                self.pan((-arrows[key] * 4).toPoint())
        elif key == Qt.Key.Key_Escape:
            self._give_up()
        elif key == Qt.Key.Key_Space and not event.isAutoRepeat():
            self._space = True
            self.viewport().setCursor(Qt.CursorShape.OpenHandCursor)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.rename_selected()
        else:
            super().keyPressEvent(event)
            return
        event.accept()

    def _give_up(self) -> None:
        tool, self._tool = self._tool, None
        if tool is not None:
            tool.cancel()
            self.viewport().unsetCursor()
            self.viewport().update()
        else:
            self.state.select(Selection())

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
        self.add_node(type, at)
        self.setFocus()
        event.acceptProposedAction()

    # the end

    def close_scene(self) -> None:
        """Let go of the scene and its items, in order."""
        self._tool = None
        self.minimap.stop()
        self.canvas.close()

    def is_group(self, id: str) -> bool:
        """Whether a box is a compile group."""
        return isinstance(self.canvas.boxes.get(id), GroupItem)


_ADDING = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier


def _point(point: QPointF) -> Point:
    return (point.x(), point.y())


def _thick() -> QPen:
    return QPen(theme.current().color("accent"), 3.0)
