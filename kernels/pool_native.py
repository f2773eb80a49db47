"""Pooling as loop functions over padded planes: images times channels."""

from __future__ import annotations

from .expressions import INT32, DType, Expr, Index, Var, affine, call, cast, const, select
from .loops import Accumulator, Buffer, Function, Let, Loop, Reduce, Statement, Store, load
from .windows import Window

MOST_TAPS = 32
"""Maxima over larger kernels are not unrolled here."""


def _input(window: Window, row: int | str, column: int | str) -> Index:
    """Return the index of the padded pixel that kernel position (row, column) sees."""
    height, width = window.padded
    step, across = window.dilation[0] * width, window.dilation[1]
    terms = [("p", height * width), ("i", window.stride[0] * width), ("j", window.stride[1])]
    offset = 0
    for place, scale in ((row, step), (column, across)):
        if isinstance(place, int):
            offset += place * scale
        else:
            terms.append((place, scale))
    return affine(*terms, offset=offset)


def _output(window: Window) -> Index:
    pixels = window.out_height * window.out_width
    return affine(("p", pixels), ("i", window.out_width), "j")


def _over_outputs(window: Window, body: tuple[Statement, ...]) -> Loop:
    """Loop over the rows of a plane of outputs, columns side by side."""
    return Loop("i", window.out_height, (Loop("j", window.out_width, body, vector=True),))


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


def max_pool(window: Window, dtype: DType) -> Function:
    """Build (x, out, taps): maxima and the first position of each; NaN wins."""
    x, out, taps = Buffer("x", dtype), Buffer("out", dtype), Buffer("taps", INT32)
    body: list[Statement] = []
    best: Expr | None = None
    where: Expr = const(0, INT32)
    for number, (row, column) in enumerate(_positions(window)):
        seen = Var(f"seen{number}", dtype)
        body.append(Let(seen.name, load(x, _input(window, row, column))))
        if best is None:
            best = seen
            continue
        nan = call("and", call("isnan", seen), call("not", call("isnan", best)))
        wins = Var(f"wins{number}", (seen > best).dtype)
        body.append(Let(wins.name, call("or", seen > best, nan)))
        body.append(Let(f"best{number}", select(wins, seen, best)))
        body.append(Let(f"where{number}", select(wins, const(number, INT32), where)))
        best, where = Var(f"best{number}", dtype), Var(f"where{number}", INT32)
    assert best is not None
    at = _output(window)
    body += [Store("out", at, best), Store("taps", at, where)]
    return _function("max_pool", (x, out, taps), _over_outputs(window, tuple(body)))


def max_pool_grad(window: Window, dtype: DType) -> Function:
    """Build (dout, taps, dx): each output's gradient is added where its maximum was."""
    dout, taps, dx = Buffer("dout", dtype), Buffer("taps", INT32), Buffer("dx", dtype)
    at = _output(window)
    number = cast(Var("a") * window.kernel[1] + Var("b"), INT32)
    share = select(call("eq", load(taps, at), Var("number", INT32)), load(dout, at), 0)
    step = _over_outputs(window, (_add(window, dx, share),))
    body = _over_positions(window, (Let("number", number), step))
    return _function("max_pool_grad", (dout, taps, dx), body)


def avg_pool(window: Window, dtype: DType) -> Function:
    """Build (x, counts, out): sums over the kernel, divided by the counts (H', W')."""
    x, counts, out = (Buffer(name, dtype) for name in ("x", "counts", "out"))
    element = Reduce("row", load(x, _input(window, "a", "b")))
    row = Loop("b", window.kernel[1], (element,), accumulators=(Accumulator("row", "sum", dtype),))
    rows = (row, Reduce("total", Var("row", dtype)))
    total = Loop("a", window.kernel[0], rows, accumulators=(Accumulator("total", "sum", dtype),))
    mean = Var("total", dtype) / load(counts, affine(("i", window.out_width), "j"))
    body = (total, Store("out", _output(window), mean))
    return _function("avg_pool", (x, counts, out), _over_outputs(window, body))


def avg_pool_grad(window: Window, dtype: DType) -> Function:
    """Build (dout, counts, dx): each output's gradient is spread evenly over its window."""
    dout, counts, dx = (Buffer(name, dtype) for name in ("dout", "counts", "dx"))
    share = load(dout, _output(window)) / load(counts, affine(("i", window.out_width), "j"))
    body = _over_positions(window, (_over_outputs(window, (_add(window, dx, share),)),))
    return _function("avg_pool_grad", (dout, counts, dx), body)
