"""Convolutions, transposed and of quantized numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....engine import ops
from .....engine.tensor import Tensor, wrap
from ..call import Call
from ..registry import operator
from .linear import requantized
from .windows import Windows, windows_of

_CONVOLUTIONS = {1: "conv1d", 2: "conv2d", 3: "conv3d"}


@operator("Conv")
def conv(call: Call, x: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """Convolve; one to three spatial axes."""
    return convolved(call, x, weight, bias)


def convolved(call: Call, x: Tensor, weight: Tensor, bias: Any) -> Tensor:
    """Run a convolution as the node's attributes describe it."""
    rank = x.ndim - 2
    if rank not in _CONVOLUTIONS:
        raise call.refuse(f"convolutions have one to three spatial axes, this one has {rank}.")
    windows = windows_of(call, x.shape[2:], weight.shape[2:])
    padded = _padded(x, windows)
    function = getattr(ops, _CONVOLUTIONS[rank])
    return function(
        padded, weight, bias, stride=windows.strides, pad_mode="valid",
        dilation=windows.dilations, groups=call.attr("group", 1),
    )  # fmt: skip


def _padded(x: Tensor, windows: Windows) -> Tensor:
    pairs = list(zip(windows.before, windows.after, strict=True))
    if not any(any(pair) for pair in pairs):
        return x
    return ops.pad(x, [width for pair in reversed(pairs) for width in pair])


