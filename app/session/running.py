"""The run of a graph in a session: at rest, or moving on by one node each time it is asked."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...engine.run.breakpoints import Breakpoint, Breakpoints, Direction
from ...engine.run.events import Event as RunEvent
from ...engine.run.events import Failed, NodeDone, Paused
from ...engine.run.executor import Execution
from ...engine.run.graph import Edge, Graph, Source
from ...engine.run.groups import CompiledGroup
from ...engine.run.inspect import statistics
from ...engine.run.units import Feeds, cell_of
from . import messages as m

HISTORY = 4096  # points kept of a watched wire


class SessionError(ValueError):
    """A command that does not fit what the session is doing; `fix` says what to do."""

    def __init__(self, message: str, fix: str = "", node: str | None = None) -> None:
        super().__init__(message)
        self.fix = fix
        self.node = node


@dataclass(frozen=True)
class Motion:
    """How far to go on: one node, to before the node `until`, or to the next stop."""

    single: bool = False
    until: str | None = None


@dataclass
class Watches:
    """The watched wires and what was on them."""

    edges: frozenset[tuple[Edge, Direction]] = frozenset()
    history: dict[tuple[Edge, Direction], deque[m.HistoryPoint]] = field(default_factory=dict)

    def watch(self, edges: Iterable[tuple[Edge, Direction]]) -> None:
        """Watch these from now on; what is known of others is forgotten."""
        self.edges = frozenset(edges)
        self.history = {key: row for key, row in self.history.items() if key in self.edges}

    def note(self, edge: Edge, direction: Direction, step: int, stats: m.Statistics) -> None:
        """Keep what is on a wire now."""
        row = self.history.setdefault((edge, direction), deque(maxlen=HISTORY))
        row.append(m.HistoryPoint(step, stats))


class Running:
    """The execution of the session's graph, and how it moves.

    Parameters
    ----------
    emit : callable
        Takes the events of the run.
    """

    def __init__(self, emit: Callable[[m.Event], None]) -> None:
        self._emit = emit
        self.breakpoints = Breakpoints()
        self.watches = Watches()
        self.training = False
        self.execution: Execution | None = None
        self.state: m.State = "empty"
        self._graph: Graph | None = None
        self._motion: Motion | None = None
        self._rate = 0.0
        self._attached: Execution | None = None

    @property
    def moving(self) -> bool:
        """Whether `slice` has something to do."""
        return self._motion is not None

    @property
    def graph(self) -> Graph:
        """The graph that runs; SessionError where there is none."""
        if self._graph is None:
            raise SessionError(
                "There is no graph that can run.", "Mend the problems of the document first."
            )
        return self._graph

    def take(
        self,
        graph: Graph | None,
        kept: Iterable[str] = (),
        groups: Iterable[CompiledGroup] = (),
    ) -> None:
        """Run this graph from now on; None where the document has none that can run.

        A run that has begun goes on with the values of the nodes that are `kept`, at rest before
        the first other one.
        """
        before, self.execution = self.execution, None
        self.forget()
        self._graph = graph
        if before is None:
            self.say("empty" if graph is None else "ready")
            return
        with before:
            kept = list(kept)
            if graph is None or not kept:
                self.say("empty" if graph is None else "ready")
                return
            self.execution = self._new(graph, before.feeds, groups, before.breakpoints)
            self.execution.take_over(before, kept)
        self._rest("paused")

    def forget(self) -> None:
        """End the run and drop its values."""
        self._motion = self._attached = None
        if self.execution is not None:
            self.execution.close()
            self.execution = None

    def attach(self, execution: Execution | None) -> None:
        """Show the values of an execution that somebody else moves and closes."""
        self.forget()
        self._attached = execution

    def stop(self) -> None:
        """End the run; the session is ready for another."""
        self.forget()
        self._rest("empty" if self._graph is None else "ready")

    def set_breakpoints(self, breakpoints: Iterable[Breakpoint]) -> None:
        """Stop at these from now on."""
        self.breakpoints.replace(breakpoints)

    def place_watches(self, edges: Iterable[tuple[Edge, Direction]]) -> None:
        """Tell what comes over these wires from now on."""
        self.watches.watch(edges)
        if self.execution is not None:
            self.execution.watch(edge for edge, way in self.watches.edges if way == "forward")

    def set_training(self, training: bool) -> None:
        """Run as in training or as in evaluation from the next node on."""
        self.training = training
        if self.execution is not None:
            self.execution.set_training(training)

    def start(
        self,
        feeds: Feeds,
        motion: Motion,
        groups: Iterable[CompiledGroup] = (),
        *,
        stops: bool = True,
    ) -> None:
        """Begin a run with this batch, these groups compiled."""
        graph = self.graph
        self.forget()
        stopping = self.breakpoints if stops else Breakpoints()
        self.execution = self._new(graph, feeds, groups, stopping)
        self.move(motion)

    def _new(
        self,
        graph: Graph,
        feeds: Feeds,
        groups: Iterable[CompiledGroup],
        breakpoints: Breakpoints,
    ) -> Execution:
        made = Execution(
            graph, feeds, breakpoints=breakpoints, training=self.training, groups=groups
        )
        made.watch(edge for edge, way in self.watches.edges if way == "forward")
        return made

    def move(self, motion: Motion) -> None:
        """Go on from where the run rests."""
        self._need()
        self._motion = motion
        self.say("running")

    def pause(self) -> None:
        """Rest before the next node."""
        if self._motion is None:
            raise SessionError("Nothing is running that could be paused.")
        self._motion = None
        self._emit(m.Paused(self._next, "user", direction=self._need().direction))
        self._rest("paused")

    def step_back(self) -> None:
        """Go back by one node."""
        self._motion = None
        execution = self._need()
        execution.step_back()
        self._emit(m.Paused(self._next, "step", direction=execution.direction))
        self._rest("paused")

    def rerun_from(self, node: str) -> None:
        """Run this node and what is downstream again."""
        self._need().rerun_from(node)
        self.move(Motion())

    def backward(self, loss: str | None, rate: float) -> None:
        """Go over the gradients of the loss, node by node, as over the nodes before.

        `rate` is the learning rate that the update ratios are told for at the end.
        """
        execution = self._need()
        if not (execution.finished and execution.direction == "forward"):
            raise SessionError("The run has not come to its end.", "Continue to the end first.")
        execution.backward(loss)
        self._rate = rate
        self.move(Motion())

    def slice(self) -> bool:
        """Run one node; whether there is more to do."""
        motion = self._motion
        if motion is None:
            return False
        execution = self._need()
        if self._next is not None:
            self._emit(m.NodeStarted(self._next, execution.direction))
        noted = len(execution.notes)
        event = execution.advance("node", until=motion.until)
        for note in execution.notes[noted:]:
            self._emit(m.BreakpointNoted(note.breakpoint, note.count, note.stats))
        self._tell(event, motion)
        return self.moving

    def _tell(self, event: RunEvent, motion: Motion) -> None:
        """Pass on what the execution did, and rest where it rests."""
        if isinstance(event, NodeDone):
            milliseconds = 1e3 * event.seconds
            self._emit(m.NodeFinished(event.node, milliseconds, event.outputs, event.direction))
            self._show_watched(event.node, event.direction)
            if not motion.single or self._next is None:
                return
            rest, state = m.Paused(self._next, "step", direction=event.direction), "paused"
        elif isinstance(event, Paused):
            rest, state = pause(event), "paused"
        elif isinstance(event, Failed):
            rest, state = failure(event), "failed"
        else:
            loss = self.loss() if event.direction == "forward" else None
            rest, state = m.RunFinished(1e3 * event.seconds, loss, event.direction), "finished"
        self._motion = None
        if state == "finished" and event.direction == "gradient":
            self._emit(m.UpdateRatios(update_ratios(self._need(), self._rate)))
        self._emit(rest)
        self._rest(state)

    def _show_watched(self, unit: str, direction: Direction) -> None:
        """Tell what is on the watched wires that this unit has just given a value."""
        execution = self._need()
        group = self.graph.groups.get(unit)
        ran = group.nodes if group else {unit}
        for edge, way in sorted(self.watches.edges):
            giver = edge.node if way == "gradient" else self.graph.source(edge).node
            if way == direction and giver in ran:
                self.show(execution, edge, way)

    def show(self, execution: Execution, edge: Edge, way: Direction, step: int = 0) -> None:
        """Tell what is on a watched wire, and keep it in the wire's history."""
        if not _has(execution, edge, way):
            return
        array = execution.gradient(edge) if way == "gradient" else execution.value(edge)
        stats = statistics(array)
        self.watches.note(edge, way, step, stats)
        shape = "×".join(map(str, stats.shape)) or "scalar"
        self._emit(m.EdgeValue(edge, f"{shape} {stats.dtype}", stats, way, step))

    def value(self, edge: Edge, *, gradient: bool) -> np.ndarray:
        """The value on a wire, or its gradient."""
        execution = self._attached or self._need()
        return execution.gradient(edge) if gradient else execution.value(edge)

    def loss(self) -> float | None:
        """The value of the graph's last loss node, if it is one number."""
        execution = self._need()
        for node in reversed(self.graph.losses()):
            for port in node.outputs:
                source = Source(node.id, port)
                if execution.has_value(source) and execution.value(source).size == 1:
                    return float(execution.value(source).reshape(()))
        return None

    def _need(self) -> Execution:
        if self.execution is None:
            raise SessionError("The graph has not been run yet.", "Run it, or step into it, first.")
        return self.execution

    @property
    def _next(self) -> str | None:
        unit = None if self.execution is None else self.execution.next_unit
        return None if unit is None else unit.id

    def _rest(self, state: m.State) -> None:
        self.say(state)
        if self.execution is not None:
            self._emit(m.Memory(self.execution.wires.held_bytes, process_bytes()))

    def say(self, state: m.State) -> None:
        """Tell the state that the session is in now."""
        self.state = state
        back = 0 if self.execution is None else self.execution.back_steps
        self._emit(m.StateChanged(state, self._next, back))


