"""Runs a graph node by node when asked to: stops on wires, steps back, runs parts again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

import numpy as np

from ..tensor import Parameter, Tensor
from .breakpoints import Breakpoints, Hit
from .events import Event, Failed, Finished, NodeDone, Noted, Paused, Stop
from .failures import describe_failure
from .graph import Edge, Graph, GraphError, Node, Source
from .units import Feeds, NodeUnit, Unit, call_node, cell_of, fed, set_mode
from .wires import Wires

DEFAULT_BUDGET = 1 << 30


class Execution:
    """A pull-driven run of a graph: nothing happens but in `advance`, and there is no thread.

    Parameters
    ----------
    graph : Graph
    feeds : mapping of node id to mapping of port to array
        The batch, for the data nodes; a data node that is not fed is called.
    breakpoints : Breakpoints, optional
        Shared with other executions if their counts are to go on.
    training : bool
        Put the Cells in training mode.
    step : int
        The training step, which with the graph's seed and the node keys random numbers.
    budget_bytes : int
        Beyond this, the least recently used values on wires are spilled to a temporary file.
    """

    def __init__(
        self,
        graph: Graph,
        feeds: Feeds | None = None,
        *,
        breakpoints: Breakpoints | None = None,
        training: bool = False,
        step: int = 0,
        budget_bytes: int = DEFAULT_BUDGET,
    ) -> None:
        self.graph = graph
        self.feeds: Feeds = feeds or {}
        self.breakpoints = breakpoints or Breakpoints()
        self.training = training
        self.step = step
        self.wires = Wires(budget_bytes)
        self.times: dict[str, float] = {}
        self.notes: list[Noted] = []
        self.snapshots: dict[Edge, np.ndarray] = {}
        self.failure: Failed | None = None
        self.units: list[Unit] = [NodeUnit(graph.nodes[id_]) for id_ in graph.order]
        self._at = 0
        self._entered = 0
        self._valid: set[str] = set()
        self._walked_back: set[str] = set()
        self._before: dict[str, _CellState] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Forget all values and remove what was spilled."""
        self.wires.close()

    @property
    def next_unit(self) -> Unit | None:
        """What `advance` would run first, None at the end."""
        return self.units[self._at] if self._at < len(self.units) else None

    @property
    def finished(self) -> bool:
        """Whether every node has run."""
        return self.next_unit is None

    def advance(self, stop: Stop = "breakpoint", *, until: str | None = None) -> Event:
        """Go on to the next stop and say what it is.

        Parameters
        ----------
        stop : {"breakpoint", "node", "end"}
            Stop at a breakpoint; also after each node; or only at the end (breakpoints then
            count and log, but do not stop). An error always stops.
        until : str, optional
            Stop before this node as well.
        """
        while (unit := self.next_unit) is not None:
            replayed = unit.id in self._walked_back
            if not replayed and self._valid.issuperset(unit.nodes):
                self._leave()
                continue
            if until is not None and until in unit.nodes:
                return Paused(unit.id, "reached")
            paused = self._enter(unit, stop)
            if paused is not None:
                return paused
            event = self._replay(unit) if replayed else self._run(unit)
            if stop == "node" or isinstance(event, Failed):
                return event
        return Finished(sum(self.times.values()))

    def run_to(self, node: str) -> Event:
        """Go on until this node is next; breakpoints before it stop too."""
        self._known(node)
        return self.advance("breakpoint", until=node)

    def step_back(self) -> Event:
        """Walk to before the node that ran last; values are kept, nothing runs.

        Raises
        ------
        GraphError
            At the start there is nothing to go back to.
        """
        if self._at == 0:
            raise GraphError("the run is at its start; there is no step to go back")
        self._at -= 1
        self._entered = 0
        self.failure = None
        unit = self.units[self._at]
        self._walked_back.add(unit.id)
        return Paused(unit.id, "reached")

    def rerun_from(self, node: str) -> None:
        """Forget what this node and all downstream of it gave; the next `advance` begins there."""
        self._known(node)
        stale = {node} | self.graph.descendants([node])
        for unit in self.units:
            if stale.intersection(unit.nodes):
                stale.update(unit.nodes)
        for id_ in stale & self._valid:
            self._restore(id_)
        self._valid -= stale
        self.wires.drop(Source(i, p) for i in stale for p in self.graph.nodes[i].outputs)
        first = next(at for at, unit in enumerate(self.units) if node in unit.nodes)
        self._at = min(self._at, first)
        self._entered = 0
        self.failure = None

    def restart(self, feeds: Feeds | None = None, *, step: int | None = None) -> None:
        """Begin again, with a new batch or with the pinned one."""
        if feeds is not None:
            self.feeds = feeds
        if step is not None:
            self.step = step
        self.wires.clear()
        self._valid.clear()
        self._walked_back.clear()
        self._before.clear()
        self.times.clear()
        self.failure = None
        self._at = self._entered = 0

    def set_training(self, training: bool) -> None:
        """Switch between training and evaluation from the next node on."""
        self.training = training

    def inputs(self, node: str) -> dict[str, np.ndarray]:
        """The values on the wires that enter a node, by port, as far as they are there."""
        edges = self._known(node).edges
        return {e.port: self.value(e) for e in edges if self.graph.source(e) in self.wires}

    def value(self, where: Edge | Source) -> np.ndarray:
        """The value on a wire or at an output port.

        Raises
        ------
        GraphError
            It has not been computed, or stayed inside a compiled group.
        """
        source = self.graph.source(where) if isinstance(where, Edge) else where
        if source in self.wires:
            return self.wires.get(source).data
        node = self._known(source.node)
        if source.port not in node.outputs:
            raise GraphError(f"{node.name} has no output {source.port}; it has {node.outputs}")
        if source.node in self._valid:
            raise GraphError(
                f"{node.name}.{source.port} stayed inside a compiled group; set a breakpoint or "
                "a probe on its wire and run again"
            )
        raise GraphError(f"{node.name} has not run yet, so {source.port} has no value")

    def has_value(self, where: Edge | Source) -> bool:
        """Whether `value` would give one."""
        source = self.graph.source(where) if isinstance(where, Edge) else where
        return source in self.wires

    def _known(self, id_: str) -> Node:
        node = self.graph.nodes.get(id_)
        if node is None:
            raise GraphError(f"the graph has no node {id_}")
        return node

    def _enter(self, unit: Unit, stop: Stop) -> Paused | None:
        """Let the values enter the unit one by one, and stop at the first breakpoint hit."""
        while self._entered < len(unit.edges):
            edge = unit.edges[self._entered]
            self._entered += 1
            hits = self.breakpoints.check(edge, self.value(edge))
            stopping = self._note(hits)
            if stopping is not None and stop != "end":
                return Paused(
                    unit.id,
                    "breakpoint",
                    edge,
                    stopping.stats,
                    stopping.breakpoint,
                    stopping.count,
                )
        return None

    def _note(self, hits: Iterable[Hit]) -> Hit | None:
        """Log and snapshot where asked to; the first hit that wants to stop."""
        stopping: Hit | None = None
        for hit in hits:
            if hit.breakpoint.action == "stop":
                stopping = stopping or hit
                continue
            self.notes.append(Noted(hit.breakpoint, hit.count, hit.stats))
            if hit.breakpoint.action == "snapshot":
                self.snapshots[hit.breakpoint.edge] = self.value(hit.breakpoint.edge).copy()
        return stopping

    def _run(self, unit: Unit) -> Event:
        inputs = {edge: self.wires.get(self.graph.source(edge)) for edge in unit.edges}
        for id_ in unit.nodes:
            self._keep_state(self.graph.nodes[id_])
        started = time.perf_counter()
        try:
            results = self._results(unit, list(inputs.values()))
        except Exception as error:
            self.failure = describe_failure(unit, inputs, error)
            return self.failure
        self.times[unit.id] = time.perf_counter() - started
        self.failure = None
        for source, tensor in zip(unit.outputs, results, strict=True):
            self.wires.put(source, tensor)
        self._valid.update(unit.nodes)
        self._leave()
        return self._done(unit)

    def _results(self, unit: Unit, inputs: list[Tensor]) -> tuple[Tensor, ...]:
        if isinstance(unit, NodeUnit) and unit.node.kind == "data":
            return fed(unit.node, self.feeds) or call_node(unit.node, inputs)
        return unit.run(inputs)

    def _replay(self, unit: Unit) -> Event:
        self._walked_back.discard(unit.id)
        self._leave()
        return self._done(unit)

    def _leave(self) -> None:
        self._at += 1
        self._entered = 0

    def _done(self, unit: Unit) -> NodeDone:
        outputs = {
            source.port: str(self.wires.get(source).aval)
            for source in unit.outputs
            if source in self.wires
        }
        return NodeDone(unit.id, self.times[unit.id], outputs)

    def _keep_state(self, node: Node) -> None:
        """Note a Cell's statistics, which running it in training changes, for a later rerun."""
        set_mode(node, self.training)
        cell = cell_of(node)
        if cell is not None and self.training:
            self._before[node.id] = _CellState(
                p for p in cell.get_parameters() if not p.requires_grad
            )

    def _restore(self, id_: str) -> None:
        state = self._before.pop(id_, None)
        if state is not None:
            state.restore()


class _CellState:
    """Copies of a Cell's parameters that are not trained (running statistics)."""

    def __init__(self, parameters: Iterable[Parameter]) -> None:
        self.saved: Mapping[str, tuple[Parameter, np.ndarray]] = {
            parameter.name: (parameter, parameter.data.copy()) for parameter in parameters
        }

    def restore(self) -> None:
        for parameter, data in self.saved.values():
            parameter.set_data(Tensor(data))
