"""Activations, functions and Cells."""

from __future__ import annotations

from typing import Any

import torch
from cellwire import nn, ops
from torch.nn import functional

from parity.pair import Case, Draw, Pair

_ROUNDED = {"ops.hardsigmoid": 100.0, "nn.HSigmoid": 100.0}
"""PyTorch's slope of these is one sixth in float32, whatever the type."""


def _pair(name: str, ours: Any, theirs: Any, low: float = -4.0, high: float = 4.0) -> Pair:
    def build(draw: Draw) -> Case:
        x = draw.uniform(low, high, (draw.size(), draw.size(), 4))
        return Case(ours, theirs, (x,))

    return Pair(name, build, _ROUNDED.get(name, 1.0))


def _cells(names: str) -> list[Pair]:
    """Return the pairs of Cells without parameters; PyTorch's names follow a colon."""
    found = []
    for item in names.split():
        own, _, other = item.partition(":")
        peer = getattr(torch.nn, other or own)
        found.append(_pair(f"nn.{own}", lambda x, c=own: getattr(nn, c)()(x), peer()))
    return found


def _learned_slope(draw: Draw) -> Case:
    channels = draw.size()
    cell, peer = nn.PReLU(channels), torch.nn.PReLU(channels)
    return Case(cell, peer, (draw.normal(2, channels, 3),), {"w": "weight"})


def _slope(draw: Draw) -> Case:
    channels = draw.size()
    return Case(ops.prelu, functional.prelu, (draw.normal(2, channels, 3), draw.normal(channels)))


_SHARED = {
    "relu": functional.relu, "relu6": functional.relu6, "elu": functional.elu,
    "selu": functional.selu, "celu": functional.celu, "gelu": functional.gelu,
    "silu": functional.silu, "mish": functional.mish, "hardsigmoid": functional.hardsigmoid,
    "hardswish": functional.hardswish, "hardshrink": functional.hardshrink,
    "softshrink": functional.softshrink, "tanhshrink": functional.tanhshrink,
    "hardtanh": functional.hardtanh, "softplus": functional.softplus,
    "softsign": functional.softsign, "logsigmoid": functional.logsigmoid, "glu": functional.glu,
}  # fmt: skip

PAIRS: list[Pair] = [
    *(_pair(f"ops.{name}", getattr(ops, name), peer) for name, peer in _SHARED.items()),
    _pair("ops.leaky_relu", ops.leaky_relu, lambda x: functional.leaky_relu(x, 0.2)),
    _pair("ops.softmax", lambda x: ops.softmax(x, 1), lambda x: torch.softmax(x, 1)),
    _pair("ops.log_softmax", lambda x: ops.log_softmax(x, 0), lambda x: torch.log_softmax(x, 0)),
    _pair("ops.softmin", lambda x: ops.softmin(x, 1), lambda x: functional.softmin(x, 1)),
    _pair("ops.threshold", lambda x: ops.threshold(x, 0.3, 2.0),
          lambda x: functional.threshold(x, 0.3, 2.0)),
    _pair("ops.fast_gelu", ops.fast_gelu, lambda x: x * torch.sigmoid(1.702 * x)),
    Pair("ops.prelu", _slope), Pair("nn.PReLU", _learned_slope),
    *_cells("ReLU ReLU6 ELU SeLU:SELU CELU SiLU Mish HSigmoid:Hardsigmoid HSwish:Hardswish"
            " HShrink:Hardshrink SoftShrink:Softshrink Tanhshrink Hardtanh Softplus Softsign"
            " LogSigmoid GLU Sigmoid Tanh Softmax2d"),
    _pair("nn.GELU", nn.GELU(False), torch.nn.GELU()),
    _pair("nn.LeakyReLU", nn.LeakyReLU(), torch.nn.LeakyReLU(0.2)),
    _pair("nn.Softmax", nn.Softmax(), torch.nn.Softmax(-1)),
    _pair("nn.LogSoftmax", nn.LogSoftmax(), torch.nn.LogSoftmax(-1)),
    _pair("nn.Softmin", nn.Softmin(), torch.nn.Softmin(-1)),
    _pair("nn.Threshold", nn.Threshold(0.3, 2.0), torch.nn.Threshold(0.3, 2.0)),
    _pair("nn.FastGelu", nn.FastGelu(), lambda x: x * torch.sigmoid(1.702 * x)),
    _pair("nn.RReLU", nn.RReLU(0.25, 0.25), torch.nn.LeakyReLU(0.25)),
    _pair("ops.rrelu", lambda x: ops.rrelu(x, 0.25, 0.25), torch.nn.LeakyReLU(0.25)),
]  # fmt: skip
WITHOUT_PEER = {
    "ops.gumbel_softmax": "draws its own numbers; tested by its distribution and its gradient",
}
