"""What became of a graph: kernels, host steps and why, sizes and seconds.

The planner fills it in; ``plan.report`` and ``jit.explain`` show it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..origin import Origin


def counted(number: int, what: str) -> str:
    """Return so many of something, in words."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def ran_eagerly(calls: int) -> str:
    """Return what is told where a plan was made in the background."""
    return f"compiled in the background, {counted(calls, 'call')} ran eagerly meanwhile"


@dataclass(frozen=True, slots=True)
class KernelReport:
    """One kernel: the ops it does, where in the drawing they are, and how often it is called."""

    name: str
    kind: str
    ops: tuple[str, ...]
    origins: tuple[Origin, ...]
    calls: int = 1

    def __str__(self) -> str:
        times = f" ×{self.calls}" if self.calls > 1 else ""
        places = sorted({str(origin) for origin in self.origins})
        where = f" of {', '.join(places)}" if places else ""
        return f"{self.kind} {self.name}{times}: {', '.join(self.ops)}{where}"


@dataclass(frozen=True, slots=True)
class HostStep:
    """An op that runs in NumPy between kernels, and the reason."""

    op: str
    reason: str
    origin: Origin | None

    def __str__(self) -> str:
        return f"host {self.op}: {self.reason}"


@dataclass(slots=True)
class Report:
    """The account of one plan."""

    kernels: tuple[KernelReport, ...] = ()
    host_steps: tuple[HostStep, ...] = ()
    compile_seconds: float = 0.0
    compiled: bool = False
    """Whether machine code was made; False where all of it came from the cache."""
    arena_bytes: int = 0
    native_runs: int = 0
    eager_calls: int = 0
    """Calls that ran eagerly while the plan was made in the background."""
    text: Callable[[], str] = field(default=str, repr=False)

    @property
    def code(self) -> str:
        """What the kernels do: loop IR, or an outline of the loops where there is none."""
        return self.text()

    def __str__(self) -> str:
        lines = [*map(str, self.kernels), *map(str, self.host_steps)]
        source = "compiled" if self.compiled else "from the cache"
        kernels = counted(len(self.kernels), "kernel")
        lines.append(
            f"{kernels} {source} in {self.compile_seconds * 1e3:.1f} ms,"
            f" arena {self.arena_bytes} bytes, native runs {self.native_runs}"
        )
        if self.eager_calls:
            lines.append(ran_eagerly(self.eager_calls))
        return "\n".join(lines)
