"""What callers are told of a compiled function: reasons, warnings and explanations.

What `jitted.py` raises, warns and tells; `explaining.py` fills in the explanation.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace

from .graph import Graph
from .report import Report
from .traced import in_package

HINTS: dict[type[Exception], str] = {
    NameError: "define it before the call, or pass it as an argument",
    AttributeError: "set it before the call",
    RecursionError: "a compiled function that calls itself needs an end that is no tensor's value",
}


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
    """Plans that the function has by now, of all calls."""
    notes: tuple[str, ...] = ()
    """Why calls that differ from earlier ones were compiled anew."""
    guards: tuple[str, ...] = ()
    """What must stay as it is outside the function, in words."""
    branches: tuple[str, ...] = ()
    """How Python's branches on values went, and where."""
    effects: tuple[str, ...] = ()
    """What each call does outside the graph."""
    open_sizes: tuple[str, ...] = ()
    """Axes whose sizes may be any."""
    open_numbers: tuple[str, ...] = ()
    """Numbers outside that each call reads anew."""
    background: tuple[str, ...] = ()
    """How far compiling in the background is."""

    def of(
        self,
        report: Report,
        graph: Graph,
        guards: tuple[str, ...],
        branches: tuple[str, ...],
        effects: tuple[str, ...],
    ) -> Explanation:
        """Return the explanation with what one path tells."""
        return replace(
            self, report=report, graph=graph, guards=guards, branches=branches, effects=effects
        )

    def __str__(self) -> str:
        lines = [str(self.report) if self.report is not None else f"runs eagerly: {self.reason}"]
        if self.graph is not None:
            lines.append(f"graph of {len(self.graph.nodes)} ops")
        parts = {
            "holds while": self.guards, "went": self.branches, "at each call": self.effects,
            "any size": self.open_sizes, "read anew": self.open_numbers,
            "compiled anew": self.notes,
        }  # fmt: skip
        lines += [f"{title}: {part}" for title, found in parts.items() for part in found]
        lines += self.background
        if self.specialisations:
            lines.append(f"plans so far: {self.specialisations}")
        return "\n".join(lines)


def tell_where(error: Exception, name: str) -> None:
    """Note on an error of traced code which line of the user's raised it, and what may help."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not in_package(f.filename)]
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "its signature"
    hint = next((f"; {text}" for kind, text in HINTS.items() if isinstance(error, kind)), "")
    error.add_note(f"while {name} was compiled, at {where}{hint}")
