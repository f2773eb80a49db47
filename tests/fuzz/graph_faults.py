"""Faults in what becomes of a graph: passes, lowering, memory, printing, threads."""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

from cellwire.engine.compiler import (
    algebra,
    arena,
    binding,
    constants,
    cutting,
    differentiate,
    fuse,
    lower,
    planner,
    runs,
    simplify,
    space,
)
from cellwire.engine.compiler.access import Access
from cellwire.kernels import emitter, llvm, loop_text, loops

from .faults import fault, swap


@fault("graphs", 12)
def _unequal_shared() -> list[Any]:
    """Nodes of unequal attributes are taken for the same."""
    return [swap(simplify, "_key", lambda key: lambda node: key(node)[:2])]


@fault("graphs", 207)
def _operands_swapped() -> list[Any]:
    """Subtraction is taken for commutative."""
    more = simplify.COMMUTATIVE | {"sub", "div", "greater"}
    return [mock.patch.object(simplify, "COMMUTATIVE", more)]


@fault("graphs", 5)
def _wrong_folding() -> list[Any]:
    """Constants are folded wrongly."""

    def make(run: Callable[..., Any]) -> Callable[..., Any]:
        return lambda node, given: tuple(a if a.dtype == bool else a + 1 for a in run(node, given))

    return [swap(constants, "run_node", make)]


@fault("graphs", 57)
def _zero_minus() -> list[Any]:
    """Zero minus a value is taken for the value."""
    rules = {**algebra.RULES, "sub": (algebra.Neutral((0, 1), 0.0),)}
    return [mock.patch.object(algebra, "RULES", rules)]


@fault("graphs", 112)
def _lost_sign() -> list[Any]:
    """Adding zero is left out though it changes the sign of -0."""
    rules = {**algebra.RULES, "add": (algebra.Neutral((0, 1), 0.0),)}
    return [mock.patch.object(algebra, "RULES", rules)]


def _viewed(change: Callable[[Any, Access], Access]) -> Any:
    def make(found: Callable[..., Any]) -> Callable[..., Any]:
        def viewed(node: Any, source: Access) -> Access | None:
            access = found(node, source)
            return None if access is None else change(node, access)

        return viewed

    return swap(fuse, "view_access", make)


@fault("graphs", 1)
def _swapped_axis() -> list[Any]:
    """Axes of equal size are read in each other's place after a transpose."""

    def change(node: Any, access: Access) -> Access:
        sizes, strides = node.outputs[0].sizes, list(access.strides)
        for at in range(len(sizes) - 1):
            if node.op.name in ("transpose", "swapaxes") and sizes[at] == sizes[at + 1]:
                strides[at], strides[at + 1] = strides[at + 1], strides[at]
        return replace(access, strides=tuple(strides))

    return [_viewed(change)]


@fault("graphs", 45)
def _lost_offset() -> list[Any]:
    """A slice is read from the beginning of what it cuts."""
    return [_viewed(lambda node, a: replace(a, offset=0) if min(a.strides, default=0) >= 0 else a)]


@fault("graphs", 33)
def _not_turned() -> list[Any]:
    """A reversed axis is read forwards."""

    def change(node: Any, access: Access) -> Access:
        if min(access.strides, default=0) >= 0:
            return access
        spans = zip(node.outputs[0].sizes, access.strides, strict=True)
        back = sum((size - 1) * stride for size, stride in spans if stride < 0)
        return Access(access.base, tuple(abs(s) for s in access.strides), access.offset + back)

    return [_viewed(change)]


@fault("graphs", 47)
def _wrong_broadcast() -> list[Any]:
    """A broadcast axis keeps the stride of the axis beside it."""

    def change(node: Any, access: Access) -> Access:
        strides, sizes = list(access.strides), node.outputs[0].sizes
        for at in range(len(sizes) - 1):
            if not strides[at] and sizes[at] <= sizes[at + 1]:
                strides[at] = strides[at + 1]
                strides[at + 1] = 0
        return replace(access, strides=tuple(strides))

    return [_viewed(change)]


@fault("graphs", 7)
def _arena_overlap() -> list[Any]:
    """The place of floats in the arena is given away too early."""

    def make(uses: Callable[..., Any]) -> Callable[..., Any]:
        def early(*args: Any) -> Any:
            found = uses(*args)
            for value, use in found.items():
                if value.aval.dtype.is_float:  # positions of elsewhere would lead out of memory
                    use.last = use.first
            return found

        return early

    return [swap(arena, "_uses", make)]


@fault("graphs", 4)
def _missed_copy() -> list[Any]:
    """Results that share memory with constants and inputs are given out."""
    return [swap(planner.Planner, "_copied", lambda _: lambda self, outputs, made: frozenset())]


@fault("graphs", 65)
def _wrong_in_place() -> list[Any]:
    """A result is written over an input that is still read."""
    return [swap(planner, "overwrites", lambda _: lambda space, value, source: True)]


