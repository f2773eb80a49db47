"""What callers are told of a compiled function: reasons, warnings and explanations."""

from __future__ import annotations

from dataclasses import dataclass

from .graph import Graph
from .report import Report


class JitError(RuntimeError):
    """A reason not to compile, under ``fullgraph=True``."""


class JitWarning(UserWarning):
    """A compiled function runs eagerly, and why."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What ``jit.explain`` tells: the report of the plan, or the reason why there is none."""

    report: Report | None
    reason: str | None
    graph: Graph | None
    specialisations: int
    notes: tuple[str, ...] = ()
    """What was decided about sizes that differ from call to call."""

    def __str__(self) -> str:
        text = str(self.report) if self.report is not None else f"runs eagerly: {self.reason}"
        return "\n".join([text, *self.notes])
