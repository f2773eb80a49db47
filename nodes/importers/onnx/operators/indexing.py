"""Gathering, scattering, slicing, sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....engine import ops
from .....engine.tensor import Tensor, wrap
from ..call import Call
from ..registry import operator


@operator("Slice", reads=(1, 2, 3, 4))
def slice_(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Cut out ranges of axes, also backwards."""
    starts, ends = call.ints(1, call.attr("starts")), call.ints(2, call.attr("ends"))
    axes = call.ints(3, call.attr("axes")) or list(range(len(starts)))
    steps = call.ints(4) or [1] * len(starts)
    key = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = x.shape[axis]
        if step < 0:
            end = None if end < -size else end
            start = min(start, size - 1) if start >= 0 else start
        key[axis % x.ndim] = slice(start, end, step)
    return x[tuple(key)]


@operator("Gather")
def gather(call: Call, x: Tensor, indices: Tensor) -> Tensor:
    """Take slices along an axis; negative positions count from the end."""
    axis = call.attr("axis", 0) % x.ndim
    return ops.gather(x, _counted(indices, x.shape[axis]), axis)


def _counted(indices: Tensor, size: int) -> Tensor:
    """Count negative positions from the front."""
    return ops.where(indices < 0, indices + size, indices)


@operator("GatherElements")
def gather_elements(call: Call, x: Tensor, indices: Tensor) -> Tensor:
    """Take one element for each position, along an axis."""
    axis = call.attr("axis", 0) % x.ndim
    return ops.gather_elements(x, axis, _counted(indices, x.shape[axis]))


@operator("GatherND")
def gather_nd(call: Call, x: Tensor, indices: Tensor) -> Tensor:
    """Take slices by tuples of positions, after some axes of a batch."""
    batch = call.attr("batch_dims", 0)
    depth = indices.shape[-1]
    lead = tuple(indices.shape[:batch])
    sizes = np.asarray(x.shape[batch : batch + depth], np.int64)
    counted = ops.where(indices < 0, indices + wrap(sizes), indices)
    if not batch:
        return ops.gather_nd(x, counted)
    grid = np.indices((*lead, *([1] * (indices.ndim - batch - 1)))).reshape(
        indices.ndim - 1, *lead, *([1] * (indices.ndim - batch - 1))
    )[:batch]
    full = [np.broadcast_to(axis, indices.shape[:-1])[..., None] for axis in grid]
    places = wrap(np.concatenate(full, -1).astype(np.int64))
    return ops.gather_nd(x, ops.concat((places, counted), -1))


_REDUCTIONS = {"none": None, "add": "add", "mul": "mul", "max": "max", "min": "min"}


