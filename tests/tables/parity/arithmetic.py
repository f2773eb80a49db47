"""Arithmetic of two operands."""

from __future__ import annotations

import torch
from cellwire import ops

from parity.pair import Pair, binary

PAIRS: list[Pair] = [
    binary("ops.add", ops.add, torch.add),
    binary("ops.sub", ops.sub, torch.sub),
    binary("ops.mul", ops.mul, torch.mul),
    binary("ops.div", ops.div, torch.div, low=0.3),
    binary("ops.maximum", ops.maximum, torch.maximum),
    binary("ops.minimum", ops.minimum, torch.minimum),
]
