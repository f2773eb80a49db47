"""A direct convolution as LLVM text: the loops over images, strips, filters and tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from .control import Carried, repeat
from .conv_ending import SUM, Reach, print_ending
from .conv_strip import print_copy
from .conv_tile import Operand, Taps, Writer
from .emitter import Emitter, Value, as_internal, literal, type_text
from .expressions import INT64
from .gemm_pack import turn

if TYPE_CHECKING:
    from .conv_direct import DirectConv

UNROLLED: Final = 256
"""Multiplications in one turn of the innermost loop, where the scalars are weights. Where they are
pixels it is one tap: with more, LLVM loads ahead of what the registers hold."""
PREFETCHED: Final = 128
"""Terms of a sum from which a tile takes so long that what it is written to is fetched before."""


class DirectPrinter:
    """Prints the loop over pieces and the functions that it calls."""

    def __init__(self, conv: DirectConv, declarations: dict[str, str]) -> None:
        self.conv, self.declarations = conv, declarations
        self.emit, self.write = self._begin()

    @property
    def reaches(self) -> tuple[Reach, ...]:
        """The reaches of the ending's buffers."""
        return self.conv.ending.reaches if self.conv.ending else ()

    def moved(
        self, write: Writer, others: Sequence[str], pixels: Value | int, filters: Value | int = 0
    ) -> list[str]:
        """Return the places of the ending's buffers so many pixels and filters further."""
        steps = {"image": pixels, "filter": filters, "one": 0}
        pairs = zip(others, self.reaches, strict=True)
        return [write.at(pointer, steps[reach]) for pointer, reach in pairs]

    def _begin(self) -> tuple[Emitter, Writer]:
        emit = Emitter(self.declarations)
        return emit, Writer(emit, self.conv.dtype, self.conv.lanes)

    def text(self) -> str:
        """Return all functions."""
        conv = self.conv
        parts = [self.rows()]
        if conv.packed_size and not conv.packed:
            parts.append(conv.packing(f"{conv.name}.pack").llvm(conv.target, self.declarations))
        if conv.strip.is_copied:
            parts.append(print_copy(f"{conv.name}.copy", conv.strip, self.declarations))
        parts = [as_internal(part) for part in parts]
        self.pieces()
        params = [f"ptr %conv.{p}" for p in ("image", "weight", "out", "workspace")]
        params += [f"ptr %ending.{i}" for i in range(len(self.reaches))]
        params += ["i64 %arg.first", "i64 %arg.n"]
        return "\n\n".join([*parts, self.emit.define(conv.name, params)])

    def pieces(self) -> None:
        """Print the loop over pieces."""
        conv, emit, write = self.conv, self.emit, self.write
        weight, strip = "%conv.weight", "%conv.workspace"
        if conv.packed_size and not conv.packed:
            weight = "%conv.workspace"
            strip = write.at(weight, conv.workspace - conv.strip.size)
            if not conv.strip.is_copied:
                strip = weight
            count = conv.groups * conv.blocks
            emit.line(
                f"call void @{conv.name}.pack(ptr %conv.weight, ptr {weight}, i64 0, i64 {count})"
            )

        def piece(index: Value, state: Carried) -> Carried:
            number = emit.add(Value("%arg.first", INT64), index)
            image, within = number, literal(0, INT64)
            if conv.pieces > 1:
                image = emit.binary("udiv", number, conv.pieces)
                within = emit.binary("urem", number, conv.pieces)

            def group(g: Value, state: Carried) -> Carried:
                self.group(write.plus(write.times(image, conv.groups), g), g, weight, strip, within)
                return state

            repeat(emit, literal(conv.groups, INT64), 1, {}, group)
            return state

        repeat(emit, Value("%arg.n", INT64), 1, {}, piece)

    def group(self, number: Value, g: Value, weight: str, strip: str, within: Value) -> None:
        """Print the strips of one group of one image."""
        conv, write = self.conv, self.write
        source, target = "%conv.image", "%conv.out"
        if conv.kind == "input_grad":
            source, target = target, source
        height, width = conv.size
        view = conv.view
        source = write.at(
            source, write.times(number, conv.strip.channels * view.height * view.width)
        )
        first = write.times(number, conv.weights.outputs * height * width)
        target = write.at(target, first)
        others = [f"%ending.{i}" for i in range(len(self.reaches))]
        others = self.moved(write, others, first, write.times(g, conv.weights.outputs))
        per_group = conv.packed_size // conv.groups or conv.weights.size
        weight = write.at(weight, write.times(g, per_group))

        def one(index: Value, state: Carried) -> Carried:
            strip_number = write.plus(write.times(within, conv.strips), index)
            top = write.up_to(strip_number, conv.strip.rows, height - conv.strip.rows)
            lines = write.times(top, width)
            ends = self.moved(write, others, lines)
            self.one_strip(source, weight, [write.at(target, lines), *ends], strip, top)
            return state

        repeat(self.emit, literal(conv.strips, INT64), 1, {}, one)

    def one_strip(
        self, source: str, weight: str, targets: list[str], strip: str, top: Value
    ) -> None:
        """Print the blocks of filters over one strip."""
        conv, emit, write = self.conv, self.emit, self.write
        if conv.strip.is_copied:
            emit.line(f"call void @{conv.name}.copy(ptr {source}, ptr {strip}, i64 {top.text})")
        else:
            strip = write.at(source, write.times(top, conv.view.stride[0] * conv.strip.pitch))

        self.blocks(write, strip, weight, targets, literal(conv.strip.rows, INT64))

    def blocks(
        self, write: Writer, strip: str, weight: str, targets: list[str], lines: Value
    ) -> None:
        """Print the blocks of filters over so many rows of a strip that is there."""
        conv, emit = self.conv, write.emit
        plane = conv.size[0] * conv.size[1]

        def block(b: Value, state: Carried) -> Carried:
            start = write.up_to(b, conv.block, max(conv.weights.outputs - conv.block, 0))
            if conv.packed_size:
                at = write.times(b, conv.packed_size // (conv.groups * conv.blocks))
            else:
                at = write.times(start, conv.weights.steps[0])
            planes = write.times(start, plane)
            ends = self.moved(write, targets[1:], planes, start)
            pointers = (strip, write.at(weight, at), write.at(targets[0], planes), *ends)
            shown = ", ".join([*(f"ptr {p}" for p in pointers), f"i64 {lines.text}"])
            emit.line(f"call void @{conv.name}.rows({shown})")
            return state

        repeat(emit, literal(conv.blocks, INT64), 1, {}, block)

    def rows(self) -> str:
        """Print the function that computes so many of a strip's rows of one block of filters."""
        conv = self.conv
        emit, write = self._begin()
        tiling, width = conv.tiling, conv.size[1]
        wide = tiling.rows if tiling.over == "filters" else tiling.vectors * conv.lanes
        last = max(width - wide, 0)
        ends = [f"%end.{i}" for i in range(len(self.reaches))]

        def row(y: Value, state: Carried) -> Carried:
            line = write.at("%source", write.times(y, conv.view.stride[0] * conv.strip.pitch))
            above = write.times(y, width)

            def tile(x: Value, state: Carried) -> Carried:
                start = write.up_to(x, wide, last)
                pixels = write.plus(above, start)
                places = [write.at("%target", pixels), *self.moved(write, ends, pixels)]
                if tiling.over == "filters":
                    seen = write.at(line, write.times(start, conv.view.stride[1]))
                    self.over_filters(write, seen, places)
                else:
                    self.over_pixels(write, write.at(line, start), places)
                return state

            repeat(emit, literal(-(-width // wide), INT64), 1, {}, tile)
            return state

        repeat(emit, Value("%lines", INT64), 1, {}, row)
        params = ["ptr %source", "ptr %weight", "ptr %target", *(f"ptr {end}" for end in ends)]
        params.append("i64 %lines")
        return emit.define(f"{conv.name}.rows", params)

    def over_filters(self, write: Writer, source: str, places: list[str]) -> None:
        """Print one tile whose lanes are filters, turned at the end to lie as pixels."""
        conv, lanes = self.conv, self.conv.lanes
        rows, vectors = conv.tiling.rows, conv.tiling.vectors
        columns, block = conv.window.kernel[1], conv.block
        strip, dilation = conv.strip, conv.view.dilation
        image = (strip.plane, dilation[0] * strip.pitch, dilation[1])
        packed_steps = (conv.taps * block, columns * block, block)
        counts = (conv.weights.inputs, *conv.window.kernel)
        nest = [Taps(*steps) for steps in zip(counts, image, packed_steps, strict=True)]
        scalars = Operand(source, [x * conv.view.stride[1] for x in range(rows)])
        packed = Operand("%weight", [v * lanes for v in range(vectors)])
        if conv.weights.inputs * conv.taps >= PREFETCHED:
            self.prefetch(write, places[0])
        sums = write.sums(nest, scalars, packed, write.zeros(rows, vectors))
        self.put(write, sums, places)

    def prefetch(self, write: Writer, target: str) -> None:
        """Print how the lines that a tile is going to be written to are fetched meanwhile."""
        plane = self.conv.size[0] * self.conv.size[1]

        def one(f: Value, state: Carried) -> Carried:
            end = write.plus(write.times(f, plane), self.conv.tiling.rows - 1)
            write.emit.prefetch(write.at(target, end), write=True)
            return state

        count = min(self.conv.block, self.conv.weights.outputs)
        repeat(write.emit, literal(count, INT64), 1, {}, one)

    def put(self, write: Writer, sums: Carried, places: list[str]) -> None:
        """Print how sums become rows of pixels: by way of the stack, square by square."""
        conv, lanes, emit = self.conv, self.conv.lanes, write.emit
        rows, vectors, block = conv.tiling.rows, conv.tiling.vectors, conv.block
        squares = -(-rows // lanes)
        size = f"[{squares * lanes * block} x {type_text(conv.dtype, 0)}]"
        emit.entry.append(f"  %sums = alloca {size}, align 64")
        for row in range(rows):
            for v in range(vectors):
                write.store(sums[f"{row}.{v}"], "%sums", row * block + v * lanes)
        plane = conv.size[0] * conv.size[1]

        def square(first: Value, v: Value) -> None:
            source = write.at("%sums", write.plus(write.times(first, block), v))
            further = write.plus(write.times(v, plane), first)
            place, ends = write.at(places[0], further), self.moved(write, places[1:], further, v)
            turned = turn(emit, [write.load(source, i * block, lanes) for i in range(lanes)])
            mask = write.inside(first, rows)
            for lane, pixels in enumerate(turned[: conv.weights.outputs]):
                done = self.ended(write, pixels, ends, (lane * plane, lane), mask)
                write.store(done, place, lane * plane, mask)

        def vector(v: Value, state: Carried) -> Carried:
            def part(first: Value, state: Carried) -> Carried:
                square(first, v)
                return state

            return repeat(emit, literal(squares * lanes, INT64), lanes, state, part)

        repeat(emit, literal(block, INT64), lanes, {}, vector)

    def over_pixels(self, write: Writer, source: str, places: list[str]) -> None:
        """Print one tile whose lanes are pixels of a row."""
        conv, lanes = self.conv, self.conv.lanes
        rows, vectors = conv.tiling.rows, conv.tiling.vectors
        strip, weights = conv.strip, conv.weights
        along = tuple(strip.column(s * conv.view.dilation[1]) for s in range(weights.kernel[1]))
        step = along if strip.phases > 1 else conv.view.dilation[1]
        down = conv.view.dilation[0] * strip.pitch
        unrolled = weights.kernel[1] * rows * vectors <= UNROLLED
        nest = [
            Taps(weights.inputs, weights.steps[1], strip.plane),
            Taps(weights.kernel[0], weights.steps[2], down),
            Taps(weights.kernel[1], weights.steps[3], step, unrolled),
        ]
        first = [weights.start + row * weights.steps[0] for row in range(rows)]
        pixels = Operand(source, [v * lanes for v in range(vectors)])
        scalars = Operand("%weight", first)
        sums = write.sums(nest, scalars, pixels, write.zeros(rows, vectors))
        plane, width = conv.size[0] * conv.size[1], conv.size[1]
        for row in range(rows):
            for v in range(vectors):
                left = width - v * lanes
                mask = write.emit.prefix(left, lanes) if left < lanes else None
                further = row * plane + v * lanes
                done = self.ended(write, sums[f"{row}.{v}"], places[1:], (further, row), mask)
                write.store(done, places[0], further, mask)

    def ended(
        self,
        write: Writer,
        sums: Value,
        places: list[str],
        further: tuple[int, int],
        mask: Value | None,
    ) -> Value:
        """Print the ending of one vector of pixels, so many pixels and filters behind `places`."""
        if self.conv.ending is None:
            return sums
        names = {SUM: sums}
        for i, (place, reach) in enumerate(zip(places, self.reaches, strict=True)):
            if reach == "image":
                names[f"x{i}"] = write.load(place, further[0], self.conv.lanes, mask)
            else:
                one = write.load(place, further[1] if reach == "filter" else 0, 0)
                names[f"x{i}"] = write.emit.splat(one, self.conv.lanes)
        found = print_ending(write.emit, self.conv.ending, names)
        return write.emit.splat(found, self.conv.lanes)
