"""Running a graph from a file: compiled as a whole, and as one op under a record."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from .compiler.graph import Graph
from .compiler.graph_op import GraphOp, replay
from .compiler.plan import Plan, compile_graph
from .compiler.structure import flatten, unflatten
from .compiler.trace import is_tensor
from .graph_file import SavedGraph
from .ops.registry import records, traces
from .tensor import Tensor, wrap


class Run:
    """One graph ready to run: its plan, and the op that it is to records."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def plan(self) -> Plan:
        """The compiled graph."""
        return compile_graph(self.graph)

    @cached_property
    def op(self) -> GraphOp:
        """The graph with its gradient."""
        return GraphOp(self.graph, len(self.graph.outputs), "graph")


def run_saved(saved: SavedGraph, args: tuple[Any, ...], held: Sequence[Tensor]) -> Any:
    """Run a graph on a call's arguments and the tensors that it reads besides.

    Raises
    ------
    TypeError, ValueError
        If the arguments are not those that it takes.
    """
    tensors = [*_arguments(saved, args), *held]
    graph = saved.bound([t.aval for t in tensors[: len(tensors) - len(held)]])
    if traces:
        outputs: Sequence[Tensor] = replay(graph, tensors)
    else:
        run = saved.runs.setdefault(graph, Run(graph))
        if records:
            outputs = run.op(*tensors)
        else:
            outputs = [wrap(array) for array in run.plan(*[t.data for t in tensors])]
    return unflatten(saved.result, outputs)


def _arguments(saved: SavedGraph, args: tuple[Any, ...]) -> list[Tensor]:
    """Return the tensors of the arguments, which must be nested as when the graph was made."""
    leaves, structure = flatten(args, is_tensor)
    if structure != saved.arguments:
        raise TypeError(
            f"the graph takes {saved.arguments}, it was given {structure}; * stands for a tensor."
        )
    return [leaf for leaf in leaves if isinstance(leaf, Tensor)]
