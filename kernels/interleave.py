"""Loads and stores of every second to fourth element, as wide masked ones and a shuffle.

A gather or scatter costs the processor a step for each lane; this costs a few for all of them.
Only the elements that are asked for are touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .emitter import Emitter, Value, type_text
from .expressions import BOOL

WIDEST_STRIDE: Final = 4


def load_strided(
    emit: Emitter, address: Value, lanes: int, stride: int, mask: Value | None
) -> Value:
    """Load elements 0, stride, 2 * stride, ... from an address."""
    wide = emit.load(address, lanes * stride, _spread(emit, mask, lanes, stride))
    return _shuffle(emit, wide, wide, [lane * stride for lane in range(lanes)])


def store_strided(emit: Emitter, x: Value, address: Value, stride: int, mask: Value | None) -> None:
    """Store to elements 0, stride, 2 * stride, ... from an address."""
    wide = _shuffle(emit, x, x, [place // stride for place in range(x.lanes * stride)])
    emit.store(wide, address, _spread(emit, mask, x.lanes, stride))


def _spread(emit: Emitter, mask: Value | None, lanes: int, stride: int) -> Value:
    """Return a mask of every stride-th element, of those the mask has."""
    places = range(lanes * stride)
    if mask is None:
        bits = ", ".join(f"i1 {'false' if place % stride else 'true'}" for place in places)
        return Value(f"<{bits}>", BOOL, lanes * stride)
    none = emit.prefix(0, lanes)
    picks = [lanes if place % stride else place // stride for place in places]
    return _shuffle(emit, mask, none, picks)


def _shuffle(emit: Emitter, x: Value, y: Value, picks: Sequence[int]) -> Value:
    kind = type_text(x.dtype, x.lanes)
    shown = ", ".join(f"i32 {pick}" for pick in picks)
    text = f"shufflevector {kind} {x.text}, {kind} {y.text}, <{len(picks)} x i32> <{shown}>"
    return emit.value(text, x.dtype, len(picks))
