"""Recurrent Cells where parity with PyTorch does not look: names, shapes, ragged ends, mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler import abstract_eval
from cellwire.engine.shape import Aval, SymDim

RNG = np.random.default_rng(3)
X = cw.Tensor(RNG.standard_normal((4, 3, 5)).astype(np.float32))


def test_parameters_are_named_as_mindspores() -> None:
    net = nn.LSTM(5, 2, num_layers=2, bidirectional=True)
    ends = ["_l0", "_l0_reverse", "_l1", "_l1_reverse"]
    kinds = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    assert [p.name for p in net.trainable_params()] == [k + e for e in ends for k in kinds]
    assert net.weight_ih_l1.shape == (8, 4)
    assert nn.GRU(5, 2).weight_hh_l0.shape == (6, 2)
    assert nn.RNN(5, 2, has_bias=False).trainable_params()[1].shape == (2, 2)
    assert [n for n, _ in nn.LSTMCell(5, 2).parameters_and_names()] == kinds
    bound = 1 / np.sqrt(2)
    assert np.abs(net.weight_ih_l0.data).max() <= bound


def test_results_have_the_documented_shapes() -> None:
    out, (h, c) = nn.LSTM(5, 2, num_layers=3, bidirectional=True)(X)
    assert (out.shape, h.shape, c.shape) == ((4, 3, 4), (6, 3, 2), (6, 3, 2))
    out, h = nn.GRU(5, 2, batch_first=True)(X)
    assert (out.shape, h.shape) == ((4, 3, 2), (1, 4, 2))
    assert nn.RNNCell(5, 2)(X[0]).shape == (3, 2)


def test_sizes_of_steps_and_batch_may_be_symbols() -> None:
    for make, states in ((nn.RNN, 1), (nn.GRU, 1), (nn.LSTM, 2)):
        net = make(5, 2, bidirectional=True)
        out, ends = abstract_eval(net, Aval((SymDim("T"), SymDim("N"), 5), cw.float32))
        assert str(out) == "T×N×4 f32"
        assert str(ends if states == 1 else ends[1]) == "2×N×2 f32"


@pytest.mark.parametrize("make", [nn.RNN, nn.LSTM, nn.GRU])
def test_a_ragged_batch_is_each_sequence_by_itself(make: Callable[..., Any]) -> None:
    net = make(5, 2, bidirectional=True)
    lengths = cw.Tensor(np.array([4, 0, 2], np.int32))
    out, ends = net(X, seq_length=lengths)
    ends = ends if isinstance(ends, tuple) else (ends,)
    assert not out.data[:, 1].any()
    assert not out.data[2:, 2].any()
    assert not any(end.data[:, 1].any() for end in ends)
    for number, length in ((0, 4), (2, 2)):
        own, last = net(X[:length, number : number + 1])
        last = last if isinstance(last, tuple) else (last,)
        np.testing.assert_allclose(out.data[:length, number], own.data[:, 0], atol=1e-6)
        for end, alone in zip(ends, last, strict=True):
            np.testing.assert_allclose(end.data[:, number], alone.data[:, 0], atol=1e-6)


def test_dropout_is_between_the_layers_in_training_only() -> None:
    net = nn.GRU(5, 4, num_layers=2, dropout=0.5)
    below = nn.GRU(5, 4)
    for name, param in below.parameters_and_names():
        param.set_data(dict(net.parameters_and_names())[name])
    np.testing.assert_array_equal(net(X)[0].data, net(X)[0].data)
    net.set_train()
    cw.set_seed(0)
    first, ends = net(X)
    cw.set_seed(0)
    np.testing.assert_array_equal(net(X)[0].data, first.data)
    assert not np.array_equal(net(X)[0].data, first.data)
    np.testing.assert_allclose(ends.data[0], below(X)[1].data[0], atol=1e-6)


@pytest.mark.parametrize("make", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_steps_one_by_one_are_the_layer(make: Callable[..., Any]) -> None:
    step = make(5, 2)
    layer = {nn.LSTMCell: nn.LSTM, nn.GRUCell: nn.GRU, nn.RNNCell: nn.RNN}[make](5, 2)
    for name, param in step.parameters_and_names():
        getattr(layer, f"{name}_l0").set_data(param)
    state = None
    for at in range(4):
        state = step(X[at], state)
    last = layer(X)[1]
    pairs = [(state, last)] if make is not nn.LSTMCell else list(zip(state, last, strict=True))
    for mine, other in pairs:
        np.testing.assert_allclose(mine.data, other.data[0], atol=1e-6)


def test_a_gradients_gradient_goes_through_the_layer() -> None:
    net = nn.LSTM(5, 2)

    def penalty(x: cw.Tensor) -> cw.Tensor:
        slope = cw.grad(lambda x: ops.sum(net(x)[0]))(x)
        return ops.sum(slope * slope)

    found = cw.grad(penalty)(X).data
    step = 1e-2
    moved = X.data.copy()
    moved[1, 2, 3] += step
    above = float(penalty(cw.Tensor(moved)))
    moved[1, 2, 3] -= 2 * step
    below = float(penalty(cw.Tensor(moved)))
    np.testing.assert_allclose(found[1, 2, 3], (above - below) / (2 * step), rtol=0.02, atol=1e-4)


def test_to_float_reaches_the_layers_weights() -> None:
    out, (h, _) = nn.LSTM(5, 2).to_float(cw.float16)(X)
    assert out.dtype is h.dtype is cw.float16


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: nn.RNN(5, 2, nonlinearity="sin"), "nonlinearity"),
        (lambda: nn.RNNCell(5, 2, nonlinearity="sin"), "nonlinearity"),
        (lambda: nn.GRU(5, 2, dropout=1.0), "dropout"),
        (lambda: nn.LSTM(4, 2)(X), r"\[steps, n, 4\]"),
        (lambda: nn.GRU(5, 2)(X, ops.zeros((1, 9, 2))), "state must have the shape"),
        (lambda: nn.GRUCell(5, 2)(X[0], ops.zeros((1, 2))), "state must have the shape"),
        (lambda: nn.LSTMCell(4, 2)(X[0]), r"\[n, 4\]"),
        (lambda: nn.GRU(5, 2)(X, None, cw.Tensor([1])), "lengths"),
        (lambda: ops.lstm_step(X, X), "four times"),
        (lambda: ops.gru_step(X, X, X), "three times"),
        (lambda: ops.rnn_layer(X, X[0], ops.zeros((4, 4))), "weight"),
    ],
)
def test_mistakes_are_named(make: Callable[[], object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        make()
