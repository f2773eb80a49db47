"""Scales of channels moved from a convolution's output to its weights, where these are smaller.

So a batch norm in inference costs one product an element of the weights, computed in the plan: it
is never stale when a parameter changes. What is left of it is an addition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..ops.registry import OPS, Op
from .graph import Graph, Node, Value, all_values, freeze_attrs, infer_outputs
from .simplify import eliminate_dead

WORTH = 4
"""How many times larger than its weights a convolution's output must be."""


def scale_weights(graph: Graph) -> Graph:
    """Return an equal graph, up to rounding, whose convolutions take the scales of their output."""
    if not any(node.op.name == "conv2d" for node in graph.nodes):
        return graph
    return eliminate_dead(_Scaling(graph).run())


class _Scaling:
    """Finds ``conv(x, w) * s`` and ``(conv(x, w) + b) * s`` and writes them anew."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.count = 1 + max((v.index for v in all_values(graph)), default=0)
        self.producer = {v: node for node in graph.nodes for v in node.outputs}
        self.readers: dict[Value, int] = dict.fromkeys(graph.outputs, 2)
        for value in (v for node in graph.nodes for v in node.inputs):
            self.readers[value] = self.readers.get(value, 0) + 1
        self.nodes: list[Node] = []

    def run(self) -> Graph:
        for node in self.graph.nodes:
            made = self._scaled(node) if node.op.name == "mul" else None
            self.nodes += [node] if made is None else made
        graph = self.graph
        return Graph(graph.inputs, tuple(self.nodes), graph.outputs, graph.constants)

    def _scaled(self, node: Node) -> list[Node] | None:
        """Return what stands for a product of a convolution and a scale, if it is one."""
        for inner, scale in (node.inputs, node.inputs[::-1]):
            if not _is_of_channels(scale, node.outputs[0]):
                continue
            conv, shift = self._convolution(inner), None
            if conv is None:
                conv, shift = self._shifted(inner)
            if conv is not None and self._is_worth_while(conv):
                return self._written(node, conv, shift, scale)
        return None

    def _convolution(self, value: Value) -> Node | None:
        """Return the convolution that a value is, read by one node alone."""
        node = self.producer.get(value)
        found = node is not None and node.op.name == "conv2d" and len(node.inputs) == 2
        return node if found and self.readers[value] == 1 else None

    def _shifted(self, value: Value) -> tuple[Node | None, Value | None]:
        node = self.producer.get(value)
        if node is None or node.op.name != "add" or self.readers[value] != 1:
            return None, None
        for inner, shift in (node.inputs, node.inputs[::-1]):
            conv = self._convolution(inner)
            if conv is not None and _is_of_channels(shift, value):
                return conv, shift
        return None, None

    @staticmethod
    def _is_worth_while(conv: Node) -> bool:
        weights, output = conv.inputs[1], conv.outputs[0]
        return math.prod(weights.sizes) * WORTH <= math.prod(output.sizes)

    def _written(self, node: Node, conv: Node, shift: Value | None, scale: Value) -> list[Node]:
        weights = conv.inputs[1]
        made: list[Node] = []
        column = self._add(made, OPS["reshape"], [scale], node, shape=(weights.sizes[0], 1, 1, 1))
        scaled = self._add(made, OPS["mul"], [weights, column], node)
        outputs = node.outputs
        if shift is None:
            made.append(Node(conv.op, (conv.inputs[0], scaled), outputs, conv.attrs, node.origin))
            return made
        product = self._add(made, conv.op, [conv.inputs[0], scaled], conv, **conv.attributes)
        moved = self._add(made, OPS["mul"], [shift, scale], node)
        made.append(Node(OPS["add"], (product, moved), outputs, (), node.origin))
        return made

    def _add(
        self, made: list[Node], op: Op, inputs: Sequence[Value], like: Node, **attrs: object
    ) -> Value:
        (aval,) = infer_outputs(op, [v.aval for v in inputs], attrs)
        output = Value(self.count, aval, like.outputs[0].origin)
        self.count += 1
        made.append(Node(op, tuple(inputs), (output,), freeze_attrs(attrs), like.origin))
        return output


def _is_of_channels(value: Value, image: Value) -> bool:
    """Return whether a value has one number for each channel of images, and no more."""
    if len(image.sizes) != 4:
        return False
    wanted = (image.sizes[1], 1, 1)
    return value.sizes in (wanted, (1, *wanted))
