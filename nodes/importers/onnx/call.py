"""One node of a model as it runs: its attributes, its constant inputs, its sub-graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import AttributeProto, NodeProto
from onnx.helper import get_attribute_value

from .constants import Constants
from .errors import OnnxError


class Call:
    """One node as its operator's function sees it.

    Parameters
    ----------
    node : NodeProto
        The node.
    version : int
        The operator set's version that the model imports for the node's domain.
    attributes : dict
        Attributes by name; those that refer to a function's are resolved.
    inputs : sequence
        The input values, None where an optional one is left out.
    constants : Constants
        The tensors that are known without running the model.
    run_graph : callable
        Runs a sub-graph: ``run_graph(graph, inputs) -> list of outputs``.
    """

    def __init__(
        self,
        node: NodeProto,
        version: int,
        attributes: dict[str, AttributeProto],
        inputs: Sequence[Any],
        constants: Constants,
        run_graph: Callable[[Any, Sequence[Any]], list[Any]],
    ) -> None:
        self.node = node
        self.op_type = node.op_type
        self.domain = "" if node.domain == "ai.onnx" else node.domain
        self.version = version
        self.inputs = list(inputs)
        self.attributes = attributes
        self.constants = constants
        self.run_graph = run_graph

    @property
    def where(self) -> str:
        """The node in words."""
        name = f" {self.node.name!r}" if self.node.name else ""
        return f"{self.op_type}{name} (output {', '.join(self.node.output)!r})"

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute: numbers, lists of numbers, text, a TensorProto or a graph."""
        found = self.attributes.get(name)
        if found is None:
            return default
        value = get_attribute_value(found)
        if isinstance(value, bytes):
            return value.decode("utf-8")
        if found.type == AttributeProto.STRINGS:
            return [item.decode("utf-8") for item in value]
        return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value

    def given(self, position: int) -> bool:
        """Return whether the optional input is there."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def wanted(self, position: int) -> bool:
        """Return whether the optional output is used."""
        return position < len(self.node.output) and bool(self.node.output[position])

    def array(self, position: int, default: Any = None) -> Any:
        """Return an input's values as an array, read from the tensor where they are no constant."""
        if not self.given(position):
            return default
        tensor = self.inputs[position]
        found = self.constants.array(tensor)
        return tensor.asnumpy() if found is None else found

    def ints(self, position: int, default: Any = None) -> Any:
        """Return an input of integers as a list of Python ints."""
        found = self.array(position)
        return default if found is None else [int(item) for item in np.asarray(found).reshape(-1)]

    def number(self, position: int, default: Any = None) -> Any:
        """Return an input of one element as a Python number."""
        found = self.array(position)
        return default if found is None else np.asarray(found).reshape(-1)[0].item()

    def resolved_node(self) -> NodeProto:
        """Return the node with its attributes in place of references to a function's."""
        made = NodeProto()
        made.CopyFrom(self.node)
        del made.attribute[:]
        for name, item in self.attributes.items():
            copy = made.attribute.add()
            copy.CopyFrom(item)
            copy.name, copy.ref_attr_name = name, ""
        return made

    def is_constant(self) -> bool:
        """Return whether all inputs are known without running the model."""
        given = [value for value in self.inputs if value is not None]
        return bool(given) and all(self.constants.array(v) is not None for v in given)

    def refuse(self, reason: str) -> OnnxError:
        """Return the error that says why this node cannot run."""
        return OnnxError(f"{self.where}: {reason}")
