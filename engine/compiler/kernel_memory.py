"""What a kernel that is being lowered has in memory: its buffers, its sizes, where elements lie.

What `lower.py` builds on while it writes the loops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...kernels import loops
from ...kernels.gemm_code import COLUMNS
from ...kernels.loops import Buffer, Index, Scratch
from ..ops import registry
from ..shape import Dim, SymDim
from .graph import Value
from .parameters import alike
from .space import NONE, Space, staged, sums_columns


class KernelMemory:
    """Names of a kernel's buffers and sizes, and the offsets of the values of its space.

    ``product`` is what a gemm's epilogue follows. With ``place`` "over" the only result is written
    over it, with "local" it is a block of the epilogue's rows alone. With ``columns`` some columns
    can be done alone.
    """

    def __init__(
        self,
        space: Space,
        stored: Sequence[Value],
        product: Value | None = None,
        place: str = "apart",
        columns: bool = False,
    ) -> None:
        self.product = product
        self.local = place == "local"
        self.columns = columns or (product is None and sums_columns(space, stored))
        self.block_row = ""
        self.space = space
        self.stored = list(stored)
        self.staged = staged(space, stored) or []
        self.names = 0
        self.buffers: dict[Value, Buffer] = {}
        self.scratch: dict[Value, Scratch] = {}
        fixed = space.leading in space.inner and bool(
            self.staged or [s for s in space.sinks if s not in self.stored]
        )
        self.runtime = NONE if fixed else space.leading
        self.open: dict[SymDim, str] = {}
        """Sizes that are not known yet: parameters of the kernel."""
        if not isinstance(space.row_size, int):  # scratch has a fixed size: whole values instead
            sinks = [v for v in space.sinks if space.is_inner(v)]
            self.stored = [*dict.fromkeys((*self.stored, *self.staged, *sinks))]
            self.staged = []
        if product is not None:
            self._buffer(product)
            if place == "over":
                self.buffers[stored[0]] = self.buffers[product]
        for access in space.leaves.values():
            self._buffer(access.base)
        for value in self.stored:
            self._buffer(value)
        self.producer = {node.outputs[0]: node for node in space.nodes}

    def _advance(self, bases: Sequence[Value]) -> tuple[int, ...] | None:
        """Return how far each buffer moves from row to row; None where rows depend on each other.

        Rows are the turns of the leading loop. They are independent where nothing is reduced over
        it, and can be run from any of them on where each buffer moves by one constant.
        """
        space = self.space
        reduced = space.leading in space.inner and any(
            isinstance(node.op.lowering, registry.Reduce) for node in space.nodes
        )
        if self.runtime == NONE or space.sinks or space.tail or reduced:
            return None
        moves: dict[Value, set[int]] = {base: set() for base in bases}
        for value in (*space.leaves, *self.stored):
            access = space.leaves.get(value)
            base = value if access is None else access.base
            if base not in moves:  # a result over the product itself
                continue
            natural = self._natural(value)
            stride = 0
            for axis, loop in enumerate(space.axes[value]):
                own = access is None or alike(access.strides[axis], self._number(natural[axis]))
                if loop != NONE and own and self._rows_of in natural[axis]:
                    return None
                if loop == space.leading:
                    stride += (
                        self._number(natural[axis]) if access is None else access.strides[axis]
                    )
            moves[base].add(stride * value.aval.dtype.itemsize)
        if any(len(found) > 1 for found in moves.values()):
            return None
        return tuple(next(iter(moves[base]), 0) for base in bases)

    def _fresh(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def _buffer(self, value: Value) -> Buffer:
        if value not in self.buffers:
            name = f"b{len(self.buffers)}"
            self.buffers[value] = Buffer(name, value.aval.dtype.numpy)
        return self.buffers[value]

    def _extent(self, loop: int) -> int | str:
        return self._rows_of if loop == self.runtime else self._size(self.space.extents[loop])

    @property
    def _rows_of(self) -> str:
        """The parameter that says how often the leading loop runs."""
        return "n" if self.product is None else "rows"

    def _size(self, size: Dim) -> int | str:
        """Return a size as the kernel has it: a number, or a parameter of its own."""
        if isinstance(size, int):
            return size
        return self.open.setdefault(size, f"size{len(self.open)}")

    def _count(self, loop: int) -> int | str:
        """Return how often a loop runs: over all its extent, or over the columns of a share."""
        alone = self.columns and loop == self.space.vector
        return COLUMNS if alone else self._extent(loop)

    def _index(self, value: Value, variables: dict[int, str]) -> Index:
        """Return the offset of a value's element at the current loop variables."""
        if self.local and value is self.product:
            variables = {**variables, self.space.leading: self.block_row}
        classes = self.space.axes[value]
        access = self.space.leaves.get(value)
        natural = self._natural(value)
        terms: list[tuple[str, Any]] = []
        for axis, loop in enumerate(classes):
            if loop == NONE:
                continue
            stride: Any = natural[axis]
            if access is not None and not alike(access.strides[axis], self._number(stride)):
                stride = (self._size(access.strides[axis]),)
            if access is None or access.strides[axis]:
                terms.append((variables[loop], stride))
        return loops.affine(*terms, offset=0 if access is None else self._size(access.offset))

    def _natural(self, value: Value) -> list[tuple[int | str, ...]]:
        factors: tuple[int | str, ...] = (1,)
        strides: list[tuple[int | str, ...]] = []
        for loop in reversed(self.space.axes[value]):
            strides.append(factors)
            if loop != NONE:
                factors = (*factors, self._extent(loop))
        return list(reversed(strides))

    def _number(self, factors: tuple[int | str, ...]) -> int:
        known: dict[int | str, Any] = {name: size for size, name in self.open.items()}
        if self.runtime != NONE:
            known[self._rows_of] = self.space.extents[self.runtime]
        return math.prod(known.get(factor, factor) for factor in factors)

    def _row_index(self, variables: dict[int, str]) -> Index:
        """Return the offset in a scratch row."""
        terms: list[tuple[str, Any]] = []
        factors: tuple[int | str, ...] = (1,)
        for loop in reversed(self.space.inner):
            terms.append((variables[loop], factors))
            factors = (*factors, self._extent(loop))
        return loops.affine(*terms)
