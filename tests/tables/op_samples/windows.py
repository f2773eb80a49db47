"""Samples of sliding windows: convolutions and pooling over one to three axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.ops import (
    adaptive_max,
    adaptive_pool,
    conv_axes,
    fractional_pool,
    plane_indexing,
)
from cellwire.engine.ops.max_pool2d import pool_indices

from op_samples.sample import N, Sample, distinct, integers, normal

ROWS, IMAGES, VOLUMES = distinct(N, 2, 7), distinct(N, 2, 6, 6), distinct(N, 2, 3, 4, 3)
FRAMES = {"kernel": 2, "stride": 2, "padding": (1, 0), "dilation": 1}
PLACES = integers(N, 2, 3, high=8)


def _by_taps(x: np.ndarray, w: np.ndarray, b: Any = 0.0) -> np.ndarray:
    """Convolve without padding: each tap's weight times what it sees, added up."""
    sizes = [n - k + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    out = np.zeros((len(x), len(w), *sizes))
    for tap in np.ndindex(*w.shape[2:]):
        cut = tuple(slice(t, t + n) for t, n in zip(tap, sizes, strict=True))
        out += np.einsum("nc...,oc->no...", x[(..., *cut)], w[(..., *tap)])
    return out + np.reshape(b, (-1, *(1,) * len(sizes)))


def _spread(x: np.ndarray, w: np.ndarray, stride: int) -> np.ndarray:
    """Add each element times the filter to the output, as a transposed convolution does."""
    sizes = [(n - 1) * stride + k for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    out = np.zeros((len(x), w.shape[1], *sizes))
    for at in np.ndindex(*x.shape[2:]):
        cut = tuple(slice(p * stride, p * stride + k) for p, k in zip(at, w.shape[2:], strict=True))
        out[(..., *cut)] += np.einsum("nc,co...->no...", x[(..., *at)], w)
    return out


def _convolutions() -> list[Sample]:
    def padded(x: Any, w: Any) -> Any:
        return ops.conv3d(x, w, None, (2, 1, 2), "pad", (1, 0, 1, 1, 0, 1), (1, 2, 1), 2)

    return [
        Sample("conv1d", ops.conv1d, (ROWS, normal(3, 2, 3), normal(3)), _by_taps),
        Sample("conv1d", lambda x, w: ops.conv1d(x, w, None, 2, "same", 0, 2, 2),
               (ROWS, normal(4, 1, 3))),
        Sample("conv3d", ops.conv3d, (VOLUMES, normal(2, 2, 2, 2, 1), normal(2)), _by_taps),
        Sample("conv3d", padded, (VOLUMES, normal(2, 1, 2, 2, 2))),
        Sample("conv_transpose1d", lambda x, w: ops.conv_transpose1d(x, w, stride=2),
               (ROWS, normal(2, 3, 3)), lambda x, w: _spread(x, w, 2)),
        Sample("conv_transpose1d",
               lambda x, w, b: ops.conv_transpose1d(x, w, b, 2, 1, 1, 2, 2),
               (ROWS, normal(2, 1, 3), normal(2))),
        Sample("conv_transpose2d", lambda x, w: ops.conv_transpose2d(x, w, stride=2),
               (normal(N, 2, 3, 2), normal(2, 2, 2, 3)), lambda x, w: _spread(x, w, 2)),
        Sample("conv_transpose2d",
               lambda x, w, b: ops.conv_transpose2d(x, w, b, 2, pad_mode="same"),
               (normal(N, 2, 3, 2), normal(2, 2, 3, 3), normal(2))),
        Sample("conv_transpose3d", lambda x, w: ops.conv_transpose3d(x, w, stride=2),
               (normal(N, 2, 2, 1, 2), normal(2, 2, 2, 2, 1)), lambda x, w: _spread(x, w, 2)),
        Sample("conv_transpose3d",
               lambda x, w, b: ops.conv_transpose3d(x, w, b, (2, 1, 1), (1, 0, 0), (1, 0, 0)),
               (normal(N, 2, 2, 1, 2), normal(2, 2, 3, 2, 1), normal(2))),
        Sample("frame_windows", lambda x: conv_axes.frame_windows(x, **FRAMES), (VOLUMES,)),
        Sample("frame_windows_sum", lambda d: conv_axes.frame_windows_sum(d, 3, **FRAMES),
               (normal(N, 2, 2, 2, 2, 2),)),
    ]  # fmt: skip


def _pools() -> list[Sample]:
    window = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0, 0, 0), "dilation": (1, 1)}
    halves = VOLUMES[:, :, :2, :, :2]
    return [
        Sample("max_pool1d", lambda x: ops.max_pool1d(x, 3), (ROWS,),
               lambda x: x[..., :6].reshape(N, 2, 2, 3).max(-1)),
        Sample("max_pool1d", lambda x: ops.max_pool1d(x, 3, 2, 1, 2, return_indices=True), (ROWS,)),
        Sample("max_pool2d", lambda x: ops.max_pool2d(x, 4, 4, ceil_mode=True), (IMAGES,),
               lambda x: np.stack([np.stack([x[:, :, a, b].max((2, 3)) for b in _CEIL], -1)
                                   for a in _CEIL], -2)),
        Sample("max_pool3d", lambda x: ops.max_pool3d(x, 2), (halves,),
               lambda x: x.reshape(N, 2, 1, 2, 2, 2, 1, 2).max((3, 5, 7))),
        Sample("max_pool3d", lambda x: ops.max_pool3d(x, 2, 1, 1, return_indices=True), (VOLUMES,)),
        Sample("pool_indices", lambda t: pool_indices(t, (6, 6), **window),
               (integers(N, 2, 3, 3, high=4),), differentiable=False),
        Sample("avg_pool1d", lambda x: ops.avg_pool1d(x, 3, 3), (ROWS,),
               lambda x: x[..., :6].reshape(N, 2, 2, 3).mean(-1)),
        Sample("avg_pool1d", lambda x: ops.avg_pool1d(x, 3, 2, 1, True, False), (ROWS,)),
        Sample("avg_pool2d", lambda x: ops.avg_pool2d(x, 3, 2, 1, True, divisor_override=2),
               (IMAGES,)),
        Sample("avg_pool3d", lambda x: ops.avg_pool3d(x, 2, 2), (halves,),
               lambda x: x.reshape(N, 2, 1, 2, 2, 2, 1, 2).mean((3, 5, 7))),
        Sample("avg_pool3d", lambda x: ops.avg_pool3d(x, 2, 2, 1, True, False), (VOLUMES,)),
        Sample("lp_pool1d", lambda x: ops.lp_pool1d(x, 2.0, 3), (ROWS,),
               lambda x: np.sqrt(np.square(x[..., :6].reshape(N, 2, 2, 3)).sum(-1))),
        Sample("lp_pool2d", lambda x: ops.lp_pool2d(x, 2.0, (2, 3), ceil_mode=True), (IMAGES,),
               lambda x: np.sqrt(np.square(x.reshape(N, 2, 3, 2, 2, 3)).sum((3, 5)))),
    ]  # fmt: skip


