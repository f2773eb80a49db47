"""Branches in a graph: one node runs the graph that a tensor chooses when it runs.

`ops.cond` in a trace; in a plan it is a host step, which runs the plan of one branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ops import registry
from ..ops.registry import GradContext, Grads, Op
from ..shape import Aval, ShapeError
from ..tensor import Tensor
from .structure import flatten, unflatten
from .subgraph import (
    Part,
    SubGraph,
    filled,
    floats_of,
    graph_op,
    outside_of,
    trace_part,
    written_by,
)
from .trace import Trace, is_tensor
from .traced import RandomKey, TraceBreak


class Branches:
    """The op that runs its second graph where its first input is true, else its first."""

    def __init__(self, graphs: Sequence[SubGraph], avals: Sequence[Aval]) -> None:
        self.graphs = tuple(graphs)
        self.avals = tuple(avals)
        self._gradients: dict[tuple[int, ...], Branches] = {}
        self.op: Op = graph_op(
            "cond", avals, self._run, self._grad, "runs one of two graphs, as a tensor says"
        )

    def _run(self, chosen: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.graphs[int(bool(chosen.reshape(())))](*arrays)

    def _grad(self, ctx: GradContext) -> Grads:
        chosen, *inputs = ctx.inputs
        wrt = tuple(
            position
            for position, (tensor, need) in enumerate(zip(inputs, ctx.needs[1:], strict=True))
            if need and tensor.dtype.is_float
        )
        made = self._gradients.get(wrt)
        if made is None:
            pulled = [graph.pullback(len(self.avals), wrt) for graph in self.graphs]
            made = Branches(pulled, [inputs[position].aval for position in wrt])
            self._gradients[wrt] = made
        douts = filled(ctx.douts, ctx.outputs)
        floats = [douts[position] for position in floats_of(self.avals)]
        found = registry.apply(made.op, (chosen, *inputs, *floats), {})
        grads: list[Tensor | None] = [None] * len(ctx.inputs)
        for position, grad in zip(wrt, found, strict=True):
            grads[1 + position] = grad
        return tuple(grads)


def traced_cond(
    tracer: Trace,
    chosen: Tensor,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: tuple[Any, ...],
) -> Any:
    """Emit a node for ``true_fn(*operands)`` or ``false_fn(*operands)``."""
    parts = [trace_part("ops.cond", fn, operands) for fn in (false_fn, true_fn)]
    check_alike(parts)
    parts = [parts[0], with_keys_of(parts[0], parts[1])]
    outside, written = outside_of(*parts), written_by(*parts)
    graphs = [SubGraph(part.on(outside, written)) for part in parts]
    tensors: list[Any] = flatten(operands, is_tensor)[0]
    avals = (*parts[0].avals, *(tensor.aval for tensor in written))
    outputs = registry.apply(Branches(graphs, avals).op, (chosen, *tensors, *outside), {})
    results = parts[0].call.results
    for tensor, value in zip(written, outputs[results:], strict=True):
        tracer.write(tensor, value)
    return unflatten(parts[0].call.structure, outputs[:results])


def with_keys_of(first: Part, second: Part) -> Part:
    """Return the second branch with the random keys of the first: eagerly one of them draws.

    Raises
    ------
    TraceBreak
        If one draws more than the other: what is drawn later depends on the branch then.
    """
    keys = [t for t in first.call.captured if isinstance(t, RandomKey)]
    others = [t for t in second.call.captured if isinstance(t, RandomKey)]
    if len(keys) != len(others):
        raise TraceBreak(
            f"ops.cond: true_fn draws {len(others)} times from the random stream, false_fn"
            f" {len(keys)} times",
            "draw outside and pass what was drawn to both, or draw as often in both",
        )
    same = dict(zip(map(id, others), keys, strict=True))
    captured = tuple([same.get(id(tensor), tensor) for tensor in second.call.captured])
    return replace(second, call=replace(second.call, captured=captured))


def check_alike(parts: Sequence[Part]) -> None:
    """Raise TypeError or ShapeError unless both branches give the same kinds of tensors."""
    false, true = parts
    if repr(false.call.structure) != repr(true.call.structure):
        raise TypeError(
            f"ops.cond: true_fn gives {true.call.structure!r} and false_fn"
            f" {false.call.structure!r} (* is a tensor); both must give the same structure."
        )
    for number, (one, other) in enumerate(zip(true.avals, false.avals, strict=True)):
        kind = TypeError if one.dtype is not other.dtype else ShapeError
        if one != other:
            raise kind(
                f"ops.cond: output {number} is {one} in true_fn and {other} in false_fn; both"
                " branches must give the same shapes and dtypes."
            )