@operator("ConvTranspose")
def conv_transpose(call: Call, x: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """Run a convolution backwards: zeros between the elements, the kernel turned around."""
    rank, groups = x.ndim - 2, call.attr("group", 1)
    strides = call.attr("strides") or [1] * rank
    dilations = call.attr("dilations") or [1] * rank
    extra = call.attr("output_padding") or [0] * rank
    reach = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilations, strict=True)]
    before, after = _transposed_pads(call, x, strides, reach, extra)
    spread = x
    for i, stride in enumerate(strides):
        spread = _spread(spread, 2 + i, stride)
    widths = [(reach[i] - 1 - before[i], reach[i] - 1 - after[i] + extra[i]) for i in range(rank)]
    grown = _grown(spread, widths)
    turned = weight[(slice(None), slice(None), *[slice(None, None, -1)] * rank)]
    inner, outer = weight.shape[:2]
    kernel = ops.reshape(turned, (groups, inner // groups, outer, *weight.shape[2:]))
    kernel = ops.reshape(
        ops.swapaxes(kernel, 1, 2), (groups * outer, inner // groups, *weight.shape[2:])
    )
    function = getattr(ops, _CONVOLUTIONS[rank])
    return function(
        grown, kernel, bias, stride=(1,) * rank, pad_mode="valid", dilation=tuple(dilations),
        groups=groups,
    )  # fmt: skip


def _transposed_pads(
    call: Call, x: Tensor, strides: list[int], reach: list[int], extra: list[int]
) -> tuple[list[int], list[int]]:
    rank, mode = len(strides), call.attr("auto_pad", "NOTSET")
    pads = call.attr("pads") or [0] * (2 * rank)
    shape = call.attr("output_shape")
    if shape is None and mode not in ("SAME_UPPER", "SAME_LOWER"):
        return list(pads[:rank]), list(pads[rank:])
    shape = shape[-rank:] if shape else [s * t for s, t in zip(x.shape[2:], strides, strict=True)]
    before, after = [], []
    for i in range(rank):
        total = strides[i] * (x.shape[2 + i] - 1) + extra[i] + reach[i] - shape[i]
        low = total // 2 if mode == "SAME_UPPER" else total - total // 2
        before.append(low)
        after.append(total - low)
    return before, after


def _spread(x: Tensor, axis: int, stride: int) -> Tensor:
    """Put ``stride - 1`` zeros after each element of an axis but the last one."""
    if stride == 1:
        return x
    size = x.shape[axis]
    wide = ops.expand_dims(x, axis + 1)
    zeros = ops.zeros((*x.shape[: axis + 1], stride - 1, *x.shape[axis + 1 :]), x.dtype)
    joined = ops.concat((wide, zeros), axis + 1)
    flat = ops.reshape(joined, (*x.shape[:axis], size * stride, *x.shape[axis + 1 :]))
    return flat[(*[slice(None)] * axis, slice(0, size * stride - stride + 1))]


def _grown(x: Tensor, widths: list[tuple[int, int]]) -> Tensor:
    """Pad the spatial axes with zeros; negative widths crop."""
    crop = [
        slice(max(-low, 0), x.shape[2 + i] + min(high, 0)) for i, (low, high) in enumerate(widths)
    ]
    x = x[(slice(None), slice(None), *crop)]
    grown = [(max(low, 0), max(high, 0)) for low, high in widths]
    if not any(any(pair) for pair in grown):
        return x
    return ops.pad(x, [width for pair in reversed(grown) for width in pair])


@operator("ConvInteger")
def conv_integer(
    call: Call, x: Tensor, weight: Tensor, x_zero: Any = None, w_zero: Any = None
) -> Tensor:
    """Convolve 8-bit numbers in 32 bits, after taking off their shifts."""
    return ops.cast(_shifted_conv(call, x, weight, x_zero, w_zero, None), "int32")


@operator("QLinearConv")
def qlinear_conv(
    call: Call, x: Tensor, sx: Tensor, zx: Tensor, w: Tensor, sw: Tensor, zw: Tensor, sy: Tensor,
    zy: Tensor, bias: Any = None,
) -> Tensor:  # fmt: skip
    """Convolve quantized numbers and quantize the result."""
    found = _shifted_conv(call, x, w, zx, zw, bias)
    scale = sx * sw / sy
    if scale.ndim == 1 and scale.size > 1:
        scale = ops.reshape(scale, (-1, *[1] * (x.ndim - 2)))
    return requantized(ops.cast(found, "float32") * scale, zy)


def _shifted_conv(call: Call, x: Tensor, w: Tensor, zx: Any, zw: Any, bias: Any) -> Tensor:
    """Convolve in float64, which is exact for 8-bit numbers."""
    numbers = ops.cast(x, "float64")
    weights = ops.cast(w, "float64")
    if zx is not None:
        numbers = numbers - ops.reshape(ops.cast(zx, "float64"), ())
    if zw is not None:
        shift = ops.cast(zw, "float64")
        shape = (-1, *[1] * (w.ndim - 1)) if shift.size > 1 else ()
        weights = weights - ops.reshape(shift, shape)
    found = convolved(call, numbers, weights, None)
    if bias is not None:
        found = found + ops.reshape(ops.cast(bias, "float64"), (-1, *[1] * (x.ndim - 2)))
    return found


@operator("Col2Im", reads=(1, 2))
def col2im(call: Call, x: Tensor, *_: Any) -> Tensor:
    """Add up columns of blocks where the blocks lie in an image."""
    image, block = call.ints(1), call.ints(2)
    windows = windows_of(call, image, block)
    n, channels = x.shape[0], x.shape[1] // int(np.prod(block))
    padded = [s + b + a for s, b, a in zip(image, windows.before, windows.after, strict=True)]
    starts = [windows.places(i) + windows.before[i] for i in range(len(image))]
    flat = np.zeros((1,), np.int64)
    flat = _flat_places(starts, padded)
    size = int(np.prod(padded))
    sums = ops.zeros((size, n * channels), x.dtype)
    columns = ops.transpose(ops.reshape(x, (n * channels, -1)), (1, 0))
    total = ops.tensor_scatter_add(sums, wrap(flat.reshape(-1, 1)), columns)
    whole = ops.reshape(ops.transpose(total, (1, 0)), (n, channels, *padded))
    crop = [slice(b, b + s) for b, s in zip(windows.before, image, strict=True)]
    return whole[(slice(None), slice(None), *crop)]


def _flat_places(places: list[np.ndarray], sizes: list[int]) -> np.ndarray:
    """Return the flat position of each element of each window: kernel positions, then windows."""
    rank = len(sizes)
    flat = np.zeros((1,) * (2 * rank), np.int64)
    for i, place in enumerate(places):
        shape = [1] * (2 * rank)
        shape[i], shape[rank + i] = place.shape[1], place.shape[0]
        flat = flat * sizes[i] + place.T.reshape(shape)
    return flat.reshape(-1)


@operator("DeformConv")
def deform_conv(
    call: Call, x: Tensor, weight: Tensor, offset: Tensor, bias: Any = None, mask: Any = None
) -> Tensor:
    """Convolve where each window's elements are moved by offsets, read bilinearly."""
    n, channels, height, width = x.shape
    kh, kw = weight.shape[2:]
    windows = windows_of(call, (height, width), (kh, kw))
    oh, ow = windows.outputs
    groups, shares = call.attr("group", 1), call.attr("offset_group", 1)
    offsets = ops.reshape(offset, (n, shares, kh * kw, 2, oh, ow))
    rows = np.broadcast_to(windows.places(0).T[:, None, :, None], (kh, kw, oh, ow))
    columns = np.broadcast_to(windows.places(1).T[None, :, None, :], (kh, kw, oh, ow))
    base = [wrap(np.ascontiguousarray(p.reshape(kh * kw, oh, ow)).astype(x.dtype.numpy))
            for p in (rows, columns)]  # fmt: skip
    y, z = offsets[:, :, :, 0] + base[0], offsets[:, :, :, 1] + base[1]
    images = ops.reshape(x, (n * shares, channels // shares, height, width))
    points = [ops.reshape(p, (n * shares, kh * kw * oh, ow)) for p in (y, z)]
    read = _bilinear(images, *points)
    read = ops.reshape(read, (n, shares, channels // shares, kh * kw, oh * ow))
    if mask is not None:
        read = read * ops.reshape(mask, (n, shares, 1, kh * kw, oh * ow))
    outer = weight.shape[0]
    columns_of = ops.reshape(read, (n, groups, channels // groups * kh * kw, oh * ow))
    kernels = ops.reshape(weight, (groups, outer // groups, channels // groups * kh * kw))
    found = ops.reshape(ops.matmul(kernels, columns_of), (n, outer, oh, ow))
    return found if bias is None else found + ops.reshape(bias, (1, outer, 1, 1))


def _bilinear(images: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Read images at fractional positions; what lies outside is zero."""
    _, channels, height, width = images.shape
    flat = ops.reshape(images, (images.shape[0], channels, height * width))
    total: Any = 0.0
    top, left = ops.floor(y), ops.floor(x)
    for row, share_y in ((top, 1.0 - (y - top)), (top + 1.0, y - top)):
        for column, share_x in ((left, 1.0 - (x - left)), (left + 1.0, x - left)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            place = ops.clamp(row, 0, height - 1) * width + ops.clamp(column, 0, width - 1)
            share = share_y * share_x * ops.cast(inside, images.dtype)
            index = ops.reshape(ops.cast(place, "int64"), (images.shape[0], 1, -1))
            index = ops.broadcast_to(index, (images.shape[0], channels, index.shape[-1]))
            read = ops.gather_elements(flat, 2, index)
            total = total + read * ops.reshape(share, (images.shape[0], 1, -1))
    return total
