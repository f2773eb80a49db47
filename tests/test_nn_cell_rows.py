"""What MindSpore's documentation promises of Cells, row by row, and what is better here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler.jit import JitWarning

X = cw.Tensor(np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3))
OTHER = cw.Tensor(np.ones((5, 3), np.float32))


@contextmanager
def graph_mode() -> Iterator[None]:
    cw.set_context(mode=cw.GRAPH_MODE)
    try:
        yield
    finally:
        cw.set_context(mode=cw.PYNATIVE_MODE)


class Scaled(nn.Cell):
    """Doubles, and says that it has slope 7; a stop inside cannot take its gradient away."""

    def construct(self, x: cw.Tensor) -> cw.Tensor:
        return ops.stop_gradient(x) * 2.0

    def bprop(self, x: cw.Tensor, out: cw.Tensor, dout: cw.Tensor) -> tuple[cw.Tensor]:
        return (dout * 7.0,)


@pytest.mark.parametrize("wrap", [lambda f: f, cw.jit], ids=["eager", "jit"])
def test_row_16_bprop_is_the_gradient(wrap: Callable[..., Any]) -> None:
    cell = Scaled()
    value, grad = wrap(cw.value_and_grad(lambda x: cell(x).sum()))(X)
    np.testing.assert_allclose(value.data, X.data.sum() * 2, atol=1e-5)
    np.testing.assert_allclose(grad.data, np.full((5, 3), 7.0))


def test_row_17_init_and_construct_are_required() -> None:
    class Late(nn.Cell):
        def __init__(self) -> None:
            self.weight = cw.Parameter([1.0])

    with pytest.raises(AttributeError, match="super"):
        Late()
    with pytest.raises(AttributeError, match="not defined"):
        nn.Cell()(X)


def test_row_18_registration() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.CellList([nn.Dense(3, 2)])
            self.scale = cw.Parameter(np.ones(2, np.float32), name="s")

    net = Net()
    assert [p.name for p in net.get_parameters()] == ["s", "layers.0.weight", "layers.0.bias"]
    assert next(n for n, _ in net.parameters_and_names()) == "scale"
    assert net.layers[0].param_prefix == "layers.0"
    net.layers.append(nn.Dense(2, 2))
    assert net.layers[1].weight.name == "layers.1.weight"
    with pytest.raises(KeyError):
        net.insert_child_to_cell("a.b", nn.ReLU())
    with pytest.raises(TypeError):
        net.layers = 3
    with pytest.raises(ValueError, match="another attribute"):
        net.insert_child_to_cell("scale", nn.ReLU())
    with pytest.warns(UserWarning, match="CellList"):
        net.hidden = [nn.Dense(2, 2)]
    net.act = nn.ReLU()
    net.order = (net.act, net.layers)  # nothing is hidden: both are registered
    net.scale.name = "layers.0.bias"
    with pytest.raises(ValueError, match=r"layers\.0\.bias"):
        net.check_names()
    del net.scale
    net.check_names()
    with pytest.raises(AttributeError):
        del net.scale


def test_row_19_lists_of_cells() -> None:
    cells = [nn.Dense(1, size) for size in (1, 2, 3, 4)]
    held = nn.CellList(cells[:1]) + nn.CellList(cells[1:2])
    held += cells[2:3]
    held.extend(nn.CellList(cells[3:]))
    assert list(held) == cells
    assert list(held[1:-1]) == cells[1:3]
    assert list(reversed(held)) == cells[::-1]
    held[1] = other = nn.ReLU()
    assert held[1] is other
    assert held.pop(1) is other
    held.insert(1, cells[1])
    del held[2:]
    assert list(held.name_cells()) == ["0", "1"]
    assert list(held) == cells[:2]
    assert cells[1].weight.name == "1.weight"
    with pytest.raises(IndexError):
        held.insert(9, other)
    with pytest.raises(TypeError):
        held.extend(other)  # pyright: ignore[reportArgumentType]


def test_row_19_sequential_keeps_names() -> None:
    net = nn.SequentialCell({"first": nn.Dense(3, 2), "act": nn.ReLU(), "last": nn.Dense(2, 1)})
    assert list(net[1:].name_cells()) == ["act", "last"]
    expected = net.last(net.first(X))
    del net["act"]
    np.testing.assert_array_equal(net(X).data, expected.data)
    net.append(nn.Tanh())
    assert list(net.name_cells()) == ["first", "last", "2"]
    assert net[0].weight.name == "first.weight"


def test_row_19_cells_by_name() -> None:
    held = nn.CellDict({"conv": nn.Dense(3, 2)})
    held["act"] = nn.ReLU()
    held.update([("last", nn.Dense(2, 1))])
    assert list(held) == list(held.keys()) == ["conv", "act", "last"]
    assert [p.name for p in held.trainable_params()] == [
        "conv.weight", "conv.bias", "last.weight", "last.bias",
    ]  # fmt: skip
    assert "act" in held
    assert [name for name, _ in held.items()] == list(held)
    assert held.pop("act").__class__ is nn.ReLU
    del held["last"]
    assert len(held) == len(held.values()) == 1
    held.clear()
    assert not held
    with pytest.raises(KeyError, match="attribute"):
        held["keys"] = nn.ReLU()
    with pytest.raises(KeyError, match="conv"):
        held["conv"]
    with pytest.raises(TypeError):
        held["x"] = 3  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="pairs"):
        nn.CellDict([nn.ReLU()])  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotImplementedError):
        held(X)


def test_row_20_call_and_dunder_call_are_one() -> None:
    cell = nn.ReLU()
    cell.register_forward_hook(lambda c, args, out: out + 1.0)
    np.testing.assert_array_equal(cell.__call__(X).data, cell(X).data)
    np.testing.assert_allclose(cell.construct(X).data, cell(X).data - 1, atol=1e-6)


def test_row_21_set_train_reaches_everything() -> None:
    net = nn.SequentialCell(nn.SequentialCell(nn.Dropout(p=0.5)))
    assert not net.training
    assert net.set_train()[0][0].training
    assert not net.set_train(False)[0][0].training
    assert net.set_grad()[0].requires_grad
    assert not net.set_grad(False)[0].requires_grad


def test_row_23_forward_hooks_in_order_with_keywords_and_during_a_run() -> None:
    class Times(nn.Cell):
        def construct(self, x: cw.Tensor, by: float = 1.0) -> cw.Tensor:
            return x * by

    cell, order = Times(), []

    def pre(c: nn.Cell, args: Any, kwargs: dict[str, Any]) -> Any:
        order.append("pre")
        return args, {"by": kwargs["by"] + 1.0}

    def late(c: nn.Cell, args: Any, output: cw.Tensor) -> None:
        order.append("late")

    def post(c: nn.Cell, args: Any, kwargs: dict[str, Any], output: cw.Tensor) -> Any:
        order.append(("post", kwargs["by"]))
        handle = c.register_forward_hook(late)
        order.append(handle)
        return output + 1.0

    cell.register_forward_pre_hook(pre, with_kwargs=True)
    cell.register_forward_hook(lambda c, args, out: order.append("first"))
    handle = cell.register_forward_hook(post, with_kwargs=True)
    np.testing.assert_allclose(cell(X, by=2.0).data, X.data * 3 + 1)
    assert [e for e in order if e.__class__ in (str, tuple)] == ["pre", "first", ("post", 3.0)]
    handle.remove()
    handle.remove()
    np.testing.assert_allclose(cell(X, by=2.0).data, X.data * 3)
    assert order[-1] == "late"


def test_row_23_a_hooks_own_tensor_cuts_the_gradient() -> None:
    cell = nn.Dense(3, 2)
    cell.register_forward_hook(lambda c, args, out: ops.ones_like(out))
    assert not cw.grad(lambda x: cell(x).sum())(X).data.any()


@pytest.mark.parametrize("wrap", [lambda f: f, cw.jit], ids=["eager", "jit"])
def test_row_25_all_hooks_fire_in_compiled_code(wrap: Callable[..., Any]) -> None:
    net = nn.SequentialCell(nn.Dense(3, 3), nn.Tanh(), nn.Dense(3, 1))
    inner, outer = net[1], net
    inner.register_forward_pre_hook(lambda c, args: (args[0] * 2.0,))
    inner.register_forward_hook(lambda c, args, out: out + 1.0)
    inner.register_backward_pre_hook(lambda c, douts: (douts[0] * 3.0,))
    inner.register_backward_hook(lambda c, dins, douts: (dins[0] * 5.0 + douts[0] * 0.0,))
    outer.register_forward_hook(lambda c, args, out: out * 10.0)
    value, grad = wrap(cw.value_and_grad(lambda x: net(x).sum()))(X)
    hidden = np.tanh(2 * (X.data @ net[0].weight.data.T + net[0].bias.data))
    out = (hidden + 1) @ net[2].weight.data.T + net[2].bias.data
    np.testing.assert_allclose(value.data, 10 * out.sum(), rtol=1e-4, atol=1e-4)
    slope = (1 - hidden**2) * 2 * 10 * 15 * net[2].weight.data[0]
    np.testing.assert_allclose(grad.data, slope @ net[0].weight.data, rtol=1e-3, atol=1e-3)


def test_row_25_hooks_fire_in_graph_mode() -> None:
    net = nn.SequentialCell(nn.ReLU())
    net[0].register_forward_hook(lambda c, args, out: out + 1.0)
    with graph_mode():
        np.testing.assert_array_equal(net(X).data, np.maximum(X.data, 0) + 1)


@pytest.mark.parametrize("wrap", [lambda f: f, cw.jit], ids=["eager", "jit"])
def test_backward_hooks_fire_where_no_input_needs_a_gradient(wrap: Callable[..., Any]) -> None:
    cell = nn.Dense(3, 2)
    cell.register_backward_pre_hook(lambda c, douts: (douts[0] * 2.0,))
    seen = []

    def hook(c: nn.Cell, dins: Any, douts: Any) -> None:
        seen.append((dins, douts[0].shape))

    weights = cell.trainable_params()
    derive = wrap(cw.grad(lambda x: cell(x).sum(), None, weights))
    np.testing.assert_allclose(derive(X)[1].data, [10.0, 10.0])
    cell.register_backward_hook(hook)
    np.testing.assert_allclose(cw.grad(lambda x: cell(x).sum(), None, weights)(X)[1].data, [10, 10])
    assert seen == [((None,), (5, 2))]


def test_backward_hooks_see_gradients_of_what_exists() -> None:
    class Parts(nn.Cell):
        def construct(self, x: cw.Tensor, y: cw.Tensor) -> tuple[cw.Tensor, dict[str, cw.Tensor]]:
            return x * 2.0, {"y": y * 3.0}

    cell, seen = Parts(), []
    cell.register_backward_hook(lambda c, dins, douts: seen.append((dins, douts)))

    def loss(x: cw.Tensor) -> cw.Tensor:
        first, rest = cell(x, OTHER)
        return first.sum() + rest["y"].sum()

    np.testing.assert_allclose(cw.grad(loss)(X).data, np.full((5, 3), 2.0))
    (dins, douts) = seen[0]
    assert dins[1] is None
    np.testing.assert_allclose(dins[0].data, np.full((5, 3), 2.0))
    assert [d.shape for d in douts] == [(5, 3), (5, 3)]

    def unused(x: cw.Tensor) -> cw.Tensor:
        return cell(OTHER, x)[0].sum()

    assert not cw.grad(unused)(X).data.any()
    assert len(seen) == 2
    cell.register_backward_hook(lambda c, dins, douts: (dins[0],))
    with pytest.raises(ValueError, match="returned 1 gradients for 2"):
        cw.grad(loss)(X)


def test_row_54_cells_made_inside_warn_once() -> None:
    class Inside(nn.Cell):
        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return Layer()(x)

    class Layer(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.weight = cw.Parameter(np.full(3, 2.0, np.float32))

        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return x * self.weight

    net = Inside()
    assert net.trainable_params() == []
    np.testing.assert_array_equal(net(X).data, X.data * 2)
    with pytest.warns(UserWarning, match="Layer was made inside.*not trained"):
        grad = cw.grad(lambda x: net(x).sum())(X)
    np.testing.assert_array_equal(grad.data, np.full((5, 3), 2.0))
    cw.grad(lambda x: net(x).sum())(X)
    compiled = cw.jit(net)
    with pytest.warns(JitWarning, match="make it once, outside"):
        np.testing.assert_array_equal(compiled(X).data, X.data * 2)
    np.testing.assert_array_equal(compiled(X).data, X.data * 2)


class Deep(nn.Cell):
    def __init__(self, depth: int = 4) -> None:
        super().__init__()
        self.layers = nn.CellList([nn.Dense(3, 3) for _ in range(depth)])

    def construct(self, x: cw.Tensor, use_layers: int = 3) -> cw.Tensor:
        for i in range(use_layers):
            x = ops.relu(self.layers[i](x))
        return x


def test_row_55_depth_is_python() -> None:
    net = Deep()
    compiled = cw.jit(net, fullgraph=True)
    for use in (3, 1, 4):
        expected = net(X, use_layers=use)
        np.testing.assert_allclose(compiled(X, use_layers=use).data, expected.data, rtol=1e-5)
    np.testing.assert_allclose(compiled(X).data, net(X).data, rtol=1e-5)
