"""Branches as functions: eager, compiled once for all values, derived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire.engine.compiler  # noqa: F401 - installs the eager compiler, as users have it
import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine import random as streams
from cellwire.engine.autograd import value_and_grad
from cellwire.engine.compiler import jit
from cellwire.engine.compiler.jit import JitError, JitWarning, explain
from cellwire.engine.parameter import Parameter
from cellwire.engine.shape import ShapeError
from cellwire.engine.tensor import Tensor
from control_flow import HOW, check_derivatives, compiled, x_of


def turned(x: Tensor) -> Tensor:
    return ops.cond(x.sum() > 0, lambda x: x * x * x, lambda x: ops.sin(x) * 2, x)


@HOW
def test_cond(how: Callable[[Any], Any]) -> None:
    fn = how(turned)
    for x in (x_of(1, 2), x_of(-1, -2), x_of(3, 0), x_of(-3, 1)):
        array = x.asnumpy()
        expected = array**3 if array.sum() > 0 else np.sin(array) * 2
        np.testing.assert_allclose(fn(x).asnumpy(), expected, 1e-6)


def test_cond_is_compiled_once_for_both_ways() -> None:
    fn = compiled(turned)
    for x in (x_of(1, 2), x_of(-1, -2)):
        fn(x)
    assert [len(s.paths) for s in fn.situations.values()] == [1]
    report = explain(turned)(x_of(1, 2)).report
    assert report is not None
    assert [step.reason for step in report.host_steps] == [
        "runs one of two graphs, as a tensor says"
    ]


def test_derivatives_of_cond() -> None:
    check_derivatives(turned, Tensor([0.5, 2.0], "float64"), Tensor([-0.5, -1.0], "float64"))


@HOW
def test_cond_with_captured_tensors_and_structures(how: Callable[[Any], Any]) -> None:
    w, unused = Parameter([2.0, 3.0], "w"), Parameter([1.0], "unused")

    def fn(x: Tensor, flag: Tensor) -> dict[str, Any]:
        y = x * x
        found = ops.cond(
            flag,
            lambda pair: {"a": pair[0] * w, "b": (y, 1.0)},
            lambda pair: {"a": pair[1] * unused.sum(), "b": (pair[0], 2.0)},
            (x, y),
        )
        return {"sum": found["a"].sum() + found["b"][0].sum(), "number": found["b"][1]}

    derived = how(lambda x, flag: value_and_grad(lambda x: fn(x, flag)["sum"], 0, [w, unused])(x))
    value, (by_x, (by_w, by_unused)) = derived(x_of(1, 2), Tensor(True))
    assert float(value) == 2 + 6 + 1 + 4
    assert by_x.tolist() == [4, 7]
    assert by_w.tolist() == [1, 2]
    assert by_unused.tolist() == [0]
    value, (by_x, (by_w, by_unused)) = derived(x_of(1, 2), Tensor(False))
    assert float(value) == 1 + 4 + 1 + 2
    assert by_x.tolist() == [3, 5]
    assert by_w.tolist() == [0, 0]
    assert by_unused.tolist() == [5]
    assert float(how(fn)(x_of(1, 2), Tensor(False))["number"]) == 2


def test_cond_with_a_python_truth_value_runs_one_branch() -> None:
    assert ops.cond(True, lambda: 1, lambda: 1 // 0) == 1
    assert ops.cond(0, lambda x: x, lambda x: -x, 5) == -5
    assert ops.cond(pred := x_of(1), true_fn=lambda: pred, false_fn=lambda: pred) is pred


def test_cond_of_a_matrix_is_its_condition_number() -> None:
    matrix = Tensor([[1.0, 0.0], [0.0, 4.0]])
    assert float(ops.cond(matrix)) == pytest.approx(4)
    assert float(ops.cond(matrix, 1)) == pytest.approx(4)


@HOW
def test_branches_write_parameters(how: Callable[[Any], Any]) -> None:
    state = Parameter([1.0], "state", requires_grad=False)

    def fn(x: Tensor) -> Tensor:
        def add() -> Tensor:
            state.set_data(state + x)
            return state * 2

        return ops.cond(x.sum() > 0, add, lambda: state * 3)

    run = how(fn)
    assert [run(x_of(v)).tolist() for v in (1, -1, 2)] == [[4], [6], [8]]
    assert state.tolist() == [4]


@HOW
def test_branches_draw_other_numbers_at_each_call(how: Callable[[Any], Any]) -> None:
    streams.set_seed(0)
    fn = how(lambda x: ops.cond(x.sum() > 0, lambda: ops.rand((3,)), lambda: -ops.rand((3,))))
    drawn = [fn(x_of(sign)).asnumpy() * sign for sign in (1, 1, -1)]
    streams.set_seed(0)
    for numbers in drawn:
        np.testing.assert_array_equal(numbers, ops.rand((3,)).asnumpy())
    assert not np.array_equal(drawn[0], drawn[1])


def test_a_plan_of_branches_draws_as_often_whichever_runs() -> None:
    fn = compiled(lambda x: ops.cond(x.sum() > 0, lambda: ops.rand((3,)), lambda: ops.zeros((3,))))
    message = r"true_fn draws 1 times from the random stream, false_fn 0 times; draw outside"
    with pytest.raises(JitError, match=message):
        fn(x_of(1))


@pytest.mark.parametrize(
    ("true_fn", "false_fn", "error", "message"),
    [
        (lambda x: x, lambda x: (x, x), TypeError, "same structure"),
        (lambda x: x, lambda x: x.astype("float64"), TypeError, "output 0 is 2 f32"),
        (lambda x: x, lambda x: x[:1], ShapeError, "same shapes and dtypes"),
        (lambda x: x, 3, TypeError, "must be callable"),
    ],
)
def test_branches_must_match(true_fn: Any, false_fn: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        compiled(lambda x: ops.cond(x.sum() > 0, true_fn, false_fn, x))(x_of(1, 2))
    with pytest.raises(ShapeError, match="one truth value"):
        ops.cond(x_of(1, 2), lambda: 1, lambda: 2)


def test_a_python_branch_inside_a_branch_runs_eagerly() -> None:
    def inner(x: Tensor) -> Tensor:
        return x * 2 if x.sum() > 5 else x

    fn = jit(lambda x: ops.cond(x.sum() > 0, inner, lambda x: -x, x))
    with pytest.warns(JitWarning, match="a branch depends on the value"):
        assert fn(x_of(1)).tolist() == [1]
    assert fn(x_of(10)).tolist() == [20]
    assert fn(x_of(-1)).tolist() == [1]
