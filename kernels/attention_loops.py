"""The loops of attention between its matrix products: softmax over blocks of keys, and its slope.

The scores of a block of queries against a block of keys are a small matrix (rows by columns).
Forward, each row keeps the largest score seen so far and the sum of exponentials below it; a new
block rescales both. M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax",
2018; T. Dao et al., "FlashAttention", 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from .expressions import BOOL, DType, Expr, Var, affine, call, const, select
from .loops import Accumulator, Buffer, Extent, Function, Let, Loop, Reduce, Statement, Store, load

KEPT_GAP: Final = 16
"""Bytes between rows of random bits: blocks of eight begin before a row and end behind it."""


def parameters(*sizes: Extent) -> tuple[str, ...]:
    """Return the integer parameters among sizes."""
    return tuple(dict.fromkeys(size for size in sizes if isinstance(size, str)))


@dataclass(frozen=True)
class Mask:
    """How a mask is read: its dtype and the elements from row to row and column to column."""

    dtype: DType
    row: Extent
    column: Extent


@dataclass(frozen=True)
class Block:
    """Sizes of one block of scores, and what happens to them.

    ``keep`` is 1 / (1 - p), or 0 where all is dropped, and None without dropout.
    """

    dtype: DType
    rows: Extent
    columns: Extent
    kept_row: int
    mask: Mask | None
    causal: bool
    keep: float | None

    @property
    def ints(self) -> tuple[str, ...]:
        """Names of the integer parameters: sizes that are not numbers, then the block's place."""
        steps = () if self.mask is None else (self.mask.row, self.mask.column)
        sizes = parameters(self.rows, self.columns, *steps)
        return (*sizes, *(("first_row", "first_column") if self.causal else ()))

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The mask and the random bits, as far as there are."""
        mask = () if self.mask is None else (Buffer("mask", self.mask.dtype),)
        return (*mask, *(() if self.keep is None else (Buffer("kept", BOOL),)))

    def masked(self, score: Expr, column: str) -> Expr:
        """Return a score, -inf where the query may not look."""
        nothing = const(-np.inf, self.dtype)
        if self.mask is not None:
            at = affine(("i", self.mask.row), (column, self.mask.column))
            given = load(Buffer("mask", self.mask.dtype), at)
            score = select(given, score, nothing) if given.dtype == BOOL else score + given
        if self.causal:
            key, query = Var("first_column") + Var(column), Var("first_row") + Var("i")
            score = select(key <= query, score, nothing)
        return score

    def dropped(self, value: Expr, column: str) -> Expr:
        """Return a value times 1 / (1 - p), or zero where the random bit says so."""
        if self.keep is None:
            return value
        kept = load(Buffer("kept", BOOL), affine(("i", self.kept_row), column))
        return select(kept, value * const(self.keep, self.dtype), const(0, self.dtype))


def _rows(name: str, block: Block, buffers: tuple[Buffer, ...], *body: Statement) -> Function:
    return Function(name, (*buffers, *block.buffers), block.ints, (Loop("i", block.rows, body),))


def softmax(name: str, block: Block, width: int, single: bool) -> Function:
    """Build (scores, top, total, sums, mask, kept): scores become exponentials.

    ``sums`` holds the weighted values so far, which are rescaled; a ``single`` block is the first
    and last one, and does not touch them.
    """
    dtype = block.dtype
    scores, top, total, sums = (Buffer(n, dtype) for n in ("scores", "top", "total", "sums"))
    best, new, safe, added = (Var(n, dtype) for n in ("best", "new", "safe", "sum"))
    before, here = load(top, affine("i")), affine("i")
    body = [
        _largest_score(block, scores),
        Let("new", best if single else call("maximum", before, best)),
        Let("safe", select(call("eq", new, -np.inf), const(0, dtype), new)),
        _exponentials(block, scores, safe),
    ]
    whole: Expr = added
    if not single:
        turn, place = Var("turn", dtype), affine(("i", width), "c")
        rescaled = Store("sums", place, load(sums, place) * turn)
        body.append(Let("turn", call("exp", before - safe)))
        body.append(Loop("c", width, (rescaled,), True))
        whole = load(total, here) * turn + added
    body += [Store("total", here, whole), Store("top", here, new)]
    return _rows(name, block, (scores, top, total, sums), *body)


def _largest_score(block: Block, scores: Buffer) -> Statement:
    """Mask a row of scores and find the largest one, ``best``."""
    at, score = affine(("i", block.columns), "j"), Var("score", block.dtype)
    body = (
        Let("score", block.masked(load(scores, at), "j")),
        Store("scores", at, score),
        Reduce("best", score),
    )
    return Loop("j", block.columns, body, True, (Accumulator("best", "max", block.dtype),))


def _exponentials(block: Block, scores: Buffer, below: Expr) -> Statement:
    """Put exponentials in the place of a row's scores, and add them up in ``sum``."""
    at, weight = affine(("i", block.columns), "k"), Var("weight", block.dtype)
    body = (
        Let("weight", call("exp", load(scores, at) - below)),
        Store("scores", at, block.dropped(weight, "k")),
        Reduce("sum", weight),
    )
    return Loop("k", block.columns, body, True, (Accumulator("sum", "sum", block.dtype),))


