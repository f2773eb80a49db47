"""The compile groups of a session: compiled on demand, kept while their nodes stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...engine.run.events import Failed
from ...engine.run.executor import Execution
from ...engine.run.graph import Graph, Group
from ...engine.run.groups import CompiledGroup, GroupError
from ...engine.run.groups import GroupReport as Report
from ...engine.run.units import Feeds
from ...engine.tensor import from_numpy
from . import messages as m
from .running import SessionError

STATES: dict[str, m.GroupState] = {
    "compiled": "compiled",
    "stale": "stale",
    "eager": "eager",
    "failed": "eager",
}


class Groups:
    """The groups that run as compiled code, by id.

    A group of the document is compiled when it first runs, and again after its nodes changed or
    got new weights, until it is discarded. `due` has those to compile again before they run.
    """

    def __init__(self, emit: Callable[[m.Event], None]) -> None:
        self._emit = emit
        self._compiled: dict[str, CompiledGroup] = {}
        self._discarded: set[str] = set()
        self._told: dict[str, tuple[str, str]] = {}
        self.due: set[str] = set()

    @property
    def active(self) -> Iterable[CompiledGroup]:
        """The groups that an execution is to run compiled."""
        return self._compiled.values()

    def forget(self) -> None:
        """Drop every group, as for another document."""
        self._compiled.clear()
        self._discarded.clear()
        self._told.clear()
        self.due.clear()

    def take(self, graph: Graph | None) -> None:
        """Follow the graph: groups of unchanged nodes stay compiled, others become stale.

        While there is none that can run, they stay what they were.
        """
        if graph is None:
            return
        found = graph.groups
        for id in self._compiled.keys() - found.keys():
            del self._compiled[id]
            self._told.pop(id, None)
        self._discarded &= found.keys()
        self.due &= found.keys()
        for id in found.keys() - self._discarded:
            self._follow(graph, id)

    def _follow(self, graph: Graph, id: str) -> None:
        compiled = self._compiled.get(id)
        group = graph.groups[id]
        if compiled is None:
            compiled = self._compiled[id] = CompiledGroup(graph, group)
            compiled.mark_stale(graph, "it has not run yet")
        elif why := _why_stale(compiled, graph, group):
            if compiled.state == "compiled":
                self.due.add(id)
            compiled.group = group
            compiled.mark_stale(graph, why)
        else:
            compiled.group, compiled.graph = group, graph
        self.tell()

    def renew(self) -> None:
        """All that are not compiled as they are now are due, as after a training."""
        self.due |= {id for id, group in self._compiled.items() if group.state == "stale"}

    def refresh(self, graph: Graph, feeds: Feeds, training: bool) -> None:
        """Compile one group that is due, and tell its report; what goes wrong its state tells."""
        id = self.due.pop()
        if id not in self._compiled or self._compiled[id].state != "stale":
            return
        try:
            self._emit(report(0, self.compile(graph, id, feeds, training)))
        except (GroupError, SessionError) as error:
            self._emit(m.Log("warning", str(error)))

    def compile(self, graph: Graph, id: str, feeds: Feeds, training: bool) -> Report:
        """Compile a group on the values that enter it with this batch.

        Raises
        ------
        SessionError
            The graph has no such group, or what feeds it fails.
        GroupError
            It cannot be compiled, or does not agree with eager.
        """
        if id not in graph.groups:
            raise SessionError("The drawing has no such group.", "Make the group first.")
        self._discarded.discard(id)
        compiled = self._compiled.get(id) or CompiledGroup(graph, graph.groups[id])
        self._compiled[id] = compiled
        self.due.discard(id)
        self._emit(m.GroupChanged(id, "compiling"))
        self._told[id] = ("compiling", "")
        try:
            with Execution(graph, feeds, training=training) as execution:
                event = execution.advance("end")
                edges = compiled.whole().edges
                if isinstance(event, Failed) and not all(map(execution.has_value, edges)):
                    raise SessionError(event.message, event.fix, event.node)
                inputs = [from_numpy(execution.value(edge)) for edge in edges]
                execution.discard()
            return compiled.compile(inputs, training)
        finally:
            self.tell()

    def discard(self, id: str) -> None:
        """Run this group's nodes eagerly from the next run on."""
        if self._compiled.pop(id, None) is None:
            raise SessionError("This group is not compiled.")
        self._discarded.add(id)
        self._told.pop(id, None)
        self._emit(m.GroupChanged(id, "eager", "its compiled code was discarded"))

    def tell(self) -> None:
        """Tell the state of each group where it is another than was told last."""
        for id, compiled in self._compiled.items():
            now = (STATES[compiled.state], compiled.reason)
            if self._told.get(id) != now:
                self._told[id] = now
                self._emit(m.GroupChanged(id, STATES[compiled.state], compiled.reason))
                if compiled.state == "failed":
                    words = f"{compiled.group.name} runs eagerly: {compiled.reason}"
                    self._emit(m.Log("warning", words))


def _why_stale(compiled: CompiledGroup, graph: Graph, group: Group) -> str:
    """Why its code is not for the group as it is in this graph; empty where it is."""
    if compiled.group.nodes != group.nodes:
        return "other nodes are in it"
    changed = _changed(compiled.graph, graph, group.nodes)
    return f"{', '.join(changed)} changed" if changed else ""


def _changed(before: Graph, after: Graph, nodes: Iterable[str]) -> list[str]:
    """The names of the nodes that compute something else, or are wired otherwise, than before."""
    return [
        after.nodes[id].name
        for id in after.sorted(nodes)
        if before.nodes[id].call is not after.nodes[id].call
        or before.nodes[id].inputs != after.nodes[id].inputs
    ]


def report(request: int, made: Report) -> m.GroupReport:
    """The report as a message."""
    return m.GroupReport(
        request,
        made.group,
        made.name,
        made.nodes,
        tuple(m.KernelLine(k.name, k.nodes, k.kind, k.ops) for k in made.kernels),
        tuple(m.HostStep(h.op, (h.node,) if h.node else (), h.reason) for h in made.host_steps),
        1e3 * made.compile_seconds,
        1e6 * made.eager_seconds,
        1e6 * made.compiled_seconds,
        made.parity_relative,
        made.arena_bytes,
        made.code,
    )
