"""What was compiled for one kind of call: paths through its branches, each with its plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..ops import registry
from ..parameter import Parameter
from ..tensor import Tensor
from .graph import Graph
from .graph_op import GraphOp
from .guards import Reads
from .plan import Plan, whole
from .trace import TracedCall
from .traced import OutcomeGuard, RandomKey, TraceBreak


@dataclass(slots=True)
class Specialisation:
    """One traced path: the plan and everything that must hold for it to be the right one."""

    call: TracedCall
    reads: Reads
    outcomes: tuple[OutcomeGuard, ...]
    promoted: tuple[int, ...]
    plan: Plan
    seconds: float
    recorded: GraphOp | None = None
    gradient_reads: Reads = field(default_factory=Reads)
    held: list[tuple[Tensor, np.ndarray]] | None = None
    """Captured tensors with their arrays at the last call; None if each call takes new ones."""
    arrays: list[np.ndarray] = field(default_factory=list)
    draws: bool = False
    """Whether each call draws random keys."""
    long_calls: int = 0
    """Calls that were looked up by their signature."""
    quick: Callable[[tuple[Any, ...], dict[str, Any]], Any] | None = None
    """The function that checks and runs such a call at once, if one was made."""

    def __post_init__(self) -> None:
        self.draws = any(isinstance(tensor, RandomKey) for tensor in self.call.captured)

    def matches(self, values: Sequence[np.ndarray]) -> bool:
        """Return whether Python's branches go the same way on these values."""
        return all(g.holds(v) for g, v in zip(self.outcomes, values, strict=True))

    def why_not(self) -> str:
        """Say why a call that fits in its arguments did not take this path."""
        changed = self.reads.changed()
        if changed:
            return f"{changed[0]} has changed"
        if self.outcomes:
            return f"a branch went another way, at {self.outcomes[-1].where} or before"
        return "what is trained, a hook or the shape of a tensor from outside has changed"

    def captured(self) -> list[np.ndarray] | None:
        """Return the captured tensors' arrays; None if one has another shape than was traced."""
        if self.held is not None:
            for tensor, array in self.held:
                if tensor.data is not array:
                    break
            else:
                return self.arrays
        arrays = [tensor.data for tensor in self.call.captured_now()]
        specs = self.plan.inputs[len(self.plan.inputs) - len(arrays) :]
        if any(a.shape != s or a.dtype != d for a, (s, d) in zip(arrays, specs, strict=True)):
            return None
        self.arrays = [whole(array) for array in arrays]
        lasting = all(a is b for a, b in zip(arrays, self.arrays, strict=True)) and not self.draws
        self.held = list(zip(self.call.captured, arrays, strict=True)) if lasting else None
        return self.arrays


@dataclass(slots=True)
class Situation:
    """Everything compiled for one signature of arguments."""

    paths: list[Specialisation] = field(default_factory=list)
    reason: TraceBreak | None = None
    crowded: bool = False
    """Whether the reason is that there are too many paths."""


def writes_in_place(traced: TracedCall, arguments: int) -> dict[int, int]:
    """Return which outputs may go straight into the memory of which inputs."""
    where = {id(t): arguments + i for i, t in enumerate(traced.captured)}
    return {traced.results + i: where[id(p)] for i, p in enumerate(traced.writes)}


def with_outcomes(traced: TracedCall) -> TracedCall:
    """Return the call with the values that its branches asked for as further outputs."""
    graph = traced.graph
    outputs = (*graph.outputs, *(guard.value for guard in traced.guards))
    asked = Graph(graph.inputs, graph.nodes, outputs, graph.constants)
    return replace(traced, graph=asked)


def count_write(tensor: Tensor) -> None:
    """Count that a plan wrote into a Parameter's memory."""
    if isinstance(tensor, Parameter):
        registry.note_write(tensor)
        tensor.version += 1
