"""The document: a Qt-free model that only changes by `apply`, each change giving its inverse."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from . import changes as c
from .apply import apply
from .items import (
    Breakpoint,
    Edge,
    EdgeKey,
    Frame,
    Group,
    MarkKey,
    NodeItem,
    Note,
    Training,
    View,
    Watch,
)
from .state import DocumentError, State

__all__ = ["Document", "DocumentError"]

Listener = Callable[[c.Change], None]


class Document:
    """A drawing: nodes, edges, marks, groups, frames, notes and training settings.

    Everything is keyed: nodes, groups, frames and notes by id, edges by (target, input port),
    breakpoints and watches by (target, input port, direction). Iteration order means nothing.
    """

    def __init__(self, title: str = "Untitled", *, state: State | None = None) -> None:
        self._state = state or State(title)
        self._listeners: list[Listener] = []
        self._revision = 0

    @property
    def state(self) -> State:
        """The tables, for files and sessions; read them, never write them."""
        return self._state

    @property
    def title(self) -> str:
        """The document's title."""
        return self._state.title

    @property
    def nodes(self) -> Mapping[str, NodeItem]:
        """The nodes by id."""
        return MappingProxyType(self._state.nodes)

    @property
    def edges(self) -> Mapping[EdgeKey, Edge]:
        """The wires by (target node, input port)."""
        return MappingProxyType(self._state.edges)

    @property
    def breakpoints(self) -> Mapping[MarkKey, Breakpoint]:
        """The breakpoints by (target node, input port, direction)."""
        return MappingProxyType(self._state.breakpoints)

    @property
    def watches(self) -> Mapping[MarkKey, Watch]:
        """The watches by (target node, input port, direction)."""
        return MappingProxyType(self._state.watches)

    @property
    def groups(self) -> Mapping[str, Group]:
        """The compile groups by id."""
        return MappingProxyType(self._state.groups)

    @property
    def frames(self) -> Mapping[str, Frame]:
        """The frames by id."""
        return MappingProxyType(self._state.frames)

    @property
    def notes(self) -> Mapping[str, Note]:
        """The text notes by id."""
        return MappingProxyType(self._state.notes)

    @property
    def training(self) -> Training:
        """The training settings."""
        return self._state.training

    @property
    def view(self) -> View:
        """Where the canvas looks; saved with the document, never undone."""
        return self._state.view

    @view.setter
    def view(self, view: View) -> None:
        self._state.view = view

    @property
    def revision(self) -> int:
        """How many changes were applied."""
        return self._revision

    def apply(self, change: c.Change) -> c.Change:
        """Apply `change` and return its inverse; on `DocumentError` nothing has changed."""
        inverse = apply(self._state, change)
        self._revision += 1
        for listener in tuple(self._listeners):
            listener(change)
        return inverse

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(change)` after each applied change, until the result is called."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def node_named(self, name: str) -> NodeItem | None:
        """The node of that name, or None."""
        return next((node for node in self.nodes.values() if node.name == name), None)

    def free_name(self, stem: str, taken: Iterable[str] = ()) -> str:
        """The first of `stem1`, `stem2`, … that no node and none of `taken` has."""
        used = {node.name for node in self.nodes.values()} | set(taken)
        number = 1
        while f"{stem}{number}" in used:
            number += 1
        return f"{stem}{number}"

    def edges_from(self, id: str) -> list[Edge]:
        """The wires that leave a node."""
        return [edge for edge in self.edges.values() if edge.source == id]

    def edges_into(self, id: str) -> list[Edge]:
        """The wires that enter a node."""
        return [edge for edge in self.edges.values() if edge.target == id]
