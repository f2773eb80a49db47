"""The gradient graph: a record's backward pass as one graph, cached, interpreted, then compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..dtype import dtype_of
from ..ops.cast import cast_to
from ..ops.registry import OPS, Entry, active_records, traces
from ..recent import Recent
from ..shape import Aval, shape_text
from ..tensor import Tensor, wrap
from .backward import needed_entries, ones_for, run_backward, zeros_for
from .record import Record
from .tensor_hooks import any_hooked, hooked
from .writes import settle_writes

if TYPE_CHECKING:
    from ..compiler.graph import Graph

MAX_GRAPHS = 256
"""Gradient graphs remembered; those not used lately are forgotten."""

_graphs: Recent[GradGraph] = Recent(MAX_GRAPHS)
_compile_at_once: list[bool] = []


@dataclass(slots=True)
class GradGraph:
    """The backward graph of records of one structure.

    ``graph`` takes the forward values numbered ``residuals``, then one gradient for each output
    of the record; it gives one gradient for each tensor derived by.
    """

    graph: Graph
    residuals: tuple[int, ...]
    uses: int = 0
    plan: Callable[..., tuple[np.ndarray, ...]] | None = field(default=None, repr=False)

    def run(self, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Interpret the graph the first time, run it compiled afterwards."""
        from ..compiler.graph import interpret
        from ..compiler.plan import compile_graph

        self.uses += 1
        if self.plan is None and (self.uses > 1 or _compile_at_once):
            self.plan = compile_graph(self.graph)
        return interpret(self.graph, inputs) if self.plan is None else self.plan(*inputs)


class Structure:
    """What a record computes, with its tensors numbered in order of first use.

    ``key`` is hashable, and equal for records with the same gradient graph.
    """

    __slots__ = ("entries", "key", "numbers", "tensors")

    def __init__(
        self, entries: Sequence[Entry], outputs: Sequence[Tensor], wrt: Sequence[Tensor]
    ) -> None:
        self.entries = entries
        self.numbers: dict[int, int] = {}
        self.tensors: list[Tensor] = []
        number = self._number
        rows = [
            (op, number(inputs), number(made), *attrs.items(), origin)
            for op, inputs, made, attrs, origin in entries
        ]
        ends = number(outputs), number(wrt)
        avals = [(tensor.data.shape, tensor.data.dtype) for tensor in self.tensors]
        self.key = (tuple(rows), ends, tuple(avals))

    def _number(self, tensors: Sequence[Tensor]) -> tuple[int, ...]:
        """Return the tensors' numbers, giving the next ones to those not seen yet."""
        numbers, known = self.numbers, self.tensors
        found = []
        for tensor in tensors:
            count = len(known)
            place = numbers.setdefault(id(tensor), count)
            if place == count:
                known.append(tensor)
            found.append(place)
        return tuple(found)

    def number(self, tensor: Tensor) -> int:
        """Return the number of a tensor of the record."""
        return self.numbers[id(tensor)]


class compiling_at_once:  # noqa: N801 - used as a statement: with compiling_at_once():
    """Compile gradient graphs and eager composite ops at their first use in the body.

    Interpreted and compiled graphs may differ in the last bit, so a training run that can be
    resumed must not depend on how often a graph was seen before.
    """

    def __enter__(self) -> None:
        _compile_at_once.append(True)

    def __exit__(self, *exception: object) -> None:
        _compile_at_once.pop()


def compiles_at_once() -> bool:
    """Whether the body of ``compiling_at_once`` is running."""
    return bool(_compile_at_once)


