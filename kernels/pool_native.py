"""Pooling as loop functions over padded planes: images times channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .expressions import INT32, INT64, DType, Expr, Index, Var, affine, call, cast, const, select
from .loops import Accumulator, Buffer, Function, Let, Loop, Reduce, Statement, Store, load
from .windows import Padding, Pair, Window

MOST_TAPS: Final = 32
"""Maxima over larger kernels are taken position by position, in memory."""


@dataclass(frozen=True)
class Counting:
    """What the sums of an average are divided by: ``divisor``, or 0: how many pixels count.

    Padding counts if ``padding``, but never its last ``spill`` rows and columns.
    """

    padding: bool = True
    spill: Pair = (0, 0)
    divisor: int = 0

    def expression(self, window: Window, dtype: DType) -> Expr:
        """Return the number of the output at row i and column j, at least 1."""
        if self.divisor or (self.padding and not any(self.spill)):
            return const(self.divisor or window.kernel[0] * window.kernel[1], dtype)
        product: Expr | None = None
        for axis, name in enumerate("ij"):
            before, after = window.padding[2 * axis : 2 * axis + 2]
            size = (window.height, window.width)[axis]
            first = 0 if self.padding else before
            last = before + size + (after - self.spill[axis] if self.padding else 0)
            start = Var(name, INT64) * window.stride[axis]
            end = call("minimum", start + window.kernel[axis], last)
            count = call("maximum", end - call("maximum", start, first), 0)
            product = count if product is None else product * count
        assert product is not None
        return cast(call("maximum", product, 1), dtype)


def _input(
    window: Window, row: int | str, column: int | str, at: tuple[str, str] = ("i", "j")
) -> Index:
    """Return the index of the padded pixel that kernel position (row, column) of an output sees."""
    height, width = window.padded
    step, across = window.dilation[0] * width, window.dilation[1]
    down, along = window.stride[0] * width, window.stride[1]
    terms = [("p", height * width), (at[0], down), (at[1], along)]
    offset = 0
    for place, scale in ((row, step), (column, across)):
        if isinstance(place, int):
            offset += place * scale
        else:
            terms.append((place, scale))
    return affine(*terms, offset=offset)


def _output(window: Window, at: tuple[str, str] = ("i", "j")) -> Index:
    pixels = window.out_height * window.out_width
    return affine(("p", pixels), (at[0], window.out_width), at[1])


def _over_outputs(
    window: Window, body: tuple[Statement, ...], at: tuple[str, str] = ("i", "j")
) -> Loop:
    """Loop over the rows of a plane of outputs, columns side by side."""
    return Loop(at[0], window.out_height, (Loop(at[1], window.out_width, body, vector=True),))


def _function(name: str, buffers: tuple[Buffer, ...], *body: Statement) -> Function:
    return Function(name, buffers, ("planes",), (Loop("p", "planes", body),))


def _positions(window: Window) -> list[tuple[int, int]]:
    rows, columns = window.kernel
    return [(row, column) for row in range(rows) for column in range(columns)]


def _over_positions(window: Window, body: tuple[Statement, ...]) -> Loop:
    """Loop over the kernel's positions (a, b) outside of the outputs, whose pixels may overlap."""
    return Loop("a", window.kernel[0], (Loop("b", window.kernel[1], body),))


def _add(window: Window, buffer: Buffer, value: Expr) -> Store:
    """Add to pixel (a, b) of an output; where windows do not overlap, write it once."""
    pixel = _input(window, "a", "b")
    steps = zip(window.kernel, window.stride, window.dilation, strict=True)
    if all((size - 1) * spread < stride for size, stride, spread in steps):
        return Store(buffer.name, pixel, value)
    return Store(buffer.name, pixel, load(buffer, pixel) + value)


def max_pool(window: Window, dtype: DType, with_taps: bool = True) -> Function:
    """Build (x, out, taps): maxima and the first position of each; NaN wins.

    Where positions are compared in registers, they need not be written: (x, out).
    """
    x, out, taps = Buffer("x", dtype), Buffer("out", dtype), Buffer("taps", INT32)
    if not is_unrolled(window):
        return _function("max_pool", (x, out, taps), *_search_in_memory(window, x, out, taps))
    if not with_taps:
        return _function("max_pool", (x, out), *_unrolled_search(window, x, out, None))
    return _function("max_pool", (x, out, taps), *_unrolled_search(window, x, out, taps))


def is_unrolled(window: Window) -> bool:
    """Return whether the positions of a maximum are compared in registers."""
    return window.kernel[0] * window.kernel[1] <= MOST_TAPS


def _unrolled_search(
    window: Window, x: Buffer, out: Buffer, taps: Buffer | None
) -> tuple[Loop, ...]:
    """Compare all positions of an output before it is written."""
    body: list[Statement] = []
    best: Expr | None = None
    where: Expr = const(0, INT32)
    for number, (row, column) in enumerate(_positions(window)):
        seen = Var(f"seen{number}", x.dtype)
        body.append(Let(seen.name, load(x, _input(window, row, column))))
        if best is None:
            best = seen
            continue
        wins = Var(f"wins{number}", (seen > best).dtype)
        body.append(Let(wins.name, _wins(seen, best)))
        body.append(Let(f"best{number}", select(wins, seen, best)))
        best = Var(f"best{number}", x.dtype)
        if taps is not None:
            body.append(Let(f"where{number}", select(wins, const(number, INT32), where)))
            where = Var(f"where{number}", INT32)
    assert best is not None
    at = _output(window)
    body.append(Store(out.name, at, best))
    if taps is not None:
        body.append(Store(taps.name, at, where))
    return (_over_outputs(window, tuple(body)),)


