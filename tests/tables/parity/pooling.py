"""Pooling by windows, to given sizes and back, over one to three axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cellwire import nn, ops
from torch.nn import functional

from parity.pair import Case, Draw, Pair

SIZE = {1: (9,), 2: (7, 6), 3: (5, 4, 6)}


def _window(draw: Draw) -> tuple[int, int, int, bool]:
    """Return kernel, stride, padding, and whether sizes are rounded up."""
    kernel = draw.choice((1, 2, 3))
    return kernel, draw.choice((1, 2, 3)), draw.choice((0, kernel // 2)), draw.choice((0, 1)) == 1


def _max(axes: int) -> Callable[[Draw], Case]:
    ours: Any = getattr(ops, f"max_pool{axes}d")
    theirs: Any = getattr(functional, f"max_pool{axes}d")

    def build(draw: Draw) -> Case:
        kernel, stride, padding, ceil = _window(draw)
        more = {"dilation": draw.choice((1, 2)), "ceil_mode": ceil, "return_indices": True}
        return Case(
            lambda x: ours(x, kernel, stride, padding, **more),
            lambda x: theirs(x, kernel, stride, padding, **more),
            (draw.normal(2, 2, *SIZE[axes]),),
        )

    return build


def _avg(axes: int) -> Callable[[Draw], Case]:
    ours: Any = getattr(ops, f"avg_pool{axes}d")
    theirs: Any = getattr(functional, f"avg_pool{axes}d")

    def build(draw: Draw) -> Case:
        window, counted = _window(draw), draw.choice((True, False))
        divisor = (draw.choice((None, 3)),) if axes > 1 else ()
        return Case(
            lambda x: ours(x, *window, counted, *divisor),
            lambda x: theirs(x, *window, counted, *divisor),
            (draw.normal(2, 2, *SIZE[axes]),),
        )

    return build


def _adaptive(kind: str, axes: int, cell: bool) -> Callable[[Draw], Case]:
    name = f"Adaptive{kind.title()}Pool{axes}d"

    def build(draw: Draw) -> Case:
        size = tuple(draw.choice((1, 2, 3, 4)) for _ in range(axes))
        arrays = (draw.normal(2, 2, *SIZE[axes]),)
        wanted: Any = size if axes > 1 else size[0]
        if cell:
            return Case(getattr(nn, name)(wanted), getattr(torch.nn, name)(wanted), arrays)
        function = f"adaptive_{kind}_pool{axes}d"
        more = {"return_indices": True} if kind == "max" else {}
        return Case(
            lambda x: getattr(ops, function)(x, wanted, **more),
            lambda x: getattr(functional, function)(x, wanted, **more),
            arrays,
        )

    return build


def _lp(axes: int, cell: bool) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        power, kernel = draw.choice((1.0, 2.0, 3.0)), draw.choice((1, 2, 3))
        args = (power, kernel, draw.choice((None, 1, 2)), draw.choice((True, False)))
        arrays = (draw.uniform(0.2, 2, (2, 2, *SIZE[axes])),)
        if cell:
            name = f"LPPool{axes}d"
            return Case(getattr(nn, name)(*args), getattr(torch.nn, name)(*args), arrays)
        name = f"lp_pool{axes}d"
        return Case(
            lambda x: getattr(ops, name)(x, *args),
            lambda x: getattr(functional, name)(x, *args),
            arrays,
        )

    return build


def _unpool(axes: int, cell: bool) -> Callable[[Draw], Case]:
    pool: Any = getattr(functional, f"max_pool{axes}d")
    name = f"MaxUnpool{axes}d"

    def build(draw: Draw) -> Case:
        kernel = draw.choice((2, 3))
        size = SIZE[axes]
        images = torch.from_numpy(draw.normal(2, 2, *size))
        values, indices = pool(images, kernel, return_indices=True)
        arrays = (values.numpy(), indices.numpy())
        if cell:
            ours, theirs = getattr(nn, name)(kernel), getattr(torch.nn, name)(kernel)
        else:
            ours, theirs = (
                lambda x, i: getattr(ops, f"max_unpool{axes}d")(x, i, kernel, output_size=size),
                lambda x, i: getattr(functional, f"max_unpool{axes}d")(
                    x, i, kernel, output_size=size
                ),
            )
            return Case(ours, theirs, arrays)
        # Without an output size the pooled planes must be those of whole windows.
        whole = tuple(n // kernel * kernel for n in size)
        cut = images[(..., *(slice(n) for n in whole))].contiguous()
        values, indices = pool(cut, kernel, return_indices=True)
        return Case(ours, theirs, (values.numpy(), indices.numpy()))

    return build


def _fractional(axes: int, cell: bool) -> Callable[[Draw], Case]:
    name, function = f"FractionalMaxPool{axes}d", f"fractional_max_pool{axes}d"

    def build(draw: Draw) -> Case:
        kernel, size = draw.choice((1, 2)), draw.choice((1, 2))
        x, samples = draw.normal(2, 2, *SIZE[axes]), draw.uniform(0.05, 0.95, (2, 2, axes))
        drawn = samples.astype("float32").astype("float64")
        peers = {
            dtype: torch.from_numpy(drawn).to(dtype) for dtype in (torch.float32, torch.float64)
        }

        def theirs(x: Any) -> Any:
            more = {"return_indices": True, "_random_samples": peers[x.dtype]}
            return getattr(functional, function)(x, kernel, size, **more)

        if cell:
            return Case(
                getattr(nn, name)(kernel, size, None, True, ops.zeros((1,)) + drawn), theirs, (x,)
            )
        return Case(
            lambda x: getattr(ops, function)(
                x, kernel, size, return_indices=True, _random_samples=drawn
            ),
            theirs,
            (x,),
        )

    return build


def _max_cell(axes: int) -> Callable[[Draw], Case]:
    name = f"MaxPool{axes}d"

    def build(draw: Draw) -> Case:
        kernel, stride, padding, ceil = _window(draw)
        return Case(
            getattr(nn, name)(kernel, stride, "pad", padding, 1, True, ceil),
            getattr(torch.nn, name)(kernel, stride, padding, 1, True, ceil),
            (draw.normal(2, 2, *SIZE[axes]),),
        )

    return build


def _avg_cell(axes: int) -> Callable[[Draw], Case]:
    name = f"AvgPool{axes}d"

    def build(draw: Draw) -> Case:
        kernel, stride, padding, ceil = _window(draw)
        counted = draw.choice((True, False))
        return Case(
            getattr(nn, name)(kernel, stride, "pad", padding, ceil, counted),
            getattr(torch.nn, name)(kernel, stride, padding, ceil, counted),
            (draw.normal(2, 2, *SIZE[axes]),),
        )

    return build


PAIRS: list[Pair] = [
    *(Pair(f"ops.max_pool{axes}d", _max(axes)) for axes in (1, 2, 3)),
    *(Pair(f"ops.avg_pool{axes}d", _avg(axes)) for axes in (1, 2, 3)),
    *(Pair(f"nn.MaxPool{axes}d", _max_cell(axes)) for axes in (1, 2, 3)),
    *(Pair(f"nn.AvgPool{axes}d", _avg_cell(axes)) for axes in (1, 2, 3)),
    *(
        Pair(f"ops.adaptive_{kind}_pool{axes}d", _adaptive(kind, axes, False))
        for kind in ("avg", "max")
        for axes in (1, 2, 3)
    ),
    *(
        Pair(f"nn.Adaptive{kind.title()}Pool{axes}d", _adaptive(kind, axes, True))
        for kind in ("avg", "max")
        for axes in (1, 2, 3)
    ),
    *(Pair(f"ops.lp_pool{axes}d", _lp(axes, False)) for axes in (1, 2)),
    *(Pair(f"nn.LPPool{axes}d", _lp(axes, True)) for axes in (1, 2)),
    *(Pair(f"ops.max_unpool{axes}d", _unpool(axes, False)) for axes in (1, 2, 3)),
    *(Pair(f"nn.MaxUnpool{axes}d", _unpool(axes, True)) for axes in (1, 2, 3)),
    *(Pair(f"ops.fractional_max_pool{axes}d", _fractional(axes, False)) for axes in (2, 3)),
    *(Pair(f"nn.FractionalMaxPool{axes}d", _fractional(axes, True)) for axes in (2, 3)),
]
