"""Plans: a compiled graph, ready to be called with arrays.

Maximal runs of native steps are one call of machine code; ops that have only a NumPy kernel run
between them. Intermediate values share one arena; what a plan returns has memory of its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from .debug import show, showing
from .fuse import Fuser
from .graph import Graph, Value, verify
from .kept_plans import find_plan, keep_plan, plan_key
from .planner import Planner
from .recompute import recompute
from .runs import HostCall, NativeRun, Plan, whole
from .scaling import scale_weights
from .simplify import simplify

__all__ = ["HostCall", "NativeRun", "Plan", "compile_graph", "whole"]


def compile_graph(
    graph: Graph, *, taps: Sequence[Value] = (), writes: dict[int, int] | None = None
) -> Plan:
    """Compile a graph.

    Parameters
    ----------
    graph : Graph
        Static shapes only.
    taps : sequence of Value
        Values of the graph at which ``Plan.segments`` stops: none of them is fused with what
        reads it.
    writes : dict of int to int, optional
        Outputs (by position) that may be written straight into the memory of an input (by
        position), because the input takes that value anyway. ``Plan.in_place`` says which were.

    Returns
    -------
    Plan
    """
    started = time.perf_counter()
    count = len(graph.outputs)
    show("graph", graph)
    key = None if taps or showing() else plan_key(graph, writes or {})
    if key is not None and (kept := find_plan(key, graph)) is not None:
        kept.report.compile_seconds = time.perf_counter() - started
        return kept
    whole = Graph(graph.inputs, graph.nodes, (*graph.outputs, *taps), graph.constants)
    written = [graph.inputs[i] for i in (writes or {}).values()]
    simple, late = recompute(scale_weights(simplify(whole)), written)
    verify(simple, infer=False)
    show("simplified", simple)
    tapped = dict(zip(taps, simple.outputs[count:], strict=True))
    fuser = Fuser(simple, apart=tapped.values(), late=late)
    fusion = fuser.run()
    show("groups", fusion)
    inputs = set(graph.inputs)
    given = frozenset(i for i, value in enumerate(graph.outputs) if value in inputs)
    plan = Planner(fusion, fuser, count, tapped, writes or {}, given).build()
    plan.report.compile_seconds = time.perf_counter() - started
    show("plan", plan.report)
    if key is not None:
        keep_plan(key, graph, plan)
    return plan
