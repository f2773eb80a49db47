"""Direct convolution: images are multiplied with the taps of a window in place, strip by strip.

`DirectConv` reads images and weights as they lie and writes images: forward, and as the same sum
over turned filters the gradient of the input where the stride is 1. A strip of rows is copied with
its padding where there is any, so that it stays in the second-level cache for all filters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from .control import Carried, repeat
from .conv_strip import Strip, print_copy
from .conv_tile import Operand, Taps, Writer
from .conv_tiling import Lanes, Tiling, choose_tiling
from .conv_weights import Filters, print_pack
from .emitter import Emitter, Value, literal, type_text
from .expressions import INT64, DType
from .gemm_tile import turn
from .loops import LoopError
from .target import Target, host
from .windows import Padding, Window

STRIP_BYTES: Final = 256 * 1024
"""Of padded rows, so that they and a block of weights stay in the second-level cache."""
UNROLLED: Final = 256
"""Multiplications in one turn of the innermost loop, where the scalars are weights. Where they are
pixels it is one tap: with more, LLVM loads ahead of what the registers hold."""


def is_direct(kind: str, window: Window) -> bool:
    """Return whether a convolution or gradient is a sum over taps of images."""
    if kind == "forward":
        return True
    turned = window.stride == (1, 1) and min(_turned_padding(window)) >= 0
    return kind == "input_grad" and turned


def _turned_padding(w: Window) -> Padding:
    """Return the padding of an output's gradient, as the input's gradient needs it."""
    down, right = ((k - 1) * d for k, d in zip(w.kernel, w.dilation, strict=True))
    top, bottom, left, across = w.padding
    return down - top, down - bottom, right - left, right - across


@dataclass(frozen=True)
class DirectConv:
    """`void name(image, weight, out, workspace, first, n)`.

    Forward writes out; the gradient of the input writes the image, from the weight and out's
    gradient. Pieces `first` to `first + n` are computed, `pieces` of which are an image: strips of
    its rows. With `packed` the weights come packed by `PackWeights`.
    """

    name: str
    kind: str
    window: Window
    channels: int
    filters: int
    dtype: DType
    groups: int = 1
    pieces: int = 1
    packed: bool = False
    target: Target = field(default_factory=host)

    def __post_init__(self) -> None:
        if not is_direct(self.kind, self.window):
            raise LoopError(
                f"{self.kind} is no direct convolution over {self.window}; the input's gradient is "
                "one for stride 1 and no more padding than the filter reaches"
            )

    @cached_property
    def view(self) -> Window:
        """The window that moves over what is read."""
        w = self.window
        if self.kind == "forward":
            return w
        padding = _turned_padding(w)
        return replace(w, height=w.out_height, width=w.out_width, padding=padding)

    @cached_property
    def weights(self) -> Filters:
        """The weights of one group as the sum takes them."""
        ins, outs, taps = self.channels // self.groups, self.filters // self.groups, self.taps
        rows, columns = self.window.kernel
        if self.kind == "forward":
            return Filters(outs, ins, (rows, columns), (ins * taps, taps, columns, 1), 0)
        steps = (taps, ins * taps, -columns, -1)
        return Filters(ins, outs, (rows, columns), steps, taps - 1)

    @property
    def taps(self) -> int:
        """Numbers in one filter of one channel."""
        return self.window.kernel[0] * self.window.kernel[1]

    @cached_property
    def lanes(self) -> int:
        """Elements in a vector."""
        return self.target.lanes(self.dtype)

    @cached_property
    def flat(self) -> bool:
        """Whether the pixels of an image are one long row: a window of one pixel sees no rows."""
        return self.view.is_pointwise and self.pieces == 1

    @cached_property
    def size(self) -> tuple[int, int]:
        """Rows and columns of what is written."""
        rows, columns = self.view.out_height, self.view.out_width
        return (1, rows * columns) if self.flat else (rows, columns)

    @cached_property
    def tiling(self) -> Tiling:
        """The tiles."""
        only: Lanes | None = "filters" if self.packed else None
        depth = self.weights.inputs * self.taps
        outputs, width = self.weights.outputs, self.size[1]
        registers = self.target.registers
        return choose_tiling(outputs, width, depth, self.lanes, registers, only)

    @cached_property
    def strip(self) -> Strip:
        """The rows that are copied at a time."""
        view = self.view
        if self.flat:
            view = replace(view, height=1, width=view.height * view.width)
        by_pixels = self.tiling.over == "pixels"
        strip = Strip(view, self.weights.inputs, view.out_height, self.lanes, by_pixels, self.dtype)
        if not strip.is_copied:
            return replace(strip, rows=math.ceil(view.out_height / self.pieces))
        most = view.out_height
        while most > 1 and replace(strip, rows=most).bytes > STRIP_BYTES:
            most = math.ceil(most / 2)
        count = self.pieces * math.ceil(view.out_height / (most * self.pieces))
        return replace(strip, rows=math.ceil(view.out_height / count))

    @cached_property
    def strips(self) -> int:
        """Strips of a piece."""
        return math.ceil(self.size[0] / (self.strip.rows * self.pieces))

    @cached_property
    def blocks(self) -> int:
        """Blocks of filters in a group."""
        return math.ceil(self.weights.outputs / self.block)

    @property
    def block(self) -> int:
        """Filters in a block."""
        tiling = self.tiling
        return tiling.rows if tiling.over == "pixels" else tiling.vectors * self.lanes

    @property
    def packed_size(self) -> int:
        """Elements of all packed weights; 0 where they are read as they lie."""
        if self.tiling.over == "pixels":
            return 0
        return self.groups * self.blocks * self.weights.inputs * self.taps * self.block

    @property
    def workspace(self) -> int:
        """Elements of one thread's workspace."""
        own = 0 if self.packed else -(-self.packed_size // self.lanes) * self.lanes
        return max(1, own + (self.strip.size if self.strip.is_copied else 0))

    @property
    def ints(self) -> tuple[str, ...]:
        """Names of the integer parameters."""
        return ("first", "n")

    @property
    def text(self) -> str:
        """A canonical description."""
        sizes = f"{self.channels} to {self.filters} in {self.groups} {self.dtype} {self.window}"
        how = f"{self.pieces} {self.packed} {self.tiling} {self.strip.rows} {self.lanes}"
        return f"direct conv {self.name} {self.kind} {sizes} {how}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        return _Printer(self, declarations).text()


@dataclass(frozen=True)
class PackWeights:
    """`void name(weight, packed, first, n)`: pack blocks `first` to `first + n` of filters."""

    name: str
    conv: DirectConv

    @property
    def text(self) -> str:
        """A canonical description."""
        c = self.conv
        return f"pack {self.name} {c.weights} {c.groups} {c.block} {c.dtype} {c.lanes}"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        conv = self.conv
        sizes = (conv.groups, conv.blocks, conv.block)
        return print_pack(self.name, conv.weights, *sizes, conv.dtype, conv.lanes, declarations)


class _Printer:
    """Prints the loop over pieces and the functions that it calls."""

    def __init__(self, conv: DirectConv, declarations: dict[str, str]) -> None:
        self.conv, self.declarations = conv, declarations
        self.emit, self.write = self._begin()

    def _begin(self) -> tuple[Emitter, Writer]:
        emit = Emitter(self.declarations)
        return emit, Writer(emit, self.conv.dtype, self.conv.lanes)

    def text(self) -> str:
        """Return all functions."""
        conv = self.conv
        parts = [self.rows()]
        if conv.packed_size and not conv.packed:
            sizes = (conv.groups, conv.blocks, conv.block)
            parts.append(
                print_pack(
                    f"{conv.name}.pack", conv.weights, *sizes, conv.dtype, conv.lanes,
                    self.declarations,
                )
            )  # fmt: skip
        if conv.strip.is_copied:
            parts.append(print_copy(f"{conv.name}.copy", conv.strip, self.declarations))
        parts = [part.replace("define void @", "define internal void @") for part in parts]
        self.pieces()
        params = ", ".join(f"ptr %conv.{p}" for p in ("image", "weight", "out", "workspace"))
        head = f"define void @{conv.name}({params}, i64 %arg.first, i64 %arg.n) nounwind {{"
        body = [head, "entry:", *self.emit.entry, *self.emit.lines, "  ret void", "}"]
        return "\n\n".join([*parts, "\n".join(body)])

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
        target = write.at(target, write.times(number, conv.weights.outputs * height * width))
        per_group = conv.packed_size // conv.groups or conv.weights.size
        weight = write.at(weight, write.times(g, per_group))

        def one(index: Value, state: Carried) -> Carried:
            strip_number = write.plus(write.times(within, conv.strips), index)
            top = write.up_to(strip_number, conv.strip.rows, height - conv.strip.rows)
            self.one_strip(source, weight, write.at(target, write.times(top, width)), strip, top)
            return state

        repeat(self.emit, literal(conv.strips, INT64), 1, {}, one)

    def one_strip(self, source: str, weight: str, target: str, strip: str, top: Value) -> None:
        """Print the blocks of filters over one strip."""
        conv, emit, write = self.conv, self.emit, self.write
        plane = conv.size[0] * conv.size[1]
        if conv.strip.is_copied:
            emit.line(f"call void @{conv.name}.copy(ptr {source}, ptr {strip}, i64 {top.text})")
        else:
            strip = write.at(source, write.times(top, conv.view.stride[0] * conv.strip.pitch))

        def block(b: Value, state: Carried) -> Carried:
            start = write.up_to(b, conv.block, max(conv.weights.outputs - conv.block, 0))
            if conv.packed_size:
                at = write.times(b, conv.packed_size // (conv.groups * conv.blocks))
            else:
                at = write.times(start, conv.weights.steps[0])
            place = write.at(target, write.times(start, plane))
            pointers = (strip, write.at(weight, at), place)
            shown = ", ".join(f"ptr {p}" for p in pointers)
            emit.line(f"call void @{conv.name}.rows({shown})")
            return state

        repeat(emit, literal(conv.blocks, INT64), 1, {}, block)

    def rows(self) -> str:
        """Print the function that computes a strip's rows of one block of filters."""
        conv = self.conv
        emit, write = self._begin()
        tiling, width = conv.tiling, conv.size[1]
        wide = tiling.rows if tiling.over == "filters" else tiling.vectors * conv.lanes
        last = max(width - wide, 0)

        def row(y: Value, state: Carried) -> Carried:
            line = write.at("%source", write.times(y, conv.view.stride[0] * conv.strip.pitch))
            out = write.at("%target", write.times(y, width))

            def tile(x: Value, state: Carried) -> Carried:
                start = write.up_to(x, wide, last)
                place = write.at(out, start)
                if tiling.over == "filters":
                    self.over_filters(
                        write, write.at(line, write.times(start, conv.view.stride[1])), place
                    )
                else:
                    self.over_pixels(write, write.at(line, start), place)
                return state

            repeat(emit, literal(-(-width // wide), INT64), 1, {}, tile)
            return state

        repeat(emit, literal(conv.strip.rows, INT64), 1, {}, row)
        head = f"define void @{conv.name}.rows(ptr %source, ptr %weight, ptr %target) nounwind {{"
        return "\n".join([head, "entry:", *emit.entry, *emit.lines, "  ret void", "}"])

    def over_filters(self, write: Writer, source: str, target: str) -> None:
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
        sums = write.sums(nest, scalars, packed, write.zeros(rows, vectors))
        self.put(write, sums, target)

    def put(self, write: Writer, sums: Carried, target: str) -> None:
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
            place = write.at(target, write.plus(write.times(v, plane), first))
            turned = turn(emit, [write.load(source, i * block, lanes) for i in range(lanes)])
            mask = write.inside(first, rows)
            for lane, pixels in enumerate(turned[: conv.weights.outputs]):
                write.store(pixels, place, lane * plane, mask)

        def vector(v: Value, state: Carried) -> Carried:
            def part(first: Value, state: Carried) -> Carried:
                square(first, v)
                return state

            return repeat(emit, literal(squares * lanes, INT64), lanes, state, part)

        repeat(emit, literal(block, INT64), lanes, {}, vector)

    def over_pixels(self, write: Writer, source: str, target: str) -> None:
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
                write.store(sums[f"{row}.{v}"], target, row * plane + v * lanes, mask)
