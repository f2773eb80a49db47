"""Differentiation of graphs: the gradient rules of the op table run on a graph's values.

The rules themselves are applied by ``autograd.backward``, the same walk that records use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..autograd.backward import run_backward, zeros_for
from ..dtype import bool_
from ..ops.registry import Entry
from ..tensor import Tensor
from .graph import Graph, Value, all_values
from .recompute import recompute_after
from .simplify import eliminate_dead
from .trace import Trace, tracing
from .traced import Traced


@dataclass(frozen=True, slots=True)
class Derivative:
    """A graph split for training.

    ``forward`` gives the results and then ``residuals``; ``backward`` takes the residuals and the
    results' gradients and gives the gradient of each of ``wrt``.
    """

    forward: Graph
    backward: Graph
    results: int
    residuals: tuple[Value, ...]
    wrt: tuple[int, ...]


def differentiate(graph: Graph, results: int, wrt: Sequence[int]) -> Derivative:
    """Derive the first ``results`` outputs of ``graph`` by the inputs at positions ``wrt``."""
    builder = Trace()
    builder.constants = dict(graph.constants)
    builder.count_from(1 + max((v.index for v in all_values(graph)), default=0))
    tensors: dict[Value, Tensor] = {v: Traced(builder, v) for v in all_values(graph)}
    entries = _entries(graph, tensors)
    outputs = graph.outputs[:results]
    douts = [builder.argument(v.aval) for v in outputs]
    with tracing(builder):
        found = run_backward(
            entries,
            [tensors[v] for v in outputs],
            [None if v.aval.dtype is bool_ else d for v, d in zip(outputs, douts, strict=True)],
            [tensors[graph.inputs[i]] for i in wrt],
        )
        grads = [
            zeros_for(tensors[graph.inputs[i]]) if grad is None else grad
            for i, grad in zip(wrt, found, strict=True)
        ]
        values = tuple(builder.value_of(grad) for grad in grads)
    made = Graph((), tuple(builder.nodes), values, builder.constants)
    backward = _with_less_kept(graph, results, eliminate_dead(made), [d.ssa for d in douts])
    residuals = _residuals(backward, tuple(d.ssa for d in douts))
    return Derivative(
        Graph(graph.inputs, graph.nodes, (*graph.outputs, *residuals), graph.constants),
        Graph(
            (*residuals, *(d.ssa for d in douts)),
            backward.nodes,
            backward.outputs,
            backward.constants,
        ),
        results,
        residuals,
        tuple(wrt),
    )


def _with_less_kept(graph: Graph, results: int, backward: Graph, douts: Sequence[Value]) -> Graph:
    """Return the backward part, which computes cheap values again instead of taking them over."""
    constants = {**graph.constants, **backward.constants}
    both = Graph(
        (*graph.inputs, *douts),
        (*graph.nodes, *backward.nodes),
        (*graph.outputs[:results], *backward.outputs),
        constants,
    )
    found = recompute_after(both, len(graph.nodes))
    forward = set(graph.nodes)
    nodes = tuple(node for node in found.nodes if node not in forward)
    used = {v for node in nodes for v in node.inputs} | set(backward.outputs)
    kept = {v: array for v, array in constants.items() if v in used}
    return eliminate_dead(Graph((), nodes, backward.outputs, kept))


def _entries(graph: Graph, tensors: Mapping[Value, Tensor]) -> list[Entry]:
    """Return what a record would hold, had the graph run on these tensors."""
    return [
        Entry(
            node.op,
            tuple(tensors[v] for v in node.inputs),
            tuple(tensors[v] for v in node.outputs),
            node.attributes,
            node.origin,
        )
        for node in graph.nodes
    ]


def _residuals(backward: Graph, douts: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the forward values that the backward part reads, in order of first use."""
    own = {v for node in backward.nodes for v in node.outputs}
    own.update(backward.constants, douts)
    reads = [v for node in backward.nodes for v in node.inputs] + list(backward.outputs)
    return tuple(dict.fromkeys(v for v in reads if v not in own))
