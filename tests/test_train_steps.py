"""Steps of training as Cells, gradients added up over steps, and weights averaged over them."""

from __future__ import annotations

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops, train

RNG = np.random.default_rng(0)
X = RNG.standard_normal((24, 3)).astype(np.float32)
Y = (X @ np.array([1.0, -2.0, 0.5], np.float32) > 0).astype(np.int32)


def network() -> nn.Cell:
    cw.set_seed(2)
    return nn.SequentialCell(nn.Dense(3, 8), nn.Tanh(), nn.Dense(8, 2))


def test_accumulated_gradients_step_with_their_mean() -> None:
    grads = RNG.standard_normal((6, 4)).astype(np.float32)
    params = [cw.Parameter(np.zeros(4, np.float32), "w") for _ in range(3)]
    plain = nn.SGD([params[0]], 0.5)
    for pair in grads.reshape(2, 3, 4):
        plain((cw.Tensor(pair.mean(0)),))
    eager = train.GradientAccumulator(nn.SGD([params[1]], 0.5), 3)
    compiled = train.GradientAccumulator(nn.SGD([params[2]], 0.5), 3)
    step = cw.jit(lambda g: compiled((g,)), fullgraph=True)
    for grad in grads:
        eager((cw.Tensor(grad),))
        step(cw.Tensor(grad))
    for param in params[1:]:
        np.testing.assert_allclose(param.data, params[0].data, rtol=1e-6, atol=1e-7)
    assert int(eager.optimizer.global_step) == 2
    assert int(eager.counter) == 0


def test_averaged_weights_are_applied_and_put_back() -> None:
    net = nn.SequentialCell(nn.Dense(2, 1, has_bias=False))
    weight = net[0].weight
    weight.set_data(np.zeros((1, 2), np.float32))
    average = train.ExponentialMovingAverage(net, 0.5)
    for value in (4.0, 8.0, 2.0):
        weight.set_data(np.full((1, 2), value, np.float32))
        average.update()
    with average.applied():
        np.testing.assert_allclose(weight.asnumpy(), 0.5 * (0.5 * (0.5 * 4) + 0.5 * 8) + 0.5 * 2)
    np.testing.assert_array_equal(weight.asnumpy(), 2.0)
    assert list(average.state_dict()) == ["ema.0.weight"]
    average.copy_to_network()
    np.testing.assert_allclose(weight.asnumpy(), 3.5)
    warm = train.ExponentialMovingAverage(net, 0.999, warm_up=True)
    weight.set_data(np.full((1, 2), 14.5, np.float32))
    warm.update()
    np.testing.assert_allclose(warm.averages[0].asnumpy(), 3.5 * 2 / 11 + 14.5 * 9 / 11, rtol=1e-6)


def test_cells_around_a_network() -> None:
    net, loss_fn = network(), nn.CrossEntropyLoss()
    x, y = cw.Tensor(X), cw.Tensor(Y)
    expected = float(loss_fn(net(x), y))
    assert float(nn.WithLossCell(net, loss_fn)(x, y)) == pytest.approx(expected)
    loss, outputs, labels = nn.WithEvalCell(net, loss_fn)(x, y)
    assert float(loss) == pytest.approx(expected)
    assert outputs.shape == (24, 2)
    assert labels is y
    whole = nn.WithLossCell(net, loss_fn)
    value, grads = nn.ForwardValueAndGrad(whole, get_by_list=True)(x, y)
    assert float(value) == pytest.approx(expected)
    assert len(grads) == 4
    reduced = nn.DistributedGradReducer(net.trainable_params())(grads)
    assert reduced is grads
    _, scaled = nn.ForwardValueAndGrad(whole, get_by_list=True, sens_param=True)(
        x, y, cw.Tensor(2.0)
    )
    np.testing.assert_allclose(scaled[0].asnumpy(), grads[0].asnumpy() * 2, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("sens", [None, 64.0])
def test_one_step_of_training(sens: float | None) -> None:
    net, other = network(), network()
    x, y = cw.Tensor(X), cw.Tensor(Y)
    optimizer = nn.SGD(net.trainable_params(), 0.1, loss_scale=sens or 1.0)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer, sens)
    peer = nn.SGD(other.trainable_params(), 0.1)
    derived = cw.value_and_grad(
        lambda x, y: nn.CrossEntropyLoss()(other(x), y), None, peer.parameters
    )
    for _ in range(3):
        loss, grads = derived(x, y)
        peer(grads)
        assert float(step(x, y)) == pytest.approx(float(loss), rel=1e-5)
    for one, two in zip(net.get_parameters(), other.get_parameters(), strict=True):
        np.testing.assert_allclose(one.data, two.data, rtol=1e-5, atol=1e-6)


