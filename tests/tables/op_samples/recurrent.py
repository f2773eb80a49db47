"""Samples of the recurrent ops, beside the same steps written out in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.autograd import grad
from cellwire.engine.ops.gru import gru_layer_back
from cellwire.engine.ops.lstm import lstm_layer_back
from cellwire.engine.ops.rnn import rnn_layer_back
from scipy.special import expit

from op_samples.sample import N, Sample, normal

STEPS, SIZE = 3, 2
STATE, CELL = normal(N, SIZE), normal(N, SIZE, seed=1)
LENGTHS = np.array([3, 0, 1, 2, 3], np.int64)


def _walk(step: Any, gates: np.ndarray, states: Any, lengths: Any, reverse: bool) -> Any:
    out = np.zeros((*gates.shape[:2], SIZE))
    for at in reversed(range(STEPS)) if reverse else range(STEPS):
        after = step(gates[at], *states)
        goes_on = np.ones((N, 1), bool) if lengths is None else (lengths > at)[:, None]
        out[at] = np.where(goes_on, after[0], 0)
        states = tuple(np.where(goes_on, a, b) for a, b in zip(after, states, strict=True))
    return (out, *states)


def _lstm_step(gates: np.ndarray, cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    i, f, g, o = np.split(gates, 4, -1)
    after = expit(f) * cell + expit(i) * np.tanh(g)
    return expit(o) * np.tanh(after), after


def _gru_step(gates: np.ndarray, hidden: np.ndarray, state: np.ndarray) -> np.ndarray:
    (r, z, n), (hr, hz, hn) = np.split(gates, 3, -1), np.split(hidden, 3, -1)
    new = np.tanh(n + expit(r + hr) * hn)
    update = expit(z + hz)
    return (1 - update) * new + update * state


def _lstm(
    reverse: bool, gates: Any, state: Any, cell: Any, weight: Any, lengths: Any = None
) -> Any:
    return _walk(
        lambda g, h, c: _lstm_step(g + h @ weight.T, c), gates, (state, cell), lengths, reverse
    )


def _gru(reverse: bool, gates: Any, state: Any, weight: Any, bias: Any, lengths: Any = None) -> Any:
    return _walk(
        lambda g, h: (_gru_step(g, h @ weight.T + bias, h),), gates, (state,), lengths, reverse
    )


def _rnn(
    reverse: bool, follow: Any, gates: Any, state: Any, weight: Any, lengths: Any = None
) -> Any:
    return _walk(lambda g, h: (follow(g + h @ weight.T),), gates, (state,), lengths, reverse)


def _layers(name: str, arrays: tuple[np.ndarray, ...], reference: Any) -> list[Sample]:
    layer = getattr(ops, name)

    def slope(*tensors: Any) -> Any:
        # What a derivative of a derivative needs: the gradient op in the record.
        wrt = tuple(i for i, t in enumerate(tensors) if t.dtype.is_float)
        return grad(lambda *t: sum_of(layer(*t, reverse=True)), wrt)(*tensors)

    return [
        Sample(name, layer, arrays, lambda *a: reference(False, *a)),
        Sample(name, lambda *t: layer(*t, reverse=True), (*arrays, LENGTHS),
               lambda *a: reference(True, *a)),
        Sample(name, layer, (*arrays, LENGTHS), lambda *a: reference(False, *a)),
        Sample(f"{name}_grad", slope, arrays, symbolic=False),
        Sample(f"{name}_grad", slope, (*arrays, LENGTHS), symbolic=False),
    ]  # fmt: skip


def _back(
    walk: Callable[..., Any], gates: int, states: int, slopes: int, **attrs: Any
) -> list[Sample]:
    """Return samples of the walk back alone, on numbers in the place of what the layer kept."""
    arrays = (
        normal(STEPS, N, SIZE, seed=2),
        *(STATE, CELL)[:states],
        normal(gates * SIZE, SIZE, seed=3),
        normal(STEPS, N, slopes * SIZE, seed=4),
    )
    return [
        Sample(walk.__name__, partial(walk, reverse=reverse, **attrs), inputs, differentiable=False)
        for reverse, inputs in ((False, arrays), (True, (*arrays, LENGTHS)))
    ]


def sum_of(outputs: Any) -> Any:
    total = None
    for number, out in enumerate(outputs):
        part = ops.sum(ops.sin(out * (number + 1.0)))
        total = part if total is None else total + part
    return total


SAMPLES: list[Sample] = [
    Sample("lstm_step", ops.lstm_step, (normal(N, 4 * SIZE, seed=2), CELL), _lstm_step),
    Sample(
        "gru_step",
        ops.gru_step,
        (normal(N, 3 * SIZE, seed=2), normal(N, 3 * SIZE, seed=3), STATE),
        _gru_step,
    ),
    *_layers(
        "lstm_layer",
        (normal(STEPS, N, 4 * SIZE, seed=2), STATE, CELL, normal(4 * SIZE, SIZE, seed=3)),
        _lstm,
    ),
    *_layers(
        "gru_layer",
        (
            normal(STEPS, N, 3 * SIZE, seed=2),
            STATE,
            normal(3 * SIZE, SIZE, seed=3),
            normal(3 * SIZE, seed=4),
        ),
        _gru,
    ),
    *_layers(
        "rnn_layer",
        (normal(STEPS, N, SIZE, seed=2), STATE, normal(SIZE, SIZE, seed=3)),
        lambda reverse, *arrays: _rnn(reverse, np.tanh, *arrays),
    ),
    Sample(
        "rnn_layer",
        lambda *t: ops.rnn_layer(*t, nonlinearity="relu"),
        (normal(STEPS, N, SIZE, seed=2), STATE, normal(SIZE, SIZE, seed=3)),
        lambda *arrays: _rnn(False, lambda x: np.maximum(x, 0), *arrays),
    ),
    *_back(lstm_layer_back, 4, 2, 6),
    *_back(gru_layer_back, 3, 1, 5),
    *_back(rnn_layer_back, 1, 1, 1, nonlinearity="tanh"),
]
