"""Weights as a convolution takes them: where they lie, and packed so that lanes are filters."""

from __future__ import annotations

from dataclasses import dataclass

from .control import Carried, repeat
from .conv_tile import Writer
from .emitter import Emitter, Value, literal
from .expressions import INT64, DType
from .gemm_tile import turn


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
    groups: int,
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
    emit = Emitter(declarations)
    write = Writer(emit, dtype, lanes)
    turned = weights.start > 0
    joined = weights.steps[1] == weights.taps and not turned  # all inputs of a filter in one run
    run = weights.taps * (weights.inputs if joined else 1)
    size = weights.inputs * weights.taps * block

    filters = [min(lane, weights.outputs - 1) for lane in range(lanes)]
    step, last = (-block, (run - 1) * block) if turned else (block, 0)

    def vector(source: str, target: str) -> None:
        """Pack `lanes` filters of one run."""

        def part(first: Value, count: int) -> None:
            begin = write.at(source, first)
            place = write.at(target, write.plus(write.times(first, step), last))
            mask = emit.prefix(count, lanes) if count < lanes else None
            rows = [write.load(begin, f * weights.steps[0], lanes, mask) for f in filters]
            for tap, row in enumerate(turn(emit, rows)[:count]):
                write.store(row, place, tap * step)

        write.runs(run, part)

    def one(index: Value, state: Carried) -> Carried:
        number = emit.add(Value("%arg.first", INT64), index)
        group, within = emit.binary("udiv", number, blocks), emit.binary("urem", number, blocks)
        first = write.up_to(within, block, max(weights.outputs - block, 0))
        source = write.at("%weight", write.times(group, weights.size))
        source = write.at(source, write.times(first, weights.steps[0]))
        target = write.at("%packed", write.times(number, size))

        def outer(i: Value, state: Carried) -> Carried:
            below = write.at(source, write.times(i, weights.steps[1]))
            above = write.at(target, write.times(i, weights.taps * block))

            def part(v: Value, state: Carried) -> Carried:
                filters = write.times(v, lanes)
                start = write.at(below, write.times(filters, weights.steps[0]))
                vector(start, write.at(above, filters))
                return state

            return repeat(emit, literal(block // lanes, INT64), 1, state, part)

        repeat(emit, literal(1 if joined else weights.inputs, INT64), 1, {}, outer)
        return state

    repeat(emit, Value("%arg.n", INT64), 1, {}, one)
    head = f"define void @{name}(ptr %weight, ptr %packed, i64 %arg.first, i64 %arg.n) nounwind {{"
    return "\n".join([head, "entry:", *emit.entry, *emit.lines, "  ret void", "}"])
