"""Graphs inside graphs: what the branches and bodies of control flow are traced to.

Shared by `branches.py`, `looping.py` and `traced_loops.py`; each part is a trace in a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from ..ops import registry
from ..ops.registry import GradRule, Host, Op
from ..shape import Aval
from ..tensor import Tensor
from .differentiate import differentiate
from .graph import Graph, Value, all_values
from .plan import Plan, compile_graph
from .simplify import eliminate_dead
from .structure import flatten, opaque_part, unflatten
from .trace import Trace, TracedCall, is_tensor, trace
from .traced import RandomKey, TraceBreak

_numbers = count()


class SubGraph:
    """A graph that an op runs: its plan, made when it runs first, and its derivative."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def plan(self) -> Plan:
        """The compiled graph."""
        return compile_graph(self.graph)

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """Run the graph; the results share no memory with what was given."""
        given = {id(array) for array in arrays}
        results = self.plan(*[np.ascontiguousarray(a).reshape(a.shape) for a in arrays])
        return tuple(
            result.copy() if id(result) in given or result.base is not None else result
            for result in results
        )

    def pullback(self, results: int, wrt: Sequence[int]) -> SubGraph:
        """Return the graph of gradients to the inputs at ``wrt``.

        It takes the inputs, then a gradient for each float one of the first ``results`` outputs.
        """
        derived = differentiate(self.graph, results, wrt)
        douts = derived.backward.inputs[len(derived.residuals) :]
        kept = [
            dout
            for dout, out in zip(douts, self.graph.outputs[:results], strict=True)
            if out.aval.dtype.is_float
        ]
        constants = {**derived.forward.constants, **derived.backward.constants}
        nodes = (*derived.forward.nodes, *derived.backward.nodes)
        whole = Graph((*self.graph.inputs, *kept), nodes, derived.backward.outputs, constants)
        return SubGraph(eliminate_dead(whole))


@dataclass(frozen=True, slots=True)
class Part:
    """A function traced inside another trace, with the tensors it was given."""

    call: TracedCall
    given: int

    @property
    def avals(self) -> tuple[Aval, ...]:
        """What the function gives."""
        return tuple(value.aval for value in self.call.graph.outputs[: self.call.results])

    def on(self, outside: Sequence[Tensor], written: Sequence[Tensor] = ()) -> Graph:
        """Return the graph over the given tensors and then those of ``outside``.

        Its outputs are the results, then the last value of each of ``written``.
        """
        graph = self.call.graph
        own = {
            id(tensor): value
            for tensor, value in zip(self.call.captured, graph.inputs[self.given :], strict=True)
        }
        fresh = count(1 + max((value.index for value in all_values(graph)), default=0))
        inputs = [own.get(id(t)) or Value(next(fresh), t.aval) for t in outside]
        last = {id(t): value for t, value in zip(outside, inputs, strict=True)}
        last.update(
            (id(tensor), value)
            for tensor, value in zip(
                self.call.writes, graph.outputs[self.call.results :], strict=True
            )
        )
        outputs = (*graph.outputs[: self.call.results], *(last[id(tensor)] for tensor in written))
        return Graph((*graph.inputs[: self.given], *inputs), graph.nodes, outputs, graph.constants)


def trace_part(name: str, fn: Callable[..., Any], args: tuple[Any, ...]) -> Part:
    """Trace ``fn(*args)`` inside the active trace; the tensors in ``args`` become its inputs."""
    leaves, structure = flatten(args, is_tensor)
    tensors: list[Any] = leaves

    def call(given: Sequence[Tensor]) -> Any:
        filled: Any = unflatten(structure, given)
        return fn(*filled)

    journal = next((t.journal for t in registry.traces if isinstance(t, Trace) and t.journal), None)
    before = journal.state() if journal is not None else None
    called = trace(call, [tensor.aval for tensor in tensors], None, call, nested=True)
    if journal is not None and journal.state() != before:
        raise TraceBreak(
            f"{name}: a function changes something outside the graph",
            "return the value, and change it after the call",
        )
    opaque = opaque_part(called.structure)
    if opaque is not None:
        raise TraceBreak(
            f"{name}: a function gives {type(opaque).__name__}, which is no tensor",
            "return tensors, in tuples, lists and dictionaries",
        )
    return Part(called, len(tensors))


def outside_of(*parts: Part) -> list[Tensor]:
    """Return the tensors from outside that the parts read, each once."""
    found = {id(tensor): tensor for part in parts for tensor in part.call.captured}
    return list(found.values())


def written_by(*parts: Part) -> list[Tensor]:
    """Return the tensors from outside that the parts write, each once."""
    found = {id(tensor): tensor for part in parts for tensor in part.call.writes}
    return list(found.values())


def draws(part: Part) -> bool:
    """Return whether a part draws random numbers."""
    return any(isinstance(tensor, RandomKey) for tensor in part.call.captured)


def graph_op(
    name: str,
    avals: Sequence[Aval],
    kernel: Callable[..., tuple[np.ndarray, ...]],
    grad: GradRule,
    reason: str,
    is_native: Callable[[], bool] | None = None,
) -> Op:
    """Return an op that runs graphs; each is an op of its own with a name of its own."""
    own, outputs = f"{name}_{next(_numbers)}", tuple(avals)
    return Op(
        own, ("inputs",), {}, "graph", lambda *_: outputs, kernel, grad, Host(reason, is_native),
        name, "Control flow of a compiled function.", kernel, variadic=True,
    )  # fmt: skip


def floats_of(avals: Sequence[Aval]) -> list[int]:
    """Return the positions of float tensors."""
    return [position for position, aval in enumerate(avals) if aval.dtype.is_float]


def filled(douts: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> list[Tensor]:
    """Return gradients with zeros where none flows."""
    zeros = registry.OPS["zeros_like"].function
    return [zeros(out) if dout is None else dout for dout, out in zip(douts, outputs, strict=True)]
