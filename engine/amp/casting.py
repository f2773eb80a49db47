"""Ops in mixed precision: each op's float inputs are cast by lists of ops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import random as streams
from ..dtype import DType, bfloat16, float16, float32
from ..ops import registry
from ..ops.cast import cast_to
from ..ops.registry import Attrs, Op, Tracer
from ..tensor import Tensor, wrap


@dataclass(frozen=True)
class Policy:
    """Which ops compute in which type.

    `white` are names of ops whose float32 inputs become `dtype`, `black` of those whose inputs of
    lower precision become float32. With `restore` their results go back: to float32 after a white
    op, to `dtype` after a black one.
    """

    dtype: DType
    white: frozenset[str] = frozenset()
    black: frozenset[str] = frozenset()
    restore: bool = False

    def wanted(self, op: Op) -> tuple[DType, DType] | None:
        """The type an op computes in, and that of its result; None where it is as it comes."""
        if op.name in self.white:
            return self.dtype, float32
        if op.name in self.black:
            return float32, self.dtype
        return None


class Casting:
    """Takes the ops of one thread, casts their inputs and lets them run as they would have run."""

    logs = True

    def __init__(self, policy: Policy, outer: Tracer | None) -> None:
        self.policy = policy
        self.outer = outer
        self.thread = threading.get_ident()

    def emit(self, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
        """Run one op on cast inputs; records see the casts and the op."""
        if self.thread != threading.get_ident():
            return registry.run_now(op, inputs, attrs)
        wanted = self.policy.wanted(op)
        with self._aside():
            if wanted is None:
                return registry.apply(op, inputs, attrs)
            inside, after = wanted
            cast = tuple(_cast(tensor, inside) for tensor in inputs)
            result = registry.apply(op, cast, attrs)
            if not self.policy.restore:
                return result
            if isinstance(result, tuple):
                return tuple(_cast(tensor, after) for tensor in result)
            return _cast(result, after)

    @contextmanager
    def _aside(self) -> Iterator[None]:
        registry.traces.remove(self)
        try:
            yield
        finally:
            registry.traces.append(self)

    def literal(self, array: np.ndarray) -> Tensor:
        """Return a number written in the code as a tensor."""
        return wrap(array) if self.outer is None else self.outer.literal(array)

    def write(self, parameter: Any, data: Any) -> None:
        """Let a tensor take a value, as it would without the casts."""
        if self.outer is not None:
            self.outer.write(parameter, data)
            return
        with self._aside():
            parameter.set_data(data)

    def random_key(self) -> Tensor:
        """Return the key of a random op."""
        if self.outer is not None:
            return self.outer.random_key()
        return streams.state().next_key()

    def hook(self, tensor: Tensor, make: Callable[[], Op]) -> None:
        """Tell the trace below, if there is one, of a tensor's hook."""
        if self.outer is not None:
            self.outer.hook(tensor, make)

    def note_break(self, reason: Any) -> None:
        """Leave reasons not to compile to the trace itself, which hears of them too."""

    def check_derived(self, trained: Container[int]) -> None:
        """Let the trace below, if there is one, refuse to derive by what was overwritten."""
        if self.outer is not None:
            self.outer.check_derived(trained)

    def taker(self) -> Tracer | None:
        """Return the trace below, if there is one: casts come before ops and hold none."""
        return None if self.outer is None else self.outer.taker()

    @contextmanager
    def again(self) -> Iterator[None]:
        """Cast the inputs of the body's ops by the same lists."""
        with nullcontext() if self.outer is None else self.outer.again(), casting(self.policy):
            yield


def _cast(tensor: Tensor, dtype: DType) -> Tensor:
    if tensor.dtype in (float16, bfloat16, float32) and tensor.dtype is not dtype:
        return cast_to(tensor, dtype)
    return tensor


@contextmanager
def casting(policy: Policy) -> Iterator[None]:
    """Let the ops of the body compute as a policy says."""
    with registry.tracing(Casting(policy, registry.active_trace())):
        yield


class WithCasting:
    """Mixed into a Cell's class: its ``construct`` runs under a policy."""

    _casting: Policy

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """Compute as the Cell does, in mixed precision."""
        with casting(self._casting):
            return super().construct(*args, **kwargs)  # pyright: ignore[reportAttributeAccessIssue]


def cast_ops_of(cell: Any, policy: Policy) -> None:
    """Let a Cell, and what it calls, compute as a policy says."""
    kind = type(cell)
    if not issubclass(kind, WithCasting):
        body = {"__module__": kind.__module__, "__doc__": kind.__doc__}
        made = type(kind.__name__, (WithCasting, kind), body)
        object.__setattr__(cell, "__class__", made)  # not an attribute to be registered
    cell.__dict__["_casting"] = policy
    cell.hooks.version += 1  # what was compiled computes in other types