@operator("ScatterElements", "Scatter")
def scatter_elements(call: Call, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Write one element for each position, along an axis."""
    axis = call.attr("axis", 0) % x.ndim
    places = np.indices(indices.shape)
    places[axis] = np.asarray(_counted(indices, x.shape[axis]).asnumpy())
    flat = np.ravel_multi_index(tuple(places), x.shape).reshape(-1, 1)
    return _scattered(call, x, flat, ops.reshape(updates, (-1,)))


@operator("ScatterND")
def scatter_nd(call: Call, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Write slices by tuples of positions."""
    places = indices.asnumpy().astype(np.int64)
    depth = places.shape[-1]
    places = np.where(places < 0, places + np.asarray(x.shape[:depth]), places)
    grid = np.arange(int(np.prod(x.shape, dtype=np.int64))).reshape(x.shape)
    flat = grid[tuple(np.moveaxis(places, -1, 0))].reshape(-1, 1)
    return _scattered(call, x, flat, ops.reshape(updates, (-1,)))


def _scattered(call: Call, x: Tensor, flat: np.ndarray, updates: Tensor) -> Tensor:
    function: Any = {
        "none": ops.tensor_scatter_update, "add": ops.tensor_scatter_add,
        "mul": ops.tensor_scatter_mul, "max": ops.tensor_scatter_max,
        "min": ops.tensor_scatter_min,
    }[call.attr("reduction", "none")]  # fmt: skip
    written = function(ops.reshape(x, (-1,)), wrap(flat.astype(np.int64)), updates)
    return ops.reshape(written, x.shape)


@operator("TensorScatter")
def tensor_scatter(call: Call, past: Tensor, update: Tensor, starts: Any = None) -> Tensor:
    """Write rows into a cache, at a position of its own for each of the batch."""
    axis = call.attr("axis", -2) % past.ndim
    size, count = past.shape[axis], update.shape[axis]
    first = np.zeros(past.shape[0], np.int64) if starts is None else starts.asnumpy()
    steps = first.reshape(-1, 1) + np.arange(count)
    if call.attr("mode", "linear") == "circular":
        steps = steps % size
    places = np.indices(update.shape)
    row = places[0]
    places[axis] = steps[row, places[axis]]
    flat = np.ravel_multi_index(tuple(places), past.shape).reshape(-1, 1)
    written = ops.tensor_scatter_update(
        ops.reshape(past, (-1,)), wrap(flat), ops.reshape(update, (-1,))
    )
    return ops.reshape(written, past.shape)


@operator("OneHot", reads=(1,))
def one_hot(call: Call, indices: Tensor, *_: Any) -> Tensor:
    """Put one of two values where a position is met."""
    depth = int(call.number(1))
    values = call.inputs[2]
    axis = call.attr("axis", -1)
    whole = ops.cast(indices, "int64")
    counted = ops.expand_dims(ops.where(whole < 0, whole + depth, whole), -1)
    hits = ops.equal(counted, wrap(np.arange(depth)))
    hits = ops.movedim(hits, -1, axis)
    return ops.where(hits, values[1], values[0])


@operator("TopK", reads=(1,))
def top_k(call: Call, x: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    """Return the largest or smallest elements along an axis and where they are."""
    count = int(call.number(1, call.attr("k")))
    axis = call.attr("axis", -1) % x.ndim
    largest = bool(call.attr("largest", 1))
    keys = x if not largest else ops.neg(x) if x.dtype.is_float or x.dtype.short[0] == "i" else None
    if keys is None:
        keys = ops.neg(ops.cast(x, "float64"))
    order = np.argsort(keys.asnumpy(), axis, kind="stable")
    chosen = wrap(np.take(order, np.arange(count), axis).astype(np.int64))
    return ops.gather_elements(x, axis, chosen), chosen


@operator("NonZero")
def non_zero(_: Call, x: Tensor) -> Tensor:
    """Return where elements are not zero, one row an axis."""
    return ops.cast(ops.nonzero(x), "int64").T


@operator("Compress")
def compress(call: Call, x: Tensor, condition: Tensor) -> Tensor:
    """Take the slices for which a condition holds."""
    axis = call.attr("axis")
    if axis is None:
        x, axis = ops.reshape(x, (-1,)), 0
    places = np.flatnonzero(condition.asnumpy())
    return ops.gather(x, wrap(places.astype(np.int64)), axis % x.ndim)


@operator("Unique")
def unique(call: Call, x: Tensor) -> tuple[Tensor, ...]:
    """Return what differs, with first positions, positions in the result and counts."""
    axis = call.attr("axis")
    values, first, inverse, counts = np.unique(
        x.asnumpy(), return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not call.attr("sorted", 1):
        order = np.argsort(first, kind="stable")
        values = np.take(values, order, 0 if axis is None else axis)
        first, counts = first[order], counts[order]
        inverse = np.argsort(order, kind="stable")[inverse]
    found = (values, *(item.astype(np.int64) for item in (first, inverse, counts)))
    return tuple(wrap(np.ascontiguousarray(item)) for item in found)


@operator("ReverseSequence")
def reverse_sequence(call: Call, x: Tensor, lengths: Tensor) -> Tensor:
    """Turn the first steps of each of a batch around."""
    batch, time = call.attr("batch_axis", 1), call.attr("time_axis", 0)
    sizes = lengths.asnumpy()
    places = np.indices(x.shape)
    ends = sizes[places[batch]]
    steps = places[time]
    turned = np.where(steps < ends, ends - 1 - steps, steps)
    return ops.gather_elements(x, time, wrap(turned.astype(np.int64)))
