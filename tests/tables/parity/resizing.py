"""Ops and Cells on images: sizes, places, blocks and windows; what random ops have no peer for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cellwire import nn, ops

from parity.pair import Case, Draw, Pair

F = torch.nn.functional
LINES = {3: "linear", 4: "bilinear", 5: "trilinear"}


def _resize(draw: Draw, mode: str, axes: int, cell: bool) -> Case:
    sides = tuple(draw.size(2, 5) for _ in range(axes))
    corners = draw.choice((True, False)) if mode in (*LINES.values(), "bicubic") else None
    if draw.choice((True, False)):
        size: Any = tuple(draw.size(1, 6) for _ in range(axes))
        factor: Any = None
    else:
        size, factor = None, draw.choice((2.0, 1.7, 0.6))
    args = (size, factor, mode, corners)
    ours = nn.Upsample(*args) if cell else lambda x: ops.interpolate(x, *args)
    return Case(ours, lambda x: F.interpolate(x, *args), (draw.normal(1, 2, *sides),))


def _interpolate(kind: str) -> Pair:
    def build(draw: Draw) -> Case:
        axes = 2 if kind == "bicubic" else draw.size(1, 3)
        return _resize(draw, LINES[axes + 2] if kind == "linear" else kind, axes, False)

    return Pair("ops.interpolate" if kind == "nearest" else f"ops.interpolate {kind}", build)


def _upsample(cell: bool) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        if cell:
            return _resize(draw, "bilinear", 2, True)
        size = (draw.size(1, 6), draw.size(1, 6))
        return Case(lambda x: ops.upsample(x, size, mode="bilinear"),
                    lambda x: F.interpolate(x, size, mode="bilinear"),
                    (draw.normal(1, 2, 3, 4),))  # fmt: skip

    return build


def _fixed(ours: Callable[..., Any], mode: str) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        size = (draw.size(1, 6), draw.size(1, 6))
        corners = draw.choice((True, False))
        return Case(lambda x: ours(x, size, corners),
                    lambda x: F.interpolate(x, size, mode=mode, align_corners=corners),
                    (draw.normal(1, 2, 3, 4),))  # fmt: skip

    return build


def _with_edges(function: Any) -> Callable[..., Any]:
    return lambda x, size, corners: function(x, size, corners, not corners)


def _nearest(draw: Draw) -> Case:
    size = (draw.size(1, 6), draw.size(1, 6))
    return Case(lambda x: ops.resize_nearest_neighbor(x, size),
                lambda x: F.interpolate(x, size, mode="nearest"),
                (draw.normal(1, 2, 3, 4),))  # fmt: skip


def _bilinear_cell(x: Any, size: Any, corners: bool) -> Any:
    return nn.ResizeBilinear(not corners)(x, size, align_corners=corners)


def _grid_sample(mode: str, axes: int) -> Pair:
    def build(draw: Draw) -> Case:
        padding = draw.choice(("zeros", "border", "reflection"))
        corners = draw.choice((True, False))
        sides = tuple(draw.size(2, 4) for _ in range(axes))
        out = tuple(draw.size(1, 3) for _ in range(axes))
        grid = draw.uniform(-1.4, 1.4, (2, *out, axes))
        return Case(lambda x, g: ops.grid_sample(x, g, mode, padding, corners),
                    lambda x, g: F.grid_sample(x, g, mode, padding, corners),
                    (draw.normal(2, 2, *sides), grid))  # fmt: skip

    plain = mode == "bilinear" and axes == 2
    return Pair("ops.grid_sample" if plain else f"ops.grid_sample {mode} {axes}d", build)


def _affine_grid(draw: Draw) -> Case:
    axes, corners = draw.size(2, 3), draw.choice((True, False))
    size = [2, 1, *(draw.size(2, 4) for _ in range(axes))]
    return Case(lambda t: ops.affine_grid(t, size, corners),
                lambda t: F.affine_grid(t, size, corners),
                (draw.normal(2, axes, axes + 1),))  # fmt: skip


def _shuffle(ours: Any, theirs: Any, up: bool) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        r, h, w = draw.size(1, 3), draw.size(1, 3), draw.size(1, 3)
        shape = (2 * r * r, h, w) if up else (2, h * r, w * r)
        return Case(lambda x: ours(x, r), lambda x: theirs(x, r), (draw.normal(2, *shape),))

    return build


def _channels(ours: Any) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        groups = draw.size(1, 3)
        return Case(lambda x: ours(x, groups), lambda x: F.channel_shuffle(x, groups),
                    (draw.normal(1, groups * draw.size(1, 3), 2, 2),))  # fmt: skip

    return build


def _blocks(ours: Any, back: bool) -> Callable[[Draw], Case]:
    """The channel is counted behind the block's place: PyTorch's shuffle of permuted channels."""

    def build(draw: Draw) -> Case:
        b, c, h, w = draw.size(1, 3), draw.size(1, 3), draw.size(1, 2), draw.size(1, 2)

        def deep(x: Any) -> Any:
            found = F.pixel_unshuffle(x, b).unflatten(1, (c, b * b))
            return found.transpose(1, 2).flatten(1, 2)

        def wide(x: Any) -> Any:
            return F.pixel_shuffle(x.unflatten(1, (b * b, c)).transpose(1, 2).flatten(1, 2), b)

        shape = (c * b * b, h, w) if back else (c, h * b, w * b)
        return Case(lambda x: ours(x, b), wide if back else deep, (draw.normal(2, *shape),))

    return build


def _window(draw: Draw) -> dict[str, Any]:
    return {
        "kernel_size": (draw.size(1, 2), draw.size(1, 3)), "dilation": draw.size(1, 2),
        "padding": (draw.size(0, 1), draw.size(0, 1)), "stride": draw.size(1, 2),
    }  # fmt: skip


def _unfold(draw: Draw) -> Case:
    window = _window(draw)
    return Case(lambda x: ops.unfold(x, **window), lambda x: F.unfold(x, **window),
                (draw.normal(1, 2, 5, 6),))  # fmt: skip


def _fold(draw: Draw) -> Case:
    window = _window(draw)
    columns = F.unfold(torch.zeros(1, 2, 5, 6), **window).shape
    return Case(lambda x: ops.fold(x, (5, 6), **window), lambda x: F.fold(x, (5, 6), **window),
                (draw.normal(*columns),))  # fmt: skip


def _one_hot(draw: Draw) -> Case:
    depth = draw.size(1, 4)
    index = draw.integers(0, depth, draw.shape(0, 2))
    return Case(nn.OneHot(depth=depth, dtype="int64"), lambda i: F.one_hot(i, depth), (index,))  # type: ignore[arg-type]


def _clip_by_norm(draw: Draw) -> Case:
    def theirs(x: Any, limit: Any) -> Any:
        return x * limit / torch.maximum(x.norm(), limit)

    return Case(nn.ClipByNorm(), theirs, (draw.normal(*draw.shape(1, 3)), draw.positive()))


PAIRS: list[Pair] = [
    *map(_interpolate, ("nearest", "nearest-exact", "linear", "bicubic", "area")),
    Pair("ops.upsample", _upsample(False)), Pair("nn.Upsample", _upsample(True)),
    Pair("ops.resize_nearest_neighbor", _nearest),
    Pair("ops.resize_bilinear", _fixed(_with_edges(ops.resize_bilinear), "bilinear")),
    Pair("nn.ResizeBilinear", _fixed(_bilinear_cell, "bilinear")),
    Pair("ops.resize_bicubic", _fixed(_with_edges(ops.resize_bicubic), "bicubic")),
    _grid_sample("bilinear", 2), _grid_sample("nearest", 2), _grid_sample("bicubic", 2),
    _grid_sample("bilinear", 3), Pair("ops.affine_grid", _affine_grid),
    Pair("ops.pixel_shuffle", _shuffle(ops.pixel_shuffle, F.pixel_shuffle, True)),
    Pair("nn.PixelShuffle", _shuffle(lambda x, r: nn.PixelShuffle(r)(x), F.pixel_shuffle, True)),
    Pair("ops.pixel_unshuffle", _shuffle(ops.pixel_unshuffle, F.pixel_unshuffle, False)),
    Pair("nn.PixelUnshuffle",
         _shuffle(lambda x, r: nn.PixelUnshuffle(r)(x), F.pixel_unshuffle, False)),
    Pair("ops.channel_shuffle", _channels(ops.channel_shuffle)),
    Pair("nn.ChannelShuffle", _channels(lambda x, g: nn.ChannelShuffle(g)(x))),
    Pair("ops.space_to_depth", _blocks(ops.space_to_depth, False)),
    Pair("ops.depth_to_space", _blocks(ops.depth_to_space, True)),
    Pair("ops.unfold", _unfold), Pair("ops.fold", _fold),
    Pair("nn.OneHot", _one_hot, grad=False), Pair("nn.ClipByNorm", _clip_by_norm),
]  # fmt: skip

_RANDOM = (
    "rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "randperm", "shuffle",
    "uniform", "normal", "laplace", "standard_normal", "standard_laplace", "gamma",
    "random_gamma", "poisson", "random_poisson", "bernoulli", "multinomial",
    "multinomial_with_replacement", "random_categorical", "dropout", "dropout1d", "dropout2d",
    "dropout3d", "alpha_dropout", "feature_alpha_dropout",
)  # fmt: skip
WITHOUT_PEER = {
    "ops.space_to_batch_nd": "no such op; compared with NumPy",
    "ops.batch_to_space_nd": "no such op; compared with NumPy",
    **{f"ops.{name}": "other random streams; tests/test_random.py" for name in _RANDOM},
}
