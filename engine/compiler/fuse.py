"""Fusion: the nodes of a graph gathered into groups that become one kernel each.

Groups stay *convex*: no path leaves a group and comes back (``dependences.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ...kernels.loops import LoopError, Var
from ..ops.registry import Gemm, Host, Op, Pointwise, Reduce, View
from .access import Access, access_of, view_access
from .cost import repeats_much
from .dependences import Dependences
from .gemm import gemm_shape, operand
from .graph import Graph, Node, Value, all_values
from .native_families import native_op, reads_in_place
from .pointwise import BUILDER, compute_dtype
from .space import NONE, Space, make_space, staged

MAX_OPS = 64
"""Nodes of one kernel at the most."""
MAX_BUFFERS = 24
"""Arrays that one kernel reads and writes at the most."""
MAX_REDUCTIONS = 8
"""Reductions of one kernel at the most: each keeps a register of sums."""
NEAR = 8
"""How many of the next groups that read the same value are tried as partners of a group."""
REDUCTIONS = ("sum", "prod", "max", "min")
"""Kinds of reductions that loops compute."""
COPY = Op(
    "copy",
    ("input",),
    {},
    "array",
    lambda aval: aval,
    lambda array: array.copy(),
    None,
    Pointwise(lambda b, x: x),
    "Copy",
    "Copy a strided view into memory of its own.",
    lambda tensor: ((tensor,), {}),
)


@dataclass(slots=True)
class Group:
    """Nodes that run as one step: a loop kernel, a gemm with its epilogue, an op with kernels of
    its own or a host call.

    The first node of a gemm group is the contraction; the others are in program order.
    """

    kind: str
    nodes: list[Node]
    number: int
    space: Space | None = None
    reason: str = ""

    @property
    def outputs(self) -> list[Value]:
        """Everything the group computes."""
        return [v for node in self.nodes for v in node.outputs]


@dataclass(slots=True)
class Fusion:
    """A graph's groups in execution order, and the views that are read in place."""

    graph: Graph
    groups: list[Group]
    accesses: dict[Value, Access] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(
            f"{g.number} {g.kind}: {', '.join(n.op.name for n in g.nodes)}" for g in self.groups
        )


def why_host(node: Node) -> str:
    """Return why a node must run its NumPy kernel, or an empty string if it need not."""
    lowering = node.op.lowering
    if isinstance(lowering, Host):
        return lowering.reason
    if len(node.outputs) != 1:
        return f"{node.op.name} has several outputs"
    if any(0 in v.sizes for v in (*node.inputs, *node.outputs)):
        return "an empty tensor"
    if isinstance(lowering, Reduce):
        kind = node.outputs[0].aval.dtype.numpy.kind
        if lowering.kind not in REDUCTIONS:
            return f"no native reduction {lowering.kind!r}"
        if kind == "b":
            return f"the {lowering.kind} of truth values"
        if node.inputs[0].aval.dtype != node.outputs[0].aval.dtype:
            return "a reduction that changes the dtype"
    if isinstance(lowering, Pointwise):
        dtypes = tuple(str(compute_dtype(value)) for value in node.inputs)
        return _no_expression(node.op, dtypes, node.attrs)
    return ""


@lru_cache(1024)
def _no_expression(op: Op, dtypes: tuple[str, ...], attrs: tuple[tuple[str, object], ...]) -> str:
    """Return why a pointwise op has no expression for these dtypes; empty where it has."""
    lowering = op.lowering
    assert isinstance(lowering, Pointwise)
    arguments = [Var(f"x{at}", np.dtype(dtype)) for at, dtype in enumerate(dtypes)]
    try:
        lowering.expr(BUILDER, *arguments, **dict(attrs))
    except (LoopError, NotImplementedError) as error:
        return str(error)
    return ""


