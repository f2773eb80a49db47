"""Which tiles a convolution is computed in: the shape of what stays in registers, and its cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

Lanes = Literal["filters", "pixels"]

LATENCY: Final = 8
"""Sums that must be under way at once so that no addition waits for the one before it."""

LOADS: Final = 0.2
"""Cycles that a load takes beside the multiplications, as measured on a Zen 4."""


@dataclass(frozen=True)
class Tiling:
    """`rows` scalars times `vectors` vectors, whose lanes are filters or pixels of a row.

    With filters as lanes the scalars are pixels, and the weights are packed by filters first; with
    pixels as lanes the scalars are the weights of `rows` filters, read where they lie.
    """

    over: Lanes
    rows: int
    vectors: int
    cost: float


def choose_tiling(
    filters: int, width: int, taps: int, lanes: int, registers: int, only: Lanes | None = None
) -> Tiling:
    """Return the tiles that take the fewest cycles for one row of pixels of all filters."""
    found = [*_over_filters(filters, width, taps, lanes, registers)]
    found += _over_pixels(filters, width, taps, lanes, registers)
    return min((t for t in found if only in (None, t.over)), key=lambda t: t.cost)


def _over_filters(filters: int, width: int, taps: int, lanes: int, registers: int) -> list[Tiling]:
    turn = lanes * (math.log2(lanes) + 2)  # a square of lanes is turned to be stored
    found = []
    for vectors in (1, 2, 3, 4):
        if vectors > 1 and filters < vectors * lanes:
            break
        rows = _even(width, _rows(vectors, registers))
        cycles = max(rows * vectors + LOADS * (rows + vectors), LATENCY)
        tiles = math.ceil(width / rows) * math.ceil(filters / (vectors * lanes))
        ends = vectors * math.ceil(rows / lanes) * turn
        found.append(Tiling("filters", rows, vectors, tiles * (taps * cycles + ends)))
    return found


def _over_pixels(filters: int, width: int, taps: int, lanes: int, registers: int) -> list[Tiling]:
    found = []
    for vectors in (1, 2, 3, 4):
        if vectors > math.ceil(width / lanes):
            break
        rows = _even(filters, _rows(vectors, registers))
        # Vectors lie across two lines of the cache, and count twice.
        cycles = max(rows * vectors + LOADS * (rows + 2 * vectors), rows / 2 + vectors, LATENCY)
        tiles = math.ceil(width / (vectors * lanes)) * math.ceil(filters / rows)
        found.append(Tiling("pixels", rows, vectors, tiles * (taps * cycles + 2 * rows * vectors)))
    return found


def _rows(vectors: int, registers: int) -> int:
    """Return how many rows fit beside the vectors and one spread scalar."""
    return (registers - 1 - vectors) // vectors


def _even(size: int, most: int) -> int:
    """Return the size of blocks that are all alike, as far as they can be, and at most so large."""
    return math.ceil(size / math.ceil(size / most))


@dataclass(frozen=True)
class GradTiling:
    """Tiles of the weights' gradient: a block of taps by a block of filters.

    `taps` counts channels, rows and columns of a block, and divides those of a filter evenly. With
    filters as lanes, `filters` counts vectors of them.
    """

    over: Lanes
    taps: tuple[int, int, int]
    filters: int
    cost: float


def choose_grad_tiling(
    filters: int,
    channels: int,
    kernel: tuple[int, int],
    width: int,
    stride: int,
    lanes: int,
    registers: int,
) -> GradTiling:
    """Return the tiles that take the fewest cycles for one row of pixels."""
    found = []
    depth = channels * kernel[0] * kernel[1]
    for vectors in (1, 2, 3):
        if vectors > 1 and filters < vectors * lanes:
            break
        blocks = math.ceil(filters / (vectors * lanes))
        turned = blocks * vectors * math.ceil(width / lanes) * lanes * (math.log2(lanes) + 2)
        for taps in _tap_blocks(channels, kernel, _rows(vectors, registers)):
            rows = math.prod(taps)
            cycles = max(rows * vectors + LOADS * (rows + vectors), LATENCY)
            cost = turned + blocks * (depth / rows) * width * cycles
            found.append(GradTiling("filters", taps, vectors, cost))
    for most in (1, 2, 3, 4, 6, 8):
        block = _even(filters, most)
        for taps in _tap_blocks(channels, kernel, (registers - 1 - block) // block):
            if stride > 1 and taps[2] < kernel[1]:
                continue  # columns of a strip are then not evenly spaced
            count = math.prod(taps)
            cycles = max(count * block + LOADS * (block + 2 * count), LATENCY)
            blocks = math.ceil(filters / block) * (depth / count)
            found.append(
                GradTiling("pixels", taps, block, blocks * math.ceil(width / lanes) * cycles)
            )
    return min(found, key=lambda t: t.cost)


def _tap_blocks(channels: int, kernel: tuple[int, int], most: int) -> list[tuple[int, int, int]]:
    """Return blocks of channels, rows and columns of at most so many taps."""
    found = []
    for down, across in {(1, 1), (1, kernel[1]), kernel}:
        room = most // (down * across)
        divisors = [c for c in range(1, room + 1) if channels % c == 0]
        if divisors:
            found.append((divisors[-1], down, across))
    return found
