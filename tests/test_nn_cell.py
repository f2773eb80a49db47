"""What a Cell registers, how it runs, its hooks, its own gradient and its words."""

from __future__ import annotations

import copy
from contextlib import nullcontext

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler.jit import JitWarning


class Net(nn.Cell):
    """Two dense layers in a list, and a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.CellList([nn.Dense(3, 4), nn.Dense(4, 2)])
        self.act = nn.ReLU()
        self.scale = cw.Parameter(np.ones(2, np.float32))

    def construct(self, x: cw.Tensor) -> cw.Tensor:
        return self.layers[1](self.act(self.layers[0](x))) * self.scale


X = cw.Tensor(np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3))


def test_parameters_are_named_by_their_path() -> None:
    net = Net()
    names = ["scale", "layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]
    assert [name for name, _ in net.parameters_and_names()] == names
    assert [p.name for p in net.trainable_params()] == names
    assert list(net.parameters_dict()) == names
    assert [name for name, _ in net.cells_and_names()] == [
        "", "layers", "layers.0", "layers.1", "act",
    ]  # fmt: skip
    assert list(net.name_cells()) == ["layers", "act"]
    outer = nn.SequentialCell(net)
    assert outer.trainable_params()[0].name == "0.scale"


def test_a_shared_parameter_counts_once() -> None:
    dense = nn.Dense(3, 3)
    assert len(nn.SequentialCell(dense, nn.ReLU(), dense).trainable_params()) == 2


def test_frozen_parameters_are_not_trained() -> None:
    net = nn.BatchNorm2d(3)
    assert [p.name for p in net.trainable_params()] == ["gamma", "beta"]
    assert [p.name for p in net.untrainable_params()] == ["moving_mean", "moving_variance"]


def test_cells_start_in_inference_and_switch_together() -> None:
    net = Net()
    assert not net.training
    assert net.set_train() is net
    assert all(cell.training for _, cell in net.cells_and_names())
    net.set_train(False)
    assert not net.layers[0].training


def test_init_must_be_called_first() -> None:
    class Late(nn.Cell):
        def __init__(self) -> None:
            self.dense = nn.Dense(2, 2)

    with pytest.raises(AttributeError, match="super"):
        Late()


def test_construct_must_be_defined() -> None:
    with pytest.raises(AttributeError, match="not defined"):
        nn.Cell()(X)


@pytest.mark.parametrize("name", ["", "a.b"])
def test_names_are_neither_empty_nor_dotted(name: str) -> None:
    cell = nn.Cell()
    with pytest.raises(KeyError):
        cell.insert_child_to_cell(name, nn.ReLU())
    with pytest.raises(KeyError):
        cell.insert_param_to_cell(name, cw.Parameter([1.0]))


def test_a_slot_keeps_its_kind() -> None:
    net = Net()
    with pytest.raises(TypeError, match="Cell"):
        net.act = 3
    with pytest.raises(TypeError, match="Parameter"):
        net.scale = "much"
    with pytest.raises(ValueError, match="training"):
        net.insert_child_to_cell("training", nn.ReLU())
    net.scale = cw.Tensor([2.0, 3.0])
    assert isinstance(net.scale, cw.Parameter)
    assert net.scale.tolist() == [2.0, 3.0]
    net.act = None
    assert "act" not in net.name_cells()


def test_a_plain_list_of_cells_warns() -> None:
    cell = nn.Cell()
    with pytest.warns(UserWarning, match="CellList"):
        cell.layers = [nn.Dense(2, 2)]
    assert cell.trainable_params() == []


def test_a_parameter_tuple_registers_its_items() -> None:
    cell = nn.Cell()
    cell.weights = cw.ParameterTuple([cw.Parameter([1.0], "a"), cw.Parameter([2.0], "b")])
    assert [name for name, _ in cell.parameters_and_names()] == ["a", "b"]


def test_repr_is_mindspores() -> None:
    net = nn.SequentialCell(nn.Dense(784, 10), nn.ReLU(), nn.SequentialCell(nn.Flatten()))
    assert repr(net) == (
        "SequentialCell<\n"
        "  (0): Dense<input_channels=784, output_channels=10, has_bias=True>\n"
        "  (1): ReLU<>\n"
        "  (2): SequentialCell<\n"
        "    (0): Flatten<>\n"
        "    >\n"
        "  >"
    )


def test_a_copy_is_independent() -> None:
    net = Net()
    twin = copy.deepcopy(net)
    np.testing.assert_array_equal(twin(X).data, net(X).data)
    twin.scale.set_data(np.zeros(2, np.float32))
    assert net.scale.tolist() == [1.0, 1.0]


# ---- containers ------------------------------------------------------------------------------


def test_lists_of_cells_behave_as_lists() -> None:
    cells = [nn.Dense(1, size) for size in (1, 2, 3)]
    held = nn.CellList(cells[:2])
    held.append(cells[2])
    held.insert(0, nn.ReLU())
    assert len(held) == 4
    assert held[1] is cells[0]
    assert held[-1] is cells[2]
    assert list(held)[1:] == cells
    assert isinstance(held[1:3], nn.CellList)
    assert list(held[1:3]) == cells[:2]
    del held[0]
    assert list(held) == cells
    assert [p.name for p in held.trainable_params()][:2] == ["0.weight", "0.bias"]
    with pytest.raises(IndexError):
        held[5]
    with pytest.raises(TypeError):
        held.append(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotImplementedError):
        held(X)


def test_sequential_takes_a_dictionary() -> None:
    from collections import OrderedDict

    net = nn.SequentialCell(OrderedDict(first=nn.Dense(3, 2), act=nn.ReLU()))
    assert list(net.name_cells()) == ["first", "act"]
    np.testing.assert_array_equal(net(X).data, np.maximum(net.first(X).data, 0))


# ---- hooks -----------------------------------------------------------------------------------


def test_forward_hooks_see_and_replace() -> None:
    cell, seen = nn.ReLU(), []
    pre = cell.register_forward_pre_hook(lambda c, args: (args[0] * -1.0,))
    post = cell.register_forward_hook(lambda c, args, out: seen.append((args, out)))
    out = cell(X)
    np.testing.assert_array_equal(out.data, np.maximum(-X.data, 0))
    assert seen[0][1] is out
    pre.remove()
    pre.remove()
    post.remove()
    np.testing.assert_array_equal(cell(X).data, np.maximum(X.data, 0))
    assert len(seen) == 1
    with pytest.raises(TypeError):
        cell.register_forward_hook(3)  # pyright: ignore[reportArgumentType]


def test_hooks_with_keywords() -> None:
    class Scale(nn.Cell):
        def construct(self, x: cw.Tensor, by: float = 1.0) -> cw.Tensor:
            return x * by

    cell = Scale()
    cell.register_forward_pre_hook(lambda c, args, kwargs: (args, {"by": 3.0}), with_kwargs=True)
    np.testing.assert_allclose(cell(X, by=2.0).data, X.data * 3)


def test_construct_alone_skips_hooks() -> None:
    cell = nn.ReLU()
    cell.register_forward_hook(lambda c, args, out: out * 0.0)
    np.testing.assert_array_equal(cell.construct(X).data, np.maximum(X.data, 0))


@pytest.mark.parametrize("compiled", [False, True])
def test_backward_hooks_see_and_replace(compiled: bool) -> None:
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 1))
    call = cw.jit(lambda x: ops.sum(net(x))) if compiled else (lambda x: ops.sum(net(x)))
    plain = cw.grad(call)(X).data
    # Compiled and interpreted sums round apart, which is much of an element near zero.
    near = {"rtol": 1e-5, "atol": 1e-5 * float(np.abs(plain).max())}
    first = net[1].register_backward_pre_hook(lambda c, outs: tuple(o * 2.0 for o in outs))
    shapes: list[tuple[tuple[int, ...], ...]] = []

    def halve(cell: nn.Cell, ins: tuple[cw.Tensor, ...], outs: tuple[cw.Tensor, ...]) -> object:
        shapes.append((ins[0].shape, outs[0].shape))
        return tuple(i * 5.0 for i in ins)

    second = net[2].register_backward_hook(halve)
    # A hook that acts outside the graph cannot be compiled: it runs each time all the same.
    with pytest.warns(JitWarning, match="append") if compiled else nullcontext():
        np.testing.assert_allclose(cw.grad(call)(X).data, plain * 10, **near)
    np.testing.assert_allclose(cw.grad(call)(X).data, plain * 10, **near)
    first.remove()
    second.remove()
    np.testing.assert_allclose(cw.grad(call)(X).data, plain, **near)
    assert shapes == [((5, 4), (5, 1))] * 2


def test_complaint_08_hooks_registered_late_reach_compiled_code() -> None:
    cell = nn.ReLU()
    call = cw.jit(cell)
    before = call(X)
    handle = cell.register_forward_hook(lambda c, args, out: out + 1.0)
    np.testing.assert_allclose(call(X).data, before.data + 1)
    handle.remove()
    np.testing.assert_allclose(call(X).data, before.data)


# ---- a gradient of its own -------------------------------------------------------------------


class Times(nn.Cell):
    """Doubles, and says that it has slope 7."""

    def construct(self, x: cw.Tensor) -> cw.Tensor:
        return x * 2.0

    def bprop(self, x: cw.Tensor, out: cw.Tensor, dout: cw.Tensor) -> tuple[cw.Tensor]:
        return (dout * 7.0,)


def test_bprop_is_the_gradient() -> None:
    np.testing.assert_allclose(cw.grad(lambda x: Times()(x).sum())(X).data, np.full((5, 3), 7.0))


def test_bprop_is_checked() -> None:
    class Short(Times):
        def bprop(self, x: cw.Tensor) -> tuple[cw.Tensor]:  # pyright: ignore
            return (x,)

    class Wide(Times):
        def bprop(self, x: cw.Tensor, out: cw.Tensor, dout: cw.Tensor) -> tuple[cw.Tensor]:
            return (dout.sum(),)

    with pytest.raises(TypeError, match="The params of function 'bprop'"):
        cw.grad(Short())(X)
    with pytest.raises(ValueError, match="shape"):
        cw.grad(Wide())(X)


# ---- graph mode ------------------------------------------------------------------------------


def test_graph_mode_gives_what_eager_mode_gives() -> None:
    net = Net()
    eager = net(X)
    cw.set_context(mode=cw.GRAPH_MODE)
    try:
        np.testing.assert_allclose(net(X).data, eager.data, rtol=1e-5, atol=1e-6)
    finally:
        cw.set_context(mode=cw.PYNATIVE_MODE)
    with pytest.raises(ValueError, match="mode"):
        cw.set_context(mode=5)
