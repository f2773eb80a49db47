"""Arrays joined, and pieces put into zeros, as loop functions that any sizes share."""

from __future__ import annotations

from .expressions import DType, affine, const
from .loops import Buffer, Function, Loop, Statement, Store, load


def join(name: str, count: int, dtype: DType) -> Function:
    """Build (piece0, piece1, ..., out) with ints (rows, width, size0, ..., place0, ...).

    A row of the result, `width` elements, has `size0` elements of `piece0` from `place0` on, and so
    forth.
    """
    pieces = [Buffer(f"piece{i}", dtype) for i in range(count)]
    body: list[Statement] = []
    for i, piece in enumerate(pieces):
        at = affine(("r", "width"), f"place{i}", f"j{i}")
        step = Store("out", at, load(piece, affine(("r", f"size{i}"), f"j{i}")))
        body.append(Loop(f"j{i}", f"size{i}", (step,), vector=True))
    ints = ("rows", "width", *(f"size{i}" for i in range(count)))
    ints += tuple(f"place{i}" for i in range(count))
    loop = Loop("r", "rows", tuple(body))
    return Function(name, (*pieces, Buffer("out", dtype)), ints, (loop,))


def place(name: str, axes: int, last_step: int, dtype: DType) -> Function:
    """Build (piece, out) with ints (rows, size0, ..., step0, ..., wide0, ..., start).

    The piece has `rows` times `size0` times ... elements; `wide` is how far the result's elements
    lie apart along an axis, the first being that of the rows, and the last axis's is `last_step`.
    """
    extents = ("rows", *(f"size{i}" for i in range(axes - 1)))
    terms = [(f"i{axis}", f"wide{axis}") for axis in range(axes - 1)]
    last = (f"i{axes - 1}", last_step)
    source = [(f"i{axis}", tuple(extents[axis + 1 :]) or 1) for axis in range(axes)]
    piece = Buffer("piece", dtype)
    body: Statement = Store("out", affine(*terms, last, "start"), load(piece, affine(*source)))
    for axis in reversed(range(axes)):
        body = Loop(f"i{axis}", extents[axis], (body,), vector=axis == axes - 1)
    wides = tuple(f"wide{axis}" for axis in range(axes - 1))
    return Function(name, (piece, Buffer("out", dtype)), (*extents, *wides, "start"), (body,))


def clear(name: str, dtype: DType) -> Function:
    """Build (out) with the int `n`: zeros."""
    zero = Store("out", affine("i"), const(0, dtype))
    return Function(name, (Buffer("out", dtype),), ("n",), (Loop("i", "n", (zero,), vector=True),))
