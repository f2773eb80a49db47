"""Sums of pieces that were put into zeros, as gradients of slices are: one array put together.

A rule of `algebra.py`, which `simplify.py` tries on additions.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from ..ops.registry import OPS
from .graph import Node, Value

if TYPE_CHECKING:
    from .simplify import Rewriter

Place = tuple[tuple[Any, Any, int], ...]
"""For each axis begin, end and step of a range."""
MOST_PIECES = 32


def put_together(walk: Rewriter, node: Node) -> Value | None:
    """The sum of pieces put into zeros, none over another, is written once."""
    pieces: list[tuple[Value, Place]] = []
    for value in node.inputs:
        found = _pieces(walk, value)
        if found is None or value.aval != node.outputs[0].aval:
            return None
        pieces += found
    shape = node.outputs[0].sizes
    apart = all(_apart(shape, a, b) for (_, a), (_, b) in combinations(pieces, 2))
    if not apart or len(pieces) > MOST_PIECES:
        return None
    values, places = zip(*pieces, strict=True)
    return walk.emit(OPS["assemble"], values, node, shape=shape, places=places)


def _pieces(walk: Rewriter, value: Value) -> list[tuple[Value, Place]] | None:
    made = walk.producer(value, "unslice", "assemble")
    if made is None:
        return None
    attrs: dict[str, Any] = made.attributes
    if made.op.name == "assemble":
        return list(zip(made.inputs, attrs["places"], strict=True))
    place = tuple(zip(attrs["begin"], attrs["end"], attrs["strides"], strict=True))
    return [(made.inputs[0], place)]


def _apart(shape: tuple[int, ...], first: Place, second: Place) -> bool:
    """Return whether two pieces have no element in common, as the ends of some axis show."""
    for size, *ranges in zip(shape, first, second, strict=True):
        if not isinstance(size, int):  # a size that is not known yet shows nothing
            continue
        a, b = (range(size)[slice(*item)] for item in ranges)
        if not a or not b or max(a[0], a[-1]) < min(b[0], b[-1]):
            return True
        if max(b[0], b[-1]) < min(a[0], a[-1]):
            return True
    return False
