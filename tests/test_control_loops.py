"""Loops as functions, and branches in them: eager, compiled, derived, vectorized."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire.engine.compiler  # noqa: F401 - installs the eager compiler, as users have it
import numpy as np
import pytest
from cellwire.engine import nn, ops
from cellwire.engine import random as streams
from cellwire.engine.autograd import grad, jacrev, value_and_grad
from cellwire.engine.compiler import jit
from cellwire.engine.compiler.jit import JitError, JitWarning, explain
from cellwire.engine.parameter import Parameter
from cellwire.engine.shape import ShapeError
from cellwire.engine.tensor import Tensor
from cellwire.engine.vectorize import vmap
from control_flow import HOW, check_derivatives, compiled, x_of

# ---- while_loop --------------------------------------------------------------------------------


def doubled_up_to(x: Tensor, end: float = 20.0) -> Tensor:
    return ops.while_loop(lambda y: ops.abs(y).sum() < end, lambda y: y * y + y, x)


@HOW
def test_while_loop(how: Callable[[Any], Any]) -> None:
    fn = how(doubled_up_to)
    for x in (x_of(1), x_of(3), x_of(30), x_of(0.5)):
        expected = x.asnumpy().copy()
        while abs(expected).sum() < 20:
            expected = expected * expected + expected
        np.testing.assert_allclose(fn(x).asnumpy(), expected, 1e-6)


def test_while_loop_is_compiled_once_for_all_lengths() -> None:
    fn = compiled(lambda x, n: ops.while_loop(
        lambda i, _: i < n, lambda i, y: (i + 1, y * 2), (Tensor(0), x),
    )[1])  # fmt: skip
    for n in (0, 1, 5, 9):
        assert fn(x_of(1), Tensor(n)).tolist() == [2**n]
    assert [len(s.paths) for s in fn.situations.values()] == [1]


def test_derivatives_of_while_loop() -> None:
    check_derivatives(
        doubled_up_to, Tensor([0.5, 0.3], "float64"), Tensor([2.0, 3.0], "float64"),
        Tensor([30.0, 1.0], "float64"),
    )  # fmt: skip


@HOW
def test_while_loop_with_captured_weights(how: Callable[[Any], Any]) -> None:
    w = Parameter([1.5], "w")

    def fn(x: Tensor) -> Tensor:
        y, count = ops.while_loop(
            lambda s: s[0].sum() < 10, lambda s: (s[0] * w + x, s[1] + 1), (x, 0)
        )
        return y.sum() * count

    derived = how(grad(fn, 0, w))
    for value in (1.0, 4.0, 20.0):
        by_x, by_w = derived(x_of(value))
        y, dx, dw, count = value, 1.0, 0.0, 0
        while y < 10:
            dw, dx, y, count = dw * 1.5 + y, dx * 1.5 + 1, y * 1.5 + value, count + 1
        np.testing.assert_allclose(by_x.asnumpy(), [dx * count], 1e-5)
        np.testing.assert_allclose(by_w.asnumpy(), [dw * count], 1e-5)


@HOW
def test_loops_write_parameters(how: Callable[[Any], Any]) -> None:
    total = Parameter([0.0], "total", requires_grad=False)

    def body(y: Tensor) -> Tensor:
        total.set_data(total + y)
        return y * 2

    run = how(lambda x: ops.while_loop(lambda y: y.sum() < 10, body, x))
    assert run(x_of(1)).tolist() == [16]
    assert total.tolist() == [15]
    step = how(lambda x: ops.fori_loop(0, 3, lambda i, y: body(y), x))
    assert step(x_of(1)).tolist() == [8]
    assert total.tolist() == [22]


def test_numbers_alone_stay_numbers() -> None:
    assert ops.while_loop(lambda n: n < 100, lambda n: n * 3, 1) == 243
    assert ops.fori_loop(0, 4, lambda i, n: n + i, 0) == 6
    found = compiled(lambda x: x * ops.while_loop(lambda n: n < 100, lambda n: n * 3, 1))(x_of(1))
    assert found.tolist() == [243]


@HOW
@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (lambda y: (y, y), TypeError, "keep its structure"),
        (lambda y: y.astype("float64"), TypeError, "f32 before and .* f64 after"),
        (lambda y: ops.concat([y, y]), ShapeError, "keep its shape and dtype"),
    ],
)
def test_what_is_carried_must_keep_its_kind(
    how: Callable[[Any], Any], body: Any, error: type, message: str
) -> None:
    with pytest.raises(error, match=message):
        how(lambda x: ops.while_loop(lambda y: True, body, x))(x_of(1))
    with pytest.raises(error, match=message):
        how(lambda x: ops.fori_loop(0, 2, lambda i, y: body(y), x))(x_of(1))
    with pytest.raises(error, match=message):
        how(lambda x: ops.scan(lambda y, _: (body(y), None), x, length=2))(x_of(1))


def test_random_numbers_in_a_loop_of_unknown_length_are_not_compiled() -> None:
    def fn(x: Tensor) -> Tensor:
        return ops.while_loop(lambda y: y.sum() < 3, lambda y: y + ops.rand((1,)), x)

    with pytest.warns(JitWarning, match="random numbers are drawn in a loop"):
        found = jit(fn)(x_of(0))
    assert float(found.sum()) >= 3
    with pytest.raises(JitError, match="random numbers"):
        compiled(fn)(x_of(0))


# ---- fori_loop and scan ------------------------------------------------------------------------


@HOW
def test_fori_loop(how: Callable[[Any], Any]) -> None:
    fn = how(lambda x: ops.fori_loop(1, 4, lambda i, y: y * x + i, x))
    assert fn(x_of(2)).tolist() == [((2 * 2 + 1) * 2 + 2) * 2 + 3]
    ends = how(lambda x, n: ops.fori_loop(0, n, lambda i, y: y * 2 + i, x))
    for n, expected in ((0, 1), (1, 2), (3, 12)):
        assert ends(x_of(1), Tensor(n)).tolist() == [expected]
    unrolled = how(lambda x: ops.fori_loop(0, 3, lambda i, y: y + (x, x * 10, x * 100)[i], x, True))
    assert unrolled(x_of(1)).tolist() == [112]
    assert how(lambda x: ops.fori_loop(3, 0, lambda i, y: y * 2, x))(x_of(1)).tolist() == [1]
    for wrong in (1.5, True, x_of(1)):
        with pytest.raises(TypeError, match="must be an int"):
            ops.fori_loop(0, wrong, lambda i, y: y, x_of(1))


def running(x: Tensor) -> tuple[Tensor, Tensor]:
    def step(carry: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        carry = ops.tanh(carry * row + row)
        return carry, carry * row

    return ops.scan(step, x[0] * 0.5, x)


@HOW
def test_scan(how: Callable[[Any], Any]) -> None:
    rows = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    carry, outputs = how(running)(Tensor(rows))
    state, expected = rows[0] * np.float32(0.5), []
    for row in rows:
        state = np.tanh(state * row + row)
        expected.append(state * row)
    np.testing.assert_allclose(carry.asnumpy(), state, 1e-5, 1e-6)
    np.testing.assert_allclose(outputs.asnumpy(), expected, 1e-5, 1e-6)


def test_derivatives_of_scan() -> None:
    def total(x: Tensor) -> Tensor:
        carry, outputs = running(x)
        return (carry * carry).sum() + (outputs**3).sum()

    rows = np.random.default_rng(1).standard_normal((3, 2))
    check_derivatives(total, Tensor(rows))
    by_rows = jacrev(lambda x: running(x)[1])
    np.testing.assert_allclose(
        compiled(by_rows)(Tensor(rows)).asnumpy(), by_rows(Tensor(rows)).asnumpy(), 1e-9
    )


@HOW
def test_scan_of_structures_with_weights(how: Callable[[Any], Any]) -> None:
    cell = nn.Dense(3, 2)
    x = np.random.default_rng(2).standard_normal((5, 2, 1)).astype(np.float32)

    def fn(x: Tensor) -> Tensor:
        def step(state: dict[str, Any], item: tuple[Tensor, Tensor]) -> tuple[Any, Any]:
            hidden = ops.tanh(cell(ops.concat([state["h"], item[0]], -1)))
            return {"h": hidden, "n": state["n"] + 1}, [hidden, item[1] * 2]

        state, outputs = ops.scan(step, {"h": x[0] * ops.zeros((2, 2)), "n": 0}, (x, x))
        return (outputs[0] ** 2).sum() + state["h"].sum() * state["n"] + outputs[1].sum()

    def plain(x: Tensor) -> Tensor:
        hidden, total = ops.zeros((2, 2)), x.sum() * 2
        for i in range(5):
            hidden = ops.tanh(cell(ops.concat([hidden, x[i]], -1)))
            total = total + (hidden**2).sum()
        return total + hidden.sum() * 5

    weights = cell.trainable_params()
    value, (by_x, by_w) = how(value_and_grad(fn, 0, weights))(Tensor(x))
    expected, (plain_x, plain_w) = value_and_grad(plain, 0, weights)(Tensor(x))
    np.testing.assert_allclose(float(value), float(expected), 1e-5)
    for one, other in zip((by_x, *by_w), (plain_x, *plain_w), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), 1e-4, 1e-5)


@HOW
def test_scan_without_tensors_to_go_through(how: Callable[[Any], Any]) -> None:
    carry, outputs = how(lambda x: ops.scan(lambda c, x: (c * 2, c), x, length=3))(x_of(1))
    assert carry.tolist() == [8]
    assert outputs.tolist() == [[1], [2], [4]]
    carry, outputs = how(lambda x: ops.scan(lambda c, _: (c * 2, None), x, length=3))(x_of(1))
    assert (carry.tolist(), outputs) == ([8], None)
    carry, outputs = how(lambda x: ops.scan(lambda c, x: (c, x), x, x[:0]))(x_of(1))
    assert carry.tolist() == [1]


@HOW
def test_random_numbers_in_a_loop_of_known_length(how: Callable[[Any], Any]) -> None:
    streams.set_seed(5)
    fn = how(lambda x: ops.scan(lambda c, _: (c, ops.rand((1,)) + c * 0), x, length=4)[1])
    found = [float(value) for value in fn(x_of(1)).asnumpy().ravel()]
    assert len(set(found)) == 4
    streams.set_seed(5)
    assert found == [float(ops.rand((1,))) for _ in range(4)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ops.scan(lambda c, x: c, x_of(1), x_of(1)), TypeError, "pair"),
        (lambda: ops.scan(lambda c, x: (c, x), x_of(1)), ValueError, "give xs or length"),
        (lambda: ops.scan(lambda c, x: (c, x), 0, (x_of(1), x_of(1, 2))), ValueError, "one length"),
        (lambda: ops.scan(lambda c, x: (c, x), 0, Tensor(1.0)), ValueError, "no axis"),
        (lambda: ops.scan(3, x_of(1), x_of(1)), TypeError, "must be callable"),
    ],
)
def test_wrong_scans_are_explained(call: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_loop_of_native_runs_is_told_as_a_kernel() -> None:
    def told(fn: Callable[[Any], Any]) -> tuple[list[str], list[str]]:
        report = explain(fn)(x_of(1, 2, 3)).report
        assert report is not None
        kernels = [str(k) for k in report.kernels if "cellwire_repeat" in str(k)]
        return kernels, [step.reason for step in report.host_steps]

    native = ["native cellwire_repeat: scan"]
    assert told(lambda x: ops.fori_loop(0, 4, lambda i, c: c * 2 + x, x)) == (native, [])
    counted = told(lambda x: ops.while_loop(lambda c: c.sum() < 90, lambda c: c * 2, x))
    assert counted == (["native cellwire_repeat: while_loop"], [])
    in_numpy = told(lambda x: ops.fori_loop(0, 4, lambda i, c: ops.logcumsumexp(c, 0), x))
    assert in_numpy == ([], ["runs a graph 4 times"])


# ---- together ----------------------------------------------------------------------------------


@HOW
def test_nested_control_flow(how: Callable[[Any], Any]) -> None:
    def step(carry: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        def grown(y: Tensor) -> Tensor:
            return ops.while_loop(lambda z: z.sum() < 4, lambda z: z * 2 + x, y)

        carry = ops.cond(x.sum() > 0, grown, lambda y: y * 0.5, carry)
        return carry, carry.sum()

    def fn(x: Tensor) -> Tensor:
        carry, sums = ops.scan(step, ops.ones((1,)) + x[0], x)
        return carry.sum() + (sums * sums).sum()

    x = x_of(0.5, -1.0, 0.25, 2.0).reshape(4, 1)
    np.testing.assert_allclose(how(fn)(x).asnumpy(), fn(x).asnumpy(), 1e-5)
    np.testing.assert_allclose(how(grad(fn))(x).asnumpy(), grad(fn)(x).asnumpy(), 1e-5)
    np.testing.assert_allclose(grad(how(fn))(x).asnumpy(), grad(fn)(x).asnumpy(), 1e-5)


@HOW
def test_control_flow_in_vectorized_functions(how: Callable[[Any], Any]) -> None:
    def fn(x: Tensor) -> Tensor:
        y = ops.cond(x > 1, lambda x: x * 10, lambda x: -x, x)
        z = ops.while_loop(lambda z: z < 5, lambda z: z + 2, y)
        return ops.scan(lambda c, _: (c * x, c), z, length=2)[0]

    x = x_of(0.5, 2.0, 1.5, -3.0)
    expected = [float(fn(Tensor(np.float32(v)))) for v in x.asnumpy()]
    np.testing.assert_allclose(vmap(fn)(x).asnumpy(), expected, 1e-6)
    slopes = [float(grad(fn)(Tensor(np.float32(v)))) for v in x.asnumpy()]
    np.testing.assert_allclose(vmap(grad(fn))(x).asnumpy(), slopes, 1e-6)
    np.testing.assert_allclose(how(vmap(fn))(x).asnumpy(), expected, 1e-6)
    np.testing.assert_allclose(how(grad(lambda x: vmap(fn)(x).sum()))(x).asnumpy(), slopes, 1e-6)
