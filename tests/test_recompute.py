"""Recomputed blocks: less is kept, the gradients are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire.engine.compiler  # noqa: F401 - installs the eager compiler, as users have it
import numpy as np
import pytest
from cellwire.engine import nn, ops
from cellwire.engine import random as streams
from cellwire.engine.autograd import Record, grad, recompute, value_and_grad
from cellwire.engine.compiler import jit
from cellwire.engine.parameter import Parameter
from cellwire.engine.tensor import Tensor
from cellwire.engine.vectorize import vmap


def rows(*shape: int, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def network() -> nn.Cell:
    streams.set_seed(3)
    return nn.SequentialCell(
        nn.Dense(8, 8, activation="relu"), nn.Dropout(p=0.5), nn.Dense(8, 8, activation="tanh"),
        nn.Dense(8, 1),
    )  # fmt: skip


def compare(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), 1e-5, 1e-7)


def bytes_held(fn: Callable[[Tensor], Tensor], x: Tensor) -> int:
    with Record() as record:
        fn(x)
    arrays = {
        id(base): base.nbytes
        for entry in record.entries
        for tensor in (*entry.inputs, *entry.outputs)
        for base in [tensor.data if tensor.data.base is None else tensor.data.base]
    }
    return sum(arrays.values())


@pytest.mark.parametrize("how", [lambda f: f, jit], ids=["eager", "jit"])
def test_same_values_and_gradients_with_dropout(how: Callable[[Any], Any]) -> None:
    net, x = network().set_train(), rows(4, 8)
    weights = net.trainable_params()

    def plain(x: Tensor) -> Tensor:
        return net(x).sum()

    def checkpointed(x: Tensor) -> Tensor:
        return recompute(net, x).sum()

    found = []
    for fn in (plain, checkpointed):
        derived = how(value_and_grad(fn, 0, weights))
        streams.set_seed(7)
        derived(x)
        value, (by_x, by_weights) = derived(x)
        found.append((value, by_x, *by_weights, ops.rand((3,))))
    compare(*found)
    assert found[0][1].asnumpy().any()
    streams.set_seed(7)
    outside = grad(how(checkpointed), 0, weights)
    outside(x)
    by_x, by_weights = outside(x)
    compare((by_x, *by_weights), found[0][1:-1])


def test_the_record_holds_less() -> None:
    net, x = network().set_train(), rows(512, 8)
    plain, kept = bytes_held(net, x), bytes_held(lambda x: recompute(net, x), x)
    weights = sum(parameter.nbytes for parameter in net.get_parameters())
    assert kept <= x.nbytes + weights + 512 * 4 + 64
    assert plain > 2 * kept


def test_cells_are_told_to_recompute() -> None:
    net, x = network(), rows(4, 8)
    weights = net.trainable_params()
    expected = grad(net, None, weights)(x)
    compiled = jit(grad(net, None, weights))
    compare(compiled(x), expected)
    net.recompute()
    assert bytes_held(net, x) < 2 * (x.nbytes + sum(w.nbytes for w in weights))
    compare(grad(net, None, weights)(x), expected)
    compare(compiled(x), expected)
    np.testing.assert_allclose(net(x).asnumpy(), recompute(net, x).asnumpy(), 1e-6)
    net.recompute(False)
    assert bytes_held(net, x) > 2 * x.nbytes


def test_captured_tensors_and_several_outputs() -> None:
    w, x, outside = Parameter([2.0, 3.0], "w"), Tensor([1.0, 4.0]), Tensor([5.0, 6.0])

    def block(x: Tensor, scale: float) -> dict[str, Any]:
        return {"a": x * w * scale, "b": [x * outside, x], "n": 3}

    def fn(x: Tensor) -> Tensor:
        y = x * x
        found = recompute(block, y, 2.0)
        assert found["n"] == 3
        return (found["a"] * found["b"][0] + found["b"][1]).sum()

    def plain(x: Tensor) -> Tensor:
        y = x * x
        return (y * w * 2.0 * (y * outside) + y).sum()

    expected = grad(plain, 0, w)(x)
    for derived in (grad(fn, 0, w), jit(grad(fn, 0, w)), grad(jit(fn), 0, w)):
        compare(derived(x), expected)


def test_second_derivatives_and_nesting() -> None:
    def fn(x: Tensor) -> Tensor:
        return recompute(lambda y: recompute(ops.tanh, y * y) * y, x).sum()

    def plain(x: Tensor) -> Tensor:
        return (ops.tanh(x * x) * x).sum()

    x = Tensor([0.3, -0.7])
    for order in (grad, lambda f: grad(lambda x: grad(f)(x).sum())):
        compare([order(fn)(x)], [order(plain)(x)])
        compare([jit(order(fn))(x)], [order(plain)(x)])
    compare([vmap(grad(fn))(x)], [grad(plain)(x)])
    compare([grad(lambda x: vmap(fn)(x).sum())(x)], [grad(plain)(x)])


def test_running_statistics_change_once() -> None:
    x = rows(6, 3)
    found = []
    for wrap in (lambda cell: cell, lambda cell: lambda x: recompute(cell, x)):
        cell = nn.BatchNorm1d(3).set_train()
        weights = cell.trainable_params()
        fn = wrap(cell)
        grads = [grad(lambda x, fn=fn: (fn(x) ** 3).sum(), 0, weights)(x) for _ in range(2)]
        state = [p for p in cell.get_parameters() if not p.requires_grad]
        found.append((*[g[0] for g in grads], *grads[-1][1], *state))
        assert {p.version for p in state} == {2}
    compare(*found)


def test_a_block_runs_again_on_what_it_read_before_a_write() -> None:
    w = Parameter([2.0], "w")

    def fn(x: Tensor) -> Tensor:
        y = recompute(lambda x: x * w, x)
        w.set_data(Tensor([5.0]))
        return y * x

    assert grad(fn)(Tensor([1.0])).tolist() == [4]
    assert w.tolist() == [5]
    w.set_data(Tensor([2.0]))
    with pytest.raises(RuntimeError, match="written to afterwards"):
        grad(fn, None, w)(Tensor([1.0]))


def test_hooks_in_a_block_run_again() -> None:
    seen: list[float] = []

    def block(x: Tensor) -> Tensor:
        y = x * 2
        y.register_hook(lambda g: seen.append(float(g)))
        return y

    assert grad(lambda x: recompute(block, x) * 3)(Tensor([1.0])).tolist() == [6]
    assert seen == [3]


def test_complaint_06_nothing_is_left_of_a_recomputed_step() -> None:
    import gc

    net, x = network().set_train(), rows(4, 8)
    derived = value_and_grad(lambda x: recompute(net, x).sum(), None, net.trainable_params())

    def live() -> int:
        gc.collect()
        return sum(issubclass(type(item), Tensor) for item in gc.get_objects())

    derived(x)
    derived(x)
    before = live()
    for _ in range(20):
        derived(x)
    assert live() == before
    with pytest.raises(TypeError, match="Cell or function"):
        recompute(3, x)  # pyright: ignore[reportArgumentType]
