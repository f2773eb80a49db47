"""The arena of a plan: which intermediate values share memory, and where they lie.

Two values share a block when one dies in the very step that makes the other, element by element in
the same places; blocks whose lifetimes do not meet share memory by ``memory.place``.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from ..ops.registry import Reduce
from .cutting import Region, memory_bytes
from .graph import Node, Value
from .memory import Lifetime, place
from .native_step import NativeStep
from .space import Space


@dataclass(slots=True)
class _Use:
    """Where a value is used: first and last region, last step, how far a row moves in cut ones."""

    first: int
    last: int
    step: int
    moves: set[int]


def arena_offsets(
    regions: Sequence[Region], outside: Container[Value]
) -> tuple[dict[Value, int], int]:
    """Return where values lie in the arena, in bytes from its start, and the arena's size.

    Lifetimes are counted in regions, whose steps several threads may be at in any order.
    ``outside`` are the values that have memory of their own.
    """
    uses = _uses(regions, outside)
    owner = _shared(regions, uses)
    blocks: dict[Value, Lifetime] = {}
    for value, use in uses.items():
        head = owner.get(value, value)
        known = blocks.get(head)
        first = use.first if known is None else min(known.first, use.first)
        last = use.last if known is None else max(known.last, use.last)
        blocks[head] = Lifetime(memory_bytes(head), first, last)
    offsets, total = place([*blocks.values()])
    where = dict(zip(blocks, offsets, strict=True))
    return {value: where[owner.get(value, value)] for value in uses}, total


def _uses(regions: Sequence[Region], outside: Container[Value]) -> dict[Value, _Use]:
    found: dict[Value, _Use] = {}
    count = 0
    for position, region in enumerate(regions):
        for step in region.steps:
            moves = _row_moves(step) if region.cut else [0] * len(step.buffers)
            for value, move in zip(step.buffers, moves, strict=True):
                if isinstance(value, int) or value in outside:
                    continue
                use = found.setdefault(value, _Use(position, position, count, set()))
                if use.last != position:
                    use.moves = set()
                use.last, use.step = position, count
                use.moves.add(move)
            count += 1
    for check in (step.check for region in regions for step in region.steps):
        if check is not None:  # all later regions ask it, and the plan in the end
            use = found[check.status]
            use.last, use.step = len(regions) - 1, count
    return found


def _row_moves(step: NativeStep) -> Sequence[int]:
    return [0] * len(step.buffers) if step.rows is None else step.rows.advance


def _shared(regions: Sequence[Region], uses: dict[Value, _Use]) -> dict[Value, Value]:
    """Return for values that lie in the block of another whose it is."""
    owner: dict[Value, Value] = {}
    count = 0
    for position, region in enumerate(regions):
        for step in region.steps:
            for value in step.writes:
                dying = _dying(step, value, position, count, region.cut, uses)
                if dying is not None and uses[value].first == position:
                    owner[value] = owner.get(dying, dying)
                    uses[dying].step = -1  # one heir only
            count += 1
    return owner


def _dying(
    step: NativeStep, value: Value, region: int, count: int, cut: bool, uses: dict[Value, _Use]
) -> Value | None:
    """Return an input in whose place a step may write ``value``, as it is read there last."""
    space = step.group.space
    if step.group.kind != "loop" or space is None or value not in uses:
        return None
    for source, access in space.leaves.items():
        use = uses.get(source)
        if access.base is not source or use is None or (use.last, use.step) != (region, count):
            continue
        alike = source.aval.dtype.itemsize == value.aval.dtype.itemsize
        if not alike or not overwrites(space, value, source):
            continue
        apart = use.moves | _moves_of(step, value) if cut else {1}
        if len(apart) == 1 and 0 not in apart:
            return source
    return None


def _moves_of(step: NativeStep, value: Value) -> set[int]:
    moves = zip(step.buffers, _row_moves(step), strict=True)
    return {move for buffer, move in moves if buffer is value}


def overwrites(space: Space, value: Value, source: Value) -> bool:
    """Return whether a kernel reads ``source`` only where it writes ``value``, and before.

    Loads are bound where they are first made in a loop, so one before the store serves all of them.
    """
    uses = [v for v, access in space.leaves.items() if access.base is source]
    if uses != [source] or space.axes[source] != space.axes[value] or value in space.sinks:
        return False
    readers = [i for i, node in enumerate(space.nodes) if source in node.inputs]
    outputs = [space.nodes[i].outputs[0] for i in readers]
    written = next(i for i, node in enumerate(space.nodes) if value in node.outputs)
    moves = space.classes(value)  # a loop that it does not move with would read what was written
    if value in space.tail:
        apart = space.is_inner(value) and moves == set(space.inner)
        apart = apart and all(v in space.tail and space.is_inner(v) for v in outputs)
        return apart and readers[0] <= written
    if any(v in space.tail for v in outputs):
        return False
    time = space.time[value]
    if space.inner and not space.is_inner(value):
        earlier = [
            i < written if space.time[v] == time and not space.is_inner(v) else space.time[v] < time
            for i, v in zip(readers, outputs, strict=True)
        ]
        return moves == set(space.outer) and (any(earlier) or written in readers)
    if space.inner:  # a row is read several times, and may be written over in the last loop alone
        readers = [i for i in readers if _loop_of(space, space.nodes[i]) == time]
        if time < max(space.time.values()):
            return False
    return moves == set(space.extents) and bool(readers) and readers[0] <= written


def _loop_of(space: Space, node: Node) -> int:
    """Return in which of a row's loops a node reads: what a reduction gives comes after its own."""
    output = node.outputs[0]
    reduces = isinstance(node.op.lowering, Reduce) and not space.is_inner(output)
    return space.time[node.inputs[0] if reduces else output]
