"""Recomputing: what a later kernel can compute anew from values in memory is not kept for it.

The backward part of a training step reads much that its forward part made. For each such value the
cheapest set of values to keep is sought, from itself down towards the inputs through cheap ops
alone: it may be nothing at all (a mask from an activation that a product needs anyway), or a
narrower value (a mask as one byte an element). As in Chen et al., Training deep nets with sublinear
memory cost, 2016, but only where no product, reduction or transcendental function is repeated.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from ..ops.registry import Gemm, Host, View
from ..shape import comparable
from .graph import Graph, Node, Value, all_values
from .native_families import native_op
from .simplify import eliminate_dead

CHEAP = frozenset(
    ("cast", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and",
     "logical_or", "logical_not", "isnan", "isinf", "isfinite", "select", "neg", "abs", "sign",
     "square", "add", "sub", "mul", "maximum", "minimum", "clamp", "relu", "leaky_relu", "relu6",
     "hardtanh", "threshold")
)  # fmt: skip
"""Ops of an instruction or two an element, which cost less than a load from beyond the cache."""
MOST_OPS = 6
"""How many ops are repeated at most for one value."""
SOON = 2
"""How many steps longer a value may stay in memory for nothing: they are reordered anyway."""
SMALLEST = 2048
"""Bytes from which a value is worth the search."""


def recompute(graph: Graph, written: Collection[Value] = ()) -> tuple[Graph, frozenset[Node]]:
    """Return an equal graph in which cheap values are computed again where they are read late.

    The second result are the nodes that do so. ``written`` are the inputs whose memory the plan
    writes; nothing is made to read them later.
    """
    return _Search(graph, written).run()


def recompute_after(graph: Graph, forward: int) -> Graph:
    """Return an equal graph whose nodes from ``forward`` on read less of what those before give.

    The first part runs long before the second, which may read results of the graph and those of
    its inputs that it reads already: others may hold something else by then. Where nobody answers
    for symbols among the sizes, nothing can be weighed and the graph stays as it is.
    """
    if not all(comparable(*v.aval.shape) for v in all_values(graph)):
        return graph
    late = {v for node in graph.nodes[forward:] for v in node.inputs}
    search = _Search(graph, [v for v in graph.inputs if v not in late])
    search.level = [int(place >= forward) for place in range(len(graph.nodes))]
    search.apart, search.steps = [False] * len(graph.nodes), [0] * len(search.steps)
    search.stored = set(graph.outputs)
    return search.run()[0]


@dataclass(slots=True)
class _Again:
    """One value to be computed again, before the reader at ``place``."""

    value: Value
    place: int
    nodes: list[Node]
    readers: set[int] = field(default_factory=set)


class _Search:
    """What is in memory and until when, and what has been decided."""

    def __init__(self, graph: Graph, written: Collection[Value]) -> None:
        self.graph = graph
        self.written = set(written)
        self.given = {*graph.inputs, *graph.constants}
        self.producer = {v: node for node in graph.nodes for v in node.outputs}
        self.place = {node: i for i, node in enumerate(graph.nodes)}
        self.readers: dict[Value, list[int]] = {}
        for i, node in enumerate(graph.nodes):
            for value in node.inputs:
                self.readers.setdefault(value, []).append(i)
        self.apart = [_runs_apart(node) for node in graph.nodes]
        self.steps = [0, *accumulate(self.apart), sum(self.apart)]
        self.level = self._levels()
        self.last: dict[Value, int] = {}
        for node in reversed(graph.nodes):
            self.last.update((value, self._last(value)) for value in node.outputs)
        self.last.update(dict.fromkeys(graph.outputs, len(graph.nodes)))
        self.stored = self._stored()
        self.again: list[_Again] = []

    def _levels(self) -> list[int]:
        """Return how many products, host steps and the like lie before each node, one by one.

        What depends on more of them than a value cannot be in one kernel with what makes it.
        """
        levels: list[int] = []
        for node in self.graph.nodes:
            makers = [self.place[p] for v in node.inputs if (p := self.producer.get(v))]
            levels.append(max((levels[m] + self.apart[m] for m in makers), default=0))
        return levels

    def _last(self, value: Value) -> int:
        """Return where a value is read last; what can be in its kernel reads it as it is made."""
        made = self.place[self.producer[value]]
        places = [made]
        for reader in self.readers.get(value, ()):
            node = self.graph.nodes[reader]
            if self.apart[reader] or self.level[reader] > self.level[made] + self.apart[made]:
                places.append(reader)
            elif isinstance(node.op.lowering, View):
                places.append(self.last[node.outputs[0]])
        return max(places)

    def _stored(self) -> set[Value]:
        """Return what is in memory anyway: read or made by a step of its own, or a result."""
        found = set(self.graph.outputs)
        for node, apart in zip(self.graph.nodes, self.apart, strict=True):
            if apart:
                found.update(map(self._under_views, node.inputs))
                if not isinstance(node.op.lowering, Gemm):
                    found.update(node.outputs)
        return found

    def _under_views(self, value: Value) -> Value:
        producer = self.producer.get(value)
        while producer is not None and isinstance(producer.op.lowering, View):
            value = producer.inputs[0]
            producer = self.producer.get(value)
        return value

    def run(self) -> tuple[Graph, frozenset[Node]]:
        """Decide on every value; return the graph and what is repeated in it."""
        for position, node in enumerate(self.graph.nodes):
            for value in node.outputs:
                self.decide(value, position)
        return self.rewritten() if self.again else (self.graph, frozenset())

    # -- decisions ----------------------------------------------------------------------------

    def decide(self, value: Value, made: int) -> None:
        """Find out whether a value is kept for its late readers, or what is kept instead."""
        level, late = self.level[made], self.readers.get(value, ())
        late = [r for r in late if self.level[r] > level and not self.apart[r]]
        if value in self.stored or not late:
            return
        cheap = self.graph.nodes[made].op.name in CHEAP and _bytes(value) >= SMALLEST
        kept, nodes = self._cheapest(value, late[-1]) if cheap else ({value}, [])
        for other in kept - self.given:
            self.stored.add(other)
            self.last[other] = max(self.last[other], late[-1])
        if not nodes:
            return
        by_level: dict[int, _Again] = {}
        for reader in late:
            found = by_level.get(self.level[reader])
            if found is None:
                found = by_level[self.level[reader]] = _Again(value, reader, nodes)
            found.readers.add(reader)
        self.again += by_level.values()

    def _cheapest(self, value: Value, until: int) -> tuple[set[Value], list[Node]]:
        """Return the values to keep until a place, and the ops that make ``value`` of them."""
        best, least = ({value}, list[Node]()), self._cost(value, until)
        front, nodes = {value}, list[Node]()
        while len(nodes) < MOST_OPS:
            costly = [v for v in front if self._cost(v, until) > 0 and self._repeats(v)]
            if not costly:
                break
            chosen = max(costly, key=lambda v: self.place[self.producer[v]])
            node = self.producer[chosen]
            front = (front - {chosen}) | set(node.inputs)
            nodes = [node, *nodes]
            cost = sum(self._cost(v, until) for v in front)
            if cost < least:
                best, least = (front, nodes), cost
        return best

    def _repeats(self, value: Value) -> bool:
        node = self.producer.get(value)
        return (
            node is not None
            and (node.op.name in CHEAP or isinstance(node.op.lowering, View))
            and value not in self.stored
        )

    def _cost(self, value: Value, until: int) -> float:
        """Return the bytes that keeping a value until a place takes, which it would not else."""
        if value in self.given:
            return math.inf if value in self.written else 0
        if value in self.stored:
            longer = self.steps[until] - self.steps[self.last[value]]
            return 0 if longer <= SOON else _bytes(value)
        return _bytes(value)

    # -- the new graph ------------------------------------------------------------------------

    def rewritten(self) -> tuple[Graph, frozenset[Node]]:
        """Return the graph with ops repeated before their late readers, and these ops."""
        graph = self.graph
        count = 1 + max((v.index for v in all_values(graph)), default=0)
        before: dict[int, list[Node]] = {}
        instead: dict[int, dict[Value, Value]] = {}
        for again in self.again:
            moved: dict[Value, Value] = {}
            for node in again.nodes:
                outputs = tuple(
                    Value(count + i, v.aval, v.origin) for i, v in enumerate(node.outputs)
                )
                count += len(outputs)
                before.setdefault(again.place, []).append(_with(node, moved, outputs))
                moved.update(zip(node.outputs, outputs, strict=True))
            for reader in again.readers:
                instead.setdefault(reader, {})[again.value] = moved[again.value]
        nodes: list[Node] = []
        for i, node in enumerate(graph.nodes):
            nodes += before.get(i, ())
            nodes.append(_with(node, instead[i], node.outputs) if i in instead else node)
        made = frozenset(node for repeated in before.values() for node in repeated)
        whole = Graph(graph.inputs, tuple(nodes), graph.outputs, graph.constants)
        return eliminate_dead(whole), made


def _with(node: Node, moved: Mapping[Value, Value], outputs: tuple[Value, ...]) -> Node:
    inputs = tuple(moved.get(v, v) for v in node.inputs)
    return Node(node.op, inputs, outputs, node.attrs, node.origin)


def _runs_apart(node: Node) -> bool:
    """Return whether a node is a step of its own, which reads and writes memory."""
    return isinstance(node.op.lowering, Gemm | Host) or native_op(node) is not None


def _bytes(value: Value) -> int:
    return math.prod(value.sizes) * value.aval.dtype.itemsize
