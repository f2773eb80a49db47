"""The transforms of Winograd's convolution as LLVM text, and the kernel that transforms weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .control import Carried, repeat
from .conv_tile import Writer
from .conv_weights import print_pack
from .emitter import Emitter, Value, as_internal, literal
from .expressions import BOOL, FLOAT32, INT64

if TYPE_CHECKING:
    from .conv_winograd import WinogradConv

POINTS: Final = 16
"""Products of a tile and a filter."""
LIMIT: Final = 2.0**104
"""Of a sum of squares: above it a number may be 2**52 or more."""
Column = list[Value]
"""Numbers that lie along one side of a tile."""


def pixels_transform(write: Writer, d: Column) -> Column:
    """Transform four pixels of a row or column."""
    emit = write.emit
    return [emit.sub(d[0], d[2]), emit.add(d[1], d[2]), emit.sub(d[2], d[1]), emit.sub(d[1], d[3])]


def weights_transform(write: Writer, g: Column) -> Column:
    """Transform three weights of a row or column."""
    ends = write.emit.add(g[0], g[2])
    return [g[0], write.emit.add(ends, g[1]), write.emit.sub(ends, g[1]), g[2]]


def output_transform(write: Writer, m: Column) -> Column:
    """Transform four sums of products of a row or column to two outputs."""
    emit = write.emit
    both, apart = emit.add(m[1], m[2]), emit.sub(m[1], m[2])
    return [emit.fma(both, 0.5, m[0]), emit.fma(apart, 0.5, emit.neg(m[3]))]


def is_special(write: Writer, squares: Value) -> Value:
    """Return whether some lane's sum of squares is not below the limit, or no number."""
    lanes = squares.lanes
    found = write.emit.compare("uge", squares, LIMIT)
    bits = f"bitcast <{lanes} x i1> {found.text} to i{lanes}"
    whole = write.emit.value(bits, BOOL, 0)
    return write.emit.value(f"icmp ne i{lanes} {whole.text}, 0", BOOL, 0)


class WeightsPrinter:
    """Prints the loop over blocks of filters that are transformed."""

    def __init__(self, name: str, conv: WinogradConv, declarations: dict[str, str]) -> None:
        self.name, self.conv, self.declarations = name, conv, declarations

    def text(self) -> str:
        """Return both functions."""
        conv, name = self.conv, self.name
        args = (conv.weights, conv.blocks, conv.block, FLOAT32, conv.lanes, self.declarations)
        pack = print_pack(f"{name}.pack", *args)
        write = Writer(Emitter(self.declarations), FLOAT32, conv.lanes)

        def block(index: Value, state: Carried) -> Carried:
            self.block(write, write.emit.add(Value("%arg.first", INT64), index))
            return state

        repeat(write.emit, Value("%arg.n", INT64), 1, {}, block)
        roles = ("weight", "packed", "workspace")
        params = (*(f"ptr %{role}" for role in roles), "i64 %arg.first", "i64 %arg.n")
        return "\n\n".join([as_internal(pack), write.emit.define(name, params)])

    def block(self, write: Writer, number: Value) -> None:
        """Print how one block is packed, then transformed."""
        conv, emit, name = self.conv, write.emit, self.name
        inputs, block, lanes = conv.weights.inputs, conv.block, conv.lanes
        # `print_pack` finds a block's place by its number, and the workspace holds one alone.
        back = write.times(number, -9 * inputs * block)
        own = write.at("%workspace", back)
        emit.line(f"call void @{name}.pack(ptr %weight, ptr {own}, i64 {number.text}, i64 1)")
        to = write.at("%packed", write.times(number, POINTS * inputs * block))
        squares = write.at("%packed", conv.packed_size - conv.blocks * block)
        squares = write.at(squares, write.times(number, block))

        def vector(v: Value, state: Carried) -> Carried:
            def one(c: Value, state: Carried) -> Carried:
                source = write.at("%workspace", write.plus(write.times(c, 9 * block), v))
                place = write.at(to, write.plus(write.times(c, block), v))
                return {"squares": self.filter(write, source, place, state["squares"])}

            zero = {"squares": literal(0.0, FLOAT32, lanes)}
            found = repeat(emit, literal(inputs, INT64), 1, zero, one)
            write.store(found["squares"], write.at(squares, v), 0)
            return state

        repeat(emit, literal(block, INT64), lanes, {}, vector)

    def filter(self, write: Writer, source: str, place: str, squares: Value) -> Value:
        """Print the transform of one channel of some filters; return their sums of squares."""
        block, lanes = self.conv.block, self.conv.lanes
        g = [[write.load(source, (3 * r + c) * block, lanes) for c in range(3)] for r in range(3)]
        for weight in (x for row in g for x in row):
            squares = write.emit.fma(weight, weight, squares)
        across = [weights_transform(write, row) for row in g]
        for column in range(4):
            found = weights_transform(write, [row[column] for row in across])
            for row, x in enumerate(found):
                write.store(x, place, (4 * row + column) * self.conv.weights.inputs * block)
        return squares
