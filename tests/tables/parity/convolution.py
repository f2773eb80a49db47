"""Convolutions, plain and transposed, over one to three axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cellwire import nn, ops
from torch.nn import functional

from parity.pair import Case, Draw, Pair

SIZE = {1: (7,), 2: (6, 5), 3: (5, 4, 5)}


def _channels(draw: Draw, axes: int) -> tuple[int, int, int]:
    """Return groups and the channels of a group, in and out; among them depthwise filters."""
    groups = draw.choice((1, 1, 2))
    return groups, draw.choice((1, 2)), draw.choice((1, 2) if axes > 1 else (1, 2, 3))


def _conv(axes: int) -> Callable[[Draw], Case]:
    ours: Any = getattr(ops, f"conv{axes}d")
    theirs: Any = getattr(functional, f"conv{axes}d")

    def build(draw: Draw) -> Case:
        groups, before, after = _channels(draw, axes)
        kernel = tuple(draw.choice((1, 2, 3)) for _ in range(axes))
        stride = draw.choice((1, 2))
        dilation = draw.choice((1, 1, 2)) if axes < 3 else 1
        padding = tuple(draw.choice((0, 1)) for _ in range(axes))
        arrays = [draw.normal(2, before * groups, *SIZE[axes])]
        arrays.append(draw.normal(after * groups, before, *kernel))
        if draw.choice((True, False)):
            arrays.append(draw.normal(after * groups))

        def mine(x: Any, w: Any, b: Any = None) -> Any:
            return ours(x, w, b, stride, "pad", padding, dilation, groups)

        def other(x: Any, w: Any, b: Any = None) -> Any:
            return theirs(x, w, b, stride, padding, dilation, groups)

        return Case(mine, other, tuple(arrays))

    return build


def _transposed(axes: int) -> Callable[[Draw], Case]:
    ours: Any = getattr(ops, f"conv_transpose{axes}d")
    theirs: Any = getattr(functional, f"conv_transpose{axes}d")

    def build(draw: Draw) -> Case:
        groups, before, after = _channels(draw, axes)
        kernel = tuple(draw.choice((1, 2, 3)) for _ in range(axes))
        stride, dilation = draw.choice((1, 2, 3)), draw.choice((1, 1, 2))
        more = draw.choice(tuple(range(max(stride, dilation))))
        padding = draw.choice((0, 0, 1))
        arrays = [draw.normal(2, before * groups, *(s - 2 for s in SIZE[axes]))]
        arrays.append(draw.normal(before * groups, after, *kernel))
        if draw.choice((True, False)):
            arrays.append(draw.normal(after * groups))

        def mine(x: Any, w: Any, b: Any = None) -> Any:
            return ours(x, w, b, stride, padding, more, groups, dilation)

        def other(x: Any, w: Any, b: Any = None) -> Any:
            return theirs(x, w, b, stride, padding, more, groups, dilation)

        return Case(mine, other, tuple(arrays))

    return build


def _cell(axes: int, transposed: bool) -> Callable[[Draw], Case]:
    name = f"Conv{axes}dTranspose" if transposed else f"Conv{axes}d"
    peer: Any = getattr(torch.nn, f"ConvTranspose{axes}d" if transposed else name)

    def build(draw: Draw) -> Case:
        group, bias = draw.choice((1, 2)), draw.choice((True, False))
        stride, padding = draw.choice((1, 2)), draw.choice((0, 1))
        cell = getattr(nn, name)(
            2, 4, 3, stride, pad_mode="pad", padding=padding, group=group, has_bias=bias
        )
        theirs = peer(2, 4, 3, stride, padding, groups=group, bias=bias)
        weights = {"weight": "weight", **({"bias": "bias"} if bias else {})}
        return Case(cell, theirs, (draw.normal(2, 2, *SIZE[axes]),), weights)

    return build


PAIRS: list[Pair] = [
    *(Pair(f"ops.conv{axes}d", _conv(axes)) for axes in (1, 2, 3)),
    *(Pair(f"ops.conv_transpose{axes}d", _transposed(axes)) for axes in (1, 2, 3)),
    *(Pair(f"nn.Conv{axes}d", _cell(axes, False)) for axes in (1, 2, 3)),
    *(Pair(f"nn.Conv{axes}dTranspose", _cell(axes, True)) for axes in (1, 2, 3)),
]
