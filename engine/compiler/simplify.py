"""Simplification of a graph: composites expanded, constants folded, duplicates and dead code gone.

Every rewrite keeps the numbers bit for bit, NaN, infinities and signed zeros included: ``x + 0``
stays (it turns -0 into 0), ``x - 0`` and ``x * 1`` go.
"""

from __future__ import annotations

import math

import numpy as np

from ..ops.registry import OPS, Composite, Host, Reduce, View
from ..tensor import Tensor
from .graph import Graph, Node, Value, run_node
from .trace import Trace, tracing
from .traced import Traced

FOLD_ELEMENTS = 4096
"""Constants larger than this are computed when the plan runs."""


def simplify(graph: Graph) -> Graph:
    """Return an equal graph without composites, constant work, duplicates and dead nodes."""
    graph = expand(graph)
    return eliminate_dead(rewrite(graph))


def expand(graph: Graph) -> Graph:
    """Replace every composite op by the ops it is made of."""
    if not any(_expands(node) for node in graph.nodes):
        return graph
    builder = Trace()
    builder.constants = dict(graph.constants)
    builder.count_from(1 + max((v.index for v in all_values(graph)), default=0))
    moved: dict[Value, Value] = {}
    for node in graph.nodes:
        inputs = tuple(_resolve(moved, v) for v in node.inputs)
        _expand_node(builder, node, inputs, moved)
    if builder.captured:
        names = ", ".join(str(t) for t, _ in builder.captured.values())
        raise ValueError(f"a composite op read a tensor from outside its arguments: {names}")
    outputs = tuple(_resolve(moved, v) for v in graph.outputs)
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
        if isinstance(lowering, Composite):
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
        made_inputs = tuple(_resolve(moved, v) for v in made.inputs)
        relocated = Node(made.op, made_inputs, outputs, made.attrs, node.origin)
        _expand_node(builder, relocated, made_inputs, moved)
    for old, new in zip(node.outputs, values, strict=True):
        if old.aval != new.aval:
            raise ValueError(f"{node.op.name} expands to {new.aval}, its rule says {old.aval}")
        moved[old] = _resolve(moved, new)


def _expands(node: Node) -> bool:
    """Return whether a node is made of others: a composite, or a layer with its bias."""
    biased = node.op.name in ("dense", "conv2d") and len(node.inputs) == 3
    return biased or isinstance(node.op.lowering, Composite)


def _resolve(moved: dict[Value, Value], value: Value) -> Value:
    while value in moved and moved[value] is not value:
        value = moved[value]
    return value


def all_values(graph: Graph) -> list[Value]:
    """Return every value of the graph."""
    values = [*graph.inputs, *graph.constants]
    for node in graph.nodes:
        values.extend(node.outputs)
    return values


def rewrite(graph: Graph) -> Graph:
    """Fold constants, apply the algebra and share equal nodes, in one walk."""
    walk = Rewriter(graph)
    for node in graph.nodes:
        walk.visit(node)
    return Graph(
        graph.inputs,
        tuple(walk.nodes),
        tuple(_resolve(walk.moved, v) for v in graph.outputs),
        walk.constants,
    )


