"""Simplification of a graph: composites expanded, constants folded, duplicates and dead code gone.

Every rewrite keeps the numbers bit for bit, NaN, infinities and signed zeros included: ``x + 0``
stays (it turns -0 into 0), ``x - 0`` and ``x * 1`` go.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ops.registry import Op, Pointwise
from .algebra import rules_of
from .constants import Constants
from .expansion import expand, resolve
from .graph import Graph, Node, Value, all_values, freeze_attrs, infer_outputs

COMMUTATIVE = frozenset(
    ("add", "mul", "equal", "not_equal", "logical_and", "logical_or", "logical_xor",
     "bitwise_and", "bitwise_or", "bitwise_xor")
)  # fmt: skip
"""Ops whose operands may change places. Not maximum and minimum, which tell 0 from -0 by place."""


def simplify(graph: Graph, expanded: Callable[[Graph], Graph] = lambda graph: graph) -> Graph:
    """Return an equal graph without composites, constant work, duplicates and dead nodes.

    ``expanded`` may change the graph without composites before the rest is done.
    """
    return eliminate_dead(rewrite(expanded(expand(graph))))


def rewrite(graph: Graph) -> Graph:
    """Fold constants, apply the algebra and share equal nodes, in one walk."""
    walk = Rewriter(graph)
    for node in graph.nodes:
        walk.visit(node)
    outputs = tuple(resolve(walk.moved, v) for v in graph.outputs)
    return Graph(graph.inputs, tuple(walk.nodes), outputs, walk.constants.arrays)


class Rewriter:
    """State of one rewriting walk: what each value has become.

    It is also what the rules of the algebra look at and write with.
    """

    def __init__(self, graph: Graph) -> None:
        self.nodes: list[Node] = []
        self.moved: dict[Value, Value] = {}
        self.constants = Constants()
        self.producers: dict[Value, Node] = {}
        self.seen: dict[object, Node] = {}
        self.count = 1 + max((v.index for v in all_values(graph)), default=0)
        for value, array in graph.constants.items():
            self._become(value, self.constants.keep(value, array))

    def _become(self, value: Value, other: Value) -> None:
        if value is not other:
            self.moved[value] = other

    # -- what rules ask and write -------------------------------------------------------------

    def producer(self, value: Value, *names: str) -> Node | None:
        """Return the node that makes ``value`` if its op has one of these names."""
        node = self.producers.get(value)
        return node if node is not None and node.op.name in names else None

    def uniform(self, value: Value) -> float | int | bool | None:
        """Return the one number that all elements of a value are known to be, if there is one."""
        return self.constants.uniform.get(value)

    def emit(self, op: Op, inputs: tuple[Value, ...], like: Node, **attrs: object) -> Value:
        """Add a node with one output in the place of ``like``; return what it became."""
        (aval,) = infer_outputs(op, [v.aval for v in inputs], attrs)
        output = Value(self.count, aval, like.outputs[0].origin)
        self.count += 1
        self.visit(Node(op, inputs, (output,), freeze_attrs(attrs), like.origin))
        return resolve(self.moved, output)

    # -- the walk -----------------------------------------------------------------------------

    def visit(self, node: Node) -> None:
        """Keep, replace or drop one node."""
        inputs = tuple(resolve(self.moved, v) for v in node.inputs)
        node = Node(node.op, inputs, node.outputs, node.attrs, node.origin)
        folded = self.constants.fold(node)
        if folded is not None:
            for value, other in zip(node.outputs, folded, strict=True):
                self._become(value, other)
            return
        for rule in rules_of(node):
            same = rule(self, node)
            if same is not None:
                self.moved[node.outputs[0]] = same
                return
        key = _key(node)
        twin = self.seen.get(key)
        if twin is not None:
            self.moved.update(zip(node.outputs, twin.outputs, strict=True))
            return
        self.seen[key] = node
        self.nodes.append(node)
        for value in node.outputs:
            self.producers[value] = node


def _key(node: Node) -> object:
    """Return what equal nodes have in common."""
    inputs: object = node.inputs
    if node.op.name in COMMUTATIVE and isinstance(node.op.lowering, Pointwise):
        inputs = frozenset(node.inputs)
    return node.op.name, inputs, node.attrs


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
