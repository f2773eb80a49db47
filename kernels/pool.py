"""Pooling of images (N, C, H, W) with NumPy, one pass per position of the kernel."""

from __future__ import annotations

import numpy as np

from .conv import NO_PADDING
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
    best = tap(padded, window, 0, 0).copy()
    taps = np.zeros(best.shape, np.int32)
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
    for number, (row, column) in enumerate(np.ndindex(*kernel)):
        tap(padded, window, row, column)[...] += np.where(taps == number, dout, dout.dtype.type(0))
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
    return row.astype(np.int64) * size[1] + column


def avg_pool2d(
    x: np.ndarray,
    kernel: Pair,
    stride: Pair,
    padding: Padding = NO_PADDING,
    count_padding: bool = True,
) -> np.ndarray:
    """Return the means (N, C, H', W'); padding counts as zeros, or not at all."""
    window = Window(x.shape[2], x.shape[3], kernel, stride, padding)
    padded = pad(x, padding)
    out = np.zeros((*x.shape[:2], window.out_height, window.out_width), x.dtype)
    for row, column in np.ndindex(*kernel):
        out += tap(padded, window, row, column)
    out /= _counts(window, count_padding, x.dtype)
    return out


def avg_pool2d_grad(
    dout: np.ndarray,
    size: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Padding = NO_PADDING,
    count_padding: bool = True,
) -> np.ndarray:
    """Return the gradient (N, C, *size) of the input: each output's is spread over its window."""
    window = Window(*size, kernel, stride, padding)
    share = dout / _counts(window, count_padding, dout.dtype)
    padded = np.zeros((*dout.shape[:2], *window.padded), dout.dtype)
    for row, column in np.ndindex(*kernel):
        tap(padded, window, row, column)[...] += share
    return np.ascontiguousarray(crop(padded, padding))


def _counts(window: Window, count_padding: bool, dtype: np.dtype) -> np.ndarray:
    """How many pixels each output is the mean of; at least one."""
    if count_padding or not any(window.padding):
        return np.asarray(window.kernel[0] * window.kernel[1], dtype)
    ones = pad(np.ones((window.height, window.width), dtype), window.padding)
    counts = sum(tap(ones, window, row, column) for row, column in np.ndindex(*window.kernel))
    return np.maximum(counts, 1)
