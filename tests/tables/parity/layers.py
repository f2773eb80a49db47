"""Dense layers, and those that only arrange or pass on."""

from __future__ import annotations

import torch
from cellwire import nn

from parity.pair import Case, Draw, Pair


def _dense(draw: Draw) -> Case:
    rows, inner, outer = draw.size(), draw.size(), draw.size()
    cell, peer = nn.Dense(inner, outer), torch.nn.Linear(inner, outer)
    return Case(cell, peer, (draw.normal(rows, inner),), {"weight": "weight", "bias": "bias"})


def _flatten(draw: Draw) -> Case:
    x, axes = draw.normal(*draw.shape(2, 4)), draw.choice(((1, -1), (0, -1), (0, 1)))
    return Case(nn.Flatten(*axes), torch.nn.Flatten(*axes), (x,))


def _identity(draw: Draw) -> Case:
    return Case(nn.Identity(), torch.nn.Identity(), (draw.normal(*draw.shape()),))


PAIRS: list[Pair] = [
    Pair("nn.Dense", _dense),
    Pair("nn.Flatten", _flatten),
    Pair("nn.Identity", _identity),
]

WITHOUT_PEER: dict[str, str] = {
    "nn.Cell": "the base of all Cells; tests/test_nn_cell.py",
    "nn.CellDict": "holds Cells; tests/test_nn_cell.py",
    "nn.CellList": "holds Cells; tests/test_nn_cell.py",
    "nn.SequentialCell": "runs Cells one after the other; tests/test_nn_cell.py",
    "nn.GraphCell": "runs an exported graph; tests/test_graph_file.py",
}
