"""What each change does to a document's tables, and which change undoes it.

The rules guard structure (ids exist, names are unique, values are plain data) and nothing else;
what a drawing means (cycles, shapes, missing wires) is told by `infer`, so that every state that
a file can hold can be drawn, mended and undone. A rule checks everything before it writes.
"""

import math
from collections.abc import Iterable, Mapping
from functools import singledispatch
from typing import TypeVar

import msgspec

from . import changes as c
from .items import Edge, Frame, Group, Note
from .state import DocumentError, State, check_name, plain

K = TypeVar("K")
V = TypeVar("V")
Shape = TypeVar("Shape", Group, Frame, Note)


def apply(state: State, change: c.Change) -> c.Change:
    """Apply `change` to `state` and return its inverse; on `DocumentError` nothing has changed."""
    return _apply(change, state)


@singledispatch
def _apply(change: object, state: State) -> c.Change:
    raise DocumentError(f"{type(change).__name__} is no change of a document.")


@_apply.register
def _(change: c.Compound, state: State) -> c.Change:
    inverses: list[c.Change] = []
    try:
        for part in change.changes:
            inverses.append(_apply(part, state))
    except DocumentError:
        for inverse in reversed(inverses):
            _apply(inverse, state)
        raise
    return c.Compound(change.name, tuple(reversed(inverses)))


@_apply.register
def _(change: c.AddNode, state: State) -> c.Change:
    node = change.node
    _free(state.nodes, node.id, "node")
    _check_free_name(state, node.name)
    params = _plain_params(node.name, node.params)
    position = _finite(node.position, f"The position of {node.name!r}")
    state.nodes[node.id] = msgspec.structs.replace(node, params=params, position=position)
    return c.RemoveNode(node.id)


@_apply.register
def _(change: c.RemoveNode, state: State) -> c.Change:
    node = _need(state.nodes, change.id, "node")
    restore: list[c.Change] = [c.AddNode(node)]
    for edge in [e for e in state.edges.values() if change.id in (e.source, e.target)]:
        restore += _take_edge(state, edge)
    for group in [g for g in state.groups.values() if change.id in g.nodes]:
        restore.append(_leave_group(state, group, change.id))
    del state.nodes[change.id]
    return c.Compound(f"Restore {node.name}", tuple(restore))


@_apply.register
def _(change: c.MoveNodes, state: State) -> c.Change:
    moved = {
        id: msgspec.structs.replace(
            _need(state.nodes, id, "node"), position=_finite(position, "A position")
        )
        for id, position in change.positions.items()
    }
    before = {id: state.nodes[id].position for id in moved}
    state.nodes.update(moved)
    return c.MoveNodes(before)


@_apply.register
def _(change: c.SetParameters, state: State) -> c.Change:
    node = _need(state.nodes, change.id, "node")
    values = _plain_params(node.name, change.values)
    named = {*values, *change.unset}
    before = {name: value for name, value in node.params.items() if name in named}
    kept = {name: value for name, value in node.params.items() if name not in change.unset}
    state.nodes[node.id] = msgspec.structs.replace(node, params=kept | values)
    absent = tuple(sorted(name for name in named if name not in before))
    return c.SetParameters(node.id, before, absent)


@_apply.register
def _(change: c.RenameNode, state: State) -> c.Change:
    node = _need(state.nodes, change.id, "node")
    if change.name != node.name:
        _check_free_name(state, change.name)
    state.nodes[node.id] = msgspec.structs.replace(node, name=change.name)
    return c.RenameNode(node.id, node.name)


@_apply.register
def _(change: c.Connect, state: State) -> c.Change:
    edge = change.edge
    _need(state.nodes, edge.source, "node")
    _need(state.nodes, edge.target, "node")
    before = state.edges.get(edge.key)
    state.edges[edge.key] = edge
    return c.Disconnect(edge.target, edge.input) if before is None else c.Connect(before)


@_apply.register
def _(change: c.Disconnect, state: State) -> c.Change:
    edge = _need(state.edges, (change.target, change.input), "wire")
    restore = _take_edge(state, edge)
    return restore[0] if len(restore) == 1 else c.Compound("Reconnect", tuple(restore))


@_apply.register
def _(change: c.SetBreakpoint, state: State) -> c.Change:
    mark = change.breakpoint
    _need(state.edges, (mark.target, mark.input), "wire")
    before = state.breakpoints.get(mark.key)
    state.breakpoints[mark.key] = mark
    return c.RemoveBreakpoint(*mark.key) if before is None else c.SetBreakpoint(before)


@_apply.register
def _(change: c.RemoveBreakpoint, state: State) -> c.Change:
    key = (change.target, change.input, change.direction)
    mark = _need(state.breakpoints, key, "breakpoint")
    del state.breakpoints[key]
    return c.SetBreakpoint(mark)


@_apply.register
def _(change: c.SetWatch, state: State) -> c.Change:
    watch = change.watch
    _need(state.edges, (watch.target, watch.input), "wire")
    before = state.watches.get(watch.key)
    state.watches[watch.key] = watch
    return c.RemoveWatch(*watch.key) if before is None else c.SetWatch(before)


@_apply.register
def _(change: c.RemoveWatch, state: State) -> c.Change:
    key = (change.target, change.input, change.direction)
    watch = _need(state.watches, key, "watch")
    del state.watches[key]
    return c.SetWatch(watch)