_CEIL = (slice(0, 4), slice(4, 6))


def _areas(x: np.ndarray) -> np.ndarray:
    return np.stack([x[..., :3].mean(-1), x[..., 2:5].mean(-1), x[..., 4:].mean(-1)], -1)


def _adaptive() -> list[Sample]:
    halves = VOLUMES[:, :, :2, :, :2]
    return [
        Sample("adaptive_avg_pool1d", lambda x: ops.adaptive_avg_pool1d(x, 3), (ROWS,), _areas),
        Sample("adaptive_avg_pool2d", lambda x: ops.adaptive_avg_pool2d(x, (2, 1)), (IMAGES,),
               lambda x: x.reshape(N, 2, 2, 3, 1, 6).mean((3, 5))),
        Sample("adaptive_avg_pool2d", lambda x: ops.adaptive_avg_pool2d(x, (None, 4)), (IMAGES,)),
        Sample("adaptive_avg_pool3d", lambda x: ops.adaptive_avg_pool3d(x, (1, 2, 2)), (halves,),
               lambda x: x.reshape(N, 2, 1, 2, 2, 2, 2, 1).mean((3, 5, 7))),
        Sample("adaptive_mean", lambda x: adaptive_pool.adaptive_mean(x, (3,)), (ROWS,), _areas),
        Sample("adaptive_mean_grad", lambda d: adaptive_pool.adaptive_mean_grad(d, (7, 3)),
               (normal(N, 3, 2),)),
        Sample("adaptive_max_pool1d", lambda x: ops.adaptive_max_pool1d(x, 3), (ROWS,),
               lambda x: np.stack([x[..., a].max(-1)
                                   for a in (slice(3), slice(2, 5), slice(4, 7))], -1)),
        Sample("adaptive_max_pool2d", lambda x: ops.adaptive_max_pool2d(x, (2, 4), True),
               (IMAGES,)),
        Sample("adaptive_max_pool3d", lambda x: ops.adaptive_max_pool3d(x, 1), (VOLUMES,),
               lambda x: x.max((2, 3, 4), keepdims=True)),
        Sample("adaptive_maximum", lambda x: adaptive_max.adaptive_maximum(x, (1, 6)), (IMAGES,),
               lambda x: (x.max(2, keepdims=True),
                          x.argmax(2)[:, :, None] * 6 + np.arange(6))),
        Sample("fractional_max_pool2d", _fractional(2), (IMAGES, np.full((N, 2, 2), 0.4))),
        Sample("fractional_max_pool3d", _fractional(3), (VOLUMES, np.full((N, 2, 3), 0.4))),
        Sample("fractional_maximum",
               lambda x, u: fractional_pool.fractional_maximum(x, u, (2, 1), (3, 2)),
               (IMAGES, np.full((N, 2, 2), 0.4))),
    ]  # fmt: skip


