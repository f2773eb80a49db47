"""What training code does beside the plain step works in compiled code as it does eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import amp, nn, ops

F32 = np.float32
Step = Callable[[Any, Any], Any]
loss_of = nn.MSELoss()


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Dense(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(p=0.25)
        self.last = nn.Dense(4, 2)

    def construct(self, x: Any) -> Any:
        return self.last(self.drop(ops.tanh(self.norm(self.first(x)))))


class Doubled(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x * 2

    def bprop(self, x: Any, out: Any, dout: Any) -> Any:
        return (dout * 3 + x,)


class State:
    """What a training loop keeps by hand."""

    def __init__(self) -> None:
        self.steps = 0
        self.rate = 0.1
        self.best: Any = None
        self.losses: list[Any] = []


def gradients(net: Any, through: Callable[[Any], Any] = lambda x: x) -> Any:
    return cw.value_and_grad(
        lambda x, y: loss_of(through(net(x)), y), None, list(net.trainable_params())
    )


def clipped(net: Any, state: State) -> Step:
    optimizer, take = nn.Momentum(net.trainable_params(), 0.1, 0.9), gradients(net)

    def step(x: Any, y: Any) -> Any:
        loss, grads = take(x, y)
        optimizer(ops.clip_by_global_norm(grads, 0.1))
        return loss

    return step


def averaged(net: Any, state: State) -> Step:
    optimizer, take = nn.SGD(net.trainable_params(), 0.1), gradients(net)
    means = [cw.Parameter(p.asnumpy().copy(), name=f"mean.{p.name}") for p in optimizer.parameters]

    def step(x: Any, y: Any) -> Any:
        loss, grads = take(x, y)
        optimizer(grads)
        for mean, parameter in zip(means, optimizer.parameters, strict=True):
            ops.assign(mean, mean * 0.9 + parameter * 0.1)
        return loss, means[0] * 1

    return step


def accumulated(net: Any, state: State) -> Step:
    optimizer, take = nn.SGD(net.trainable_params(), 0.1), gradients(net)
    sums = [
        cw.Parameter(np.zeros(p.shape, F32), name=f"sum.{p.name}") for p in optimizer.parameters
    ]

    def step(x: Any, y: Any) -> Any:
        loss, grads = take(x, y)
        state.steps += 1
        for total, grad in zip(sums, grads, strict=True):
            ops.assign_add(total, grad)
        if state.steps % 2 == 0:
            optimizer(tuple(total / 2 for total in sums))
            for total in sums:
                ops.assign(total, ops.zeros_like(total))
        return loss

    return step


def scheduled_by_hand(net: Any, state: State) -> Step:
    take, parameters = gradients(net), list(net.trainable_params())

    def step(x: Any, y: Any) -> Any:
        loss, grads = take(x, y)
        state.steps += 1
        rate = state.rate * 0.9**state.steps
        for parameter, grad in zip(parameters, grads, strict=True):
            ops.assign(parameter, parameter - rate * grad)
        state.best = loss if state.best is None else ops.minimum(state.best, loss)
        state.losses.append(loss)
        print(f"{state.steps}: {loss:.3f}")
        return loss

    return step


def hooked(net: Any, state: State) -> Step:
    net.first.register_forward_hook(lambda cell, args, out: state.losses.append(out.sum()))
    net.last.register_backward_hook(lambda cell, into, out: state.losses.append(out[0].sum()))
    take = gradients(net, Doubled())
    optimizer = nn.SGD(net.trainable_params(), 0.1)

    def step(x: Any, y: Any) -> Any:
        loss, grads = take(x, y)
        optimizer(grads)
        return loss

    return step


def scaled(net: Any, state: State) -> Step:
    lower = amp.auto_mixed_precision(net, "O1")
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    scaler = amp.DynamicLossScaler(1024, 2, 2)
    take = cw.value_and_grad(
        lambda x, y: scaler.scale(loss_of(lower(x), y)), None, optimizer.parameters
    )

    def step(x: Any, y: Any) -> Any:
        loss, grads = take(x, y)
        finite = amp.all_finite(grads)
        if finite:
            optimizer(scaler.unscale(grads))
        scaler.adjust(finite)
        return scaler.unscale(loss), scaler.scale_value * 1

    return step


def changed_between(net: Any, state: State, step: int) -> None:
    net.first.weight.requires_grad = step % 2 == 0
    state.rate = 0.1 / (step + 1)


def values(found: Any) -> list[np.ndarray]:
    parts = found if isinstance(found, tuple | list) else (found,)
    return [np.array(part.asnumpy()) for part in parts]


@pytest.mark.parametrize(
    ("make", "paths"),
    [
        (clipped, 2),
        (averaged, 2),
        (accumulated, 4),
        (scheduled_by_hand, 4),
        (hooked, 2),
        (scaled, 2),
    ],
)
def test_training_code_equals_eager(
    make: Callable[[Any, State], Step], paths: int, capsys: pytest.CaptureFixture[str]
) -> None:
    found, run = [], None
    for wrap in (lambda step: step, lambda step: cw.jit(step, fullgraph=True)):
        cw.set_seed(5)
        rng, net, state = np.random.default_rng(1), Net().set_train(), State()
        run = wrap(make(net, state))
        results = []
        for number in range(5):
            x, y = (cw.Tensor(rng.normal(size=(6, n)).astype(F32)) for n in (3, 2))
            results += values(run(x, y))
            if make is not scaled:
                changed_between(net, state, number)
        results += [p.asnumpy().copy() for p in net.get_parameters()] + values(state.losses)
        found.append((results, state.steps, len(state.losses), capsys.readouterr().out))
    for got, wanted in zip(found[1][0], found[0][0], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-3 if make is scaled else 2e-4, atol=1e-5)
    assert found[1][1:] == found[0][1:]
    assert run is not None
    assert sum(len(s.paths) for s in run.situations.values()) <= paths
