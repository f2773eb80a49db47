"""Walking over units one by one, with breakpoints at their wires and steps back."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..tensor import Tensor
from .breakpoints import Breakpoints, Direction, Hit
from .events import Event, Failed, Finished, NodeDone, Noted, Paused, Stop
from .failures import describe_failure
from .graph import Edge, GraphError
from .units import Unit


class Walk(ABC):
    """A position in a list of units; `advance` moves it on, `step_back` moves it back.

    A unit whose nodes are all in `done` keeps its results: it is passed over in silence, or, when
    it was walked back over, passed again with its breakpoints but without computing.
    """

    direction: Direction

    def __init__(self, units: Iterable[Unit], breakpoints: Breakpoints) -> None:
        self.units: list[Unit] = list(units)
        self.breakpoints = breakpoints
        self.at = 0
        self.done: set[str] = set()
        self._seconds: dict[tuple[str, ...], tuple[str, float]] = {}
        self.notes: list[Noted] = []
        self.snapshots: dict[tuple[Edge, Direction], np.ndarray] = {}
        self.failure: Failed | None = None
        self._entered = 0
        self._again: set[tuple[str, ...]] = set()

    @abstractmethod
    def arriving(self, unit: Unit) -> Sequence[Edge]:
        """The wires whose values enter this unit."""

    @abstractmethod
    def tensor(self, edge: Edge) -> Tensor:
        """What arrives on a wire."""

    @abstractmethod
    def compute(self, unit: Unit) -> None:
        """Run the unit and keep its results."""

    @abstractmethod
    def results(self, unit: Unit) -> Mapping[str, str]:
        """Port → shape and dtype of what the unit gave."""

    def is_done(self, unit: Unit) -> bool:
        """Whether the unit's results are there."""
        return unit.nodes in self._seconds and self.done.issuperset(unit.nodes)

    def adopt(self, other: Walk, ids: Iterable[str]) -> None:
        """Count as done what these nodes have done in another walk, whose results are here now."""
        chosen = set(ids)
        self.done |= chosen & other.done
        for nodes, timed in other._seconds.items():
            if chosen.issuperset(nodes):
                self._seconds[nodes] = timed

    def arrange(self, units: Sequence[Unit]) -> None:
        """Take these units instead, at the same place: nodes that were passed stay passed."""
        passed = {id_ for unit in self.units[: self.at] for id_ in unit.nodes}
        current = self.next_unit
        self.units = list(units)
        self.at = sum(1 for unit in self.units if passed.issuperset(unit.nodes))
        if current is None or self.next_unit is None or self.next_unit.nodes != current.nodes:
            self._entered = 0

    @property
    def next_unit(self) -> Unit | None:
        """What `advance` begins with, None at the end."""
        return self.units[self.at] if self.at < len(self.units) else None

    @property
    def times(self) -> dict[str, float]:
        """Node's (or group's) id → seconds of its last run."""
        total: dict[str, float] = {}
        for id_, seconds in self._seconds.values():
            total[id_] = total.get(id_, 0.0) + seconds
        return total

    def advance(self, stop: Stop, until: str | None = None) -> Event:
        """Move on to the next stop."""
        while (unit := self.next_unit) is not None:
            again = unit.nodes in self._again and self.is_done(unit)
            if not again and self.is_done(unit):
                self._leave()
                continue
            if until is not None and until in unit.nodes:
                return Paused(until, "reached", direction=self.direction)
            paused = self._enter(unit, stop)
            if paused is not None:
                return paused
            event = self._done(unit) if again else self._run(unit)
            if stop == "node" or isinstance(event, Failed):
                return event
        return Finished(sum(self.times.values()), self.direction)

    def step_back(self) -> Event:
        """Move to before the unit that was passed last; nothing is computed or forgotten."""
        if self.at == 0:
            raise GraphError("the run is at its start; there is no step to go back")
        self.at -= 1
        self._entered = 0
        self.failure = None
        unit = self.units[self.at]
        self._again.add(unit.nodes)
        return Paused(unit.id, "reached", direction=self.direction)

    def rewind(self, at: int) -> None:
        """Move back to this position, passing in silence over what is still done."""
        self.at = min(self.at, at)
        self._entered = 0
        self._again.clear()
        self.failure = None

    def _enter(self, unit: Unit, stop: Stop) -> Paused | None:
        """Let the values enter the unit one by one, and stop at the first breakpoint hit."""
        edges = self.arriving(unit)
        while self._entered < len(edges):
            edge = edges[self._entered]
            self._entered += 1
            array = self.tensor(edge).data
            hit = self._note(self.breakpoints.check(edge, array, self.direction), array)
            if hit is not None and stop != "end":
                return Paused(
                    unit.nodes[0] if self.direction == "gradient" else edge.node,
                    "breakpoint",
                    edge,
                    hit.stats,
                    hit.breakpoint,
                    hit.count,
                    self.direction,
                )
        return None

    def _note(self, hits: Iterable[Hit], array: np.ndarray) -> Hit | None:
        """Log and snapshot where asked to; the first hit that wants to stop."""
        stopping: Hit | None = None
        for hit in hits:
            if hit.breakpoint.action == "stop":
                stopping = stopping or hit
                continue
            self.notes.append(Noted(hit.breakpoint, hit.count, hit.stats))
            if hit.breakpoint.action == "snapshot":
                self.snapshots[hit.breakpoint.edge, self.direction] = array.copy()
        return stopping

    def _run(self, unit: Unit) -> Event:
        started = time.perf_counter()
        try:
            self.compute(unit)
        except Exception as error:
            inputs = {edge: self.tensor(edge) for edge in self.arriving(unit)}
            self.failure = describe_failure(unit, inputs, error, self.direction)
            return self.failure
        self._seconds[unit.nodes] = (unit.id, time.perf_counter() - started)
        self.failure = None
        self.done.update(unit.nodes)
        return self._done(unit)

    def _done(self, unit: Unit) -> NodeDone:
        self._again.discard(unit.nodes)
        self._leave()
        outputs = dict(self.results(unit))
        return NodeDone(unit.id, self._seconds[unit.nodes][1], outputs, self.direction)

    def _leave(self) -> None:
        self.at += 1
        self._entered = 0
