"""Generated matrix products: tiles of C in vector registers, B packed only if transposed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .control import Carried, is_constant, repeat, when
from .emitter import Emitter, Value, literal, type_text
from .expressions import INT32, INT64
from .gemm_code import ProductPrinter
from .gemm_pack import mask_part, turn_rows
from .target import Target

if TYPE_CHECKING:
    from .gemm import Product

DEPTH: Final = 256
"""Terms of a sum added in one go: a panel of B of that depth stays in the first-level cache."""


@dataclass(frozen=True)
class Tile:
    """One panel of B and where its products go."""

    panel: str
    stride: Value
    mask_b: Value | None
    c: str
    mask_c: Value | None
    vectors: int
    depth: Value
    more: Value | None


class TilePrinter(ProductPrinter):
    """Tiles of `height` rows by `across` vectors."""

    def __init__(self, emit: Emitter, product: Product, target: Target, epilogue: str) -> None:
        super().__init__(emit, product, target, epilogue)
        self.height, self.across = (12, 2) if target.registers == 32 else (6, 2)

    def multiply(self, a: str, b: str, c: str, rows: Value, more: Value | None) -> None:
        """Go over the terms of the sums in blocks; `more` says that C holds a sum so far."""
        if isinstance(self.product.k, int) and self.product.k <= DEPTH:
            self.columns(a, b, c, rows, self.k, more)
            return
        blocks = self.emit.binary("sdiv", self.plus(self.k, DEPTH - 1), DEPTH)
        blocks = self.emit.maximum(blocks, 1)  # an empty sum is zero, and must be written
        step_a = self.lda if self.product.transpose_a else literal(1, INT64)
        step_b = literal(1, INT64) if self.product.transpose_b else self.n

        def block(index: Value, state: Carried) -> Carried:
            start = self.times(index, literal(DEPTH, INT64))
            depth = self.emit.minimum(self.emit.sub(self.k, start), DEPTH)
            at_a = self.at(a, self.times(start, step_a))
            at_b = self.at(b, self.times(start, step_b))
            later = self.emit.compare("gt", index, 0)
            later = later if more is None else self.emit.binary("or", more, later)
            self.columns(at_a, at_b, c, rows, depth, later)
            return state

        repeat(self.emit, blocks, 1, {}, block)

    def columns(
        self, a: str, b: str, c: str, rows: Value, depth: Value, more: Value | None
    ) -> None:
        """Go over the column panels of B; `more` says that C holds the sums so far."""
        wide = self.lanes * self.across

        def panel(column: Value, state: Carried) -> Carried:
            self.panel(a, b, self.at(c, column), column, self.across, None, rows, depth, more)
            return state

        if isinstance(self.product.n, int):
            whole = self.product.n // wide * wide
            repeat(self.emit, literal(whole, INT64), wide, {}, panel)
            rest = self.product.n - whole
            if rest:
                vectors = -(-rest // self.lanes)
                mask = self.emit.prefix(rest, vectors * self.lanes)
                column = literal(whole, INT64)
                at_c = self.at(c, column)
                self.panel(a, b, at_c, column, vectors, mask, rows, depth, more)
            return
        whole = self.emit.binary("and", self.n, -wide)
        repeat(self.emit, whole, wide, {}, panel)

        def rest_panel(state: Carried) -> Carried:
            left = self.emit.cast(self.emit.sub(self.n, whole), INT32)
            mask = self.emit.compare("lt", self.emit.iota(INT32, wide), left)
            at_c = self.at(c, whole)
            self.panel(a, b, at_c, whole, self.across, mask, rows, depth, more)
            return state

        when(self.emit, self.emit.compare("lt", whole, self.n), {}, rest_panel)

    def panel(
        self,
        a: str,
        b: str,
        c: str,
        column: Value,
        vectors: int,
        mask: Value | None,
        rows: Value,
        depth: Value,
        more: Value | None,
    ) -> None:
        """Go over the rows with one panel of B, packed first where B is transposed."""
        if self.product.transpose_b:
            stride = literal(vectors * self.lanes, INT64)
            panel, masks = self.pack(b, column, vectors, depth), None
        else:
            stride, panel, masks = self.n, self.at(b, column), mask
        self.tiles(Tile(panel, stride, masks, c, mask, vectors, depth, more), a, rows)

    def tiles(self, tile: Tile, a: str, rows: Value) -> None:
        """Go over the rows in tiles of full height, then over what is left in shorter ones."""

        def of(height: int) -> Callable[[Value, Carried], Carried]:
            def body(row: Value, state: Carried) -> Carried:
                self.tile(tile, a, row, height)
                return state

            return body

        if is_constant(rows):
            count = int(rows.text)
            whole = literal(count // self.height * self.height, INT64)
            repeat(self.emit, whole, self.height, {}, of(self.height))
            if count % self.height:
                of(count % self.height)(whole, {})
            return
        count = self.emit.binary("udiv", rows, self.height)
        whole = self.emit.mul(count, self.height)
        repeat(self.emit, whole, self.height, {}, of(self.height))
        row = whole
        height = 1 << (self.height - 1).bit_length() - 1
        while height:
            row = self.remainder(row, rows, height, of(height))
            height //= 2

    def remainder(
        self, row: Value, rows: Value, height: int, body: Callable[[Value, Carried], Carried]
    ) -> Value:
        """Print one shorter tile if as many rows are left; return the next row."""

        def short(state: Carried) -> Carried:
            body(row, {})
            return {"row": self.emit.add(row, height)}

        enough = self.emit.compare("ge", self.emit.sub(rows, row), height)
        return when(self.emit, enough, {"row": row}, short)["row"]

    def tile(self, tile: Tile, a: str, row: Value, height: int) -> None:
        """Multiply `height` rows of A with the panel, all sums in registers."""
        emit, lanes = self.emit, self.lanes
        step = literal(1, INT64) if self.product.transpose_a else self.lda
        at_a = self.at(a, self.times(row, step))
        at_c = self.at(tile.c, self.times(row, self.n))
        places = [(r, v) for r in range(height) for v in range(tile.vectors)]
        sums = {f"{r}.{v}": self.start(tile, at_c, r, v) for r, v in places}

        def term(depth: Value, state: Carried) -> Carried:
            line = self.at(tile.panel, self.times(depth, tile.stride))
            row_b = [
                emit.load(
                    Value(self.at(line, literal(v * lanes, INT64)), self.dtype),
                    lanes,
                    self.part(tile.mask_b, v),
                )
                for v in range(tile.vectors)
            ]
            result: Carried = {}
            for r in range(height):
                x = emit.splat(self.element(at_a, r, depth), lanes)
                for v in range(tile.vectors):
                    result[f"{r}.{v}"] = emit.fma(x, row_b[v], state[f"{r}.{v}"])
            return result

        sums = repeat(emit, tile.depth, 1, sums, term)
        for r, v in places:
            place = Value(self.place(at_c, r, v), self.dtype)
            emit.store(sums[f"{r}.{v}"], place, self.part(tile.mask_c, v))

    def element(self, a: str, row: int, depth: Value) -> Value:
        """Load one element of A."""
        across = self.times(literal(row, INT64), self.lda)
        offset = self.plus(self.times(depth, self.lda), row) if self.product.transpose_a else None
        if offset is None:
            return self.emit.load(Value(self.at(self.at(a, across), depth), self.dtype), 0)
        return self.emit.load(Value(self.at(a, offset), self.dtype), 0)

    def place(self, c: str, row: int, vector: int) -> str:
        """Return the address of one vector of C."""
        across = self.times(literal(row, INT64), self.n)
        return self.at(c, self.plus(across, vector * self.lanes))

    def start(self, tile: Tile, c: str, row: int, vector: int) -> Value:
        """Return zeros, or the sums so far."""
        if tile.more is None:
            return literal(0.0, self.dtype, self.lanes)
        mask = self.emit.splat(tile.more, self.lanes)
        inside = self.part(tile.mask_c, vector)
        if inside is not None:
            mask = self.emit.binary("and", mask, inside)
        return self.emit.load(Value(self.place(c, row, vector), self.dtype), self.lanes, mask)

    def part(self, mask: Value | None, vector: int) -> Value | None:
        """Return the lanes of a panel's mask that belong to one vector."""
        return mask_part(self.emit, mask, vector, self.lanes)

    def pack(self, b: str, column: Value, vectors: int, depth: Value) -> str:
        """Copy a panel of the transposed B (n by k) so that its rows are adjacent."""
        emit, lanes, wide = self.emit, self.lanes, vectors * self.lanes
        name = f"%packed{vectors}"
        kind = type_text(self.dtype, 0)
        slot = f"  {name} = alloca [{(DEPTH + lanes) * wide} x {kind}], align 64"
        if slot not in emit.entry:
            emit.entry.append(slot)

        n = self.product.n
        exact = isinstance(n, int) and n % (lanes * self.across) == 0
        last = None if exact else self.plus(self.n, -1)
        turn_rows(self, b, self.k, column, last, depth, wide, name)
        return name
