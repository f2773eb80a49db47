"""What lowering makes, and where it stands while it does.

`lower.py` makes it; planner and `gemm.py` make steps of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...kernels.loops import Expr, Function, Statement
from ...kernels.runtime import Rows
from .graph import Value

COLUMNS_APART = 32
"""Shares of columns begin at multiples of this number: whole lines of the cache, and panels."""


@dataclass(frozen=True, slots=True)
class LoopKernel:
    """A loop function and what it is called with: base values in order, then runtime sizes."""

    function: Function
    buffers: tuple[Value, ...]
    ints: tuple[int, ...]
    advance: tuple[int, ...] | None = None
    """Bytes from one row to the next of each buffer, where some rows can be run alone."""
    columns: bool = False
    """Whether these are columns; their number is then the last of the sizes."""

    @property
    def rows(self) -> Rows | None:
        """How a step of this kernel alone is cut for several threads."""
        if self.advance is None:
            return None
        if self.columns:
            return Rows(len(self.ints) - 1, self.advance, grain=COLUMNS_APART)
        return Rows(0, self.advance)


@dataclass(slots=True)
class Place:
    """One body of statements: the loop variables around it and the values it has bound."""

    variables: dict[int, str]
    body: list[Statement] = field(default_factory=list)
    bound: dict[Value, Expr] = field(default_factory=dict)
    outer: Place | None = None

    def find(self, value: Value) -> Expr | None:
        """Return what a value is bound to here or in a body around; None if to nothing."""
        place: Place | None = self
        while place is not None:
            if value in place.bound:
                return place.bound[value]
            place = place.outer
        return None
