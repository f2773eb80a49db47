"""Arrays put together from parts of others, as loop functions: copies and constants, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .expressions import DType, Expr, Index, affine, cast, const
from .loops import Buffer, Extent, Function, Loop, Statement, Store, load


@dataclass(frozen=True)
class Move:
    """Elements of source number ``source`` and where they go; the first axis is the rows'.

    Sizes, strides and offsets may be names of integer parameters.
    """

    source: int
    sizes: tuple[Extent, ...]
    source_strides: tuple[Extent, ...]
    target_strides: tuple[Extent, ...]
    source_offset: Extent = 0
    target_offset: Extent = 0

    @property
    def extents(self) -> tuple[Extent, ...]:
        """All of them but the rows."""
        offsets = (self.source_offset, self.target_offset)
        return (*self.sizes[1:], *self.source_strides, *self.target_strides, *offsets)

    def folded(self) -> Move:
        """Return the same without axes of size 1, neighbours joined where both sides allow it.

        The first axis stays as it is.
        """
        kept: list[tuple[Any, Any, Any]] = [
            (self.sizes[0], self.source_strides[0], self.target_strides[0])
        ]
        axes: Any = zip(self.sizes, self.source_strides, self.target_strides, strict=True)
        for size, source, target in list(axes)[1:]:
            if size == 1:
                continue
            outer, outer_source, outer_target = kept[-1]
            joins = outer_source == source * size and outer_target == target * size
            if len(kept) > 1 and joins:
                kept[-1] = (outer * size, source, target)
            else:
                kept.append((size, source, target))
        sizes, sources, targets = (tuple(item[i] for item in kept) for i in range(3))
        return Move(self.source, sizes, sources, targets, self.source_offset, self.target_offset)


def assemble(
    name: str,
    dtype: DType,
    sources: int,
    moves: Sequence[Move],
    fill: tuple[Extent, float] | None = None,
    plus_zero: bool = False,
) -> Function:
    """Build (sources..., out; n, sizes...): ``n`` rows, filled (size, number), then part by part.

    With ``plus_zero`` zero is added to each element, which gives -0.0 its plus.
    """
    buffers = [Buffer(f"from{i}", dtype) for i in range(sources)]
    body: list[Statement] = []
    if fill is not None:
        size, number = fill
        within = [] if size == 1 else ["j"]
        store = Store("to", affine(("row", size), *within), const(number, dtype))
        body.append(store if size == 1 else Loop("j", size, (store,), True))
    for number, move in enumerate(moves):
        names = ("row", *(f"i{number}_{axis}" for axis in range(1, len(move.sizes))))
        value: Expr = load(
            buffers[move.source], _at(names, move.source_strides, move.source_offset)
        )
        if plus_zero:
            value = value + const(0, dtype)
        body.append(
            _nest(
                names, move, Store("to", _at(names, move.target_strides, move.target_offset), value)
            )
        )
    # Rows of one element each are one row.
    elements = all(len(move.sizes) == 1 and move.target_strides[0] != 0 for move in moves)
    apart = bool(moves) if fill is None else fill[0] == 1 and not moves
    loop = Loop("row", "n", tuple(body), elements and apart)
    extents = [extent for move in moves for extent in move.extents]
    extents += [] if fill is None else [fill[0]]
    named = dict.fromkeys(extent for extent in extents if isinstance(extent, str))
    return Function(name, (*buffers, Buffer("to", dtype)), ("n", *named), (loop,))


def converted(source: DType, target: DType) -> Function:
    """Build (from, to; n): numbers in another dtype."""
    given = Buffer("from", source)
    store = Store("to", affine("i"), cast(load(given, affine("i")), target))
    loop = Loop("i", "n", (store,), True)
    return Function("converted", (given, Buffer("to", target)), ("n",), (loop,))


def _at(names: Sequence[str], strides: Sequence[Extent], offset: Extent) -> Index:
    return affine(*zip(names, strides, strict=True), offset=offset)


def _nest(names: Sequence[str], move: Move, store: Store) -> Statement:
    """Return the loops over a part's axes; the last one runs over vectors."""
    found: Statement = store
    for axis in range(len(move.sizes) - 1, 0, -1):
        vector = axis == len(move.sizes) - 1 and move.target_strides[axis] != 0
        found = Loop(names[axis], move.sizes[axis], (found,), vector)
    return found
