"""Composite ops replaced by the ops that they are made of.

The first step of `simplify.py`. Ops with kernels of their own stay as they are.
"""

from __future__ import annotations

from ..ops.registry import OPS, Composite
from ..tensor import Tensor
from .graph import Graph, Node, Value, all_values
from .native_families import native_op
from .trace import Trace, tracing
from .traced import Traced
from .widening import widened, widens


def expand(graph: Graph) -> Graph:
    """Replace every composite op by the ops it is made of."""
    if not any(_expands(node) for node in graph.nodes):
        return graph
    builder = Trace()
    builder.constants = dict(graph.constants)
    builder.count_from(1 + max((v.index for v in all_values(graph)), default=0))
    moved: dict[Value, Value] = {}
    for node in graph.nodes:
        inputs = tuple(resolve(moved, v) for v in node.inputs)
        _expand_node(builder, node, inputs, moved)
    if builder.captured:
        names = ", ".join(str(t) for t, _ in builder.captured.values())
        raise ValueError(f"a composite op read a tensor from outside its arguments: {names}")
    outputs = tuple(resolve(moved, v) for v in graph.outputs)
    return Graph(graph.inputs, tuple(builder.nodes), outputs, builder.constants)


def _expand_node(
    builder: Trace, node: Node, inputs: tuple[Value, ...], moved: dict[Value, Value]
) -> None:
    lowering = node.op.lowering
    if not _expands(node):
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        builder.nodes.append(
            node if same else Node(node.op, inputs, node.outputs, node.attrs, node.origin)
        )
        return
    first = len(builder.nodes)
    with tracing(builder):
        tensors = [Traced(builder, v) for v in inputs]
        if widens(node):
            result = widened(builder, node, tensors)
        elif isinstance(lowering, Composite):
            result = lowering.fn(*tensors, **node.attributes)
        else:
            bias: Tensor = tensors[2]
            if node.op.name == "conv2d":
                bias = OPS["reshape"].function(bias, (1, -1, 1, 1))
            result = OPS["add"].function(builder.emit(node.op, tensors[:2], node.attributes), bias)
        results = result if isinstance(result, tuple) else (result,)
        values = [builder.value_of(t) for t in results]
    builder.frozen = False
    inner = builder.nodes[first:]
    del builder.nodes[first:]
    for made in inner:
        outputs = tuple(Value(v.index, v.aval, node.origin) for v in made.outputs)
        moved.update(zip(made.outputs, outputs, strict=True))
        made_inputs = tuple(resolve(moved, v) for v in made.inputs)
        relocated = Node(made.op, made_inputs, outputs, made.attrs, node.origin)
        _expand_node(builder, relocated, made_inputs, moved)
    for old, new in zip(node.outputs, values, strict=True):
        if old.aval != new.aval:
            raise ValueError(f"{node.op.name} expands to {new.aval}, its rule says {old.aval}")
        moved[old] = resolve(moved, new)


def _expands(node: Node) -> bool:
    """Return whether a node is made of others: a composite without kernels of its
    own, a layer with its bias, or what is wider inside.
    """
    if widens(node):
        return True
    biased = node.op.name in ("dense", "conv2d") and len(node.inputs) == 3
    return biased or (isinstance(node.op.lowering, Composite) and native_op(node) is None)


def resolve(moved: dict[Value, Value], value: Value) -> Value:
    """Return what a value has become, however often it moved."""
    while value in moved and moved[value] is not value:
        value = moved[value]
    return value
