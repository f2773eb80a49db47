"""The loop IR: what a kernel is before it is printed as LLVM.

A `Function` takes buffers (pointers) and int64 parameters (runtime sizes and strides) and holds
statements. Vector loops are marked by who builds them; the printer turns their iterations into
lanes and masks the tail. Softmax over rows of 64, the row read once and kept in scratch:

    softmax(src: float32, dst: float32, n: int):
      scratch row: float32[64]
      for i < n:
        vector j < 64 top=max:float32:
          x = src[i*64 + j]
          row[j] = x
          top <- x
        vector k < 64 total=sum:float32:
          e = exp(sub(row[k], top))
          row[k] = e
          total <- e
        vector m < 64:
          dst[i*64 + m] = div(row[m], total)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from .expressions import (
    BFLOAT16,
    BOOL,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    HALVES,
    INT32,
    INT64,
    OPS,
    Call,
    Const,
    DType,
    Expr,
    ExprBuilder,
    Index,
    Load,
    LoopError,
    Term,
    Var,
    affine,
    call,
    cast,
    const,
    select,
)

if TYPE_CHECKING:
    from .target import Target

__all__ = (
    "BFLOAT16",
    "BOOL",
    "DTYPES",
    "FLOAT16",
    "FLOAT32",
    "FLOAT64",
    "HALVES",
    "INT32",
    "INT64",
    "OPS",
    "REDUCTIONS",
    "SCRATCH_BYTES",
    "Accumulator",
    "Buffer",
    "Call",
    "Const",
    "DType",
    "Expr",
    "ExprBuilder",
    "Extent",
    "Function",
    "Index",
    "Let",
    "Load",
    "Loop",
    "LoopError",
    "Reduce",
    "Scratch",
    "Statement",
    "Store",
    "Term",
    "Var",
    "affine",
    "call",
    "cast",
    "const",
    "load",
    "select",
    "statements",
)

REDUCTIONS: Final = ("sum", "prod", "max", "min")
"""`max` and `min` pass NaN on, as NumPy's; on bools they mean any and all."""

SCRATCH_BYTES: Final = 256 * 1024
"""Scratch rows live on the stack; a worker's stack must hold them."""

Extent: TypeAlias = "int | str"


@dataclass(frozen=True)
class Let:
    """Bind a name to a value in the rest of the enclosing body."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Store:
    """Write one element; in a vector loop the index must move with the loop variable."""

    buffer: str
    index: Index
    value: Expr


@dataclass(frozen=True)
class Accumulator:
    """A running value of one loop; after the loop, its name is the reduced value."""

    name: str
    kind: str
    dtype: DType


@dataclass(frozen=True)
class Reduce:
    """Feed one value to an accumulator of the loop that directly holds this statement."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Loop:
    """Run the body for `var` in `0..extent-1`; the extent is a number or an integer parameter.

    Iterations of a vector loop are independent but for the accumulators. A vector loop may hold
    plain loops (a reduction down the columns of a matrix), never another vector loop.
    """

    var: str
    extent: Extent
    body: tuple[Statement, ...]
    vector: bool = False
    accumulators: tuple[Accumulator, ...] = ()


Statement: TypeAlias = "Let | Store | Reduce | Loop"


@dataclass(frozen=True)
class Buffer:
    """A pointer parameter; `noalias` promises that no other pointer that is written overlaps it."""

    name: str
    dtype: DType
    noalias: bool = False


@dataclass(frozen=True)
class Scratch:
    """A small array of constant size that lives for one call (in the first-level cache)."""

    name: str
    dtype: DType
    size: int


@dataclass(frozen=True)
class Function:
    """A kernel: `void name(buffer pointers..., int64 ints...)`."""

    name: str
    buffers: tuple[Buffer, ...]
    ints: tuple[str, ...]
    body: tuple[Statement, ...]
    scratch: tuple[Scratch, ...] = ()

    @property
    def text(self) -> str:
        """The function as text; equal functions have equal text."""
        from .loop_text import function_text

        known = self.__dict__.get("_text")  # printing is slow, and the function cannot change
        if known is None:
            known = self.__dict__["_text"] = function_text(self)
        return known

    @property
    def fingerprint(self) -> str:
        """A hash of everything but the function's name."""
        return hashlib.sha256(self.text.partition("(")[2].encode()).hexdigest()

    def named(self, prefix: str) -> Function:
        """Return the function under a name that only equal ones have."""
        return replace(self, name=f"{prefix}_{self.fingerprint[:16]}")

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition; puts what it calls into `declarations`, by name."""
        from .llvm import print_function

        return print_function(self, target, declarations)

    def __str__(self) -> str:
        return self.text


def load(buffer: Buffer | Scratch, index: Index) -> Load:
    """Read one element of a buffer or scratch array."""
    return Load(buffer.name, index, buffer.dtype)


def statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement, outer before inner."""
    for statement in body:
        yield statement
        if isinstance(statement, Loop):
            yield from statements(statement.body)
