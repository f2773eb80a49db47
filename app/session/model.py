"""The document of a session and the graph that is built from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ...engine.array_file import SUFFIX
from ...engine.run.breakpoints import Breakpoint
from ...engine.run.graph import Edge as Wire
from ...engine.run.graph import Graph
from ...nodes import changes as c
from ...nodes.build import BuildCache, BuildError, build
from ...nodes.document import Document
from ...nodes.files import loads
from ...nodes.infer import Inference, between, infer, unreadable
from ...nodes.infer import Problem as Found
from ...nodes.items import Direction, Edge, EdgeKey, NodeItem
from . import messages as m
from .running import SessionError

UNSEEN = (
    c.MoveNodes,
    c.SetTraining,
    c.SetTitle,
    c.AddFrame,
    c.SetFrame,
    c.RemoveFrame,
    c.AddNote,
    c.SetNote,
    c.RemoveNote,
    c.SetBreakpoint,
    c.RemoveBreakpoint,
    c.SetWatch,
    c.RemoveWatch,
)
"""Changes that leave the graph as it is."""


class Model:
    """A document and its graph; Cells keep their weights from one build to the next."""

    def __init__(self) -> None:
        self.document = Document()
        self.path: Path | None = None
        self.revision = 0
        self.graph: Graph | None = None
        self.inference = Inference()
        self.problems: tuple[m.Problem, ...] = ()
        self._cache = BuildCache()

    @property
    def base(self) -> Path | None:
        """The folder that data paths start from."""
        return None if self.path is None else self.path.parent

    def load(self, command: m.LoadDocument) -> bool:
        """Take a document; whether it is another one than before, and so has fresh weights.

        A document of the same file that shares nodes with the one before is that one sent anew,
        and its nodes keep their weights. DocumentError leaves the document that is here.
        """
        path = Path(command.path) if command.path else None
        document = loads(command.text, path.name if path else "The document")
        other = path != self.path or not self.document.nodes.keys() & document.nodes.keys()
        self.document = document
        self.path = path
        self.revision = command.revision
        if other:
            self._cache = BuildCache()
        self.rebuild()
        return other

    def patch(self, command: m.Patch) -> frozenset[str] | None:
        """Apply a change; where it touches the graph, build it anew.

        Returns
        -------
        frozenset of str or None
            The nodes that compute and are fed as before; None where the graph stayed.

        Raises
        ------
        SessionError
            The change does not follow the revision that the session has.
        DocumentError
            The change does not fit the document.
        """
        if command.revision != self.revision + 1:
            raise SessionError(
                f"The change leads to revision {command.revision}, but the session has "
                f"revision {self.revision}.",
                "Load the document anew.",
            )
        before, fed = dict(self.document.nodes), dict(self.document.edges)
        self.document.apply(command.change)
        self.revision = command.revision
        if not changes_graph(command.change):
            return None
        self.rebuild()
        return self._unchanged(before, fed)

    def _unchanged(
        self, before: Mapping[str, NodeItem], fed: Mapping[EdgeKey, Edge]
    ) -> frozenset[str]:
        """The nodes of the present graph that are as they were, with all that leads to them."""
        now = self.document
        same: set[str] = set()
        for id in self.inference.order:
            node, old = now.nodes[id], before.get(id)
            if old is None or (node.type, node.params) != (old.type, old.params):
                continue
            wires = {edge.key: edge for edge in now.edges_into(id)}
            if wires == {key: edge for key, edge in fed.items() if key[0] == id} and all(
                edge.source in same for edge in wires.values()
            ):
                same.add(id)
        return frozenset(same)

    def rebuild(self) -> None:
        """Infer and build; without a graph, `problems` says why."""
        self.inference = infer(self.document, self.base)
        problems = self.inference.problems
        self.graph = None
        if not self.inference.errors:
            try:
                self.graph = build(
                    self.document, self._cache, base=self.base, inference=self.inference
                )
            except BuildError as error:
                problems = (*error.problems, *problems)
        self.problems = tuple(map(_problem, problems))

    def fresh_weights(self) -> None:
        """Build with new weights, as the training seed gives them."""
        self._cache = BuildCache()
        self.rebuild()

    def fresh_graph(self) -> Graph:
        """Another graph of the document, with weights of its own; BuildError where none is."""
        return build(self.document, base=self.base, inference=self.inference)

    @property
    def own_weights(self) -> Path | None:
        """Where the document's weights lie, if it has a file."""
        return None if self.path is None else self.path.with_suffix(SUFFIX)

    def check_group(self, id: str) -> None:
        """Raise SessionError with the nodes that a group lacks where a path leaves it."""
        group = self.document.groups.get(id)
        missing = between(self.document, group.nodes) if group is not None else ()
        if group is not None and missing:
            names = ", ".join(sorted(self.document.nodes[node].name for node in missing))
            raise SessionError(
                f"{group.name} cannot be compiled as it is: a path leaves it and comes back "
                f"through {names}.",
                f"Add {names} to the group.",
                sorted(missing)[0],
            )

    def breakpoints(self) -> Iterable[Breakpoint]:
        """The document's breakpoints as the engine takes them, those that can be read."""
        for item in self.document.breakpoints.values():
            if unreadable(item.condition):
                continue  # one of the problems that inference tells
            edge = Wire(item.target, item.input)
            yield Breakpoint(edge, item.condition, item.enabled, item.action, item.direction)

    def watches(self) -> Iterable[tuple[Wire, Direction]]:
        """The wires that the document watches."""
        for item in self.document.watches.values():
            yield Wire(item.target, item.input), item.direction

    def loaded(self, request: int) -> m.DocumentLoaded:
        """The answer to a document or a change."""
        return m.DocumentLoaded(
            request,
            self.revision,
            len(self.document.nodes),
            self.inference.cost.parameters,
            self.problems,
        )


def changes_graph(change: c.Change) -> bool:
    """Whether a change touches what runs."""
    if isinstance(change, c.Compound):
        return any(changes_graph(part) for part in change.changes)
    return not isinstance(change, UNSEEN)


def _problem(found: Found) -> m.Problem:
    return m.Problem(found.node or "", found.port or "", found.message, found.fix, found.severity)