def update_ratios(execution: Execution, rate: float) -> dict[str, float]:
    """By node, the largest norm of a plain gradient step over the norm of what it changes."""
    found: dict[str, float] = {}
    for node in execution.graph.nodes.values():
        cell = cell_of(node)
        if cell is None:
            continue
        gradients = execution.parameter_gradients(node.id)
        for name, parameter in cell.parameters_and_names():
            size = _norm(parameter.data)
            if name in gradients and size > 0:
                ratio = rate * _norm(gradients[name]) / size
                found[node.id] = max(found.get(node.id, 0.0), ratio)
    return found


def _norm(array: np.ndarray) -> float:
    return float(np.sqrt(np.square(array, dtype=np.float64).sum()))


def _has(execution: Execution, edge: Edge, way: Direction) -> bool:
    """Whether a value has come over the wire; over one of whole numbers no gradient ever does."""
    if way == "forward":
        return execution.has_value(edge)
    return execution.has_gradient(edge)


def pause(event: Paused) -> m.Paused:
    """The message for a stop of the execution."""
    return m.Paused(
        event.node,
        event.reason,
        event.edge,
        event.breakpoint.condition if event.breakpoint else "",
        event.count,
        event.stats,
        event.direction,
    )


def failure(event: Failed) -> m.NodeFailed:
    """The message for a node's error."""
    return m.NodeFailed(
        event.node, None, event.message, event.fix, event.trace, event.inputs, event.direction
    )


def process_bytes() -> int | None:
    """The memory that this process holds, where the system says it in `/proc`."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
