"""Attention as one native kernel, forward or its gradient, that never holds all scores.

Head by head, a block of queries meets one block of keys after the other: two products, and the
loops of `attention_loops` between them. Of the scores only that block is in memory. The gradient
computes the scores once more from the logarithm of each row's sum (T. Dao et al.,
"FlashAttention", 2022).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .attention_loops import (
    KEPT_GAP,
    Block,
    Mask,
    deltas,
    fill,
    finish,
    pack,
    parameters,
    scaled,
    slopes,
    softmax,
)
from .expressions import DType
from .gemm import Gemm, Product
from .loops import Extent, Function
from .target import Target

QUERY_BLOCK: Final = 64
KEY_BLOCK: Final = 128
"""Scores of a block, in float32, are as large as the first-level cache."""


@dataclass(frozen=True)
class Strides:
    """Elements from one to the next of each leading axis, from row to row, and to the first."""

    lead: tuple[Extent, ...]
    row: Extent
    offset: Extent = 0

    @property
    def extents(self) -> tuple[Extent, ...]:
        """All of them."""
        return (*self.lead, self.row, self.offset)


@dataclass(frozen=True)
class Attention:
    """Sizes of an attention, and how its operands lie in memory.

    The size of the first leading axis is the kernel's parameter ``n``; ``inner`` has the others.
    Sizes and strides that are names are parameters too.
    ``strides`` has the operands by name; what is not among them lies head after head, row after
    row. ``p`` is the probability with which a weight is dropped.
    """

    dtype: DType
    inner: tuple[Extent, ...]
    queries: Extent
    keys: Extent
    width: int
    value_width: int
    scale: float
    causal: bool
    p: float
    strides: tuple[tuple[str, Strides], ...]
    mask: Mask | None = None
    split: bool = False
    """Whether the first leading axis counts blocks of queries of the same heads, forward only."""
    single: bool = False
    """Whether all keys are one block."""

    @property
    def ints(self) -> tuple[str, ...]:
        """Names of the sizes that are parameters."""
        strides = [extent for _, found in self.strides for extent in found.extents]
        mask = () if self.mask is None else (self.mask.row, self.mask.column)
        return parameters(*self.inner, self.queries, self.keys, *strides, *mask)

    def stride(self, name: str) -> Strides | None:
        """Return how an operand lies, or None for rows without gaps."""
        return dict(self.strides).get(name)

    @property
    def height(self) -> int:
        """Queries of a block."""
        return QUERY_BLOCK if isinstance(self.queries, str) else min(self.queries, QUERY_BLOCK)

    @property
    def across(self) -> int:
        """Keys of a block."""
        return KEY_BLOCK if isinstance(self.keys, str) else min(self.keys, KEY_BLOCK)

    @property
    def rows(self) -> Extent:
        """Queries of a block, a parameter where the last one has fewer."""
        whole = isinstance(self.queries, int) and self.queries % self.height == 0
        return self.height if whole else "rows"

    @property
    def columns(self) -> Extent:
        """Keys of a block, a parameter where the last one has fewer."""
        whole = isinstance(self.keys, int) and self.keys % self.across == 0
        return self.across if whole else "columns"

    @property
    def kept_row(self) -> int:
        """Bytes of a row of random bits."""
        return self.across + KEPT_GAP

    @property
    def block(self) -> Block:
        """What the loops know of a block."""
        keep = (1 / (1 - self.p) if self.p < 1 else 0.0) if self.p else None
        return Block(
            self.dtype, self.rows, self.columns, self.kept_row, self.mask, self.causal, keep
        )

    def width_of(self, name: str) -> int:
        """Return the elements of an operand's row."""
        return self.value_width if name in ("value", "dout") else self.width

    def row_of(self, name: str) -> Extent:
        """Return the elements from row to row of an operand."""
        found = self.stride(name)
        return self.width_of(name) if found is None else found.row

    def packed(self, name: str) -> bool:
        """Return whether an operand's rows must be brought together first."""
        return self.row_of(name) != self.width_of(name)


