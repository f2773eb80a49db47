"""A convolution's weights: where they lie, packed so that lanes are filters, and unpacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .control import Carried, repeat
from .conv_tile import Writer
from .emitter import Emitter, Value, literal
from .expressions import INT64, DType
from .gemm_pack import turn

if TYPE_CHECKING:
    from .conv_weight_grad import WeightGrad


@dataclass(frozen=True)
class Filters:
    """The weights of one group: `outputs` filters over `inputs` channels.

    `steps` are the distances from one output, input, row and column to the next, from `start` on;
    those of rows and columns are negative where filters are turned by half a turn.
    """

    outputs: int
    inputs: int
    kernel: tuple[int, int]
    steps: tuple[int, int, int, int]
    start: int

    @property
    def size(self) -> int:
        """Numbers in all."""
        return self.outputs * self.inputs * self.taps

    @property
    def taps(self) -> int:
        """Numbers in one filter of one channel."""
        return self.kernel[0] * self.kernel[1]


def print_pack(
    name: str,
    weights: Filters,
    blocks: int,
    block: int,
    dtype: DType,
    lanes: int,
    declarations: dict[str, str],
) -> str:
    """Print `void name(weight, packed, first, n)`, which packs blocks of filters.

    A block lies as inputs, rows, columns, filters. Blocks are as long as each other: the last one
    of a group begins earlier, or its last filters are repeated where there are too few for one.
    """
    write = Writer(Emitter(declarations), dtype, lanes)
    each_block(write, blocks, block, weights.outputs, _Pack(write, weights, block).one)
    return write.emit.define(name, ("ptr %weight", "ptr %packed", "i64 %arg.first", "i64 %arg.n"))


def print_unpack(name: str, grad: WeightGrad, declarations: dict[str, str]) -> str:
    """Print `void name(sums, weight, first, n)`, which puts blocks of sums in order."""
    write = Writer(Emitter(declarations), grad.dtype, grad.lanes)
    each_block(write, grad.blocks, grad.block, grad.outputs, _Unpack(write, grad).one)
    return write.emit.define(name, ("ptr %sums", "ptr %weight", "i64 %arg.first", "i64 %arg.n"))


def each_block(
    write: Writer,
    blocks: int,
    block: int,
    outputs: int,
    body: Callable[[Value, Value, Value], None],
) -> None:
    """Print the loop over blocks of filters: `body(number, group, its first filter there)`."""
    emit = write.emit

    def one(index: Value, state: Carried) -> Carried:
        number = emit.add(Value("%arg.first", INT64), index)
        group, within = emit.binary("udiv", number, blocks), emit.binary("urem", number, blocks)
        body(number, group, write.up_to(within, block, max(outputs - block, 0)))
        return state

    repeat(emit, Value("%arg.n", INT64), 1, {}, one)


class _Pack:
    """Prints how a block of filters is packed."""

    def __init__(self, write: Writer, weights: Filters, block: int) -> None:
        self.write, self.weights, self.block = write, weights, block
        self.turned = weights.start > 0
        self.joined = weights.steps[1] == weights.taps and not self.turned
        """Whether all inputs of a filter are one run of adjacent numbers."""

    def one(self, number: Value, group: Value, first: Value) -> None:
        """Pack one block, run by run."""
        write, weights = self.write, self.weights
        source = write.at("%weight", write.times(group, weights.size))
        source = write.at(source, write.times(first, weights.steps[0]))
        size = weights.inputs * weights.taps * self.block
        target = write.at("%packed", write.times(number, size))

        def run(i: Value, state: Carried) -> Carried:
            below = write.at(source, write.times(i, weights.steps[1]))
            self.run(below, write.at(target, write.times(i, weights.taps * self.block)))
            return state

        repeat(write.emit, literal(1 if self.joined else weights.inputs, INT64), 1, {}, run)

    def run(self, source: str, target: str) -> None:
        """Pack one run of all filters of a block."""
        write, lanes = self.write, self.write.lanes

        def vector(v: Value, state: Carried) -> Carried:
            filters = write.times(v, lanes)
            start = write.at(source, write.times(filters, self.weights.steps[0]))
            self.vector(start, write.at(target, filters))
            return state

        repeat(write.emit, literal(self.block // lanes, INT64), 1, {}, vector)

    def vector(self, source: str, target: str) -> None:
        """Pack one run of as many filters as a vector has lanes."""
        write, weights, lanes, block = self.write, self.weights, self.write.lanes, self.block
        run = weights.taps * (weights.inputs if self.joined else 1)
        filters = [min(lane, weights.outputs - 1) for lane in range(lanes)]
        step, last = (-block, (run - 1) * block) if self.turned else (block, 0)

        def part(first: Value, count: int) -> None:
            begin = write.at(source, first)
            place = write.at(target, write.plus(write.times(first, step), last))
            mask = write.emit.prefix(count, lanes) if count < lanes else None
            rows = [write.load(begin, f * weights.steps[0], lanes, mask) for f in filters]
            for tap, row in enumerate(turn(write.emit, rows)[:count]):
                write.store(row, place, tap * step)

        write.runs(run, part)


class _Unpack:
    """Prints how a block of sums becomes filters."""

    def __init__(self, write: Writer, grad: WeightGrad) -> None:
        self.write, self.grad = write, grad
        self.by_pixels = grad.tiling.over == "pixels"

    def one(self, number: Value, group: Value, first: Value) -> None:
        """Unpack one block, by filters or by vectors of them."""
        write, grad, lanes = self.write, self.grad, self.grad.lanes
        first = write.plus(write.times(group, grad.outputs), first)
        target = write.at("%weight", write.times(first, grad.depth))
        per_block = grad.sums // (grad.groups * grad.blocks)
        source = write.at("%sums", write.times(number, per_block))

        def filters(v: Value, state: Carried) -> Carried:
            far = 1 if self.by_pixels else lanes
            to = write.at(target, write.times(v, far * grad.depth))
            further = write.times(v, grad.depth * lanes if self.by_pixels else lanes)
            self.filters(write.at(source, further), to)
            return state

        repeat(write.emit, literal(grad.tiling.filters, INT64), 1, {}, filters)

    def filters(self, source: str, target: str) -> None:
        """Unpack all taps of one filter, or of one vector of filters."""
        write, grad, lanes = self.write, self.grad, self.grad.lanes
        step = lanes if self.by_pixels else grad.block

        def part(first: Value, count: int) -> None:
            at, place = write.at(source, write.times(first, step)), write.at(target, first)
            rows = [write.load(at, i * step, lanes) for i in range(count)]
            rows += [literal(0.0, grad.dtype, lanes)] * (lanes - count)
            found = turn(write.emit, rows)
            while self.by_pixels and len(found) > 1:  # the lanes of one sum, added up
                found = [write.emit.add(a, b) for a, b in zip(found[::2], found[1::2], strict=True)]
            mask = write.emit.prefix(count, lanes) if count < lanes else None
            for f, row in enumerate(found[: grad.outputs]):
                write.store(row, place, f * grad.depth, mask)

        write.runs(grad.depth, part)
