"""The algebra of views: chains of them shortened, those that change nothing dropped.

All that only regroups axes becomes a reshape, all that only moves axes a transpose, so that equal
views are seen to be equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ops.registry import OPS
from ..shape import broadcast_shapes
from .graph import Node, Value, reduced_axes

if TYPE_CHECKING:
    from .simplify import Rewriter

Rule = Callable[["Rewriter", Node], "Value | None"]

REGROUPS = ("squeeze", "expand_dims", "flatten", "ravel", "unflatten")
MOVES = ("swapaxes", "movedim")
EXTREMES = ("amax", "amin")


def _unchanged(walk: Rewriter, node: Node) -> Value | None:
    return node.inputs[0] if node.inputs[0].aval == node.outputs[0].aval else None


def _as_reshape(walk: Rewriter, node: Node) -> Value | None:
    return _reshaped(walk, node, node.inputs[0])


def _reshaped(walk: Rewriter, node: Node, source: Value) -> Value:
    shape = tuple(node.outputs[0].aval.shape)
    if source.aval == node.outputs[0].aval:
        return source
    return walk.emit(OPS["reshape"], (source,), node, shape=shape)


def _reshaped_twice(walk: Rewriter, node: Node) -> Value | None:
    """Only the last shape of a chain matters."""
    inner = walk.producer(node.inputs[0], "reshape")
    return None if inner is None else _reshaped(walk, node, inner.inputs[0])


def _order(node: Node) -> tuple[int, ...]:
    """Return from which axis of the input each axis of the output comes."""
    rank = len(node.inputs[0].aval.shape)
    marked = np.lib.stride_tricks.as_strided(
        np.empty(1, np.int8), [1] * rank, [axis + 1 for axis in range(rank)]
    )
    moved: Any = node.op.kernel(marked, **node.attributes)
    return tuple(stride - 1 for stride in moved.strides)


def _as_transpose(walk: Rewriter, node: Node) -> Value | None:
    return _transposed(walk, node, node.inputs[0], _order(node))


def _transposed(walk: Rewriter, node: Node, source: Value, order: tuple[int, ...]) -> Value | None:
    """Write a transpose; a reshape where no two axes longer than 1 change places."""
    sizes = source.sizes
    moved = [axis for axis in order if sizes[axis] != 1]
    if moved == sorted(moved):
        return _reshaped(walk, node, source)
    if node.op.name == "transpose" and source is node.inputs[0] and order == _axes(node):
        return None
    return walk.emit(OPS["transpose"], (source,), node, axes=order)


def _axes(node: Node) -> tuple[int, ...]:
    axes: Any = node.attributes["axes"]
    rank = len(node.inputs[0].aval.shape)
    return tuple(int(axis) % rank for axis in axes)


def _transposed_twice(walk: Rewriter, node: Node) -> Value | None:
    inner = walk.producer(node.inputs[0], "transpose")
    if inner is None:
        return None
    first = _axes(inner)
    return _transposed(walk, node, inner.inputs[0], tuple(first[axis] for axis in _axes(node)))


def _short_transpose(walk: Rewriter, node: Node) -> Value | None:
    return _transposed(walk, node, node.inputs[0], _axes(node))


def _broadcast_twice(walk: Rewriter, node: Node) -> Value | None:
    inner = walk.producer(node.inputs[0], "broadcast_to")
    return None if inner is None else walk.emit(node.op, inner.inputs, node, **node.attributes)


def without_broadcasts(walk: Rewriter, node: Node) -> Value | None:
    """Pointwise ops broadcast by themselves; written out, that is one view more to follow."""
    found = [walk.producer(value, "broadcast_to") for value in node.inputs]
    if not any(found):
        return None
    plain = [v if b is None else b.inputs[0] for v, b in zip(node.inputs, found, strict=True)]
    shapes = [tuple(value.aval.shape) for value in plain]
    if broadcast_shapes(*[value.sizes for value in plain]) != node.outputs[0].sizes:
        return None
    if shapes == [tuple(value.aval.shape) for value in node.inputs]:
        return None
    return walk.emit(node.op, tuple(plain), node, **node.attributes)


def _sliced_whole(walk: Rewriter, node: Node) -> Value | None:
    """A slice of everything, in steps forward, is what it cuts."""
    steps: Any = node.attributes["strides"]
    return _unchanged(walk, node) if all(step == 1 for step in steps) else None


def _slice_of_joined(walk: Rewriter, node: Node) -> Value | None:
    """A slice that lies in one of the tensors that were joined is a slice of that one."""
    joined = walk.producer(node.inputs[0], "concat")
    if joined is None:
        return None
    axis: Any = joined.attributes["axis"]
    attrs: dict[str, Any] = node.attributes
    first, last, step = slice(
        attrs["begin"][axis], attrs["end"][axis], attrs["strides"][axis]
    ).indices(node.inputs[0].sizes[axis])
    start = 0
    for part in joined.inputs:
        end = start + part.sizes[axis]
        if step > 0 and start <= first < last <= end:
            begin, stop = list(attrs["begin"]), list(attrs["end"])
            begin[axis], stop[axis] = first - start, last - start
            cut = {"begin": tuple(begin), "end": tuple(stop), "strides": attrs["strides"]}
            return walk.emit(node.op, (part,), node, **cut)
        start = end
    return None


def _nothing_reduced(walk: Rewriter, node: Node) -> Value | None:
    """Extremes over axes of one element are those elements; a sum turns -0 into 0."""
    source = node.inputs[0]
    if node.op.name == "sum" and source.aval.shape and node.attributes["axis"] != ():
        return None
    if source.aval.dtype != node.outputs[0].aval.dtype:
        return None
    single = all(source.sizes[axis] == 1 for axis in reduced_axes(node))
    return _reshaped(walk, node, source) if single or node.attributes["axis"] == () else None


def _extreme_of_broadcast(walk: Rewriter, node: Node) -> Value | None:
    """An extreme over axes along which a tensor was repeated is one over its own axes."""
    spread = walk.producer(node.inputs[0], "broadcast_to")
    if spread is None or 0 in node.inputs[0].sizes:
        return None
    source = spread.inputs[0]
    if len(source.sizes) != len(node.inputs[0].sizes):
        return None
    axes = reduced_axes(node)
    kept = [axis for axis, size in enumerate(source.sizes) if axis not in axes]
    if any(source.sizes[axis] != node.inputs[0].sizes[axis] for axis in kept):
        return None
    return walk.emit(node.op, (source,), node, **node.attributes)


def _rolled_flat(walk: Rewriter, node: Node) -> Value | None:
    """Elements rolled as one row are rolled along its axis."""
    source = node.inputs[0]
    if node.attributes["dims"] is not None or 0 in source.sizes:
        return None
    row = walk.emit(OPS["reshape"], (source,), node, shape=(source.aval.size,))
    moved = walk.emit(node.op, (row,), node, shifts=node.attributes["shifts"], dims=(0,))
    return _reshaped(walk, node, moved)


VIEW_RULES: dict[str, tuple[Rule, ...]] = {
    **dict.fromkeys(REGROUPS, (_as_reshape,)),
    **dict.fromkeys(MOVES, (_as_transpose,)),
    "reshape": (_unchanged, _reshaped_twice),
    "transpose": (_transposed_twice, _short_transpose),
    "broadcast_to": (_unchanged, _broadcast_twice),
    "roll": (_rolled_flat,),
    "strided_slice": (_sliced_whole, _slice_of_joined),
    **dict.fromkeys(EXTREMES, (_nothing_reduced, _extreme_of_broadcast)),
    **dict.fromkeys(("sum", "prod"), (_nothing_reduced,)),
}
