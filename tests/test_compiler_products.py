"""Products of matrices in plans: which kernel computes them, how threads share them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.compiler import cutting, planner
from cellwire.engine.compiler.plan import Plan, compile_graph
from cellwire.engine.compiler.trace import trace
from cellwire.engine.dtype import float32, float64
from cellwire.engine.shape import Aval

Arrays = list[np.ndarray]


def build(function: Callable[..., Any], arrays: Arrays, threads: int, writes: Any = None) -> Plan:
    """Compile a function for some arrays, all that can be cut being cut."""
    kinds = {np.dtype(np.float32): float32, np.dtype(np.float64): float64}
    avals = [Aval(a.shape, kinds[a.dtype]) for a in arrays]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner, "thread_count", lambda: threads)
        patch.setattr(cutting, "WORTH_A_MEETING", 0.0)
        patch.setattr(cutting, "WORTH_SHARING", 0.0)
        return compile_graph(trace(function, avals).graph, writes=writes)


def random(*shapes: tuple[int, ...], dtype: Any = np.float32) -> Arrays:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def layer(x: Any, weight: Any, bias: Any, residual: Any, rate: Any) -> Any:
    """A layer with all that an epilogue takes: a row, a matrix, a column and a number."""
    y = ops.dense(x, weight, bias)
    scale = ops.reshape(rate, (-1, 1))
    return ops.relu(y) + residual * scale, ops.tanh(y)


def expected_layer(x: Any, weight: Any, bias: Any, residual: Any, rate: Any) -> Any:
    y = x.astype(np.float64) @ weight.T + bias
    return np.maximum(y, 0) + residual * rate[:, None], np.tanh(y)


@pytest.mark.parametrize("rows", [1, 33, 70])
@pytest.mark.parametrize("transposed", [False, True])
def test_layers_with_large_weights_are_the_same_for_any_number_of_threads(
    rows: int, transposed: bool
) -> None:
    given = random((rows, 257), (330, 257), (330,), (rows, 330), (rows,))
    expected = expected_layer(*given)

    def multiplied(x: Any, weight: Any, bias: Any, residual: Any, rate: Any) -> Any:
        y = ops.matmul(x, weight) + bias
        return ops.relu(y) + residual * ops.reshape(rate, (-1, 1)), ops.tanh(y)

    function = multiplied if transposed else layer
    if transposed:
        given[1] = np.ascontiguousarray(given[1].T)
    alone = build(function, given, 1)(*given)
    for found, wanted in zip(alone, expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=2e-4)
    shared = build(function, given, 3)
    for _ in range(5):
        for found, wanted in zip(shared(*given), alone, strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert not shared.report.host_steps


def test_a_layer_whose_rows_are_normalised_is_not_cut_by_columns() -> None:
    def normalised(x: Any, weight: Any) -> Any:
        return ops.softmax(ops.dense(x, weight), -1)

    given = random((9, 300), (256, 300))
    y = given[0].astype(np.float64) @ given[1].T
    powers = np.exp(y - y.max(-1, keepdims=True))
    wanted = powers / powers.sum(-1, keepdims=True)
    alone, shared = (build(normalised, given, threads)(*given)[0] for threads in (1, 3))
    np.testing.assert_allclose(alone, wanted, atol=1e-4)
    np.testing.assert_array_equal(alone, shared)


def momentum(x: Any, dy: Any, weight: Any, moment: Any) -> Any:
    gradient = ops.matmul(ops.transpose(dy, (1, 0)), x)
    moved = moment * 0.9 + gradient
    return weight - moved * 0.01, moved


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_weight_is_updated_in_place_without_its_gradient_in_memory(dtype: Any) -> None:
    given = random((8, 520), (8, 700), (700, 520), (700, 520), dtype=dtype)
    x, dy, weight, moment = given
    wanted = momentum_expected(*given)
    writes = {0: 2, 1: 3}
    for threads in (1, 3):
        plan = build(momentum, given, threads, writes)
        assert set(plan.in_place.values()) == {2, 3}
        assert [kernel.kind for kernel in plan.report.kernels] == ["gemm"]
        # A workspace for each thread, but no room for the gradient.
        assert plan.report.arena_bytes / threads < weight.nbytes
        held = [a.copy() for a in (weight, moment)]
        found = plan(x, dy, *held)
        for array, result, value in zip(held, found, wanted, strict=True):
            assert np.shares_memory(array, result)
            np.testing.assert_allclose(result, value, atol=1e-5)


def momentum_expected(x: Any, dy: Any, weight: Any, moment: Any) -> Any:
    moved = moment * 0.9 + dy.T.astype(np.float64) @ x
    return weight - moved * 0.01, moved


def test_an_update_that_reads_its_weight_otherwise_is_not_done_in_place() -> None:
    def step(x: Any, weight: Any) -> Any:
        return weight - ops.matmul(x, weight)

    given = random((270, 270), (270, 270))
    plan = build(step, given, 3, {0: 1})
    assert not plan.in_place
    wanted = given[1] - given[0].astype(np.float64) @ given[1]
    np.testing.assert_allclose(plan(*given)[0], wanted, atol=1e-3)


@pytest.mark.parametrize("columns", [31, 64, 331])
def test_sums_over_rows_are_cut_by_columns_and_the_same_for_any_number_of_threads(
    columns: int,
) -> None:
    def sums(x: Any, y: Any, bias: Any) -> Any:
        total = ops.sum(x * y, 0)
        return bias - total, ops.sum(x, 0)

    given = random((37, columns), (37, columns), (columns,))
    x, y, bias = given
    wanted = (bias - (x.astype(np.float64) * y).sum(0), x.astype(np.float64).sum(0))
    alone, shared = build(sums, given, 1), build(sums, given, 3)
    for found, value in zip(alone(*given), wanted, strict=True):
        np.testing.assert_allclose(found, value, atol=1e-4)
    for _ in range(5):
        for found, value in zip(shared(*given), alone(*given), strict=True):
            np.testing.assert_array_equal(found, value)


def test_products_of_one_form_by_two_kernels_are_told_apart() -> None:
    """Sizes that are runtime arguments do not tell a small product from a large one."""

    def fn(a: Any, b: Any, c: Any, d: Any) -> Any:
        return ops.matmul(ops.transpose(a, (1, 0)), b), ops.matmul(ops.transpose(c, (1, 0)), d)

    shapes = (16, 10), (16, 128), (600, 520), (600, 128)
    given = tuple(np.ones(shape, np.float32) for shape in shapes)
    for found, k in zip(build(fn, given, 1)(*given), (16, 600), strict=True):
        assert (found == k).all()
