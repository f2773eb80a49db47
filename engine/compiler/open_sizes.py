"""One trace for many sizes: sizes that differ from call to call are symbols while code is traced.

What the code asks of such a size (``x.shape[1] > 512``, or an op whether two sizes are equal) is
answered with the size of this call and taken down: the trace holds for all sizes that give the same
answers. A size that is used as a number ends such a trace; then each size is traced by itself.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .. import random as streams
from ..shape import Aval, Dim, Shape, SymDim, substitute
from .asking import Asked, Question, Sizes, answer, asking, put_in
from .bytecode import KIND_TESTS
from .graph import Graph, GraphError, Node, Value, verify
from .making import Arguments, Made, trace_call
from .open_plans import OpenPlan, SizeNeededError, open_plan
from .options import Axes
from .plan import Plan, compile_graph
from .traced import TraceBreak, in_package

logger = logging.getLogger("cellwire.jit")
MAX_NOTES = 16
MAX_TRACES = 4
"""Traces with open sizes that one kind of call may need, before it gets none."""
NUMBER_KINDS = {"int", "Integral", "Number", "Rational", "Real", "SupportsIndex", "SupportsInt"}
MAX_OPEN_PLANS = 4
"""Plans for any size that one trace may need, since passes ask for sizes too."""


@dataclass(slots=True)
class OpenTrace:
    """A trace with open sizes: which axis is which symbol, and what was asked of them."""

    made: Made
    shapes: tuple[Shape, ...]
    questions: list[tuple[Question, bool]]
    note: Callable[[str], None]
    plans: list[OpenPlan] = field(default_factory=list)
    reason: str | None = None
    """Why each size has a plan of its own."""

    def sizes_of(self, shapes: Sequence[tuple[int, ...]]) -> Sizes | None:
        """Return what the symbols are for these shapes; None where the trace does not hold."""
        sizes: Sizes = {}
        for wanted, shape in zip(self.shapes, shapes, strict=True):
            for dim, size in zip(wanted, shape, strict=True):
                known = sizes.setdefault(str(dim), size) if isinstance(dim, SymDim) else dim
                if known != size or (size < 2 and isinstance(dim, SymDim)):
                    return None
        fits = all(answer(question, sizes) == found for question, found in self.questions)
        return sizes if fits else None

    def at(self, sizes: Sizes) -> Made:
        """Return the same trace with numbers for the symbols."""
        graph = closed(self.made.call.graph, sizes)
        call = replace(self.made.call, graph=graph)
        return replace(self.made, call=call, seconds=0.0, plan=partial(self.plan, sizes))

    def plan(self, sizes: Sizes, graph: Graph, writes: dict[int, int]) -> Plan:
        """Return the plan for these sizes, whose graph is ``graph``."""
        for found in self.plans:
            if found.fits(sizes):
                return found.at(sizes)
        if self.reason is None and len(self.plans) >= MAX_OPEN_PLANS:
            self._close(f"passes ask for sizes in more than {MAX_OPEN_PLANS} ways")
        if self.reason is None:
            try:
                self.plans.append(open_plan(self.made.call.graph, sizes, writes))
            except (SizeNeededError, GraphError, TypeError) as reason:
                self._close(str(reason))
            else:
                return self.plans[-1].at(sizes)
        return compile_graph(graph, writes=writes)

    def _close(self, reason: str) -> None:
        self.reason = reason
        self.note(f"each size has a plan of its own: {reason}")


@dataclass(slots=True)
class Family:
    """Calls that differ in the sizes of their tensors alone."""

    name: str
    declared: Axes | None = frozenset()
    """Axes that are open from the first call on; None is all."""
    first: dict[tuple[int, int], int] = field(default_factory=dict)
    """The first size from 2 on of each axis of each input."""
    open: set[tuple[int, int]] = field(default_factory=set)
    traces: list[OpenTrace] = field(default_factory=list)
    reason: str | None = None
    """Why each size is traced by itself."""
    notes: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_NOTES))
    """The latest reasons to compile anew."""

    def made(self, function: Callable[..., Any], arguments: Arguments) -> Made:
        """Return the trace of a call: one with open sizes if sizes differ and it can be."""
        shapes = [tuple(tensor.data.shape) for tensor in arguments.tensors]
        self._meet(shapes)
        if not self.open or self.reason is not None:
            return trace_call(function, arguments)
        for found in self.traces:
            sizes = found.sizes_of(shapes)
            if sizes is not None and found.made.holds():
                return self._at(found, sizes) or trace_call(function, arguments)
        self.traces = [found for found in self.traces if found.made.holds()]
        if len(self.traces) >= MAX_TRACES:
            self._close(f"code asks for sizes in more than {MAX_TRACES} ways")
            return trace_call(function, arguments)
        found = self._traced_open(function, arguments, shapes)
        if isinstance(found, Made):
            return found
        made = trace_call(function, arguments)  # where the error is the code's own, it comes again
        self._close(found)
        return made

    @staticmethod
    def _at(found: OpenTrace, sizes: Sizes) -> Made | None:
        """Return a trace for these sizes; None where a shape rule refuses them."""
        try:
            return found.at(sizes)
        except (GraphError, TypeError, ValueError):
            return None  # the trace with numbers raises the code's own error, and says where

    def _meet(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Open the axes whose size is another one now."""
        for number, shape in enumerate(shapes):
            for axis, size in enumerate(shape):
                if size < 2 or (number, axis) in self.open:
                    continue
                first = self.first.setdefault((number, axis), size)
                declared = self.declared is None or (number, axis) in self.declared
                if first == size and not declared:
                    continue
                self.open.add((number, axis))
                before = f" was {first}, now {size}" if first != size else " is declared open"
                self.note(f"axis {axis} of input {number}{before}: it is open from here on")

    def _traced_open(
        self, function: Callable[..., Any], arguments: Arguments, shapes: list[tuple[int, ...]]
    ) -> Made | str:
        """Return the trace with open sizes, or why there can be none."""
        wanted, sizes = self._named(shapes)
        asked = Asked(sizes)
        saved = streams.state().save()
        avals = [
            Aval(shape, tensor.dtype)
            for shape, tensor in zip(wanted, arguments.tensors, strict=True)
        ]
        try:
            with asking(asked):
                made = trace_call(function, arguments, avals)
            self._check(made)
            found = OpenTrace(made, wanted, asked.questions, self.note)
            closing = found.at(sizes)
        except Exception as error:
            streams.state().restore(saved)
            return str(error)
        self.traces.append(found)
        return closing

    def _named(self, shapes: list[tuple[int, ...]]) -> tuple[tuple[Shape, ...], Sizes]:
        """Return the shapes with symbols on open axes: one symbol for axes that went together."""
        names: dict[tuple[int, int], str] = {}
        wanted: list[Shape] = []
        sizes: Sizes = {}
        for number, shape in enumerate(shapes):
            dims: list[Dim] = list(shape)
            for axis, size in enumerate(shape):
                if (number, axis) in self.open and size > 1:
                    kind = (size, self.first[number, axis])
                    name = names.setdefault(kind, f"N{len(names)}" if names else "N")
                    dims[axis] = SymDim(name)
                    sizes[name] = size
            wanted.append(tuple(dims))
        return tuple(wanted), sizes

    @staticmethod
    def _check(made: Made) -> None:
        """Refuse traces that would not hold for other sizes."""
        if made.call.guards:
            raise TraceBreak("a branch depends on a tensor's value", "", made.call.guards[0].where)
        if made.effects is not None and made.effects.program.asks_late:
            where = made.effects.program.conditions[-1].where
            raise TraceBreak("a branch depends on a tensor's value", "", where)
        for code in made.reads.walked:
            names = set(code.co_names)
            if names & KIND_TESTS and names & NUMBER_KINDS and not in_package(code.co_filename):
                where = f"{code.co_filename}:{code.co_firstlineno}"
                raise TraceBreak("code asks whether something is an int", "", where)
        for node in made.call.graph.nodes:
            if node.op.category == "graph":
                raise TraceBreak(f"{node.op.name} is made for the sizes of one call")

    def _close(self, reason: str) -> None:
        self.reason = reason
        self.traces.clear()
        self.note(f"each size is traced by itself: {reason}")

    def note(self, text: str) -> None:
        """Keep and log a reason to compile anew."""
        self.notes.append(text)
        logger.info("%s: %s", self.name, text)


