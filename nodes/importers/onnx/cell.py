"""The imported model as a Cell: weights are Parameters, ``construct`` runs the graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto

from ....engine.nn.cell import Cell
from ....engine.parameter import Parameter
from . import operators  # noqa: F401 - fills the table
from .arrays import array_of
from .constants import Constants
from .errors import OnnxError
from .functions import has_body
from .graph import Runner
from .reader import read_model
from .registry import OPERATORS, READS


class OnnxCell(Cell):
    """An ONNX model that runs, trains and compiles as any Cell.

    Weights of float types are Parameters under their names in the model, with dots and slashes
    as underscores; what operators read as numbers (axes, shapes, scales) stays constant.

    Parameters
    ----------
    model : ModelProto
        The model, checked by ``import_onnx``.
    folder : str
        Where data kept in other files are looked for.
    """

    def __init__(self, model: ModelProto, folder: str = "") -> None:
        super().__init__()
        graph = model.graph
        functions = {(item.domain, item.name): item for item in model.functions}
        versions = {
            "" if item.domain == "ai.onnx" else item.domain: item.version
            for item in model.opset_import
        }
        _require_operators(graph, versions, functions)
        self._graph, self._runner = graph, Runner(versions, functions)
        self._constants, self._weights = Constants(), {}
        read = _read_names(graph)
        for tensor in graph.initializer:
            array = array_of(tensor, folder)
            if array.dtype.kind == "f" and tensor.name not in read:
                self._add_weight(tensor.name, array)
            else:
                self._weights[tensor.name] = self._constants.new(array)
        made = {tensor.name for tensor in graph.initializer}
        self.input_names = tuple(i.name for i in graph.input if i.name not in made)
        self.output_names = tuple(info.name for info in graph.output)

    def _add_weight(self, name: str, array: np.ndarray) -> None:
        own = name.replace(".", "_").replace("/", "_").strip("_") or "weight"
        while own in self.__dict__:
            own += "_"
        self.insert_param_to_cell(own, Parameter(array, own))
        self._weights[name] = self.__dict__[own]

    def construct(self, *inputs: Any) -> Any:
        """Run the model on its inputs, given in its order; a tuple where it has several outputs."""
        if len(inputs) > len(self.input_names):
            raise OnnxError(
                f"the model takes {len(self.input_names)} inputs ({', '.join(self.input_names)}),"
                f" {len(inputs)} were given."
            )
        values: dict[str, Any] = dict(self._weights)
        values.update(zip(self.input_names, inputs, strict=False))
        missing = [name for name in self.input_names if name not in values]
        if missing:
            raise OnnxError(f"the model needs the inputs {', '.join(missing)}, not given here.")
        self._runner.run(self._graph.node, values, self._constants.inner())
        outputs = tuple(values[name] for name in self.output_names)
        return outputs[0] if len(outputs) == 1 else outputs

    def extend_repr(self) -> str:
        """Return the model's inputs and outputs."""
        return f"{', '.join(self.input_names)} -> {', '.join(self.output_names)}"


def import_onnx(source: str | Path | bytes | ModelProto) -> OnnxCell:
    """Read an ONNX model and return it as a Cell.

    Parameters
    ----------
    source : path, bytes or ModelProto
        The file, its content, or the model itself.

    Returns
    -------
    OnnxCell
        A Cell whose call runs the model.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    OnnxError
        If it is no ONNX model, or needs operators or element types that Cellwire lacks; all of
        them are named.
    """
    model, folder = read_model(source)
    return OnnxCell(model, folder)


def nodes_of(graph: GraphProto) -> Iterator[NodeProto]:
    """Yield the nodes of a graph and of all graphs inside it."""
    for node in graph.node:
        yield node
        for item in node.attribute:
            if item.HasField("g"):
                yield from nodes_of(item.g)


def unknown_operators(graph: GraphProto, versions: dict[str, int], functions: Any) -> list[str]:
    """Return the operators of a graph that cannot run, with their domains."""
    bodies = [node for body in functions.values() for node in body.node]
    found = set()
    for node in [*nodes_of(graph), *bodies]:
        domain = "" if node.domain == "ai.onnx" else node.domain
        key = (domain, node.op_type)
        known = key in OPERATORS or key in functions
        if not known and not has_body(node.op_type, versions.get(domain, 1), domain):
            found.add(f"{domain}.{node.op_type}" if domain else node.op_type)
    return sorted(found)


def _require_operators(graph: GraphProto, versions: dict[str, int], functions: Any) -> None:
    missing = unknown_operators(graph, versions, functions)
    if missing:
        raise OnnxError(
            f"the model uses operators that Cellwire does not have: {', '.join(missing)}."
        )


def _read_names(graph: GraphProto) -> set[str]:
    """Return the values that some operator reads as numbers."""
    found: set[str] = set()
    for node in nodes_of(graph):
        domain = "" if node.domain == "ai.onnx" else node.domain
        for position in READS.get((domain, node.op_type), ()):
            if position < len(node.input):
                found.add(node.input[position])
    return found
