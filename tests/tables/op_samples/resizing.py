"""Samples of ops on images: sizes, places, blocks and windows; PyTorch says more in the parity."""

from __future__ import annotations

import numpy as np
from cellwire.engine import ops
from cellwire.engine.ops import resampling
from scipy import ndimage

from op_samples.sample import N, Sample, distinct, normal, rng

IMAGES, SMALL = distinct(N, 2, 3, 4), distinct(2, 1, 3, 4)
ROWS = distinct(N, 2, 6)


def _sizes() -> list[Sample]:
    def lines(x: np.ndarray) -> np.ndarray:
        old, new = np.arange(6), np.linspace(0, 5, 11)
        return np.apply_along_axis(lambda row: np.interp(new, old, row), -1, x)

    return [
        Sample("interpolate", lambda x: ops.interpolate(x, (6, 8)), (IMAGES,),
               lambda x: x.repeat(2, 2).repeat(2, 3)),
        Sample("interpolate", lambda x: ops.interpolate(x, 11, mode="linear", align_corners=True),
               (ROWS,), lines),
        Sample("interpolate", lambda x: ops.interpolate(x, (7, 3), mode="bicubic"), (SMALL,)),
        Sample("interpolate", lambda x: ops.interpolate(x, 3, mode="area"), (ROWS,),
               lambda x: x.reshape(N, 2, 3, 2).mean(-1)),
        Sample("resize_nearest_neighbor", lambda x: ops.resize_nearest_neighbor(x, (6, 2)),
               (IMAGES,), lambda x: x.repeat(2, 2)[..., ::2]),
        Sample("resize_bilinear", lambda x: ops.resize_bilinear(x, (5, 4), align_corners=True),
               (SMALL,), lambda x: ndimage.zoom(x, (1, 1, 5 / 3, 1), order=1)),
        Sample("resize_bilinear", lambda x: ops.resize_bilinear(x, (6, 4)), (SMALL,),
               lambda x: np.stack([(x[:, :, i // 2] + x[:, :, min((i + 1) // 2, 2)]) / 2
                                   for i in range(6)], 2)),
        Sample("resize_bicubic", lambda x: ops.resize_bicubic(x, (6, 4)), (SMALL,)),
        Sample("resample", lambda x: resampling.resample(x, 1, 7, "linear", "pixel", None),
               (normal(N, 4),)),
        Sample("resample_sum",
               lambda d: resampling.resample_sum(d, 7, 1, 4, "cubic", "pixel", None),
               (normal(N, 4),)),
    ]  # fmt: skip


def _places() -> list[Sample]:
    grid = rng(3).uniform(-1.3, 1.3, (2, 3, 2, 2))
    whole = np.array([[1.0, 0, 0], [0, 1, 0]])[None].repeat(N, 0)
    inside = rng(4).uniform(-0.9, 0.9, (N, 3, 2, 2))

    def spline(x: np.ndarray, g: np.ndarray) -> np.ndarray:
        y, x_at = (g[..., 1] + 1) / 2 * 2, (g[..., 0] + 1) / 2 * 3
        return np.stack([
            [ndimage.map_coordinates(plane, [y[n], x_at[n]], order=1) for plane in planes]
            for n, planes in enumerate(x)
        ])  # fmt: skip

    def sampled(mode: str, padding: str) -> Sample:
        return Sample("grid_sample", lambda x, g: ops.grid_sample(x, g, mode, padding),
                      (SMALL, grid))  # fmt: skip

    return [
        Sample("grid_sample", lambda x, g: ops.grid_sample(x, g, align_corners=True),
               (IMAGES, inside), spline),
        sampled("bilinear", "border"), sampled("bicubic", "reflection"),
        sampled("nearest", "zeros"),
        Sample("affine_grid", lambda t: ops.affine_grid(t, (N, 1, 2, 3), True), (whole,),
               lambda t: np.stack(np.meshgrid([-1.0, 0, 1], [-1.0, 1]), -1)[None].repeat(N, 0)),
        Sample("affine_grid", lambda t: ops.affine_grid(t, (2, 1, 2, 2, 3)), (normal(2, 3, 4),)),
    ]  # fmt: skip


def _blocks() -> list[Sample]:
    def deal(x: np.ndarray) -> np.ndarray:
        return x.reshape(N, 2, 3, 2).swapaxes(1, 2).reshape(N, 6, 2)

    def first_block(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1)], 1)

    def to_batch(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1)], 0)

    def columns(x: np.ndarray) -> np.ndarray:
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))
        windows = [padded[:, :, i : i + 2, j : j + 3].reshape(len(x), -1)
                   for i in (0, 2) for j in (0, 1)]  # fmt: skip
        return np.stack(windows, -1)

    even = distinct(N, 2, 4, 6)
    return [
        Sample("pixel_shuffle", lambda x: ops.pixel_shuffle(x, 2), (distinct(N, 4, 2, 3),),
               lambda x: x.reshape(N, 2, 2, 2, 3).transpose(0, 3, 1, 4, 2).reshape(N, 1, 4, 6)),
        Sample("pixel_unshuffle", lambda x: ops.pixel_unshuffle(x, 2), (even[:, :1],),
               first_block),
        Sample("channel_shuffle", lambda x: ops.channel_shuffle(x, 2), (normal(N, 6, 2),), deal),
        Sample("space_to_depth", lambda x: ops.space_to_depth(x, 2), (even,), first_block),
        Sample("depth_to_space", lambda x: ops.depth_to_space(ops.space_to_depth(x, 2), 2),
               (even,), np.copy),
        Sample("space_to_batch_nd", lambda x: ops.space_to_batch_nd(x, (2, 2), ((0, 0), (0, 0))),
               (even,), to_batch),
        Sample("space_to_batch_nd", lambda x: ops.space_to_batch_nd(x, (3,), ((1, 1),)),
               (normal(2, 4),)),
        Sample("batch_to_space_nd",
               lambda x: ops.batch_to_space_nd(ops.space_to_batch_nd(x, (2, 3), ((1, 1), (0, 0))),
                                               (2, 3), ((1, 1), (0, 0))), (even,), np.copy),
        Sample("unfold", lambda x: ops.unfold(x, (2, 3), padding=(1, 0), stride=(2, 1)),
               (IMAGES,), columns),
        Sample("unfold", lambda x: ops.unfold(x, 2, dilation=2), (IMAGES,)),
        Sample("fold", lambda x: ops.fold(x, (3, 4), (2, 3), padding=(1, 0), stride=(2, 1)),
               (normal(N, 12, 4),)),
        Sample("fold", lambda x: ops.fold(x, 4, 2, stride=2), (normal(N, 4, 4),),
               lambda x: x.reshape(N, 2, 2, 2, 2).transpose(0, 3, 1, 4, 2).reshape(N, 1, 4, 4)),
    ]  # fmt: skip


SAMPLES: list[Sample] = [*_sizes(), *_places(), *_blocks()]
