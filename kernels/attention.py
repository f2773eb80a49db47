"""Attention as one native kernel, forward or its gradient, that never holds all scores.

Head by head, a block of queries meets one block of keys after the other: two products, and the
loops of `attention_loops` between them. Of the scores only that block is in memory. The gradient
computes the scores once more from the logarithm of each row's sum (T. Dao et al.,
"FlashAttention", 2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from . import attention_loops as loops
from .attention_loops import KEPT_GAP, Block, Mask
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

    lead: tuple[int, ...]
    row: int
    offset: int = 0


@dataclass(frozen=True)
class Attention:
    """Sizes of an attention, and how its operands lie in memory.

    The size of the first leading axis is the kernel's parameter ``n``; ``inner`` has the others.
    ``strides`` has the operands by name; what is not among them lies head after head, row after
    row. ``p`` is the probability with which a weight is dropped.
    """

    dtype: DType
    inner: tuple[int, ...]
    queries: int
    keys: int
    width: int
    value_width: int
    scale: float
    causal: bool
    p: float
    strides: tuple[tuple[str, Strides], ...]
    mask: Mask | None = None
    split: bool = False
    """Whether the first leading axis counts blocks of queries of the same heads, forward only."""

    def stride(self, name: str) -> Strides | None:
        """Return how an operand lies, or None for rows without gaps."""
        return dict(self.strides).get(name)

    @property
    def height(self) -> int:
        """Queries of a block."""
        return min(self.queries, QUERY_BLOCK)

    @property
    def across(self) -> int:
        """Keys of a block."""
        return min(self.keys, KEY_BLOCK)

    @property
    def rows(self) -> Extent:
        """Queries of a block, a parameter where the last one has fewer."""
        return "rows" if self.queries % self.height else self.height

    @property
    def columns(self) -> Extent:
        """Keys of a block, a parameter where the last one has fewer."""
        return "columns" if self.keys % self.across else self.across

    @property
    def single(self) -> bool:
        """Whether all keys are one block."""
        return self.keys == self.across

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

    def packed(self, name: str) -> bool:
        """Return whether an operand's rows must be brought together first."""
        found = self.stride(name)
        width = self.value_width if name in ("value", "dout") else self.width
        return found is not None and found.row != width


@dataclass(frozen=True)
class AttentionKernel:
    """`void name(query, key, value, mask?, random?, out, lse, lse at the start?, workspace, n)`.

    The gradient takes `(query, key, value, mask?, random?, out, lse, lse at the start?, dout,
    dquery, dkey, dvalue, workspace, n)`. With dropout ``random`` is the key of its bits, and the
    head's number is counted from how far ``lse`` was moved from its start.
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
    def text(self) -> str:
        """A canonical description."""
        kind = "gradient" if self.gradient else "forward"
        parts = [f"attention {self.name} {kind} {self.attention}"]
        parts += [k.text for k in (*self.products().values(), *self.loops().values())]
        return "\n".join(parts)

    def workspace(self) -> dict[str, int]:
        """Return the elements of each piece of the workspace, each a multiple of a vector."""
        a = self.attention
        scores = a.height * a.across
        sizes = {"scores": scores}
        if self.gradient:
            sizes |= {"douts": scores, "delta": a.queries, "query": a.queries * a.width}
            if a.packed("dout"):
                sizes["dout"] = a.queries * a.value_width
        else:
            sizes |= {"query": a.height * a.width, "sums": a.height * a.value_width}
            sizes |= {"top": a.height, "total": a.height}
        if a.packed("key"):
            sizes["key"] = a.keys * a.width
        if a.packed("value"):
            sizes["value"] = a.keys * a.value_width
        if a.p:
            sizes["kept"] = -(-(a.height * a.kept_row + KEPT_GAP) // a.dtype.itemsize)
        return {name: -(-size // 16) * 16 for name, size in sizes.items()}

    @property
    def workspace_size(self) -> int:
        """Elements of one thread's workspace."""
        return sum(self.workspace().values())

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
        a, name, dtype = self.attention, self.name, self.attention.dtype
        found: dict[str, Function] = {}
        for operand, length, width in self.packings():
            row = found_row(a, operand, width)
            scale = a.scale if operand == "query" else None
            found[f"pack_{operand}"] = loops.pack(
                f"{name}.pack_{operand}", dtype, length, width, row, scale
            )
        if self.gradient:
            found |= {
                "slopes": loops.slopes(f"{name}.slopes", a.block),
                "deltas": loops.deltas(f"{name}.deltas", dtype, a.queries, a.value_width),
                "clear_dquery": loops.fill(f"{name}.clear_dquery", dtype, a.queries * a.width, 0),
                "clear_dkey": loops.fill(f"{name}.clear_dkey", dtype, a.keys * a.width, 0),
                "clear_dvalue": loops.fill(
                    f"{name}.clear_dvalue", dtype, a.keys * a.value_width, 0
                ),
                "scale": loops.scaled(f"{name}.scale", dtype, a.queries * a.width, a.scale),
            }
            return found
        found["softmax"] = loops.softmax(f"{name}.softmax", a.block, a.value_width, a.single)
        found["finish"] = loops.finish(
            f"{name}.finish", dtype, a.rows, a.value_width, a.value_width, a.mask is not None
        )
        if not a.single:
            size = a.height * a.value_width
            found["clear_sums"] = loops.fill(f"{name}.clear_sums", dtype, size, 0)
            found["clear_total"] = loops.fill(f"{name}.clear_total", dtype, a.height, 0)
            found["clear_top"] = loops.fill(f"{name}.clear_top", dtype, a.height, -math.inf)
        return found

    def packings(self) -> list[tuple[str, Extent, int]]:
        """Return the operands whose rows are brought together: name, rows, width."""
        a = self.attention
        found: list[tuple[str, Extent, int]] = [
            ("query", a.queries if self.gradient else a.rows, a.width)
        ]
        if a.packed("key"):
            found.append(("key", a.keys, a.width))
        if a.packed("value"):
            found.append(("value", a.keys, a.value_width))
        if self.gradient and a.packed("dout"):
            found.append(("dout", a.queries, a.value_width))
        return found

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        from .attention_code import print_attention

        return print_attention(self, target, declarations)


def found_row(attention: Attention, operand: str, width: int) -> int:
    """Return the elements from row to row of an operand."""
    strides = attention.stride(operand)
    return width if strides is None else strides.row