def finish(name: str, dtype: DType, rows: Extent, width: int, dead_rows: bool) -> Function:
    """Build (top, total, sums, out, lse): the means, and the logarithms of the whole sums.

    With ``dead_rows`` a query that saw nothing gives zeros.
    """
    top, total, sums, out, lse = (Buffer(n, dtype) for n in ("top", "total", "sums", "out", "lse"))
    whole, share = Var("whole", dtype), Var("share", dtype)
    at = affine(("i", width), "c")
    mean: Expr = load(sums, at) * share
    norm: Expr = load(top, affine("i")) + call("log", whole)
    if dead_rows:
        dead = call("eq", whole, 0)
        mean, norm = select(dead, const(0, dtype), mean), select(dead, const(0, dtype), norm)
    body: tuple[Statement, ...] = (
        Let("whole", load(total, affine("i"))),
        Let("share", const(1, dtype) / whole),
        Loop("c", width, (Store("out", at, mean),), True),
        Store("lse", affine("i"), norm),
    )
    buffers = (top, total, sums, out, lse)
    return Function(name, buffers, parameters(rows), (Loop("i", rows, body),))


def slopes(name: str, block: Block) -> Function:
    """Build (scores, douts, lse, delta, mask, kept): weights and gradients of the scores.

    ``scores`` become the weights after dropout, ``douts``, which holds the gradients of those,
    the gradients of the scores.
    """
    dtype = block.dtype
    scores, douts, lse, delta = (Buffer(n, dtype) for n in ("scores", "douts", "lse", "delta"))
    at, weight = affine(("i", block.columns), "j"), Var("weight", dtype)
    norm, mean = Var("norm", dtype), Var("mean", dtype)
    slope = weight * (block.dropped(load(douts, at), "j") - mean)
    inner: tuple[Statement, ...] = (
        Let("weight", call("exp", block.masked(load(scores, at), "j") - norm)),
        Store("douts", at, slope),
        Store("scores", at, block.dropped(weight, "j")),
    )
    return _rows(
        name, block, (scores, douts, lse, delta),
        Let("norm", load(lse, affine("i"))),
        Let("mean", load(delta, affine("i"))),
        Loop("j", block.columns, inner, True),
    )  # fmt: skip


def deltas(name: str, dtype: DType, rows: Extent, width: int) -> Function:
    """Build (dout, out, delta): the product of each row with its gradient."""
    dout, out = Buffer("dout", dtype), Buffer("out", dtype)
    at = affine(("i", width), "c")
    product = Reduce("sum", load(dout, at) * load(out, at))
    body: tuple[Statement, ...] = (
        Loop("c", width, (product,), True, (Accumulator("sum", "sum", dtype),)),
        Store("delta", affine("i"), Var("sum", dtype)),
    )
    buffers = (dout, out, Buffer("delta", dtype))
    return Function(name, buffers, parameters(rows), (Loop("i", rows, body),))


def pack(
    name: str, dtype: DType, rows: Extent, width: int, row: Extent, scale: float | None
) -> Function:
    """Build (source, target): rows that lie ``row`` elements apart, close together and scaled."""
    source = Buffer("source", dtype)
    value: Expr = load(source, affine(("i", row), "c"))
    if scale is not None:
        value = value * const(scale, dtype)
    body = (Loop("c", width, (Store("target", affine(("i", width), "c"), value),), True),)
    buffers, ints = (source, Buffer("target", dtype)), parameters(rows, row)
    return Function(name, buffers, ints, (Loop("i", rows, body),))


def fill(name: str, dtype: DType, size: Extent, value: float) -> Function:
    """Build (target): the same number everywhere."""
    body = (Store("target", affine("i"), const(value, dtype)),)
    buffers, ints = (Buffer("target", dtype),), parameters(size)
    return Function(name, buffers, ints, (Loop("i", size, body, True),))


def scaled(name: str, dtype: DType, size: Extent, scale: float) -> Function:
    """Build (target): all numbers times ``scale``."""
    target = Buffer("target", dtype)
    body = (Store("target", affine("i"), load(target, affine("i")) * const(scale, dtype)),)
    return Function(name, (target,), parameters(size), (Loop("i", size, body, True),))
