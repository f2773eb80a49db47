"""The gradient of a convolution's weights as LLVM text: loops over images, strips and units."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from .control import Carried, repeat
from .conv_strip import print_copy
from .conv_tile import Operand, Taps, Writer
from .emitter import Emitter, Value, as_internal, literal
from .expressions import INT64
from .gemm_pack import turn

if TYPE_CHECKING:
    from .conv_weight_grad import WeightGrad


class GradPrinter:
    """Prints the loops over images and strips and the functions that they call."""

    def __init__(self, grad: WeightGrad, declarations: dict[str, str]) -> None:
        self.grad, self.declarations = grad, declarations
        self.emit = Emitter(declarations)
        self.write = Writer(self.emit, grad.dtype, grad.lanes)

    def text(self) -> str:
        """Return all functions."""
        grad = self.grad
        parts = [self.tile()]
        if grad.turned_size:
            parts.append(print_turn(f"{grad.name}.turn", grad, self.declarations))
        if grad.strip.is_copied:
            parts.append(print_copy(f"{grad.name}.copy", grad.strip, self.declarations))
        parts = [as_internal(part) for part in parts]
        self.images()
        params = [f"ptr %conv.{p}" for p in ("image", "sums", "out", "workspace")]
        params += [f"i64 %arg.{p}" for p in ("images", "first", "n")]
        return "\n\n".join([*parts, self.emit.define(grad.name, params)])

    def span(self, low: Value, high: Value, body: Callable[[Value], None]) -> None:
        """Print a loop from `low` to before `high`."""

        def one(index: Value, state: Carried) -> Carried:
            body(self.write.plus(index, low))
            return state

        repeat(self.emit, self.emit.sub(high, low), 1, {}, one)

    def images(self) -> None:
        """Print the loops over images and groups."""
        grad, emit, write = self.grad, self.emit, self.write
        low = Value("%arg.first", INT64)
        high = emit.add(low, Value("%arg.n", INT64))
        each = grad.blocks * grad.tap_blocks
        first_group = emit.binary("udiv", low, each)
        last_group = emit.binary("udiv", write.plus(high, each - 1), each)
        w = grad.window

        def image(index: Value) -> None:
            def group(g: Value) -> None:
                number = write.plus(write.times(index, grad.groups), g)
                plane = w.height * w.width
                source = write.at("%conv.image", write.times(number, grad.inputs * plane))
                out = write.at("%conv.out", write.times(number, grad.outputs * grad.pixels))
                self.strips(index, g, source, out, low, high)

            self.span(first_group, last_group, group)

        self.span(literal(0, INT64), Value("%arg.images", INT64), image)

    def strips(
        self, image: Value, g: Value, source: str, out: str, low: Value, high: Value
    ) -> None:
        """Print the loop over strips of one group of one image."""
        grad, emit, write = self.grad, self.emit, self.write
        w, rows, height = grad.window, grad.strip.rows, grad.window.out_height
        first_block = write.times(g, grad.blocks)
        begin = emit.maximum(first_block, emit.binary("udiv", low, grad.tap_blocks))
        end = emit.binary("udiv", write.plus(high, grad.tap_blocks - 1), grad.tap_blocks)
        end = emit.minimum(write.plus(first_block, grad.blocks), end)

        def strip(index: Value, state: Carried) -> Carried:
            top = write.times(index, rows)
            count: Value = literal(rows, INT64)
            if height % rows:
                count = emit.minimum(emit.sub(literal(height, INT64), top), rows)
            seen = "%conv.workspace"
            if grad.strip.is_copied:
                emit.line(f"call void @{grad.name}.copy(ptr {source}, ptr {seen}, i64 {top.text})")
            else:
                seen = write.at(source, write.times(top, w.stride[0] * grad.strip.pitch))
            given = write.at(out, write.times(top, w.out_width))
            later = emit.binary("or", image, top)
            self.blocks(begin, end, first_block, (seen, given), count, (low, high), later)
            return state

        repeat(emit, literal(math.ceil(height / rows), INT64), 1, {}, strip)

    def blocks(
        self,
        begin: Value,
        end: Value,
        first_block: Value,
        places: tuple[str, str],
        rows: Value,
        units: tuple[Value, Value],
        later: Value,
    ) -> None:
        """Print the loop over blocks of filters and their units."""
        grad, emit, write = self.grad, self.emit, self.write
        per_block = grad.sums // (grad.groups * grad.blocks)
        copied = grad.strip.size if grad.strip.is_copied else 0

        def block(number: Value) -> None:
            within = emit.sub(number, first_block)
            start = write.up_to(within, grad.block, max(grad.outputs - grad.block, 0))
            given = write.at(places[1], write.times(start, grad.pixels))
            if grad.turned_size:
                turned = write.at("%conv.workspace", copied)
                emit.line(
                    f"call void @{grad.name}.turn(ptr {given}, ptr {turned}, i64 {rows.text})"
                )
                given = turned
            sums = write.at("%conv.sums", write.times(number, per_block))
            base = write.times(number, grad.tap_blocks)
            lowest = emit.maximum(emit.sub(units[0], base), 0)
            highest = emit.minimum(emit.sub(units[1], base), grad.tap_blocks)

            def unit(taps: Value) -> None:
                self.call_tile(taps, places[0], given, sums, rows, later)

            self.span(lowest, highest, unit)

        self.span(begin, end, block)

    def call_tile(
        self, number: Value, image: str, given: str, sums: str, rows: Value, later: Value
    ) -> None:
        """Print the call for one unit: where its first tap lies in the image and in the sums."""
        grad, emit, write = self.grad, self.emit, self.write
        w, (channels, down, across) = grad.window, grad.tiling.taps
        tall, wide = w.kernel[0] // down, w.kernel[1] // across
        channel = write.times(emit.binary("udiv", number, tall * wide), channels)
        tap = emit.binary("urem", number, tall * wide)
        row = write.times(emit.binary("udiv", tap, wide), down)
        column = write.times(emit.binary("urem", tap, wide), across)
        at = write.times(channel, grad.strip.plane)
        at = write.plus(at, write.times(row, w.dilation[0] * grad.strip.pitch))
        if wide > 1:
            at = write.plus(at, write.times(column, w.dilation[1]))
        place = write.plus(write.times(channel, grad.taps), write.times(row, w.kernel[1]))
        place = write.times(write.plus(place, column), self.sum_size)
        pointers = (write.at(image, at), given, write.at(sums, place))
        shown = ", ".join(f"ptr {p}" for p in pointers)
        emit.line(f"call void @{grad.name}.tile({shown}, i64 {rows.text}, i64 {later.text})")

    @property
    def sum_size(self) -> int:
        """Elements of `sums` from one tap to the next."""
        grad = self.grad
        return grad.lanes if grad.tiling.over == "pixels" else grad.block

    def offsets(self) -> list[tuple[int, int]]:
        """Return where each tap of a unit lies in the image and in the sums."""
        grad, w = self.grad, self.grad.window
        channels, down, across = grad.tiling.taps
        found = []
        for c in range(channels):
            for r in range(down):
                for s in range(across):
                    image = c * grad.strip.plane + r * w.dilation[0] * grad.strip.pitch
                    image += grad.strip.column(s * w.dilation[1])
                    tap = c * grad.taps + r * w.kernel[1] + s
                    found.append((image, tap * self.sum_size))
        return found

    def tile(self) -> str:
        """Print the function that adds a strip's share to the sums of one unit."""
        grad = self.grad
        emit = Emitter(self.declarations)
        write = Writer(emit, grad.dtype, grad.lanes)
        offsets = self.offsets()
        if grad.tiling.over == "pixels":
            far = grad.depth * grad.lanes
            places = [[i * far + place for _, place in offsets] for i in range(grad.block)]
        else:
            vectors = range(grad.tiling.filters)
            places = [[place + v * grad.lanes for v in vectors] for _, place in offsets]
        named = {f"{i}.{j}": p for i, row in enumerate(places) for j, p in enumerate(row)}
        more = emit.splat(emit.compare("ne", Value("%later", INT64), 0), grad.lanes)
        start = {key: write.load("%sums", place, grad.lanes, more) for key, place in named.items()}
        image = [place for place, _ in offsets]
        add = self.over_pixels if grad.tiling.over == "pixels" else self.over_filters
        found = add(write, image, start)
        for key, place in named.items():
            write.store(found[key], "%sums", place)
        params = ("ptr %image", "ptr %given", "ptr %sums", "i64 %rows", "i64 %later")
        return emit.define(f"{grad.name}.tile", params)

    def over_filters(self, write: Writer, image: list[int], start: Carried) -> Carried:
        """Add products of pixels of the image with turned gradients of filters."""
        grad, w = self.grad, self.grad.window
        down, width, block = w.stride[0] * grad.strip.pitch, w.out_width, grad.block
        nest = [Taps(Value("%rows", INT64), down, width * block), Taps(width, w.stride[1], block)]
        given = Operand("%given", [v * grad.lanes for v in range(grad.tiling.filters)])
        return write.sums(nest, Operand("%image", image), given, start)

    def over_pixels(self, write: Writer, image: list[int], start: Carried) -> Carried:
        """Add products of adjacent pixels of gradients and image, lane by lane."""
        grad, w, lanes = self.grad, self.grad.window, self.grad.lanes
        nest = [Taps(Value("%rows", INT64), w.out_width, w.stride[0] * grad.strip.pitch)]
        given = Operand("%given", [i * grad.pixels for i in range(grad.block)])
        full, rest = w.out_width // lanes, w.out_width % lanes

        def step(x: Operand, y: Operand, state: Carried, mask: Value | None) -> Carried:
            rows = (write.load(x.pointer, offset, lanes, mask) for offset in x.offsets)
            return write.products(rows, y, state, mask)

        def row(x: Operand, y: Operand, state: Carried) -> Carried:
            whole = [Taps(full, lanes, lanes)] if full else []
            if full:
                state = write.walk(whole, x, y, state, lambda a, b, s: step(a, b, s, None))
            if rest:
                end = full * lanes
                a = Operand(x.pointer, [offset + end for offset in x.offsets])
                b = Operand(y.pointer, [offset + end for offset in y.offsets])
                state = step(a, b, state, write.emit.prefix(rest, lanes))
            return state

        return write.walk(nest, given, Operand("%image", image), start, row)


