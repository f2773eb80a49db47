"""Reading and adding up elements by positions, as loop functions.

Positions are checked and brought to 0..size-1 first (`positions`, `labels`); the others read them
as they are. What is read or written is a table: ``lead`` times ``size`` rows of ``tail`` elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from .expressions import INT64, DType, Expr, Index, Var, affine, call, cast, const, select
from .loops import Accumulator, Buffer, Extent, Function, Let, Loop, Reduce, Statement, Store, load

NONE_WRONG: Final = -1
"""What `status` begins with where every position exists; else the number of the first wrong one,
which follows.
"""
_MOST: Final = np.iinfo(np.int64).max


def positions(dtype: DType) -> Function:
    """Build (given, out, status; n, size): integers from -size to size - 1 as 0..size-1."""
    place, size = Var("place"), Var("size")
    wrong = call("or", place < -size, place >= size)
    found = select(place < 0, place + size, place)
    return _looked_at("positions", dtype, INT64, ("n", "size"), wrong, found)


def labels(dtype: DType) -> Function:
    """Build (given, out, status; n, size, ignored): integers in 0..size-1, or ``ignored``."""
    place = Var("place")
    outside = call("or", place < 0, place >= Var("size"))
    wrong = call("and", outside, call("ne", place, Var("ignored")))
    return _looked_at("labels", dtype, dtype, ("n", "size", "ignored"), wrong, place)


def chances(dtype: DType) -> Function:
    """Build (given, out, status; n): numbers in 0..1."""
    place = Var("place", dtype)
    wrong = call("not", call("and", place >= 0, place <= 1))
    return _looked_at("chances", dtype, dtype, ("n",), wrong, place)


def _looked_at(
    name: str, dtype: DType, made: DType, ints: tuple[str, ...], wrong: Expr, found: Expr
) -> Function:
    """Return a loop that stores ``found``, 0 where ``wrong``, and tells the first wrong place."""
    given, out, status = Buffer("given", dtype), Buffer("out", made), Buffer("status", INT64)
    bad, first = Var("bad", np.dtype(np.bool_)), Var("first")
    loop = Loop(
        "i", "n",
        (
            Let("place", cast(load(given, affine("i")), found.dtype)),
            Let("bad", wrong),
            Store("out", affine("i"), cast(select(bad, const(0, found.dtype), found), made)),
            Reduce("first", select(bad, Var("i"), const(_MOST, INT64))),
        ),
        True, (Accumulator("first", "min", INT64),),
    )  # fmt: skip
    some = first < _MOST
    body: tuple[Statement, ...] = (
        loop,
        Let("at", select(some, first, const(0, INT64))),
        Store("status", affine(), select(some, first, const(NONE_WRONG, INT64))),
        Store("status", affine(offset=1), cast(load(given, affine("at")), INT64)),
    )
    return Function(name, (given, out, status), ints, body)


def joined(sizes: Sequence[int], strides: Sequence[Sequence[int]], rows: Sequence[int]) -> Function:
    """Build (places..., out): one number for places along several axes, each ``rows`` apart.

    The places of axis k are spread over ``sizes`` by ``strides[k]``.
    """
    names = [f"i{axis}" for axis in range(len(sizes))]
    total: Expr = const(0, INT64)
    buffers = [Buffer(f"places{k}", INT64) for k in range(len(strides))]
    for buffer, own, row in zip(buffers, strides, rows, strict=True):
        total = total + load(buffer, affine(*zip(names, own, strict=True))) * row
    along = [int(np.prod(sizes[axis + 1 :])) for axis in range(len(sizes))]
    body: Statement = Store("out", affine(*zip(names, along, strict=True)), total)
    for axis in range(len(sizes) - 1, -1, -1):
        body = Loop(names[axis], sizes[axis], (body,), axis == len(sizes) - 1)
    return Function("joined", (*buffers, Buffer("out", INT64)), (), (body,))


def gather(dtype: DType, lead: int, size: int, count: int, tail: int) -> Function:
    """Build (table, places, out; n): ``n`` counts the leads, or the places where there is one."""
    table, places, out = Buffer("table", dtype), Buffer("places", INT64), Buffer("out", dtype)
    source = _at(lead, size * tail, "place", tail)
    read: Statement = Store("out", _at(lead, count * tail, "i", tail), load(table, source))
    if tail > 1:
        read = Loop("t", tail, (read,), True)
    pick = (Let("place", load(places, affine("i"))), read)
    body: Statement = Loop("i", count if lead > 1 else "n", pick, vector=tail == 1)
    if lead > 1:
        body = Loop("l", "n", (body,))
    return Function("gather", (table, places, out), ("n",), (body,))


def scatter(
    dtype: DType, lead: int, size: int, count: Extent, tail: int, meet: str | None = None
) -> Function:
    """Build (base?, rows, places, out; n, count?): rows meet what is at their places, in order.

    Without ``meet`` they are added up in zeros. Else it is a scalar op, or empty where the last row
    stays, and the places hold what ``base`` holds. ``n`` counts the leads, or the columns where
    there is one lead; then how many places there are may be a parameter.
    """
    base, rows = Buffer("base", dtype), Buffer("rows", dtype)
    places, out = Buffer("places", INT64), Buffer("out", dtype)
    columns = tail if lead > 1 or tail == 1 else "n"
    cell, whole = _at(lead, size * tail, "place", tail), _at(lead, size * tail, "r", tail, "c")
    row: Expr = load(rows, _at(lead, 0 if isinstance(count, str) else count * tail, "i", tail))
    if meet != "":
        row = call(meet or "add", load(out, cell), row)
    start = const(0, dtype) if meet is None else load(base, whole)
    clear: Statement = Store("out", whole, start)
    add: Statement = Store("out", cell, row)
    if tail > 1:
        clear, add = Loop("c", columns, (clear,), True), Loop("t", columns, (add,), True)
    body: tuple[Statement, ...] = (
        Loop("r", size, (clear,), tail == 1),
        Loop("i", count, (Let("place", load(places, affine("i"))), add)),
    )
    if lead > 1:
        body = (Loop("l", "n", body),)
    buffers = (rows, places, out) if meet is None else (base, rows, places, out)
    ints = ("n", count) if isinstance(count, str) else ("n",)
    return Function("scatter", buffers, ints, body)


def _at(lead: int, step: int, row: str, tail: int, column: str = "t") -> Index:
    """Return where an element of a table is."""
    terms = [("l", step)] if lead > 1 else []
    return affine(*terms, (row, tail), *([column] if tail > 1 else []))


def counted(dtype: DType, start: int, step: int) -> Function:
    """Build (out; n): start, start + step, ..."""
    number = cast(Var("i") * step + start, dtype)
    loop = Loop("i", "n", (Store("out", affine("i"), number),), True)
    return Function("counted", (Buffer("out", dtype),), ("n",), (loop,))


def running(
    dtype: DType, sizes: tuple[int, int], exclusive: bool, reverse: bool, op: str
) -> Function:
    """Build (x, out; n): running sums or products along the middle of ``n`` by ``sizes`` elements.

    ``op`` is ``add`` or ``mul``.
    """
    neutral = const(0 if op == "add" else 1, dtype)
    size, tail = sizes
    x, out = Buffer("x", dtype), Buffer("out", dtype)
    step, first = (-tail, (size - 1) * tail) if reverse else (tail, 0)
    column, first_column = ([], []) if tail == 1 else (["t"], ["b"])

    def at(number: int) -> Index:
        """Return the place of the element that comes so many after the j-th."""
        return affine(("l", size * tail), ("j", step), *column, offset=first + number * step)

    def start(number: int) -> Index:
        """Return the place of the element that comes so many after the first."""
        return affine(("l", size * tail), *first_column, offset=first + number * step)

    begin: list[Statement] = []
    if exclusive:
        begin.append(Store("out", start(0), neutral))
    if size > exclusive:
        begin.append(Store("out", start(int(exclusive)), load(x, start(0))))
    further = call(op, load(out, at(int(exclusive))), load(x, at(1)))
    add: Statement = Store("out", at(1 + exclusive), further)
    parts: list[Statement] = [*begin]
    if tail > 1:
        parts = [Loop("b", tail, tuple(begin), True)]
        add = Loop("t", tail, (add,), True)
    if size > 1 + exclusive:
        parts.append(Loop("j", size - 1 - exclusive, (add,)))
    return Function("running", (x, out), ("n",), (Loop("l", "n", tuple(parts)),))


def records(dtype: DType, sizes: tuple[int, int], largest: bool) -> Function:
    """Build (x, out; n): where the extreme element so far stands, the last of equal ones.

    It runs along the middle axis of ``n`` by ``sizes`` elements; NaN is more extreme than others.
    """
    size, tail = sizes
    x, out = Buffer("x", dtype), Buffer("out", INT64)
    column = ["t"] if tail > 1 else []

    def at(row: str | None, offset: int = 0) -> Index:
        rows = [] if row is None else [(row, tail)]
        return affine(("l", size * tail), *rows, *column, offset=offset * tail)

    here, best = load(x, at("j", 1)), load(x, at("place"))
    found = here >= best if largest else here <= best
    if dtype.kind == "f":
        found = call("or", found, call("isnan", here))
    step: tuple[Statement, ...] = (
        Let("place", load(out, at("j"))),
        Store("out", at("j", 1), select(found, Var("j") + 1, Var("place"))),
    )
    first_column = ["b"] if tail > 1 else []
    first: Statement = Store("out", affine(("l", size * tail), *first_column), const(0, INT64))
    if tail > 1:
        first, step = Loop("b", tail, (first,), True), (Loop("t", tail, step, True),)
    body: tuple[Statement, ...] = (first,)
    if size > 1:
        body = (first, Loop("j", size - 1, step))
    return Function("records", (x, out), ("n",), (Loop("l", "n", body),))
