"""Mouse gestures: one class a gesture; each commits one change, on release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QToolTip

from ...nodes import changes as c
from ...nodes.items import Edge, EdgeKey
from ...nodes.wiring import Verdict, can_connect
from .. import theme
from ..state import Selection
from . import edits, geometry, hits
from .boxes import GroupItem

if TYPE_CHECKING:
    from .view import CanvasView

LEAST_BOX = 60.0


class Tool:
    """A gesture from press to release, in scene coordinates."""

    cursor: Qt.CursorShape | None = None

    def __init__(self, view: CanvasView) -> None:
        self.view = view

    def move(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        """The pointer moved with the button down."""

    def release(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        """The button went up: commit."""

    def cancel(self) -> None:
        """Escape was pressed, or the document changed: show all as the document has it."""

    def paint(self, painter: QPainter) -> None:
        """Draw over the scene, in scene coordinates."""


class PanTool(Tool):
    """Drags the sheet."""

    cursor = Qt.CursorShape.ClosedHandCursor

    def __init__(self, view: CanvasView, start: QPoint) -> None:
        super().__init__(view)
        self._last = start

    def move_view(self, at: QPoint) -> None:
        """The pointer moved, in the view's coordinates."""
        self.view.pan(at - self._last)
        self._last = at


class BandTool(Tool):
    """Draws a rubber band; what lies in it is selected, with Shift in addition."""

    def __init__(self, view: CanvasView, start: QPointF, *, adding: bool) -> None:
        super().__init__(view)
        self._start, self._end = start, start
        self._before = view.state.selection if adding else Selection()

    def move(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        """Select what the band touches now."""
        self._end = at
        rect = QRectF(self._start, at).normalized()
        scene, before = self.view.canvas, self._before
        nodes = frozenset(scene.node_bounds.touching(rect))
        boxes = frozenset(i for i, box in scene.boxes.items() if rect.contains(box.frame))
        edges = frozenset(key for key in scene.edge_bounds.inside(rect.adjusted(-16, -16, 16, 16)))
        inner = frozenset() if nodes else edges
        self.view.state.select(
            Selection(before.nodes | nodes, before.edges | inner, before.boxes | boxes)
        )
        self.view.viewport().update()

    def release(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        """A click beside everything selects nothing."""
        if self._start == self._end:
            self.view.state.select(self._before)
        self.view.viewport().update()

    def cancel(self) -> None:
        """Select what was selected before."""
        self.view.state.select(self._before)

    def paint(self, painter: QPainter) -> None:
        """The band: a thin accent line around a hint of accent."""
        colors = theme.current()
        pen = QPen(colors.color("accent", 0.9), 1.0)
        pen.setCosmetic(True)
        painter.setPen(pen)
        painter.setBrush(colors.color("accent", 0.12))
        painter.drawRect(QRectF(self._start, self._end).normalized())


class MoveTool(Tool):
    """Moves the selected nodes, frames and notes; one change when the button goes up."""

    def __init__(self, view: CanvasView, start: QPointF, grip: hits.Hit) -> None:
        super().__init__(view)
        self._start, self._grip = start, grip
        state = view.state
        self._boxes = set(state.selection.boxes)
        nodes = set(state.selection.nodes)
        for id in self._boxes:
            nodes |= view.editor.nodes_of_box(id)
        self._from = {id: view.canvas.nodes[id].pos() for id in nodes}
        self._box_from = {id: view.canvas.boxes[id].pos() for id in self._boxes}
        self._by = QPointF()
        self._target: EdgeKey | None = None
        self.moved = False

    def move(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        """Show everything where it would be; Alt switches the snapping off."""
        by = at - self._start
        if not self.moved and not self.view.far_enough(by):
            return
        self.moved = True
        first = next(iter(self._from.values()), None) or next(iter(self._box_from.values()), by)
        if not modifiers & Qt.KeyboardModifier.AltModifier:
            by = geometry.snapped(first + by) - first
        self._by = by
        scene = self.view.canvas
        scene.drag({id: place + by for id, place in self._from.items()})
        for id, place in self._box_from.items():
            if id not in self.view.state.document.groups:
                scene.boxes[id].setPos(place + by)
        self._look_for_wire()

    def release(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        """Commit the move, and put a single free node onto the wire that it was dropped on."""
        if not self.moved:
            self.view.clicked(self._grip, modifiers)
            return
        document, by = self.view.state.document, (self._by.x(), self._by.y())
        parts: list[c.Change] = []
        if self._by:
            places = {i: (p.x() + by[0], p.y() + by[1]) for i, p in self._from.items()}
            if places:
                parts.append(c.MoveNodes(places))
            parts += edits.move_boxes(document, self._boxes, by)
        name = "Move"
        if self._target is not None:
            (node,) = self._from
            inserted = edits.insertion(document, self.view.state.inference, node, self._target)
            name = "Insert on the wire" if inserted else name
            parts += inserted
        self.view.highlight_wire(None)
        if change := edits.together(name, parts):
            self.view.editor.perform(change)
        else:
            self.view.canvas.drop_drag()

    def cancel(self) -> None:
        """Put everything back."""
        self.view.highlight_wire(None)
        self.view.canvas.drop_drag()

    def _look_for_wire(self) -> None:
        """The wire under a single node that no wire touches."""
        found = None
        if len(self._from) == 1 and not self._boxes:
            (node,) = self._from
            middle = self.view.canvas.nodes[node].frame.center()
            key = hits.wire_near(self.view.canvas, middle, 0.5)
            state = self.view.state
            if key and edits.insertion(state.document, state.inference, node, key):
                found = key
        self._target = found
        self.view.highlight_wire(found)


class ResizeTool(Tool):
    """Pulls a frame or note by its corner."""

    cursor = Qt.CursorShape.SizeFDiagCursor

    def __init__(self, view: CanvasView, start: QPointF, id: str) -> None:
        super().__init__(view)
        self._start, self._id = start, id
        document = view.state.document
        box = document.frames.get(id) or document.notes[id]
        self._rect = box.rect
        self._now = box.rect

    def move(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        """Show the size that it would have."""
        by = geometry.snapped(at - self._start)
        x, y, width, height = self._rect
        self._now = (x, y, max(LEAST_BOX, width + by.x()), max(LEAST_BOX, height + by.y()))
        item = self.view.canvas.boxes[self._id]
        if not isinstance(item, GroupItem):
            item.show_size(self._now[2], self._now[3])

    def release(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        """Commit the size."""
        if self._now != self._rect:
            change = edits.resize_box(self.view.state.document, self._id, self._now)
            self.view.editor.perform(change, "Resize")

    def cancel(self) -> None:
        """Put the size back."""
        self.view.canvas.drop_drag()


class WireTool(Tool):
    """Draws a wire from a port; over another port it says at once whether it fits.

    Begun on an input that has a wire, it takes that wire off and holds its loose end.
    """

    def __init__(self, view: CanvasView, grip: hits.Hit) -> None:
        super().__init__(view)
        document = view.state.document
        self._taken: Edge | None = None
        if grip.kind == "input":
            self._taken = document.edges.get((grip.id, grip.name))
        if self._taken is not None:
            self._side, self._id, self._port = "output", self._taken.source, self._taken.output
        else:
            self._side, self._id, self._port = grip.kind, grip.id, grip.name
        self._end = self._fixed()
        self._over: hits.Hit | None = None
        self._verdict: Verdict | None = None
        self.moved = False
        if self._taken is not None:
            view.canvas.edges[self._taken.key].hidden = True

    def _fixed(self) -> QPointF:
        item = self.view.canvas.nodes[self._id]
        at = item.output_at if self._side == "output" else item.input_at
        return at(self._port)

    def move(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        """Follow the pointer, snap to a port, and judge the wire."""
        self.moved = self.moved or self.view.far_enough(at - self._fixed())
        over = self._candidate(at)
        if over != self._over:
            self._over, self._verdict = over, self._judge(over)
            self._tell()
        if over is not None:
            item = self.view.canvas.nodes[over.id]
            at = (item.input_at if over.kind == "input" else item.output_at)(over.name)
        self._end = at
        self.view.viewport().update()

    def _candidate(self, at: QPointF) -> hits.Hit | None:
        """The port that the wire would end on: one within reach, else the nearest of the node."""
        wanted = "input" if self._side == "output" else "output"
        found = hits.port_near(self.view.canvas, at, self.view.zoom, wanted)
        if found is not None:
            return found
        node = hits.node_at(self.view.canvas, at)
        if node is None or node == self._id:
            return None
        item = self.view.canvas.nodes[node]
        card = item.look.card
        ports = card.inputs if wanted == "input" else card.outputs
        free = [
            name
            for name in ports
            if wanted == "output" or (node, name) not in self.view.state.document.edges
        ]
        local = at - item.pos()
        names = sorted(free or ports, key=lambda name: (local - ports[name]).manhattanLength())
        return (
            hits.Hit("input" if wanted == "input" else "output", node, names[0]) if names else None
        )

    def _edge(self, over: hits.Hit) -> Edge:
        if self._side == "output":
            return Edge(self._id, self._port, over.id, over.name)
        return Edge(over.id, over.name, self._id, self._port)

    def _judge(self, over: hits.Hit | None) -> Verdict | None:
        if over is None:
            return None
        edge, state = self._edge(over), self.view.state
        if edge == self._taken:
            return Verdict(True)
        return can_connect(
            state.document, edge.source, edge.output, edge.target, edge.input, state.inference
        )

    def _tell(self) -> None:
        """Say next to the pointer why the wire does not fit."""
        if self._verdict is not None and not self._verdict.ok:
            place = self.view.cursor_place() + QPoint(14, 18)
            QToolTip.showText(place, self._verdict.reason, self.view, QRect(), 60_000)
        else:
            QToolTip.hideText()

    def release(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        """Connect, refuse, take the wire off, or search for a node that fits."""
        self.move(at, modifiers)
        over, verdict = self._over, self._verdict
        taken = self._taken
        self.cancel()
        if over is not None and verdict is not None:
            if not verdict.ok:
                self.view.editor.refuse(verdict.reason)
                return
            self._connect(self._edge(over))
        elif taken is not None:
            if self.moved:
                self.view.editor.perform(c.Disconnect(*taken.key))
        elif self.moved:
            self.view.asking.search_for_port(self._side, self._id, self._port, at)

    def _connect(self, edge: Edge) -> None:
        taken = self._taken
        if edge == taken:
            return
        parts: list[c.Change] = [c.Disconnect(*taken.key)] if taken else []
        parts.append(c.Connect(edge))
        self.view.editor.perform(c.Compound("Connect", tuple(parts)) if taken else parts[0])

    def cancel(self) -> None:
        """Leave the wires as they were."""
        QToolTip.hideText()
        if self._taken is not None and self._taken.key in self.view.canvas.edges:
            self.view.canvas.edges[self._taken.key].hidden = False
        self.view.viewport().update()

    @property
    def verdict(self) -> Verdict | None:
        """What is thought of the port under the pointer; None over no port."""
        return self._verdict

    def paint(self, painter: QPainter) -> None:
        """The wire as it would be: accent, or red where it does not fit."""
        colors = theme.current()
        fixed = self._fixed()
        start, end = (fixed, self._end) if self._side == "output" else (self._end, fixed)
        refused = self._verdict is not None and not self._verdict.ok
        color = colors.color("stop" if refused else "accent")
        pen = QPen(color, 2.6)
        if refused:
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(pen)
        path = geometry.straight(start, end).path
        painter.drawPath(path)
        if self._over is not None:
            painter.setPen(QPen(color, 2.0))
            painter.drawEllipse(self._end, 9.0, 9.0)


class ClickTool(Tool):
    """A press on something that is not dragged: acts on release, if the pointer stayed there."""

    def __init__(self, view: CanvasView, start: QPointF, grip: hits.Hit) -> None:
        super().__init__(view)
        self._start, self._grip = start, grip

    def release(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> None:
        """Act if this was a click."""
        if not self.view.far_enough(at - self._start):
            self.view.clicked(self._grip, modifiers)