class Fuser:
    """State of one fusion: which group each node is in.

    What reads a value of ``apart`` is not fused with what makes it. The nodes of ``late`` belong
    to what reads them, not to what they read.
    """

    def __init__(
        self, graph: Graph, apart: Iterable[Value] = (), late: Collection[Node] = ()
    ) -> None:
        self.graph = graph
        self.late = late
        self.kept = set(graph.outputs)
        self.apart = set(apart)
        self.producer = {v: node for node in graph.nodes for v in node.outputs}
        self.group_of: dict[Node, int] = {}
        self.groups: dict[int, Group] = {}
        self.readers: dict[Value, list[Node]] = {}
        for node in graph.nodes:
            for value in node.inputs:
                self.readers.setdefault(value, []).append(node)
        self.position: dict[Node, float] = {node: i for i, node in enumerate(graph.nodes)}
        self.dependences = Dependences()
        self.accesses: dict[Value, Access] = {}
        self.count = 0
        self.fresh = max((v.index for v in all_values(graph)), default=0)

    def run(self) -> Fusion:
        """Group all nodes."""
        for node in self.graph.nodes:
            self._place(node)
        self._merge_left()
        self._merge_siblings()
        return Fusion(self.graph, self._ordered(), self.accesses)

    def _place(self, node: Node) -> None:
        reason = why_host(node)
        if native_op(node) is not None:
            self._add(Group("native", [node], 0))
        elif reason:
            self._add(Group("host", [node], 0, reason=reason))
        elif isinstance(node.op.lowering, Gemm):
            self._add(Group("gemm", [node], 0))
        elif isinstance(node.op.lowering, View):
            self._place_view(node)
        else:
            self._place_loop(node)

    def _place_view(self, node: Node) -> None:
        """Keep a view inside its producer's kernel, else read it in place, else copy it."""
        source, output = node.inputs[0], node.outputs[0]
        maker = self._maker(source)
        inside = maker is not None and source not in self.accesses and not self._is_absorbed(node)
        if inside and maker is not None and self.groups[maker].kind == "loop":
            alone = self._add(Group("loop", [node], 0))
            if self._try_merge([maker, alone.number]):
                return
            self.dependences.remove(alone.number)
            del self.groups[alone.number], self.group_of[node]
        access = view_access(node, self._access(source))
        if access is None and source in self.accesses:
            copied = self._copy(source, Value(self._fresh(), source.aval, source.origin), node)
            access = view_access(node, self._access(copied))
        if access is None:
            self._add(Group("host", [node], 0, reason=f"{node.op.name} rearranges its elements"))
            return
        self.accesses[output] = access
        if output in self.kept or any(
            not self._reads(r, access, output) for r in self.readers.get(output, ())
        ):
            del self.accesses[output]
            strided = Value(self._fresh(), output.aval, output.origin)
            self.accesses[strided] = access
            self._copy(strided, output, node)

    def _is_absorbed(self, node: Node) -> bool:
        """Return whether only products read a view, and as it lies: none needs it written out."""
        readers, output = self.readers.get(node.outputs[0], ()), node.outputs[0]
        if output in self.kept or not all(isinstance(r.op.lowering, Gemm) for r in readers):
            return False
        access = view_access(node, self._access(node.inputs[0]))
        return access is not None and operand(output, access) is not None

    @staticmethod
    def _reads(reader: Node, access: Access, value: Value) -> bool:
        """Return whether a node can read a view in place."""
        if isinstance(reader.op.lowering, Gemm):
            return operand(value, access) is not None
        return reads_in_place(reader, value, access)

    def _fresh(self) -> int:
        self.fresh += 1
        return self.fresh

    def _copy(self, strided: Value, output: Value, view: Node) -> Value:
        """Add a kernel that copies a strided view into memory of its own, before what reads it."""
        node = Node(COPY, (strided,), (output,), (), output.origin)
        self.position[node] = self.position[view] + (0.5 if output in view.outputs else 0.25)
        self.producer[output] = node
        self.readers.setdefault(strided, []).append(node)
        base = self.accesses[strided].base
        self.readers.setdefault(base, []).append(node)
        self.kept.add(output)
        self._place_loop(node)
        return output

    def _add(self, group: Group) -> Group:
        group.number = self.count
        self.count += 1
        self.groups[group.number] = group
        for node in group.nodes:
            self.group_of[node] = group.number
        makers = [self._maker(value) for node in group.nodes for value in node.inputs]
        needs = [number for number in makers if number is not None]
        self.dependences.add(group.number, needs, self.position[group.nodes[0]])
        return group

    def _maker(self, value: Value) -> int | None:
        """Return the group that computes the memory of ``value``, None for inputs."""
        access = self.accesses.get(value)
        producer = self.producer.get(value if access is None else access.base)
        return None if producer is None else self.group_of[producer]

    def _place_loop(self, node: Node) -> None:
        """Merge a node with its producers' groups where one kernel can do all."""
        makers: list[int] = []
        for value in node.inputs:
            number = self._maker(value)
            if number is None or number in makers or not self._joins(number):
                continue
            if node not in self.late or self._is_late(number):
                makers.append(number)
        alone = self._add(Group("loop", [node], 0))
        if len(makers) > 1 and self._try_merge([*makers, alone.number]):
            return
        for number in sorted(makers, reverse=True):
            self._try_merge([number, self.group_of[node]])
        if alone.number in self.groups and alone.space is None:
            alone.space = self._space([node])
            if alone.space is None:
                alone.kind = "host"
                alone.reason = f"{node.op.name} has no loop form for these shapes"

    def _joins(self, number: int) -> bool:
        group = self.groups[number]
        return group.kind in ("loop", "gemm") or self._may_end(group)

    @staticmethod
    def _may_end(group: Group) -> bool:
        native = native_op(group.nodes[0]) if group.kind == "native" else None
        return native is not None and native.ends is not None

    def _try_merge(self, numbers: Sequence[int]) -> bool:
        """Merge groups into the first one if that is convex and one kernel can do it."""
        parts = [self.groups[n] for n in numbers]
        if sum(len(part.nodes) for part in parts) > MAX_OPS or not self.dependences.convex(numbers):
            return False
        nodes = sorted((n for p in parts for n in p.nodes), key=self.position.__getitem__)
        gemms = [p for p in parts if p.kind == "gemm"]
        natives = [p for p in parts if p.kind == "native"]
        space = None
        if natives:
            first = natives[0].nodes[0]
            nodes = [first, *(node for node in nodes if node is not first)]
            if gemms or len(natives) > 1 or not self._ends(nodes):
                return False
        elif gemms:
            space = self._epilogue(gemms, nodes)
            gemm = gemms[0].nodes[0]
            nodes = [gemm, *(node for node in nodes if node is not gemm)]
        else:
            space = self._space(nodes)
        if space is None and not natives:
            return False
        merged = parts[0]
        merged.nodes, merged.space = nodes, space
        merged.kind = "native" if natives else "gemm" if gemms else "loop"
        for part in parts[1:]:
            del self.groups[part.number]
        for node in nodes:
            self.group_of[node] = merged.number
        self.dependences.merge(numbers)
        return True

    def _ends(self, nodes: Sequence[Node]) -> bool:
        """Return whether the first node's kernel can end with the others, which alone read it."""
        native, made = native_op(nodes[0]), {v for node in nodes for v in node.outputs}
        inside = set(nodes)
        for node in nodes[:-1]:
            for value in node.outputs:
                if value in self.kept | self.apart:
                    return False
                if any(reader not in inside for reader in self.readers.get(value, ())):
                    return False
        outer = [v for node in nodes for v in node.inputs if v not in made]
        if any(self._access(value).base in made for value in outer):
            return False
        return native is not None and native.ends is not None and native.ends(nodes, self._access)

    def _epilogue(self, gemms: Sequence[Group], nodes: Sequence[Node]) -> Space | None:
        """Return the space of what follows a gemm, if it can be done row by row after it."""
        gemm = gemms[0].nodes[0]
        product = gemm.outputs[0]
        rest = [node for node in nodes if node is not gemm]
        made = {v for node in rest for v in node.outputs}
        early = any(self._access(v).base in made for v in gemm.inputs)
        if len(gemms) > 1 or early or product in self.apart or not gemm_shape(gemm):
            return None
        space = self._space(rest, by_rows=True)
        if space is None or product not in space.leaves or space.sinks:
            return None
        if product in self.kept or any(r not in nodes for r in self.readers.get(product, ())):
            return None
        rows = [c for c in space.axes[product] if c != NONE]
        if len(rows) != 2 or space.leading != rows[0] or len(space.extents) != 2:
            return None
        if space.axes[product][-1] != rows[1] or rows[1] != space.vector:
            return None
        if rows[0] not in space.outer[:1]:
            return None
        first = all(
            next(c for c in axes if c != NONE) == rows[0]
            for axes in space.axes.values()
            if rows[0] in axes
        )
        return space if first else None

    def _space(self, nodes: Sequence[Node], *, by_rows: bool = False) -> Space | None:
        """Return the iteration space of a candidate group within the caps."""
        if len(nodes) > MAX_OPS:
            return None
        made = {v for node in nodes for v in node.outputs}
        if self.apart and any(v in made and v in self.apart for n in nodes for v in n.inputs):
            return None
        leaves = {v: self._access(v) for node in nodes for v in node.inputs if v not in made}
        if any(access.base in made for access in leaves.values()):
            return None
        space = make_space(nodes, leaves, by_rows=by_rows)
        if space is None:
            return None
        stored = self.stored(space)
        reductions = sum(isinstance(node.op.lowering, Reduce) for node in nodes)
        if len(space.leaves) + len(stored) > MAX_BUFFERS or reductions > MAX_REDUCTIONS:
            return None
        if not storable(space, stored) or staged(space, stored) is None:
            return None
        return None if repeats_much(space) else space

    def _access(self, value: Value) -> Access:
        return access_of(value, self.accesses)

    def is_read(self, value: Value) -> bool:
        """Return whether a node reads a value, or the graph returns it."""
        return value in self.kept or value in self.readers

    def stored(self, space: Space) -> list[Value]:
        """Return the values of a group that something outside it needs."""
        inside = set(space.nodes)
        return [
            v
            for node in space.nodes
            for v in node.outputs
            if v in self.kept or any(r not in inside for r in self.readers.get(v, ()))
        ]

    def _is_late(self, number: int) -> bool:
        return all(node in self.late for node in self.groups[number].nodes)

    def _merge_left(self) -> None:
        """Let what belongs to its readers join what it reads where no reader could take it."""
        for number in [n for n in self.groups if self.late and self._is_late(n)]:
            values = [v for node in self.groups[number].nodes for v in node.inputs]
            makers = {self._maker(value) for value in values} - {None, number}
            for maker in makers:
                if maker is not None and self._joins(maker) and number in self.groups:
                    self._try_merge([maker, number])

    def _merge_siblings(self) -> None:
        """Merge groups that read the same large value and can share a kernel."""
        by_leaf: dict[Value, list[int]] = {}
        for group in list(self.groups.values()):
            if group.kind == "loop" and group.space is not None:
                for value in group.space.leaves:
                    if len(value.aval.shape) > 1:
                        by_leaf.setdefault(value, []).append(group.number)
        for numbers in by_leaf.values():
            for i, first in enumerate(numbers):
                for second in numbers[i + 1 : i + 1 + NEAR]:
                    if first in self.groups and second in self.groups and first != second:
                        self._try_merge([first, second])

    def _ordered(self) -> list[Group]:
        """Return the groups so that each comes after those it needs, else in program order."""
        last = {number: self.position[g.nodes[-1]] for number, g in self.groups.items()}
        return [self.groups[number] for number in self.dependences.ordered(last)]


def storable(space: Space, stored: Sequence[Value]) -> bool:
    """Return whether every value needed outside moves with the loops that compute it."""
    for value in stored:
        classes = space.classes(value)
        if value in space.tail:
            continue
        in_vector = space.is_inner(value) if space.row_schedule else bool(space.outer)
        if in_vector and space.vector not in classes:
            return False
    return True
