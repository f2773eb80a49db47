"""Memory: the places of intermediate values in one arena, first fit over their lifetimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector load."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A block of memory in use from step ``first`` to step ``last``, both included."""

    size: int
    first: int
    last: int


def place(blocks: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Return every block's offset and the arena's size in bytes.

    Large blocks are placed first, each at the lowest offset where no block lies that is alive at
    the same time.
    """
    offsets = [0] * len(blocks)
    placed: list[int] = []
    total = 0
    for index in sorted(range(len(blocks)), key=lambda i: (-blocks[i].size, blocks[i].first)):
        block = blocks[index]
        taken = sorted(
            (offsets[other], offsets[other] + blocks[other].size)
            for other in placed
            if blocks[other].first <= block.last and block.first <= blocks[other].last
        )
        offset = 0
        for start, end in taken:
            if offset + block.size <= start:
                break
            offset = max(offset, -(-end // ALIGNMENT) * ALIGNMENT)
        offsets[index] = offset
        placed.append(index)
        total = max(total, offset + block.size)
    return offsets, total
