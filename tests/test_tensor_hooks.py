"""Hooks on tensors: when they run, what they see, what they change; eager, jit, vmap."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import cellwire.engine.compiler  # noqa: F401 - installs the eager compiler, as users have it
import numpy as np
import pytest
from cellwire.engine import nn, ops
from cellwire.engine.autograd import HookBackward, grad, value_and_grad
from cellwire.engine.autograd.tensor_hooks import hooked
from cellwire.engine.compiler import jit
from cellwire.engine.compiler.jit import JitWarning
from cellwire.engine.parameter import Parameter
from cellwire.engine.tensor import Tensor
from cellwire.engine.vectorize import vmap


def x_of(*values: float) -> Tensor:
    return Tensor(np.array(values, np.float32))


def doubled(gradient: Tensor) -> Tensor:
    return gradient * 2


def eager(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def jit_around(fn: Callable[..., Any]) -> Callable[..., Any]:
    return jit(fn, fullgraph=True)


HOW = pytest.mark.parametrize("how", [eager, jit_around], ids=["eager", "jit"])


@HOW
def test_row_24_hook_on_an_intermediate_tensor(how: Callable[[Any], Any]) -> None:
    def fn(x: Tensor) -> Tensor:
        y = x * 3
        y.register_hook(doubled)
        return (y * y).sum()

    for derived in (how(grad(fn)), grad(how(fn))):
        for _ in range(3):
            assert derived(x_of(1, 2)).tolist() == [36, 72]
    assert not hooked


def test_the_hook_sees_the_sum_over_all_uses() -> None:
    seen: list[list[float]] = []

    def fn(x: Tensor) -> Tensor:
        y = x * 3
        before = y * 10
        y.register_hook(lambda g: seen.append(g.tolist()))
        return before + y * y

    assert grad(fn)(x_of(1)).tolist() == [48]
    assert seen == [[16]]


@HOW
def test_uses_before_the_registration_count_too(how: Callable[[Any], Any]) -> None:
    def fn(x: Tensor) -> Tensor:
        y = x * 3
        before = y * 10
        y.register_hook(lambda g: g * g)
        return before + y * y

    for derived in (how(grad(fn)), grad(how(fn))):
        assert derived(x_of(1)).tolist() == [3 * 16 * 16]


@HOW
def test_hook_on_a_parameter(how: Callable[[Any], Any]) -> None:
    net = nn.Dense(2, 1, weight_init="ones")
    derived = how(value_and_grad(lambda x: net(x).sum(), None, net.trainable_params()))
    x = Tensor(np.ones((1, 2), np.float32))
    assert derived(x)[1][0].tolist() == [[1, 1]]
    handle = net.weight.register_hook(doubled)
    assert derived(x)[1][0].tolist() == [[2, 2]]
    again = net.weight.register_hook(doubled)
    assert derived(x)[1][0].tolist() == [[4, 4]]
    assert grad(how(net), None, net.weight)(x).tolist() == [[4, 4]]
    for _ in range(2):
        handle.remove()
        again.remove()
    assert derived(x)[1][0].tolist() == [[1, 1]]


def test_complaint_08_hooks_registered_late_are_seen() -> None:
    w = Parameter([2.0], "w")
    compiled = jit(grad(lambda x: x * w, None, w))
    assert compiled(x_of(3)).tolist() == [3]
    handle = w.register_hook(lambda g: g * 100)
    assert compiled(x_of(3)).tolist() == [300]
    handle.remove()
    assert compiled(x_of(3)).tolist() == [3]


def test_hook_on_an_argument() -> None:
    x = x_of(3)
    handle = x.register_hook(doubled)
    fn = jit(lambda x: x * x)
    assert grad(lambda x: x * x)(x).tolist() == [12]
    with pytest.warns(JitWarning, match="an argument has a hook"):
        assert grad(fn)(x).tolist() == [12]
    with pytest.warns(JitWarning, match="an argument has a hook"):
        assert jit(grad(lambda x: x * x))(x).tolist() == [12]
    handle.remove()
    assert grad(fn)(x).tolist() == [6]


def test_hook_that_looks_on_is_compiled_and_sees_each_call() -> None:
    seen: list[float] = []

    def fn(x: Tensor) -> Tensor:
        y = x * 2
        y.register_hook(lambda g: seen.append(float(g)))
        return (y * y).sum()

    compiled = jit(grad(fn), fullgraph=True)
    for value in (1, 2):
        assert compiled(x_of(value)).tolist() == [8 * value]
    assert seen == [4, 8]
    assert all(type(value) is float for value in seen)


def test_hooks_run_in_order_and_no_longer_after_removal() -> None:
    order: list[int] = []
    x = x_of(1)
    first = x.register_hook(lambda g: order.append(1))
    x.register_hook(lambda g: order.append(2))
    grad(lambda x: x * 2)(x)
    first.remove()
    first.remove()
    grad(lambda x: x * 2)(x)
    assert order == [1, 2, 2]


def test_second_derivatives_pass_hooks() -> None:
    def fn(x: Tensor) -> Tensor:
        y = x * x
        y.register_hook(doubled)
        return y * x

    # First 4 x^2 + y with y = x^2, whose gradient is doubled again when that is derived.
    first = grad(fn)
    assert first(x_of(3)).tolist() == [45]
    assert grad(first)(x_of(3)).tolist() == [24 + 12]


@pytest.mark.parametrize(
    ("hook", "error", "message"),
    [
        (lambda g: g.sum(), ValueError, "gave shape"), (lambda g: 1.0, TypeError, "or None"),
        (lambda g: g.astype("float64"), TypeError, "Float32 tensor or None, not Float64"),
    ],
)  # fmt: skip
def test_wrong_hooks_are_explained(hook: Any, error: type, message: str) -> None:
    x = x_of(1, 2)
    with pytest.raises(TypeError, match="needs a function"):
        x.register_hook(3)
    x.register_hook(hook)
    with pytest.raises(error, match=message):
        grad(lambda x: x * x)(x)


def test_hooks_die_with_their_tensor() -> None:
    x = x_of(1)
    x.register_hook(doubled)
    assert len(hooked) == 1
    del x
    gc.collect()
    assert not hooked


def test_a_hook_on_a_tensor_from_outside_is_not_compiled() -> None:
    w = Parameter([2.0], "w")

    def fn(x: Tensor) -> Tensor:
        w.register_hook(doubled).remove()
        return x * w

    with pytest.warns(JitWarning, match="at each call another"):
        assert jit(fn)(x_of(3)).tolist() == [6]


# ---- HookBackward ------------------------------------------------------------------------------


@HOW
def test_row_24_hook_backward_takes_a_tuple(how: Callable[[Any], Any]) -> None:
    hook = HookBackward(lambda grads: (grads[0] * 10,))

    def fn(x: Tensor) -> Tensor:
        return (hook(x * x) * x).sum()

    for derived in (how(grad(fn)), grad(how(fn))):
        for _ in range(2):
            assert derived(x_of(2)).tolist() == [4 + 10 * 2 * 2 * 2]


def test_hook_backward_of_several_tensors() -> None:
    seen: list[tuple[Any, ...]] = []
    hook = HookBackward(seen.append)

    def fn(x: Tensor, y: Tensor) -> Tensor:
        a, b = hook(x, y)
        return a * b

    assert [g.tolist() for g in grad(fn, (0, 1))(x_of(2), x_of(3))] == [[3], [2]]
    assert [g.tolist() for g in seen[0]] == [[3], [2]]
    with pytest.raises(ValueError, match="gave 1 gradients for 2"):
        grad(lambda x: ops.add(*HookBackward(lambda g: g[0])(x, x)))(x_of(1))
    for wrong in (lambda: HookBackward(3), lambda: hook(3)):  # pyright: ignore[reportArgumentType]
        with pytest.raises(TypeError):
            wrong()


def test_hooks_in_vectorized_functions() -> None:
    hook = HookBackward(lambda grads: grads[0] * 10)
    x = x_of(1, 2, 3)
    assert grad(lambda x: vmap(lambda a: hook(a * a))(x).sum())(x).tolist() == [20, 40, 60]
    assert vmap(grad(lambda a: hook(a * a)))(x).tolist() == [20, 40, 60]

    def registered(a: Tensor) -> Tensor:
        b = a * a
        b.register_hook(doubled)
        return b

    assert vmap(grad(registered))(x).tolist() == [4, 8, 12]
    with pytest.raises(RuntimeError, match="HookBackward"):
        grad(lambda x: vmap(registered)(x).sum())(x)
