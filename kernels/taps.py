"""Weighted sums of a few neighbours along an axis, whose positions a table tells, as loops.

An output is the sum of its *taps*. A table ``[taps, outputs]`` has the position of each, or -1
where an output has fewer of them: nothing is read there.
"""

from __future__ import annotations

from .expressions import INT64, DType, Expr, Index, Var, affine, call, const, select
from .loops import Buffer, Function, Let, Loop, Statement, Store, load

UNROLLED = 4
"""Taps up to which a sum stays in registers."""
WEIGHTS, SHARES, MEANS = "weights", "shares", "means"
"""What a table's numbers are: factors of taps, divisors of taps, or divisors of sums."""


def taps(
    dtype: DType, sizes: tuple[int, int, int], count: int, numbers: str, plus_zero: bool
) -> Function:
    """Build (x, positions, numbers, out; n): ``n`` times ``sizes`` (size, outputs, tail).

    With ``plus_zero`` zero is added to each sum, which gives -0.0 its plus.
    """
    return _Taps(dtype, sizes, count, numbers, plus_zero).function()


class _Taps:
    """The parts of the loops."""

    def __init__(
        self,
        dtype: DType,
        sizes: tuple[int, int, int],
        count: int,
        numbers: str,
        plus_zero: bool,
    ) -> None:
        self.x, self.out = Buffer("x", dtype), Buffer("out", dtype)
        self.positions, self.numbers = Buffer("positions", INT64), Buffer("numbers", dtype)
        self.dtype, self.count, self.kind, self.plus_zero = dtype, count, numbers, plus_zero
        self.size, self.outputs, self.tail = sizes

    def function(self) -> Function:
        """Return the whole: outputs in vectors where they lie side by side, else what is in one."""
        if self.count <= UNROLLED:
            total = self._term(0, "a")
            for tap in range(1, self.count):
                total = total + self._term(tap, "a")
            parts = self._along("a", self._lets("a", *range(self.count)), self._ended(total, "a"))
        else:
            parts = self._along("a", self._lets("a", 0), self._term(0, "a"))
            more = load(self.out, self._at("ob", "b")) + self._term("k", "b")
            rest = self._along("b", self._lets("b", "k"), more)
            parts = (*parts, Loop("k", self.count - 1, rest))
            if self.kind == MEANS or self.plus_zero:
                ended = self._ended(load(self.out, self._at("oc", "c")), "c")
                parts = (*parts, *self._along("c", (), ended))
        lead = Loop("l", "n", parts)
        return Function("taps", (self.x, self.positions, self.numbers, self.out), ("n",), (lead,))

    def _along(self, loop: str, lets: tuple[Statement, ...], value: Expr) -> tuple[Statement, ...]:
        """Return the loop over outputs that stores a value; names end in the loop's."""
        store = Store("out", self._at(f"o{loop}", loop), value)
        if self.tail == 1:
            return (Loop(f"o{loop}", self.outputs, (*lets, store), True),)
        inner = Loop(f"t{loop}", self.tail, (store,), True)
        return (Loop(f"o{loop}", self.outputs, (*lets, inner)),)

    def _lets(self, loop: str, *chosen: int | str) -> tuple[Statement, ...]:
        """Return the positions of taps, and which of them are there."""
        found: list[Statement] = []
        for tap in chosen:
            given = Var(f"given{tap}")
            found.append(Let(f"given{tap}", load(self.positions, self._entry(tap, loop))))
            found.append(Let(f"place{tap}", select(given < 0, const(0, INT64), given)))
        return tuple(found)

    def _term(self, tap: int | str, loop: str) -> Expr:
        value: Expr = load(self.x, self._at(f"place{tap}", loop, self.size))
        if self.kind != MEANS:
            op = "mul" if self.kind == WEIGHTS else "div"
            value = call(op, value, load(self.numbers, self._entry(tap, loop)))
        return select(Var(f"given{tap}") < 0, const(0, self.dtype), value)

    def _ended(self, total: Expr, loop: str) -> Expr:
        if self.kind == MEANS:
            total = total / load(self.numbers, affine(f"o{loop}"))
        return total + const(0, self.dtype) if self.plus_zero else total

    def _entry(self, tap: int | str, loop: str) -> Index:
        """Return where a table has a tap; one that is counted comes after the first."""
        if isinstance(tap, int):
            return affine(f"o{loop}", offset=tap * self.outputs)
        return affine((tap, self.outputs), f"o{loop}", offset=self.outputs)

    def _at(self, row: str, loop: str, rows: int | None = None) -> Index:
        tail = [f"t{loop}"] if self.tail > 1 else []
        return affine(("l", (rows or self.outputs) * self.tail), (row, self.tail), *tail)
