"""Recomputing: a block's inner values are not kept for the way back but computed again there."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from .. import random as streams
from ..compiler.graph import interpret
from ..compiler.graph_op import replay
from ..compiler.structure import flatten, unflatten
from ..compiler.trace import Trace, is_tensor, trace
from ..ops import registry
from ..ops.registry import Composite, Entry, GradContext, Grads, Op, Recorder, Tracer
from ..parameter import Parameter
from ..random import RandomState
from ..tensor import Tensor, wrap
from .gradgraph import gradients
from .record import Record

Block = Callable[..., Any]
_numbers = iter(range(2**62))


def recompute(block: Block, *args: Any, **kwargs: Any) -> Any:
    """Run a block so that gradients compute what is in it once more instead of keeping it.

    Parameters
    ----------
    block : callable
        A Cell or function.
    *args, **kwargs
        Its arguments.

    Returns
    -------
    Any
        What the block gives. Where nothing is derived this is a plain call.

    Raises
    ------
    TypeError
        If ``block`` cannot be called.

    Notes
    -----
    The record keeps the block's inputs, the Parameters it reads and its outputs. On the way back
    the block runs again with the same random numbers; hooks in it run again too, and what it
    writes into Parameters is not written twice. In a compiled function it is the plan that
    decides how long values live; the gradient of such a function keeps the block's inputs alone.

    References
    ----------
    Chen, Xu, Zhang, Guestrin: Training deep nets with sublinear memory cost, 2016.
    """
    if not callable(block):
        raise TypeError(f"recompute needs a Cell or function, not {type(block).__name__}.")
    tracer = registry.active_trace()
    if isinstance(tracer, Trace):
        return _traced(tracer, block, args, kwargs)
    if not registry.active_records():
        return block(*args, **kwargs)
    seen = Reads()
    state = streams.state().save()
    try:
        with registry.only_records([seen]):
            result = block(*args, **kwargs)
    except BaseException:
        seen.tell_writes()
        raise
    leaves, structure = flatten(result, is_tensor)
    given: list[Any] = leaves
    for tensor in given:
        seen.read(tensor)
    # Handles of their own, so that a gradient is never added to that of an input given back.
    outputs = tuple(_handle(tensor) for tensor in given)
    again = Again(block, args, kwargs, tuple(seen.tensors), state, tracer)
    registry.log(_op(len(outputs), again.grad), tuple(seen.tensors), outputs, {})
    seen.tell_writes()
    return unflatten(structure, outputs)


def _handle(tensor: Tensor) -> Tensor:
    tracer = registry.active_trace()
    if tracer is None:
        return wrap(tensor.data)
    with registry.only_records([]):
        return registry.OPS["identity"].function(tensor)


class Reads(Recorder):
    """A record that keeps only which tensors from outside the ops read."""

    def __init__(self) -> None:
        self.entries: Any = self
        self.tensors: list[Tensor] = []
        self._writes: dict[int, tuple[Tensor, np.ndarray | None]] = {}
        self._known: set[int] = set()
        self._made: dict[int, weakref.ref[Tensor]] = {}

    def append(self, entry: Entry) -> None:
        """Note one op."""
        for tensor in entry.inputs:
            self.read(tensor)
        for tensor in entry.outputs:
            self._made[id(tensor)] = weakref.ref(tensor)

    def read(self, tensor: Tensor) -> None:
        """Note a tensor that is read, unless the block made it."""
        made = self._made.get(id(tensor))
        if id(tensor) in self._known or (made is not None and made() is tensor):
            return
        self._known.add(id(tensor))
        self.tensors.append(tensor)

    def note_write(
        self, tensor: Tensor, before: np.ndarray | None = None, part: np.ndarray | None = None
    ) -> None:
        """Note what stood in a tensor's memory when the block began."""
        self._writes.setdefault(id(tensor), (tensor, before))

    def tell_writes(self) -> None:
        """Tell the records around the block what it wrote to, after what it read."""
        for tensor, before in self._writes.values():
            registry.note_write(tensor, before)


class Again:
    """How a block is run again on the way back."""

    def __init__(
        self,
        block: Block,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        reads: tuple[Tensor, ...],
        state: tuple[int, int],
        tracer: Tracer | None,
    ) -> None:
        self.block = block
        self.args = args
        self.kwargs = kwargs
        self.reads = reads
        self.state = state
        self.tracer = tracer

    def grad(self, ctx: GradContext) -> Grads:
        """Return the gradients to what the block read."""
        record = Record()
        held = [_Held(tensor, was) for tensor, was in zip(self.reads, ctx.inputs, strict=True)]
        as_before = nullcontext() if self.tracer is None else self.tracer.again()
        try:
            with streams.using(RandomState(*self.state)), as_before, record:
                result = self.block(*self.args, **self.kwargs)
            found: list[Any] = flatten(result, is_tensor)[0]
            wrt = [t for t, need in zip(self.reads, ctx.needs, strict=True) if need]
            grads = iter(gradients(record, found, wrt, ctx.douts))
        finally:
            for item in held:
                item.put_back()
            record.clear()
        return tuple(next(grads) if need else None for need in ctx.needs)


class _Held:
    """A tensor's present data, put aside while the block sees what it saw before."""

    def __init__(self, tensor: Tensor, was: Tensor) -> None:
        self.tensor = tensor
        self.changes = was is not tensor and type(tensor) in (Tensor, Parameter)
        if self.changes:
            self.data = tensor.data
            self.version = getattr(tensor, "version", 0)
            tensor.data = was.data.copy()

    def put_back(self) -> None:
        """Give the tensor its present data again."""
        if self.changes:
            self.tensor.data = self.data
            if isinstance(self.tensor, Parameter):
                self.tensor.version = self.version


def _op(outputs: int, grad: Callable[[GradContext], Grads]) -> Op:
    """Return the op of one recomputed block; it is logged, never run."""
    name = f"recompute_{next(_numbers)}"

    def run(*arrays: Any) -> Any:
        raise RuntimeError(f"{name} stands for a block that has run; it cannot run by itself.")

    return Op(
        name, ("inputs",), {}, "custom", run, run, grad, Composite(run), name,
        f"A recomputed block of {outputs} outputs.", run, variadic=True,
    )  # fmt: skip


def _traced(tracer: Trace, block: Block, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Emit the block as one op, whose gradient expands it once more."""
    leaves, structure = flatten((args, kwargs), is_tensor)
    tensors: list[Any] = leaves

    def call(given: Any) -> Any:
        filled: Any = unflatten(structure, given)
        return block(*filled[0], **filled[1])

    called = trace(block, [tensor.aval for tensor in tensors], None, call, nested=True)
    graph = called.graph
    avals = tuple(value.aval for value in graph.outputs)
    expand = Composite(lambda *given: replay(graph, given))
    name = f"recompute_{next(_numbers)}"

    def kernel(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        return interpret(graph, arrays)

    op = Op(
        name, ("inputs",), {}, "graph", lambda *_: avals, kernel, None, expand, name,
        "A recomputed block.", kernel, variadic=True,
    )  # fmt: skip
    outputs = registry.apply(op, (*tensors, *called.captured), {})
    for parameter, value in zip(called.writes, outputs[called.results :], strict=True):
        tracer.write(parameter, value)
    return unflatten(called.structure, outputs[: called.results])
