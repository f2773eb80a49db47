"""The scene: items that follow the document, found again by comparing what each one shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtWidgets import QGraphicsScene

from ...nodes.items import Edge, EdgeKey
from ...nodes.items import NodeItem as NodeData
from .. import theme
from ..state import EditorState, Selection, key_of
from . import geometry
from .boxes import BoxItem, FrameItem, GroupItem, GroupLook, NoteItem, group_line, group_rect
from .edge_item import EdgeItem, WireLayer
from .far import FarPicture, picture
from .geometry import Card, Route
from .index import Bounds
from .looks import Looks
from .node_item import NodeItem
from .paused_card import HEIGHT, PausedCard, words

EXTENT = 200_000.0
DETOUR_NODES, DETOUR_REACH = 400, 220.0
"""Wires longer than this go around cards, in drawings of at most so many nodes."""


@dataclass
class _Shown:
    """What of selection and run the items show, so that only what is news is shown again."""

    selection: Selection = field(default_factory=Selection)
    nodes: set[str | None] = field(default_factory=set)
    edges: set[EdgeKey] = field(default_factory=set)
    ran: int = 0


class CanvasScene(QGraphicsScene):
    """Draws the document of a state and owns nothing of it."""

    def __init__(self, state: EditorState) -> None:
        super().__init__()
        self.setItemIndexMethod(QGraphicsScene.ItemIndexMethod.NoIndex)
        self.setSceneRect(QRectF(-EXTENT / 2, -EXTENT / 2, EXTENT, EXTENT))
        self.state = state
        self.nodes: dict[str, NodeItem] = {}
        self.edges: dict[EdgeKey, EdgeItem] = {}
        self.boxes: dict[str, BoxItem] = {}
        self._layer = WireLayer(self.sceneRect(), self._edges_in)
        self.addItem(self._layer)
        self.looks = Looks(state)
        self._touching: dict[str, list[EdgeKey]] = {}
        self._marks: dict[tuple[object, ...], object] = {}
        self._placed: dict[str, tuple[QRectF, Card]] = {}
        self._shown = _Shown()
        self._paused_card: PausedCard | None = None
        state.document_replaced.connect(self._rebuild)
        state.document_changed.connect(self._document_changed)
        state.inference_changed.connect(self._show_inference)
        state.selection_changed.connect(self._show_selection)
        state.run_changed.connect(self._show_run)
        state.training_changed.connect(self._show_run)
        state.node_ran.connect(self._show_node_run)
        state.group_changed.connect(lambda _: self.refresh())
        theme.switch.changed.connect(self._recolor)
        self.sync()

    # following the document

    def sync(self, *, everything: bool = False) -> None:
        """Make the items agree with the document; what has not changed is left alone.

        `everything` shows all again, for when inference or a drag changed more than the document.
        """
        document = self.state.document
        for key in self.edges.keys() - document.edges.keys():
            del self.edges[key]
        for id in self.nodes.keys() - document.nodes.keys():
            self.removeItem(self.nodes.pop(id))
            self._placed.pop(id)
        rewired = self._note_wires()
        moved = set()
        for id, node in document.nodes.items():
            item = self.nodes.get(id)
            if everything or item is None or item.node is not node or id in rewired:
                self._sync_node(id, node)
                if self._is_elsewhere(id):
                    moved.add(id)
        self._forget_places()
        self._sync_edges(moved, self._note_marks(), everything)
        self._sync_boxes()
        self._forget_places()
        self._show_paused()
        self.update()

    def _note_wires(self) -> set[str]:
        """Note which inputs have wires; the nodes for which that is news."""
        wired: dict[str, list[str]] = {}
        self._touching = {id: [] for id in self.state.document.nodes}
        for key, edge in self.state.document.edges.items():
            wired.setdefault(edge.target, []).append(edge.input)
            self._touching[edge.target].append(key)
            if edge.source != edge.target:
                self._touching[edge.source].append(key)
        before, self.looks.wired = self.looks.wired, wired
        return {id for id in before.keys() | wired.keys() if before.get(id) != wired.get(id)}

    def _note_marks(self) -> set[EdgeKey]:
        """Note breakpoints and watches; the wires for which that is news."""
        document = self.state.document
        marks: dict[tuple[object, ...], object] = {
            **{("stop", *key): mark for key, mark in document.breakpoints.items()},
            **{("watch", *key): mark for key, mark in document.watches.items()},
        }
        before, self._marks = self._marks, marks
        news = {
            key for key in before.keys() | marks.keys() if before.get(key) is not marks.get(key)
        }
        return {(str(key[1]), str(key[2])) for key in news}

    def _sync_node(self, id: str, node: NodeData) -> None:
        item, look = self.nodes.get(id), self.looks.look(node)
        if item is None:
            item = self.nodes[id] = NodeItem(node, look)
            self.addItem(item)
        else:
            item.show_node(node, look)

    def _is_elsewhere(self, id: str) -> bool:
        """Whether a node is at another place or of another size than at the last look."""
        now = (self.nodes[id].covered, self.nodes[id].look.card)
        before, self._placed[id] = self._placed.get(id), now
        return before != now

    def _sync_edges(self, moved: set[str], marked: set[EdgeKey], everything: bool) -> None:
        detours = len(self.nodes) <= DETOUR_NODES and bool(moved)
        for key, edge in self.state.document.edges.items():
            item = self.edges.get(key)
            if item is None:
                self.edges[key] = EdgeItem(edge, self._route(edge), self.looks.wire(edge))
                continue
            other = item.edge != edge
            if other or detours or not moved.isdisjoint((edge.source, edge.target)):
                item.edge = edge
                item.show_route(self._route(edge))
            if other or everything or key in marked:
                item.show_wire(self.looks.wire(edge))

    def _sync_boxes(self) -> None:
        document, chosen = self.state.document, self.state.selection.boxes
        ids = document.groups.keys() | document.frames.keys() | document.notes.keys()
        for id in self.boxes.keys() - ids:
            self.removeItem(self.boxes.pop(id))
        for id in document.groups:
            self._sync_group(id)
        for kind, items in ((FrameItem, document.frames), (NoteItem, document.notes)):
            for id, data in items.items():
                item = self.boxes.get(id)
                if not isinstance(item, kind):
                    item = self.boxes[id] = kind(data)  # type: ignore[arg-type]
                    self.addItem(item)
                item.show_item(data, id in chosen)  # type: ignore[arg-type]

    def _sync_group(self, id: str) -> None:
        group = self.state.document.groups[id]
        members = [self.nodes[node].frame for node in group.nodes if node in self.nodes]
        if not members:
            return
        state, line = group_line(self.state.group_states.get(id), self.state.reports.get(id))
        look = GroupLook(group.name, state, line, id in self.state.selection.boxes)
        rect = group_rect(members)
        item = self.boxes.get(id)
        if isinstance(item, GroupItem):
            item.show_group(rect, look)
        else:
            item = self.boxes[id] = GroupItem(id, rect, look)
            self.addItem(item)

    def _rebuild(self, _: object = None) -> None:
        for item in (*self.nodes.values(), *self.boxes.values()):
            self.removeItem(item)
        self.edges, self.nodes, self.boxes = {}, {}, {}
        self._placed, self._shown = {}, _Shown()
        self.looks.collect_problems()
        self.sync(everything=True)

    def _document_changed(self, _: object) -> None:
        self.sync()

    def _show_inference(self, _: object) -> None:
        self.looks.collect_problems()
        self.sync(everything=True)

    def _show_selection(self, now: Selection) -> None:
        before, self._shown.selection = self._shown.selection, now
        self._refresh(before.nodes ^ now.nodes, before.edges ^ now.edges)

    def _show_run(self, _: object = None) -> None:
        """Show where the run is; all of it if it began anew."""
        run, shown = self.state.run, self._shown
        halted = self.state.halted
        nodes = {run.failed.node if run.failed else None, halted.node if halted else None}
        nodes.add(run.waits_for)
        edges = {key_of(run.paused.edge)} if run.paused and run.paused.edge else set()
        if len(run.ran) < shown.ran:
            self._refresh(self.nodes, self.edges)
        else:
            self._refresh(nodes | shown.nodes, edges | shown.edges)
        shown.nodes, shown.edges, shown.ran = nodes, edges, len(run.ran)

    def refresh(self) -> None:
        """Show again what selection, run and reports say; no item moves."""
        self._refresh(self.nodes, self.edges)

    def _refresh(self, nodes: Iterable[str | None], edges: Iterable[EdgeKey]) -> None:
        self.__dict__.pop("far_picture", None)
        for id in nodes:
            item = self.nodes.get(id or "")
            if item is not None:
                item.show_node(item.node, self.looks.look(item.node))
        changed = [
            self.edges[key].show_wire(self.looks.wire(self.edges[key].edge))
            for key in edges
            if key in self.edges
        ]
        if any(changed):
            self.__dict__.pop("edge_bounds", None)
            self._layer.update()
        self._sync_boxes()
        self._show_paused()

    def _show_paused(self) -> None:
        """The card under the wire at which the run waits."""
        paused = self.state.run.paused
        item = self.edges.get(key_of(paused.edge)) if paused and paused.edge else None
        if self._paused_card is not None:
            self.removeItem(self._paused_card)
            self._paused_card = None
        if paused is not None and item is not None:
            title, why = words(paused, self.state.document.nodes[item.edge.target].name)
            card = PausedCard(title, why)
            middle = item.route.middle
            places = [middle + QPointF(0.0, 20.0), middle - QPointF(0.0, 20.0 + HEIGHT)]
            covered = [
                len(self.node_bounds.touching(card.rect().translated(place))) for place in places
            ]
            card.setPos(places[covered.index(min(covered))])
            self._paused_card = card
            self.addItem(card)

    def _show_node_run(self, id: str) -> None:
        group = self.state.document.groups.get(id)
        nodes = group.nodes if group else (id,)
        self._shown.ran = len(self.state.run.ran)
        self._refresh(nodes, [key for node in nodes for key in self._touching.get(node, ())])

    def _recolor(self, _: object) -> None:
        for item in self.items():
            item.update()

    # where items are

    def _route(self, edge: Edge) -> Route:
        source, target = self.nodes[edge.source], self.nodes[edge.target]
        start, end = source.output_at(edge.output), target.input_at(edge.input)
        others: Iterable[QRectF] = ()
        if len(self.nodes) <= DETOUR_NODES and end.x() - start.x() > DETOUR_REACH:
            span = QRectF(start, end).normalized().adjusted(0.0, -40.0, 0.0, 40.0)
            near = self.node_bounds.touching(span)
            others = [self.nodes[id].frame for id in near if id not in (edge.source, edge.target)]
            if others:
                others = self._columns(start, end, edge)
        return geometry.route(start, end, source.frame, target.frame, others)

    def _columns(self, start: QPointF, end: QPointF, edge: Edge) -> list[QRectF]:
        """The cards between the ends of a wire, however high or low."""
        span = QRectF(start.x(), -EXTENT, end.x() - start.x(), 2 * EXTENT)
        found = self.node_bounds.touching(span)
        return [self.nodes[id].covered for id in found if id not in (edge.source, edge.target)]

    def drag(self, offsets: Mapping[str, QPointF]) -> None:
        """Show nodes at other places while they are dragged; the document knows nothing of it."""
        self.__dict__.pop("far_picture", None)
        keys: set[EdgeKey] = set()
        for id, place in offsets.items():
            self.nodes[id].setPos(place)
            keys.update(self._touching[id])
        for key in keys:
            item = self.edges[key]
            source, target = self.nodes[item.edge.source], self.nodes[item.edge.target]
            item.show_route(
                geometry.route(
                    source.output_at(item.edge.output),
                    target.input_at(item.edge.input),
                    source.frame,
                    target.frame,
                )
            )
        self.__dict__.pop("edge_bounds", None)
        self._layer.update()
        for id, group in self.state.document.groups.items():
            if not offsets.keys().isdisjoint(group.nodes):
                self._sync_group(id)

    def drop_drag(self) -> None:
        """Put everything back to where the document has it."""
        self.sync(everything=True)

    def _forget_places(self) -> None:
        for name in ("node_bounds", "edge_bounds", "far_picture"):
            self.__dict__.pop(name, None)

    @cached_property
    def far_picture(self) -> FarPicture:
        """What is drawn when nodes are too small to read."""
        return picture(self.nodes, self.edges)

    @cached_property
    def node_bounds(self) -> Bounds[str]:
        """The cards' rectangles."""
        return Bounds(list(self.nodes), (item.frame for item in self.nodes.values()))

    @cached_property
    def edge_bounds(self) -> Bounds[EdgeKey]:
        """The wires' rectangles."""
        return Bounds(list(self.edges), (item.rect for item in self.edges.values()))

    def _edges_in(self, rect: QRectF) -> list[EdgeItem]:
        return [self.edges[key] for key in self.edge_bounds.touching(rect)]

    def drawing_rect(self) -> QRectF:
        """The rectangle around everything drawn."""
        rect = self.node_bounds.united()
        for item in self.boxes.values():
            rect = rect.united(item.frame)
        return rect

    def close(self) -> None:
        """Let go of every item, in order, before the scene goes."""
        theme.switch.changed.disconnect(self._recolor)
        if self._paused_card is not None:
            self.removeItem(self._paused_card)
            self._paused_card = None
        for item in (*self.nodes.values(), *self.boxes.values(), self._layer):
            self.removeItem(item)
        self.edges, self.nodes, self.boxes = {}, {}, {}
