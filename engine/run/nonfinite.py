"""Finds the node that first gave NaN or Inf in a training step."""

from __future__ import annotations

import msgspec

from .breakpoints import Direction
from .events import Failed, Finished
from .executor import Execution
from .graph import Graph, Source
from .inspect import Statistics, statistics
from .units import Clock, Feeds


class NotFinite(msgspec.Struct, frozen=True, tag=True):
    """A loss or gradient that is no number: where it began, and what to try."""

    step: int
    node: str
    port: str
    stats: Statistics
    message: str
    fix: str
    direction: Direction = "forward"


def find_non_finite(graph: Graph, feeds: Feeds, loss: Source, clock: Clock) -> NotFinite | Failed:
    """Run the step again node by node and name the first node whose result is not finite.

    Parameters and running statistics are left as they were.
    """
    with Execution(graph, feeds, training=True, clock=clock) as execution:
        try:
            return _search(execution, loss, clock.step)
        finally:
            execution.discard()


def _search(execution: Execution, loss: Source, step: int) -> NotFinite | Failed:
    graph = execution.graph
    while not isinstance(event := execution.advance("node"), Finished):
        if isinstance(event, Failed):
            return event
        for port in graph.nodes[event.node].outputs:
            stats = statistics(execution.value(Source(event.node, port)))
            if stats.nan or stats.inf:
                return _report(graph, step, event.node, port, stats, "forward")
    execution.backward(loss.node)
    while not isinstance(event := execution.advance("node"), Finished):
        if isinstance(event, Failed):
            return event
        gradients = {
            **{e.port: execution.gradient(e) for e in graph.nodes[event.node].edges
               if e.port in getattr(event, "outputs", {})},
            **execution.parameter_gradients(event.node),
        }  # fmt: skip
        for port, gradient in gradients.items():
            stats = statistics(gradient)
            if stats.nan or stats.inf:
                return _report(graph, step, event.node, port, stats, "gradient")
    stats = statistics(execution.value(loss))
    return _report(graph, step, loss.node, loss.port, stats, "forward")


def _report(
    graph: Graph, step: int, node: str, port: str, stats: Statistics, direction: Direction
) -> NotFinite:
    name = graph.nodes[node].name
    what = f"{port} of {name}" if direction == "forward" else f"the gradient of {name}'s {port}"
    fix = (
        f"take these values out of what {name} reads, or fill them"
        if graph.nodes[node].kind == "data"
        else f"lower the learning rate, look at what enters {name} (scale the data, keep "
        "logarithms and divisions away from zero), or put a breakpoint with the condition "
        "'nan or inf' there"
    )
    return NotFinite(
        step,
        node,
        port,
        stats,
        f"step {step}: {what} has {stats.nan} NaN and {stats.inf} Inf of {stats.size} values; it "
        "is the first that is not finite",
        fix,
        direction,
    )
