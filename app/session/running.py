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
from ...engine.run.events import Failed, Finished, NodeDone, Paused
from ...engine.run.executor import Execution
from ...engine.run.graph import Edge, Graph, Source
from ...engine.run.inspect import statistics
from ...engine.run.units import Feeds
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
    """How far to go on: one node, or to a stop; forward, or over the gradients."""

    single: bool = False
    until: str | None = None
    direction: Direction = "forward"


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
        self._noted = 0

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

    def take(self, graph: Graph | None) -> None:
        """Run this graph from now on; None where the document has none that can run."""
        self.forget()
        self._graph = graph
        self._rest("empty" if graph is None else "ready")

    def forget(self) -> None:
        """End the run and drop its values."""
        self._motion = None
        if self.execution is not None:
            self.execution.close()
            self.execution = None

    def stop(self) -> None:
        """End the run; the session is ready for another."""
        self.forget()
        self._rest("empty" if self._graph is None else "ready")

    def set_breakpoints(self, breakpoints: Iterable[Breakpoint]) -> None:
        """Stop at these from now on."""
        self.breakpoints.replace(breakpoints)

    def set_training(self, training: bool) -> None:
        """Run as in training or as in evaluation from the next node on."""
        self.training = training
        if self.execution is not None:
            self.execution.set_training(training)

    def start(self, feeds: Feeds, motion: Motion, *, stops: bool = True) -> None:
        """Begin a run with this batch."""
        self.forget()
        self.execution = Execution(
            self.graph,
            feeds,
            breakpoints=self.breakpoints if stops else None,
            training=self.training,
        )
        self._noted = 0
        self.move(motion)

    def move(self, motion: Motion) -> None:
        """Go on from where the run rests."""
        self._need()
        self._motion = motion
        self._say("running")

    def pause(self) -> None:
        """Rest before the next node."""
        if self._motion is None:
            raise SessionError("Nothing is running that could be paused.")
        direction, self._motion = self._motion.direction, None
        self._emit(m.Paused(self._next(), "user", direction=direction))
        self._rest("paused")

    def step_back(self) -> None:
        """Go back by one node."""
        self._motion = None
        event = self._need().step_back()
        self._emit(m.Paused(getattr(event, "node", None), "step"))
        self._rest("paused")

    def rerun_from(self, node: str) -> None:
        """Run this node and what is downstream again."""
        self._need().rerun_from(node)
        self.move(Motion())

    def slice(self) -> bool:
        """Run one node; whether there is more to do."""
        motion = self._motion
        if motion is None:
            return False
        execution = self._need()
        if (unit := self._unit()) is not None:
            self._emit(m.NodeStarted(unit, motion.direction))
        event = self._advance(execution, motion)
        for noted in execution.notes[self._noted :]:
            self._emit(m.BreakpointNoted(noted.breakpoint, noted.count, noted.stats))
        self._noted = len(execution.notes)
        self._tell(event, motion)
        return self.moving

    def _advance(self, execution: Execution, motion: Motion) -> RunEvent:
        return execution.advance("node", until=motion.until)

    def _tell(self, event: RunEvent, motion: Motion) -> None:
        """Pass on what the execution did, and rest where it rests."""
        match event:
            case NodeDone(node, seconds, outputs):
                self._emit(m.NodeFinished(node, 1e3 * seconds, outputs, motion.direction))
                self._show_watched(node, motion.direction)
                if motion.single and self._unit() is not None:
                    self._motion = None
                    self._emit(m.Paused(self._next(), "step", direction=motion.direction))
                    self._rest("paused")
            case Paused():
                self._motion = None
                self._emit(_pause(event))
                self._rest("paused")
            case Failed():
                self._motion = None
                self._emit(_failure(event))
                self._rest("failed")
            case Finished(seconds):
                self._motion = None
                loss = self._loss() if motion.direction == "forward" else None
                self._emit(m.RunFinished(1e3 * seconds, loss, motion.direction))
                self._rest("finished")

    def _show_watched(self, unit: str, direction: Direction) -> None:
        execution = self._need()
        for edge, way in self.watches.edges:
            source = self.graph.source(edge)
            if way == direction and source.node == unit and execution.has_value(edge):
                self.show(edge, execution.value(edge))

    def show(self, edge: Edge, array: np.ndarray, way: Direction = "forward", step: int = 0) -> None:
        """Tell what is on a watched wire, and keep it in the wire's history."""
        stats = statistics(array)
        self.watches.note(edge, way, step, stats)
        shape = "×".join(map(str, stats.shape)) or "scalar"
        self._emit(m.EdgeValue(edge, f"{shape} {stats.dtype}", stats, way, step))

    def value(self, edge: Edge, *, gradient: bool) -> np.ndarray:
        """The value on a wire, or its gradient."""
        return self._need().value(edge)

    def _loss(self) -> float | None:
        """The value of the graph's last loss node, if it is one number."""
        execution = self._need()
        for node in reversed(self.graph.losses()):
            for port in node.outputs:
                value = execution.value(Source(node.id, port))
                if value.size == 1:
                    return float(value.reshape(()))
        return None

    def _need(self) -> Execution:
        if self.execution is None:
            raise SessionError("The graph has not been run yet.", "Run it, or step into it, first.")
        return self.execution

    def _unit(self) -> str | None:
        unit = None if self.execution is None else self.execution.next_unit
        return None if unit is None else unit.id

    def _next(self) -> str | None:
        return self._unit()

    def _rest(self, state: m.State) -> None:
        self._say(state)
        if self.execution is not None:
            self._emit(m.Memory(self.execution.wires.held_bytes, process_bytes()))

    def _say(self, state: m.State) -> None:
        self.state = state
        self._emit(m.StateChanged(state, self._unit()))


def _pause(event: Paused) -> m.Paused:
    return m.Paused(
        event.node,
        event.reason,
        event.edge,
        event.breakpoint.condition if event.breakpoint else "",
        event.count,
        event.stats,
        event.direction,
    )


def _failure(event: Failed) -> m.NodeFailed:
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
