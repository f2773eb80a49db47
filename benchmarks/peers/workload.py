"""What a workload is, and how its contenders take turns."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Call = Callable[[], Any]
"""One run of a contender; it returns when the result is there."""

OURS = "cellwire"
PEERS = ("torch", "torch.compile", "jax")


@dataclass(frozen=True)
class Workload:
    """One row of the table.

    ``contenders`` makes each contender's call, by name; the peers are made only where they are
    installed. ``limit`` is the largest ratio of ours to the best peer that is allowed; where
    ``goal`` is set, to that many microseconds, and the peers are there to compare.
    """

    name: str
    limit: float
    contenders: dict[str, Callable[[], Call]]
    group: str = ""
    """Workloads of one group also have a geometric mean, bounded by ``group_limit``."""
    group_limit: float = 0.0
    goal: float = 0.0


@dataclass(frozen=True)
class Figures:
    """Microseconds of each contender, medians over rounds."""

    workload: Workload
    times: dict[str, float]

    @property
    def best_peer(self) -> float:
        """The fastest peer's time; NaN where there is none."""
        return min((self.times[name] for name in PEERS if name in self.times), default=math.nan)

    @property
    def ratio(self) -> float:
        """Ours over the best peer, or over the goal."""
        return self.times[OURS] / (self.workload.goal or self.best_peer)


def measure(workload: Workload, rounds: int, budget: float) -> Figures:
    """Return the medians; every round runs all contenders in turn, for ``budget`` seconds each."""
    calls = {name: make() for name, make in workload.contenders.items()}
    counts = {}
    for name, call in calls.items():
        for _ in range(3):
            call()
        began = time.perf_counter()
        call()
        counts[name] = max(1, int(budget / max(time.perf_counter() - began, 1e-7)))
    times: dict[str, list[float]] = {name: [] for name in calls}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in calls.items():
                times[name].append(_per_call(call, counts[name]))
    finally:
        gc.enable()
    return Figures(workload, {name: statistics.median(found) for name, found in times.items()})


def _per_call(call: Call, count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - began) / count * 1e6
