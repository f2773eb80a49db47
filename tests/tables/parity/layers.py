"""Dense layers."""

from __future__ import annotations

import torch
from cellwire import nn

from parity.pair import Case, Draw, Pair


def _dense(draw: Draw) -> Case:
    rows, inner, outer = draw.size(), draw.size(), draw.size()
    cell, peer = nn.Dense(inner, outer), torch.nn.Linear(inner, outer)
    return Case(cell, peer, (draw.normal(rows, inner),), {"weight": "weight", "bias": "bias"})


PAIRS: list[Pair] = [Pair("nn.Dense", _dense)]