def _fractional(axes: int) -> Any:
    function = getattr(ops, f"fractional_max_pool{axes}d")
    return lambda x, u: function(x, 2, 2, return_indices=True, _random_samples=u)


def _back(x: np.ndarray, at: np.ndarray, count: int) -> np.ndarray:
    out = np.zeros((*x.shape[:2], count))
    np.put_along_axis(out, at.astype(int), x, 2)
    return out


def _places() -> list[Sample]:
    x, at = normal(N, 2, 3), np.argsort(distinct(N, 2, 8), -1)[..., :3].astype(np.int64)
    return [
        Sample("plane_pick", plane_indexing.plane_pick, (normal(N, 2, 8), PLACES),
               lambda x, i: np.take_along_axis(x, i.astype(int), 2)),
        Sample("plane_add", lambda d, i: plane_indexing.plane_add(d, i, (2, 4)), (x, PLACES)),
        Sample("plane_put", lambda x, i: plane_indexing.plane_put(x, i, (8,)), (x, at),
               lambda x, i: _back(x, i, 8)),
        Sample("max_unpool1d", lambda x, i: ops.max_unpool1d(x, i, 2, output_size=(7,)),
               (x, np.argsort(distinct(N, 2, 7), -1)[..., :3])),
        Sample("max_unpool2d", lambda x, i: ops.max_unpool2d(x, i, 2),
               (normal(N, 2, 1, 2), at[..., :2].reshape(N, 2, 1, 2)),
               lambda x, i: _back(x.reshape(N, 2, 2), i.reshape(N, 2, 2), 8).reshape(N, 2, 2, 4)),
        Sample("max_unpool3d", lambda x, i: ops.max_unpool3d(x, i, 2),
               (normal(N, 2, 1, 1, 1), at[..., :1].reshape(N, 2, 1, 1, 1))),
    ]  # fmt: skip


SAMPLES: list[Sample] = [*_convolutions(), *_pools(), *_adaptive(), *_places()]