def print_turn(name: str, grad: WeightGrad, declarations: dict[str, str]) -> str:
    """Print `void name(given, turned, rows)`: rows of a block of filters, filters innermost."""
    emit = Emitter(declarations)
    write = Writer(emit, grad.dtype, grad.lanes)
    lanes, block = grad.lanes, grad.block
    count = write.times(Value("%rows", INT64), grad.window.out_width)
    filters = [min(lane, grad.outputs - 1) for lane in range(lanes)]

    def square(pixel: Value, state: Carried) -> Carried:
        mask = write.inside(pixel, count)

        def vector(v: Value, state: Carried) -> Carried:
            first = write.times(v, lanes)
            source = write.at("%given", write.plus(write.times(first, grad.pixels), pixel))
            rows = [write.load(source, f * grad.pixels, lanes, mask) for f in filters]
            target = write.at("%turned", write.plus(write.times(pixel, block), first))
            for at, row in enumerate(turn(emit, rows)):
                write.store(row, target, at * block)
            return state

        return repeat(emit, literal(grad.tiling.filters, INT64), 1, state, vector)

    end = emit.binary("and", write.plus(count, lanes - 1), -lanes)
    repeat(emit, end, lanes, {}, square)
    return emit.define(name, ("ptr %given", "ptr %turned", "i64 %rows"))
