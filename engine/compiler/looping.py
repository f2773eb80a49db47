"""Loops in a graph: one node runs the graph of a body again and again.

A ``Scan`` runs a known number of times. Its gradient is a scan in the other direction over the
values that the loop carried, so it can be derived as often as one likes. A ``While`` runs as long
as a tensor says so. Its gradient keeps what each run was given while it computes; derived further,
it is written in while loops, which compute those values again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..autograd.backward import derive_through
from ..ops import registry
from ..ops.registry import GradContext, Grads, Op
from ..shape import Aval
from ..tensor import Tensor
from .graph import Graph
from .graph_op import replay
from .native_loops import NativeLoop, NativeTest, native_loop, native_test
from .subgraph import SubGraph, filled, floats_of, graph_op
from .trace import trace

Arrays = tuple[np.ndarray, ...]


class Scan:
    """A loop over the first axis of some tensors.

    The body takes what is carried, an element of each scanned tensor and what stays the same; it
    gives what is carried on and an element of each output.
    """

    def __init__(
        self, body: SubGraph, carried: int, scanned: int, length: int, backwards: bool = False
    ) -> None:
        self.body = body
        self.carried = carried
        self.scanned = scanned
        self.length = length
        self.backwards = backwards
        outputs = body.graph.outputs
        elements = [value.aval for value in outputs[carried:]]
        self.avals = [
            *(value.aval for value in outputs[:carried]),
            *(Aval((length, *aval.shape), aval.dtype) for aval in elements),
        ]
        self.op: Op = graph_op(
            "scan",
            self.avals,
            self._run,
            self._grad,
            f"runs a graph {length} times",
            self._is_native,
        )

    def _split(self, items: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        middle = self.carried + self.scanned
        return items[: self.carried], items[self.carried : middle], items[middle:]

    @cached_property
    def _native(self) -> NativeLoop | None:
        return native_loop(self.body.plan, self.carried)

    def _is_native(self) -> bool:
        return self._native is not None

    def _run(self, *arrays: np.ndarray) -> Arrays:
        if self.length and self._native is not None:
            return self._native.scan(arrays, self.scanned, self.length, self.backwards)
        return self._run_one_by_one(*arrays)

    def _run_one_by_one(self, *arrays: np.ndarray) -> Arrays:
        carry, scanned, same = self._split(arrays)
        stacked = [
            np.empty(aval.shape, aval.dtype.numpy)  # pyright: ignore[reportArgumentType, reportCallIssue]
            for aval in self.avals[self.carried :]
        ]
        steps = range(self.length)
        for step in reversed(steps) if self.backwards else steps:
            found = self.body(*carry, *[array[step] for array in scanned], *same)
            carry = found[: self.carried]
            for whole, element in zip(stacked, found[self.carried :], strict=True):
                whole[step] = element
        if not self.length:
            carry = tuple(array.copy() for array in carry)
        return (*carry, *stacked)

    @cached_property
    def _with_states(self) -> Scan:
        """The same loop, which gives what each run was given to carry."""
        graph = self.body.graph
        outputs = (*graph.outputs[: self.carried], *graph.inputs[: self.carried])
        states = SubGraph(Graph(graph.inputs, graph.nodes, outputs, graph.constants))
        return Scan(states, self.carried, self.scanned, self.length, self.backwards)

    @cached_property
    def _floats(self) -> tuple[list[int], list[int], list[int]]:
        """Positions of the float tensors among the carried, the scanned and the same."""
        carry, scanned, same = self._split([value.aval for value in self.body.graph.inputs])
        return floats_of(carry), floats_of(scanned), floats_of(same)

    @cached_property
    def _reversed(self) -> Scan:
        """The loop of gradients: it carries those of the carried and sums of those of the same."""
        graph = self.body.graph
        carry, scanned, same = self._floats
        middle = self.carried + self.scanned
        wrt = [*carry, *(self.carried + i for i in scanned), *(middle + i for i in same)]
        pulled = self.body.pullback(len(graph.outputs), wrt)
        given = [value.aval for value in graph.inputs]
        outs = [value.aval for value in graph.outputs]
        elements = [outs[self.carried + i] for i in floats_of(outs[self.carried :])]
        sums = [given[middle + i] for i in same]
        douts = [given[i] for i in carry]
        avals = [*douts, *sums, *given[:middle], *elements, *given[middle:]]
        ends = np.cumsum([len(douts), len(sums), middle, len(elements)])

        def body(*tensors: Tensor) -> tuple[Tensor, ...]:
            douts, sums, inputs, elements, same_ = (
                tensors[start:end]
                for start, end in zip([0, *ends], [*ends, len(tensors)], strict=True)
            )
            found = replay(pulled.graph, (*inputs, *same_, *douts, *elements))
            of_scanned = found[len(carry) : len(carry) + len(scanned)]
            added = zip(sums, found[len(carry) + len(scanned) :], strict=True)
            return (*found[: len(carry)], *(a + b for a, b in added), *of_scanned)

        made = SubGraph(trace(body, avals, nested=True).graph)
        carried, elements_in = len(douts) + len(sums), middle + len(elements)
        return Scan(made, carried, elements_in, self.length, not self.backwards)

    def _grad(self, ctx: GradContext) -> Grads:
        start, scanned, same = self._split(ctx.inputs)
        states = registry.apply(self._with_states.op, ctx.inputs, {})[self.carried :]
        douts = filled(ctx.douts, ctx.outputs)
        carry_at, scanned_at, same_at = self._floats
        elements = [douts[i] for i in floats_of(self.avals) if i >= self.carried]
        zeros = registry.OPS["zeros_like"].function
        inputs = (
            *(douts[i] for i in carry_at), *(zeros(same[i]) for i in same_at),
            *states, *scanned, *elements, *same,
        )  # fmt: skip
        found = iter(registry.apply(self._reversed.op, inputs, {}))
        grads: list[Tensor | None] = [None] * len(ctx.inputs)
        middle = len(start) + len(scanned)
        places = (*carry_at, *(middle + i for i in same_at), *(len(start) + i for i in scanned_at))
        for place in places:
            grads[place] = next(found)
        return tuple(grads)


class While:
    """A loop that runs as long as the graph of its test says so.

    Test and body take what is carried and what stays the same.
    """

    def __init__(self, test: SubGraph, body: SubGraph) -> None:
        self.test = test
        self.body = body
        self.avals = [value.aval for value in body.graph.outputs]
        self.carried = len(self.avals)
        self.op: Op = graph_op(
            "while_loop",
            self.avals,
            self._run,
            self._grad,
            "runs a graph until a tensor is false",
            self._is_native,
        )

    def _goes_on(self, carry: Sequence[np.ndarray], same: Sequence[np.ndarray]) -> bool:
        return bool(self.test(*carry, *same)[0].reshape(()))

    @cached_property
    def _native(self) -> tuple[NativeLoop, NativeTest] | None:
        body, test = native_loop(self.body.plan, self.carried), native_test(self.test.plan)
        return None if body is None or test is None else (body, test)

    def _is_native(self) -> bool:
        return self._native is not None

    def _run(self, *arrays: np.ndarray) -> Arrays:
        if self._native is not None:
            body, test = self._native
            return body.run_while(test, arrays)
        carry, same = arrays[: self.carried], arrays[self.carried :]
        carry = tuple(array.copy() for array in carry)
        while self._goes_on(carry, same):
            carry = self.body(*carry, *same)
        return carry

    @cached_property
    def _wrt(self) -> list[int]:
        return floats_of([value.aval for value in self.body.graph.inputs])

    @cached_property
    def _pulled(self) -> SubGraph:
        return self.body.pullback(self.carried, self._wrt)

    @cached_property
    def _gradient(self) -> Op:
        avals = [self.body.graph.inputs[i].aval for i in self._wrt]
        reason = "runs a graph backwards, once for each run of the loop"

        def grad(ctx: GradContext) -> Grads:
            return derive_through(self._gradient_in_loops, ctx)

        return graph_op("while_loop_gradient", avals, self._run_backwards, grad, reason)

    def _grad(self, ctx: GradContext) -> Grads:
        douts = filled(ctx.douts, ctx.outputs)
        floats = [douts[i] for i in floats_of(self.avals)]
        found = registry.apply(self._gradient, (*ctx.inputs, *floats), {})
        grads: list[Tensor | None] = [None] * len(ctx.inputs)
        for place, grad in zip(self._wrt, found, strict=True):
            grads[place] = grad
        return tuple(grads)

    def _parted(self, items: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        middle = len(self.body.graph.inputs)
        return items[: self.carried], items[self.carried : middle], items[middle:]

    def _run_backwards(self, *arrays: np.ndarray) -> Arrays:
        carry, same, douts = self._parted(arrays)
        states = []
        while self._goes_on(carry, same):
            states.append(carry)
            carry = self.body(*carry, *same)
        count = len(douts)
        sums = [np.zeros_like(arrays[i]) for i in self._wrt[count:]]
        grads: Sequence[np.ndarray] = tuple(array.copy() for array in douts)
        for state in reversed(states):
            found = self._pulled(*state, *same, *grads)
            grads = found[:count]
            sums = [total + more for total, more in zip(sums, found[count:], strict=True)]
        return (*grads, *sums)

    def _gradient_in_loops(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Compute what ``_run_backwards`` does with ops, the states from the start each time."""
        from ..ops.control import while_loop

        start, same, douts = self._parted(tensors)
        zeros = registry.OPS["zeros_like"].function
        number = registry.OPS["full"].function
        int64 = "int64"

        def goes_on(state: tuple[Tensor, ...]) -> Tensor:
            return replay(self.test.graph, (*state[1:], *same))[0]

        def step(state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return (state[0] + 1, *replay(self.body.graph, (*state[1:], *same)))

        def back(state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            last = state[0] - 1
            first = (number((), 0, int64), *start)
            at = while_loop(lambda s: s[0] < last, step, first)[1:]
            count = len(douts)
            found = replay(self._pulled.graph, (*at, *same, *state[1 : 1 + count]))
            added = zip(state[1 + count :], found[count:], strict=True)
            return (last, *found[:count], *(a + b for a, b in added))

        runs = while_loop(goes_on, step, (number((), 0, int64), *start))[0]
        sums = [zeros(tensors[i]) for i in self._wrt[len(douts) :]]
        return while_loop(lambda s: s[0] > 0, back, (runs, *douts, *sums))[1:]
