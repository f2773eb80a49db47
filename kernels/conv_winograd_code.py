"""Winograd's convolution as LLVM text: pixels, products and outputs of strips, and their loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .control import Carried, repeat, when
from .conv_direct_code import DirectPrinter
from .conv_strip import print_copy
from .conv_tile import Operand, Taps, Writer
from .conv_winograd_transforms import (
    POINTS,
    Column,
    WeightsPrinter,
    is_special,
    output_transform,
    pixels_transform,
)
from .emitter import Emitter, Value, as_internal, literal, type_text
from .expressions import BOOL, FLOAT32, INT64
from .gemm_pack import turn

if TYPE_CHECKING:
    from .conv_winograd import WinogradConv


class WinogradPrinter:
    """Prints the loop over units and the functions that it calls."""

    def __init__(self, conv: WinogradConv, declarations: dict[str, str]) -> None:
        self.conv, self.declarations = conv, declarations
        self.direct = DirectPrinter(conv.direct, declarations)

    def _begin(self) -> Writer:
        return Writer(Emitter(self.declarations), FLOAT32, self.conv.lanes)

    def text(self) -> str:
        """Return all functions."""
        conv, name = self.conv, self.conv.name
        copy = print_copy(f"{name}.copy", conv.direct.strip, self.declarations)
        parts = [copy, self.direct.rows(), self.pixels(), self.products(), self.outputs()]
        if not conv.packed:
            parts.append(WeightsPrinter(f"{name}.weights", conv, self.declarations).text())
        write = self._begin()
        self.units(write)
        ends = [f"ptr %ending.{i}" for i in range(len(self.direct.reaches))]
        packed = ("packed",) if conv.packed else ()
        roles = ("image", "weight", "out", *packed, "workspace")
        params = [*(f"ptr %conv.{p}" for p in roles), *ends, "i64 %arg.first", "i64 %arg.n"]
        whole = write.emit.define(name, params)
        return "\n\n".join([*map(as_internal, parts), whole])

    # -- the loops ---------------------------------------------------------------------------

    def units(self, write: Writer) -> None:
        """Print the loop over units."""
        conv, emit = self.conv, write.emit
        packed = "%conv.packed"
        if not conv.packed:
            packed = write.at("%conv.workspace", conv.room)
            pointers = f"ptr %conv.weight, ptr {packed}, ptr %conv.workspace"
            emit.line(f"call void @{conv.name}.weights({pointers}, i64 0, i64 {conv.blocks})")
        heavy = self.heavy_weights(write, packed)

        def unit(index: Value, state: Carried) -> Carried:
            number = emit.add(Value("%arg.first", INT64), index)
            image = emit.binary("udiv", number, conv.strips)
            within = emit.binary("urem", number, conv.strips)
            self.unit(write, image, within, packed, heavy)
            return state

        repeat(emit, Value("%arg.n", INT64), 1, {}, unit)

    def heavy_weights(self, write: Writer, packed: str) -> Value:
        """Return whether some weight is special."""
        conv = self.conv
        count = conv.blocks * conv.block
        squares = write.at(packed, conv.packed_size - count)

        def vector(first: Value, state: Carried) -> Carried:
            found = is_special(write, write.load(write.at(squares, first), 0, conv.lanes))
            return {"found": write.emit.binary("or", state["found"], found)}

        none = {"found": literal(False, BOOL)}
        return repeat(write.emit, literal(count, INT64), conv.lanes, none, vector)["found"]

    def unit(self, write: Writer, image: Value, within: Value, packed: str, heavy: Value) -> None:
        """Print one strip of one image."""
        conv, emit, view = self.conv, write.emit, self.conv.direct.view
        height, width = conv.direct.size
        source, target = "%conv.image", "%conv.out"
        if conv.kind == "input_grad":
            source, target = target, source
        pixels = conv.weights.inputs * view.height * view.width
        source = write.at(source, write.times(image, pixels))
        rows = 2 * conv.tile_rows
        top = write.times(within, rows)
        lines = emit.minimum(emit.sub(literal(height, INT64), top), rows)
        first = write.times(image, conv.weights.outputs * height * width)
        further = write.plus(first, write.times(top, width))
        ends = [f"%ending.{i}" for i in range(len(self.direct.reaches))]
        places = [write.at(target, further), *self.direct.moved(write, ends, further)]
        emit.line(f"call void @{conv.name}.copy(ptr {source}, ptr %conv.workspace, i64 {top.text})")
        special = emit.binary("or", self.transformed(write), heavy)

        def directly(state: Carried) -> Carried:
            self.direct.blocks(write, "%conv.workspace", "%conv.weight", places, lines)
            return state

        def quickly(state: Carried) -> Carried:
            self.blocks(write, packed, places, lines)
            return state

        when(emit, special, {}, directly)
        when(emit, emit.binary("xor", special, literal(True, BOOL)), {}, quickly)

    def transformed(self, write: Writer) -> Value:
        """Print how a strip's pixels are transformed; return whether some are special."""
        conv, emit = self.conv, write.emit
        to, _, _ = (write.at("%conv.workspace", place) for place in conv.places)
        emit.entry.append(f"  %squares = alloca {type_text(FLOAT32, conv.lanes)}, align 64")
        emit.line(f"call void @{conv.name}.pixels(ptr %conv.workspace, ptr {to}, ptr %squares)")
        return is_special(write, write.load("%squares", 0, conv.lanes))

    def blocks(self, write: Writer, packed: str, places: list[str], lines: Value) -> None:
        """Print the loop over blocks of filters of a strip."""
        conv, emit = self.conv, write.emit
        plane = conv.direct.size[0] * conv.direct.size[1]
        pixels, products, _ = (write.at("%conv.workspace", place) for place in conv.places)
        rows = emit.binary("udiv", write.plus(lines, 1), 2)

        def block(b: Value, state: Carried) -> Carried:
            start = write.up_to(b, conv.block, max(conv.weights.outputs - conv.block, 0))
            weights = write.at(packed, write.times(b, POINTS * conv.weights.inputs * conv.block))
            emit.line(
                f"call void @{conv.name}.products(ptr {pixels}, ptr {weights}, ptr {products}, "
                f"i64 {rows.text})"
            )
            planes = write.times(start, plane)
            ends = self.direct.moved(write, places[1:], planes, start)
            shown = ", ".join(f"ptr {p}" for p in (write.at(places[0], planes), *ends))
            emit.line(f"call void @{conv.name}.outputs(ptr {products}, {shown}, i64 {lines.text})")
            return state

        repeat(emit, literal(conv.blocks, INT64), 1, {}, block)

    # -- pixels ------------------------------------------------------------------------------

    def pixels(self) -> str:
        """Print `void pixels(strip, transformed, squares)`."""
        conv, write = self.conv, self._begin()
        emit, strip, columns = write.emit, conv.direct.strip, conv.grid[1]
        lanes = conv.beside
        last = max(columns - lanes, 0)

        def channel(c: Value, state: Carried) -> Carried:
            plane = write.at("%strip", write.times(c, strip.plane))
            to = write.at("%to", write.times(c, conv.pitch))

            def vector(v: Value, state: Carried) -> Carried:
                first = write.up_to(v, lanes, last)
                at = write.at(plane, write.times(first, 2))
                return self.tile_column(write, at, write.at(to, first), lanes, state)

            return repeat(emit, literal(-(-columns // lanes), INT64), 1, state, vector)

        start = {"squares": literal(0.0, FLOAT32, lanes)}
        state = repeat(emit, literal(conv.weights.inputs, INT64), 1, start, channel)
        squares = state["squares"]
        if columns < lanes:
            squares = emit.select(emit.prefix(columns, lanes), squares, 0.0)
        write.store(literal(0.0, FLOAT32, conv.lanes), "%squares", 0)  # there may be fewer lanes
        write.store(squares, "%squares", 0)
        params = ("ptr %strip", "ptr %to", "ptr %squares")
        return emit.define(f"{conv.name}.pixels", params)

    def tile_column(
        self, write: Writer, source: str, to: str, lanes: int, state: Carried
    ) -> Carried:
        """Print the tiles below each other from some tiles that lie side by side on."""
        conv, pitch = self.conv, self.conv.direct.strip.pitch
        squares = state["squares"]
        above = [self.line(write, source, row * pitch, lanes) for row in (0, 1)]
        carried: Carried = {}
        for row, line in enumerate(above):
            for x in line:
                squares = write.emit.fma(x, x, squares)
            carried |= {f"{row}.{i}": x for i, x in enumerate(line)}
        carried["squares"] = squares

        def tile(i: Value, state: Carried) -> Carried:
            at = write.at(source, write.times(i, 2 * pitch))
            place = write.at(to, write.times(i, conv.grid[1]))
            below = [self.line(write, at, row * pitch, lanes) for row in (2, 3)]
            squares = state["squares"]
            for line in below:
                for x in line:
                    squares = write.emit.fma(x, x, squares)
            rows = [[state[f"{row}.{i}"] for i in range(4)] for row in (0, 1)] + below
            for column in range(4):
                found = pixels_transform(write, [row[column] for row in rows])
                for row, x in enumerate(found):
                    write.store(x, place, (4 * row + column) * conv.point)
            after = {f"{row}.{i}": x for row, line in enumerate(below) for i, x in enumerate(line)}
            return {**after, "squares": squares}

        state = repeat(write.emit, literal(conv.tile_rows, INT64), 1, carried, tile)
        return {"squares": state["squares"]}

    def line(self, write: Writer, source: str, offset: int, lanes: int) -> Column:
        """Print the transform of one row of pixels of tiles that lie side by side."""
        emit, kind = write.emit, type_text(FLOAT32, lanes)

        def two(first: int) -> Column:
            halves = [write.load(source, offset + first + i * lanes, lanes) for i in (0, 1)]
            found = []
            for odd in (0, 1):
                picks = ", ".join(f"i32 {2 * lane + odd}" for lane in range(lanes))
                text = f"shufflevector {kind} {halves[0].text}, {kind} {halves[1].text}, "
                found.append(emit.value(f"{text}<{lanes} x i32> <{picks}>", FLOAT32, lanes))
            return found

        return pixels_transform(write, [*two(0), *two(2)])

    # -- products ----------------------------------------------------------------------------

    def products(self) -> str:
        """Print `void products(transformed, weights, products, rows)` of one block of filters."""
        conv, write = self.conv, self._begin()
        emit, rows, vectors = write.emit, conv.tiling.rows, conv.tiling.vectors
        inputs, block, lanes = conv.weights.inputs, conv.block, conv.lanes
        count = write.times(Value("%rows", INT64), conv.grid[1])
        count = emit.binary("udiv", write.plus(count, rows - 1), rows)

        def point(p: Value, state: Carried) -> Carried:
            pixels = write.at("%pixels", write.times(p, conv.point))
            weights = write.at("%weights", write.times(p, inputs * block))
            to = write.at("%to", write.times(p, block))

            def tile(t: Value, state: Carried) -> Carried:
                scalars = Operand(write.at(pixels, write.times(t, rows)), range(rows))
                packed = Operand(weights, [v * lanes for v in range(vectors)])
                nest = [Taps(inputs, conv.pitch, block)]
                sums = write.sums(nest, scalars, packed, write.zeros(rows, vectors))
                place = write.at(to, write.times(t, rows * conv.product))
                for row in range(rows):
                    for v in range(vectors):
                        write.store(sums[f"{row}.{v}"], place, row * conv.product + v * lanes)
                return state

            repeat(emit, count, 1, {}, tile)
            return state

        repeat(emit, literal(POINTS, INT64), 1, {}, point)
        params = ("ptr %pixels", "ptr %weights", "ptr %to", "i64 %rows")
        return emit.define(f"{conv.name}.products", params)

    # -- outputs -----------------------------------------------------------------------------

    def outputs(self) -> str:
        """Print `void outputs(products, target, ending's..., lines)` of one block of filters."""
        conv, write = self.conv, self._begin()
        emit, lanes, columns = write.emit, conv.lanes, conv.grid[1]
        width, half = conv.direct.size[1], conv.lanes // 2
        ends = [f"%end.{i}" for i in range(len(self.direct.reaches))]
        emit.entry.append(f"  %square = alloca [{2 * lanes * lanes} x float], align 64")
        rows = emit.binary("udiv", write.plus(Value("%lines", INT64), 1), 2)

        def row(i: Value, state: Carried) -> Carried:
            y = write.times(i, 2)
            below = emit.compare("lt", write.plus(y, 1), Value("%lines", INT64))
            line = write.times(y, width)

            def group(g: Value, state: Carried) -> Carried:
                first = write.times(g, lanes)
                tile = write.plus(write.times(i, columns), write.times(g, half))
                source = write.at("%products", write.times(tile, conv.product))
                further = write.plus(line, first)
                places = [write.at("%target", further), *self.direct.moved(write, ends, further)]
                self.squares(write, source, places, first, below)
                return state

            repeat(emit, literal(-(-columns // half), INT64), 1, {}, group)
            return state

        repeat(emit, rows, 1, {}, row)
        params = ["ptr %products", "ptr %target", *(f"ptr {end}" for end in ends), "i64 %lines"]
        return emit.define(f"{conv.name}.outputs", params)

    def squares(
        self, write: Writer, source: str, places: list[str], first: Value, below: Value
    ) -> None:
        """Print the outputs of some tiles, by vectors of filters: two rows of pixels."""
        conv, emit, lanes = self.conv, write.emit, self.conv.lanes
        height, width = conv.direct.size
        plane = height * width
        mask = write.inside(first, width)

        def vector(v: Value, state: Carried) -> Carried:
            at = write.at(source, v)

            def tile(t: Value, state: Carried) -> Carried:
                self.one_tile(write, write.at(at, write.times(t, conv.product)), t)
                return state

            repeat(emit, literal(lanes // 2, INT64), 1, {}, tile)
            planes = write.times(v, plane)
            ends = self.direct.moved(write, places[1:], planes, v)
            targets = [write.at(places[0], planes), *ends]
            self.turned(write, 0, targets, mask)

            def second(state: Carried) -> Carried:
                lower = [write.at(targets[0], width), *self.direct.moved(write, ends, width)]
                self.turned(write, 1, lower, mask)
                return state

            when(emit, below, {}, second)
            return state

        repeat(emit, literal(conv.block, INT64), lanes, {}, vector)

    def one_tile(self, write: Writer, source: str, t: Value) -> None:
        """Print the outputs of one tile, filters in lanes."""
        block, lanes = self.conv.block, self.conv.lanes
        products = [write.load(source, point * block, lanes) for point in range(POINTS)]
        across = [output_transform(write, products[4 * row : 4 * row + 4]) for row in range(4)]
        place = write.at("%square", write.times(t, 2 * lanes))
        for column in (0, 1):
            found = output_transform(write, [row[column] for row in across])
            for row, x in enumerate(found):
                write.store(x, place, (row * lanes + column) * lanes)

    def turned(self, write: Writer, row: int, places: list[str], mask: Value | None) -> None:
        """Print how a square of pixels by filters goes where it belongs."""
        conv, lanes = self.conv, self.conv.lanes
        plane = conv.direct.size[0] * conv.direct.size[1]
        found = [write.load("%square", (row * lanes + i) * lanes, lanes) for i in range(lanes)]
        for lane, pixels in enumerate(turn(write.emit, found)[: conv.weights.outputs]):
            done = self.direct.ended(write, pixels, places[1:], (lane * plane, lane), mask)
            write.store(done, places[0], lane * plane, mask)
