"""Plans for any size: a graph with symbols is fused and lowered once, and each call's sizes put in.

What the passes ask of a size is answered with those of the call at hand and taken down, as for
traces (`open_sizes.py`). A size that ends up in a kernel's code, where it must be a number, ends
the attempt: then each size has a plan of its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..shape import Aval, Dim, ShapeError, SymDim, evaluate, substitute
from .access import Access
from .asking import Asked, Question, Sizes, answer, asking, put_in
from .fuse import Fuser, Fusion, Group
from .graph import Graph, Node, Value, verify
from .native_step import NativeStep
from .planner import Planner
from .runs import Plan
from .simplify import simplify
from .space import Space


class SizeNeededError(Exception):
    """A pass needs a size as a number."""


class _Planning(Asked):
    """Answers what passes ask of open sizes."""

    def number(self, dim: SymDim) -> int:
        """Refuse: code would keep the number."""
        if self._is_foreign():
            return super().number(dim)
        raise SizeNeededError("a size that differs stands in the code of a kernel")

    def reveal(self, dim: SymDim) -> None:
        """Passes may look sizes up."""

    def fail(self, error: ShapeError) -> None:
        """Leave it to the pass."""

    def spell(self, dim: SymDim) -> None:
        """Refuse: a kernel's text would keep the symbol."""
        if self._is_foreign():
            return
        raise SizeNeededError("a size that differs stands in the code of a kernel")


@dataclass(frozen=True, slots=True)
class Count:
    """A number made of sizes that the graph computes with: each call's plan has it as constant."""

    value: Value
    number: Dim


@dataclass(slots=True)
class OpenPlan:
    """The steps of a graph with open sizes, and what was asked of the sizes."""

    planner: Planner
    steps: list[NativeStep | Group]
    counts: list[Count]
    questions: list[tuple[Question, bool]]
    given: frozenset[int]

    def fits(self, sizes: Sizes) -> bool:
        """Return whether these steps are right for such sizes."""
        return all(answer(question, sizes) == found for question, found in self.questions)

    def at(self, sizes: Sizes) -> Plan:
        """Return the plan for these sizes."""
        started = time.perf_counter()
        closing, opened = _Closing(sizes), self.planner
        fusion = closing.fusion(opened.fusion, self.counts)
        planner = Planner(fusion, opened.fuser, opened.result_count, {}, opened.writes, self.given)
        planner.kernels = opened.kernels
        plan = planner.plan([closing.step(step) for step in self.steps])
        plan.report.compile_seconds = time.perf_counter() - started
        return plan


def open_plan(graph: Graph, sizes: Sizes, writes: dict[int, int]) -> OpenPlan:
    """Fuse and lower a graph with symbols, which have these sizes in the call at hand.

    Raises
    ------
    SizeNeededError, GraphError, TypeError
        If one plan cannot serve all sizes.
    """
    counts: list[Count] = []
    asked = _Planning(sizes)
    inputs = set(graph.inputs)
    given = frozenset(i for i, value in enumerate(graph.outputs) if value in inputs)
    with asking(asked):
        simple = simplify(graph, lambda expanded: _lift_counts(expanded, counts))
        verify(simple, infer=False)
        fuser = Fuser(simple)
        planner = Planner(fuser.run(), fuser, len(graph.outputs), {}, writes, given)
        steps = planner.lowered()
    return OpenPlan(planner, steps, counts, asked.questions, given)


def _lift_counts(graph: Graph, counts: list[Count]) -> Graph:
    """Make inputs of the numbers that come from open sizes, so that no pass folds them."""
    ones: set[Value] = set()
    nodes: list[Node] = []
    for node in graph.nodes:
        count = _count_of(node, ones)
        if count is None:
            nodes.append(node)
            ones.update(node.outputs if node.op.name == "ones_like" else ())
        else:
            counts.append(Count(node.outputs[0], count))
    inputs = (*graph.inputs, *(count.value for count in counts))
    return Graph(inputs, tuple(nodes), graph.outputs, graph.constants)


