"""Tiles of a convolution: sums in vector registers over the taps of a window.

Every convolution here is one inner loop: for each tap, some *scalars* are spread over lanes and
multiplied with some *vectors*, and each product has a sum of its own in a register. What differs is
which of the two comes from the image and which from the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .addressing import Addressing
from .control import Carried, is_constant, repeat
from .emitter import Emitter, Value, literal
from .expressions import INT32, INT64, DType


@dataclass(frozen=True)
class Taps:
    """One loop over taps: how many, and how far scalars and vectors move from one to the next.

    Vectors that do not move evenly have the place of each tap instead; such a loop is unrolled.
    """

    count: int | Value
    scalars: int
    vectors: int | tuple[int, ...]
    unrolled: bool = False


@dataclass(frozen=True)
class Operand:
    """One side of the products: a pointer and the offsets of its elements."""

    pointer: str
    offsets: Sequence[int]


class Writer(Addressing):
    """Prints loads, stores, blocks and sums of vectors."""

    def __init__(self, emit: Emitter, dtype: DType, lanes: int) -> None:
        super().__init__(emit, dtype)
        self.lanes = lanes

    def load(self, pointer: str, offset: int, lanes: int, mask: Value | None = None) -> Value:
        """Load a scalar or adjacent lanes."""
        return self.emit.load(Value(self.at(pointer, offset), self.dtype), lanes, mask)

    def store(self, x: Value, pointer: str, offset: int, mask: Value | None = None) -> None:
        """Store a value."""
        self.emit.store(x, Value(self.at(pointer, offset), self.dtype), mask)

    def up_to(self, index: Value, step: int, last: int) -> Value:
        """Return where a block begins: blocks follow each other, the last one ends at the end."""
        start = self.times(index, step)
        if is_constant(start):
            return literal(min(int(start.text), last), INT64)
        return self.emit.minimum(start, last)

    def inside(self, first: Value, count: Value | int) -> Value | None:
        """Return the lanes of a vector from `first` on that are among `count`; None for all."""
        if isinstance(count, int):
            if count % self.lanes == 0:
                return None
            if is_constant(first):
                left = count - int(first.text)
                return self.emit.prefix(left, self.lanes) if left < self.lanes else None
            count = literal(count, INT64)
        left = self.emit.cast(self.emit.sub(count, first), INT32)
        return self.emit.compare("lt", self.emit.iota(INT32, self.lanes), left)

    def runs(self, size: int, body: Callable[[Value, int], None]) -> None:
        """Print a loop over vectors of a run, given where each begins and its elements.

        The last one of several overlaps the one before, so that all are whole.
        """

        def one(index: Value, state: Carried) -> Carried:
            body(self.up_to(index, self.lanes, max(size - self.lanes, 0)), min(size, self.lanes))
            return state

        repeat(self.emit, literal(-(-size // self.lanes), INT64), 1, {}, one)

    def sums(
        self, nest: Sequence[Taps], scalars: Operand, vectors: Operand, start: Carried
    ) -> Carried:
        """Add up all products; the sums are named ``row.vector``."""

        def leaf(x: Operand, y: Operand, state: Carried) -> Carried:
            def spread(offset: int) -> Value:
                return self.emit.splat(self.load(x.pointer, offset, 0), self.lanes)

            return self.products(map(spread, x.offsets), y, state)

        return self.walk(nest, scalars, vectors, start, leaf)

    def walk(
        self,
        nest: Sequence[Taps],
        x: Operand,
        y: Operand,
        state: Carried,
        leaf: Callable[[Operand, Operand, Carried], Carried],
    ) -> Carried:
        """Go over the taps of a nest of loops."""
        if not nest:
            return leaf(x, y, state)
        taps, inner, steps = nest[0], nest[1:], nest[0].vectors
        if isinstance(taps.count, int) and (
            isinstance(steps, tuple) or taps.unrolled or taps.count == 1
        ):
            for i in range(taps.count):
                step = steps[i] if isinstance(steps, tuple) else i * steps
                moved = [offset + i * taps.scalars for offset in x.offsets]
                further = [offset + step for offset in y.offsets]
                state = self.walk(
                    inner, Operand(x.pointer, moved), Operand(y.pointer, further), state, leaf
                )
            return state
        assert not isinstance(steps, tuple)

        def body(index: Value, state: Carried) -> Carried:
            at_x = self.at(x.pointer, self.times(index, taps.scalars))
            at_y = self.at(y.pointer, self.times(index, steps))
            return self.walk(inner, Operand(at_x, x.offsets), Operand(at_y, y.offsets), state, leaf)

        count = taps.count if isinstance(taps.count, Value) else literal(taps.count, INT64)
        return repeat(self.emit, count, 1, state, body)

    def products(
        self, rows: Iterable[Value], y: Operand, sums: Carried, mask: Value | None = None
    ) -> Carried:
        """Add the products of some vectors with others that are loaded.

        Each of `rows` is made where it is used: LLVM would keep them all in registers, and sums out
        of them, if they were made before.
        """
        loaded = [self.load(y.pointer, offset, self.lanes, mask) for offset in y.offsets]
        return {
            f"{row}.{v}": self.emit.fma(x, vector, sums[f"{row}.{v}"])
            for row, x in enumerate(rows)
            for v, vector in enumerate(loaded)
        }

    def zeros(self, rows: int, vectors: int) -> Carried:
        """Return sums of nothing yet."""
        zero = literal(0.0, self.dtype, self.lanes)
        return {f"{row}.{v}": zero for row in range(rows) for v in range(vectors)}