@dataclass(frozen=True)
class AttentionKernel:
    """`void name(query, key, value, mask?, random?, out, lse, start?, workspace, n, ints...)`.

    The gradient takes `(query, key, value, mask?, random?, out, lse, start?, dout, dquery, dkey,
    dvalue, workspace, n, ints...)`; ``start`` is where all of lse begins. With dropout ``random``
    is the key of its bits, and the head's number is counted from how far ``lse`` is from there.
    """

    name: str
    attention: Attention
    gradient: bool

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names of the buffers in order."""
        a = self.attention
        random = ("random",) if a.p else ()
        first = ("query", "key", "value", *(("mask",) if a.mask else ()), *random, "out", "lse")
        start = ("start",) if a.p or a.split else ()
        grads = ("dout", "dquery", "dkey", "dvalue") if self.gradient else ()
        return (*first, *start, *grads, "workspace")

    @property
    def ints(self) -> tuple[str, ...]:
        """Names of the integer parameters."""
        return ("n", *self.attention.ints)

    @property
    def text(self) -> str:
        """A canonical description."""
        kind = "gradient" if self.gradient else "forward"
        parts = [f"attention {self.name} {kind} {self.attention}"]
        parts += [k.text for k in (*self.products().values(), *self.loops().values())]
        return "\n".join(parts)

    def workspace(self) -> dict[str, tuple[Extent, int]]:
        """Return the pieces of the workspace: how many rows, and elements of each."""
        a = self.attention
        scores = (a.height, a.across)
        pieces: dict[str, tuple[Extent, int]] = {"scores": scores}
        if self.gradient:
            pieces |= {"douts": scores, "delta": (a.queries, 1), "query": (a.queries, a.width)}
            if a.packed("dout"):
                pieces["dout"] = (a.queries, a.value_width)
        else:
            pieces |= {"query": (a.height, a.width), "sums": (a.height, a.value_width)}
            pieces |= {"top": (a.height, 1), "total": (a.height, 1)}
        if a.packed("key"):
            pieces["key"] = (a.keys, a.width)
        if a.packed("value"):
            pieces["value"] = (a.keys, a.value_width)
        if a.p:
            pieces["kept"] = (1, -(-(a.height * a.kept_row + KEPT_GAP) // a.dtype.itemsize))
        return pieces

    def workspace_size(self, sizes: Mapping[str, Any]) -> Any:
        """Return the elements of one thread's workspace, for what the parameters are."""
        pieces = self.workspace().values()
        return sum(rounded(sizes.get(rows, rows) * width) for rows, width in pieces)  # pyright: ignore[reportCallIssue, reportArgumentType]

    def products(self) -> dict[str, Gemm]:
        """The products, by role."""
        a, dtype = self.attention, self.attention.dtype
        rows, columns, width, deep = a.rows, a.columns, a.width, a.value_width
        found = {"scores": Product(dtype, rows, columns, width, transpose_b=True)}
        if self.gradient:
            found |= {
                "douts": Product(dtype, rows, columns, deep, transpose_b=True),
                "dvalue": Product(dtype, columns, deep, rows, transpose_a=True, accumulate=True),
                "dkey": Product(dtype, columns, width, rows, transpose_a=True, accumulate=True),
                "dquery": Product(dtype, rows, width, columns, accumulate=True),
            }
        else:
            found["sums"] = Product(dtype, rows, deep, columns, accumulate=not a.single)
        return {role: Gemm(f"{self.name}.{role}.product", p) for role, p in found.items()}

    def loops(self) -> dict[str, Function]:
        """The loops, by role."""
        a, found = self.attention, dict[str, Function]()
        for operand, length in self.packings().items():
            sizes = (length, a.width_of(operand), a.row_of(operand))
            scale = a.scale if operand == "query" else None
            role = f"pack_{operand}"
            found[role] = pack(f"{self.name}.{role}", a.dtype, *sizes, scale)
        return found | (self._gradient_loops() if self.gradient else self._forward_loops())

    def _forward_loops(self) -> dict[str, Function]:
        a, name = self.attention, self.name
        found = {
            "softmax": softmax(f"{name}.softmax", a.block, a.value_width, a.single),
            "finish": finish(f"{name}.finish", a.dtype, a.rows, a.value_width, a.mask is not None),
        }
        if a.single:
            return found
        sums = a.height * a.value_width
        return found | {
            "clear_sums": self._fill("clear_sums", sums),
            "clear_total": self._fill("clear_total", a.height),
            "clear_top": self._fill("clear_top", a.height, -math.inf),
        }

    def _gradient_loops(self) -> dict[str, Function]:
        a, name = self.attention, self.name
        query, key = _elements(a.queries, a.width), _elements(a.keys, a.width)
        return {
            "slopes": slopes(f"{name}.slopes", a.block),
            "deltas": deltas(f"{name}.deltas", a.dtype, a.queries, a.value_width),
            "clear_dquery": self._fill("clear_dquery", query),
            "clear_dkey": self._fill("clear_dkey", key),
            "clear_dvalue": self._fill("clear_dvalue", _elements(a.keys, a.value_width)),
            "scale": scaled(f"{name}.scale", a.dtype, query, a.scale),
        }

    def _fill(self, role: str, size: Extent, value: float = 0) -> Function:
        return fill(f"{self.name}.{role}", self.attention.dtype, size, value)

    def packings(self) -> dict[str, Extent]:
        """Return the operands whose rows are brought together, and how many rows."""
        a = self.attention
        found: dict[str, Extent] = {"query": a.queries if self.gradient else a.rows}
        found |= {name: a.keys for name in ("key", "value") if a.packed(name)}
        if self.gradient and a.packed("dout"):
            found["dout"] = a.queries
        return found

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        from .attention_code import print_attention

        return print_attention(self, target, declarations)


def rounded(size: Any) -> Any:
    """Return a size as a multiple of a vector."""
    return (size + 15) // 16 * 16


def _elements(rows: Extent, width: int) -> Extent:
    """Return how many elements rows have: a parameter where their number is one."""
    return "elements" if isinstance(rows, str) else rows * width
