"""Optimizers take the steps that PyTorch's take, and MindSpore's where the two differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn

START = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
GRADS = [
    np.random.default_rng(step).standard_normal((3, 4)).astype(np.float32) for step in range(6)
]


def weight(name: str = "weight", data: np.ndarray = START) -> cw.Parameter:
    return cw.Parameter(data, name)


def taken(make: Callable[[list[cw.Parameter]], nn.Optimizer]) -> np.ndarray:
    param = weight()
    optimizer = make([param])
    for grad in GRADS:
        optimizer((cw.Tensor(grad),))
    return param.data


def torch_taken(name: str, **settings: object) -> np.ndarray:
    torch = pytest.importorskip("torch")
    param = torch.nn.Parameter(torch.from_numpy(START.copy()))
    optimizer = getattr(torch.optim, name)([param], **settings)
    for grad in GRADS:
        param.grad = torch.from_numpy(grad.copy())
        optimizer.step()
    return param.detach().numpy()


@pytest.mark.parametrize(
    ("make", "name", "settings"),
    [
        (lambda p: nn.SGD(p, 0.1), "SGD", {"lr": 0.1}),
        (nn.SGD, "SGD", {"lr": 0.1}),
        (
            lambda p: nn.SGD(p, 0.1, momentum=0.9, dampening=0.3, weight_decay=0.01),
            "SGD",
            {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01},
        ),
        (
            lambda p: nn.SGD(p, 0.1, momentum=0.9, nesterov=True),
            "SGD",
            {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        ),
        (
            lambda p: nn.Momentum(p, 0.1, 0.8, weight_decay=0.02),
            "SGD",
            {"lr": 0.1, "momentum": 0.8, "weight_decay": 0.02},
        ),
        (nn.Adam, "Adam", {"lr": 1e-3}),
        (
            lambda p: nn.Adam(p, 0.01, 0.8, 0.95, eps=1e-7, weight_decay=0.03),
            "Adam",
            {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-7, "weight_decay": 0.03},
        ),
        (lambda p: nn.Adam(p, 0.01, use_amsgrad=True), "Adam", {"lr": 0.01, "amsgrad": True}),
        (nn.LazyAdam, "Adam", {"lr": 1e-3}),
        (nn.AdamW, "AdamW", {"lr": 1e-3}),
        (
            lambda p: nn.AdamW(p, 0.02, weight_decay=0.1, amsgrad=True),
            "AdamW",
            {"lr": 0.02, "weight_decay": 0.1, "amsgrad": True},
        ),
        (lambda p: nn.AdaMax(p, 0.01), "Adamax", {"lr": 0.01}),
        (
            lambda p: nn.Adagrad(p, 0.1, 0.05),
            "Adagrad",
            {"lr": 0.05, "initial_accumulator_value": 0.1},
        ),
        (lambda p: nn.Adadelta(p, weight_decay=0.1), "Adadelta", {"weight_decay": 0.1}),
        (lambda p: nn.RMSProp(p, 0.01), "RMSprop", {"lr": 0.01, "alpha": 0.9}),
        (
            lambda p: nn.RMSProp(p, 0.01, 0.95, momentum=0.8, centered=True),
            "RMSprop",
            {"lr": 0.01, "alpha": 0.95, "momentum": 0.8, "centered": True, "eps": 1e-10},
        ),
        (nn.Rprop, "Rprop", {"lr": 0.1}),
        (lambda p: nn.ASGD(p, 0.1, lambd=0.05), "ASGD", {"lr": 0.1, "lambd": 0.05}),
        (lambda p: nn.AdaFactor(p, beta1=0.0), "Adafactor", {"lr": 0.01}),
    ],
)
def test_steps_are_torchs(
    make: Callable[[list[cw.Parameter]], nn.Optimizer], name: str, settings: dict[str, object]
) -> None:
    # Adam's eps meets the uncorrected second moment here and in MindSpore: a difference near 1e-6.
    np.testing.assert_allclose(taken(make), torch_taken(name, **settings), rtol=2e-4, atol=2e-6)


def test_adam_weight_decay_neither_corrects_nor_mixes() -> None:
    expected = START.astype(np.float64)
    m = v = np.zeros_like(expected)
    for grad in GRADS:
        m, v = 0.9 * m + 0.1 * grad, 0.999 * v + 0.001 * grad.astype(np.float64) ** 2
        expected = expected - 0.01 * (m / (np.sqrt(v) + 1e-6) + 0.1 * expected)
    got = taken(lambda p: nn.AdamWeightDecay(p, 0.01, weight_decay=0.1))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_decay_leaves_norms_alone_but_for_sgd() -> None:
    zero = cw.Tensor(np.zeros((3, 4), np.float32))
    gamma = weight("norm.gamma")
    nn.Momentum([gamma], 0.1, 0.9, weight_decay=0.5)((zero,))
    np.testing.assert_array_equal(gamma.data, START)
    nn.SGD([gamma], 0.1, weight_decay=0.5)((zero,))
    np.testing.assert_allclose(gamma.data, START * 0.95, rtol=1e-6)


def test_rates_by_list_function_and_group() -> None:
    one = cw.Tensor(np.ones((3, 4), np.float32))
    listed = weight()
    optimizer = nn.SGD([listed], [0.1, 0.2])
    for _ in range(3):
        optimizer((one,))
    np.testing.assert_allclose(listed.data, START - 0.5, rtol=1e-5, atol=1e-6)
    scheduled = weight()
    optimizer = nn.SGD([scheduled], lambda step: (step + 1) * 0.1)
    optimizer((one,))
    optimizer((one,))
    np.testing.assert_allclose(scheduled.data, START - 0.3, rtol=1e-5, atol=1e-6)
    first, second = weight("a"), weight("b")
    groups = [{"params": [first], "lr": 0.5}, {"params": [second]}]
    nn.SGD(groups, 0.1)((one, one))
    np.testing.assert_allclose(first.data, START - 0.5, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(second.data, START - 0.1, rtol=1e-6, atol=1e-7)


def test_gradients_are_divided_by_the_loss_scale() -> None:
    param = weight()
    nn.SGD([param], 1.0, loss_scale=4.0)((cw.Tensor(np.full((3, 4), 8, np.float32)),))
    np.testing.assert_allclose(param.data, START - 2.0)


def test_state_is_named_after_the_weights() -> None:
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Dense(3, 1))
    optimizer = nn.Adam(net.trainable_params())
    assert [p.name for p in optimizer.parameters] == [p.name for p in net.trainable_params()]
    names = [p.name for p in optimizer.get_parameters()]
    assert {"global_step", "learning_rate", "beta1_power", "moment1.0.weight"} <= set(names)
    assert len(set(names)) == len(names)


def test_a_compiled_step_is_the_eager_one() -> None:
    x = cw.Tensor(np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32))
    y = cw.Tensor(np.array([0, 1, 1, 0, 1, 0, 0, 1], np.int32))
    results = []
    for compiled in (False, True):
        cw.set_seed(5)
        net = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 2))
        loss = nn.CrossEntropyLoss()
        optimizer = nn.Adam(net.trainable_params(), 0.05)
        derived = cw.value_and_grad(
            lambda x, y, n=net, f=loss: f(n(x), y), None, optimizer.parameters
        )

        def step(x: cw.Tensor, y: cw.Tensor, d: Any = derived, o: Any = optimizer) -> cw.Tensor:
            value, grads = d(x, y)
            o(grads)
            return value

        run = cw.jit(step) if compiled else step
        results.append([float(run(x, y)) for _ in range(8)])
        assert int(optimizer.global_step) == 8
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4)
    assert results[0][-1] < results[0][0]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.SGD([]), ValueError),
        (lambda: nn.SGD([cw.Tensor([1.0])]), TypeError),
        (lambda: nn.SGD([weight()], -0.1), ValueError),
        (lambda: nn.SGD([weight()], nesterov=True), ValueError),
        (lambda: nn.Adam([weight()], beta1=1.0), ValueError),
        (lambda: nn.SGD([weight()] * 2), ValueError),
        (lambda: nn.SGD([{"params": [weight()], "rate": 1}]), ValueError),
        (lambda: nn.SGD([weight()])(()), ValueError),
    ],
)
def test_mistakes_are_named(make: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def numpy_taken(step: Callable[..., np.ndarray]) -> np.ndarray:
    """Take the steps in float64: ``step(weights, gradient, number from 1, state)``."""
    w, state = START.astype(np.float64), {}
    for number, grad in enumerate(GRADS, 1):
        w = step(w, grad.astype(np.float64), number, state)
    return w


def lamb_step(w: np.ndarray, g: np.ndarray, t: int, s: dict[str, Any]) -> np.ndarray:
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    m, v = s["m"] / (1 - 0.9**t), s["v"] / (1 - 0.999**t)
    step = m / (np.sqrt(v) + 1e-6) + 0.1 * w
    return w - 0.01 * min(np.linalg.norm(w) / np.linalg.norm(step), 10) * step


def lars_step(w: np.ndarray, g: np.ndarray, t: int, s: dict[str, Any]) -> np.ndarray:
    length = np.linalg.norm(w)
    trust = 0.001 * length / (np.linalg.norm(g) + 0.2 * length + 1e-5)
    s["a"] = 0.9 * s.get("a", 0) + (g + 0.2 * w) * trust
    return w - 0.5 * s["a"]


def ftrl_step(w: np.ndarray, g: np.ndarray, t: int, s: dict[str, Any]) -> np.ndarray:
    old = s.get("n", np.full(w.shape, 0.1))
    s["n"] = old + g * g
    s["z"] = s.get("z", 0) + g - (np.sqrt(s["n"]) - np.sqrt(old)) / 0.1 * w
    pulled = (np.sign(s["z"]) * 0.3 - s["z"]) / (np.sqrt(s["n"]) / 0.1 + 2 * 0.05)
    return np.where(np.abs(s["z"]) > 0.3, pulled, 0)


def proximal_step(w: np.ndarray, g: np.ndarray, t: int, s: dict[str, Any]) -> np.ndarray:
    s["n"] = s.get("n", 0.1) + g * g
    rate = 0.1 / np.sqrt(s["n"])
    moved = w - rate * g
    return np.sign(moved) * np.maximum(np.abs(moved) - rate * 0.3, 0) / (1 + rate * 0.05)


@pytest.mark.parametrize(
    ("make", "step"),
    [
        (lambda p: nn.Lamb(p, 0.01, weight_decay=0.1), lamb_step),
        (lambda p: nn.LARS(nn.Momentum(p, 0.5, 0.9, weight_decay=0.2)), lars_step),
        (lambda p: nn.FTRL(p, learning_rate=0.1, l1=0.3, l2=0.05), ftrl_step),
        (lambda p: nn.ProximalAdagrad(p, learning_rate=0.1, l1=0.3, l2=0.05), proximal_step),
    ],
)
def test_steps_are_the_papers(make: Any, step: Callable[..., np.ndarray]) -> None:
    np.testing.assert_allclose(taken(make), numpy_taken(step), rtol=2e-4, atol=2e-6)


def test_lars_leaves_what_its_filter_leaves_and_counts_steps() -> None:
    param = weight("layer.bias")
    inner = nn.SGD([param], 0.1)
    lars = nn.LARS(inner)
    for _ in range(3):
        lars((cw.Tensor(np.ones((3, 4), np.float32)),))
    np.testing.assert_allclose(param.data, START - 0.3, rtol=1e-5, atol=1e-6)
    assert int(lars.global_step) == int(inner.global_step) == 3
    inner.learning_rate = 1.0
    lars((cw.Tensor(np.ones((3, 4), np.float32)),))
    np.testing.assert_allclose(param.data, START - 1.3, rtol=1e-5, atol=1e-6)


def test_groups_are_torchs() -> None:
    torch = pytest.importorskip("torch")
    ours = [weight("gamma"), weight("bias"), weight("w")]
    theirs = [torch.nn.Parameter(torch.from_numpy(START.copy())) for _ in ours]
    optimizer = nn.Adam(
        [
            {"params": [ours[0]], "lr": 0.1, "weight_decay": 0.3},
            {"params": ours[1:], "weight_decay": 0.0},
            {"order_params": [ours[2], ours[0], ours[1]]},
        ],
        0.01,
        weight_decay=0.5,
    )
    peer = torch.optim.Adam(
        [
            {"params": [theirs[0]], "lr": 0.1, "weight_decay": 0.3},
            {"params": theirs[1:], "lr": 0.01},
        ]
    )
    for step in range(5):
        grads = [np.roll(GRADS[step], k) for k in range(3)]
        optimizer([cw.Tensor(grads[k]) for k in (2, 0, 1)])
        for param, grad in zip(theirs, grads, strict=True):
            param.grad = torch.from_numpy(grad)
        peer.step()
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.data, other.detach().numpy(), rtol=2e-4, atol=2e-6)
    assert [float(rate) for rate in optimizer.get_lr()] == pytest.approx([0.1, 0.01])
    assert optimizer.get_lr_parameter(ours[0]) is optimizer.learning_rate_0


def test_centralised_gradients_have_no_mean() -> None:
    param = weight()
    optimizer = nn.SGD([{"params": [param], "grad_centralization": True}], 1.0)
    optimizer((cw.Tensor(GRADS[0]),))
    expected = START - (GRADS[0] - GRADS[0].mean(1, keepdims=True))
    np.testing.assert_allclose(param.data, expected, rtol=1e-5, atol=1e-6)


def test_weight_decay_may_follow_a_schedule() -> None:
    zero = (cw.Tensor(np.zeros((3, 4), np.float32)),)
    param = weight()
    optimizer = nn.SGD([param], 1.0, weight_decay=nn.ExponentialDecayLR(0.5, 0.5, 1))
    for _ in range(3):
        optimizer(zero)
    np.testing.assert_allclose(param.data, START * 0.5 * 0.75 * 0.875, rtol=1e-5)


def test_a_missing_gradient_is_named() -> None:
    kept = weight()
    optimizer = nn.Adam([kept, weight("bias")], 0.1)
    with pytest.raises(TypeError, match="Adam: the gradient of 'bias' is None"):
        optimizer((cw.Tensor(GRADS[0]), None))
    assert np.array_equal(kept.data, START)
