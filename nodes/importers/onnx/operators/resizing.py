"""Resizing of images and reading them on grids."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....engine import ops
from .....engine.tensor import Tensor, wrap
from ..call import Call
from ..registry import operator


@operator("Resize", "Upsample", reads=(1, 2, 3))
def resize(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Resample along axes: nearest, linear or cubic, by ONNX's rules of coordinates."""
    rank = x.ndim
    axes = [axis % rank for axis in call.attr("axes", list(range(rank)))]
    scales, sizes, roi = _request(call, x, axes)
    for i, axis in enumerate(axes):
        size = sizes[i]
        if size == x.shape[axis] and scales[i] == 1.0 and not _crops(call):
            continue
        places = _places(call, x.shape[axis], size, scales[i], roi and (roi[i], roi[i + len(axes)]))
        weights = _weights(call, places, x.shape[axis], scales[i])
        x = _along(x, axis, weights.astype(x.dtype.numpy if x.dtype.is_float else np.float32))
    if _crops(call):
        x = _extrapolated(call, x, call.inputs[0].shape, axes, sizes, scales, roi)
    return x if call.inputs[0].dtype.is_float else ops.cast(x, call.inputs[0].dtype)


def _crops(call: Call) -> bool:
    return call.attr("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"


def _request(call: Call, x: Tensor, axes: list[int]) -> tuple[list[float], list[int], Any]:
    """Return scale and size of each axis, and the region of interest where there is one."""
    if call.op_type == "Upsample":
        scales = call.array(1, call.attr("scales"))
        scales = [float(s) for s in np.asarray(scales).reshape(-1)]
        return (
            scales,
            [int(np.floor(x.shape[a] * s)) for a, s in zip(axes, scales, strict=True)],
            None,
        )
    late = call.version >= 11
    roi = call.array(1) if late else None
    region = None if roi is None or not roi.size else [float(v) for v in roi.reshape(-1)]
    given = call.array(2 if late else 1)
    if given is not None and given.size:
        scales = [float(s) for s in given.reshape(-1)]
        lengths = [_length(x.shape[a], i, axes, region, call) for i, a in enumerate(axes)]
        return scales, [int(np.floor(n * s)) for n, s in zip(lengths, scales, strict=True)], region
    sizes = call.ints(3)
    scales = [
        size / _length(x.shape[a], i, axes, region, call)
        for i, (a, size) in enumerate(zip(axes, sizes, strict=True))
    ]
    policy = call.attr("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        scale = min(scales) if policy == "not_larger" else max(scales)
        scales = [scale] * len(axes)
        sizes = [int(np.floor(x.shape[a] * scale + 0.5)) for a in axes]
    return scales, sizes, region


def _length(size: int, i: int, axes: list[int], roi: Any, call: Call) -> float:
    if roi is None or not _crops(call):
        return size
    return size * (roi[i + len(axes)] - roi[i])


def _places(call: Call, size: int, wanted: int, scale: float, roi: Any) -> np.ndarray:
    """Return where in the input each element of the output is read."""
    at = np.arange(wanted, dtype=np.float64)
    mode = call.attr("coordinate_transformation_mode", "half_pixel" if call.version >= 11 else
                     "asymmetric")  # fmt: skip
    if call.op_type == "Upsample" or mode == "asymmetric":
        return at / scale
    if mode == "half_pixel":
        return (at + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        adjustment = wanted / (scale * size)
        return size / 2 * (1 - adjustment) + (at + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (at + 0.5) / scale - 0.5 if wanted > 1 else np.zeros(wanted)
    if mode == "align_corners":
        # by the length before it was rounded down
        return at * (size - 1) / (size * scale - 1) if wanted > 1 else np.zeros(wanted)
    if mode == "tf_crop_and_resize":
        start, end = roi
        if wanted == 1:
            return np.full(1, 0.5 * (start + end) * (size - 1))
        return start * (size - 1) + at * (end - start) * (size - 1) / (wanted - 1)
    raise call.refuse(f"the coordinates {mode!r} are not known.")


def _weights(call: Call, places: np.ndarray, size: int, scale: float) -> np.ndarray:
    """Return ``[outputs, size]``: the share of each input element in each output element."""
    mode = call.attr("mode", "nearest")
    if mode == "nearest":
        chosen = _nearest(call, places)
        return _summed(np.clip(chosen, 0, size - 1)[:, None], np.ones((len(places), 1)), size)
    stretch = min(scale, 1.0) if call.attr("antialias", 0) else 1.0
    reach = {"linear": 1.0, "cubic": 2.0}[mode] / stretch
    first = np.floor(places - reach).astype(np.int64)
    taps = first[:, None] + np.arange(int(2 * np.ceil(reach)) + 2)
    distance = np.abs(places[:, None] - taps) * stretch
    a = call.attr("cubic_coeff_a", -0.75)
    shares = np.maximum(1 - distance, 0) if mode == "linear" else _cubic(distance, a)
    if call.attr("exclude_outside", 0):
        shares = shares * ((taps >= 0) & (taps < size))
    shares = shares / shares.sum(1, keepdims=True)
    return _summed(np.clip(taps, 0, size - 1), shares, size)


def _nearest(call: Call, places: np.ndarray) -> np.ndarray:
    rounding = call.attr("nearest_mode", "round_prefer_floor" if call.version >= 11 else "floor")
    if call.op_type == "Upsample" or rounding == "floor":
        return np.floor(places).astype(np.int64)
    if rounding == "ceil":
        return np.ceil(places).astype(np.int64)
    near = np.round(places, 9)  # a half is a half, whatever the division left
    if rounding == "round_prefer_floor":
        return np.ceil(near - 0.5).astype(np.int64)
    return np.floor(near + 0.5).astype(np.int64)


def _cubic(d: np.ndarray, a: float) -> np.ndarray:
    """Return the weights of Keys' cubic convolution.

    R. Keys, Cubic convolution interpolation for digital image processing, IEEE TASSP 29 (1981).
    """
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _summed(taps: np.ndarray, shares: np.ndarray, size: int) -> np.ndarray:
    found = np.zeros((len(taps), size))
    np.add.at(found, (np.arange(len(taps))[:, None], taps), shares)
    return found


def _along(x: Tensor, axis: int, weights: np.ndarray) -> Tensor:
    """Replace an axis by sums of its elements."""
    single = (weights == 1.0).sum(1) == 1
    if single.all() and (np.abs(weights).sum(1) == 1.0).all():
        return ops.gather(x, wrap(weights.argmax(1).astype(np.int64)), axis)
    numbers = x if x.dtype.is_float else ops.cast(x, "float32")
    last = ops.movedim(numbers, axis, -1)
    return ops.movedim(ops.matmul(last, wrap(np.ascontiguousarray(weights.T))), -1, axis)


def _extrapolated(
    call: Call, x: Tensor, shape: tuple[int, ...], axes: list[int], sizes: list[int],
    scales: list[float], roi: Any,
) -> Tensor:  # fmt: skip
    """Put a number where the region of interest leaves the image."""
    outside = np.zeros((1,) * x.ndim, bool)
    for i, axis in enumerate(axes):
        places = _places(call, shape[axis], sizes[i], scales[i], (roi[i], roi[i + len(axes)]))
        beside = (places < 0) | (places > shape[axis] - 1)
        outside = outside | beside.reshape([-1 if j == axis else 1 for j in range(x.ndim)])
    value = ops.full((), call.attr("extrapolation_value", 0.0), dtype=x.dtype)
    return ops.where(wrap(outside), value, x)


@operator("AffineGrid", reads=(1,))
def affine_grid(call: Call, theta: Tensor, *_: Any) -> Tensor:
    """Return where an affine map puts each pixel's coordinates, in [-1, 1]."""
    sizes = call.ints(1)
    spatial = sizes[2:]
    lines = []
    for size in spatial:
        if call.attr("align_corners", 0):
            lines.append(np.linspace(-1, 1, size))
        else:
            lines.append((2 * np.arange(size) + 1) / size - 1)
    grid = np.stack(np.meshgrid(*lines, indexing="ij")[::-1], -1)
    points = np.concatenate((grid, np.ones((*spatial, 1))), -1).reshape(-1, len(spatial) + 1)
    found = ops.matmul(wrap(points.astype(theta.dtype.numpy)), ops.swapaxes(theta, -1, -2))
    return ops.reshape(found, (sizes[0], *spatial, len(spatial)))


@operator("GridSample")
def grid_sample(call: Call, x: Tensor, grid: Tensor) -> Tensor:
    """Read images at the places of a grid, in [-1, 1]; any number of spatial axes."""
    named: str = call.attr("mode", "linear")
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(named, named)
    spatial, rank = x.shape[2:], x.ndim - 2
    align = bool(call.attr("align_corners", 0))
    choices: list[list[tuple[Tensor, Tensor]]] = []
    for i, size in enumerate(spatial):
        at = grid[..., rank - 1 - i]
        at = (at + 1.0) / 2.0 * (size - 1) if align else ((at + 1.0) * size - 1.0) / 2.0
        if call.attr("padding_mode", "zeros") != "zeros" and mode != "cubic":
            at = _folded(call, at, size, align)
        choices.append(_taps(at, mode))
    return _read(call, x, choices, align)


def _folded(call: Call, at: Tensor, size: int, align: bool) -> Tensor:
    """Bring coordinates back into the image: to its border, or mirrored at it."""
    if call.attr("padding_mode") == "border":
        return ops.clamp(at, 0.0, float(size - 1))
    low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
    span = high - low
    if span <= 0:
        return ops.zeros_like(at)
    away = ops.abs(at - low)
    turns = ops.floor(away / span)
    rest = away - turns * span
    even = ops.equal(ops.mod(turns, 2.0), 0)
    return ops.clamp(ops.where(even, rest + low, high - rest), 0.0, float(size - 1))


def _taps(at: Tensor, mode: str) -> list[tuple[Tensor, Tensor]]:
    """Return the neighbours of each place, whole numbers, and their shares."""
    if mode == "nearest":
        return [(ops.round(at), ops.ones_like(at))]
    low = ops.floor(at)
    part = at - low
    if mode == "linear":
        return [(low, 1.0 - part), (low + 1.0, part)]
    a = -0.75
    far, near = part + 1.0, part
    shares = (
        ((a * far - 5 * a) * far + 8 * a) * far - 4 * a,
        ((a + 2) * near - (a + 3)) * near * near + 1.0,
        ((a + 2) * (1.0 - near) - (a + 3)) * (1.0 - near) * (1.0 - near) + 1.0,
        ((a * (2.0 - near) - 5 * a) * (2.0 - near) + 8 * a) * (2.0 - near) - 4 * a,
    )
    return [(low + float(i - 1), share) for i, share in enumerate(shares)]


def _read(call: Call, x: Tensor, choices: list[Any], align: bool) -> Tensor:
    n, channels, *spatial = x.shape
    flat = ops.reshape(x, (n, channels, -1))
    points = choices[0][0][0].shape[1:]
    total: Any = None
    for corner in np.ndindex(*[len(taps) for taps in choices]):
        place: Any = 0
        share: Any = 1.0
        for i, pick in enumerate(corner):
            at, weight = choices[i][pick]
            if call.attr("padding_mode", "zeros") == "zeros":
                inside = (at >= 0) & (at <= spatial[i] - 1)
                weight = weight * ops.cast(inside, x.dtype)
            else:
                at = _folded(call, at, spatial[i], align)
            place = place * spatial[i] + ops.clamp(at, 0, spatial[i] - 1)
            share = weight * share
        index = ops.reshape(ops.cast(place, "int64"), (n, 1, -1))
        taken = ops.gather_elements(
            flat, 2, ops.broadcast_to(index, (n, channels, index.shape[-1]))
        )
        part = taken * ops.reshape(share, (n, 1, -1))
        total = part if total is None else total + part
    return ops.reshape(total, (n, channels, *points))
