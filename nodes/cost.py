"""What a node costs: its parameters, and arithmetic operations a sample."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..engine.compiler.graph import Node
from ..engine.compiler.trace import TracedCall, trace
from ..engine.nn.cell import Cell
from ..engine.ops.registry import Composite, Gemm, Host, Reduce, View
from ..engine.shape import Aval, substitute


@dataclass(frozen=True)
class Cost:
    """Trainable numbers, and floating-point operations of one sample's forward pass.

    A multiplication with its addition counts as two, as is usual for layers.
    """

    parameters: int = 0
    flops: int = 0


def cost_of(call: Callable[..., object], traced: TracedCall) -> Cost:
    """The cost of a node from the graph that its call traces to."""
    parameters = 0
    if isinstance(call, Cell):
        parameters = sum(_size(parameter.aval) for parameter in call.trainable_params())
    return Cost(parameters, sum(_flops(node) for node in traced.graph.nodes))


def _flops(node: Node) -> int:
    outputs = sum(_size(output.aval) for output in node.outputs)
    match node.op.lowering:
        case Host() if node.op.name == "conv2d":
            return 2 * outputs * math.prod(_sizes(node.inputs[1].aval)[1:])
        case Host() if node.op.name == "conv2d_input_grad":  # a transposed convolution
            return 2 * _size(node.inputs[0].aval) * math.prod(_sizes(node.inputs[1].aval)[1:])
        case View() | Host():
            return 0
        case Gemm():
            return 2 * outputs * _contracted(node, outputs)
        case Reduce():
            return _size(node.inputs[0].aval)
        case Composite(fn):
            return _composite_flops(fn, [value.aval for value in node.inputs], dict(node.attrs))
    return outputs


def _contracted(node: Node, outputs: int) -> int:
    """How many products each output of a contraction adds up: from |A|·|B| / |A·B| of a matrix."""
    first, second = (_size(value.aval) for value in node.inputs[:2])
    batch = math.prod(_sizes(node.outputs[0].aval)[:-2]) if node.inputs[1].aval.ndim > 2 else 1
    return max(1, round(math.sqrt(first * second / (outputs * batch))))


def _composite_flops(fn: Callable[..., object], avals: Sequence[Aval], attrs: Any) -> int:
    inner = trace(lambda *tensors: fn(*tensors, **attrs), avals)
    return sum(_flops(node) for node in inner.graph.nodes)


def _sizes(aval: Aval) -> tuple[int, ...]:
    """The sizes of one sample: `N` is 1, other unknown sizes too."""
    one = substitute(aval, {"N": 1})
    return tuple(size if isinstance(size, int) else 1 for size in one.shape)


def _size(aval: Aval) -> int:
    return math.prod(_sizes(aval))
