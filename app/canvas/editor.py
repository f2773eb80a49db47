"""Editing: what the Edit menu, the palette and the gestures do, each as one step of undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QRectF, QSizeF
from PySide6.QtWidgets import QApplication, QToolTip

from ...nodes import changes as c
from ...nodes.clipboard import can_paste, copy_nodes, paste
from ...nodes.items import Direction, EdgeKey, NodeItem, Point
from ...nodes.state import DocumentError
from ..state import Selection
from . import edits, geometry, hits

if TYPE_CHECKING:
    from .view import CanvasView

NUDGE, BIG_NUDGE = 10.0, 50.0


class Editor(QObject):
    """Edits the document that a view shows."""

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self.view, self.state, self.canvas = view, view.state, view.canvas
        self._pasted = 0

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
        place = self.view.cursor_place() + QPoint(14, 18)
        QToolTip.showText(place, reason, self.view, QRect(), 6000)
        self.state.add_log("warning", reason)

    def add_node(self, type: str, at: QPointF, *, onto_wire: bool = True) -> str | None:
        """Add a node with its corner at a point; dropped on a wire it is put into it."""
        spec = self.state.library.get(type)
        if spec is None:
            return None
        node = edits.new_node(self.state.document, spec, point_of(geometry.snapped(at)))
        middle = QPointF(*node.position) + QPointF(geometry.LEAST_WIDTH, geometry.FIRST_PORT) / 2
        wire = hits.wire_near(self.canvas, middle, 0.5) if onto_wire else None
        if not self.perform(c.AddNode(node), f"Add {spec.title}"):
            return None
        if wire is not None:
            self._put_onto_wire(node, wire)
        self.state.select(Selection(nodes=frozenset({node.id})))
        return node.id

    def _put_onto_wire(self, node: NodeItem, wire: EdgeKey) -> None:
        """Put a node that was just added into a wire, as the same step of undo."""
        parts = edits.insertion(self.state.document, self.state.inference, node.id, wire)
        if parts:
            self.state.undo_stack.undo()
            self.perform(c.Compound("Insert on the wire", (c.AddNode(node), *parts)))

    def add_node_in_view(self, type: str) -> str | None:
        """Add a node right of the one that is selected, else in the middle of what is seen."""
        chosen = self.state.selection.nodes
        if len(chosen) == 1:
            frame = self.canvas.nodes[next(iter(chosen))].frame
            at = QPointF(frame.right() + 60.0, frame.top())
        else:
            at = self.view.visible_rect().center() - QPointF(70.0, 37.0)
        id = self.add_node(type, self._free_place(at), onto_wire=False)
        if id is not None and not self.view.visible_rect().contains(self.canvas.nodes[id].frame):
            self.view.center_on(self.canvas.nodes[id].frame.center())
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
            at = geometry.snapped(self.place_here())
            self._add_all(paste(self.state.document, text, point_of(at)))

    def place_here(self) -> QPointF:
        """Where the pointer is, or a little off the middle of the view each time."""
        under = self.view.viewport().mapFromGlobal(self.view.cursor_place())
        if self.view.viewport().rect().contains(under) and self.view.underMouse():
            return self.view.mapToScene(under)
        self._pasted += 1
        return self.view.visible_rect().center() + QPointF(20.0, 20.0) * self._pasted

    def duplicate(self) -> None:
        """Copy the selected nodes to the right below."""
        nodes = self._chosen_nodes()
        if nodes:
            rect = QRectF()
            for id in nodes:
                rect = rect.united(self.canvas.nodes[id].frame)
            at = point_of(geometry.snapped(rect.topLeft() + QPointF(40.0, 40.0)))
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
            corner = self.view.visible_rect().center() - QPointF(160.0, 100.0)
            rect = QRectF(corner, QSizeF(320.0, 200.0))
        change = edits.frame_around((rect.x(), rect.y(), rect.width(), rect.height()))
        if self.perform(change):
            self.state.select(Selection(boxes=frozenset({change.frame.id})))

    def add_note(self) -> None:
        """Put an empty note at the pointer, and write into it."""
        at = geometry.snapped(self.place_here())
        change = edits.note_at(point_of(at))
        if self.perform(change):
            self.state.select(Selection(boxes=frozenset({change.note.id})))
            self.view.asking.edit_box(change.note.id)

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
            places = {id: point_of(self.canvas.nodes[id].pos() + by) for id in sorted(nodes)}
            self.perform(c.MoveNodes(places), "Move", merge="nudge " + " ".join(sorted(nodes)))


def point_of(point: QPointF) -> Point:
    """A point as documents keep it."""
    return (point.x(), point.y())