class Rewriter:
    """State of one rewriting walk: what each value has become."""

    def __init__(self, graph: Graph) -> None:
        self.constants: dict[Value, np.ndarray] = {}
        self.nodes: list[Node] = []
        self.moved: dict[Value, Value] = {}
        self.known: dict[object, Value] = {}
        self.uniform: dict[Value, float | int | bool] = {}
        self.producer: dict[Value, Node] = {}
        self.seen: dict[object, Node] = {}
        for value, array in graph.constants.items():
            self._keep_constant(value, array)

    def _keep_constant(self, value: Value, array: np.ndarray) -> None:
        """Add a constant, or let an equal one stand for it."""
        key = (array.dtype.str, array.shape, array.tobytes())
        twin = self.known.setdefault(key, value)
        if twin is not value:
            self.moved[value] = twin
            return
        self.constants[value] = array
        if array.size and (array.size == 1 or (array == array.flat[0]).all()):
            self.uniform[value] = array.flat[0].item()

    def visit(self, node: Node) -> None:
        """Keep, replace or drop one node."""
        inputs = tuple(_resolve(self.moved, v) for v in node.inputs)
        node = Node(node.op, inputs, node.outputs, node.attrs, node.origin)
        if self._fold(node):
            return
        same = self._algebra(node)
        if same is not None:
            self.moved[node.outputs[0]] = same
            return
        node = self._shorten(node)
        key = (node.op.name, node.inputs, node.attrs)
        twin = self.seen.get(key)
        if twin is not None:
            self.moved.update(zip(node.outputs, twin.outputs, strict=True))
            return
        self.seen[key] = node
        self.nodes.append(node)
        for value in node.outputs:
            self.producer[value] = node

    def _fold(self, node: Node) -> bool:
        lowering = node.op.lowering
        if isinstance(lowering, Host) and (node.inputs or node.op.category == "random"):
            return False
        filled = FILLS.get(node.op.name)
        if node.op.name == "full":
            self.uniform[node.outputs[0]] = node.attributes["fill_value"]  # pyright: ignore[reportArgumentType]
        if filled is not None:
            self.uniform[node.outputs[0]] = filled
        elif isinstance(lowering, View) and node.inputs[0] in self.uniform:
            self.uniform[node.outputs[0]] = self.uniform[node.inputs[0]]
        if sum(math.prod(v.sizes) for v in node.outputs) > FOLD_ELEMENTS:
            return False
        if filled is not None:
            output = node.outputs[0]
            array = np.full(output.sizes, filled, output.aval.dtype.numpy)
            self._keep_constant(output, array)
            return True
        if not all(v in self.constants for v in node.inputs):
            return False
        results = run_node(node, [self.constants[v] for v in node.inputs])
        for value, array in zip(node.outputs, results, strict=True):
            self._keep_constant(value, np.ascontiguousarray(array).reshape(array.shape))
        return True

    def _algebra(self, node: Node) -> Value | None:
        """Return the value that the node's only output equals, if there is one."""
        if len(node.outputs) != 1:
            return None
        rule = IDENTITIES.get(node.op.name)
        if rule is not None and len(node.inputs) == 2:
            for position in rule.positions:
                kept = node.inputs[1 - position]
                neutral = self.uniform.get(node.inputs[position])
                if neutral is None or kept.aval != node.outputs[0].aval:
                    continue
                if rule.holds(neutral, kept.aval.dtype.is_float):
                    return kept
        lowering = node.op.lowering
        if isinstance(lowering, View) and len(node.inputs) == 1:
            return self._same_view(node)
        if node.op.name == "cast" and node.inputs[0].aval == node.outputs[0].aval:
            return node.inputs[0]
        if node.op.name == "neg":
            inner = self.producer.get(node.inputs[0])
            return inner.inputs[0] if inner is not None and inner.op.name == "neg" else None
        if isinstance(lowering, Reduce) and node.inputs[0].aval == node.outputs[0].aval:
            axes = node.attributes.get("axis")
            if axes == () or not node.inputs[0].aval.shape:
                return node.inputs[0]
        return None

    def _same_view(self, node: Node) -> Value | None:
        source = node.inputs[0]
        if source.aval != node.outputs[0].aval:
            return None
        if node.op.name in SHAPE_ONLY:
            return source
        order = node.attributes.get(TRANSPOSE_ATTR) if node.op.name == "transpose" else None
        if isinstance(order, tuple) and list(order) == list(range(len(order))):
            return source
        return None

    def _shorten(self, node: Node) -> Node:
        """Skip a reshape below a reshape: only the last shape matters."""
        if node.op.name != "reshape":
            return node
        inner = self.producer.get(node.inputs[0])
        if inner is None or inner.op.name not in RESHAPES:
            return node
        return Node(node.op, (inner.inputs[0],), node.outputs, node.attrs, node.origin)


class Identity:
    """An op with a neutral operand: where it may stand and what it must be."""

    def __init__(self, positions: tuple[int, ...], neutral: float, sign: float | None) -> None:
        self.positions = positions
        self.neutral = neutral
        self.sign = sign

    def holds(self, value: float, is_float: bool) -> bool:
        """Return whether ``value`` leaves every other operand as it is, -0 included."""
        if value != self.neutral or isinstance(value, bool):
            return False
        return not is_float or self.sign is None or np.copysign(1.0, value) == self.sign


IDENTITIES = {
    "add": Identity((0, 1), 0, -1.0),
    "sub": Identity((1,), 0, 1.0),
    "mul": Identity((0, 1), 1, None),
    "div": Identity((1,), 1, None),
}
FILLS = {"zeros_like": 0, "ones_like": 1}
RESHAPES = ("reshape", "squeeze", "expand_dims", "flatten")
SHAPE_ONLY = (*RESHAPES, "broadcast_to")
TRANSPOSE_ATTR = "axes"


def eliminate_dead(graph: Graph) -> Graph:
    """Drop the nodes and constants that no output needs."""
    needed = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(v in needed for v in node.outputs):
            kept.append(node)
            needed.update(node.inputs)
    constants = {v: a for v, a in graph.constants.items() if v in needed}
    return Graph(graph.inputs, tuple(reversed(kept)), graph.outputs, constants)
