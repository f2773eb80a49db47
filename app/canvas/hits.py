"""What lies under the pointer: a port, a mark or label on a wire, a node, a wire, a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QPointF, QRectF

from ...nodes.items import EdgeKey
from .boxes import FrameItem, GroupItem, NoteItem
from .geometry import distance_to_path
from .scene import CanvasScene

PORT_REACH, WIRE_REACH, MARK_REACH = 10.0, 7.0, 9.0
CORNER = 14.0

Kind = Literal["input", "output", "mark", "label", "node", "wire", "box", "corner", "nothing"]


@dataclass(frozen=True)
class Hit:
    """Something under the pointer; `id` is a node or box, `name` a port or a mark."""

    kind: Kind
    id: str = ""
    name: str = ""
    edge: EdgeKey | None = None


NOTHING = Hit("nothing")


def hit(scene: CanvasScene, at: QPointF, zoom: float) -> Hit:
    """What a press at this point of the scene is on, nearest to the eye first."""
    return (
        port_near(scene, at, zoom)
        or _on_mark(scene, at)
        or _on_node(scene, at)
        or _on_wire(scene, at, zoom)
        or _on_box(scene, at)
        or NOTHING
    )


def port_near(scene: CanvasScene, at: QPointF, zoom: float, side: str = "") -> Hit | None:
    """The port within reach, of one `side` (`input`, `output`) or any."""
    reach = max(PORT_REACH, min(20.0, PORT_REACH / zoom))
    best: tuple[float, Hit] | None = None
    for id in scene.node_bounds.at(at, reach):
        item = scene.nodes[id]
        local = at - item.pos()
        for kind, ports in (("input", item.look.card.inputs), ("output", item.look.card.outputs)):
            if side and kind != side:
                continue
            for name, place in ports.items():
                away = (local - place).manhattanLength()
                if away <= reach and (best is None or away < best[0]):
                    found = Hit("input", id, name) if kind == "input" else Hit("output", id, name)
                    best = (away, found)
    return best[1] if best else None


def node_at(scene: CanvasScene, at: QPointF) -> str | None:
    """The uppermost node at a point."""
    found = scene.node_bounds.at(at)
    return found[-1] if found else None


def wire_near(scene: CanvasScene, at: QPointF, zoom: float) -> EdgeKey | None:
    """The wire within reach of a point."""
    reach = max(WIRE_REACH, min(16.0, WIRE_REACH / zoom))
    best: tuple[float, EdgeKey] | None = None
    for key in scene.edge_bounds.at(at):
        away = distance_to_path(scene.edges[key].route.path, at)
        if away <= reach and (best is None or away < best[0]):
            best = (away, key)
    return best[1] if best else None


def _on_mark(scene: CanvasScene, at: QPointF) -> Hit | None:
    for key in scene.edge_bounds.at(at):
        item = scene.edges[key]
        for mark in item.marks:
            if (at - item.mark_at(mark)).manhattanLength() <= MARK_REACH:
                return Hit("mark", name=mark, edge=key)
        if item.pill.contains(at):
            return Hit("label", edge=key)
    return None


def _on_node(scene: CanvasScene, at: QPointF) -> Hit | None:
    found = node_at(scene, at)
    return Hit("node", found) if found else None


def _on_wire(scene: CanvasScene, at: QPointF, zoom: float) -> Hit | None:
    found = wire_near(scene, at, zoom)
    return Hit("wire", edge=found) if found else None


def _on_box(scene: CanvasScene, at: QPointF) -> Hit | None:
    for kind in (NoteItem, GroupItem, FrameItem):
        for id, item in scene.boxes.items():
            if not isinstance(item, kind):
                continue
            frame = item.frame
            corner = QRectF(frame.right() - CORNER, frame.bottom() - CORNER, CORNER, CORNER)
            if not isinstance(item, GroupItem) and corner.contains(at):
                return Hit("corner", id)
            if item.handle.contains(at):
                return Hit("box", id)
    return None
