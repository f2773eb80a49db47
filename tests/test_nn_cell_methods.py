"""The Cell's methods: names, buffers, state, float types, flags and compiling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler.jit import JitError

X = cw.Tensor(np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3))


class Deep(nn.Cell):
    def __init__(self, depth: int = 4) -> None:
        super().__init__()
        self.layers = nn.CellList([nn.Dense(3, 3) for _ in range(depth)])

    def construct(self, x: cw.Tensor, use_layers: int = 3) -> cw.Tensor:
        for i in range(use_layers):
            x = ops.relu(self.layers[i](x))
        return x


def test_names_of_cells_and_parameters_can_be_passed_over_and_begin_with_a_prefix() -> None:
    net = Deep(2)
    assert [n for n, _ in net.cells_and_names(name_prefix="net")] == [
        "net", "net.layers", "net.layers.0", "net.layers.1",
    ]  # fmt: skip
    assert [n for n, _ in net.cells_and_names({net.layers[0]})] == ["", "layers", "layers.1"]
    assert [n for n, _ in net.parameters_and_names("a", expand=False)] == []
    net.update_parameters_name("old.")
    assert net.layers[1].bias.name == "old.layers.1.bias"
    assert net.layers[1].param_prefix == "old.layers.1"
    assert net.get_sub_cell("layers.1") is net.layers[1]
    with pytest.raises(AttributeError, match="'7'"):
        net.get_sub_cell("layers.7")


def test_apply_goes_from_the_inside_out() -> None:
    net, seen = Deep(1), []
    assert net.apply(lambda cell: seen.append(cell.cls_name)) is net
    assert seen == ["Dense", "CellList", "Deep"]


def test_parameters_are_made_at_once_when_asked() -> None:
    net = nn.Dense(3, 2)
    assert not net.weight.is_made
    assert list(net.init_parameters_data()) == [net.weight, net.bias]
    assert net.weight.is_made


def test_buffers_are_state_and_no_parameters() -> None:
    class Counted(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", cw.Tensor([1.0, 2.0]))
            self.register_buffer("scratch", cw.Tensor([5.0]), persistent=False)
            self.register_buffer("later", None)
            self.weight = cw.Parameter([1.0])

    outer = nn.SequentialCell(Counted())
    assert [n for n, _ in outer.named_buffers()] == ["0.mean", "0.scratch"]
    assert len(list(outer.buffers())) == 2
    assert list(outer.state_dict()) == ["0.weight", "0.mean"]
    outer[0].mean = cw.Tensor([3.0, 4.0])
    found = outer.load_state_dict({"0.mean": np.array([7.0, 8.0]), "x": 1}, strict=False)
    assert found.missing_keys == ["0.weight"]
    assert found.unexpected_keys == ["x"]
    assert outer[0].mean.tolist() == [7.0, 8.0]
    with pytest.raises(RuntimeError, match="missing are"):
        outer.load_state_dict({"0.mean": np.zeros(2)})
    with pytest.raises(RuntimeError, match=r"'0\.mean' has shape \[2\]"):
        outer.load_state_dict({"0.mean": np.zeros(3)}, strict=False)
    for wrong, error in ((3, TypeError), (cw.Parameter([1.0]), TypeError)):
        with pytest.raises(error):
            outer[0].register_buffer("other", wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(KeyError):
        outer[0].register_buffer("weight", cw.Tensor([1.0]))
    with pytest.raises(TypeError, match="buffer"):
        outer[0].mean = 3


def test_state_dicts_carry_a_network_over() -> None:
    first, second = Deep(2), Deep(2)
    assert second.load_state_dict(first.state_dict()) == ([], [])
    np.testing.assert_array_equal(first(X, 2).data, second(X, 2).data)


@pytest.mark.parametrize("wrap", [lambda f: f, cw.jit], ids=["eager", "jit"])
def test_to_float_computes_in_another_type_and_keeps_the_parameters(
    wrap: Callable[..., Any],
) -> None:
    net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 2))
    call = wrap(net)
    exact = call(X)
    assert net.to_float(cw.float16) is net
    assert call(X).dtype is cw.float16
    np.testing.assert_allclose(call(X).data, exact.data, atol=5e-3)
    weights = net.trainable_params()
    (dx, dweights) = wrap(cw.grad(lambda x: net(x).sum(), 0, weights))(X)
    assert {g.dtype for g in (dx, *dweights)} == {cw.float32} == {p.dtype for p in weights}
    assert net[0].cast_param(net[0].weight).dtype is cw.float16
    net[0].weight.set_data(np.zeros((4, 3), np.float32))
    net[0].bias.set_data(np.zeros(4, np.float32))
    np.testing.assert_allclose(call(X).data[0], net[2].bias.data, atol=5e-3)
    net.to_float(cw.float32)
    assert call(X).dtype is cw.float32
    with pytest.raises(ValueError, match="to_float"):
        net.to_float(cw.int32)


def test_to_float_leaves_other_arguments_and_the_cells_own_state() -> None:
    class Counting(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0
            self.shift = cw.Parameter(np.ones(3, np.float32))

        def shifted(self, x: cw.Tensor) -> cw.Tensor:
            return x + self.shift

        def construct(self, x: cw.Tensor, index: cw.Tensor, more: Any) -> cw.Tensor:
            self.calls += 1
            assert index.dtype is cw.int64
            assert more["y"].dtype is cw.float16
            return self.shifted(x)

    cell = Counting().to_float(cw.float16)
    out = cell(X, cw.Tensor([1]), {"y": X})
    assert out.dtype is cw.float16
    assert cell.calls == 1


@pytest.mark.parametrize("wrap", [lambda f: f, cw.jit], ids=["eager", "jit"])
def test_to_float_leaves_what_construct_writes(wrap: Callable[..., Any]) -> None:
    norm = nn.BatchNorm1d(3).set_train().to_float(cw.float16)
    assert wrap(norm)(X).dtype is cw.float16
    assert norm.moving_mean.dtype is cw.float32
    np.testing.assert_allclose(norm.moving_mean.data, X.data.mean(0) * 0.1, atol=1e-3)


def test_flags() -> None:
    net = nn.Cell(flags={"fast": 1})
    net.act = nn.ReLU()
    assert net.add_flags_recursive(has_effect=True) is net
    assert net.act.has_effect
    assert net.get_flags() == {"fast": 1, "has_effect": True}


def test_set_inputs_are_checked_and_compiled() -> None:
    net = nn.Dense(3, 2)
    assert net.get_inputs() is None
    net.set_inputs(cw.Tensor(shape=[None, 3], dtype=cw.float32))
    net.compile()
    net.compile(X)
    cw.set_context(mode=cw.GRAPH_MODE)
    try:
        assert net(X).shape == (5, 2)
        with pytest.raises(ValueError, match="tensor argument 0"):
            net(cw.Tensor(np.ones((5, 4), np.float32)))
    finally:
        cw.set_context(mode=cw.PYNATIVE_MODE)
    Deep(2).compile(cw.Tensor(shape=[None, 3], dtype=cw.float32), 2)
    with pytest.raises(ValueError, match="not both"):
        net.set_inputs(X, x=X)

    class Outside(nn.Cell):
        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return cw.Tensor(np.sort(x.asnumpy()))

    with pytest.raises(JitError, match="used as a NumPy array"):
        Outside().compile(X)


def test_row_31_symbols_say_which_sizes_a_compiled_call_may_have() -> None:
    rows = cw.Symbol(max=8, divisor=2)
    net = nn.ReLU()
    net.set_inputs(cw.Tensor(shape=(rows, cw.Symbol()), dtype=cw.float32))
    net.compile()
    cw.set_context(mode=cw.GRAPH_MODE)
    try:
        for shape in ((2, 3), (4, 5), (8, 1)):
            assert net(cw.ops.ones(shape)).shape == shape
        for size in (3, 10):
            with pytest.raises(ValueError, match=rf"size {size} on axis 0, which Symbol\(max=8"):
                net(cw.ops.ones((size, 3)))
    finally:
        cw.set_context(mode=cw.PYNATIVE_MODE)
    size = cw.Symbol(unique=True)
    square = cw.jit(
        lambda x: x @ x, input_signature=cw.Tensor(shape=[size, size], dtype=cw.float32)
    )
    assert square(cw.ops.ones((3, 3))).tolist() == [[3] * 3] * 3
    with pytest.raises(ValueError, match="another axis of the same unique symbol has 2"):
        square(cw.ops.ones((2, 3)))
    with pytest.raises(ValueError, match="no size is from 4 to 2"):
        cw.Symbol(max=2, min=4)
