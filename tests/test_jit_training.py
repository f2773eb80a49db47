"""``jit`` where values are learnt: training steps, gradients, and parameters that are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops

F32 = np.float32


def tensor(*shape: int, seed: int = 0) -> cw.Tensor:
    return cw.Tensor(np.random.default_rng(seed).normal(size=shape).astype(F32))


def close(a: Any, b: Any, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=rtol, atol=atol)


def compiled(fn: Callable[..., Any]) -> Any:
    return cw.jit(fn, fullgraph=True)


def make_net(seed: int = 0) -> nn.SequentialCell:
    cw.set_seed(seed)
    rng = np.random.default_rng(seed)
    net = nn.SequentialCell(
        nn.Dense(6, 16), nn.LayerNorm((16,)), nn.ReLU(), nn.Dense(16, 4)
    )  # fmt: skip
    for param in net.get_parameters():
        param.set_data(cw.Tensor(rng.normal(0, 0.4, param.shape).astype(F32)))
    return net


def train(optimizer_of: Callable[..., Any], jit: bool, steps: int = 20) -> Any:
    net = make_net()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = optimizer_of(net.trainable_params())
    derive = cw.value_and_grad(lambda x, y: loss_fn(net(x), y), None, weights=optimizer.parameters)

    def step(x: Any, y: Any) -> Any:
        loss, grads = derive(x, y)
        optimizer(grads)
        return loss

    run = cw.jit(step, fullgraph=True) if jit else step
    rng = np.random.default_rng(1)
    losses = []
    for _ in range(steps):
        x = cw.Tensor(rng.normal(size=(8, 6)).astype(F32))
        y = cw.Tensor(rng.integers(0, 4, 8).astype(np.int32))
        losses.append(run(x, y).item())
    return losses, [p.asnumpy().copy() for p in net.get_parameters()], run


@pytest.mark.parametrize(
    "optimizer_of",
    [
        lambda params: nn.SGD(params, 0.1),
        lambda params: nn.Momentum(params, 0.05, 0.9),
        lambda params: nn.Adam(params, 0.01),
    ],
    ids=["sgd", "momentum", "adam"],
)
def test_a_compiled_training_step_equals_eager_over_twenty_steps(
    optimizer_of: Callable[..., Any],
) -> None:
    eager, weights, _ = train(optimizer_of, jit=False)
    fast, fast_weights, run = train(optimizer_of, jit=True)
    np.testing.assert_allclose(fast, eager, rtol=2e-3, atol=1e-4)
    for a, b in zip(fast_weights, weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=2e-3)
    (situation,) = run.situations.values()
    assert len(situation.paths) == 1
    plan = situation.paths[0].plan
    assert plan.report.host_steps == ()
    assert plan.report.native_runs == 1
    assert plan.in_place


def test_a_compiled_piece_under_a_record_has_gradients() -> None:
    weight = cw.Parameter(tensor(4, 3, seed=2))
    piece = compiled(lambda x: ops.tanh(ops.matmul(x, weight)))

    def loss(fn: Callable[..., Any]) -> Any:
        return lambda x: ops.sum(fn(x) * fn(x))

    def plain(x: Any) -> Any:
        return ops.tanh(ops.matmul(x, weight))

    x = tensor(5, 4)
    found = cw.value_and_grad(loss(piece), 0, weights=[weight])(x)
    wanted = cw.value_and_grad(loss(plain), 0, weights=[weight])(x)
    close(found[0], wanted[0])
    close(found[1][0], wanted[1][0])
    close(found[1][1][0], wanted[1][1][0])


def test_gradients_inside_jit_agree_also_of_second_order() -> None:
    def fn(x: Any) -> Any:
        return ops.sum(ops.exp(x) * x)

    twice = cw.grad(lambda x: ops.sum(cw.grad(fn)(x) * x))
    x = tensor(5)
    close(compiled(twice)(x), twice(x))


def test_batch_norm_statistics_are_written() -> None:
    eager, fast = nn.BatchNorm2d(3).set_train(), nn.BatchNorm2d(3).set_train()
    run = compiled(fast)
    for seed in range(3):
        x = tensor(4, 3, 5, 5, seed=seed)
        close(run(x), eager(x), rtol=1e-3, atol=1e-4)
    close(fast.moving_mean, eager.moving_mean)
    close(fast.moving_variance, eager.moving_variance)


def test_writing_in_place_counts_versions_and_keeps_the_buffer() -> None:
    weight = cw.Parameter(cw.Tensor([1.0, 2.0]))
    buffer = weight.asnumpy()

    def step(x: Any) -> Any:
        weight.set_data(weight - 0.5 * x)
        return ops.sum(weight)

    run = compiled(step)
    for _ in range(3):
        run(cw.Tensor([1.0, 1.0]))
    assert weight.version == 3
    assert weight.asnumpy() is buffer
    assert buffer.tolist() == [-0.5, 0.5]


def test_parameters_can_be_exchanged_and_results_keep_their_values() -> None:
    a, b = cw.Parameter(cw.Tensor([1.0])), cw.Parameter(cw.Tensor([2.0]))

    def swap(x: Any) -> Any:
        old = a * 1.0
        first, second = a + 0.0 * x, b + 0.0 * x
        a.set_data(second)
        b.set_data(first)
        return old

    run = compiled(swap)
    results = [run(cw.Tensor([0.0])) for _ in range(3)]
    assert [r.item() for r in results] == [1, 2, 1]
    assert (a.item(), b.item()) == (2, 1)

    def cross(x: Any) -> Any:
        kept = a * 1.0
        a.set_data(b)
        b.set_data(kept)
        return x

    run = compiled(cross)
    run(cw.Tensor([0.0]))
    assert (a.item(), b.item()) == (1, 2)


def test_the_learning_rate_can_be_changed_without_a_new_trace() -> None:
    net = nn.Dense(3, 2)
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    derive = cw.value_and_grad(lambda x: ops.sum(net(x)), None, weights=optimizer.parameters)

    def step(x: Any) -> Any:
        loss, grads = derive(x)
        optimizer(grads)
        return loss

    run = compiled(step)
    x = cw.Tensor(np.ones((2, 3), F32))
    run(x)
    before = net.weight.asnumpy().copy()
    optimizer.learning_rate.set_data(cw.Tensor(np.float32(0.0)))
    run(x)
    np.testing.assert_array_equal(net.weight.asnumpy(), before)
    (situation,) = run.situations.values()
    assert len(situation.paths) == 1
