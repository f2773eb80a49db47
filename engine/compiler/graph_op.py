"""A whole graph as one op: what a compiled call is to records and to traces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..dtype import bool_
from ..ops import registry
from ..ops.registry import Composite, GradContext, Grads, Op
from ..tensor import Tensor, wrap
from .differentiate import Derivative, differentiate
from .graph import Graph, Value
from .plan import Plan, compile_graph
from .simplify import eliminate_dead


def replay(graph: Graph, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Run the graph op by op through ``apply``, so that records and traces see every op."""
    values: dict[Value, Tensor] = dict(zip(graph.inputs, tensors, strict=True))
    for value, array in graph.constants.items():
        values[value] = registry.traces[-1].literal(array) if registry.traces else wrap(array)
    for node in graph.nodes:
        result = registry.apply(node.op, tuple(values[v] for v in node.inputs), node.attributes)
        results = result if isinstance(result, tuple) else (result,)
        values.update(zip(node.outputs, results, strict=True))
    return tuple(values[v] for v in graph.outputs)


class GraphOp:
    """Makes the op of a graph: its plan when it runs, its own ops where it is traced.

    The op gives the results and then the residuals that its gradient needs, so that a record
    holds one entry for the whole graph.
    """

    def __init__(self, graph: Graph, results: int, name: str) -> None:
        self.graph = graph
        self.results = results
        self.name = name
        self._backward: dict[tuple[bool, ...], GraphOp] = {}

    @cached_property
    def derivative(self) -> Derivative:
        """Forward graph with residuals, and the whole backward graph."""
        inputs = enumerate(self.graph.inputs)
        wrt = [i for i, value in inputs if value.aval.dtype is not bool_]
        return differentiate(self.graph, self.results, wrt)

    @property
    def forward(self) -> Graph:
        """The graph that runs: the results, then what the backward part needs of it."""
        return self.derivative.forward

    @cached_property
    def plan(self) -> Plan:
        """The compiled forward graph."""
        return compile_graph(self.forward)

    @cached_property
    def op(self) -> Op:
        """The op; it always gives a tuple."""
        avals = tuple(v.aval for v in self.forward.outputs)
        names = tuple(f"input{i}" for i in range(len(self.graph.inputs)))
        return Op(
            self.name,
            names,
            {},
            "graph",
            lambda *inputs: avals,
            self._run,
            self._grad,
            Composite(lambda *tensors: replay(self.forward, tensors)),
            self.name,
            "A compiled graph.",
            self,
        )

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Apply the op and return the results without the residuals."""
        return registry.apply(self.op, tensors, {})[: len(self.graph.outputs)]

    def _run(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.plan(*arrays)

    def _grad(self, ctx: GradContext) -> Grads:
        derivative = self.derivative
        if any(dout is not None for dout in ctx.douts[self.results :]):
            return self._grad_again(derivative.forward, ctx)
        held = dict(zip(derivative.forward.inputs, ctx.inputs, strict=True))
        held.update(zip(derivative.forward.outputs, ctx.outputs, strict=True))
        needs = tuple(ctx.needs[i] for i in derivative.wrt)
        backward = self._backward_for(needs)
        tensors = [held[v] for v in derivative.residuals]
        for value, dout in zip(derivative.forward.outputs[: self.results], ctx.douts, strict=False):
            tensors.append(_zeros(value) if dout is None else dout)
        found = iter(backward(*tensors))
        grads: list[Any] = [None] * len(ctx.inputs)
        for position, needed in zip(derivative.wrt, needs, strict=True):
            if needed:
                grads[position] = next(found)
        return tuple(grads)

    def _grad_again(self, graph: Graph, ctx: GradContext) -> Grads:
        """Derive with all of ``graph``'s outputs as results, computing them once more."""
        again = GraphOp(graph, len(graph.outputs), self.name)
        outputs = registry.apply(again.op, ctx.inputs, {})
        return again._grad(GradContext(ctx.inputs, outputs, ctx.douts, {}, ctx.needs))

    def _backward_for(self, needs: tuple[bool, ...]) -> GraphOp:
        if needs not in self._backward:
            whole = self.derivative.backward
            outputs = tuple(v for v, n in zip(whole.outputs, needs, strict=True) if n)
            graph = eliminate_dead(Graph(whole.inputs, whole.nodes, outputs, whole.constants))
            self._backward[needs] = PlainGraphOp(graph, len(outputs), f"{self.name}_gradient")
        return self._backward[needs]


class PlainGraphOp(GraphOp):
    """A graph op that keeps no residuals: a further derivative computes it again."""

    @property
    def forward(self) -> Graph:
        """The graph as it is."""
        return self.graph

    def _grad(self, ctx: GradContext) -> Grads:
        return self._grad_again(self.graph, ctx)


def _zeros(value: Value) -> Tensor:
    return registry.OPS["full"].function(tuple(value.aval.shape), 0, value.aval.dtype)
