"""Asking: the search at the pointer, and the edits of names, titles and conditions in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QPointF, QRectF

from ...engine.run.conditions import parse_condition
from ...nodes import changes as c
from ...nodes.evaluate import evaluate
from ...nodes.items import Direction, Edge, EdgeKey
from ...nodes.spec import NodeSpec
from ...nodes.state import DocumentError
from ..search import Entry, SearchPopup, node_entries
from ..state import Selection
from . import edits, geometry
from .editor import point_of
from .inline import InlineEdit

if TYPE_CHECKING:
    from .view import CanvasView


class Asking(QObject):
    """Opens what asks for a word: the search, and line edits on the canvas."""

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self.view, self.state, self.canvas = view, view.state, view.canvas
        self._editor: InlineEdit | None = None

    def search_here(self) -> None:
        """Search for a node to add at the pointer."""
        at = self.view.editor.place_here()
        self._open_search(
            node_entries(self.state),
            lambda entry: self.view.editor.add_node(entry.type, at),
            "Add a node",
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
        found = evaluate(spec, spec.start, ((first, aval),)).findings
        return not any(finding.severity == "error" for finding in found)

    def _add_connected(self, type: str, side: str, id: str, port: str, at: QPointF) -> None:
        spec, document = self.state.library[type], self.state.document
        if side == "output":
            place = at - QPointF(0.0, geometry.FIRST_PORT)
        else:
            place = at - QPointF(geometry.LEAST_WIDTH, geometry.FIRST_PORT)
        node = edits.new_node(document, spec, point_of(geometry.snapped(place)))
        if side == "output":
            edge = Edge(id, port, node.id, spec.input_ports()[0].name)
        else:
            edge = Edge(node.id, spec.outputs[0].name, id, port)
        change = c.Compound(f"Add {spec.title}", (c.AddNode(node), c.Connect(edge)))
        if self.view.editor.perform(change):
            self.state.select(Selection(nodes=frozenset({node.id})))

    def _open_search(
        self, entries: Sequence[Entry], choose: Callable[[Entry], object], hint: str
    ) -> None:
        popup = SearchPopup(self.view, entries, hint)
        popup.chosen.connect(choose)
        popup.open_at(self.view.cursor_place() + QPoint(4, 4))

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
        place = self.view.mapFromScene(rect).boundingRect()
        self._editor = InlineEdit(self.view, text, place, commit)
        self._editor.destroyed.connect(self._edited)

    def _edited(self) -> None:
        self._editor = None

    def _try(self, change: c.Change) -> str:
        try:
            self.state.perform(change)
        except DocumentError as error:
            return str(error)
        return ""
