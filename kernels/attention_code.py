"""Attention as LLVM text: the loops over heads, blocks of queries and blocks of keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from .addressing import Addressing
from .attention import rounded
from .control import Carried, is_constant, repeat
from .emitter import Emitter, Value, as_internal, literal
from .expressions import BOOL, INT64
from .llvm import print_function
from .loops import Extent
from .philox import NUMBERS, print_blocks, threshold
from .target import Target

if TYPE_CHECKING:
    from .attention import AttentionKernel

KEPT_START: Final = NUMBERS
"""Bytes before the first row of random bits: its first block may begin that much earlier."""


def print_attention(kernel: AttentionKernel, target: Target, declarations: dict[str, str]) -> str:
    """Print the kernel and the functions that it calls."""
    emit = Emitter(declarations)
    driver = (_Gradient if kernel.gradient else _Forward)(emit, kernel)
    driver.run()
    parts = [print_function(f, target, declarations) for f in kernel.loops().values()]
    parts += [gemm.llvm(target, declarations) for gemm in kernel.products().values()]
    parts = [as_internal(part) for part in parts]
    if kernel.attention.p:
        parts.append(print_blocks(f"{kernel.name}.kept", "kept"))
    params = [f"ptr %of.{name}" for name in kernel.buffers]
    params += [f"i64 %arg.{name}" for name in kernel.ints]
    return "\n\n".join([*parts, emit.define(kernel.name, params)])


class _Driver(Addressing):
    """What both directions share: the heads, and the calls of products and loops."""

    def __init__(self, emit: Emitter, kernel: AttentionKernel) -> None:
        super().__init__(emit, kernel.attention.dtype)
        self.kernel, self.attention = kernel, kernel.attention
        self.queries, self.keys = self.size(self.attention.queries), self.size(self.attention.keys)
        self.products, self.loops = kernel.products(), kernel.loops()
        self.pieces: dict[str, str] = {}
        self.head: dict[str, str] = {}
        self.number = literal(0, INT64)
        self.above = literal(0, INT64)
        """Queries before the first one of this block, where the first axis counts blocks."""

    # -- sizes -------------------------------------------------------------------------------

    def size(self, extent: Extent) -> Value:
        """Return a size: a constant, or an argument of the kernel."""
        found = Value(f"%arg.{extent}", INT64)
        return literal(extent, INT64) if isinstance(extent, int) else found

    def times(self, x: Value, y: Value | Extent) -> Value:
        """Multiply integers, one of them perhaps an argument's name."""
        return super().times(x, self.size(y) if isinstance(y, str) else y)

    def quotient(self, x: Value, divisor: int) -> Value:
        """Divide a size."""
        if is_constant(x):
            return literal(int(x.text) // divisor, INT64)
        return self.emit.binary("sdiv", x, divisor)

    def rounded(self, x: Value) -> Value:
        """Return a size as a multiple of a vector."""
        if is_constant(x):
            return literal(rounded(int(x.text)), INT64)
        return self.emit.binary("and", self.emit.add(x, 15), -16)

    # -- calls -------------------------------------------------------------------------------

    def loop(self, role: str, pointers: Sequence[str], **ints: Value) -> None:
        """Call a loop function, if there is one of that role."""
        function = self.loops[role]
        args = [f"ptr {p}" for p in pointers]
        args += [f"i64 {ints[n].text if n in ints else f'%arg.{n}'}" for n in function.ints]
        self.emit.line(f"call void @{function.name}({', '.join(args)})")

    def multiply(self, role: str, a: str, b: str, c: str, rows: Value, columns: Value) -> None:
        """Call a product."""
        gemm = self.products[role]
        sizes = {"rows": rows, "columns": columns}
        args = [f"ptr {p}" for p in (a, b, c)] + [f"i64 {sizes[n].text}" for n in gemm.ints]
        self.emit.line(f"call void @{gemm.name}({', '.join(args)})")

    # -- heads -------------------------------------------------------------------------------

    def run(self) -> None:
        """Print the loops over the leading axes."""
        start = literal(0, INT64)
        for name, (rows, width) in self.kernel.workspace().items():
            self.pieces[name] = self.at("%of.workspace", start)
            start = self.plus(start, self.rounded(self.times(self.size(rows), width)))
        first = literal(0, INT64)
        heads = literal(1, INT64)
        for size in self.attention.inner:
            heads = self.times(heads, size)
        if "start" in self.kernel.buffers:
            moved = self.emit.fresh("m")
            begin = self.emit.fresh("m")
            self.emit.line(f"{moved} = ptrtoint ptr %of.lse to i64")
            self.emit.line(f"{begin} = ptrtoint ptr %of.start to i64")
            distance = self.emit.sub(Value(moved, INT64), Value(begin, INT64))
            each = self.queries if self.attention.split else self.times(heads, self.queries)
            first = self.emit.binary("sdiv", distance, self.times(each, self.dtype.itemsize))
        self.axis(0, {}, literal(0, INT64), first)

    def axis(self, depth: int, offsets: dict[str, Value], flat: Value, number: Value) -> None:
        """Print the loop over one leading axis; `flat` counts the heads, `number` all of them."""
        inner = self.attention.inner
        if depth > len(inner):
            self.number = number
            self.locate(offsets, flat)
            self.one()
            return

        def step(index: Value, state: Carried) -> Carried:
            moved = dict(offsets)
            for name, strides in self.attention.strides:
                if strides.lead[depth]:
                    own = self.times(index, strides.lead[depth])
                    moved[name] = self.plus(moved.get(name, literal(0, INT64)), own)
            size = inner[depth - 1] if depth else 1
            if self.attention.split and not depth:
                self.above = self.times(self.plus(number, index), self.queries)
            following = self.plus(self.times(flat, size), index)
            self.axis(depth + 1, moved, following, self.plus(self.times(number, size), index))
            return state

        count = self.size(inner[depth - 1] if depth else "n")
        repeat(self.emit, count, 1, {}, step)

    def locate(self, offsets: dict[str, Value], flat: Value) -> None:
        """Find the operands of one head."""
        a = self.attention
        whole = {
            "query": (self.queries, a.width), "key": (self.keys, a.width),
            "value": (self.keys, a.value_width), "out": (self.queries, a.value_width),
            "lse": (self.queries, 1), "dout": (self.queries, a.value_width),
            "dquery": (self.queries, a.width), "dkey": (self.keys, a.width),
            "dvalue": (self.keys, a.value_width),
        }  # fmt: skip
        known = dict(a.strides)
        for name in self.kernel.buffers:
            if name in known:
                dtype = a.mask.dtype if name == "mask" and a.mask is not None else None
                offset = offsets.get(name, literal(0, INT64))
                offset = self.plus(offset, self.size(known[name].offset))
                self.head[name] = self.at(f"%of.{name}", offset, dtype)
            elif name in whole:
                rows, width = whole[name]
                each = self.times(self.times(flat, rows), width)
                self.head[name] = self.at(f"%of.{name}", each)

    def packed(self, name: str) -> str:
        """Bring an operand's rows together if they lie apart; return where they are."""
        if f"pack_{name}" not in self.loops:
            return self.head[name]
        self.loop(f"pack_{name}", [self.head[name], self.pieces[name]])
        return self.pieces[name]

    def one(self) -> None:
        """Print what is done for one head."""
        raise NotImplementedError

    # -- blocks ------------------------------------------------------------------------------

    def blocks(
        self,
        size: Value,
        step: int,
        extent: Extent,
        stop: Value | None,
        body: Callable[[Value, Value], None],
    ) -> None:
        """Print a loop over blocks: `body(first, count)`; `stop` is how many of them to do."""

        def block(index: Value, state: Carried) -> Carried:
            first = self.times(index, step)
            count = literal(step, INT64)
            if isinstance(extent, str):
                count = self.emit.minimum(self.emit.sub(size, first), step)
            body(first, count)
            return state

        if stop is None:
            stop = self.quotient(self.plus(size, literal(step - 1, INT64)), step)
        repeat(self.emit, stop, 1, {}, block)

    def key_blocks(self, first: Value, rows: Value) -> Value | None:
        """Return how many blocks of keys some queries look at; None: all."""
        a = self.attention
        if not a.causal or a.single:
            return None
        seen = self.emit.minimum(self.plus(first, rows), self.keys)
        return self.emit.binary("sdiv", self.plus(seen, a.across - 1), a.across)

    def beside(self, row: Value, column: Value, rows: Value, columns: Value) -> list[str]:
        """Return where the mask and the random bits of a block are, the bits drawn."""
        a, found = self.attention, []
        if a.mask is not None:
            offset = self.plus(self.times(row, a.mask.row), self.times(column, a.mask.column))
            found.append(self.at(self.head["mask"], offset, a.mask.dtype))
        if a.p:
            self.draw(row, column, rows, columns)
            found.append(self.at(self.pieces["kept"], KEPT_START, BOOL))
        return found

    def draw(self, row: Value, column: Value, rows: Value, columns: Value) -> None:
        """Draw the random bits of a block: element e of all scores has bit e of the key."""
        a, emit = self.attention, self.emit
        above = self.plus(self.times(self.number, self.queries), row)

        def one(index: Value, state: Carried) -> Carried:
            first = self.plus(self.times(self.plus(above, index), self.keys), column)
            block = emit.binary("lshr", first, 3)
            inside = emit.binary("and", first, NUMBERS - 1)
            count = emit.add(emit.add(inside, columns), NUMBERS - 1)
            count = emit.binary("lshr", count, 3)
            target = self.plus(self.times(index, a.kept_row), KEPT_START)
            place = self.at(self.pieces["kept"], emit.sub(target, inside), BOOL)
            emit.line(
                f"call void @{self.kernel.name}.kept(ptr %of.random, ptr {place},"
                f" i64 {block.text}, i64 {count.text}, i32 {threshold(a.p)})"
            )
            return state

        repeat(emit, rows, 1, {}, one)


class _Forward(_Driver):
    def one(self) -> None:
        key, value = self.packed("key"), self.packed("value")
        a = self.attention

        def queries(first: Value, rows: Value) -> None:
            seen = self.key_blocks(self.plus(self.above, first), rows)
            source = self.at(self.head["query"], self.times(first, a.row_of("query")))
            self.loop("pack_query", [source, self.pieces["query"]], rows=rows)
            if not a.single:
                self.loop("clear_sums", [self.pieces["sums"]])
                self.loop("clear_total", [self.pieces["total"]])
                self.loop("clear_top", [self.pieces["top"]])

            def keys(column: Value, columns: Value) -> None:
                self.step(first, rows, column, columns, key, value)

            self.blocks(self.keys, a.across, a.columns, seen, keys)
            out = self.at(self.head["out"], self.times(first, a.value_width))
            lse = self.at(self.head["lse"], first)
            sums = [self.pieces[name] for name in ("top", "total", "sums")]
            self.loop("finish", [*sums, out, lse], rows=rows)

        self.blocks(self.queries, a.height, a.rows, None, queries)

    def step(
        self, row: Value, rows: Value, column: Value, columns: Value, key: str, value: str
    ) -> None:
        """Print the meeting of a block of queries and a block of keys."""
        a = self.attention
        scores, sums = self.pieces["scores"], self.pieces["sums"]
        at_key = self.at(key, self.times(column, a.width))
        at_value = self.at(value, self.times(column, a.value_width))
        self.multiply("scores", self.pieces["query"], at_key, scores, rows, columns)
        buffers = [scores, self.pieces["top"], self.pieces["total"], sums]
        buffers += self.beside(row, column, rows, columns)
        first_row = self.plus(self.above, row)
        self.loop(
            "softmax", buffers,
            rows=rows, columns=columns, first_row=first_row, first_column=column,
        )  # fmt: skip
        self.multiply("sums", scores, at_value, sums, rows, columns)


class _Gradient(_Driver):
    def one(self) -> None:
        key, value, dout = (self.packed(name) for name in ("key", "value", "dout"))
        a = self.attention
        self.loop("pack_query", [self.head["query"], self.pieces["query"]])
        self.loop("deltas", [dout, self.head["out"], self.pieces["delta"]])
        elements = {
            "dquery": self.times(self.queries, a.width), "dkey": self.times(self.keys, a.width),
            "dvalue": self.times(self.keys, a.value_width),
        }  # fmt: skip
        for name, count in elements.items():
            self.loop(f"clear_{name}", [self.head[name]], elements=count)

        def queries(first: Value, rows: Value) -> None:
            def keys(column: Value, columns: Value) -> None:
                self.step((first, rows, column, columns), key, value, dout)

            self.blocks(self.keys, a.across, a.columns, self.key_blocks(first, rows), keys)

        self.blocks(self.queries, a.height, a.rows, None, queries)
        self.loop("scale", [self.head["dquery"]], elements=elements["dquery"])

    def step(
        self, place: tuple[Value, Value, Value, Value], key: str, value: str, dout: str
    ) -> None:
        """Print what a block of queries and a block of keys give each other."""
        a = self.attention
        row, rows, column, columns = place
        scores, douts = self.pieces["scores"], self.pieces["douts"]
        query = self.at(self.pieces["query"], self.times(row, a.width))
        at_key = self.at(key, self.times(column, a.width))
        at_value = self.at(value, self.times(column, a.value_width))
        at_dout = self.at(dout, self.times(row, a.value_width))
        self.multiply("scores", query, at_key, scores, rows, columns)
        self.multiply("douts", at_dout, at_value, douts, rows, columns)
        along = [self.at(self.head["lse"], row), self.at(self.pieces["delta"], row)]
        self.loop(
            "slopes", [scores, douts, *along, *self.beside(row, column, rows, columns)],
            rows=rows, columns=columns, first_row=row, first_column=column,
        )  # fmt: skip
        dvalue = self.at(self.head["dvalue"], self.times(column, a.value_width))
        dkey = self.at(self.head["dkey"], self.times(column, a.width))
        dquery = self.at(self.head["dquery"], self.times(row, a.width))
        self.multiply("dvalue", scores, at_dout, dvalue, rows, columns)
        self.multiply("dkey", douts, query, dkey, rows, columns)
        self.multiply("dquery", douts, at_key, dquery, rows, columns)