@_apply.register
def _(change: c.AddGroup, state: State) -> c.Change:
    _check_group(state, change.group)
    _add(state.groups, change.group, "group")
    return c.RemoveGroup(change.group.id)


@_apply.register
def _(change: c.SetGroup, state: State) -> c.Change:
    _check_group(state, change.group)
    return c.SetGroup(_replace(state.groups, change.group, "group"))


@_apply.register
def _(change: c.RemoveGroup, state: State) -> c.Change:
    return c.AddGroup(_remove(state.groups, change.id, "group"))


@_apply.register
def _(change: c.AddFrame, state: State) -> c.Change:
    _finite(change.frame.rect, "A frame's rectangle")
    _add(state.frames, change.frame, "frame")
    return c.RemoveFrame(change.frame.id)


@_apply.register
def _(change: c.SetFrame, state: State) -> c.Change:
    _finite(change.frame.rect, "A frame's rectangle")
    return c.SetFrame(_replace(state.frames, change.frame, "frame"))


@_apply.register
def _(change: c.RemoveFrame, state: State) -> c.Change:
    return c.AddFrame(_remove(state.frames, change.id, "frame"))


@_apply.register
def _(change: c.AddNote, state: State) -> c.Change:
    _finite(change.note.rect, "A note's rectangle")
    _add(state.notes, change.note, "note")
    return c.RemoveNote(change.note.id)


@_apply.register
def _(change: c.SetNote, state: State) -> c.Change:
    _finite(change.note.rect, "A note's rectangle")
    return c.SetNote(_replace(state.notes, change.note, "note"))


@_apply.register
def _(change: c.RemoveNote, state: State) -> c.Change:
    return c.AddNote(_remove(state.notes, change.id, "note"))


@_apply.register
def _(change: c.SetTraining, state: State) -> c.Change:
    try:
        given = plain(msgspec.to_builtins(change.training), "A training setting")
        training = msgspec.convert(given, type(change.training))
    except msgspec.ValidationError as error:
        raise DocumentError(f"The training settings do not fit: {error}.") from error
    before, state.training = state.training, training
    return c.SetTraining(before)


@_apply.register
def _(change: c.SetTitle, state: State) -> c.Change:
    if not change.title.strip() or not change.title.isprintable():
        raise DocumentError("A title is one line of text and not empty.")
    before, state.title = state.title, change.title
    return c.SetTitle(before)


def _take_edge(state: State, edge: Edge) -> list[c.Change]:
    """Remove a wire with its marks; the changes that put them back."""
    restore: list[c.Change] = [c.Connect(edge)]
    for key in [key for key in state.breakpoints if key[:2] == edge.key]:
        restore.append(c.SetBreakpoint(state.breakpoints.pop(key)))
    for key in [key for key in state.watches if key[:2] == edge.key]:
        restore.append(c.SetWatch(state.watches.pop(key)))
    del state.edges[edge.key]
    return restore


def _leave_group(state: State, group: Group, id: str) -> c.Change:
    """Take a node out of its group, which goes when it is empty; the change that undoes it."""
    rest = tuple(member for member in group.nodes if member != id)
    if not rest:
        del state.groups[group.id]
        return c.AddGroup(group)
    state.groups[group.id] = msgspec.structs.replace(group, nodes=rest)
    return c.SetGroup(group)


def _check_group(state: State, group: Group) -> None:
    if not group.nodes or len(set(group.nodes)) != len(group.nodes):
        raise DocumentError("A compile group holds one node or more, each once.")
    for id in group.nodes:
        node = _need(state.nodes, id, "node")
        for other in state.groups.values():
            if other.id != group.id and id in other.nodes:
                raise DocumentError(
                    f"{node.name!r} is in the compile group {other.name!r} already: remove that "
                    "group first."
                )


def _check_free_name(state: State, name: str) -> None:
    check_name(name)
    if any(node.name == name for node in state.nodes.values()):
        raise DocumentError(f"A node is named {name!r} already: choose another name.")


def _plain_params(name: str, params: Mapping[str, object]) -> dict[str, object]:
    return {key: plain(value, f"{key} of {name!r}") for key, value in params.items()}


Numbers = TypeVar("Numbers", bound=Iterable[float])


def _finite(numbers: Numbers, what: str) -> Numbers:
    if not all(math.isfinite(number) for number in numbers):
        raise DocumentError(f"{what} has to be finite numbers, not {numbers}.")
    return numbers


def _need(items: Mapping[K, V], key: K, what: str) -> V:
    if key not in items:
        raise DocumentError(f"There is no {what} {_shown(key)} in this document.")
    return items[key]


def _free(items: Mapping[str, object], key: str, what: str) -> None:
    if not key or key in items:
        raise DocumentError(f"The id {key!r} is empty or that of another {what}.")


def _add(items: dict[str, Shape], item: Shape, what: str) -> None:
    _free(items, item.id, what)
    items[item.id] = item


def _replace(items: dict[str, Shape], item: Shape, what: str) -> Shape:
    before = _need(items, item.id, what)
    items[item.id] = item
    return before


def _remove(items: dict[str, Shape], id: str, what: str) -> Shape:
    item = _need(items, id, what)
    del items[id]
    return item


def _shown(key: object) -> str:
    return " · ".join(map(str, key)) if isinstance(key, tuple) else repr(key)
