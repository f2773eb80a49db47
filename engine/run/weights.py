"""A graph's parameters by name: the node's id, a dot, the parameter's name in its Cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..parameter import Parameter
from ..tensor import from_numpy
from .graph import Graph
from .settings import TrainingError
from .units import cell_of


@dataclass(frozen=True)
class Weights:
    """The parameters of a graph's Cells; a parameter that two nodes share counts at the first."""

    graph: Graph
    named: dict[str, Parameter] = field(init=False)
    node_of: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        named: dict[str, Parameter] = {}
        nodes: dict[str, str] = {}
        seen: set[int] = set()
        for id_ in self.graph.order:
            cell = cell_of(self.graph.nodes[id_])
            for name, parameter in cell.parameters_and_names() if cell is not None else ():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    named[f"{id_}.{name}"] = parameter
                    nodes[f"{id_}.{name}"] = id_
        object.__setattr__(self, "named", named)
        object.__setattr__(self, "node_of", nodes)

    @property
    def trained(self) -> dict[str, Parameter]:
        """Those that an optimizer changes."""
        return {key: p for key, p in self.named.items() if p.requires_grad}

    def arrays(self) -> dict[str, np.ndarray]:
        """Their values, not copied."""
        return {key: parameter.data for key, parameter in self.named.items()}

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Write these values into the parameters.

        Raises
        ------
        TrainingError
            A parameter is missing or has another shape; nothing is written then.
        """
        missing = [key for key in self.named if key not in arrays]
        if missing:
            raise TrainingError(
                f"the file has no {', '.join(missing[:5])}; it belongs to another graph, or the "
                "graph was changed since it was saved"
            )
        for key, parameter in self.named.items():
            if arrays[key].shape != tuple(parameter.shape):
                raise TrainingError(
                    f"{key} has shape {list(arrays[key].shape)} in the file, but the graph's is "
                    f"{list(parameter.shape)}; set the node's sizes back or train anew"
                )
        for key, parameter in self.named.items():
            parameter.set_data(from_numpy(arrays[key]))
