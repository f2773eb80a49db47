"""Positions of elements in sorted order, as loop functions; equal elements keep their order.

Elements are compared by *keys*: whole numbers in the order that NumPy sorts by, NaN last and both
zeros equal. For the largest first, keys are turned round.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from .expressions import INT64, DType, Expr, Index, Var, affine, call, cast, const, select
from .loops import Accumulator, Buffer, Function, Let, Loop, Reduce, Scratch, Statement, Store, load

COMPARED: Final = 64
"""Elements up to which each is compared with each."""
PICKED: Final = 64
"""Elements up to which the largest are found one after the other."""
LONGEST: Final = 30_000
"""The longest rows in which they are: their keys lie on the stack."""
_BEHIND: Final = (1 << 32) - 2
"""What the first position is behind a key: less than all ones, so that a search can begin there."""
_DIGIT: Final = 8
_VALUES: Final = 1 << _DIGIT


def key_dtype(dtype: DType) -> DType:
    """Return the dtype of keys, in which kernels read elements too."""
    return np.dtype(f"i{dtype.itemsize}")


def _key(given: Expr, dtype: DType, descending: bool) -> Expr:
    """Return the key of an element whose bits are given as a whole number."""
    held = key_dtype(dtype)
    highest = int(np.iinfo(held).max)
    found = given
    if dtype.kind == "f":
        infinite = int(np.array(np.inf, dtype).view(held))
        size = call("and", given, highest)
        negative = call("shr", given, 8 * held.itemsize - 1)
        found = call("xor", given, call("and", negative, highest))
        found = select(call("eq", size, 0), const(0, held), found)
        found = select(size > infinite, const(highest, held), found)
    elif dtype.kind == "u":
        found = call("xor", given, int(np.iinfo(held).min))
    return call("xor", found, -1) if descending else found


class _Rows:
    """Rows of ``size`` elements along the middle axis of an array, and loops over all of them."""

    def __init__(self, dtype: DType, sizes: tuple[int, int], descending: bool) -> None:
        self.size, self.tail = sizes
        self.dtype, self.descending = dtype, descending
        self.x, self.out = Buffer("x", key_dtype(dtype)), Buffer("out", INT64)

    def at(self, place: str, rows: int | None = None) -> Index:
        """Return where an element is; arrays may have another number of rows than the first."""
        column = ["t"] if self.tail > 1 else []
        size = self.size if rows is None else rows
        return affine(("l", size * self.tail), (place, self.tail), *column)

    def key(self, place: str) -> Expr:
        """Return the key of an element."""
        return _key(load(self.x, self.at(place)), self.dtype, self.descending)

    def function(
        self, name: str, buffers: tuple[Buffer, ...], body: tuple[Statement, ...], scratch: Scratch
    ) -> Function:
        """Build (buffers; n): ``n`` times the rows."""
        if self.tail > 1:
            body = (Loop("t", self.tail, body),)
        return Function(name, buffers, ("n",), (Loop("l", "n", body),), (scratch,))


def compared(dtype: DType, sizes: tuple[int, int], descending: bool) -> Function:
    """Build (x, out; n): each element's place is how many come before it."""
    rows, held = _Rows(dtype, sizes, descending), key_dtype(dtype)
    keys = Scratch("keys", held, rows.size)
    mine, other = Var("mine", held), load(keys, affine("j"))
    earlier = call("and", call("eq", other, mine), Var("j") < Var("i"))
    before = call("or", other < mine, earlier)
    counting = Loop(
        "j", rows.size, (Reduce("place", select(before, const(1, INT64), 0)),), True,
        (Accumulator("place", "sum", INT64),),
    )  # fmt: skip
    body: tuple[Statement, ...] = (
        Loop("k", rows.size, (Store("keys", affine("k"), rows.key("k")),), True),
        Loop(
            "i", rows.size,
            (
                Let("mine", load(keys, affine("i"))),
                counting,
                Store("out", rows.at("place"), Var("i")),
            ),
        ),
    )  # fmt: skip
    return rows.function("compared", (rows.x, rows.out), body, keys)