def _search_in_memory(window: Window, x: Buffer, out: Buffer, taps: Buffer) -> tuple[Loop, ...]:
    """Take the first position of all outputs, then let the others win position by position."""
    begin = ("i0", "j0")
    first = (
        Store(out.name, _output(window, begin), load(x, _input(window, 0, 0, begin))),
        Store(taps.name, _output(window, begin), const(0, INT32)),
    )
    at = _output(window)
    seen, best = Var("seen", x.dtype), Var("best", x.dtype)
    wins, number = Var("wins", (seen > best).dtype), Var("number", INT32)
    step = (
        Let("seen", load(x, _input(window, "a", "b"))),
        Let("best", load(out, at)),
        Let("wins", _wins(seen, best)),
        Store(out.name, at, select(wins, seen, best)),
        Store(taps.name, at, select(wins, number, load(taps, at))),
    )
    rest = (Let("number", _number(window)), _over_outputs(window, step))
    return _over_outputs(window, first, begin), _over_positions(window, rest)


def _wins(seen: Expr, best: Expr) -> Expr:
    nan = call("and", call("isnan", seen), call("not", call("isnan", best)))
    return call("or", call("gt", seen, best), nan)


def _number(window: Window) -> Expr:
    """Return the number of position (a, b)."""
    return cast(Var("a") * window.kernel[1] + Var("b"), INT32)


def max_pool_grad(window: Window, dtype: DType) -> Function:
    """Build (dout, taps, dx): each output's gradient is added where its maximum was."""
    dout, taps, dx = Buffer("dout", dtype), Buffer("taps", INT32), Buffer("dx", dtype)
    at = _output(window)
    share = select(call("eq", load(taps, at), Var("number", INT32)), load(dout, at), 0)
    step = _over_outputs(window, (_add(window, dx, share),))
    body = _over_positions(window, (Let("number", _number(window)), step))
    return _function("max_pool_grad", (dout, taps, dx), body)


def avg_pool(window: Window, dtype: DType, counting: Counting) -> Function:
    """Build (x, out): sums over the kernel, divided by how many pixels count."""
    x, out = Buffer("x", dtype), Buffer("out", dtype)
    element = Reduce("row", load(x, _input(window, "a", "b")))
    row = Loop("b", window.kernel[1], (element,), accumulators=(Accumulator("row", "sum", dtype),))
    rows = (row, Reduce("total", Var("row", dtype)))
    total = Loop("a", window.kernel[0], rows, accumulators=(Accumulator("total", "sum", dtype),))
    mean = Var("total", dtype) / counting.expression(window, dtype)
    body = (total, Store("out", _output(window), mean))
    return _function("avg_pool", (x, out), _over_outputs(window, body))


def avg_pool_grad(window: Window, dtype: DType, counting: Counting) -> Function:
    """Build (dout, dx): each output's gradient is spread evenly over its window."""
    dout, dx = Buffer("dout", dtype), Buffer("dx", dtype)
    share = load(dout, _output(window)) / counting.expression(window, dtype)
    body = _over_positions(window, (_over_outputs(window, (_add(window, dx, share),)),))
    return _function("avg_pool_grad", (dout, dx), body)


def fill(planes: Pair, dtype: DType, value: float) -> Function:
    """Build (out): planes of these rows and columns full of a number."""
    size = planes[0] * planes[1]
    store = Store("out", affine(("p", size), "i"), const(value, dtype))
    return _function("fill", (Buffer("out", dtype),), Loop("i", size, (store,), vector=True))


def place(size: Pair, padding: Padding, dtype: DType) -> Function:
    """Build (x, out): planes put between the padding of larger ones, which stays as it is."""
    inner, outer = _inside(size, padding)
    return _moving("place", size, (inner, outer), dtype)


def crop(size: Pair, padding: Padding, dtype: DType) -> Function:
    """Build (x, out): planes taken out of larger ones with padding."""
    inner, outer = _inside(size, padding)
    return _moving("crop", size, (outer, inner), dtype)


def _inside(size: Pair, padding: Padding) -> tuple[Index, Index]:
    (height, width), (top, bottom, left, right) = size, padding
    rows, columns = height + top + bottom, width + left + right
    outer = affine(("p", rows * columns), ("i", columns), "j", offset=top * columns + left)
    return affine(("p", height * width), ("i", width), "j"), outer


def _moving(name: str, size: Pair, places: tuple[Index, Index], dtype: DType) -> Function:
    x, out = Buffer("x", dtype), Buffer("out", dtype)
    copy = Store("out", places[1], load(x, places[0]))
    rows = Loop("i", size[0], (Loop("j", size[1], (copy,), vector=True),))
    return _function(name, (x, out), rows)