@fault("graphs", 32)
def _read_after_write() -> list[Any]:
    """A result is written over an input that later steps read."""

    def make(read: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, step: {v for v in read(self, step) if v not in self.graph.inputs}

    return [swap(planner.Planner, "_read", make)]


@fault("graphs", 7)
def _lost_write() -> list[Any]:
    """What is to be written back at the end of a plan is not."""
    return [swap(planner.Planner, "_write_backs", lambda _: lambda self: [])]


@fault("graphs", 2)
def _dropped_tap() -> list[Any]:
    """The last tap of a plan is left out."""

    def make(segments: Callable[..., Any]) -> Callable[..., Any]:
        def fewer(self: Any, *arrays: Any) -> Any:
            self.taps = self.taps[:-1]
            return segments(self, *arrays)

        return fewer

    return [swap(runs.Plan, "segments", make)]


@fault("graphs", 2)
def _early_tap() -> list[Any]:
    """Taps are read before the step that computes them."""
    return [swap(planner.Planner, "_ready", lambda _: lambda self, value, ends: -1)]


@fault("graphs", 0)
def _masked_tail() -> list[Any]:
    """The mask of a vector loop's rest is one lane short."""

    def make(prefix: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, count, lanes: prefix(self, count - 1, lanes)

    return [swap(emitter.Emitter, "prefix", make)]


@fault("graphs", 0)
def _masked_runtime_tail() -> list[Any]:
    """The rest of a loop whose size comes at run time is left out."""
    return [swap(llvm._Printer, "tail", lambda _: lambda self, e, w, lanes, running, once: running)]


@fault("graphs", 7)
def _wrong_identity() -> list[Any]:
    """A minimum starts from zero."""

    def make(identity: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(accumulator: Any, lanes: int) -> Any:
            if accumulator.kind == "min":
                accumulator = replace(accumulator, kind="sum")
            return identity(accumulator, lanes)

        return wrong

    return [swap(llvm, "_identity", make)]


@fault("graphs", 200)
def _lost_nan() -> list[Any]:
    """A maximum loses NaN."""

    def make(combine: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(emit: Any, kind: str, x: Any, y: Any) -> Any:
            if kind != "max":
                return combine(emit, kind, x, y)
            return emit.select(emit.compare("gt", x, y), x, y)

        return wrong

    return [swap(llvm, "combine", make)]


@fault("graphs", 76)
def _wrong_kind() -> list[Any]:
    """A product of elements is summed."""

    def make(kind: Callable[..., Any]) -> Callable[..., Any]:
        return lambda node: "sum" if kind(node) == "prod" else kind(node)

    return [swap(lower, "reduction_kind", make)]


@fault("graphs", 258)
def _sums_not_cleared() -> list[Any]:
    """Sums over the rows start from one."""
    return [swap(lower, "neutral", lambda _: lambda kind, dtype: loops.const(1, dtype))]


@fault("graphs", 16)
def _epilogue_rows() -> list[Any]:
    """What follows a product begins at its first row for every share of rows."""

    def call(name: str, *args: Any) -> Any:
        if name == "add" and isinstance(args[1], loops.Var) and args[1].name == "first":
            return args[0]
        return loops.call(name, *args)

    wrong = types.SimpleNamespace(**{**vars(loops), "call": call})
    return [mock.patch.object(lower, "loops", wrong)]


@fault("graphs", 245)
def _product_too_early() -> list[Any]:
    """A product goes over an input that what follows it still reads."""
    never = swap(
        planner.Planner, "_updates_what_it_reads", lambda _: lambda self, group, value: False
    )
    return [never]


@fault("graphs", 55)
def _wrong_axis() -> list[Any]:
    """A reduction goes over another axis of the same size."""

    def make(axes: Callable[..., Any]) -> Callable[..., Any]:
        def other(node: Any) -> Any:
            found, sizes = axes(node), node.inputs[0].sizes
            alike = [at for at, size in enumerate(sizes) if found and size == sizes[found[0]]]
            return (alike[alike[0] == found[0]],) if len(found) == 1 < len(alike) else found

        return other

    return [swap(space, "reduced_axes", make)]


@fault("graphs", 27)
def _wrong_residual() -> list[Any]:
    """The forward pass keeps two values of one shape in each other's place."""

    def make(graph: Any) -> Callable[..., Any]:
        def made(inputs: Any, nodes: Any, outputs: Any, consts: Any) -> Any:
            ends = list(outputs)
            for at in range(1, len(ends) if inputs else 0):
                if ends[at].aval == ends[at - 1].aval and ends[at] is not ends[at - 1]:
                    ends[at - 1], ends[at] = ends[at], ends[at - 1]
                    break
            return graph(inputs, nodes, tuple(ends), consts)

        return made

    return [mock.patch.object(differentiate, "Graph", make(differentiate.Graph))]


@fault("graphs", 6)
def _rows_overlap() -> list[Any]:
    """Threads do not move to their share of the rows of a buffer."""

    def make(step: Callable[..., Any]) -> Callable[..., Any]:
        def still(kernel: str, places: Any, ints: Any, rows: Any, *rest: Any) -> Any:
            if rows is not None:
                rows = replace(rows, advance=(0, *rows.advance[1:]))
            return step(kernel, places, ints, rows, *rest)

        return still

    return [swap(binding, "Step", make)]


@fault("graphs", 28)
def _missing_meeting() -> list[Any]:
    """Threads go on without waiting for rows that others make."""
    return [swap(cutting, "_joins", lambda _: lambda region, step, same: True)]


@fault("graphs", 44)
def _forgetful_key() -> list[Any]:
    """The cache of machine code does not tell scalar functions apart."""

    def make(text: Callable[..., Any]) -> Callable[..., Any]:
        names = r"\b(tanh|sin|cos|erf|abs|neg|exp|square|sigmoid)\("
        return lambda function: re.sub(names, "f(", text(function))

    return [swap(loop_text, "function_text", make)]
