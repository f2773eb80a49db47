"""Batched tensors: what a vectorized function sees as one example stands for all of them.

While the function runs, a ``BatchTrace`` takes its ops. Each op on a ``Batched`` tensor becomes
one op, or a few, on the whole tensors, outside the trace: there the next trace, a record or NumPy
sees them. So the transforms nest in any order.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any, Self

import numpy as np

from .. import random as streams
from ..compiler.traced import in_package
from ..dtype import DType
from ..ops import array, reduce, registry
from ..ops.cast import literal
from ..ops.joining import stack
from ..ops.registry import OPS, Composite, GradContext, Grads, Op
from ..parameter import Parameter
from ..shape import Aval, Dim, element_count
from ..tensor import Tensor, wrap
from .rules import batch_rule


class VmapWarning(UserWarning):
    """An op without a batching rule runs once for each example."""


class Batched(Tensor):
    """A tensor of one example, of which ``whole`` has all along its first axis."""

    __slots__ = ("tracer", "whole")

    tracer: BatchTrace
    whole: Tensor

    def __new__(cls, trace: BatchTrace, whole: Tensor) -> Self:
        """Make the handle; ``Tensor``'s own arguments are of no use here."""
        return object.__new__(cls)

    def __init__(self, trace: BatchTrace, whole: Tensor) -> None:
        self.tracer = trace
        self.whole = whole

    @property
    def aval(self) -> Aval:
        """Shape and dtype of one example."""
        whole = self.whole.aval
        return Aval(whole.shape[1:], whole.dtype)

    @property
    def shape(self) -> tuple[Dim, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Sizes of one example."""
        return tuple(self.whole.shape[1:])

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.whole.dtype

    @property
    def size(self) -> Dim:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Number of elements of one example."""
        return element_count(self.shape)

    @property
    def data(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        """There is no one array of values: each example has its own."""
        raise RuntimeError(
            "vmap: the values of a tensor were read, which differ between the examples; use ops"
            " on the tensor (ops.where to choose), or read them outside the vectorized function."
        )

    def item(self, index: int | tuple[int, ...] | None = None) -> Any:
        """Raise RuntimeError: there is no one value."""
        return self.data

    def asnumpy(self) -> np.ndarray:
        """Raise RuntimeError: there is no one array."""
        return self.data

    numpy = asnumpy
    tolist = asnumpy

    def copy(self) -> Tensor:
        """Return the same values outside any gradient."""
        return array.stop_gradient(self)

    def __repr__(self) -> str:
        return f"Batched({self.tracer.size} of {self.aval})"

    __str__ = __repr__

    def __hash__(self) -> int:
        return id(self)


class BatchTrace:
    """Takes the ops of a vectorized function and runs them for all examples at once."""

    logs = False

    def __init__(self, size: int, told: set[str] | None = None) -> None:
        self.size = size
        self.thread = threading.get_ident()
        self.told = told
        """Ops that were told of running example by example; None is to tell of none."""
        self.outer = registry.active_records()
        self.stands_for: dict[int, Batched] = {}
        """Tensors from outside that have another value for each example."""

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Let this trace take the body's ops; records from outside see only whole tensors."""
        with registry.only_records([]), registry.tracing(self):
            yield

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Run the body's ops as they would run had the vectorized function not been entered."""
        registry.traces.remove(self)
        try:
            with registry.only_records(self.outer):
                yield
        finally:
            registry.traces.append(self)

    def _is_foreign(self) -> bool:
        """Whether another thread asks, whose ops are not vectorized."""
        return self.thread != threading.get_ident()

    def is_batched(self, value: object) -> bool:
        """Return whether a value is a tensor of this trace."""
        return isinstance(value, Batched) and value.tracer is self

    def wrap(self, result: Any) -> Any:
        """Return whole tensors as tensors of one example."""
        if isinstance(result, tuple):
            return tuple(Batched(self, whole) for whole in result)
        return Batched(self, result)

    def whole(self, value: Tensor) -> Tensor:
        """Return all examples of a tensor along a new first axis; call it outside."""
        if self.is_batched(value):
            return value.whole  # pyright: ignore[reportAttributeAccessIssue]
        return array.broadcast_to(array.expand_dims(value, 0), (self.size, *value.shape))

    # -- what registry.Tracer asks for ---------------------------------------------------------

    def emit(self, op: Op, inputs: tuple[Tensor, ...], attrs: dict[str, Any]) -> Any:
        """Run one op for all examples."""
        if self._is_foreign():
            return registry.run_now(op, inputs, attrs)
        inputs = tuple([self.stands_for.get(id(tensor), tensor) for tensor in inputs])
        if not any(map(self.is_batched, inputs)):
            with self.outside():
                return registry.apply(op, inputs, attrs)
        own = op.name not in OPS and op.grad is not None and op.category != "graph"
        if own and (self.outer or len(registry.traces) > 1):
            return self._own_gradient(op, inputs, attrs)
        rule = batch_rule(op)
        if rule is None:
            assert isinstance(op.lowering, Composite)
            with registry.only_records([]):
                return op.lowering.fn(*inputs, **attrs)
        with self.outside():
            return self.wrap(rule(self, op, inputs, attrs))

    def literal(self, array: np.ndarray) -> Tensor:
        """Return a number written in the code: it is the same for all examples."""
        if self._is_foreign():
            return wrap(array)
        with self.outside():
            return registry.traces[-1].literal(array) if registry.traces else wrap(array)

    def random_key(self) -> Tensor:
        """Return a random key of its own for each example."""
        if self._is_foreign():
            return streams.state().next_key()
        with self.outside():
            keys = [streams.next_key() for _ in range(self.size)]
            return self.wrap(stack(keys, 0))

    def write(self, parameter: Any, data: Any) -> None:
        """Write what is the same for all examples into a tensor from outside."""
        if self._is_foreign():
            np.copyto(parameter.data, getattr(data, "data", data), casting="unsafe")
        elif self.is_batched(parameter):
            if registry.active_records():
                raise RuntimeError(
                    "vmap: a part of a tensor was assigned where a gradient is taken; make a new"
                    " tensor with ops.where or ops.concat instead."
                )
            with self.outside():
                parameter.whole = self.whole(data)
        elif self.is_batched(data):
            raise RuntimeError(
                "vmap: a tensor from outside the vectorized function cannot take a value that"
                " differs between the examples; return the value instead."
            )
        else:
            with self.outside():
                if registry.traces:
                    registry.traces[-1].write(parameter, data)
                elif isinstance(parameter, Parameter):
                    parameter.set_data(data)
                else:
                    parameter[...] = data

    def hook(self, tensor: Tensor, make: Callable[[], Op]) -> None:
        """Refuse a hook that gradients taken outside would not see."""
        if not self._is_foreign() and (self.outer or len(registry.traces) > 1):
            raise RuntimeError(
                "vmap: register_hook inside the vectorized function would not be seen by"
                " gradients taken outside of it; pass the tensor through ops.HookBackward(fn)."
            )

    def note_break(self, reason: Any) -> None:
        """Leave it to the traces around this one."""

    def check_derived(self, trained: Container[int]) -> None:
        """Refuse nothing: the records know what was written to."""

    def taker(self) -> BatchTrace:
        """Return this trace, where ops stay."""
        return self

    def again(self) -> AbstractContextManager[None]:
        """Change nothing: ops keep their element types here."""
        return nullcontext()

    # -- ------------------------------------------------------------------------------------------

    def tell_loop(self, op: Op) -> None:
        """Warn, once for each op, that it runs example by example."""
        if self.told is not None and op.name not in self.told:
            self.told.add(op.name)
            warnings.warn(
                f"vmap: {op.name} has no batching rule; it runs once for each of the"
                f" {self.size} examples.",
                VmapWarning,
                stacklevel=_levels_to_user(),
            )

    def _own_gradient(self, op: Op, inputs: tuple[Tensor, ...], attrs: dict[str, Any]) -> Any:
        """Run an op made by Python code (``bprop``, a hook) so that its rule stays its gradient."""
        flags = tuple(map(self.is_batched, inputs))
        avals = op.infer(*[tensor.aval for tensor in inputs], **attrs)
        avals = avals if isinstance(avals, tuple) else (avals,)
        assert isinstance(op.lowering, Composite)
        fn = over_examples(self, flags, op.lowering.fn, attrs)
        rule = _rule_over_examples(op, self, flags)
        wholes = tuple(Aval((self.size, *aval.shape), aval.dtype) for aval in avals)
        many = Op(
            f"{op.name}_batched_{next(_numbers)}", ("inputs",), {}, "custom", lambda *_: wholes,
            lambda *arrays: tuple(t.data for t in fn(*map(wrap, arrays))), rule, Composite(fn),
            op.primitive, op.doc, fn, variadic=True,
        )  # fmt: skip
        with self.outside():
            given = tuple([t.whole if self.is_batched(t) else t for t in inputs])  # pyright: ignore[reportAttributeAccessIssue]
            if registry.traces:
                outputs = registry.apply(many, given, {})
            else:
                with registry.only_records([]):
                    outputs = fn(*given)
                registry.log(many, given, outputs, {})
        results = self.wrap(outputs)
        return results if len(results) > 1 or op.variadic else results[0]


_numbers = iter(range(2**62))


def _levels_to_user() -> int:
    """Return how many frames away the first one outside of this package is, for a warning."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and in_package(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level


def over_examples(
    outer: BatchTrace, flags: Sequence[bool], fn: Callable[..., Any], attrs: dict[str, Any]
) -> Callable[..., tuple[Tensor, ...]]:
    """Return ``fn`` over whole tensors (where flagged), giving a tuple of whole tensors."""

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        trace = BatchTrace(outer.size, outer.told)
        with trace.inside():
            given = [
                Batched(trace, t) if flag else t for t, flag in zip(tensors, flags, strict=True)
            ]
            results = fn(*given, **attrs)
            results = results if isinstance(results, tuple) else (results,)
        return tuple(trace.whole(result) for result in results)

    return run


def _rule_over_examples(op: Op, outer: BatchTrace, flags: Sequence[bool]) -> Callable[..., Grads]:
    """Return the gradient rule of an op over whole tensors from that of one example."""

    def grad(ctx: GradContext) -> Grads:
        trace = BatchTrace(outer.size, outer.told)
        with trace.inside():
            inputs = tuple(
                Batched(trace, t) if flag else t for t, flag in zip(ctx.inputs, flags, strict=True)
            )
            outputs = tuple(Batched(trace, t) for t in ctx.outputs)
            douts = tuple(None if d is None else Batched(trace, d) for d in ctx.douts)
            assert op.grad is not None
            found = op.grad(GradContext(inputs, outputs, douts, ctx.attrs, ctx.needs))
        return tuple(
            None if g is None else _gathered(trace, g, flag)
            for g, flag in zip(found, flags, strict=True)
        )

    return grad


def _gathered(trace: BatchTrace, gradient: Tensor, flag: bool) -> Tensor:
    """Return an input's gradient: that of each example, or of a shared input their sum."""
    if flag:
        return trace.whole(gradient)
    if trace.is_batched(gradient):
        return reduce.sum(gradient.whole, 0)  # pyright: ignore[reportAttributeAccessIssue]
    return gradient * literal(float(trace.size), gradient.dtype)
