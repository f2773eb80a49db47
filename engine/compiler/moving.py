"""Joining, padding, repeating and putting back parts: native steps that copy elements.

A family of `native_families.py`; the kernels are those of `kernels/moves.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...kernels.loops import DTYPES
from ...kernels.moves import Move, assemble
from ...kernels.runtime import Rows
from ..ops.subscripts import decode
from ..shape import SymDim
from .access import Access, natural_strides
from .graph import Node, Value
from .native_ops import KernelStep, NativeOp, Setting
from .parameters import Parameters, alike


@dataclass(frozen=True, slots=True)
class Part:
    """Where a whole input goes: a view of the output, over whose axes the input broadcasts."""

    value: Value
    target: Access
    sizes: tuple[int, ...]
    piece: tuple[slice, ...] = ()
    """The range of the input that is meant, if not all of it."""
    repeated: bool = False
    """Whether the view has an axis of repetitions before each axis of the input."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What an output consists of: a number, where it is seen, and parts, the last on top."""

    parts: list[Part]
    fill: float | None = None
    plus_zero: bool = False


def _view(value: Value, look: Callable[[np.ndarray], np.ndarray]) -> tuple[Access, tuple[int, ...]]:
    """Return how a view of a value lies in its memory, and its shape.

    The array that is looked at has one element in memory: only its addresses count.
    """
    shape, strides = value.sizes, natural_strides(value.sizes)
    base = np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), shape, strides, writeable=False)
    seen = look(base)
    start = base.__array_interface__["data"][0]
    offset = seen.__array_interface__["data"][0] - start
    return Access(value, tuple(seen.strides), offset), tuple(seen.shape)


def _part(value: Value, output: Value, look: Callable[[np.ndarray], np.ndarray]) -> Part:
    return Part(value, *_view(output, look))


def _slice_part(value: Value, output: Value, place: tuple[slice, ...]) -> Part:
    """Return the part that goes to some ranges of the output."""
    if not output.is_open:
        return _part(value, output, lambda whole: whole[place])
    sizes, strides, offset = list(output.sizes), list(natural_strides(output.sizes)), 0
    for axis, item in enumerate(place):
        first, last, step = _range(item, sizes[axis])
        offset += first * strides[axis]
        sizes[axis] = (last - first + step - 1) // step
        strides[axis] *= step
    return Part(value, Access(output, tuple(strides), offset), tuple(sizes))


def _range(item: slice, size: int) -> tuple[Any, Any, int]:
    """Return begin, end and step of a range of an axis; where its size is open, steps are 1."""
    if isinstance(size, int) and not isinstance(item.stop, SymDim):
        return item.indices(size)
    first, last = item.start or 0, size if item.stop is None else item.stop
    if item.step not in (None, 1) or first < 0 or last < first or last > size:
        return item.indices(size)  # an open size is refused here
    return first, last, 1


def _joined(node: Node) -> Picture:
    axis: Any = node.attributes["axis"]
    output, start = node.outputs[0], 0
    parts: list[Part] = []
    for value in node.inputs:
        end = start + value.sizes[axis]
        place = (*(slice(None),) * axis, slice(start, end))
        parts.append(_slice_part(value, output, place))
        start = end
    return Picture(parts)


def _unsliced(node: Node) -> Picture:
    attrs: dict[str, Any] = node.attributes
    ranges = zip(attrs["begin"], attrs["end"], attrs["strides"], strict=True)
    place = tuple(slice(*item) for item in ranges)
    return Picture([_slice_part(node.inputs[0], node.outputs[0], place)], 0)


def _place(node: Node) -> tuple[Any, ...]:
    """Return NumPy's index of what a key names: an array also where that is one element."""
    place = decode(node.attributes["key"])  # pyright: ignore[reportArgumentType]
    return place if Ellipsis in place else (*place, Ellipsis)


def _put_back(node: Node) -> Picture:
    place = _place(node)
    return Picture([_part(node.inputs[0], node.outputs[0], lambda whole: whole[place])], 0)


