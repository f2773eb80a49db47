"""Normalisation, attention and what else layers with weights do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cellwire import nn, ops
from torch.nn import functional

from parity.pair import Case, Draw, Pair

AFFINE = {"gamma": "weight", "beta": "bias"}
MOVING = {**AFFINE, "moving_mean": "running_mean", "moving_variance": "running_var"}
SIZE = {0: (), 1: (5,), 2: (4, 3), 3: (2, 3, 2)}


def _batch_op(draw: Draw) -> Case:
    channels, training = draw.size(), draw.choice((True, False))
    arrays = (
        draw.normal(3, channels, *SIZE[draw.choice((0, 1, 2))]), draw.normal(channels),
        draw.positive(channels), draw.normal(channels), draw.normal(channels),
    )  # fmt: skip

    def ours(x: Any, m: Any, v: Any, w: Any, b: Any) -> Any:
        mean, var = ops.stop_gradient(m), ops.stop_gradient(v)
        out = ops.batch_norm(x, mean, var, w, b, training)
        return out[0] if training else out

    def theirs(x: Any, m: Any, v: Any, w: Any, b: Any) -> Any:
        mean, var = m.detach().clone(), v.detach().clone()
        return functional.batch_norm(x, mean, var, w, b, training)

    return Case(ours, theirs, arrays)


def _batch_cell(axes: int, name: str = "") -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        channels = draw.size()
        peer: Any = getattr(torch.nn, f"BatchNorm{axes}d")(channels)
        with torch.no_grad():
            for tensor in (peer.weight, peer.bias, peer.running_mean):
                tensor.copy_(torch.from_numpy(draw.normal(channels)))
            peer.running_var.copy_(torch.from_numpy(draw.positive(channels)))
        cell = getattr(nn, name or f"BatchNorm{axes}d")(channels)
        cell.set_train(draw.choice((True, False)))
        peer.train(cell.training)
        x = draw.normal(3, channels, *SIZE[axes])
        return Case(cell, peer, (x,), MOVING)

    return build


def _layer_op(draw: Draw) -> Case:
    shape = (draw.size(), draw.size(2), draw.size(2))
    count = draw.choice((1, 2))
    last = shape[-count:]
    arrays = (draw.normal(*shape), draw.normal(*last), draw.normal(*last))
    return Case(
        lambda x, w, b: ops.layer_norm(x, last, w, b),
        lambda x, w, b: functional.layer_norm(x, last, w, b),
        arrays,
    )


def _layer_cell(draw: Draw) -> Case:
    size = draw.size(2)
    cell = nn.LayerNorm((size,), epsilon=1e-5)
    return Case(cell, torch.nn.LayerNorm(size), (draw.normal(3, size),), AFFINE)


def _rms_op(draw: Draw) -> Case:
    size = draw.size(2)
    return Case(
        lambda x, g: ops.rms_norm(x, g, 1e-5)[0],
        lambda x, g: functional.rms_norm(x, (size,), g, 1e-5),
        (draw.normal(3, size), draw.normal(size)),
    )


def _rms_cell(draw: Draw) -> Case:
    size = draw.size(2)
    peer = torch.nn.RMSNorm(size, 1e-6)
    return Case(nn.RMSNorm(size), peer, (draw.normal(3, size),), {"gamma": "weight"})


def _group_op(draw: Draw) -> Case:
    groups, each = draw.size(1, 3), draw.size(1, 2)
    channels = groups * each
    x = draw.normal(2, channels, *SIZE[draw.choice((1, 2))])
    return Case(
        lambda x, w, b: ops.group_norm(x, groups, w, b),
        lambda x, w, b: functional.group_norm(x, groups, w, b),
        (x, draw.normal(channels), draw.normal(channels)),
    )


def _group_cell(draw: Draw) -> Case:
    groups, each = draw.size(1, 3), draw.size(1, 2)
    channels = groups * each
    x = draw.normal(2, channels, *SIZE[2])
    return Case(nn.GroupNorm(groups, channels), torch.nn.GroupNorm(groups, channels), (x,), AFFINE)


def _instance_op(draw: Draw) -> Case:
    channels = draw.size()
    x = draw.normal(2, channels, *SIZE[draw.choice((1, 2, 3))])
    return Case(
        ops.instance_norm,
        lambda x, w, b: functional.instance_norm(x, weight=w, bias=b),
        (x, draw.normal(channels), draw.normal(channels)),
    )


def _instance_cell(axes: int) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        channels, name = draw.size(), f"InstanceNorm{axes}d"
        peer = getattr(torch.nn, name)(channels, affine=True)
        cell = getattr(nn, name)(channels).set_train()
        return Case(cell, peer, (draw.normal(2, channels, *SIZE[axes]),), AFFINE)

    return build


def _lrn(draw: Draw) -> Case:
    radius, alpha, beta = draw.choice((0, 1, 2)), draw.choice((0.1, 1.0)), draw.choice((0.5, 0.75))
    size = 2 * radius + 1
    return Case(
        lambda x: ops.lrn(x, radius, 2.0, alpha, beta),
        lambda x: functional.local_response_norm(x, size, alpha * size, beta, 2.0),
        (draw.normal(2, 4, 3, 2),),
    )


def _lrn_cell(draw: Draw) -> Case:
    radius = draw.choice((1, 2))
    size = 2 * radius + 1
    peer = torch.nn.LocalResponseNorm(size, float(size), 0.5, 1.0)
    return Case(nn.LRN(radius), peer, (draw.normal(2, 4, 3, 2),))


def _attention(draw: Draw) -> Case:
    length, keys, width = draw.size(), draw.size(), draw.size()
    kind = draw.choice(("none", "causal", "numbers", "truth"))
    lead = (2, draw.choice((1, 2)))
    arrays = [draw.normal(*lead, length, width)]
    arrays += [draw.normal(*lead, keys, width), draw.normal(*lead, keys, 3)]
    if kind == "numbers":
        arrays.append(draw.normal(length, keys))
    if kind == "truth":
        mask = draw.bools(2, 1, length, keys)
        mask[..., 0] = True
        arrays.append(mask)
    scale = draw.choice((None, 0.5))
    more = {"is_causal": kind == "causal", "scale": scale}
    attend: Any = functional.scaled_dot_product_attention
    return Case(
        lambda q, k, v, m=None: ops.scaled_dot_product_attention(q, k, v, m, **more),
        lambda q, k, v, m=None: attend(q, k, v, m, **more),
        tuple(arrays),
    )


def _grouped_heads(draw: Draw) -> Case:
    served, group = draw.choice((1, 2)), draw.choice((1, 2, 3))
    arrays = (
        draw.normal(2, served * group, 3, 4), draw.normal(2, served, 5, 4),
        draw.normal(2, served, 5, 2),
    )  # fmt: skip
    attend: Any = functional.scaled_dot_product_attention
    return Case(
        lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        lambda q, k, v: attend(q, k, v, enable_gqa=True),
        arrays,
    )


def _bidense(cell: bool) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        first, second, out = draw.size(), draw.size(), draw.size()
        inputs = (draw.normal(2, 3, first), draw.normal(2, 3, second))
        if cell:
            peer = torch.nn.Bilinear(first, second, out)
            weights = {"weight": "weight", "bias": "bias"}
            return Case(nn.BiDense(first, second, out), peer, inputs, weights)
        return Case(ops.bidense, functional.bilinear, (*inputs, draw.normal(out, first, second)))

    return build


def _embedding(name: str, **more: Any) -> Callable[[Draw], Case]:
    def build(draw: Draw) -> Case:
        rows, width = draw.size(2), draw.size()
        numbers = draw.integers(0, rows, (2, 3))
        cell, peer = getattr(nn, name)(rows, width, **more), torch.nn.Embedding(rows, width)
        return Case(cell, peer, (numbers,), {"embedding_table": "weight"})

    return build


PAIRS: list[Pair] = [
    Pair("ops.batch_norm", _batch_op, tolerance=10),  # deviations of three numbers can be tiny
    *(Pair(f"nn.BatchNorm{axes}d", _batch_cell(axes)) for axes in (1, 2, 3)),
    Pair("nn.SyncBatchNorm", _batch_cell(2, "SyncBatchNorm")),
    Pair("ops.layer_norm", _layer_op, tolerance=10),  # deviations of two numbers can be tiny
    Pair("nn.LayerNorm", _layer_cell, tolerance=10),  # the same
    Pair("ops.rms_norm", _rms_op),
    Pair("nn.RMSNorm", _rms_cell),
    Pair("ops.group_norm", _group_op),
    Pair("nn.GroupNorm", _group_cell),
    Pair("ops.instance_norm", _instance_op),
    *(Pair(f"nn.InstanceNorm{axes}d", _instance_cell(axes)) for axes in (1, 2, 3)),
    Pair("ops.lrn", _lrn),
    Pair("nn.LRN", _lrn_cell),
    Pair("ops.scaled_dot_product_attention", _attention),
    Pair("ops.scaled_dot_product_attention of groups of heads", _grouped_heads),
    Pair("ops.bidense", _bidense(False)),
    Pair("nn.BiDense", _bidense(True)),
    Pair("nn.Embedding", _embedding("Embedding")),
    Pair("nn.Embedding by products", _embedding("Embedding", use_one_hot=True)),
    Pair("nn.EmbeddingLookup", _embedding("EmbeddingLookup")),
]
WITHOUT_PEER = {
    f"nn.Dropout{axes}": "draws from a stream of its own; tested in test_nn_layers, test_nn_windows"
    for axes in ("", "1d", "2d", "3d")
}
