"""Recurrent Cells where parity with PyTorch does not look: names, shapes, ragged ends, mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler import abstract_eval, trace
from cellwire.engine.compiler.differentiate import differentiate
from cellwire.engine.compiler.graph import interpret
from cellwire.engine.shape import Aval, SymDim
from cellwire.kernels.recurrent import run_backward, run_forward

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


def sizes_worth_two_threads(kind: str) -> tuple[Any, ...]:
    """Return gates, state, cell, weight and bias of 9 sequences, 20 steps of 53 units."""
    blocks = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}[kind]
    shapes = [(20, 9, blocks * 53), (9, 53), (9, 53), (blocks * 53, 53), (blocks * 53,)]
    gates, state, cell, weight, bias = (RNG.standard_normal(shape) for shape in shapes)
    return gates, (state, cell)[: 2 if kind == "lstm" else 1], weight * 0.1, bias


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_a_batch_cut_for_threads_is_each_sequence_by_itself(kind: str) -> None:
    gates, states, weight, bias = sizes_worth_two_threads(kind)
    bias = bias if kind == "gru" else None
    lengths = RNG.integers(0, 21, 9)
    how = {"keep": True, "reverse": True}
    ends = 1 + len(states)
    whole = run_forward(kind, gates, states, weight, bias, lengths, **how)
    douts = [RNG.standard_normal(array.shape) for array in whole[:ends]]
    back = run_backward(kind, douts, weight, whole[ends], lengths, reverse=True)
    again = run_backward(kind, douts, weight, whole[ends], lengths, reverse=True)
    assert all(np.array_equal(a, b) for a, b in zip(back, again, strict=True))
    for n in range(9):
        own = slice(n, n + 1)
        start, last = [s[own] for s in states], lengths[own]
        alone = run_forward(kind, gates[:, own], start, weight, bias, last, **how)
        mine = [d[:, own] if d.ndim == 3 else d[own] for d in douts]
        here = run_backward(kind, mine, weight, alone[ends], last, reverse=True)
        for full, one in zip((*whole, *back), (*alone, *here), strict=True):
            np.testing.assert_allclose(full[:, own] if full.ndim == 3 else full[own], one)


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_training_step_is_one_plan(make: Callable[..., Any]) -> None:
    net = make(5, 4)
    adam = nn.Adam(net.trainable_params(), 0.01)
    lengths = cw.Tensor(np.array([4, 0, 2]))
    derive = cw.value_and_grad(
        lambda x, n: ops.mean(net(x, seq_length=n)[0] ** 2), None, adam.parameters
    )

    def step(x: cw.Tensor, n: cw.Tensor) -> cw.Tensor:
        value, grads = derive(x, n)
        adam(grads)
        return value

    report = cw.jit.explain(step)(X, lengths).report
    assert report is not None
    assert report.host_steps == ()
    assert report.native_runs == 1
    run = cw.jit(step, fullgraph=True)
    values = [float(run(X, lengths)) for _ in range(3)]
    assert values[2] < values[1] < values[0]


def test_layers_in_both_directions_are_one_native_run() -> None:
    net = nn.GRU(5, 4, num_layers=2, bidirectional=True)
    derive = cw.value_and_grad(lambda x: ops.sum(net(x)[0]), None, net.trainable_params())
    report = cw.jit.explain(derive)(X).report
    assert report is not None
    assert (report.host_steps, report.native_runs) == ((), 1)


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_layer_that_nobody_recorded_is_derived(make: Callable[..., Any]) -> None:
    net = make(5, 4)
    gates = cw.Tensor(RNG.standard_normal((4, 3, net.weight_hh_l0.shape[0])).astype(np.float32))
    kind = make.__name__.lower()  # type: ignore[attr-defined]
    layer, weight = getattr(ops, f"{kind}_layer"), cw.Tensor(net.weight_hh_l0.data)

    def total(gates: cw.Tensor, weight: cw.Tensor) -> cw.Tensor:
        zeros = ops.zeros((3, 4))
        states = (zeros, zeros) if make is nn.LSTM else (zeros,)
        return ops.sum(layer(gates, *states, weight)[0])

    made = differentiate(trace(total, [gates.aval, weight.aval]).graph, 1, [0])
    _, *kept = interpret(made.forward, [gates.data, weight.data])
    (found,) = interpret(made.backward, [*kept, np.float32(1)])
    np.testing.assert_allclose(found, cw.grad(total)(gates, weight).data, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
def test_no_steps_leave_the_states_and_no_sequences_give_none(make: Callable[..., Any]) -> None:
    net = make(5, 2)
    given = ops.ones((1, 3, 2))
    hx = (given, given) if make is nn.LSTM else given
    out, ends = net(X[:0], hx)
    assert out.shape == (0, 3, 2)
    ends = ends if isinstance(ends, tuple) else (ends,)
    assert all(np.array_equal(end.data, given.data) for end in ends)
    assert net(X[:, :0])[0].shape == (4, 0, 2)


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