def _put(node: Node) -> Picture:
    place = _place(node)
    output = node.outputs[0]
    below = _part(node.inputs[0], output, lambda whole: whole)
    return Picture([below, _part(node.inputs[1], output, lambda whole: whole[place])])


def _padded(node: Node) -> Picture:
    attrs: dict[str, Any] = node.attributes
    source, output = node.inputs[0], node.outputs[0]
    pairs = ((0, 0),) * (len(source.sizes) - len(attrs["padding"])) + attrs["padding"]
    sizes = zip(source.sizes, output.sizes, pairs, strict=True)
    place, piece = [], []
    for size, length, (before, _) in sizes:
        place.append(slice(max(before, 0), min(before + size, length)))
        piece.append(slice(max(-before, 0), max(-before, 0) + place[-1].stop - place[-1].start))
    part = _slice_part(source, output, tuple(place))
    return Picture([replace(part, piece=tuple(piece))], attrs["value"])


def _tiled(node: Node) -> Picture:
    source, output = node.inputs[0], node.outputs[0]
    inner = (1,) * (len(output.sizes) - len(source.sizes)) + source.sizes
    pairs = [
        part for size, own in zip(output.sizes, inner, strict=True) for part in (size // own, own)
    ]
    part = _part(source, output, lambda whole: whole.reshape(pairs))
    return Picture([replace(part, repeated=True)])


def _assembled(node: Node) -> Picture:
    output, attrs = node.outputs[0], node.attributes
    places: Any = attrs["places"]
    parts = []
    for value, ranges in zip(node.inputs, places, strict=True):
        place = tuple(slice(*item) for item in ranges)
        parts.append(_slice_part(value, output, place))
    covered = sum(math.prod(part.sizes) for part in parts) == math.prod(output.sizes)
    return Picture(parts, None if covered else 0, plus_zero=True)


def _rolled(node: Node) -> Picture:
    attrs: dict[str, Any] = node.attributes
    source, output = node.inputs[0], node.outputs[0]
    moved = [0] * len(source.sizes)
    for shift, axis in zip(attrs["shifts"], attrs["dims"], strict=True):
        moved[axis] = (moved[axis] + shift) % source.sizes[axis]
    ways = [
        [(slice(0, size - by), slice(by, size)), (slice(size - by, size), slice(0, by))]
        if by
        else [(slice(0, size), slice(0, size))]
        for by, size in zip(moved, source.sizes, strict=True)
    ]
    parts = []
    for way in itertools.product(*ways):
        place = tuple(target for _, target in way)
        part = _slice_part(source, output, place)
        parts.append(replace(part, piece=tuple(piece for piece, _ in way)))
    return Picture(parts)


PICTURES: dict[str, Callable[[Node], Picture]] = {
    "concat": _joined,
    "unslice": _unsliced,
    "put_back": _put_back,
    "put_part": _put,
    "pad_constant": _padded,
    "tile": _tiled,
    "assemble": _assembled,
    "roll": _rolled,
}
SMALL = 1 << 15
"""Elements up to which all parts are written by one kernel, though it cannot be cut."""
MOST_PARTS = 64
"""Pictures of more parts are left to NumPy: each is a loop of its own in the kernel."""


def _moves(node: Node) -> bool:
    output = node.outputs[0]
    if output.aval.dtype.numpy not in DTYPES or 0 in output.sizes:
        return False
    match node.op.name:
        case "put_part":
            return len(node.inputs) == 2
        case "roll":
            return node.attributes["dims"] is not None and len(node.inputs[0].sizes) <= 6
        case "concat":
            return len(node.inputs) <= MOST_PARTS
        case _:
            return True


def _anywhere(node: Node, value: Value, access: Access) -> bool:
    return True


def _lower(node: Node, setting: Setting) -> list[KernelStep]:
    picture = PICTURES[node.op.name](node)
    output = node.outputs[0]
    parts = [part for part in picture.parts if 0 not in part.sizes]
    axis = next((i for i, size in enumerate(output.sizes) if size > 1), 0)
    count, row = (output.sizes or (1,))[axis], math.prod(output.sizes[axis + 1 :])
    moves = [_move(part, i, setting) for i, part in enumerate(parts)]
    led = [_led_by(move, count, row) for move in moves]
    fill = None if picture.fill is None else (row, picture.fill)
    if all(led):
        whole = [move for move in led if move is not None]
        return [_step(output, parts, whole, count, fill, picture.plus_zero, setting)]
    if not output.is_open and math.prod(output.sizes) <= SMALL:
        whole = [_below(move) for move in moves]
        fill = None if picture.fill is None else (math.prod(output.sizes), picture.fill)
        return [_step(output, parts, whole, 1, fill, picture.plus_zero, setting)]
    steps = []
    if fill is not None:
        steps.append(_step(output, [], [], count, fill, False, setting))
    for part, move, first in zip(parts, moves, led, strict=True):
        chosen = replace(first or move, source=0)
        rows: Any = chosen.sizes[0]
        steps.append(_step(output, [part], [chosen], rows, None, picture.plus_zero, setting))
    return steps


def _move(part: Part, number: int, setting: Setting) -> Move:
    """Return the loops that write a part."""
    access = setting.access(part.value)
    offset = access.offset
    for item, stride in zip(part.piece, access.strides, strict=False):
        offset += item.start * stride
    own = [0 if n == 1 else s for n, s in zip(part.value.sizes, access.strides, strict=True)]
    if part.repeated:
        own = [item for stride in own for item in (0, stride)]
    lead = len(part.sizes) - len(own)
    strides = [0] * max(lead, 0) + own[max(-lead, 0) :]
    sizes, target = part.sizes or (1,), part.target
    return Move(
        number, sizes, tuple(strides) or (0,), target.strides or (0,), offset, target.offset
    )


def _below(move: Move) -> Move:
    """Return a move whose only row is all of it."""
    return replace(
        move, sizes=(1, *move.sizes), source_strides=(0, *move.source_strides),
        target_strides=(0, *move.target_strides),
    )  # fmt: skip


def _led_by(move: Move, count: int, row: int) -> Move | None:
    """Return a move by rows of the output, if it has a part of each of them, else None."""
    for axis, (size, stride) in enumerate(zip(move.sizes, move.target_strides, strict=True)):
        if alike(size, count) and alike(stride, row):
            order = (axis, *(i for i in range(len(move.sizes)) if i != axis))
            sizes, source, target = (
                tuple(items[i] for i in order)
                for items in (move.sizes, move.source_strides, move.target_strides)
            )
            return replace(move, sizes=sizes, source_strides=source, target_strides=target)
    return None


def _step(
    output: Value,
    parts: Sequence[Part],
    moves: Sequence[Move],
    count: int,
    fill: tuple[int, float] | None,
    plus_zero: bool,
    setting: Setting,
) -> KernelStep:
    dtype = output.aval.dtype.numpy
    named = Parameters()
    folded = [_named(named, move.folded()) for move in moves]
    filled = None if fill is None else (named.of(fill[0]), fill[1])
    function = assemble("moves", dtype, len(parts), folded, filled, plus_zero).named("moves")
    sources: list[Any] = [move.source_strides[0] for move in moves]
    target: Any = fill[0] if fill is not None else moves[0].target_strides[0]
    rows = Rows(0, tuple(step * dtype.itemsize for step in (*sources, target)))
    buffers = (*(setting.base(part.value) for part in parts), output)
    ints = (count, *named.sizes(function.ints[1:]))
    return KernelStep(function, buffers, ints, (output,), rows)


def _named(named: Parameters, move: Move) -> Move:
    """Return a move with names for open sizes; how many rows there are is a parameter anyway."""
    return Move(
        move.source, (0, *named.all(move.sizes[1:])), named.all(move.source_strides),
        named.all(move.target_strides), named.of(move.source_offset), named.of(move.target_offset),
    )  # fmt: skip


def _products(node: Node) -> float:
    return 0.0


OPS = dict.fromkeys(PICTURES, NativeOp(_moves, _lower, _products, _anywhere))
