"""A traced function and its plan: how groups and training steps run as machine code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..compiler.graph_op import GraphOp
from ..compiler.plan import Plan, compile_graph
from ..compiler.trace import TracedCall, trace
from ..compiler.traced import RandomKey, TraceBreak
from ..parameter import Parameter
from ..random import RandomState
from ..tensor import Tensor, from_numpy
from .units import Clock, node_id

PLANS = 8  # how many shapes keep their plans


@dataclass
class Compiled:
    """A plan with what it captured from the Cells and what it writes back to them."""

    call: TracedCall
    plan: Plan
    name: str
    _recorded: GraphOp | None = field(init=False, default=None)

    def run(self, inputs: Sequence[Tensor], clock: Clock) -> list[np.ndarray]:
        """The results, and then the new values of what is written; nothing is written yet."""
        return list(self.plan(*(tensor.data for tensor in self._arguments(inputs, clock))))

    def run_recorded(self, inputs: Sequence[Tensor], clock: Clock) -> list[Tensor]:
        """The same as one op, which records and traces see."""
        if self._recorded is None:
            self._recorded = GraphOp(self.call.graph, self.call.results, self.name)
        return list(self._recorded(*self._arguments(inputs, clock)))

    def _arguments(self, inputs: Sequence[Tensor], clock: Clock) -> list[Tensor]:
        """Inputs, then what was captured; random keys come from the streams of their nodes."""
        streams: dict[str, RandomState] = {}
        arguments = list(inputs)
        for tensor in self.call.captured:
            if isinstance(tensor, RandomKey):
                node = node_id(tensor.origin) if tensor.origin else ""
                stream = streams.setdefault(node, clock.stream(node))
                arguments.append(stream.next_key())
            else:
                arguments.append(tensor)
        return arguments


def compile_call(
    fn: Callable[..., tuple[Tensor, ...]], inputs: Sequence[Tensor], name: str
) -> Compiled:
    """Trace a function on tensors like these and compile what it does.

    Raises
    ------
    TraceBreak
        It cannot be traced: it needs the values of a tensor.
    """
    call = trace(fn, [tensor.aval for tensor in inputs])
    if call.guards:
        # The plan would follow the branch taken now, whatever the weights become.
        raise TraceBreak(
            "a branch depends on the value of a weight",
            "keep the decision in tensors (ops.where)",
            call.guards[0].where,
        )
    return Compiled(call, compile_graph(call.graph), name)


def write(tensor: Tensor, array: np.ndarray) -> None:
    """Give a tensor that a plan writes to its new values."""
    if isinstance(tensor, Parameter):
        tensor.set_data(from_numpy(array))
    else:
        np.copyto(tensor.data, array)


class Plans:
    """Compiled calls by key; the least recently used go."""

    def __init__(self) -> None:
        self._kept: dict[object, Compiled] = {}

    def __iter__(self) -> Iterator[Compiled]:
        return iter(self._kept.values())

    def get(self, key: object) -> Compiled | None:
        """The compiled call of this key."""
        found = self._kept.pop(key, None)
        if found is not None:
            self._kept[key] = found
        return found

    def put(self, key: object, compiled: Compiled) -> None:
        """Keep a compiled call."""
        self._kept[key] = compiled
        while len(self._kept) > PLANS:
            del self._kept[next(iter(self._kept))]

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