def gradients(
    record: Record,
    outputs: Sequence[Tensor],
    wrt: Sequence[Tensor],
    douts: Sequence[Tensor | None] | None = None,
) -> list[Tensor]:
    """Return the gradients of ``outputs`` to each tensor of ``wrt``; zeros where none flows.

    ``douts`` are the outputs' own gradients, ones by default. Under an outer record or a trace
    the rules run op by op, so that they are themselves recorded or traced.

    Raises
    ------
    RuntimeError
        If memory that the gradients need was written to after it was read.
    ValueError
        If a given gradient has not the shape of its output.
    """
    entries, handles = settle_writes(record, outputs, wrt)
    outputs, wrt = handles(outputs), handles(wrt)
    given = [ones_for(t) for t in outputs] if douts is None else _fitting(outputs, douts)
    direct = (
        active_records()
        or traces
        or not all(t.dtype.is_float for t in outputs)
        or _has_own_rules(entries)
        or any_hooked(wrt)
        or any(any_hooked((*e.inputs, *e.outputs)) for e in entries if hooked)
    )
    if direct or any(dout is None for dout in given):
        found = run_backward(entries, outputs, given, wrt)
        pairs = zip(wrt, found, strict=True)
        return [zeros_for(tensor) if grad is None else grad for tensor, grad in pairs]
    built, structure = _graph_for(entries, outputs, wrt)
    residuals = [structure.tensors[number].data for number in built.residuals]
    results = built.run([*residuals, *(dout.data for dout in given if dout is not None)])
    return [wrap(result) for result in results]


def _has_own_rules(entries: Sequence[Entry]) -> bool:
    """Return whether a Cell's own bprop takes part: Python code, which may change."""
    ops = {entry.op for entry in entries}
    return any(op.name not in OPS and op.category != "graph" for op in ops)


def gradient_graph(
    record: Record, outputs: Sequence[Tensor], wrt: Sequence[Tensor]
) -> tuple[Graph, list[np.ndarray]]:
    """Return a record's backward pass as a graph to be stepped through, and its first inputs.

    The graph's inputs are the forward values that gradient rules read (the arrays returned), then
    one gradient for each output; its outputs are the gradients to ``wrt``. Each node's origin is
    the forward node's with direction ``"gradient"``, and contributions of several consumers of a
    value meet in ``add`` nodes, whose inputs are the contributions before they are summed.
    ``compiler.graph.interpret(graph, [*arrays, *douts], callback)`` runs it node by node.
    """
    entries, handles = settle_writes(record, outputs, wrt)
    built, structure = _graph_for(entries, handles(outputs), handles(wrt))
    return built.graph, [structure.tensors[number].data for number in built.residuals]


def _fitting(outputs: Sequence[Tensor], douts: Sequence[Tensor | None]) -> list[Tensor | None]:
    fitted: list[Tensor | None] = []
    for output, dout in zip(outputs, douts, strict=True):
        if dout is not None and tuple(dout.shape) != tuple(output.shape):
            raise ValueError(
                f"grad: the gradient of an output of shape {shape_text(output.shape)} was given"
                f" with shape {shape_text(dout.shape)}; they must be equal."
            )
        fitted.append(None if dout is None else cast_to(dout, output.dtype))
    return fitted


def _graph_for(
    entries: Sequence[Entry], outputs: Sequence[Tensor], wrt: Sequence[Tensor]
) -> tuple[GradGraph, Structure]:
    structure = Structure(entries, outputs, wrt)
    found = _graphs.get(structure.key)
    if found is None:
        found = _graphs[structure.key] = _build(structure, outputs, wrt)
    return found, structure


def _build(structure: Structure, outputs: Sequence[Tensor], wrt: Sequence[Tensor]) -> GradGraph:
    """Write the record as a graph and derive it."""
    from ..compiler.differentiate import differentiate
    from ..compiler.graph import Graph, Node, Value, freeze_attrs

    values = [
        Value(number, Aval(tensor.data.shape, dtype_of(tensor.data.dtype)))
        for number, tensor in enumerate(structure.tensors)
    ]
    made: set[int] = set()
    read = {structure.number(tensor) for tensor in (*outputs, *wrt)}
    nodes: list[Node] = []
    for entry, _ in needed_entries(structure.entries, outputs, wrt):
        ins = tuple(values[structure.number(t)] for t in entry.inputs)
        outs = tuple(values[structure.number(t)] for t in entry.outputs)
        made.update(value.index for value in outs)
        read.update(value.index for value in ins)
        nodes.append(Node(entry.op, ins, outs, freeze_attrs(entry.attrs), entry.origin))
    leaves = tuple(value for value in values if value.index in read - made)
    positions = {value.index: position for position, value in enumerate(leaves)}
    forward = Graph(leaves, tuple(nodes), tuple(values[structure.number(t)] for t in outputs))
    derived = differentiate(
        forward, len(outputs), [positions[structure.number(tensor)] for tensor in wrt]
    )
    return GradGraph(derived.backward, tuple(value.index for value in derived.residuals))