def _count_of(node: Node, ones: set[Value]) -> Dim | None:
    """Return the number that a node gives, where open sizes decide it."""
    if node.op.name == "full":
        filled: Any = node.attributes["fill_value"]
        return filled if isinstance(filled, SymDim) and not node.outputs[0].is_open else None
    if node.op.name != "sum" or node.inputs[0] not in ones or node.outputs[0].is_open:
        return None
    count = node.inputs[0].aval.size // node.outputs[0].aval.size
    return count if isinstance(count, SymDim) else None


@dataclass(slots=True)
class _Closing:
    """Numbers put in for symbols, value by value."""

    sizes: Sizes
    known: dict[Value, Value] = field(default_factory=dict)
    nodes: dict[Node, Node] = field(default_factory=dict)

    def value(self, old: Value) -> Value:
        """Return a value with its sizes; itself where they are numbers already."""
        found = self.known.get(old)
        if found is None:
            aval = substitute(old.aval, self.sizes) if old.is_open else old.aval
            found = self.known[old] = (
                Value(old.index, aval, old.origin) if aval is not old.aval else old
            )
        return found

    def node(self, old: Node) -> Node:
        """Return a node of closed values."""
        found = self.nodes.get(old)
        if found is None:
            inputs, outputs = (
                tuple(map(self.value, old.inputs)),
                tuple(map(self.value, old.outputs)),
            )
            attrs = tuple((name, put_in(attr, self.sizes)) for name, attr in old.attrs)
            same = inputs == old.inputs and outputs == old.outputs and attrs == old.attrs
            found = old if same else Node(old.op, inputs, outputs, attrs, old.origin)
            self.nodes[old] = found
        return found

    def number(self, dim: Any) -> Any:
        """Return an int for a size."""
        return evaluate(dim, self.sizes) if isinstance(dim, SymDim) else dim

    def access(self, old: Access) -> Access:
        """Return how a closed value is read."""
        strides = tuple(map(self.number, old.strides))
        return Access(self.value(old.base), strides, self.number(old.offset))

    def fusion(self, old: Fusion, counts: Sequence[Count]) -> Fusion:
        """Return the graph with its groups; the counts are constants of it."""
        graph, asked = old.graph, len(counts)
        constants = {self.value(v): array for v, array in graph.constants.items()}
        for count in counts:
            aval: Aval = count.value.aval
            number = self.number(count.number)
            constants[self.value(count.value)] = np.full(aval.shape, number, aval.dtype.numpy)  # pyright: ignore[reportArgumentType, reportCallIssue]
        inputs = graph.inputs[: len(graph.inputs) - asked]
        closed = Graph(
            tuple(map(self.value, inputs)),
            tuple(map(self.node, graph.nodes)),
            tuple(map(self.value, graph.outputs)),
            constants,
        )
        accesses = {self.value(v): self.access(a) for v, a in old.accesses.items()}
        return Fusion(closed, [], accesses)

    def step(self, old: NativeStep | Group) -> NativeStep | Group:
        """Return a step for these sizes."""
        if isinstance(old, Group):
            return self.group(old)
        buffers = tuple(v if isinstance(v, int) else self.value(v) for v in old.buffers)
        rows = old.rows
        if rows is not None:
            advance, apart = (tuple(map(self.number, each)) for each in (rows.advance, rows.apart))
            rows = replace(rows, advance=advance, apart=apart)
        return replace(
            old,
            buffers=buffers,
            ints=tuple(map(self.number, old.ints)),
            writes=tuple(map(self.value, old.writes)),
            group=self.group(old.group),
            rows=rows,
        )

    def group(self, old: Group) -> Group:
        """Return a group of closed nodes."""
        space = None if old.space is None else self.space(old.space)
        return replace(old, nodes=[*map(self.node, old.nodes)], space=space)

    def space(self, old: Space) -> Space:
        """Return an iteration space with its extents."""
        return replace(
            old,
            nodes=tuple(map(self.node, old.nodes)),
            axes={self.value(v): axes for v, axes in old.axes.items()},
            extents={axis: self.number(extent) for axis, extent in old.extents.items()},
            leaves={self.value(v): self.access(access) for v, access in old.leaves.items()},
            sinks=set(map(self.value, old.sinks)),
            tail=set(map(self.value, old.tail)),
            time={self.value(v): time for v, time in old.time.items()},
        )
