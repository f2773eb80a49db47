"""Products of few rows with a transposed B, as a layer's input with its weight.

B is read where it lies, each of its rows once and from end to end, so that the processor fetches
ahead by itself. The few rows of A are turned instead, so that a tile is some rows of B by the lanes
of two vectors, which are rows of A; sums are turned back when they are complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .control import Carried, repeat
from .emitter import Emitter, Value, literal
from .expressions import INT32, INT64
from .gemm_code import ProductPrinter
from .gemm_pack import copy_rows, turn, turn_rows
from .target import Target

if TYPE_CHECKING:
    from .gemm import Product

Dim: TypeAlias = Any
"""A size: an int, or what adds and multiplies like one."""
ROWS: Final = 6
"""Rows of B in a tile: no more than a set of the first-level cache holds, since they lie a power of
two apart as a rule."""
VECTORS: Final = 2
"""Vector registers of rows of A in a tile."""


def stream_workspace(lanes: int, m: int, k: Dim) -> Dim:
    """Return the elements of one thread's workspace; k may be open, as plans have it."""
    wide = VECTORS * lanes
    rows = -(-m // wide) * wide
    depth = (-(-k // wide) + 1) * wide if isinstance(k, int) else k + lanes
    return rows * depth


class StreamPrinter(ProductPrinter):
    """Tiles of six rows of B by two vectors of rows of A."""

    def __init__(self, emit: Emitter, product: Product, target: Target, epilogue: str) -> None:
        super().__init__(emit, product, target, epilogue)
        self.wide = VECTORS * self.lanes

    @property
    def in_panels(self) -> bool:
        """All rows are done at once."""
        return False

    def multiply(self, a: str, b: str, c: str, rows: Value, more: Value | None) -> None:
        """Turn A, then go over B in tiles and for each over the rows of A."""
        emit = self.emit
        groups = self.quotient(self.plus(rows, self.wide - 1), self.wide)
        deep = self.times(self.plus(self.k, self.lanes), literal(self.wide, INT64))

        def pack(number: Value, state: Carried) -> Carried:
            self.pack(a, rows, number, self.at("%matrix.workspace", self.times(number, deep)))
            return state

        repeat(emit, groups, 1, {}, pack)

        def tile(index: Value, state: Carried) -> Carried:
            column = self.times(index, literal(ROWS, INT64))
            last = self.plus(self.n, -1)
            lines = [
                self.at(b, self.times(emit.minimum(self.plus(column, r), last), self.ldb))
                for r in range(ROWS)
            ]

            def group(number: Value, state: Carried) -> Carried:
                packed = self.at("%matrix.workspace", self.times(number, deep))
                self.tile(lines, packed, c, column, self.times(number, literal(self.wide, INT64)))
                return state

            return repeat(emit, groups, 1, state, group)

        repeat(emit, self.quotient(self.plus(self.n, ROWS - 1), ROWS), 1, {}, tile)

    def pack(self, a: str, rows: Value, number: Value, to: str) -> None:
        """Put some rows of A side by side."""
        row = self.times(number, literal(self.wide, INT64))
        if self.product.transpose_a:
            left = self.emit.sub(rows, row)
            copy_rows(self, self.at(a, row), self.lda, self.k, self.wide, left, to)
        else:
            turn_rows(self, a, self.lda, row, self.plus(rows, -1), self.k, self.wide, to)

    def tile(self, lines: list[str], packed: str, c: str, column: Value, row: Value) -> None:
        """Multiply some rows of B with some of A and store the sums turned back."""
        emit, lanes = self.emit, self.lanes
        places = [(r, v) for r in range(ROWS) for v in range(VECTORS)]
        sums = {f"{r}.{v}": literal(0.0, self.dtype, lanes) for r, v in places}

        def term(depth: Value, state: Carried) -> Carried:
            line = self.at(packed, self.times(depth, literal(self.wide, INT64)))
            down = [
                emit.load(Value(self.at(line, literal(v * lanes, INT64)), self.dtype), lanes)
                for v in range(VECTORS)
            ]
            result: Carried = {}
            for r in range(ROWS):
                x = emit.splat(emit.load(Value(self.at(lines[r], depth), self.dtype), 0), lanes)
                for v in range(VECTORS):
                    result[f"{r}.{v}"] = emit.fma(x, down[v], state[f"{r}.{v}"])
            return result

        sums = repeat(emit, self.k, 1, sums, term)
        left = emit.cast(emit.minimum(emit.sub(self.n, column), ROWS), INT32)
        for v in range(VECTORS):
            self.store([sums[f"{r}.{v}"] for r in range(ROWS)], c, column, row, v, left)

    def store(
        self, sums: list[Value], c: str, column: Value, row: Value, vector: int, left: Value
    ) -> None:
        """Store a vector of rows of A, each with the columns of C that the rows of B stand for."""
        emit, lanes = self.emit, self.lanes
        first = self.plus(row, vector * lanes)
        for start in range(0, ROWS, lanes):
            held = sums[start : start + lanes]
            held += [literal(0.0, self.dtype, lanes)] * (lanes - len(held))
            here = emit.compare("lt", emit.iota(INT32, lanes), emit.sub(left, start))
            for lane, found in enumerate(turn(emit, held)):
                at = self.plus(first, lane)
                there = emit.splat(emit.compare("lt", at, self.m), lanes)
                place = self.at(self.at(c, self.times(at, self.ldc)), self.plus(column, start))
                mask = emit.binary("and", there, here)
                emit.store(found, Value(place, self.dtype), mask)
