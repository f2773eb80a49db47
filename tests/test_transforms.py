"""Gradient functions: structures, ids, products with Jacobians, whole Jacobians, threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import cellwire.engine.compiler  # noqa: F401 - installs the eager compiler, as users have it
import numpy as np
import pytest
from cellwire.engine import nn, ops
from cellwire.engine.autograd import (
    GradOperation,
    get_grad,
    grad,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    no_grad,
    value_and_grad,
    vjp,
)
from cellwire.engine.compiler import jit
from cellwire.engine.parameter import Parameter
from cellwire.engine.tensor import Tensor
from op_samples import SAMPLES, Sample


def x_of(*values: float) -> Tensor:
    return Tensor(np.array(values, np.float32))


def listed(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.asnumpy().tolist()
    return [listed(item) for item in value] if isinstance(value, tuple | list) else value


X = Tensor(np.array([[1, 2], [3, 4]], np.float32))
ONES = Tensor(np.ones((2, 2), np.float32))


def product(x: Tensor, y: Tensor) -> Tensor:
    return x * y * y


# ---- grad and value_and_grad -------------------------------------------------------------------


def test_row_10_structures_of_gradients() -> None:
    x, y, w = x_of(1), x_of(2), Parameter([3.0], "w")

    def fn(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x * y * w, x + 10

    assert listed(grad(fn)(x, y)) == [7]
    assert listed(grad(fn, (0, 1))(x, y)) == [[7], [3]]
    assert listed(grad(fn, None, [w])(x, y)) == [[2]]
    assert listed(grad(fn, 0, [w])(x, y)) == [[7], [[2]]]
    value, found = value_and_grad(fn, (0,), [w], has_aux=True)(x, y)
    assert listed(value) == [[6], [11]]
    assert listed(found) == [[[6]], [[2]]]
    assert listed(grad(fn, has_aux=True)(x, y)) == [[6], [[11]]]


def test_row_10_gradients_with_their_ids() -> None:
    x, y, w = x_of(1), x_of(2), Parameter([3.0], "w")

    def fn(x: Tensor, y: Tensor) -> Tensor:
        return x * y * w

    assert listed(grad(fn, 1, return_ids=True)(x, y)) == [1, [3]]
    found = grad(fn, (0, 1), [w], return_ids=True)(x, y)
    assert listed(found) == [[[0, [6]], [1, [3]]], [["w", [2]]]]
    assert listed(get_grad(found, 1)) == [3]
    assert listed(get_grad(found, w)) == [2]
    assert listed(get_grad(grad(fn, None, w, return_ids=True)(x, y), w)) == [2]
    with pytest.raises(RuntimeError, match="no gradient of 5"):
        get_grad(found, 5)
    for wrong in ("w", True):
        with pytest.raises(TypeError, match="identifier"):
            get_grad(found, wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="tuple"):
        get_grad(x, 0)


def test_row_10_the_outputs_own_gradient() -> None:
    weighted = grad(lambda x: x * x, sens_param=True)
    assert listed(weighted(x_of(1, 2), x_of(10, 100))) == [20, 400]
    assert listed(weighted(x_of(1, 2), sens=x_of(1, 1))) == [2, 4]
    both = value_and_grad(lambda x: (x, x * 2), sens_param=True)
    assert listed(both(x_of(1), (x_of(5), x_of(7)))[1]) == [19]
    with pytest.raises(ValueError, match="sens holds 1"):
        both(x_of(1), x_of(5))
    with pytest.raises(TypeError, match="needs the output's gradient"):
        weighted()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((None, None), ValueError), ((-1,), ValueError), (((1, 1),), ValueError),
        (("x",), TypeError), ((0, None, 1), TypeError), ((0, None, False, 1), TypeError),
    ],
)  # fmt: skip
def test_row_11_wrong_calls_are_refused(arguments: Any, error: type) -> None:
    for make in (grad, value_and_grad):
        with pytest.raises(error):
            make(product, *arguments)


def test_row_11_calls_that_cannot_be_derived() -> None:
    with pytest.raises(ValueError, match="at least two outputs"):
        grad(lambda x: x, has_aux=True)(x_of(1))
    with pytest.raises(RuntimeError, match="inside no_grad"), no_grad():
        grad(lambda x: x)(x_of(1))


def test_row_12_what_is_derived_and_what_is_skipped() -> None:
    assert grad(lambda a, b: a + b, (0, 1))(1, 2) == ()
    assert listed(grad(lambda a, b: a * b, (0, 1))(2, x_of(3))) == [[2]]
    assert listed(grad(lambda x: x * x)(Tensor(np.array([3], np.int32)))) == [6]
    assert listed(grad(lambda x: (x * 2, (x * 3, [x * 4])))(x_of(1))) == [9]
    frozen = Parameter([1.0], "frozen", requires_grad=False)
    unused = Parameter([[1.0]], "unused")
    assert listed(grad(lambda x: x * frozen, None, [frozen, unused])(x_of(2))) == [[0], [[0]]]


def test_row_12_one_tensor_given_twice_has_two_gradients() -> None:
    x = x_of(3)
    for how in (lambda f: f, jit):
        assert listed(how(grad(product, (0, 1)))(x, x)) == [[9], [18]]
        assert listed(how(grad(product, 1))(x, x)) == [18]
    assert listed(GradOperation(get_all=True)(product)(x, x)) == [[9], [18]]


def test_row_13_grad_operation() -> None:
    x, y = x_of(2), x_of(5)
    net = nn.Dense(1, 1, weight_init="ones")
    assert listed(GradOperation()(product)(x, y)) == [25]
    assert listed(GradOperation(get_all=True)(product)(x, y)) == [[25], [20]]
    by_list = GradOperation(get_by_list=True)
    assert listed(by_list(net, net.trainable_params())(Tensor([[2.0]]))) == [[[2]], [1]]
    assert listed(by_list(net)(Tensor([[2.0]]))) == [[[2]], [1]]
    sens = GradOperation(get_all=True, get_by_list=True, sens_param=True)
    found = sens(net, net.trainable_params())(Tensor([[2.0]]), Tensor([[10.0]]))
    assert listed(found) == [[[[10]]], [[[20]], [10]]]
    assert listed(GradOperation(sens_param=True)(product)(x, y, sens=x_of(2))) == [50]
    with pytest.raises(ValueError, match="needs weights"):
        by_list(product)
    assert GradOperation()(lambda a: a)(3) == ()


@pytest.mark.parametrize("how", [lambda f: f, jit], ids=["eager", "jit"])
def test_row_14_second_order(how: Callable[[Any], Any]) -> None:
    def fn(x: Tensor, w: Tensor) -> Tensor:
        return (ops.softmax(ops.tanh(x @ w)) ** 2).sum()

    rng = np.random.default_rng(0)
    x, w = Tensor(rng.standard_normal((2, 3))), Tensor(rng.standard_normal((3, 2)))
    direction = Tensor(rng.standard_normal((3, 2)))
    slope = grad(fn, 1)

    def along(w: Tensor) -> Tensor:
        return (slope(x, w) * direction).sum()

    found = how(grad(along))(w).asnumpy()
    step = Tensor(direction.asnumpy() * 1e-5)
    expected = (slope(x, w + step) - slope(x, w - step)).asnumpy() / 2e-5
    np.testing.assert_allclose(found, expected, 1e-5, 1e-7)


def test_complaint_14_double_backward_is_right_or_raises() -> None:
    inner = jit(lambda x: (x * x * x).sum())
    assert listed(grad(grad(inner))(x_of(2))) == [12]
    assert listed(grad(lambda x: grad(inner)(x) * x)(x_of(2))) == [36]

    class Cubed(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x * x * x

        def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
            return (dout * 3 * x * x,)

    net = Cubed()
    assert listed(grad(grad(net))(x_of(2))) == [12]
    assert listed(jit(grad(grad(net)))(x_of(2))) == [12]


def test_row_15_stop_gradient_and_no_grad() -> None:
    assert listed(grad(lambda x: ops.stop_gradient(x) * x)(x_of(3))) == [3]
    kept = ops.stop_gradient((x_of(1), ["text", 5, None]))
    assert listed(kept) == [[1], ["text", 5, None]]
    assert listed(ops.stop_gradient({"a": x_of(1), "b": 2})["a"]) == [1]
    cut = grad(lambda x: (ops.stop_gradient({"a": x})["a"] * x).sum())
    assert listed(cut(x_of(3))) == [3]

    @no_grad()
    def constant(x: Tensor) -> Tensor:
        return x * x

    assert listed(grad(lambda x: constant(x) * x)(x_of(3))) == [9]


def test_row_09_a_record_lives_as_long_as_the_call() -> None:
    from cellwire.engine.ops.registry import active_records, records

    seen: list[int] = []

    def fn(x: Tensor) -> Tensor:
        y = x * x
        seen.append(len(active_records()[0].entries))
        return y

    assert listed(grad(fn)(x_of(3))) == [6]
    assert seen == [1]
    assert not records
    with pytest.raises(ZeroDivisionError):
        grad(lambda x: x * (1 // 0))(x_of(3))
    assert not records


@pytest.mark.parametrize("how", [lambda f: f, jit], ids=["eager", "jit"])
def test_row_32_python_control_flow_is_derived(how: Callable[[Any], Any]) -> None:
    def fn(x: Tensor) -> Tensor:
        y = x
        for number in range(3):
            y = y * x if number % 2 == 0 else y + x
        while y.sum() < 50:
            y = y * 2
        return (y * x if y.sum() > 60 else y).sum()

    derived = how(grad(fn))
    for value in (2.0, 3.0, 4.0):
        sides = [float(fn(Tensor([value + step], "float64"))) for step in (1e-6, -1e-6)]
        expected = (sides[0] - sides[1]) / 2e-6
        assert derived(Tensor([value], "float64")).tolist() == [pytest.approx(expected, 1e-6)]


# ---- products ----------------------------------------------------------------------------------


def test_vjp() -> None:
    out, pull = vjp(lambda x, y: x**3 + y, X, X)
    np.testing.assert_allclose(out.asnumpy(), [[2, 10], [30, 68]])
    for _ in range(2):
        assert listed(pull(ONES)) == [[[3, 12], [27, 48]], [[1, 1], [1, 1]]]
    _, pull, aux = vjp(lambda x, y: (2 * x + y, y**3), X, X, has_aux=True)
    assert listed(aux) == [[1, 8], [27, 64]]
    assert listed(pull(ONES)) == [[[2, 2], [2, 2]], [[1, 1], [1, 1]]]
    out, pull = vjp(lambda x: (x * 2, x * 3), X)
    assert listed(pull(ONES, ONES)) == [[[5, 5], [5, 5]]]


def test_vjp_by_weights() -> None:
    w, frozen = Parameter([2.0], "w"), Parameter([1.0], "f", requires_grad=False)
    _, pull = vjp(lambda x: x * w * frozen, x_of(3), weights=[w, frozen])
    assert listed(pull(x_of(10))) == [[[20]], [[30], [0]]]
    w.set_data(x_of(5))
    with pytest.raises(RuntimeError, match="was written to since"):
        pull(x_of(10))


def test_vjp_and_jvp_keep_what_they_were_given() -> None:
    x = x_of(3)
    _, pull = vjp(lambda x: x * x, x)
    x[0] = 100.0
    assert listed(pull(x_of(1))) == [[6]]


def test_jvp() -> None:
    out, found = jvp(lambda x, y: x**3 + y, (X, X), (ONES, ONES))
    np.testing.assert_allclose(out.asnumpy(), [[2, 10], [30, 68]])
    assert listed(found) == [[4, 13], [28, 49]]
    _, found, aux = jvp(lambda x, y: (x**3 + y, y), (X, X), (ONES, ONES), has_aux=True)
    assert listed(found) == [[4, 13], [28, 49]]
    assert listed(aux) == listed(X)
    _, found = jvp(lambda x: {"a": x * 2, "b": [x.sum()]}, X, ONES)
    assert [listed(found["a"]), listed(found["b"])] == [[[2, 2], [2, 2]], [4]]


def test_products_of_constants_are_zero() -> None:
    _, found = jvp(lambda x: (ops.ones((2,)), ops.argmax(x)), X, ONES)
    assert listed(found) == [[0, 0], 0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jvp(product, (X, 1), (ONES, ONES)), TypeError, "inputs must be tensors"),
        (lambda: jvp(product, (X, X), (ONES,)), ValueError, "1 tensors, 2 are needed"),
        (lambda: jvp(lambda x: x, X, x_of(1)), ValueError, "must be equal"),
        (lambda: jvp(lambda x: x, X, 1), TypeError, "must be tensors"),
        (lambda: vjp(lambda x: x, X)[1](x_of(1)), ValueError, "must be equal"),
        (lambda: vjp(product, X, 1.0), TypeError, "inputs must be tensors"),
        (lambda: vjp(lambda x: x, X, has_aux=True), ValueError, "at least two outputs"),
        (lambda: jvp(lambda x: x, X, ONES, has_aux=1), TypeError, "has_aux"),
        (lambda: jacrev(product, None), ValueError, "name what"),
        (lambda: jacfwd(product, 2)(X, X), ValueError, "names no argument"),
    ],
)
def test_wrong_products_are_explained(call: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_linearize_runs_the_function_once() -> None:
    runs: list[int] = []

    def fn(x: Tensor, y: Tensor) -> Tensor:
        runs.append(1)
        return x @ y

    x, y = Tensor([[1.0, 2, 3], [3, 4, 5]]), Tensor([[1.0, 2], [3, 4], [5, 6]])
    v = Tensor(np.ones((2, 3), np.float32)), Tensor(np.array([[1, 1], [1, 1], [0, 0]], np.float32))
    out, push = linearize(fn, (x, y))
    np.testing.assert_allclose(out.asnumpy(), [[22, 28], [40, 52]])
    for _ in range(2):
        np.testing.assert_allclose(push(v).asnumpy(), [[12, 15], [16, 19]])
    assert runs == [1]


DERIVED_ONCE = {"ctc_loss", "ctc_losses"}
"""Ops whose second derivative is refused: their rule is an algorithm, not written in ops."""
DIFFERENTIABLE = [s for s in SAMPLES if s.differentiable and s.arrays and s.op not in DERIVED_ONCE]


@pytest.mark.parametrize("name", sorted(DERIVED_ONCE))
def test_complaint_14_a_second_derivative_that_there_is_not_raises(name: str) -> None:
    sample = next(s for s in SAMPLES if s.op == name)
    inputs = tuple(map(Tensor, sample.arrays))
    with pytest.raises(NotImplementedError, match="do not derive it twice"):
        jvp(sample.call, inputs, tuple(map(ops.zeros_like, inputs)))


@pytest.mark.parametrize("sample", DIFFERENTIABLE, ids=lambda s: s.op)
def test_products_from_left_and_right_agree_for_every_op(sample: Sample) -> None:
    # u (J v) = (u J) v: gradient rules are themselves derived rightly
    rng = np.random.default_rng(0)
    inputs = tuple(map(Tensor, sample.arrays))
    directions = [Tensor(rng.standard_normal(t.shape).astype(t.dtype.numpy)) for t in inputs]
    outputs, pushed = jvp(sample.call, inputs, tuple(directions))
    parts = list(_tensors(outputs))
    weights = [Tensor(rng.standard_normal(t.shape).astype(t.dtype.numpy)) for t in parts]
    weights = [w if w.dtype.is_float else ops.zeros_like(w) for w in weights]
    pulled = vjp(sample.call, *inputs)[1](*weights)
    left = sum(_dot(u, v) for u, v in zip(weights, _tensors(pushed), strict=True))
    right = sum(_dot(g, v) for g, v in zip(pulled, directions, strict=True) if g.dtype.is_float)
    assert left == pytest.approx(right, 1e-7, 1e-8)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    else:
        for item in value:
            yield from _tensors(item)


def _dot(a: Tensor, b: Tensor) -> float:
    return float((a.asnumpy() * b.asnumpy()).sum()) if a.dtype.is_float else 0.0


# ---- Jacobians ---------------------------------------------------------------------------------


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
@pytest.mark.parametrize("how", [lambda f: f, jit], ids=["eager", "jit"])
def test_jacobians(jacobian: Any, how: Callable[[Any], Any]) -> None:
    def fn(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return ops.tanh(x * y), (x * x).sum(0)

    x, y = Tensor(np.array([[1.0, 2], [3, 4], [5, 6]]) / 5), Tensor([0.5, 2.0], "float64")
    found = how(jacobian(fn, (0, 1)))(x, y)
    assert [[part.shape for part in row] for row in found] == [
        [(3, 2, 3, 2), (3, 2, 2)], [(2, 3, 2), (2, 2)],
    ]  # fmt: skip
    slope = 1 - np.tanh(x.asnumpy() * y.asnumpy()) ** 2
    expected = np.einsum("ij,ik,jl->ijkl", slope * y.asnumpy(), np.eye(3), np.eye(2))
    np.testing.assert_allclose(found[0][0].asnumpy(), expected, 1e-7)
    expected = np.einsum("ij,jl->ijl", slope * x.asnumpy(), np.eye(2))
    np.testing.assert_allclose(found[0][1].asnumpy(), expected, 1e-7)
    assert not found[1][1].asnumpy().any()
    assert how(jacobian(lambda x: x * 2))(x).shape == (3, 2, 3, 2)
    assert len(how(jacobian(fn))(x, y)) == 2
    flat, aux = how(jacobian(fn, 1, has_aux=True))(x, y)
    assert flat.shape == (3, 2, 2)
    np.testing.assert_allclose(aux.asnumpy(), (x.asnumpy() ** 2).sum(0))


@pytest.mark.parametrize("hessian", [jacfwd(jacrev(lambda x: (x[0] ** 3 * x[1]).sum()))])
def test_second_derivatives_as_a_matrix(hessian: Any) -> None:
    x = Tensor([2.0, 5.0], "float64")
    np.testing.assert_allclose(hessian(x).asnumpy(), [[60, 12], [12, 0]], 1e-12)
    np.testing.assert_allclose(jit(hessian)(x).asnumpy(), [[60, 12], [12, 0]], 1e-12)


# ---- threads -----------------------------------------------------------------------------------


def test_gradients_in_two_threads_do_not_mix() -> None:
    wrong: list[Any] = []

    def run(factor: float) -> None:
        w = Parameter(np.full(3, factor, np.float32), "w")
        derived = value_and_grad(lambda x: (ops.tanh(x * w) * w + ops.softmax(x)).sum(), 0, w)
        first: list[np.ndarray] = []
        for _ in range(200):
            _, found = derived(x_of(0, 1, 2))
            arrays = [g.asnumpy() for g in found]
            first = first or arrays
            if not all(np.allclose(a, b, 1e-5) for a, b in zip(arrays, first, strict=True)):
                wrong.append((factor, arrays, first))
        exact = 1 - np.tanh(np.arange(3) * factor) ** 2
        expected = np.tanh(np.arange(3) * factor) + factor * np.arange(3) * exact
        if not np.allclose(first[1], expected, 1e-4):
            wrong.append((factor, first[1], expected))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run, args=(f,)) for f in (0.5, 1.0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_no_grad_holds_for_its_own_thread() -> None:
    entered, done = threading.Event(), threading.Event()

    def wait() -> None:
        with no_grad():
            entered.set()
            done.wait(10)

    thread = threading.Thread(target=wait)
    thread.start()
    assert entered.wait(10)
    try:
        assert listed(grad(lambda x: x * x)(x_of(3))) == [6]
    finally:
        done.set()
        thread.join()
