"""One plan for all sizes: fused and lowered once, with each call's sizes put in."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler import open_plans
from cellwire.engine.compiler.gemm import FEW_ROWS


def array(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


WEIGHT = cw.Tensor(array(5, 6, seed=9))
ROW = cw.Tensor(array(5, seed=8))


def _softmax_rows(x: Any) -> Any:
    return ops.softmax(x * 2.0 + ROW, -1)


def _normed_product(x: Any) -> Any:
    return ops.relu(ops.matmul(ops.layer_norm(x, (5,), ROW, ROW)[0], WEIGHT))


def _means(x: Any) -> Any:
    return ops.mean(x, 0), ops.mean(x), ops.var(x), ops.sum(x, 0, keepdims=True) + x


def _views(x: Any) -> Any:
    flat = ops.reshape(x, (-1,))
    return ops.transpose(x, (1, 0)) * 2.0, flat[:] + 1.0, x[:, 1:4] * x[:, 2:5], x[None] - x


def _products(x: Any) -> Any:
    return ops.matmul(ops.transpose(x, (1, 0)), x), ops.matmul(x, ops.transpose(x, (1, 0)))


def _rows_of_any_length(x: Any) -> Any:
    y = ops.transpose(x, (1, 0))
    return ops.softmax(y, -1), ops.layer_norm(y, (y.shape[1],), y[0], y[1])[0]


def _picked(x: Any) -> Any:
    def total(table: Any) -> Any:
        return ops.sum(ops.square(table[ops.cast(x[:, 0], cw.int64)] * 3.0))

    return cw.grad(total)(WEIGHT)


def _asked(x: Any) -> Any:
    return x * 2.0 if x.shape[0] > 6 else x + 1.0


FUNCTIONS = (
    _softmax_rows, _normed_product, _means, _views, _products, _rows_of_any_length, _picked, _asked,
)  # fmt: skip
SIZES = (3, 4, 7, 9, 16, 33, 2, 5, 8)


def results(value: Any) -> list[np.ndarray]:
    parts = value if isinstance(value, tuple) else (value,)
    return [part.data for part in parts]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__[1:])
def test_all_sizes_agree_with_eager(fn: Callable[..., Any]) -> None:
    run = cw.jit(fn, fullgraph=True)
    for size in SIZES:
        x = cw.Tensor(array(size, 5, seed=size))
        for found, wanted in zip(results(run(x)), results(fn(x)), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("fn", FUNCTIONS[:-1], ids=lambda fn: fn.__name__[1:])
def test_one_lowering_serves_all_sizes(
    fn: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    whole = open_plans.open_plan
    monkeypatch.setattr(
        "cellwire.engine.compiler.open_sizes.open_plan",
        lambda *given: made.append(given[1]) or whole(*given),
    )
    run = cw.jit(fn, fullgraph=True)
    for size in SIZES:
        run(cw.Tensor(array(size, 5)))
    assert len(made) <= 2  # one more at most, where a pass asked how large it is
    (family,) = run.families.values()
    (trace,) = family.traces
    assert trace.reason is None


def test_large_products_share_a_lowering_on_either_side_of_few_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[dict[Any, int]] = []
    whole = open_plans.open_plan
    monkeypatch.setattr(
        "cellwire.engine.compiler.open_sizes.open_plan",
        lambda *given: made.append(dict(given[1])) or whole(*given),
    )
    weight = cw.Tensor(array(280, 256, seed=7))  # more than what is multiplied without packing
    run = cw.jit(lambda x: ops.relu(ops.matmul(x, weight)), fullgraph=True)
    few, many = (3, 8, 5, FEW_ROWS), (FEW_ROWS + 1, 90, 67, 130)
    for sizes, lowerings in ((few, 1), ((*many, *few), 2)):
        for size in sizes:
            x = array(size, 280, seed=size)
            wanted = np.maximum(x @ weight.data, 0)
            np.testing.assert_allclose(run(cw.Tensor(x)).data, wanted, rtol=1e-4, atol=1e-4)
        assert len(made) == lowerings
    sides = [size <= FEW_ROWS for sizes in made for size in sizes.values()]
    assert sorted(sides) == [False, True]


def test_a_size_in_the_code_of_a_kernel_is_told(caplog: pytest.LogCaptureFixture) -> None:
    filters = cw.Tensor(array(2, 1, 3, 3))

    def fn(x: Any) -> Any:
        return ops.conv2d(x, filters)

    run = cw.jit(fn, fullgraph=True)
    with caplog.at_level(logging.INFO, "cellwire.jit"):
        for size in (4, 6, 9):
            x = cw.Tensor(array(2, 1, size, 5))
            np.testing.assert_allclose(run(x).data, fn(x).data, rtol=1e-4, atol=1e-5)
    assert "each size has a plan of its own" in caplog.text


def test_training_steps_of_any_batch_agree_with_eager() -> None:
    def trained(jit: bool) -> list[np.ndarray]:
        cw.set_seed(1)
        net = nn.SequentialCell(nn.Dense(5, 8), nn.LayerNorm((8,)), nn.ReLU(), nn.Dense(8, 3))
        for i, p in enumerate(net.trainable_params()):
            p.set_data(array(*p.shape, seed=i))
        optimizer = nn.Adam(net.trainable_params(), 0.01)
        derive = cw.value_and_grad(
            lambda x: ops.mean(ops.square(net(x))), None, optimizer.parameters
        )

        def step(x: Any) -> Any:
            loss, grads = derive(x)
            optimizer(grads)
            return loss

        run = cw.jit(step, fullgraph=True) if jit else step
        losses = [run(cw.Tensor(array(n, 5, seed=n))).data for n in (4, 6, 9, 12, 6, 31, 2)]
        return [*losses, *(p.data.copy() for p in net.trainable_params())]

    for found, wanted in zip(trained(True), trained(False), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=3e-4, atol=1e-5)


def test_two_open_sizes_of_one_call() -> None:
    run = cw.jit(lambda x, y: ops.matmul(x, WEIGHT)[:, None] + ops.mean(y, 0), fullgraph=True)
    for n, m in ((3, 4), (5, 7), (7, 5), (6, 6), (9, 2)):
        x, y = array(n, 5, seed=n), array(m, 6, seed=m)
        wanted = (x @ WEIGHT.data)[:, None] + y.mean(0)
        found = run(cw.Tensor(x), cw.Tensor(y)).data
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


def test_a_slice_of_a_table_up_to_an_open_size() -> None:
    table = cw.Tensor(array(40, 5, seed=7))

    def fn(x: Any) -> Any:
        return x * 2.0 + table[: x.shape[0]]

    run = cw.jit(fn, fullgraph=True)
    for size in (3, 4, 7, 16, 40, 33):
        x = cw.Tensor(array(size, 5, seed=size))
        np.testing.assert_array_equal(run(x).data, fn(x).data)
    (family,) = run.families.values()
    (trace,) = family.traces
    assert trace.reason is None
