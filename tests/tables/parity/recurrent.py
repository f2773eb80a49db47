"""Recurrent Cells and their steps, PyTorch's packed sequences among them."""

from __future__ import annotations

from typing import Any

import torch
from cellwire import nn, ops

from parity.pair import Case, Draw, Pair

RNN = torch.nn.utils.rnn


def _weights(module: Any) -> dict[str, str]:
    return {name: name for name, _ in module.named_parameters()}


def _flat(call: Any, states: int) -> Any:
    """Take x and separate states, give output and states side by side."""

    def run(x: Any, *hx: Any) -> tuple[Any, ...]:
        out, ends = call(x, (hx if states == 2 else hx[0]) if hx else None)
        return (out, *ends) if states == 2 else (out, ends)

    return run


class _Flat(torch.nn.Module):
    """PyTorch's layer under the names of its parameters, with separate states and lengths."""

    def __init__(self, layer: Any, states: int, lengths: Any = None) -> None:
        super().__init__()
        self.layer, self.states, self.lengths = layer, states, lengths

    def forward(self, x: Any, *hx: Any) -> tuple[Any, ...]:
        if self.lengths is None:
            return _flat(self.layer, self.states)(x, *hx)
        first = self.layer.batch_first
        packed = RNN.pack_padded_sequence(x, self.lengths, first, enforce_sorted=False)
        out, *ends = _flat(self.layer, self.states)(packed, *hx)
        steps = x.shape[1 if first else 0]
        return (RNN.pad_packed_sequence(out, first, total_length=steps)[0], *ends)


class _OurFlat(nn.Cell):
    def __init__(self, layer: Any, states: int, lengths: Any = None) -> None:
        super().__init__()
        self.layer, self.states, self.lengths = layer, states, lengths

    def construct(self, x: Any, *hx: Any) -> tuple[Any, ...]:
        lengths = self.lengths
        return _flat(lambda x, hx: self.layer(x, hx, lengths), self.states)(x, *hx)


def _layer(ours: Any, theirs: Any, states: int, relu: bool = False) -> Any:
    def build(draw: Draw) -> Case:
        ragged = draw.choice((True, False))
        # Few sizes of features, since each is machine code of its own; steps and batch are not.
        width, size, layers = draw.choice((1, 3)), draw.choice((2, 11)), draw.size(1, 2)
        both, first, bias = draw.choice((False, True)), draw.choice((False, True)), draw.size(0, 1)
        names = {"bidirectional": both, "batch_first": first, "num_layers": layers}
        more = {"nonlinearity": draw.choice(("tanh", "relu"))} if relu else {}
        cell = ours(width, size, has_bias=bool(bias), **names, **more)
        peer = theirs(width, size, bias=bool(bias), **names, **more)
        batch, steps = draw.size(1, 5), draw.size(1, 4)
        lengths = draw.integers(1, steps + 1, (batch,)) if ragged else None
        x = draw.normal(*((batch, steps) if first else (steps, batch)), width)
        state = (layers * (2 if both else 1), batch, size)
        hx = tuple(draw.normal(*state) for _ in range(states)) if draw.size(0, 1) else ()
        ours_flat = _OurFlat(cell, states, None if lengths is None else ops.cast(lengths, "int32"))
        theirs_flat = _Flat(peer, states, None if lengths is None else torch.from_numpy(lengths))
        return Case(ours_flat, theirs_flat, (x, *hx), _weights(theirs_flat))

    return build


def _step(ours: Any, theirs: Any, states: int, relu: bool = False) -> Any:
    def build(draw: Draw) -> Case:
        width, size, batch, bias = draw.choice((1, 3)), 2, draw.size(), draw.size(0, 1)
        more = {"nonlinearity": draw.choice(("tanh", "relu"))} if relu else {}
        cell = ours(width, size, has_bias=bool(bias), **more)
        peer = theirs(width, size, bias=bool(bias), **more)
        names = {f"cell.{name}": f"cell.{name}" for name in _weights(peer)}
        x = draw.normal(batch, width)
        hx = tuple(draw.normal(batch, size) for _ in range(states)) if draw.size(0, 1) else ()

        class Ours(nn.Cell):
            def __init__(self) -> None:
                super().__init__()
                self.cell = cell

            def construct(self, x: Any, *hx: Any) -> Any:
                return self.cell(x, (hx if states == 2 else hx[0]) if hx else None)

        class Theirs(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.cell = peer

            def forward(self, x: Any, *hx: Any) -> Any:
                return self.cell(x, (hx if states == 2 else hx[0]) if hx else None)

        return Case(Ours(), Theirs(), (x, *hx), names)

    return build


PAIRS: list[Pair] = [
    Pair("nn.RNN", _layer(nn.RNN, torch.nn.RNN, 1, relu=True)),
    Pair("nn.LSTM", _layer(nn.LSTM, torch.nn.LSTM, 2)),
    Pair("nn.GRU", _layer(nn.GRU, torch.nn.GRU, 1)),
    Pair("nn.RNNCell", _step(nn.RNNCell, torch.nn.RNNCell, 1, relu=True)),
    Pair("nn.LSTMCell", _step(nn.LSTMCell, torch.nn.LSTMCell, 2)),
    Pair("nn.GRUCell", _step(nn.GRUCell, torch.nn.GRUCell, 1)),
]

_WITHIN = "compared as part of the Cell that is made of it"
WITHOUT_PEER = {
    "ops.rnn_layer": _WITHIN,
    "ops.lstm_layer": _WITHIN,
    "ops.gru_layer": _WITHIN,
    "ops.lstm_step": _WITHIN,
    "ops.gru_step": _WITHIN,
}
