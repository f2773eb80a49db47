"""Pools: maxima, averages, norms of windows, and what undoes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....engine import ops
from .....engine.tensor import Tensor, wrap
from ..call import Call
from ..registry import operator
from .windows import Windows, windows_of


@operator("MaxPool")
def max_pool(call: Call, x: Tensor) -> Any:
    """Return the largest element of each window and, where wanted, where it stands."""
    windows = windows_of(call, x.shape[2:], call.attr("kernel_shape"))
    lowest = np.iinfo(x.dtype.numpy).min if x.dtype.is_int else -np.inf
    read, _, flat = _read(x, windows, lowest)
    found = ops.amax(read, -1)
    if not call.wanted(1):
        return found
    best = ops.argmax(read, -1).asnumpy()
    places = np.take_along_axis(np.broadcast_to(flat, read.shape), best[..., None], -1)[..., 0]
    return found, wrap(_numbered(call, places, x.shape))


def _numbered(call: Call, places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Number places in the whole tensor, the last axes turned around for column order."""
    spatial = shape[2:]
    if call.attr("storage_order", 0):
        parts = np.unravel_index(places, spatial)
        places = np.ravel_multi_index(parts[::-1], spatial[::-1])
    lead = np.arange(shape[0] * shape[1]).reshape(*shape[:2], *[1] * len(spatial))
    return (places + lead * int(np.prod(spatial))).astype(np.int64)


def _read(x: Tensor, windows: Windows, outside: Any) -> tuple[Tensor, np.ndarray, np.ndarray]:
    """Return every window's elements on a last axis, which of them lie inside, and their places."""
    spatial = x.shape[2:]
    rank = len(spatial)
    inside = np.ones((1,) * (2 * rank), bool)
    flat = np.zeros((1,) * (2 * rank), np.int64)
    for i, size in enumerate(spatial):
        places = windows.places(i)
        shape = [1] * (2 * rank)
        shape[i], shape[rank + i] = places.shape
        inside = inside & ((places >= 0) & (places < size)).reshape(shape)
        flat = flat * size + np.clip(places, 0, size - 1).reshape(shape)
    shape = (*windows.outputs, int(np.prod(windows.kernel)))
    inside, flat = inside.reshape(shape), flat.reshape(shape)
    taken = ops.gather(ops.reshape(x, (*x.shape[:2], -1)), wrap(flat.reshape(-1)), 2)
    read = ops.reshape(taken, (*x.shape[:2], *shape))
    if not inside.all():
        read = ops.where(wrap(inside), read, ops.full((), outside, dtype=x.dtype))
    return read, inside, flat


@operator("AveragePool")
def average_pool(call: Call, x: Tensor) -> Tensor:
    """Return the mean of each window, with or without the padding in the count."""
    windows = windows_of(call, x.shape[2:], call.attr("kernel_shape"))
    read, inside, _ = _read(x, windows, 0)
    counted = inside
    if call.attr("count_include_pad", 0):
        counted = _within_padding(windows, x.shape[2:], inside.shape)
    counts = counted.sum(-1).astype(x.dtype.numpy)
    return ops.sum(read, -1) / wrap(counts)


def _within_padding(windows: Windows, sizes: tuple[int, ...], shape: Any) -> np.ndarray:
    rank = len(sizes)
    inside = np.ones((1,) * (2 * rank), bool)
    for i, size in enumerate(sizes):
        places = windows.places(i)
        axes = [1] * (2 * rank)
        axes[i], axes[rank + i] = places.shape
        ok = (places >= -windows.before[i]) & (places < size + windows.after[i])
        inside = inside & ok.reshape(axes)
    return inside.reshape(shape)


@operator("LpPool")
def lp_pool(call: Call, x: Tensor) -> Tensor:
    """Return the p-norm of each window."""
    windows = windows_of(call, x.shape[2:], call.attr("kernel_shape"))
    read, _, _ = _read(x, windows, 0)
    p = float(call.attr("p", 2))
    return ops.pow(ops.sum(ops.pow(ops.abs(read), p), -1), 1.0 / p)


def _spatial(x: Tensor) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@operator("GlobalAveragePool")
def global_average_pool(_: Call, x: Tensor) -> Tensor:
    """Return the mean over all spatial axes."""
    return ops.mean(x, _spatial(x), True)


@operator("GlobalMaxPool")
def global_max_pool(_: Call, x: Tensor) -> Tensor:
    """Return the maximum over all spatial axes."""
    return ops.amax(x, _spatial(x), True)


