"""Shapes: arranging, joining, splitting and repeating."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....engine import ops
from .....engine.tensor import Tensor, wrap
from ..arrays import array_of, dtype_named
from ..call import Call
from ..registry import operator


@operator("Reshape", reads=(1,))
def reshape(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Arrange the elements in another shape; 0 keeps a size unless zeros are allowed."""
    wanted = call.ints(1, call.attr("shape"))
    if not call.attr("allowzero", 0):
        wanted = [x.shape[i] if size == 0 else size for i, size in enumerate(wanted)]
    return ops.reshape(x, tuple(wanted))


@operator("Flatten")
def flatten(call: Call, x: Tensor) -> Tensor:
    """Make a matrix: the axes before ``axis`` and those from it on."""
    axis = call.attr("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    lead = int(np.prod(x.shape[:axis], dtype=np.int64))
    return ops.reshape(x, (lead, int(np.prod(x.shape[axis:], dtype=np.int64))))


@operator("Transpose")
def transpose(call: Call, x: Tensor) -> Tensor:
    """Put the axes in another order; none given reverses them."""
    return ops.transpose(x, tuple(call.attr("perm", range(x.ndim)[::-1])))


@operator("Squeeze", reads=(1,))
def squeeze(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Take away axes of size 1."""
    axes = call.ints(1, call.attr("axes"))
    axes = [i for i, s in enumerate(x.shape) if s == 1] if axes is None else axes
    gone = {axis % max(x.ndim, 1) for axis in axes}
    return ops.reshape(x, tuple(s for i, s in enumerate(x.shape) if i not in gone))


@operator("Unsqueeze", reads=(1,))
def unsqueeze(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Put in axes of size 1."""
    axes = call.ints(1, call.attr("axes"))
    rank = x.ndim + len(axes)
    new = {axis % rank for axis in axes}
    sizes = iter(x.shape)
    return ops.reshape(x, tuple(1 if i in new else next(sizes) for i in range(rank)))


@operator("Expand", reads=(1,))
def expand(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Broadcast with a shape."""
    shape = np.broadcast_shapes(x.shape, tuple(call.ints(1)))
    return ops.broadcast_to(x, shape)


@operator("Tile", reads=(1,))
def tile(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Repeat along each axis."""
    return ops.tile(x, tuple(call.ints(1)))


@operator("Concat")
def concat(call: Call, *inputs: Tensor) -> Tensor:
    """Join along an axis."""
    return ops.concat(inputs, call.attr("axis", 1))


@operator("Split", reads=(1,))
def split(call: Call, x: Tensor, *_: Any) -> tuple[Tensor, ...]:
    """Cut along an axis into given sizes, or into equal parts and a smaller last one."""
    axis = call.attr("axis", 0) % x.ndim
    sizes = call.ints(1, call.attr("split"))
    if sizes is None:
        count, size = call.attr("num_outputs", len(call.node.output)), x.shape[axis]
        part = -(-size // count)
        sizes = [min(part, size - part * i) for i in range(count)]
    return pieces(x, sizes, axis)


def pieces(x: Tensor, sizes: list[int], axis: int) -> tuple[Tensor, ...]:
    """Return consecutive parts of the given sizes along an axis."""
    ends = np.cumsum(sizes)
    lead = (slice(None),) * axis
    return tuple(
        x[(*lead, slice(int(end - size), int(end)))] for size, end in zip(sizes, ends, strict=True)
    )


@operator("Shape")
def shape(call: Call, x: Tensor) -> Tensor:
    """Return the sizes of the axes, or of some of them."""
    start, end = call.attr("start", 0), call.attr("end")
    return wrap(np.asarray(x.shape[start:end], np.int64))


@operator("Size")
def size(_: Call, x: Tensor) -> Tensor:
    """Return the number of elements."""
    return wrap(np.asarray(int(np.prod(x.shape, dtype=np.int64)), np.int64))


@operator("ConstantOfShape", reads=(0,))
def constant_of_shape(call: Call, *_: Any) -> Tensor:
    """Return a tensor of one number."""
    value = call.attr("value")
    filling = np.zeros(1, np.float32) if value is None else array_of(value)
    return wrap(np.full(tuple(call.ints(0)), filling.reshape(-1)[0], filling.dtype))


@operator("Range", reads=(0, 1, 2))
def range_(call: Call, start: Tensor, *_: Any) -> Tensor:
    """Return numbers at equal distances."""
    first, limit, step = (call.array(i).reshape(-1)[0] for i in range(3))
    dtype = start.dtype.numpy
    count = max(int(np.ceil((limit.astype(np.float64) - float(first)) / float(step))), 0)
    return wrap((first + np.arange(count) * step).astype(dtype))


@operator("EyeLike")
def eye_like(call: Call, x: Tensor) -> Tensor:
    """Return ones on a diagonal in the shape of a matrix."""
    number = call.attr("dtype")
    dtype = x.dtype if number is None else dtype_named(number)
    return wrap(np.eye(*x.shape, k=call.attr("k", 0), dtype=dtype.numpy))


@operator("Trilu", reads=(1,))
def trilu(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Keep the upper or lower triangle of matrices."""
    diagonal = call.number(1, 0)
    kept = np.triu if call.attr("upper", 1) else np.tril
    mask = kept(np.ones(x.shape[-2:], bool), diagonal)
    return ops.where(wrap(mask), x, ops.zeros_like(x))


@operator("DepthToSpace")
def depth_to_space(call: Call, x: Tensor) -> Tensor:
    """Move channels into blocks of pixels."""
    n, c, h, w = x.shape
    b = call.attr("blocksize")
    if call.attr("mode", "DCR") == "DCR":
        parts = ops.transpose(ops.reshape(x, (n, b, b, c // b**2, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        parts = ops.transpose(ops.reshape(x, (n, c // b**2, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return ops.reshape(parts, (n, c // b**2, h * b, w * b))


@operator("SpaceToDepth")
def space_to_depth(call: Call, x: Tensor) -> Tensor:
    """Move blocks of pixels into channels."""
    n, c, h, w = x.shape
    b = call.attr("blocksize")
    parts = ops.reshape(x, (n, c, h // b, b, w // b, b))
    if call.attr("mode", "DCR") == "DCR":
        parts = ops.transpose(parts, (0, 3, 5, 1, 2, 4))
    else:
        parts = ops.transpose(parts, (0, 1, 3, 5, 2, 4))
    return ops.reshape(parts, (n, c * b * b, h // b, w // b))


@operator("Pad", reads=(1, 2, 3))
def pad(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Put elements around the axes: a number, mirrored ones, the edge's or those from behind."""
    widths = call.ints(1, call.attr("pads", call.attr("paddings")))
    axes = [axis % x.ndim for axis in call.ints(3, list(range(x.ndim)))]
    before, after = [0] * x.ndim, [0] * x.ndim
    for i, axis in enumerate(axes):
        before[axis], after[axis] = widths[i], widths[i + len(axes)]
    mode = call.attr("mode", "constant")
    x = _cropped(x, before, after)
    grown = [(max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True)]
    if mode != "constant":
        modes = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}
        return _indexed(x, grown, modes[mode])
    value = call.number(2, call.attr("value", 0.0))
    for axis, (low, high) in enumerate(grown):
        parts = [x]
        for at, width in ((0, low), (len(parts) + 1, high)):
            if width:
                shape = tuple(width if i == axis else s for i, s in enumerate(x.shape))
                parts.insert(at, ops.full(shape, value, dtype=x.dtype))
        x = ops.concat(parts, axis) if len(parts) > 1 else x
    return x


def _cropped(x: Tensor, before: list[int], after: list[int]) -> Tensor:
    if min((*before, *after), default=0) >= 0:
        return x
    ends = [s + min(a, 0) for s, a in zip(x.shape, after, strict=True)]
    return x[tuple(slice(max(-b, 0), e) for b, e in zip(before, ends, strict=True))]


def _indexed(x: Tensor, widths: list[tuple[int, int]], mode: Any) -> Tensor:
    """Pad by gathering along each axis the elements that stand outside it."""
    for axis, pair in enumerate(widths):
        if pair != (0, 0):
            order = np.pad(np.arange(x.shape[axis]), pair, mode)
            x = ops.gather(x, wrap(order), axis)
    return x


@operator("CenterCropPad", reads=(1,))
def center_crop_pad(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Crop or pad around the middle to given sizes."""
    sizes = call.ints(1)
    axes = call.attr("axes", list(range(x.ndim)))
    for axis, size in zip(axes, sizes, strict=True):
        axis = axis % x.ndim
        lead, have = (slice(None),) * axis, x.shape[axis]
        if size <= have:
            start = (have - size) // 2
            x = x[(*lead, slice(start, start + size))]
            continue
        before = (size - have) // 2
        parts = [
            ops.zeros((*x.shape[:axis], width, *x.shape[axis + 1 :]), x.dtype)
            for width in (before, size - have - before)
        ]
        x = ops.concat((parts[0], x, parts[1]), axis)
    return x
