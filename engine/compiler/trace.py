"""Tracing: Python code run on tensors without data becomes a graph.

The first stage. Ops come here through ``registry.apply``; what comes of it is a `Graph`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import origin as origins
from .. import random as streams
from ..dtype import dtype_of
from ..ops import registry
from ..ops.cast import cast_to
from ..ops.registry import Op
from ..ops.setitem import makes_memory, tell_records, views_of
from ..shape import Aval
from ..tensor import LazyTensor, Tensor, wrap
from ..unwatched import call_unwatched, unwatched
from .graph import Graph, Node, Value, freeze_attrs, run_node
from .host_numbers import HostInput, HostTensor, concrete_attrs
from .structure import flatten, unflatten
from .traced import OutcomeGuard, RandomKey, TraceBreak, Traced, user_location

if TYPE_CHECKING:
    from .journal import Journal

TAKEN = (RandomKey, HostInput, HostTensor)
"""Inputs that each call takes anew."""


class Trace:
    """Collects nodes while Python code runs on ``Traced`` tensors.

    Tensors and Parameters from outside become inputs by identity (``captured``); writes to
    Parameters become outputs (``writes``), seen by later reads inside the trace. A ``nested``
    trace makes a graph inside another one, whose tensors are from outside too.
    """

    logs = False

    def __init__(self, nested: bool = False) -> None:
        self.nested = nested
        self.arguments: list[Value] = []
        self.captured: dict[int, tuple[Tensor, Value]] = {}
        self.constants: dict[Value, np.ndarray] = {}
        self.nodes: list[Node] = []
        self.arranging: dict[Value, list[Node]] = {}
        """By input, the nodes whose results may share memory with it in eager mode."""
        self.guards: list[OutcomeGuard] = []
        self.writes: dict[int, tuple[Tensor, Value]] = {}
        self.known: dict[Value, np.ndarray] = {}
        self.producer: dict[Value, Node] = {}
        self.thread = threading.get_ident()
        self.made: dict[int, Tensor] = {}
        self.broken: TraceBreak | None = None
        self.journal: Journal | None = None
        """What notes the effects of the traced code, where there is something that does."""
        self.frozen = False
        self.stale: set[Value] = set()
        """Views of memory that was written to afterwards: eagerly they would have changed."""
        self.overwritten: set[int] = set()
        """Identities of Parameters that were written to while a record held what was read."""
        self._count = 0

    def count_from(self, index: int) -> None:
        """Number the next values from ``index`` on, above those of another graph."""
        self._count = index

    def new_value(self, aval: Aval, origin: origins.Origin | None = None) -> Value:
        """Return a fresh SSA value."""
        self._count += 1
        return Value(self._count - 1, aval, origin)

    def argument(self, aval: Aval, array: np.ndarray | None = None) -> Traced:
        """Add an argument; ``array`` is its value in this call, used to decide branches."""
        value = self.new_value(aval, origins.current())
        self.arguments.append(value)
        if array is not None:
            self.known[value] = array
        return Traced(self, value)

    def _is_foreign(self) -> bool:
        """Whether another thread than the tracing one asks: its ops run eagerly."""
        return self.thread != threading.get_ident()

    def literal(self, array: np.ndarray) -> Tensor:
        """Add a constant to the graph."""
        if self._is_foreign():
            return wrap(array)
        aval = Aval(tuple(array.shape), dtype_of(array.dtype))
        value = self.new_value(aval, origins.current())
        self.constants[value] = array
        self.known[value] = array
        return Traced(self, value)

    def random_key(self) -> Tensor:
        """Add an input that each call fills with a new random key."""
        if self._is_foreign():
            return streams.state().next_key()
        return Traced(self, self.value_of(RandomKey()))

    def note_break(self, reason: TraceBreak) -> None:
        """Keep the first reason why this trace cannot be finished."""
        self.broken = self.broken or reason

    def taker(self) -> Trace:
        """Return this trace, where ops stay."""
        return self

    def again(self) -> AbstractContextManager[None]:
        """Change nothing: ops keep their element types here."""
        return nullcontext()

    def value_of(self, tensor: Tensor) -> Value:
        """Return the SSA value of a tensor, which becomes an input when it is from outside."""
        if isinstance(tensor, Traced):
            if tensor.tracer is self:
                if tensor.ssa in self.stale:
                    raise TraceBreak(
                        "a view is used after the tensor that it shows was written to",
                        "take it anew (y[0] again), or a copy of it before (y[0] + 0)",
                    )
                return tensor.ssa
            if not self.nested:
                raise TraceBreak(
                    "a tensor of one trace was used inside another",
                    "pass it as an argument instead of keeping it in a variable",
                )
        written = self.writes.get(id(tensor))
        if written is not None:
            return written[1]
        if id(tensor) in self.made:
            return self._constant(tensor)
        found = self.captured.get(id(tensor))
        if found is None:
            found = (tensor, self.new_value(tensor.aval, origins.current()))
            self.captured[id(tensor)] = found
        return found[1]

    def _constant(self, tensor: Tensor) -> Value:
        """Return the value of a tensor that the code itself makes at each call."""
        if isinstance(tensor, LazyTensor):
            raise TraceBreak(
                "a Parameter or a tensor with an initializer is made inside the function",
                "make it once, outside",
            )
        for value, array in self.constants.items():
            if array is tensor.data:
                return value
        return self.value_of(self.literal(tensor.data))

    def emit(self, op: Op, inputs: Sequence[Tensor], attrs: dict[str, object]) -> Any:
        """Add one node and return its traced output or outputs."""
        if self._is_foreign():
            return registry.run_now(op, tuple(inputs), attrs)
        if self.frozen:
            raise TraceBreak(
                "a traced tensor was used after its trace had ended",
                "return it from the compiled function instead of keeping it",
            )
        return call_unwatched(self._emit, op, inputs, attrs)

    def _emit(self, op: Op, inputs: Sequence[Tensor], attrs: dict[str, object]) -> Any:
        values = tuple(self.value_of(t) for t in inputs)
        attrs = concrete_attrs(attrs)
        inferred = op.infer(*[v.aval for v in values], **attrs)
        single = not isinstance(inferred, tuple)
        avals = (inferred,) if single else inferred
        outputs = self.emit_values(op, values, attrs, avals, origins.current())
        traced = tuple(Traced(self, v) for v in outputs)
        return traced[0] if single else traced

    def emit_values(
        self,
        op: Op,
        values: tuple[Value, ...],
        attrs: dict[str, object],
        avals: tuple[Aval, ...],
        origin: origins.Origin | None,
    ) -> tuple[Value, ...]:
        """Add one node on SSA values, whose outputs are like ``avals``."""
        outputs = tuple(self.new_value(aval, origin) for aval in avals)
        node = Node(op, values, outputs, freeze_attrs(attrs), origin)
        self.nodes.append(node)
        if not makes_memory(op):
            for value in set(values):
                self.arranging.setdefault(value, []).append(node)
        for output in outputs:
            self.producer[output] = node
        return outputs

    def write(self, parameter: Tensor, data: Any) -> None:
        """Note that ``parameter`` takes the value of ``data`` when the call is done."""
        if self._is_foreign():
            np.copyto(parameter.data, getattr(data, "data", data), casting="unsafe")
            return
        tensor = data if isinstance(data, Tensor) else self.literal(np.asarray(data))
        if tuple(tensor.shape) != tuple(parameter.shape):
            raise ValueError(
                f"the parameter is {parameter.aval}, the new data {tensor.aval}:"
                " their shapes must be equal"
            )
        if tensor.dtype is not parameter.dtype:
            tensor = cast_to(tensor, parameter.dtype)
        call_unwatched(self._keep_what_was_read, parameter)
        self.writes[id(parameter)] = (parameter, self.value_of(tensor))

    def hook(self, tensor: Tensor, make: Callable[[], Op]) -> None:
        """Put an op between a tensor and all that reads it, for gradients of the whole graph."""
        if self._is_foreign():
            return
        if not isinstance(tensor, Traced):
            raise TraceBreak(
                "a hook is put on a tensor from outside, at each call another",
                "register it outside the function",
            )
        value = self.value_of(tensor)
        hooked = self.new_value(value.aval, value.origin)
        node = Node(make(), (value,), (hooked,), (), value.origin)
        producer = self.producer.get(value)
        at = 0 if producer is None else self.nodes.index(producer) + 1
        moved = {value: hooked}
        for position in range(at, len(self.nodes)):
            self._read_from(position, moved)
        self.nodes.insert(at, node)
        self.producer[hooked] = node
        if value in self.known:
            self.known[hooked] = self.known[value]
        self.writes = {k: (t, moved.get(v, v)) for k, (t, v) in self.writes.items()}
        tensor.ssa = hooked

    def _read_from(self, position: int, moved: dict[Value, Value]) -> None:
        node = self.nodes[position]
        inputs = tuple(moved.get(value, value) for value in node.inputs)
        if inputs != node.inputs:
            changed = Node(node.op, inputs, node.outputs, node.attrs, node.origin)
            self.nodes[position] = changed
            self.producer.update(dict.fromkeys(node.outputs, changed))

    def _keep_what_was_read(self, tensor: Tensor) -> None:
        """Let gradients that are being recorded use what they read of a tensor before a write.

        Views of it are not to be used from now on: eagerly they would show the new values.
        """
        before = Traced(self, self.value_of(tensor))
        if any(
            read is tensor
            for record in registry.active_records()
            for entry in record.entries
            for read in entry.inputs
        ):
            self.overwritten.add(id(tensor))
        views = views_of(self, before.ssa, tuple(tensor.shape), None, graphs=False)
        tell_records(tensor, before, None, views)
        self.stale.update(views)

    def check_derived(self, trained: Container[int]) -> None:
        """Refuse to derive by a Parameter of which a record read two values."""
        if any(number in trained for number in self.overwritten):
            raise TraceBreak(
                "a trained Parameter is written to after it was read, in a function that is"
                " derived by it",
                "write to it after the gradient is taken, as optimizers do",
            )

    def guard_outcome(
        self, value: Value, outcome: Any, index: int | tuple[int, ...] | None
    ) -> None:
        """Record that the code from here on depends on ``outcome`` of ``value``."""
        if value not in self.constants:
            self.guards.append(OutcomeGuard(value, outcome, index, user_location()))

    def concrete(self, value: Value) -> np.ndarray:
        """Evaluate ``value`` by interpreting what leads to it with the actual inputs."""
        for tensor, captured in self.captured.values():
            if captured not in self.known and not self.nested:
                self.known[captured] = tensor.data
        with unwatched():
            for node in self._needed(value):
                results = run_node(node, [self.known[v] for v in node.inputs])
                self.known.update(zip(node.outputs, results, strict=True))
        return self.known[value]

    def _needed(self, value: Value) -> list[Node]:
        """Return the nodes still to be run for ``value``, in order."""
        wanted, pending, stack = set(), set(), [value]
        while stack:
            current = stack.pop()
            if current in self.known or current in wanted:
                continue
            wanted.add(current)
            node = self.producer.get(current)
            if node is None:
                raise TraceBreak(
                    "a branch depends on the value of a tensor, of which only the shape is known",
                    "keep the decision in tensors (ops.where), or run it on real tensors",
                )
            pending.add(node)
            stack.extend(node.inputs)
        return [node for node in self.nodes if node in pending]

    def graph(self, outputs: Sequence[Value]) -> Graph:
        """Return the trace as a graph: arguments, then captured tensors, to ``outputs``."""
        captured = tuple(value for _, value in self.captured.values())
        return Graph(
            (*self.arguments, *captured), tuple(self.nodes), tuple(outputs), dict(self.constants)
        )


one_at_a_time = threading.RLock()
"""One thread traces, or vectorizes, at a time."""


def _forget_other_threads() -> None:
    """In a forked child, what another thread traced in the parent is never finished."""
    if registry.traces and registry.traces[-1].thread != threading.get_ident():
        registry.traces.clear()
        one_at_a_time._at_fork_reinit()  # pyright: ignore[reportAttributeAccessIssue]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


def is_tracing() -> bool:
    """Return whether this thread traces; if another one does, wait until it is done."""
    if registry.traces[-1].thread == threading.get_ident():
        return True
    with one_at_a_time:
        return False


@contextmanager
def tracing(record: Trace) -> Iterator[Trace]:
    """Make ``record`` the one that ops emit into while the body runs; outer records sleep.

    One thread traces at a time. Ops of other threads run eagerly meanwhile.
    """
    with one_at_a_time:
        try:
            with registry.only_records([]), registry.tracing(record):
                yield record
        finally:
            record.frozen = True


@dataclass(frozen=True, slots=True)
class TracedCall:
    """What one traced call gave: the graph, who its inputs and outputs are."""

    graph: Graph
    captured: tuple[Tensor, ...]
    structure: object
    results: int
    writes: tuple[Tensor, ...]
    guards: tuple[OutcomeGuard, ...]

    def captured_now(self) -> list[Tensor]:
        """Return the captured tensors for one call, random keys drawn."""
        return [t.take() if t.__class__ in TAKEN else t for t in self.captured]  # pyright: ignore[reportAttributeAccessIssue]


def is_tensor(value: object) -> bool:
    """Return whether ``value`` is a leaf of arguments and results."""
    return isinstance(value, Tensor)


def trace(
    fn: Callable[..., object],
    avals: Sequence[Aval],
    arrays: Sequence[np.ndarray] | None = None,
    call: Callable[[Sequence[Tensor]], object] | None = None,
    nested: bool = False,
) -> TracedCall:
    """Run ``fn`` on traced tensors of ``avals`` and return the graph it made.

    ``call`` says how ``fn`` is called with the traced tensors; by default as ``fn(*tensors)``.
    ``arrays`` are the actual values, needed where Python branches on a tensor's value. ``nested``
    is for a part of a function that is being traced.
    """
    record = Trace(nested)
    with tracing(record):
        tensors = [
            record.argument(aval, None if arrays is None else arrays[i])
            for i, aval in enumerate(avals)
        ]
        try:
            result = call(tensors) if call is not None else fn(*tensors)
        except Exception:
            if record.broken is not None:
                raise record.broken from None  # what came of the first reason tells less
            raise
        if record.broken is not None:
            raise record.broken  # the code caught it
        leaves, structure = flatten(result, is_tensor)
        outputs = [record.value_of(leaf) for leaf in leaves if isinstance(leaf, Tensor)]
    writes = tuple(w for key, w in record.writes.items() if key not in record.made)
    graph = record.graph([*outputs, *(value for _, value in writes)])
    return TracedCall(
        graph,
        tuple(tensor for tensor, _ in record.captured.values()),
        structure,
        len(outputs),
        tuple(parameter for parameter, _ in writes),
        tuple(record.guards),
    )


def abstract_eval(fn: Callable[..., object], *avals: Aval) -> Any:
    """Return the avals of ``fn``'s results for arguments of ``avals``, computing nothing.

    Sizes may be symbols (``SymDim("N")``). The result has the structure ``fn`` returns, with an
    ``Aval`` in the place of each tensor.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    TraceBreak
        If the code needs a tensor's values.
    """
    call = trace(fn, avals)
    leaves = [value.aval for value in call.graph.outputs[: call.results]]
    return unflatten(call.structure, leaves)
