"""What was compiled for one kind of call: paths through its branches, each with its plan.

`making.py` makes them; `jitted.py` and `quick_calls.py` choose one at each call and run it.
"""

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
from .replay import Effects
from .structure import unflatten
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
    effects: Effects | None = None
    """What each call does beside the graph; its tensors follow those of the result."""
    recorded: GraphOp | None = None
    gradient_reads: Reads = field(default_factory=Reads)
    held: list[tuple[Tensor, np.ndarray]] | None = None
    """Captured tensors, random keys apart, with their arrays at the last call; None if each call
    takes new ones."""
    arrays: list[np.ndarray] = field(default_factory=list)
    """The captured tensors' arrays, with places for random keys."""
    keys: tuple[tuple[int, RandomKey], ...] = ()
    """Random keys that each call draws, and where among the captured tensors they stand."""
    owned: frozenset[int] = frozenset()
    """Identities of the arrays that own the memory which the plan writes."""
    long_calls: int = 0
    """Calls that were looked up by their signature."""
    quick: Callable[[tuple[Any, ...], dict[str, Any]], Any] | None = None
    """The function that checks and runs such a call at once, if one was made."""

    def __post_init__(self) -> None:
        captured = enumerate(self.call.captured)
        self.keys = tuple((i, t) for i, t in captured if isinstance(t, RandomKey))

    @property
    def draws(self) -> bool:
        """Whether each call draws random keys."""
        return bool(self.keys)

    def holds(self) -> bool:
        """Return whether everything outside is such as the trace relied on."""
        return self.reads.hold() and (self.effects is None or self.effects.hold())

    def finish(self, outputs: Sequence[Tensor], arguments: Sequence[Tensor]) -> Any:
        """Return the result made of the plan's tensors, when the call's effects are done."""
        result: Any = unflatten(self.call.structure, outputs, arguments)
        if self.effects is None:
            return result
        self.effects.replay(outputs, arguments)
        return result[0]

    def matches(self, values: Sequence[np.ndarray]) -> bool:
        """Return whether Python's branches go the same way on these values."""
        return all(g.holds(v) for g, v in zip(self.outcomes, values, strict=True))

    def why_not(self) -> str:
        """Say why a call that fits in its arguments did not take this path."""
        changed = self.reads.changed()
        if changed:
            return f"{changed[0]} has changed"
        broken = self.effects.broken() if self.effects is not None else None
        if broken is not None:
            return broken
        if self.outcomes:
            return f"a branch went another way, at {self.outcomes[-1].where} or before"
        return "what is trained, a hook or the shape of a tensor from outside has changed"

    def captured(self) -> list[np.ndarray] | None:
        """Return the captured tensors' arrays; None if one has another shape than was traced."""
        same = self.held is not None and all(t.data is array for t, array in self.held)
        if not same and not self._hold():
            return None
        if not self.draws:
            return self.arrays
        arrays = list(self.arrays)
        for position, key in self.keys:
            arrays[position] = key.take().data
        return arrays

    def _hold(self) -> bool:
        """Take the captured tensors' arrays of now; return whether they are as traced."""
        captured = self.call.captured
        lasting = [(i, t) for i, t in enumerate(captured) if not isinstance(t, RandomKey)]
        specs = self.plan.inputs[len(self.plan.inputs) - len(captured) :]
        now = [(tensor, tensor.data) for _, tensor in lasting]
        for (i, _), (_, array) in zip(lasting, now, strict=True):
            if (array.shape, array.dtype) != specs[i]:
                return False
        self._check_apart(now)
        self.arrays = [np.empty(0)] * len(captured)
        for (i, _), (_, array) in zip(lasting, now, strict=True):
            self.arrays[i] = whole(array)
        contiguous = all(self.arrays[i] is a for (i, _), (_, a) in zip(lasting, now, strict=True))
        self.held = now if contiguous else None
        return True

    def _check_apart(self, now: Sequence[tuple[Tensor, np.ndarray]]) -> None:
        """Note whose memory the plan writes; ``TraceBreak`` if it reads that by another name."""
        written = set(map(id, self.call.writes))
        self.owned = frozenset(id(owner(a)) for t, a in now if id(t) in written)
        for tensor, array in now:
            if id(tensor) not in written:
                self.check_apart(array)

    def check_apart(self, array: np.ndarray) -> None:
        """Raise ``TraceBreak`` if a plan would write into what it was given as an input."""
        if id(owner(array)) in self.owned:
            raise TraceBreak(
                "a tensor shares its memory with a Parameter that the function writes",
                "give it memory of its own (copy)",
            )


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


def owner(array: np.ndarray) -> np.ndarray:
    """Return the array that owns the memory which ``array`` shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
