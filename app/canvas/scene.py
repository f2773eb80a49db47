"""The scene: items that follow the document, found again by comparing what each one shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtWidgets import QGraphicsScene

from ...engine.shape import Aval
from ...nodes.infer import Problem
from ...nodes.items import Edge, EdgeKey
from ...nodes.items import NodeItem as NodeData
from .. import theme
from ..state import EditorState, key_of
from . import geometry
from .boxes import BoxItem, FrameItem, GroupItem, GroupLook, NoteItem, group_line, group_rect
from .edge_item import EdgeItem, Wire, WireLayer
from .far import FarPicture, picture
from .geometry import Route
from .index import Bounds
from .node_item import Look, NodeItem
from .paused_card import PausedCard, words

EXTENT = 200_000.0
DETOUR_NODES, DETOUR_REACH = 400, 220.0
"""Wires longer than this go around cards, in drawings of at most so many nodes."""


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
        self._wired: dict[str, list[str]] = {}
        self._touching: dict[str, list[EdgeKey]] = {}
        self._problems: dict[str, list[Problem]] = {}
        self._paused_card: PausedCard | None = None
        state.document_replaced.connect(self._rebuild)
        state.document_changed.connect(self._document_changed)
        state.inference_changed.connect(self._show_inference)
        state.selection_changed.connect(self._show_selection)
        state.run_changed.connect(lambda _: self.refresh())
        state.node_ran.connect(self._show_node_run)
        state.group_changed.connect(lambda _: self.refresh())
        theme.switch.changed.connect(self._recolor)
        self._collect_problems()
        self.sync()

    # following the document

    def sync(self) -> None:
        """Make the items agree with the document; what has not changed is left alone."""
        document = self.state.document
        self._wired, self._touching = {}, {id: [] for id in document.nodes}
        for key, edge in document.edges.items():
            self._wired.setdefault(edge.target, []).append(edge.input)
            self._touching[edge.target].append(key)
            if edge.source != edge.target:
                self._touching[edge.source].append(key)
        for key in self.edges.keys() - document.edges.keys():
            del self.edges[key]
        for id in self.nodes.keys() - document.nodes.keys():
            self.removeItem(self.nodes.pop(id))
        moved = {id for id, node in document.nodes.items() if self._sync_node(id, node)}
        self._forget_places()
        detours = len(document.nodes) <= DETOUR_NODES and bool(moved)
        for key, edge in document.edges.items():
            self._sync_edge(key, edge, detours or not moved.isdisjoint((edge.source, edge.target)))
        self._sync_boxes()
        self._forget_places()
        self._show_paused()
        self.update()

    def _sync_node(self, id: str, node: NodeData) -> bool:
        """Make or change a node's item; True when it is elsewhere or of another size now."""
        item, look = self.nodes.get(id), self._look(node)
        if item is None:
            item = self.nodes[id] = NodeItem(node, look)
            self.addItem(item)
            return True
        before = (item.covered, item.look.card)
        item.show_node(node, look)
        return before != (item.covered, item.look.card)

    def _sync_edge(self, key: EdgeKey, edge: Edge, moved: bool) -> None:
        item = self.edges.get(key)
        if item is None:
            self.edges[key] = EdgeItem(edge, self._route(edge), self._wire(edge))
        elif moved or item.edge != edge:
            item.edge = edge
            item.show_route(self._route(edge))
            item.show_wire(self._wire(edge))
        else:
            item.show_wire(self._wire(edge))

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
        self._collect_problems()
        self.sync()

    def _document_changed(self, _: object) -> None:
        self.sync()

    def _show_inference(self, _: object) -> None:
        self._collect_problems()
        self.sync()

    def _show_selection(self, _: object) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Show what selection, run and reports say; no item moves."""
        self.__dict__.pop("far_picture", None)
        nodes = self.state.document.nodes
        for id, item in self.nodes.items():
            if id in nodes:
                item.show_node(item.node, self._look(item.node))
        changed = [item.show_wire(self._wire(item.edge)) for item in self.edges.values()]
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
            at = item.route.middle + QPointF(0.0, 20.0)
            self._paused_card = PausedCard(title, why, at)
            self.addItem(self._paused_card)

    def _show_node_run(self, id: str) -> None:
        self.__dict__.pop("far_picture", None)
        group = self.state.document.groups.get(id)
        for node in group.nodes if group else (id,):
            item = self.nodes.get(node)
            if item is None:
                continue
            item.show_node(item.node, self._look(item.node))
            for key in self._touching.get(node, ()):
                self.edges[key].show_wire(self._wire(self.edges[key].edge))
        self._layer.update()

    def _recolor(self, _: object) -> None:
        for item in self.items():
            item.update()

    def _collect_problems(self) -> None:
        self._problems = {}
        for problem in self.state.inference.problems:
            if problem.node is not None:
                self._problems.setdefault(problem.node, []).append(problem)

    # what items show

    def _look(self, node: NodeData) -> Look:
        state, id = self.state, node.id
        spec = state.library.get(node.type)
        wired = self._wired.get(id, [])
        if spec is not None:
            inputs = tuple(port.name for port in spec.input_ports(wired))
            outputs = tuple(port.name for port in spec.outputs)
            summary = state.inference.summaries.get(id) or spec.summary(node.params)
            if summary == node.name:
                summary = spec.title
            category = spec.category
        else:
            inputs, summary, category = tuple(sorted(wired)), f"unknown: {node.type}", "unknown"
            outputs = tuple(sorted({e.output for e in state.document.edges_from(id)}))
        waiting = state.run.state == "paused" and state.run.next_node == id
        return Look(
            category,
            summary,
            geometry.lay_out(node.name, summary, inputs, outputs),
            error=self._error(id),
            note="next" if waiting else self._time(id),
            selected=id in state.selection.nodes,
            next=waiting,
        )

    def _error(self, id: str) -> str:
        failed = self.state.run.failed
        if failed is not None and failed.node == id:
            return failed.message
        halted = self.state.training.paused
        if halted is not None and halted.node == id and halted.reason in ("nan", "error"):
            return halted.message
        errors = [p.message for p in self._problems.get(id, ()) if p.severity == "error"]
        return errors[0] if errors else ""

    def _time(self, id: str) -> str:
        for group in self._groups_of(id):
            report = self.state.reports.get(group)
            news = self.state.group_states.get(group)
            if report is not None and (news is None or news.state == "compiled"):
                shared = any(id in k.nodes and len(k.nodes) > 1 for k in report.kernels)
                return "fused" if shared else ""
        spent = self.state.run.milliseconds.get(id)
        if spent is None:
            return ""
        return f"{spent:.2f} ms" if spent < 10 else f"{spent:.0f} ms"

    def _groups_of(self, id: str) -> list[str]:
        return [g.id for g in self.state.document.groups.values() if id in g.nodes]

    def _wire(self, edge: Edge) -> Wire:
        state, key, document = self.state, edge.key, self.state.document
        forward = document.breakpoints.get((*key, "forward"))
        gradient = document.breakpoints.get((*key, "gradient"))
        paused = state.run.paused
        wrong = any(p.port == edge.input for p in self._problems.get(edge.target, ()))
        label, short = self._label(edge)
        return Wire(
            label=label,
            short=short,
            ran=key in state.run.ran,
            paused=paused is not None and paused.edge is not None and key_of(paused.edge) == key,
            failed=wrong,
            selected=key in state.selection.edges,
            breakpoint=_on_off(forward),
            conditional=forward is not None and bool(forward.condition),
            gradient=_on_off(gradient),
            watch=(*key, "forward") in document.watches or (*key, "gradient") in document.watches,
        )

    def _label(self, edge: Edge) -> tuple[str, str]:
        """The shape on a wire, with the dtype where the source node changes it, and alone."""
        avals = self.state.inference.avals
        aval = avals.get((edge.source, edge.output))
        if aval is None:
            return "", ""
        entering = [
            self.state.inference.edges.get((edge.source, port))
            for port in self._wired.get(edge.source, ())
        ]
        same = any(other is not None and other.dtype == aval.dtype for other in entering)
        shape = shape_text(aval)
        return (shape if same else f"{shape} {aval.dtype.short}"), shape

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
        self.sync()

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


def shape_text(aval: Aval) -> str:
    """A shape as it stands on wires: `N×64×8×8`, or `scalar`."""
    return "×".join(map(str, aval.shape)) or "scalar"


def _on_off(mark: object) -> str:
    if mark is None:
        return ""
    return "on" if getattr(mark, "enabled", True) else "off"
