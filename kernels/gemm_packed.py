"""Products of larger matrices: both operands go by packed panels, so that they lie in the cache.

Rows of A that are multiplied together, and columns of B, are copied so that each step of a sum
reads adjacent numbers. Matrices whose rows are a power of two apart would otherwise push their own
lines out of the first-level cache. The order of loops follows K. Goto and R. van de Geijn, "Anatomy
of High-Performance Matrix Multiplication" (2008), with one panel of B at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .control import Carried, repeat, when
from .emitter import Emitter, Value, literal
from .expressions import INT32, INT64, DType
from .gemm_code import ProductPrinter
from .gemm_pack import copy_rows, mask_part, turn_rows
from .gemm_stream import Dim
from .target import Target

if TYPE_CHECKING:
    from .gemm import Product

DEPTH: Final = 256
"""Terms of a sum added in one go: a panel of B and a strip of A of that depth stay in caches."""
DEPTH_OF_FEW: Final = 128
"""The same where each number of B is used so few times that most of it is on its way there."""
MOST_ROWS: Final = 144
"""Rows of A that are packed together; each time a panel of B is packed it serves so many."""
BLOCK_BYTES: Final = 192 * 1024
"""Up to this size a block of C is cut for an epilogue, which then finds it in the cache."""
FEWER: Final = 4
"""Rows of the tiles for what is left below whole ones: enough to keep multipliers busy."""
VECTORS: Final = 2
"""Vector registers across a tile."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of tiles, and of the workspace, for one dtype on one machine."""

    lanes: int
    height: int

    @classmethod
    def of(cls, dtype: DType, target: Target) -> Sizes:
        """Return the sizes for a target."""
        return cls(target.lanes(dtype), 12 if target.registers == 32 else 6)

    @property
    def wide(self) -> int:
        """Columns of a panel of B."""
        return VECTORS * self.lanes

    @property
    def tall(self) -> int:
        """Numbers from one step of a strip of A to the next."""
        return -(-self.height // self.lanes) * self.lanes

    def depth(self, product: Product) -> int:
        """Return how many terms of a sum are added in one go."""
        return DEPTH_OF_FEW if product.width else DEPTH

    def rows(self, product: Product) -> int:
        """Return how many rows of C are multiplied, and handed to the epilogue, at a time."""
        most = MOST_ROWS // self.height * self.height
        if product.epilogue is None or not isinstance(product.n, int):
            return most
        fitting = BLOCK_BYTES // (product.n * product.dtype.itemsize) // self.height
        return max(1, min(most // self.height, fitting)) * self.height

    def workspace(self, product: Product, n: int, k: Dim) -> Dim:
        """Return the elements of the workspace of one thread, for sizes n and k (maybe open)."""
        return self.packed_a(product) + self.packed_b(product, n, k) + self.block(product)

    def packed_a(self, product: Product) -> int:
        """Return the elements of the packed rows of A."""
        return self.rows(product) // self.height * self.depth(product) * self.tall

    def packed_b(self, product: Product, n: int, k: Dim) -> Dim:
        """Return the elements of the packed panels of B; squares may reach beyond its depth."""
        if product.whole:
            return -(-n // self.wide) * self.wide * (k + self.lanes)
        return (self.depth(product) + self.lanes) * self.wide

    def block(self, product: Product) -> int:
        """Return the elements of a block of C that is not kept."""
        size = self.rows(product) * int(product.n) if product.local else 0
        return -(-size // self.wide) * self.wide


@dataclass(frozen=True)
class Panel:
    """One panel of B, where its products go, and where the next one comes from."""

    packed: str
    b: str
    ahead: str
    c: str
    mask: Value | None
    depth: Value
    more: Value | None


class PackedPrinter(ProductPrinter):
    """Tiles of `height` rows by two vectors over packed operands."""

    def __init__(self, emit: Emitter, product: Product, target: Target, epilogue: str) -> None:
        super().__init__(emit, product, target, epilogue)
        self.sizes = Sizes.of(self.dtype, target)
        self.height = self.sizes.height
        self.wide, self.tall = self.sizes.wide, self.sizes.tall
        self.deep = self.sizes.depth(product)
        self.a_at = "%matrix.workspace"
        after_a = self.sizes.packed_a(product)
        if product.local:
            self.local = self.at(self.a_at, literal(after_a, INT64))
            after_a += self.sizes.block(product)
        self.b_at = self.at(self.a_at, literal(after_a, INT64))

    def panel_rows(self) -> int:
        """Rows of C between two calls of the epilogue."""
        return self.sizes.rows(self.product)

    @property
    def in_panels(self) -> bool:
        """Whether rows are done in panels: always, since A is packed so."""
        return True

    def prepare(self, b: str) -> None:
        """Pack the whole of B where it is small."""
        if not self.product.whole:
            return

        def panel(number: Value, state: Carried) -> Carried:
            column = self.times(number, literal(self.wide, INT64))
            self.pack_b(b, column, self.k, self.panel_of_whole(number))
            return state

        repeat(self.emit, self.panels_across(), 1, {}, panel)

    def panels_across(self) -> Value:
        """Return the number of panels of B."""
        return self.quotient(self.plus(self.n, self.wide - 1), self.wide)

    def panel_of_whole(self, number: Value) -> str:
        """Return where a panel of a B that is packed as a whole begins."""
        deep = self.times(self.plus(self.k, self.lanes), literal(self.wide, INT64))
        return self.at(self.b_at, self.times(number, deep))

    # -- loops -------------------------------------------------------------------------------

    def multiply(self, a: str, b: str, c: str, rows: Value, more: Value | None) -> None:
        """Go over the terms of the sums in blocks; `more` says that C holds a sum so far."""
        if isinstance(self.product.k, int) and self.product.k <= self.deep:
            self.block(a, b, c, rows, literal(0, INT64), self.k, more)
            return
        blocks = self.emit.binary("sdiv", self.plus(self.k, self.deep - 1), self.deep)
        blocks = self.emit.maximum(blocks, 1)  # an empty sum is zero, and must be written

        def block(index: Value, state: Carried) -> Carried:
            start = self.times(index, literal(self.deep, INT64))
            depth = self.emit.minimum(self.emit.sub(self.k, start), self.deep)
            later = self.emit.compare("gt", index, 0)
            later = later if more is None else self.emit.binary("or", more, later)
            self.block(a, b, c, rows, start, depth, later)
            return state

        repeat(self.emit, blocks, 1, {}, block)

    def block(
        self, a: str, b: str, c: str, rows: Value, start: Value, depth: Value, more: Value | None
    ) -> None:
        """Multiply some rows with all of B for some terms of the sums."""
        step_a = self.lda if self.product.transpose_a else literal(1, INT64)
        step_b = literal(1, INT64) if self.product.transpose_b else self.ldb
        self.pack_a(self.at(a, self.times(start, step_a)), rows, depth)
        at_b = self.at(b, self.times(start, step_b))
        beside = self.ldb if self.product.transpose_b else literal(1, INT64)

        def one(number: Value, state: Carried) -> Carried:
            column = self.times(number, literal(self.wide, INT64))
            if self.product.whole:
                packed = self.panel_of_whole(number)
                packed = self.at(packed, self.times(start, literal(self.wide, INT64)))
            else:
                packed = self.b_at
            panel_of_b = self.at(at_b, self.times(column, beside))
            ahead = self.next_panel(at_b, number)
            mask = self.edge(column)
            at_c = self.at(c, column)
            panel = Panel(packed, panel_of_b, ahead, at_c, mask, depth, more)
            done = self.first_strip(panel, at_b, column, rows)
            self.strips(panel, rows, done)
            return state

        repeat(self.emit, self.panels_across(), 1, {}, one)

    def first_strip(self, panel: Panel, b: str, column: Value, rows: Value) -> Value:
        """Pack a panel; for few rows along with the products of a first strip if that is whole.

        Return how many rows are done.
        """
        emit, none = self.emit, literal(0, INT64)
        if self.product.whole:
            return none
        if self.product.transpose_b or not self.product.width:
            self.pack_b(b, column, panel.depth, panel.packed)
            return none
        enough = emit.compare("ge", rows, self.height)

        def strip(state: Carried) -> Carried:
            self.tile(panel, self.a_at, none, self.height, self.ahead(panel, none), packs=True)
            return state

        def pack(state: Carried) -> Carried:
            self.pack_b(b, column, panel.depth, panel.packed)
            return state

        when(emit, enough, {}, strip)
        when(emit, emit.compare("lt", rows, self.height), {}, pack)
        return emit.select(enough, literal(self.height, INT64), none)

    def next_panel(self, b: str, number: Value) -> str:
        """Return where the panel after one begins: beside it, or with the next terms."""
        if self.product.whole:
            return ""
        emit, following = self.emit, self.plus(number, 1)
        beside, below = self.ldb if self.product.transpose_b else literal(1, INT64), self.ldb
        if self.product.transpose_b:
            below = literal(1, INT64)
        beside = self.times(self.times(following, literal(self.wide, INT64)), beside)
        below = self.times(literal(self.deep, INT64), below)
        last = emit.compare("ge", following, self.panels_across())
        return self.at(b, emit.select(last, below, beside))

    def edge(self, column: Value) -> Value | None:
        """Return which columns of a panel there are; None where all are."""
        n = self.product.n
        if isinstance(n, int) and n % self.wide == 0:
            return None
        left = self.emit.cast(self.emit.sub(self.n, column), INT32)
        return self.emit.compare("lt", self.emit.iota(INT32, self.wide), left)

    def strips(self, panel: Panel, rows: Value, done: Value) -> None:
        """Go over the rows in tiles of full height, then over what is left in shorter ones."""
        emit = self.emit
        deep = literal(self.deep * self.tall, INT64)

        def of(height: int, first: Value) -> Callable[[Value, Carried], Carried]:
            def body(row: Value, state: Carried) -> Carried:
                row = self.plus(row, first)
                strip = self.quotient(row, self.height)
                inside = emit.sub(row, self.times(strip, literal(self.height, INT64)))
                at = self.at(self.a_at, self.plus(self.times(strip, deep), inside))
                self.tile(panel, at, row, height, self.ahead(panel, strip))
                return state

            return body

        border = done
        for height in dict.fromkeys((self.height, FEWER, 1)):
            left = self.quotient(emit.sub(rows, border), height)
            left = self.times(left, literal(height, INT64))
            repeat(emit, left, height, {}, of(height, border))
            border = self.plus(border, left)

    def tile(
        self, panel: Panel, a: str, row: Value, height: int,
        ahead: Callable[[Value], str] | None, *, packs: bool = False,
    ) -> None:  # fmt: skip
        """Multiply `height` rows of A with the panel, all sums in registers.

        Meanwhile memory is fetched, each step of the sum the line that ``ahead`` says. With
        ``packs`` the panel is read where B has it, and packed.
        """
        emit, lanes = self.emit, self.lanes
        c = self.at(panel.c, self.times(row, self.ldc))
        places = [(r, v) for r in range(height) for v in range(VECTORS)]
        sums = {f"{r}.{v}": literal(0.0, self.dtype, lanes) for r, v in places}
        if panel.more is not None:
            for r, v in places:
                self.emit.prefetch(self.place(c, r, v), write=True)

        def term(depth: Value, state: Carried) -> Carried:
            if ahead is not None:
                self.emit.prefetch(ahead(depth))
            line = self.at(panel.packed, self.times(depth, literal(self.wide, INT64)))
            column = self.at(a, self.times(depth, literal(self.tall, INT64)))
            source = self.at(panel.b, self.times(depth, self.ldb)) if packs else line
            across: list[Value] = []
            for v in range(VECTORS):
                offset = literal(v * lanes, INT64)
                inside = mask_part(emit, panel.mask, v, lanes) if packs else None
                found = emit.load(Value(self.at(source, offset), self.dtype), lanes, inside)
                if packs:
                    emit.store(found, Value(self.at(line, offset), self.dtype))
                across.append(found)
            result: Carried = {}
            for r in range(height):
                one = emit.load(Value(self.at(column, literal(r, INT64)), self.dtype), 0)
                x = emit.splat(one, lanes)
                for v in range(VECTORS):
                    result[f"{r}.{v}"] = emit.fma(x, across[v], state[f"{r}.{v}"])
            return result

        sums = repeat(emit, panel.depth, 1, sums, term)
        inside = [mask_part(emit, panel.mask, v, lanes) for v in range(VECTORS)]
        kept = [self.kept_before(panel.more, mask) for mask in inside]
        for r, v in places:
            place = Value(self.place(c, r, v), self.dtype)
            found = sums[f"{r}.{v}"]
            if panel.more is not None:
                found = emit.add(found, emit.load(place, lanes, kept[v]))
            emit.store(found, place, inside[v])

    def ahead(self, panel: Panel, strip: Value) -> Callable[[Value], str] | None:
        """Return what the tiles of a strip fetch at each step: each of two strips half a panel."""
        emit, lanes = self.emit, self.lanes
        if not panel.ahead:
            return None
        early = emit.compare("lt", strip, VECTORS)
        step = emit.select(early, self.ldb, 0)
        start = self.at(panel.ahead, self.times(strip, literal(lanes, INT64)))
        name = emit.fresh("p")
        emit.line(f"{name} = select i1 {early.text}, ptr {start}, ptr {panel.packed}")
        if not self.product.transpose_b:
            return lambda depth: self.at(name, self.times(depth, step))

        def line(depth: Value) -> str:
            row = emit.binary("urem", depth, self.wide)
            part = emit.mul(emit.binary("udiv", depth, self.wide), self.wide)
            return self.at(name, emit.add(emit.mul(row, step), part))

        return line

    def place(self, c: str, row: int, vector: int) -> str:
        """Return the address of one vector of C."""
        across = self.times(literal(row, INT64), self.ldc)
        return self.at(c, self.plus(across, vector * self.lanes))

    def kept_before(self, more: Value | None, inside: Value | None) -> Value | None:
        """Return where C holds sums of earlier terms; if these are the first, nowhere."""
        if more is None:
            return None
        mask = self.emit.splat(more, self.lanes)
        return mask if inside is None else self.emit.binary("and", mask, inside)

    # -- packing -----------------------------------------------------------------------------

    def pack_a(self, a: str, rows: Value, depth: Value) -> None:
        """Copy rows of A in strips, each step of the sums after the other."""
        count = self.quotient(self.plus(rows, self.height - 1), self.height)

        def strip(number: Value, state: Carried) -> Carried:
            row = self.times(number, literal(self.height, INT64))
            deep = literal(self.deep * self.tall, INT64)
            to = self.at(self.a_at, self.times(number, deep))
            if self.product.transpose_a:
                left = self.emit.minimum(self.emit.sub(rows, row), self.height)
                copy_rows(self, self.at(a, row), self.lda, depth, self.tall, left, to)
            else:
                turn_rows(self, a, self.lda, row, self.plus(rows, -1), depth, self.tall, to)
            return state

        repeat(self.emit, count, 1, {}, strip)

    def pack_b(self, b: str, column: Value, depth: Value, to: str) -> None:
        """Copy a panel of B so that its rows are adjacent."""
        if self.product.transpose_b:
            turn_rows(self, b, self.ldb, column, self.plus(self.n, -1), depth, self.wide, to)
            return
        n = self.product.n
        exact = isinstance(n, int) and n % self.wide == 0
        left = None if exact else self.emit.sub(self.n, column)
        copy_rows(self, self.at(b, column), self.ldb, depth, self.wide, left, to)
