"""Strips: some rows of all channels of an image, copied with the padding around them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from .control import Carried, repeat, when
from .conv_tile import Writer
from .emitter import Emitter, Value, literal
from .expressions import BOOL, INT64, DType
from .windows import Window


@dataclass(frozen=True)
class Strip:
    """What a window needs for `rows` rows of its output.

    With `by_pixels` the columns that one tap sees are adjacent whatever the stride: a row is kept
    as its columns modulo the stride.
    """

    window: Window
    channels: int
    rows: int
    lanes: int
    by_pixels: bool
    dtype: DType

    @property
    def is_copied(self) -> bool:
        """Whether the image cannot be read where it lies."""
        return self.by_pixels or any(self.window.padding)

    @property
    def height(self) -> int:
        """Rows of the image with padding."""
        w = self.window
        return (self.rows - 1) * w.stride[0] + (w.kernel[0] - 1) * w.dilation[0] + 1

    @property
    def phases(self) -> int:
        """Pieces that a row is kept in."""
        return self.window.stride[1] if self.by_pixels else 1

    @property
    def phase(self) -> int:
        """Elements of one piece of a row."""
        return -(-math.ceil(self.window.padded[1] / self.phases) // self.lanes) * self.lanes

    @cached_property
    def pitch(self) -> int:
        """Elements from one row to the next."""
        return self.phase * self.phases if self.is_copied else self.window.width

    @cached_property
    def plane(self) -> int:
        """Elements from one channel to the next.

        An odd number of vectors, so that channels do not meet in a few sets of the cache.
        """
        if not self.is_copied:
            return self.window.height * self.window.width
        return (self.height * self.pitch // self.lanes | 1) * self.lanes

    @property
    def size(self) -> int:
        """Elements of the copy, and as many behind it as a tile's vectors reach over its end."""
        return self.channels * self.plane + 4 * self.lanes

    @property
    def bytes(self) -> int:
        """Bytes of the copy."""
        return self.size * self.dtype.itemsize

    def column(self, x: int) -> int:
        """Return where the column that the first pixel sees at distance x lies in a row."""
        return x % self.phases * self.phase + x // self.phases


def fitting_rows(rows: int, too_large: Callable[[int], bool]) -> int:
    """Return how many rows of a strip are not too large: all, or a half of them, or less."""
    while rows > 1 and too_large(rows):
        rows = math.ceil(rows / 2)
    return rows


def print_copy(name: str, strip: Strip, declarations: dict[str, str]) -> str:
    """Print `void name(image, strip, top)`: copy what output rows from `top` on see."""
    emit = Emitter(declarations)
    _Copy(emit, strip).channels()
    return emit.define(name, ("ptr %image", "ptr %strip", "i64 %top"))


class _Copy:
    """Prints the loops over channels and rows."""

    def __init__(self, emit: Emitter, strip: Strip) -> None:
        self.emit, self.strip = emit, strip
        self.write = Writer(emit, strip.dtype, strip.lanes)

    def channels(self) -> None:
        """Print the loop over channels."""
        emit, write, strip, w = self.emit, self.write, self.strip, self.strip.window
        top = write.plus(write.times(Value("%top", INT64), w.stride[0]), -w.padding[0])

        def channel(c: Value, state: Carried) -> Carried:
            plane = write.at("%image", write.times(c, w.height * w.width))
            copy = write.at("%strip", write.times(c, strip.plane))

            def row(i: Value, state: Carried) -> Carried:
                self.row(plane, write.at(copy, write.times(i, strip.pitch)), emit.add(top, i))
                return state

            return repeat(emit, literal(strip.height, INT64), 1, state, row)

        repeat(emit, literal(strip.channels, INT64), 1, {}, channel)

    def row(self, plane: str, target: str, y: Value) -> None:
        """Copy row `y` of the image, or clear a row outside it."""
        emit, write, w = self.emit, self.write, self.strip.window
        inside = emit.compare("ge", y, 0)
        inside = emit.binary("and", inside, emit.compare("lt", y, w.height))

        def copied(state: Carried) -> Carried:
            self.pieces(write.at(plane, write.times(y, w.width)), target)
            return state

        def cleared(state: Carried) -> Carried:
            self.pieces(None, target)
            return state

        when(emit, inside, {}, copied)
        when(emit, emit.binary("xor", inside, literal(True, BOOL)), {}, cleared)

    def pieces(self, source: str | None, target: str) -> None:
        """Copy the pieces of a row; without a source, clear them."""
        strip = self.strip
        for phase in range(strip.phases):
            valid: list[list[bool]] = []
            for vector in range(strip.phase // strip.lanes):
                columns = range(vector * strip.lanes, (vector + 1) * strip.lanes)
                at = [x * strip.phases + phase - strip.window.padding[2] for x in columns]
                valid.append([source is not None and 0 <= x < strip.window.width for x in at])
            place = self.write.at(target, phase * strip.phase)
            self.piece(source or "", place, phase, valid)

    def piece(self, source: str, target: str, phase: int, valid: list[list[bool]]) -> None:
        """Copy one piece of a row; columns outside the image are zero."""
        lanes, write = self.strip.lanes, self.write
        zero = literal(0.0, self.strip.dtype, lanes)
        whole = [i for i, columns in enumerate(valid) if all(columns)]
        for i, columns in enumerate(valid):
            if i not in whole:
                number = literal(i, INT64)
                found = self.load(source, phase, number, columns) if any(columns) else zero
                write.store(found, target, i * lanes)
        if not whole:
            return

        def full(index: Value, state: Carried) -> Carried:
            vector = write.plus(index, whole[0])
            found = self.load(source, phase, vector, [])
            write.store(found, write.at(target, write.times(vector, lanes)), 0)
            return state

        repeat(self.emit, literal(len(whole), INT64), 1, {}, full)

    def load(self, source: str, phase: int, vector: Value, valid: list[bool]) -> Value:
        """Load one vector of a piece of a row, all of it or the valid columns."""
        emit, write, strip = self.emit, self.write, self.strip
        mask = None
        if valid:
            items = ", ".join(f"i1 {'true' if inside else 'false'}" for inside in valid)
            mask = Value(f"<{items}>", BOOL, strip.lanes)
        first = write.times(vector, strip.lanes * strip.phases)
        place = write.at(source, write.plus(first, phase - strip.window.padding[2]))
        if strip.phases == 1:
            return emit.load(Value(place, strip.dtype), strip.lanes, mask)
        steps = emit.mul(emit.iota(INT64, strip.lanes), strip.phases)
        return emit.load(emit.address(place, strip.dtype, steps), strip.lanes, mask)
