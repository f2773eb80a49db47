"""Pooling of arrays (N, C, H, W), for eager use.

Float32 and float64 run as one native kernel; other dtypes in NumPy, one pass per position of the
kernel.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from . import pool_native
from .conv import NO_PADDING
from .expressions import FLOAT32, FLOAT64, INT32, DType
from .pool_native import Counting
from .runtime import SingleKernel
from .windows import Padding, Pair, Window, crop, pad, tap


def max_pool2d(
    x: np.ndarray,
    kernel: Pair,
    stride: Pair,
    padding: Padding = NO_PADDING,
    dilation: Pair = (1, 1),
) -> tuple[np.ndarray, np.ndarray]:
    """Return the maxima (N, C, H', W') and which kernel position each came from (int32).

    NaN wins over numbers; the first of equals is taken; padding never wins.
    """
    window = Window(x.shape[2], x.shape[3], kernel, stride, padding, dilation)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    padded = pad(x, padding, lowest)
    best = np.empty((*x.shape[:2], window.out_height, window.out_width), x.dtype)
    taps = np.empty(best.shape, INT32)
    if _is_native(x.dtype):
        _run("max_pool", window, padded, best, taps)
        return best, taps
    np.copyto(best, tap(padded, window, 0, 0))
    taps[...] = 0
    for number, (row, column) in enumerate(np.ndindex(*kernel)):
        seen = tap(padded, window, row, column)
        wins = seen > best
        if x.dtype.kind == "f":
            wins |= np.isnan(seen) & ~np.isnan(best)
        np.copyto(best, seen, where=wins)
        np.copyto(taps, number, where=wins)
    return best, taps


def max_pool2d_grad(
    dout: np.ndarray,
    taps: np.ndarray,
    size: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Padding = NO_PADDING,
    dilation: Pair = (1, 1),
) -> np.ndarray:
    """Return the gradient (N, C, *size) of the input: each output's goes to its maximum."""
    window = Window(*size, kernel, stride, padding, dilation)
    padded = np.zeros((*dout.shape[:2], *window.padded), dout.dtype)
    if _is_native(dout.dtype):
        _run("max_pool_grad", window, dout, taps.astype(INT32, copy=False), padded)
    else:
        zero = dout.dtype.type(0)
        for number, (row, column) in enumerate(np.ndindex(*kernel)):
            tap(padded, window, row, column)[...] += np.where(taps == number, dout, zero)
    return np.ascontiguousarray(crop(padded, padding))


def max_pool2d_indices(
    taps: np.ndarray,
    size: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Padding = NO_PADDING,
    dilation: Pair = (1, 1),
) -> np.ndarray:
    """Turn kernel positions into offsets `row * width + column` in the input plane (int64)."""
    window = Window(*size, kernel, stride, padding, dilation)
    rows, columns = np.ogrid[: window.out_height, : window.out_width]
    row = rows * stride[0] + taps // kernel[1] * dilation[0] - padding[0]
    column = columns * stride[1] + taps % kernel[1] * dilation[1] - padding[2]
    # Where a window holds nothing but -Inf its first position stands, which may be padding: the
    # first one inside is as good.
    row = np.where(row < 0, row % dilation[0], row)
    column = np.where(column < 0, column % dilation[1], column)
    return row.astype(np.int64) * size[1] + column


def avg_pool2d(
    x: np.ndarray,
    kernel: Pair,
    stride: Pair,
    padding: Padding = NO_PADDING,
    count_padding: bool = True,
    spill: Pair = (0, 0),
    divisor: int = 0,
) -> np.ndarray:
    """Return the means (N, C, H', W'); padding counts as zeros, or not at all.

    The last `spill` rows and columns of the padding never count. With a `divisor`, sums are divided
    by it whatever they are sums of.
    """
    window = Window(x.shape[2], x.shape[3], kernel, stride, padding)
    padded = pad(x, padding)
    counting = Counting(count_padding, spill, divisor)
    out = np.zeros((*x.shape[:2], window.out_height, window.out_width), x.dtype)
    if _is_native(x.dtype):
        _run("avg_pool", window, padded, out, counting=counting)
        return out
    for row, column in np.ndindex(*kernel):
        out += tap(padded, window, row, column)
    out /= _counts(window, counting, x.dtype)
    return out


def avg_pool2d_grad(
    dout: np.ndarray,
    size: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Padding = NO_PADDING,
    count_padding: bool = True,
    spill: Pair = (0, 0),
    divisor: int = 0,
) -> np.ndarray:
    """Return the gradient (N, C, *size) of the input: each output's is spread over its window."""
    window = Window(*size, kernel, stride, padding)
    counting = Counting(count_padding, spill, divisor)
    padded = np.zeros((*dout.shape[:2], *window.padded), dout.dtype)
    if _is_native(dout.dtype):
        _run("avg_pool_grad", window, dout, padded, counting=counting)
    else:
        share = dout / _counts(window, counting, dout.dtype)
        for row, column in np.ndindex(*kernel):
            tap(padded, window, row, column)[...] += share
    return np.ascontiguousarray(crop(padded, padding))


@lru_cache(256)
def _counts(window: Window, counting: Counting, dtype: DType) -> np.ndarray:
    """What each output's (H', W') sum is divided by: how many pixels count, at least one."""
    count_padding, spill = counting.padding, counting.spill
    if counting.divisor or (count_padding and not any(spill)):
        shape = (window.out_height, window.out_width)
        return np.full(shape, counting.divisor or window.kernel[0] * window.kernel[1], dtype)
    around = window.padding
    counted = (window.height, window.width)
    if count_padding:
        counted = (window.padded[0] - spill[0], window.padded[1] - spill[1])
        around = (0, spill[0], 0, spill[1])
    ones = pad(np.ones(counted, dtype), around)
    counts = sum(tap(ones, window, row, column) for row, column in np.ndindex(*window.kernel))
    return np.ascontiguousarray(np.maximum(counts, 1), dtype)


def _is_native(dtype: DType) -> bool:
    return dtype in (FLOAT32, FLOAT64)


def _run(kind: str, window: Window, *arrays: np.ndarray, counting: Counting | None = None) -> None:
    """Run a native kernel; the last arrays get the results."""
    floats = next(array.dtype for array in arrays if array.dtype.kind == "f")
    planes = arrays[0].shape[0] * arrays[0].shape[1]
    kernel = _native(kind, window, floats, counting, len(arrays))
    kernel(*[np.ascontiguousarray(array) for array in arrays], planes=planes)


@lru_cache(256)
def _native(
    kind: str, window: Window, dtype: DType, counting: Counting | None, arrays: int
) -> SingleKernel:
    if counting is None:
        maxima = {"max_pool": pool_native.max_pool, "max_pool_grad": pool_native.max_pool_grad}
        return SingleKernel(maxima[kind](window, dtype), arrays, ("planes",))
    means = {"avg_pool": pool_native.avg_pool, "avg_pool_grad": pool_native.avg_pool_grad}
    return SingleKernel(means[kind](window, dtype, counting), arrays, ("planes",))
