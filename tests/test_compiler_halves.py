"""Plans in float16 and bfloat16: native, stored in two bytes, equal to eager mode."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import amp, nn, ops

RNG = np.random.default_rng(0)
HALVES = (cw.float16, cw.bfloat16)
SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 6e-8, 1e-8, 65504, 65519, 1e5, 3.38e38, 1,
     2.5],
    np.float32,
)  # fmt: skip
PAIRS = np.array([*itertools.product(SPECIAL, SPECIAL), *(RNG.normal(0, 10, (70, 2)))], np.float32)
both = pytest.mark.parametrize("dtype", HALVES, ids=str)


def made(dtype: Any, *shape: int) -> cw.Tensor:
    return cw.Tensor(RNG.normal(size=shape).astype(np.float32)).astype(dtype)


def host_steps(fn: Callable[..., Any], *given: cw.Tensor) -> list[Any]:
    return cw.jit.explain(fn)(*given).report.host_steps  # pyright: ignore[reportFunctionMemberAccess]


def pair(fn: Callable[..., Any], *given: cw.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return what eager mode and a plan without host steps give."""
    compiled = cw.jit(fn, fullgraph=True)
    eager, planned = fn(*given), compiled(*given)
    assert not host_steps(fn, *given)
    assert planned.dtype is eager.dtype
    return eager.asnumpy(), planned.asnumpy()


def assert_same_bits(eager: np.ndarray, planned: np.ndarray) -> None:
    """Compare bit for bit; one NaN is as good as another."""
    number = ~np.isnan(eager)
    np.testing.assert_array_equal(number, ~np.isnan(planned))
    kind = f"u{eager.itemsize}"
    np.testing.assert_array_equal(eager.view(kind)[number], planned.view(kind)[number])


STEPS: dict[str, Callable[[cw.Tensor, cw.Tensor], cw.Tensor]] = {
    "sum": lambda x, y: x + y,
    "difference": lambda x, y: x - y,
    "product": lambda x, y: x * y,
    "quotient": lambda x, y: x / y,
    "chain, rounded at each step": lambda x, y: (x * y + x) * 2.3 - y,
    "larger": ops.maximum,
    "smaller": ops.minimum,
    "relu": lambda x, y: ops.relu(x),
    "root": lambda x, y: ops.sqrt(ops.abs(x)) - ops.square(-y),
    "choice": lambda x, y: ops.select(x > y, x, y),
    "wider": lambda x, y: x.astype(cw.float32) + 1,
    "widest": lambda x, y: x.astype(cw.float64) * 3,
    "other half": lambda x, y: x.astype(cw.float16).astype(cw.bfloat16),
    "strides": lambda x, y: x[::3] + y[::3],
    "turned": lambda x, y: x.reshape(5, -1).T + y.reshape(5, -1).T,
    "turned copy": lambda x, y: x.reshape(5, -1).T.copy(),
    "one number": lambda x, y: ops.full((295,), 0.1, dtype=x.dtype) + x,
    "largest of a row": lambda x, y: ops.amax(x.reshape(5, -1), 1),
}


@both
@pytest.mark.parametrize("name", STEPS)
def test_single_steps_equal_eager_mode_bit_for_bit(name: str, dtype: Any) -> None:
    x, y = (cw.Tensor(PAIRS[:, at]).astype(dtype) for at in (0, 1))
    assert_same_bits(*pair(STEPS[name], x, y))


@both
def test_conversions_of_truth_and_integers(dtype: Any) -> None:
    x = cw.Tensor(SPECIAL).astype(dtype)
    np.testing.assert_array_equal(*pair(lambda x: x.astype(cw.bool_), x))
    whole = cw.Tensor(np.array([0, -3, 257, 2049, 65520, 2**24 + 1], np.int32))
    assert_same_bits(*pair(lambda x: x.astype(dtype), whole))
    small = cw.Tensor([1.75, -2.5, 0.0]).astype(dtype)
    np.testing.assert_array_equal(*pair(lambda x: x.astype(cw.int32), small))


SUMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "down": (lambda x: x.sum(0), ((300, 40),)),
    "along": (lambda x: (x * x).sum(1), ((300, 40),)),
    "softmax": (ops.softmax, ((33, 70),)),
    "norm": (lambda x, g, b: ops.layer_norm(x, (64,), g, b), ((8, 64), (64,), (64,))),
    "matmul": (ops.matmul, ((70, 50), (50, 60))),
    "turned matmul": (lambda a, b: ops.matmul(a.T, b), ((50, 70), (50, 60))),
    "dense": (lambda a, w, b: ops.relu(ops.dense(a, w, b)), ((70, 50), (60, 50), (60,))),
    "bmm": (lambda a, b: ops.bmm(a, b) * 2, ((5, 7, 9), (5, 9, 11))),
    "conv": (lambda a, w: ops.relu(ops.conv2d(a, w)), ((2, 3, 12, 12), (4, 3, 3, 3))),
    "pool": (lambda a: ops.avg_pool2d(a, 2), ((2, 3, 12, 12),)),
}


@both
@pytest.mark.parametrize("name", SUMS)
def test_sums_are_native_and_rounded_once(name: str, dtype: Any) -> None:
    fn, shapes = SUMS[name]
    eager, planned = (a.astype(np.float64) for a in pair(fn, *[made(dtype, *s) for s in shapes]))
    unit = 2.0**-7 if dtype is cw.bfloat16 else 2.0**-10
    # NumPy adds up columns of float16 in float16.
    loose = 8 if name == "down" else 1
    scale = np.abs(eager).max() if name != "bmm" else 2 * np.abs(eager).max()
    np.testing.assert_allclose(planned, eager, rtol=0, atol=loose * unit * scale)


@both
def test_many_small_numbers_are_added_up_in_float32(dtype: Any) -> None:
    x = ops.ones((4099, 8), dtype=dtype)
    wanted = np.array(4099, np.float32).astype(dtype.numpy)
    for axis in (0, None):
        total = cw.jit(lambda x, a=axis: (x * 1.0).sum(a), fullgraph=True)(x).asnumpy()
        np.testing.assert_array_equal(total, wanted if axis == 0 else wanted * 8)
    means = cw.jit(lambda x: (x * 60000.0).mean(0), fullgraph=True)(x)
    np.testing.assert_array_equal(means.asnumpy(), (x * 60000.0).mean(0).asnumpy())


def test_a_clamp_that_float16_needs_is_kept() -> None:
    p, y = cw.Tensor([0.0, 1.0, 0.5], cw.float16), cw.Tensor([1.0, 0.0, 1.0], cw.float16)
    assert_same_bits(*pair(lambda p, y: ops.binary_cross_entropy(p, y, reduction="none"), p, y))


def training(level: str, dtype: Any) -> Callable[..., Any]:
    cw.set_seed(1)
    net = nn.SequentialCell(nn.Dense(12, 8), nn.ReLU(), nn.Dense(8, 4))
    amp.auto_mixed_precision(net, level, dtype)
    loss, optimizer = nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9)
    derive = cw.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

    def step(x: cw.Tensor, y: cw.Tensor) -> cw.Tensor:
        value, gradients = derive(x, y)
        optimizer(gradients)
        return value

    return step


@both
@pytest.mark.parametrize("level", ["O2", "O3"])
def test_training_in_mixed_precision_has_no_host_steps(level: str, dtype: Any) -> None:
    x, y = made(cw.float32, 10, 12), cw.Tensor(np.arange(10, dtype=np.int32) % 4)
    assert not host_steps(training(level, dtype), x, y)
    eager, compiled = training(level, dtype), cw.jit(training(level, dtype), fullgraph=True)
    losses = [(float(eager(x, y)), float(compiled(x, y))) for _ in range(5)]
    assert losses[-1][1] < 0.9 * losses[0][1]
    for ours, other in losses:
        assert ours == pytest.approx(other, rel=0.01)
