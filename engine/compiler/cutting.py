"""Cutting a run of native steps for several threads: which steps share their rows out, and where
all threads must meet.

A *region* is a row of steps. In a cut region each thread runs all steps for its share of the rows,
which is right where every step needs, of what the region writes, only rows of its own share. The
other regions are run by one thread. Regions follow each other: none begins before the last has
ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...kernels.gemm import BlasGemm, Gemm, PackedGemm, StreamGemm
from .graph import Value
from .native_families import native_op
from .native_step import NativeStep

BYTES_A_SECOND = 12e9
"""What one thread reads or writes, as far as it is in the cache."""
PRODUCTS_A_SECOND = 40e9
"""Multiplications of one thread in a product of matrices."""
VALUES_A_SECOND = 4e9
"""Elements of one thread through one op of a fused loop."""
WORTH_A_MEETING = 10e-6
"""Seconds of one thread from which a region is cut; a meeting takes less than one microsecond."""
WORTH_SHARING = 15e-6
"""Seconds of a whole run from which other threads are asked at all: they may have to wake up."""


@dataclass(slots=True)
class Region:
    """Steps that one thread, or each thread for its share of the rows, runs in order."""

    steps: list[NativeStep] = field(default_factory=list)
    cut: bool = False
    touched: dict[Value, set[tuple[int, bool]]] = field(default_factory=dict)
    """By memory, how far steps move in it a row, and whether they write it, in a cut region."""


def seconds(step: NativeStep) -> float:
    """Return roughly how long one thread takes for a step."""
    moved = sum(memory_bytes(v) for v in step.buffers if isinstance(v, Value)) / BYTES_A_SECOND
    if isinstance(step.kernel, Gemm | BlasGemm | PackedGemm | StreamGemm):
        first = step.group.nodes[0].inputs[0]
        inner = first.sizes[-1]
        return moved + math.prod(step.group.nodes[0].outputs[0].sizes) * inner / PRODUCTS_A_SECOND
    native = native_op(step.group.nodes[0]) if step.group.kind == "native" else None
    if native is not None:
        return moved + native.products(step.group.nodes[0]) / PRODUCTS_A_SECOND
    space = step.group.space
    values = math.prod(space.extents.values()) * len(space.nodes) if space is not None else 0
    return moved + values / VALUES_A_SECOND


def cut(
    steps: Sequence[NativeStep], parts: int, same: Callable[[Value], Value]
) -> tuple[list[Region], bool]:
    """Return the regions of a run and whether the whole is worth several threads.

    ``same`` returns what stands for a value's memory, one value for all that share it.
    """
    regions: list[Region] = []
    for step in steps:
        moves = _moves(step, same) if _can_cut(step, parts) else None
        alike = bool(regions) and regions[-1].cut is (moves is not None)
        if not alike or (moves is not None and not _joins(regions[-1], step, moves)):
            regions.append(Region([], moves is not None))
        regions[-1].steps.append(step)
        for memory, move in (moves or {}).items():
            regions[-1].touched.setdefault(memory, set()).add(move)
    if parts < 2:
        return regions, False
    for region in regions:
        region.cut = region.cut and sum(map(seconds, region.steps)) >= WORTH_A_MEETING
    merged: list[Region] = []
    for region in regions:
        if merged and not region.cut and not merged[-1].cut:
            merged[-1].steps += region.steps
        else:
            merged.append(region)
    total = sum(map(seconds, steps))
    return merged, total >= WORTH_SHARING and any(region.cut for region in merged)


def _can_cut(step: NativeStep, parts: int) -> bool:
    rows = step.rows
    return rows is not None and step.ints[rows.count] >= 2 * parts * rows.grain


def _joins(region: Region, step: NativeStep, moves: dict[Value, tuple[int, bool]]) -> bool:
    """Return whether a step can run for the same shares as the region, without a meeting."""
    assert step.rows is not None
    first = region.steps[0]
    assert first.rows is not None
    if first.ints[first.rows.count] != step.ints[step.rows.count]:
        return False
    if first.rows.grain > 1 or step.rows.grain > 1:  # columns: others may read them as rows
        return False
    for memory, (move, written) in moves.items():
        for their_move, theirs_written in region.touched.get(memory, ()):
            if (written or theirs_written) and (move != their_move or not move):
                return False
    return True


def _moves(step: NativeStep, same: Callable[[Value], Value]) -> dict[Value, tuple[int, bool]]:
    """Return, by memory, how far it moves a row (0: otherwise), and whether it is written."""
    assert step.rows is not None
    written = {same(value) for value in step.writes}
    found: dict[Value, tuple[int, bool]] = {}
    for value, move in zip(step.buffers, step.rows.advance, strict=True):
        if isinstance(value, Value):
            memory = same(value)
            alike = memory not in found or found[memory][0] == move
            found[memory] = (move if alike else 0, memory in written)
    return found


def memory_bytes(value: Value) -> int:
    """Return the size of a value in memory."""
    return math.prod(value.sizes) * value.aval.dtype.itemsize