@operator("GlobalLpPool")
def global_lp_pool(call: Call, x: Tensor) -> Tensor:
    """Return the p-norm over all spatial axes."""
    p = float(call.attr("p", 2))
    return ops.pow(ops.sum(ops.pow(ops.abs(x), p), _spatial(x), True), 1.0 / p)


@operator("MaxUnpool", reads=(2,))
def max_unpool(call: Call, x: Tensor, places: Tensor, *_: Any) -> Tensor:
    """Put maxima back where they stood, zeros elsewhere."""
    kernel = call.attr("kernel_shape")
    rank = len(kernel)
    strides = call.attr("strides") or [1] * rank
    pads = call.attr("pads") or [0] * (2 * rank)
    natural = [
        (size - 1) * strides[i] + kernel[i] - pads[i] - pads[rank + i]
        for i, size in enumerate(x.shape[2:])
    ]
    shape = (*x.shape[:2], *natural)
    wanted = tuple(call.ints(2, shape))
    flat = places.asnumpy().reshape(-1)
    if wanted != shape:
        parts = np.unravel_index(flat, shape)
        flat = np.ravel_multi_index(parts, wanted)
    empty = ops.zeros((int(np.prod(wanted)),), x.dtype)
    filled = ops.tensor_scatter_update(
        empty, wrap(flat.astype(np.int64).reshape(-1, 1)), ops.reshape(x, (-1,))
    )
    return ops.reshape(filled, wanted)


@operator("RoiAlign")
def roi_align(call: Call, x: Tensor, rois: Tensor, batch: Tensor) -> Tensor:
    """Read regions of images on a regular grid, bilinearly, and pool the samples of each cell."""
    height, width = call.attr("output_height", 1), call.attr("output_width", 1)
    boxes, images = rois.asnumpy(), batch.asnumpy()
    halved = call.attr("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    half, scale = 0.5 if halved else 0.0, call.attr("spatial_scale", 1.0)
    found = [
        _roi(call, x[int(images[i])], box * scale - half, half, (height, width))
        for i, box in enumerate(boxes)
    ]
    return ops.stack(found, 0)


def _roi(call: Call, image: Tensor, box: np.ndarray, half: float, size: tuple[int, int]) -> Tensor:
    x1, y1, x2, y2 = (float(v) for v in box)
    spans = [y2 - y1, x2 - x1] if half else [max(y2 - y1, 1.0), max(x2 - x1, 1.0)]
    ratio = call.attr("sampling_ratio", 0)
    places = []
    counts = []
    for start, span, cells in zip((y1, x1), spans, size, strict=True):
        cell = span / cells
        count = ratio if ratio > 0 else int(np.ceil(cell))
        steps = (np.arange(count) + 0.5) * cell / count
        places.append((start + np.arange(cells)[:, None] * cell + steps).reshape(-1))
        counts.append(count)
    read = _samples(image, *places, pool_max=call.attr("mode", "avg") == "max")
    blocks = (image.shape[0], size[0], counts[0], size[1], counts[1])
    if call.attr("mode", "avg") == "max":
        return ops.amax(ops.reshape(read, blocks), (2, 4))
    return ops.mean(ops.reshape(read, blocks), (2, 4))


def _samples(image: Tensor, ys: np.ndarray, xs: np.ndarray, pool_max: bool) -> Tensor:
    """Return ``[channels, len(ys), len(xs)]``: the image at fractional positions."""
    _, height, width = image.shape
    corners: list[Tensor] = []
    rows, columns = _corners(ys, height), _corners(xs, width)
    for row, share_y in rows:
        for column, share_x in columns:
            share = (share_y[:, None] * share_x).astype(image.dtype.numpy)
            taken = ops.gather(ops.gather(image, wrap(row), 1), wrap(column), 2)
            corners.append(taken * wrap(share))
    if pool_max:
        return ops.maximum(ops.maximum(corners[0], corners[1]), ops.maximum(corners[2], corners[3]))
    return corners[0] + corners[1] + corners[2] + corners[3]


def _corners(places: np.ndarray, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the lower and upper neighbour of each place, each with its share; zero outside."""
    inside = (places >= -1.0) & (places <= size)
    near = np.clip(places, 0, None)
    low = np.minimum(near.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    share = np.where(low >= size - 1, 0.0, near - low)
    return [(low, (1 - share) * inside), (high, share * inside)]