def closed(graph: Graph, sizes: Sizes) -> Graph:
    """Return a graph with numbers for its symbols, checked by the ops' shape rules.

    Raises
    ------
    GraphError
        If a symbol is left, or a rule says otherwise.
    """
    known: dict[Value, Value] = {}

    def value(old: Value) -> Value:
        if old not in known:
            known[old] = Value(old.index, substitute(old.aval, sizes), old.origin)
        return known[old]

    constants: dict[Value, np.ndarray] = {value(v): a for v, a in graph.constants.items()}
    nodes: list[Node] = []
    ones: set[Value] = set()
    for node in graph.nodes:
        inputs, outputs = tuple(map(value, node.inputs)), tuple(map(value, node.outputs))
        if node.op.name == "sum" and inputs[0] in ones:  # how gradients count what is open
            constants[outputs[0]] = _count(inputs[0].aval, outputs[0].aval)
            continue
        ones.update(outputs if node.op.name == "ones_like" else ())
        attrs = tuple((name, put_in(attr, sizes)) for name, attr in node.attrs)
        nodes.append(Node(node.op, inputs, outputs, attrs, node.origin))
    ends = tuple(map(value, graph.outputs))
    made = Graph(tuple(map(value, graph.inputs)), tuple(nodes), ends, constants)
    verify(made)
    if any(isinstance(dim, SymDim) for new in known.values() for dim in new.aval.shape):
        raise GraphError("a size stays open")
    return made


def _count(summed: Aval, total: Aval) -> np.ndarray:
    """Return the sum of ones over some axes: how many there are for each result."""
    count: Any = summed.size // total.size if total.size else 0
    shape: Any = total.shape
    return np.full(shape, count, total.dtype.numpy)


def family_key(key: Any) -> object:
    """Return a call's signature without the sizes of its tensors."""
    shape, *floats = key if len(key) == 3 else (key,)
    parts, structure = shape
    kinds = tuple((len(part[0]), part[1]) if _is_tensor(part) else part for part in parts)
    return (kinds, structure, *floats)


def _is_tensor(part: object) -> bool:
    return isinstance(part, tuple) and len(part) == 2 and isinstance(part[1], np.dtype)
