"""Memory: the places of intermediate values in one arena, best fit over their lifetimes.

`arena.py` gives it blocks and lifetimes; it knows nothing of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector load."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A block of memory in use from step ``first`` to step ``last``, both included."""

    size: int
    first: int
    last: int


def aligned_start(arena: np.ndarray) -> int:
    """Return the first byte of an arena, from which offsets count, whose address is aligned."""
    return -arena.__array_interface__["data"][0] % ALIGNMENT


def place(blocks: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Return every block's offset and the arena's size in bytes.

    Large blocks are placed first, each into the smallest gap that it fits between the blocks that
    are alive at the same time, or after them.
    """
    order = sorted(range(len(blocks)), key=lambda i: (-blocks[i].size, blocks[i].first))
    # One row each: first and last step, begin and end in the arena, of the blocks placed so far.
    placed = np.zeros((4, len(blocks)), np.int64)
    offsets = [0] * len(blocks)
    total = 0
    for count, index in enumerate(order):
        block = blocks[index]
        first, last, begins, ends = placed[:, :count]
        alive = (first <= block.last) & (block.first <= last)
        offset = _best_gap(begins[alive], ends[alive], block.size)
        end = offset + block.size
        placed[:, count] = block.first, block.last, offset, -(-end // ALIGNMENT) * ALIGNMENT
        offsets[index] = offset
        total = max(total, end)
    return offsets, total


def _best_gap(begins: np.ndarray, ends: np.ndarray, size: int) -> int:
    """Return where a block fits most tightly between others, which may overlap."""
    order = np.argsort(begins)
    starts = np.concatenate([[0], np.maximum.accumulate(ends[order])]).astype(np.int64)
    gaps = begins[order] - starts[:-1]
    fitting = np.flatnonzero(gaps >= size)
    return int(starts[-1] if not fitting.size else starts[fitting[np.argmin(gaps[fitting])]])
