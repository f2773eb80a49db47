"""What a profile consists of: events with a beginning and an end, and statistics of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class Event(NamedTuple):
    """Something that took time.

    Parameters
    ----------
    kind : {"op", "plan", "cell", "jit", "gradient", "update", "sync", "range"}
        What it was.
    name : str
        The op, Cell, function or plan.
    start, end : int
        Nanoseconds of ``time.perf_counter_ns``.
    kernel : int
        How much of it was arithmetic, in nanoseconds; for a plan, all of it.
    step : int
        The number of the step it belongs to.
    detail : tuple of (str, str)
        Shapes, or the line of a program.
    """

    kind: str
    name: str
    start: int
    end: int
    kernel: int
    step: int
    detail: tuple[tuple[str, str], ...] = ()

    @property
    def duration(self) -> int:
        """Nanoseconds from its beginning to its end."""
        return self.end - self.start


@dataclass
class Tally:
    """How often something ran and how long it took, in nanoseconds.

    Parameters
    ----------
    name : str
        What ran.
    count : int
        How often.
    total, least, most : int
        The time of all runs, of the shortest and of the longest.
    kernel : int
        How much of all was arithmetic.
    """

    name: str
    count: int = 0
    total: int = 0
    least: int = 0
    most: int = 0
    kernel: int = 0

    def add(self, event: Event) -> None:
        """Count one event."""
        took = event.duration
        self.least = took if not self.count else min(self.least, took)
        self.most = max(self.most, took)
        self.count += 1
        self.total += took
        self.kernel += event.kernel

    @property
    def host(self) -> int:
        """What was no arithmetic: finding kernels, preparing calls, Python in between."""
        return max(self.total - self.kernel, 0)


@dataclass
class Profile:
    """What was seen between a start and a stop; times are of ``time.perf_counter_ns``.

    Parameters
    ----------
    started, ended : int
        When it began and ended.
    events : list of Event
        What took time.
    memory : list of (int, int)
        Times, and the bytes that results of ops held then.
    resident : list of (int, int)
        Times, and the bytes that the process held then.
    steps : list of (int, int, int)
        Numbers of steps with their beginnings and ends.
    reports : dict of str
        The accounts of the plans that ran, by their names.
    """

    started: int = 0
    ended: int = 0
    events: list[Event] = field(default_factory=list)
    memory: list[tuple[int, int]] = field(default_factory=list)
    resident: list[tuple[int, int]] = field(default_factory=list)
    steps: list[tuple[int, int, int]] = field(default_factory=list)
    reports: dict[str, str] = field(default_factory=dict)

    def of(self, *kinds: str) -> list[Event]:
        """The events of some kinds."""
        return [event for event in self.events if event.kind in kinds]

    @property
    def syncs(self) -> int:
        """How often values were read back into Python."""
        return len(self.of("sync"))


def ranking(events: Iterable[Event]) -> list[Tally]:
    """Return what the events of each name come to, what took longest first."""
    tallies: dict[str, Tally] = {}
    for event in events:
        tallies.setdefault(event.name, Tally(event.name)).add(event)
    return sorted(tallies.values(), key=lambda tally: (-tally.total, tally.name))
