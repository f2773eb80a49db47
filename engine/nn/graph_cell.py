"""A Cell that runs a graph from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import random as streams
from ..parameter import Parameter
from ..tensor import Tensor
from .cell import Cell


class GraphCell(Cell):
    """Runs a graph that ``cw.load`` read, on parameters of its own.

    Parameters
    ----------
    graph : SavedGraph
        What ``cw.load`` gave.
    params_init : dict of str to Tensor, optional
        Values to use in place of the file's, by the parameters' names.

    Raises
    ------
    TypeError
        If `graph` is something else.
    ValueError
        If a name in `params_init` is none of the graph's, or a shape differs; when it is called,
        if the arguments are of other shapes than the graph takes.
    """

    def __init__(self, graph: Any, params_init: Mapping[str, Tensor] | None = None) -> None:
        from ..graph_file import SavedGraph
        from ..graph_run import run_saved

        super().__init__()
        if not isinstance(graph, SavedGraph):
            raise TypeError(f"GraphCell takes what cw.load gives, not {type(graph).__name__}.")
        self.graph = graph
        tensors: list[Tensor | None] = []
        for held in graph.held:
            tensor: Tensor | None = None
            if held.kind == "parameter":
                tensor = Parameter(held.array, held.name, requires_grad=held.trained)
                self.insert_param_to_cell(held.name, tensor, check_name_contain_dot=False)
            elif held.kind == "tensor":
                tensor = Tensor(held.array)
            tensors.append(tensor)
        self.__dict__["_held"] = tuple(tensors)
        self.__dict__["_run"] = run_saved  # imported here: importing while tracing runs loaders
        for name, value in (params_init or {}).items():
            if name not in self._params:
                raise ValueError(
                    f"GraphCell: the graph has no parameter {name!r}; it has"
                    f" {', '.join(self._params) or 'none'}."
                )
            self._params[name].set_data(value)

    def construct(self, *inputs: Any) -> Any:
        """Run the graph."""
        held = [streams.next_key() if t is None else t for t in self.__dict__["_held"]]
        return self.__dict__["_run"](self.graph, inputs, held)

    def extend_repr(self) -> str:
        """What goes in."""
        return f"inputs={[str(aval) for aval in self.graph.avals]}"
