"""What fuzzing found, each as the small case it shrank to."""

from __future__ import annotations

import warnings
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import Parameter, Tensor, ops
from cellwire.engine import random as streams
from cellwire.engine.compiler.plan import compile_graph
from cellwire.engine.compiler.reasons import JitWarning
from cellwire.engine.compiler.trace import trace

F32 = np.float32


def test_a_value_in_a_wider_loop_is_not_written_over_what_the_loop_reads_again() -> None:
    def step(x: Tensor) -> tuple[Tensor, Tensor]:
        changed = ops.cos(x)
        return changed, ops.broadcast_to(changed, (3, 4))

    x = np.linspace(0, 1, 4, dtype=F32)
    plan = compile_graph(trace(step, [Tensor(x).aval]).graph, writes={0: 0})
    found, wide = plan(x.copy())
    np.testing.assert_allclose(found, np.cos(x), 1e-6)
    np.testing.assert_allclose(wide, np.broadcast_to(np.cos(x), (3, 4)), 1e-6)


def test_what_a_row_is_read_for_again_is_not_written_over_after_its_sum() -> None:
    def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        less = ops.mean(x) - y
        return less, x - less

    x, y = np.linspace(0, 1, 20, dtype=F32).reshape(5, 4), np.ones((5, 4), F32)
    plan = compile_graph(trace(step, [Tensor(x).aval, Tensor(y).aval]).graph, writes={0: 0})
    for found, wanted in zip(plan(x.copy(), y), step(Tensor(x), Tensor(y)), strict=True):
        np.testing.assert_allclose(found, wanted.asnumpy(), 1e-6)


def test_a_float_of_which_rounding_decides_runs_eagerly() -> None:
    def fn(x: Tensor) -> Tensor:
        return x * 2 if ops.sum(x).item() > 1 else x

    rows = np.random.default_rng(27).normal(size=(17, 40)).astype(F32)
    run, x = cw.jit(fn), Tensor(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JitWarning)
        for _ in range(2):
            np.testing.assert_array_equal(run(x).asnumpy(), fn(x).asnumpy())


def test_keys_drawn_before_a_call_turns_out_to_run_eagerly_are_drawn_once() -> None:
    weight = Parameter(Tensor(np.ones((2, 2), F32)), name="weight")

    def fn(x: Tensor) -> Any:
        ops.assign(weight, weight * 0.5)
        return ops.dropout(x, 0.5)

    run = cw.jit(fn)
    cw.set_seed(3)
    with pytest.warns(JitWarning):
        run(weight[0])
    assert streams.state().step == 1


def test_whether_a_parameter_is_trained_is_guarded_where_code_asks() -> None:
    weight = Parameter(Tensor(np.ones(2, F32)), name="weight")

    def fn(x: Tensor) -> Tensor:
        return x * 2 if weight.requires_grad else x

    run, x = cw.jit(fn), Tensor(np.ones(2, F32))
    for trained in (True, False, True):
        weight.requires_grad = trained
        np.testing.assert_array_equal(run(x).asnumpy(), fn(x).asnumpy())


def test_a_number_from_outside_that_is_returned_is_that_of_the_call() -> None:
    setting = {"count": 2}

    def fn(x: Tensor) -> tuple[Tensor, Any]:
        return x * 1, [max(0, setting["count"])]

    run, x = cw.jit(fn), Tensor(np.ones(2, F32))
    for count in (2, 1, 3, -1):
        setting["count"] = count
        (found,) = run(x)[1]
        assert (type(found), found) == (int, max(0, count))


def test_numbers_in_what_is_looked_at_as_a_whole_are_put_back() -> None:
    class Setting:
        depth = 0

    setting = Setting()

    def fn(x: Any) -> Any:
        return x * setting.depth if hasattr(setting, "late") else x * 3

    run = cw.jit(fn, fullgraph=True)
    x = cw.Tensor(np.ones(2, np.float32))
    for depth in (2, 0, 0, 1, 3):
        setting.depth = depth
        np.testing.assert_array_equal(run(x).data, fn(x).data)
        assert type(setting.depth) is int
        assert setting.depth == depth


def test_a_sum_of_one_number_begins_with_zero() -> None:
    zeros = np.array([[-0.0, 0.0]], np.float32)
    for axis in (0, (0,), 1):
        found = cw.jit(lambda x, axis=axis: ops.sum(x, axis) * 1.0)(Tensor(zeros)).data
        assert not np.signbit(found).any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_logarithm_of_a_sigmoid_that_is_one_is_zero_in_both_modes(dtype: str) -> None:
    x = Tensor(np.array([np.inf, 1e4, -np.inf, -1.0, np.nan]).astype(dtype))
    compiled = cw.jit(lambda x: ops.logsigmoid(x) * 1.0, fullgraph=True)(x).data
    for found in (ops.logsigmoid(x).data, compiled):
        np.testing.assert_array_equal(found[:3], [0, 0, -np.inf])
        assert not np.signbit(found[:2]).any()
        assert np.isnan(found[4])


def test_an_error_that_comes_of_an_open_size_is_not_taken_for_the_codes_own() -> None:
    begin = Tensor(np.zeros(4, F32))

    def fn(x: Any) -> Any:
        try:
            x = ops.scan(lambda h, t: (h + t, h * 0.5 + t), begin, x)[1]
        except ValueError:
            x = x + 1
        return x * 2

    run = cw.jit(fn, fullgraph=True)
    for rows in (4, 5, 6, 4, 7):
        x = Tensor(np.random.default_rng(rows).normal(size=(rows, 4)).astype(F32))
        np.testing.assert_allclose(run(x).data, fn(x).data, rtol=1e-6)


def test_zero_times_a_logarithm_is_zero_in_both_modes() -> None:
    x, y = Tensor(np.array([0.0, -0.0, -0.0, 0.0])), Tensor(np.array([2.0, 2.0, 0.0, np.nan]))
    compiled = cw.jit(lambda x, y: ops.xlogy(x, y) * 1.0, fullgraph=True)(x, y).data
    for found in (ops.xlogy(x, y).data, compiled):
        np.testing.assert_array_equal(found, [0, 0, 0, np.nan])
        assert not np.signbit(found[:3]).any()
