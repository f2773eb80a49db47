"""Breakpoints on wires: where to look, when, what to do then, and how often that was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import msgspec
import numpy as np

from .conditions import Arrival, Condition, holds, parse_condition
from .graph import Edge
from .inspect import Statistics, statistics

Action = Literal["stop", "log", "snapshot"]
Direction = Literal["forward", "gradient"]


class Breakpoint(msgspec.Struct, frozen=True):
    """Where to look, when, and what to do then."""

    edge: Edge
    condition: str = ""
    enabled: bool = True
    action: Action = "stop"
    direction: Direction = "forward"


@dataclass(frozen=True)
class Hit:
    """A breakpoint whose condition held, with the statistics it was judged by."""

    breakpoint: Breakpoint
    count: int
    stats: Statistics


@dataclass
class _Watch:
    breakpoint: Breakpoint
    condition: Condition
    arrivals: int = 0
    hits: int = 0
    last: tuple[tuple[int, ...], str] | None = None


@dataclass
class Breakpoints:
    """The breakpoints of a run and their counts, kept over steps.

    Raises
    ------
    ConditionError
        When a condition cannot be read.
    """

    items: Iterable[Breakpoint] = ()
    revision: int = field(init=False, default=0)
    _watches: dict[tuple[Edge, str], list[_Watch]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.replace(self.items)

    def replace(self, items: Iterable[Breakpoint]) -> None:
        """Take these breakpoints instead; those that stay as they were keep their counts."""
        self.items = tuple(items)
        self.revision += 1
        kept = {watch.breakpoint: watch for row in self._watches.values() for watch in row}
        self._watches = {}
        for item in self.items:
            watch = kept.get(item) or _Watch(item, parse_condition(item.condition))
            self._watches.setdefault((item.edge, item.direction), []).append(watch)

    def watched(self, direction: Direction = "forward") -> set[Edge]:
        """The wires with an enabled breakpoint in this direction."""
        return {
            edge
            for (edge, way), row in self._watches.items()
            if way == direction and any(watch.breakpoint.enabled for watch in row)
        }

    def counts(self) -> list[tuple[Breakpoint, int, int]]:
        """Each breakpoint with its arrivals and its hits so far."""
        return [
            (watch.breakpoint, watch.arrivals, watch.hits)
            for row in self._watches.values()
            for watch in row
        ]

    def check(
        self, edge: Edge, array: np.ndarray, direction: Direction = "forward"
    ) -> tuple[Hit, ...]:
        """Count this value's arrival at the wire and return the breakpoints that it hits."""
        row = self._watches.get((edge, direction))
        if not row:
            return ()
        stats = statistics(array)
        found: list[Hit] = []
        for watch in row:
            if not watch.breakpoint.enabled:
                continue
            watch.arrivals += 1
            last = watch.last or (stats.shape, stats.dtype)
            watch.last = (stats.shape, stats.dtype)
            arrival = Arrival(stats, watch.arrivals, last[0] != stats.shape, last[1] != stats.dtype)
            if holds(watch.condition, arrival):
                watch.hits += 1
                found.append(Hit(watch.breakpoint, watch.hits, stats))
        return tuple(found)
