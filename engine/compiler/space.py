"""The iteration space that a set of nodes shares: which axes run together, and in which order.

Every axis of every value belongs to a *class*; classes are the loops of the kernel. Axes of
size 1 belong to none (class -1). A reduction splits the classes into the *outer* ones, which it
keeps, and the *inner* ones, over which it runs. Reductions over the outer classes instead are
*sinks*: their result is complete only when all rows are done, and what depends on it is *tail*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..ops.registry import Pointwise, Reduce
from .access import Access, natural_strides, view_access
from .graph import Node, Value, reduced_axes
from .parameters import alike

NONE = -1
"""The class of an axis of size 1, which is no loop."""
UNIT_VIEWS = ("reshape", "squeeze", "expand_dims", "flatten")
"""Views that a kernel computes in place where they only add or drop axes of size 1."""
SCRATCH_LIMIT = 128 * 1024
"""Bytes of all scratch rows of a kernel."""


@dataclass(slots=True)
class Space:
    """A legal iteration space for ``nodes``."""

    nodes: tuple[Node, ...]
    axes: dict[Value, tuple[int, ...]]
    extents: dict[int, int]
    outer: tuple[int, ...]
    inner: tuple[int, ...]
    vector: int
    leading: int
    leaves: dict[Value, Access]
    sinks: set[Value] = field(default_factory=set)
    tail: set[Value] = field(default_factory=set)
    time: dict[Value, int] = field(default_factory=dict)

    def classes(self, value: Value) -> set[int]:
        """Return the loops that ``value`` varies with."""
        return {c for c in self.axes[value] if c != NONE}

    def is_inner(self, value: Value) -> bool:
        """Return whether ``value`` lives in the inner loops."""
        return not self.classes(value).isdisjoint(self.inner)

    @property
    def row_size(self) -> int:
        """Number of elements of one row."""
        return math.prod(self.extents[c] for c in self.inner)

    @property
    def row_schedule(self) -> bool:
        """Whether the vectorised loop is an inner one."""
        return self.vector in self.inner


class _Unifier:
    """Union-find over axis classes."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        self.extent: list[int] = []

    def new(self, extent: int) -> int:
        self.parent.append(len(self.parent))
        self.extent.append(extent)
        return len(self.parent) - 1

    def find(self, axis: int) -> int:
        parent = self.parent
        while parent[axis] != axis:
            axis = parent[axis]
        return axis

    def join(self, a: int, b: int) -> bool:
        if a == b:
            return True
        a, b = self.find(a), self.find(b)
        if self.extent[a] != self.extent[b]:
            return False
        if a != b:
            self.parent[max(a, b)] = min(a, b)
        return True

    def axes_of(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple([NONE if size == 1 else self.new(size) for size in shape])


def make_space(
    nodes: Sequence[Node], leaves: dict[Value, Access], *, by_rows: bool = False
) -> Space | None:
    """Return the iteration space of ``nodes`` (in order), or None where they share none.

    ``leaves`` says how values from outside are read; it may hold more than is needed. With
    ``by_rows`` the last loop stays apart from those before it, so that rows can be run singly.
    """
    joined = _join_axes(nodes, leaves)
    if joined is None:
        return None
    axes, extents, used = joined
    full = _full_value(nodes, axes, used)
    if full is None:
        return None
    order = tuple(c for c in axes[full] if c != NONE)
    if len(set(order)) != len(order) or set(order) != set(extents):
        return None
    split = _split(nodes, axes, order)
    if split is None:
        return None
    inner, vector = split
    outer = tuple(c for c in order if c not in inner)
    space = Space(
        tuple(nodes),
        axes,
        extents,
        outer,
        inner,
        vector,
        order[0] if order else NONE,
        {v: leaves[v] for v in used},
    )
    return _collapse(space, by_rows) if _schedule(space) else None


def _join_axes(
    nodes: Sequence[Node], leaves: dict[Value, Access]
) -> tuple[dict[Value, tuple[int, ...]], dict[int, int], list[Value]] | None:
    union = _Unifier()
    axes: dict[Value, tuple[int, ...]] = {}
    used: list[Value] = []
    for node in nodes:
        for value in node.inputs:
            if value not in axes:
                if value not in leaves:
                    return None
                axes[value] = union.axes_of(value.sizes)
                used.append(value)
        output = node.outputs[0]
        lowering = node.op.lowering
        if isinstance(lowering, Pointwise):
            made = _join_broadcast(union, axes, node.inputs, output)
        elif isinstance(lowering, Reduce):
            made = _reduce_axes(node, axes)
        else:
            made = _view_axes(union, axes, node)
        if made is None:
            return None
        axes[output] = made
    final = [union.find(axis) for axis in range(len(union.parent))]
    final.append(NONE)  # which is the last one's place
    found = {v: tuple([final[a] for a in t]) for v, t in axes.items()}
    for classes in found.values():
        if len(classes) > 1:
            kept = [c for c in classes if c != NONE]
            if len(set(kept)) != len(kept):
                return None
    extents = {c: union.extent[c] for t in found.values() for c in t if c != NONE}
    return found, extents, used


def _join_broadcast(
    union: _Unifier,
    axes: dict[Value, tuple[int, ...]],
    inputs: Iterable[Value],
    output: Value,
) -> tuple[int, ...] | None:
    sizes = output.sizes
    made = [NONE] * len(sizes)
    for value in inputs:
        back = len(sizes) - len(axes[value])
        for axis in axes[value]:
            if axis != NONE:
                if made[back] == NONE:
                    made[back] = axis
                elif made[back] != axis and not union.join(made[back], axis):
                    return None
            back += 1
    for position, size in enumerate(sizes):
        if size != 1 and made[position] == NONE:
            made[position] = union.new(size)
    return tuple(made)


def _reduce_axes(node: Node, axes: dict[Value, tuple[int, ...]]) -> tuple[int, ...]:
    gone = reduced_axes(node)
    source = axes[node.inputs[0]]
    if node.attributes.get("keepdims"):
        return tuple(NONE if i in gone else c for i, c in enumerate(source))
    return tuple(c for i, c in enumerate(source) if i not in gone)


def _view_axes(
    union: _Unifier, axes: dict[Value, tuple[int, ...]], node: Node
) -> tuple[int, ...] | None:
    """Return the output's axes of a view of a value computed in the same kernel."""
    source, output = node.inputs[0], node.outputs[0]
    shape = output.sizes
    if node.op.name == "broadcast_to":
        return _join_broadcast(union, axes, node.inputs, output)
    before = [c for c in axes[source] if c != NONE]
    sizes = [d for d in source.sizes if d != 1]
    if node.op.name == "transpose":
        access = view_access(node, Access(source, natural_strides(source.sizes)))
        if access is None:
            return None
        by_stride = dict(zip(natural_strides(source.sizes), axes[source], strict=True))
        if len(by_stride) != len(shape):
            return None
        return tuple(by_stride[s] for s in access.strides)
    if sizes == [s for s in shape if s != 1] and node.op.name in UNIT_VIEWS:
        rest = iter(before)
        return tuple(NONE if s == 1 else next(rest) for s in shape)
    return None


def _full_value(
    nodes: Sequence[Node], axes: dict[Value, tuple[int, ...]], used: Sequence[Value]
) -> Value | None:
    """Return a value that varies with every loop; its axis order is the loops' order."""
    best: Value | None = None
    most = -1
    outputs = [node.outputs[0] for node in nodes]
    for value in (*used, *outputs):
        count = sum(c != NONE for c in axes[value])
        if count > most:
            best, most = value, count
    return best


def _split(
    nodes: Sequence[Node], axes: dict[Value, tuple[int, ...]], order: tuple[int, ...]
) -> tuple[tuple[int, ...], int] | None:
    """Choose the inner loops and the loop to vectorise."""
    sets: list[frozenset[int]] = []
    for node in nodes:
        if isinstance(node.op.lowering, Reduce):
            source = axes[node.inputs[0]]
            over = frozenset(source[i] for i in reduced_axes(node)) - {NONE}
            if over and over not in sets:
                sets.append(over)
    last = order[-1] if order else NONE
    rows = sorted((s for s in sets if last in s), key=len)
    if rows:
        chosen = rows[0]
    elif not sets:
        return (), last
    elif len(sets) == 1:
        chosen = sets[0]
    else:
        return None
    return tuple(c for c in order if c in chosen), last


def _schedule(space: Space) -> bool:
    """Give every value its time and find sinks and tail; return whether that is possible."""
    made = {node.outputs[0] for node in space.nodes}
    for value in space.leaves:
        space.time[value] = 0
    for node in space.nodes:
        output = node.outputs[0]
        tail = any(v in space.tail for v in node.inputs)
        if tail:
            if not _legal_tail(space, node, made):
                return False
            space.tail.add(output)
        time = max((space.time[v] for v in node.inputs), default=0)
        if isinstance(node.op.lowering, Reduce):
            kind = _reduce_place(space, node)
            if kind is None:
                return False
            if kind == "sink":
                space.sinks.add(output)
                space.tail.add(output)
            elif kind == "row":
                time += 1
        space.time[output] = time
    return True


def _legal_tail(space: Space, node: Node, made: set[Value]) -> bool:
    if isinstance(node.op.lowering, Reduce):
        return False
    return all(
        v in space.tail or (v not in made and space.classes(v) <= set(space.inner))
        for v in node.inputs
    )


def _reduce_place(space: Space, node: Node) -> str | None:
    """Return ``row``, ``sink`` or ``none`` (nothing to reduce), or None if it does not fit."""
    source = space.axes[node.inputs[0]]
    over = {source[i] for i in reduced_axes(node)} - {NONE}
    if not over:
        return "none"
    if over == set(space.inner):
        return "row"
    whole = set(space.outer)
    if not space.row_schedule or not whole:
        return None
    if over == whole and space.classes(node.outputs[0]) in (set(), set(space.inner)):
        return "sink"
    return None


def _collapse(space: Space, by_rows: bool) -> Space:
    """Merge neighbouring loops that every value runs through as one."""
    for group in ("outer", "inner"):
        position = 0
        while position + 1 < len(getattr(space, group)):
            loops = getattr(space, group)
            first, second = loops[position], loops[position + 1]
            if _mergeable(space, first, second) and not (by_rows and second == space.vector):
                _merge(space, group, loops[position], loops[position + 1])
            else:
                position += 1
    return space


def _mergeable(space: Space, first: int, second: int) -> bool:
    for value, classes in space.axes.items():
        present = (first in classes, second in classes)
        if present == (False, False):
            continue
        if present != (True, True):
            return False
        a, b = classes.index(first), classes.index(second)
        if a > b or any(c != NONE for c in classes[a + 1 : b]):
            return False
        access = space.leaves.get(value)
        if access is None:
            continue
        if not alike(access.strides[a], access.strides[b] * space.extents[second]):
            return False
    return True


def _merge(space: Space, group: str, first: int, second: int) -> None:
    """Let ``second`` stand for both loops; its axis keeps the stride of the faster one."""
    space.extents[second] *= space.extents.pop(first)
    setattr(space, group, tuple(c for c in getattr(space, group) if c != first))
    if space.leading == first:
        space.leading = second
    for value, classes in space.axes.items():
        space.axes[value] = tuple(NONE if c == first else c for c in classes)


def later_uses(space: Space) -> list[Value]:
    """Return the inner values that a later inner loop needs again, in order."""
    found: list[Value] = []
    for node in space.nodes:
        output = node.outputs[0]
        if output in space.tail or not space.is_inner(output):
            continue
        for value in node.inputs:
            again = space.is_inner(value) and space.time[value] < space.time[output]
            if again and value not in space.leaves and value not in found:
                found.append(value)
    return found


def staged(space: Space, stored: Sequence[Value]) -> list[Value] | None:
    """Return the values kept in scratch rows between loops; None if the space must not be used.

    What a maximum was taken of must not be computed a second time: contraction could make it
    exceed the maximum. So a space with a maximum is refused where a row does not fit.
    """
    again = [v for v in later_uses(space) if v not in stored]
    if not again:
        return []
    size = sum(space.row_size * v.aval.dtype.itemsize for v in again)
    if space.row_schedule and size <= SCRATCH_LIMIT:
        return again
    kinds = {n.op.lowering.kind for n in space.nodes if isinstance(n.op.lowering, Reduce)}
    return None if kinds & {"max", "min"} else []


def column_advance(space: Space, bases: Sequence[Value]) -> dict[Value, int] | None:
    """Return by how many bytes each buffer moves from one turn of the vector loop to the next.

    None where these turns depend on each other, or a buffer is read in several ways. ``bases`` are
    the values that are stored.
    """
    if space.row_schedule or space.sinks or space.tail:
        return None
    found: dict[Value, int] = {}
    for value in dict.fromkeys((*space.leaves, *bases)):
        access = space.leaves.get(value)
        strides = natural_strides(value.sizes) if access is None else access.strides
        base = value if access is None else access.base
        classes = space.axes[value]
        axis = classes.index(space.vector) if space.vector in classes else None
        move = 0 if axis is None else strides[axis] * value.aval.dtype.itemsize
        if not isinstance(move, int):
            return None
        if found.setdefault(base, move) != move:
            return None
    return found


def sums_columns(space: Space, stored: Sequence[Value]) -> bool:
    """Return whether a kernel only reduces over the leading axis, each column by itself."""
    down = space.inner == (space.leading,) and space.outer == (space.vector,)
    known = isinstance(space.extents.get(space.vector), int)
    if not down or not known or any(space.vector not in space.axes[value] for value in stored):
        return False
    return column_advance(space, stored) is not None
