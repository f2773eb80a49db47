"""What gestures do to a document: each function gives one change, and applies nothing."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ...nodes import changes as c
from ...nodes.clipboard import copy_nodes, paste
from ...nodes.document import Document
from ...nodes.infer import Inference
from ...nodes.items import (
    Breakpoint,
    Direction,
    Edge,
    EdgeKey,
    Frame,
    NodeItem,
    Note,
    Point,
    Rect,
    Watch,
    new_id,
)
from ...nodes.library import spec_of
from ...nodes.spec import NodeSpec
from ...nodes.wiring import can_connect
from ..state import Selection


def new_node(document: Document, spec: NodeSpec, at: Point) -> NodeItem:
    """A node of a kind, with a name that is free."""
    name = document.free_name(spec.stem)
    params = dict(spec.start)
    return NodeItem(id=new_id(), type=spec.type, name=name, params=params, position=at)


def delete(document: Document, selection: Selection) -> c.Change | None:
    """Remove what is selected; None if nothing is."""
    parts: list[c.Change] = []
    for id in sorted(selection.boxes):
        if id in document.groups:
            parts.append(c.RemoveGroup(id))
        elif id in document.frames:
            parts.append(c.RemoveFrame(id))
        elif id in document.notes:
            parts.append(c.RemoveNote(id))
    for key in sorted(selection.edges):
        edge = document.edges.get(key)
        if edge and not {edge.source, edge.target} & selection.nodes:
            parts.append(c.Disconnect(*key))
    parts += [c.RemoveNode(id) for id in sorted(selection.nodes)]
    return _one("Delete", parts)


def duplicate(document: Document, ids: Iterable[str], at: Point) -> c.Change:
    """Copies of nodes with the wires between them, their corner at a point."""
    change = paste(document, copy_nodes(document, ids), at)
    return msgspec.structs.replace(change, name="Duplicate")


def added_nodes(change: c.Change) -> frozenset[str]:
    """The ids of the nodes that a change adds."""
    if isinstance(change, c.AddNode):
        return frozenset({change.node.id})
    if isinstance(change, c.Compound):
        return frozenset().union(*(added_nodes(part) for part in change.changes))
    return frozenset()


def toggle_breakpoint(
    document: Document, key: EdgeKey, direction: Direction = "forward"
) -> c.Change:
    """Set a breakpoint on a wire that has none, or remove the one that is there."""
    if (*key, direction) in document.breakpoints:
        return c.RemoveBreakpoint(*key, direction)
    return c.SetBreakpoint(Breakpoint(target=key[0], input=key[1], direction=direction))


def enable_breakpoint(document: Document, key: EdgeKey, direction: Direction, on: bool) -> c.Change:
    """Switch a breakpoint on or off."""
    mark = document.breakpoints[(*key, direction)]
    return c.SetBreakpoint(msgspec.structs.replace(mark, enabled=on))


def set_condition(
    document: Document, key: EdgeKey, condition: str, direction: Direction = "forward"
) -> c.Change:
    """Give a wire's breakpoint a condition, making one if there is none."""
    mark = document.breakpoints.get((*key, direction))
    if mark is None:
        mark = Breakpoint(target=key[0], input=key[1], direction=direction)
    return c.SetBreakpoint(msgspec.structs.replace(mark, condition=condition, enabled=True))


def toggle_watch(document: Document, key: EdgeKey) -> c.Change:
    """Watch a wire, or stop watching it."""
    if (*key, "forward") in document.watches:
        return c.RemoveWatch(*key)
    return c.SetWatch(Watch(target=key[0], input=key[1]))


def insertion(document: Document, inference: Inference, node: str, key: EdgeKey) -> list[c.Change]:
    """Put a node that no wire touches onto a wire: the first ports that fit; empty if none do."""
    edge = document.edges[key]
    spec = spec_of(document.nodes[node].type)
    touched = document.edges_into(node) or document.edges_from(node)
    if spec is None or touched or not spec.outputs or node in (edge.source, edge.target):
        return []
    for port in spec.input_ports():
        verdict = can_connect(document, edge.source, edge.output, node, port.name, inference)
        if verdict.ok:
            return [
                c.Connect(Edge(edge.source, edge.output, node, port.name)),
                c.Connect(Edge(node, spec.outputs[0].name, edge.target, edge.input)),
            ]
    return []


def frame_around(rect: Rect, title: str = "Frame") -> c.AddFrame:
    """A frame around a rectangle."""
    x, y, width, height = rect
    return c.AddFrame(
        Frame(id=new_id(), title=title, rect=(x - 24, y - 44, width + 48, height + 68))
    )


def note_at(at: Point) -> c.AddNote:
    """An empty note."""
    return c.AddNote(Note(id=new_id(), rect=(*at, 240.0, 96.0)))


def move_boxes(document: Document, ids: Iterable[str], by: Point) -> list[c.Change]:
    """Frames and notes at other places."""
    parts: list[c.Change] = []
    for id in sorted(ids):
        if frame := document.frames.get(id):
            parts.append(c.SetFrame(msgspec.structs.replace(frame, rect=_moved(frame.rect, by))))
        elif note := document.notes.get(id):
            parts.append(c.SetNote(msgspec.structs.replace(note, rect=_moved(note.rect, by))))
    return parts


def resize_box(document: Document, id: str, rect: Rect) -> c.Change:
    """A frame or note with another rectangle."""
    if frame := document.frames.get(id):
        return c.SetFrame(msgspec.structs.replace(frame, rect=rect))
    return c.SetNote(msgspec.structs.replace(document.notes[id], rect=rect))


def rename_box(document: Document, id: str, text: str) -> c.Change:
    """A group with another name, a frame with another title, a note with other words."""
    if group := document.groups.get(id):
        return c.SetGroup(msgspec.structs.replace(group, name=text))
    if frame := document.frames.get(id):
        return c.SetFrame(msgspec.structs.replace(frame, title=text))
    return c.SetNote(msgspec.structs.replace(document.notes[id], text=text))


def together(name: str, parts: list[c.Change]) -> c.Change | None:
    """Several changes as one step; None if there are none."""
    return _one(name, parts)


def _one(name: str, parts: list[c.Change]) -> c.Change | None:
    return c.Compound(name, tuple(parts)) if parts else None


def _moved(rect: Rect, by: Point) -> Rect:
    return (rect[0] + by[0], rect[1] + by[1], rect[2], rect[3])
