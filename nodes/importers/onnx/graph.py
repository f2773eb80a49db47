"""Runs a model's graph node by node: names to values, sub-graphs, functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto

from ....engine.ops.registry import traces
from .arrays import array_of
from .call import Call
from .constants import Constants, outside_traces
from .errors import OnnxError
from .functions import body_of
from .registry import handler_of

Versions = Mapping[str, int]
"""The version of each operator set by its domain."""


class Runner:
    """Runs graphs of one model.

    Parameters
    ----------
    versions : mapping
        The operator sets that the model imports.
    functions : mapping
        The model's own functions, by domain and name.
    """

    def __init__(
        self, versions: Versions, functions: Mapping[tuple[str, str], FunctionProto]
    ) -> None:
        self.versions = versions
        self.functions = functions

    def run(
        self,
        nodes: Sequence[NodeProto],
        values: dict[str, Any],
        constants: Constants,
        bound: Mapping[str, AttributeProto] | None = None,
        versions: Versions | None = None,
    ) -> None:
        """Run nodes in order; their outputs are added to ``values``.

        ``bound`` has the attributes of the function that the nodes belong to.
        """
        versions = versions or self.versions
        for node in nodes:
            inputs = [_value(values, name, node) for name in node.input]
            attributes = _resolved(node, bound or {})

            def run_graph(graph: GraphProto, given: Sequence[Any]) -> list[Any]:
                return self.subgraph(graph, given, values, constants, bound, versions)

            call = Call(
                node, versions.get(_domain(node), 1), attributes, inputs, constants, run_graph
            )
            outputs = self._call(call, versions)
            for name, value in zip(node.output, outputs, strict=False):
                if name:
                    values[name] = value

    def subgraph(
        self,
        graph: GraphProto,
        given: Sequence[Any],
        outer: Mapping[str, Any],
        constants: Constants,
        bound: Mapping[str, AttributeProto] | None = None,
        versions: Versions | None = None,
    ) -> list[Any]:
        """Run a graph inside another, whose values it sees, and return its outputs."""
        values = dict(outer)
        for tensor in graph.initializer:
            values[tensor.name] = constants.new(array_of(tensor))
        for info, value in zip(graph.input, given, strict=False):
            values[info.name] = value
        self.run(graph.node, values, constants, bound, versions)
        return [values[info.name] for info in graph.output]

    def _call(self, call: Call, versions: Versions) -> list[Any]:
        own = self.functions.get((call.domain, call.op_type))
        handler = None if own is not None else handler_of(call)
        if handler is not None:
            return self._handle(call, handler)
        body = own or body_of(call)
        if body is None:
            domain = f" of {call.domain}" if call.domain else ""
            raise OnnxError(f"the operator {call.op_type}{domain} is not known: {call.where}.")
        return self._function(body, call, versions)

    def _handle(self, call: Call, handler: Any) -> list[Any]:
        known = call.is_constant() or call.op_type in READ_NOW
        if traces and known:
            found = outside_traces(lambda: handler(call, *call.inputs))
        else:
            found = handler(call, *call.inputs)
        outputs = list(found) if isinstance(found, tuple) else [found]
        if known:
            for output in outputs:
                call.constants.note(output)
        return outputs

    def _function(self, body: FunctionProto, call: Call, versions: Versions) -> list[Any]:
        values: dict[str, Any] = dict(zip(body.input, call.inputs, strict=False))
        for name in body.input[len(call.inputs) :]:
            values[name] = None
        bound = {item.name: item for item in body.attribute_proto} | call.attributes
        imported = {**versions, **{item.domain: item.version for item in body.opset_import}}
        self.run(body.node, values, call.constants, bound, imported)
        return [values.get(name) for name in body.output]


READ_NOW = frozenset({"Constant", "Shape", "Size", "ConstantOfShape"})
"""Operators whose result is known from attributes and shapes alone."""


def _domain(node: NodeProto) -> str:
    return "" if node.domain == "ai.onnx" else node.domain


def _value(values: Mapping[str, Any], name: str, node: NodeProto) -> Any:
    if not name:
        return None
    if name not in values:
        raise OnnxError(f"{node.op_type}: the input {name!r} is made by no earlier node.")
    return values[name]


def _resolved(node: NodeProto, bound: Mapping[str, AttributeProto]) -> dict[str, AttributeProto]:
    """Return the node's attributes; those that name one of the function's are replaced by it."""
    found: dict[str, AttributeProto] = {}
    for item in node.attribute:
        if not item.ref_attr_name:
            found[item.name] = item
        elif item.ref_attr_name in bound:
            found[item.name] = bound[item.ref_attr_name]
    return found