def by_digits(dtype: DType, sizes: tuple[int, int], descending: bool) -> Function:
    """Build (x, other, out; n): sorted by the last digit of the keys, then by the one before.

    D. E. Knuth, The Art of Computer Programming, volume 3, section 5.2.5. Positions go from ``out``
    to ``other`` and back.
    """
    rows = _Rows(dtype, sizes, descending)
    digits = dtype.itemsize
    other = Buffer("other", INT64)
    counts = Scratch("counts", INT64, digits * _VALUES + 1)
    clear = Loop("c", counts.size, (Store("counts", affine("c"), const(0, INT64)),), True)
    first, second = (rows.out, other) if digits % 2 == 0 else (other, rows.out)
    count: list[Statement] = [
        Store(first.name, rows.at("k"), Var("k")),
        Let("counted", _unsigned(rows.key("k"))),
    ]
    for number in range(digits):
        place = affine(f"d{number}", offset=number * _VALUES)
        count.append(Let(f"d{number}", _digit(Var("counted", rows.x.dtype), const(number, INT64))))
        count.append(Store("counts", place, load(counts, place) + 1))
    passes: tuple[Statement, ...] = _placed(rows, counts, "a", first, second)
    if digits > 1:
        passes = (*passes, *_placed(rows, counts, "b", second, first))
    body = (
        clear,
        Loop("k", rows.size, tuple(count)),
        _starts(counts, digits),
        Loop("round", (digits + 1) // 2, passes),
    )
    return rows.function("by_digits", (rows.x, other, rows.out), body, counts)


def _unsigned(key: Expr) -> Expr:
    """Return a key whose bits are in its order without a sign."""
    return call("xor", key, int(np.iinfo(key.dtype).min))


def _digit(key: Expr, number: Expr) -> Expr:
    shifted = call("shr", key, cast(number * _DIGIT, key.dtype))
    return call("and", cast(shifted, INT64), _VALUES - 1)


def _starts(counts: Scratch, digits: int) -> Statement:
    """Make of the counts of each digit's values where each value's elements begin."""
    here = affine(("digit", _VALUES), "value")
    sum_at = affine(offset=counts.size - 1)
    body = (
        Let("number", load(counts, here)),
        Let("sum", load(counts, sum_at)),
        Store("counts", here, Var("sum")),
        Store("counts", sum_at, Var("sum") + Var("number")),
    )
    clear = Store("counts", sum_at, const(0, INT64))
    return Loop("digit", digits, (clear, Loop("value", _VALUES, body)))


def _placed(
    rows: _Rows, counts: Scratch, name: str, source: Buffer, target: Buffer
) -> tuple[Statement, ...]:
    """Return the loop that goes by one digit, of two that follow each other in a round."""
    digit, step, place, to = f"digit_{name}", f"i_{name}", f"place_{name}", f"to_{name}"
    number = Var("round") * 2 + (0 if name == "a" else 1)
    cell = affine(f"cell_{name}")
    body = (
        Let(place, load(source, rows.at(step))),
        Let(f"cell_{name}", _digit(_unsigned(rows.key(place)), Var(digit)) + Var(digit) * _VALUES),
        Let(to, load(counts, cell)),
        Store(target.name, rows.at(to), Var(place)),
        Store("counts", cell, Var(to) + 1),
    )
    return Let(digit, number), Loop(step, rows.size, body)


def picked(dtype: DType, sizes: tuple[int, int], k: int, largest: bool) -> Function:
    """Build (x, out; n): the largest elements' positions, or the smallest's, one after the other.

    Keys have the position behind them, so that all are different, and each search is for the
    largest below the last one found.
    """
    rows = _Rows(dtype, sizes, not largest)
    keys = Scratch("keys", INT64, rows.size + 1)
    last = affine(offset=rows.size)
    behind = call("sub", const(_BEHIND, INT64), Var("k"))
    key = call("or", call("shl", cast(rows.key("k"), INT64), 32), behind)
    other = load(keys, affine("j"))
    search = Loop(
        "j", rows.size,
        (Reduce("best", select(other < Var("bound"), other, int(np.iinfo(np.int64).min))),), True,
        (Accumulator("best", "max", INT64),),
    )  # fmt: skip
    place = call("sub", const(_BEHIND, INT64), call("and", Var("best"), (1 << 32) - 1))
    pick = (
        Let("bound", load(keys, last)),
        search,
        Store("keys", last, Var("best")),
        Store("out", rows.at("i", k), place),
    )
    body: tuple[Statement, ...] = (
        Loop("k", rows.size, (Store("keys", affine("k"), key),), True),
        Store("keys", last, const(np.iinfo(np.int64).max, INT64)),
        Loop("i", k, pick),
    )
    return rows.function("picked", (rows.x, rows.out), body, keys)