def test_a_loss_scale_that_moves_in_the_step() -> None:
    net = cw.amp.auto_mixed_precision(network(), "O2")
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    update = nn.DynamicLossScaleUpdateCell(2.0**20, 2, 2)
    whole = nn.WithLossCell(net, nn.CrossEntropyLoss())
    step = nn.TrainOneStepWithLossScaleCell(whole, optimizer, update)
    x = cw.Tensor(X)
    held = net[0].weight.asnumpy().copy()
    results = [step(x, cw.Tensor(Y)) for _ in range(12)]
    overflows = [bool(result[1]) for result in results]
    scales = [float(result[2]) for result in results]
    assert overflows[0]
    for overflow, scale, after in zip(overflows, scales, scales[1:], strict=False):
        assert after == scale / 2 if overflow else after in (scale, scale * 2)
    assert int(optimizer.global_step) == overflows.count(False) > 0
    assert not np.array_equal(held, net[0].weight.asnumpy())


class Clipped(nn.TrainOneStepCell):
    def construct(self, *inputs: cw.Tensor) -> cw.Tensor:
        loss = self.network(*inputs)
        sens = ops.fill(loss.dtype, loss.shape, self.sens)
        grads = self.grad_reducer(self.grad(self.network, self.weights)(*inputs, sens))
        plain = self.grad_no_sens(self.network, self.weights)(*inputs)
        for one, two in zip(grads, plain, strict=True):
            np.testing.assert_allclose(one.asnumpy(), two.asnumpy(), rtol=1e-4, atol=1e-7)
        return ops.depend(loss, self.optimizer(ops.clip_by_global_norm(grads, 0.01)))


def test_a_step_written_over_the_plain_one() -> None:
    net = network()
    before = [param.asnumpy().copy() for param in net.get_parameters()]
    optimizer = nn.SGD(net.trainable_params(), 1.0)
    Clipped(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)(cw.Tensor(X), cw.Tensor(Y))
    moved = [p.asnumpy() - old for p, old in zip(net.get_parameters(), before, strict=True)]
    assert np.sqrt(sum((step**2).sum() for step in moved)) == pytest.approx(0.01, rel=1e-3)


class Scaled(nn.TrainOneStepWithLossScaleCell):
    def construct(self, *inputs: cw.Tensor) -> tuple[cw.Tensor, cw.Tensor, cw.Tensor]:
        loss = self.network(*inputs)
        status, scale = self.start_overflow_check(loss, self.scale_sense * 1.0)
        sens = ops.ones_like(loss) * ops.cast(scale, loss.dtype)
        grads = self.grad(self.network, self.weights)(*inputs, sens)
        grads = self.hyper_map(ops.partial(lambda by, grad: grad / by, scale), grads)
        overflow = self.get_overflow_status(status, self.grad_reducer(grads))
        if not self.process_loss_scale(overflow):
            self.optimizer(grads)
        return loss, overflow, scale


@pytest.mark.parametrize("compiled", [False, True])
def test_a_scaled_step_written_over_the_plain_one(compiled: bool) -> None:
    found = []
    for kind in (nn.TrainOneStepWithLossScaleCell, Scaled):
        net = cw.amp.auto_mixed_precision(network(), "O2")
        update = nn.DynamicLossScaleUpdateCell(2.0**20, 2, 2)
        optimizer = nn.SGD(net.trainable_params(), 0.1)
        step = kind(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer, update)
        call = cw.jit(step) if compiled else step
        results = [call(cw.Tensor(X), cw.Tensor(Y)) for _ in range(8)]
        found.append([[float(value) for value in result] for result in results])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-2)
    assert {row[1] for row in found[0]} == {0.0, 1.0}
