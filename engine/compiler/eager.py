"""Composite ops in eager mode: one compiled kernel each, made when a call recurs.

Beside the pipeline: an op's own call comes here, and its expansion goes through all stages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd.gradgraph import compiles_at_once
from ..dtype import dtype_of
from ..ops import registry
from ..ops.registry import Gemm, Op
from ..recent import Recent
from ..shape import Aval
from .graph import Graph, Node, Value, freeze_attrs, infer_outputs
from .plan import NativeRun, Plan, compile_graph, whole

Run = Callable[[Sequence[np.ndarray]], Any]

MAX_KERNELS = 512
"""Different calls remembered; those not made lately are forgotten."""

_runs: Recent[Run | None] = Recent(MAX_KERNELS)


def compiled_kernel(op: Op, arrays: tuple[np.ndarray, ...], attrs: dict[str, Any]) -> Any:
    """Run a composite op as one compiled kernel, or return None to leave it to NumPy.

    The first call with given shapes, dtypes and attributes is left to NumPy; the second compiles
    (the first already in ``autograd.gradgraph.compiling_at_once``). Matrix products are compiled
    only there: elsewhere ``ops.fast`` keeps the kernels of those that gain by it.
    """
    if op.lowering.__class__ is Gemm and not compiles_at_once():
        return None
    run = _counted(op, arrays, attrs)
    return None if run is None else run(arrays)


def find_kernel(op: Op, arrays: tuple[np.ndarray, ...], attrs: dict[str, Any]) -> Run | None:
    """Return what runs the op on arrays like these, after such a call.

    None if there was no such call before, or if it does not become machine code as a whole.
    """
    if op.lowering.__class__ is Gemm:
        return _counted(op, arrays, attrs)
    run = _runs.get(_key(op, arrays, attrs))  # the call itself came here and was counted
    return None if run is None or run is refuse else run


def _key(op: Op, arrays: tuple[np.ndarray, ...], attrs: dict[str, Any]) -> object:
    return (op, tuple([(a.shape, a.dtype) for a in arrays]), tuple(attrs.items()))


def _counted(op: Op, arrays: tuple[np.ndarray, ...], attrs: dict[str, Any]) -> Run | None:
    """Return what runs the op on arrays like these, made at the second sight of such a call."""
    key = _key(op, arrays, attrs)
    run = _runs.get(key, decline)
    if run is decline:
        run = _runs[key] = None
        if not compiles_at_once():
            return None
    if run is None:
        run = _runs[key] = _compile(op, arrays, attrs) or refuse
    return None if run is refuse else run


def decline(_arrays: Sequence[np.ndarray]) -> None:
    """Stand for a call not seen before."""


def refuse(_arrays: Sequence[np.ndarray]) -> None:
    """Stand for a call that does not become machine code as a whole."""


def _compile(op: Op, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> Run | None:
    inputs = tuple(Value(i, Aval(a.shape, dtype_of(a.dtype))) for i, a in enumerate(arrays))
    avals = infer_outputs(op, [v.aval for v in inputs], attrs)
    outputs = tuple(Value(len(inputs) + i, aval) for i, aval in enumerate(avals))
    node = Node(op, inputs, outputs, freeze_attrs(attrs))
    plan = compile_graph(Graph(inputs, (node,), outputs))
    parts = plan.parts
    if len(parts) != 1 or not isinstance(parts[0], NativeRun) or plan.copies or parts[0].checks:
        return None
    inferred = op.infer(*[v.aval for v in inputs], **attrs)
    if not isinstance(inferred, tuple) and not plan.report.arena_bytes:
        return _single(plan)

    def run(given: Sequence[np.ndarray]) -> Any:
        results = plan.run([whole(a) for a in given])
        return results if isinstance(inferred, tuple) else results[0]

    return run


def _single(plan: Plan) -> Run:
    """Return the fastest way to run a plan of one result that needs no arena."""
    part = plan.parts[0]
    assert isinstance(part, NativeRun)
    bound, shared = part.bound, tuple(plan.shared)
    (shape, dtype), empty = plan.made[0], np.empty
    direct = part.slots == tuple(range(len(part.slots)))

    def run(given: Sequence[np.ndarray]) -> np.ndarray:
        for array in given:
            if not array.flags.c_contiguous:
                given = [whole(a) for a in given]
                break
        out = empty(shape, dtype)
        if direct:
            bound(*given, *shared, out)
        else:
            slots = (*given, *shared, out)
            bound(*[slots[i] for i in part.slots])
        return out

    return run


def install() -> None:
    """Let the op table run composite ops through ``compiled_kernel``."""
    registry.set_eager_compiler(compiled_kernel, find_kernel)
