"""Parts of matrices copied so that each step of a sum reads adjacent numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .control import Carried, repeat, when
from .emitter import Emitter, Value, literal, type_text
from .expressions import BOOL, INT32, INT64

if TYPE_CHECKING:
    from .gemm_code import ProductPrinter


def copy_rows(
    printer: ProductPrinter,
    source: str,
    stride: Value,
    depth: Value,
    width: int,
    left: Value | None,
    to: str,
) -> None:
    """Copy `depth` short rows; only the `left` first numbers of each are there."""
    emit, lanes = printer.emit, printer.lanes
    mask = None
    if left is not None:
        mask = emit.compare("lt", emit.iota(INT32, width), emit.cast(left, INT32))

    def one(step: Value, state: Carried) -> Carried:
        line = printer.at(source, printer.times(step, stride))
        target = printer.at(to, printer.times(step, literal(width, INT64)))
        for vector in range(width // lanes):
            offset = literal(vector * lanes, INT64)
            at = Value(printer.at(line, offset), printer.dtype)
            found = emit.load(at, lanes, mask_part(emit, mask, vector, lanes))
            emit.store(found, Value(printer.at(target, offset), printer.dtype))
        return state

    repeat(emit, depth, 1, {}, one)


def turn_rows(
    printer: ProductPrinter, source: str, stride: Value, first: Value,
    last: Value | None, depth: Value, width: int, to: str,
) -> None:  # fmt: skip
    """Copy `width` long rows, from `first` on, as `depth` short ones.

    Squares of lanes by lanes are turned in registers. Rows past the last, if there may be any, are
    read as the last: their products are never stored.
    """
    emit, lanes = printer.emit, printer.lanes

    def square(start: Value, vector: Value, mask: Value | None) -> None:
        top = printer.plus(first, printer.times(vector, literal(lanes, INT64)))
        rows: list[Value] = []
        for lane in range(lanes):
            row = printer.plus(top, lane)
            row = row if last is None else emit.minimum(row, last)
            at = printer.at(source, printer.plus(printer.times(row, stride), start))
            rows.append(emit.load(Value(at, printer.dtype), lanes, mask))
        target = printer.times(start, literal(width, INT64))
        target = printer.plus(target, printer.times(vector, literal(lanes, INT64)))
        for lane, row in enumerate(turn(emit, rows)):
            at = printer.at(printer.at(to, target), literal(lane * width, INT64))
            emit.store(row, Value(at, printer.dtype))

    def chunk(start: Value, mask: Value | None) -> None:
        def one(vector: Value, state: Carried) -> Carried:
            square(start, vector, mask)
            return state

        repeat(emit, literal(width // lanes, INT64), 1, {}, one)

    def whole(start: Value, state: Carried) -> Carried:
        chunk(start, None)
        return state

    k = printer.product.k
    exact = isinstance(k, int) and k % lanes == 0  # and blocks of terms are whole vectors
    full = printer.times(printer.quotient(depth, lanes), literal(lanes, INT64))
    repeat(emit, full, lanes, {}, whole)
    if exact:
        return

    def rest(state: Carried) -> Carried:
        left = emit.cast(emit.sub(depth, full), INT32)
        chunk(full, emit.compare("lt", emit.iota(INT32, lanes), left))
        return state

    when(emit, emit.compare("lt", full, depth), {}, rest)


def mask_part(emit: Emitter, mask: Value | None, vector: int, lanes: int) -> Value | None:
    """Return the lanes of a panel's mask that belong to one of its vectors."""
    if mask is None or mask.lanes == lanes:
        return mask
    picks = ", ".join(f"i32 {vector * lanes + lane}" for lane in range(lanes))
    kind = type_text(BOOL, mask.lanes)
    text = f"shufflevector {kind} {mask.text}, {kind} poison, <{lanes} x i32> <{picks}>"
    return emit.value(text, BOOL, lanes)


def turn(emit: Emitter, rows: list[Value]) -> list[Value]:
    """Transpose a square of vectors: log2(lanes) rounds that exchange blocks of lanes."""
    lanes = rows[0].lanes
    kind = type_text(rows[0].dtype, lanes)
    block = 1
    while block < lanes:
        turned = list(rows)
        for i in range(lanes):
            if i & block:
                continue
            x, y = rows[i], rows[i + block]
            low = [t if not t & block else lanes + t - block for t in range(lanes)]
            high = [t + block if not t & block else lanes + t for t in range(lanes)]
            for place, picks in ((i, low), (i + block, high)):
                shown = ", ".join(f"i32 {pick}" for pick in picks)
                text = f"shufflevector {kind} {x.text}, {kind} {y.text}, <{lanes} x i32> <{shown}>"
                turned[place] = emit.value(text, x.dtype, lanes)
        rows = turned
        block *= 2
    return rows
