"""Gradients of functions: structures, errors, graphs, writes, memory."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import cellwire.engine.compiler  # noqa: F401 - installs the eager compiler, as users have it
import numpy as np
import pytest
from cellwire.engine import nn, ops
from cellwire.engine import origin as origins
from cellwire.engine.autograd import (
    GradOperation,
    Record,
    compiling_at_once,
    grad,
    gradient_graph,
    no_grad,
    value_and_grad,
)
from cellwire.engine.autograd.gradgraph import _graphs
from cellwire.engine.compiler import jit
from cellwire.engine.compiler.graph import interpret, verify
from cellwire.engine.parameter import Parameter
from cellwire.engine.tensor import Tensor


def x_of(*values: float) -> Tensor:
    return Tensor(np.array(values, np.float32))


def squares(x: Tensor) -> Tensor:
    return (x * x).sum()


# ---- structures ------------------------------------------------------------------------------


def test_int_position_gives_a_tensor_and_tuple_a_tuple() -> None:
    x, y = x_of(1, 2), x_of(3, 4)
    value, slope = value_and_grad(lambda x, y: (x * y).sum(), 1)(x, y)
    assert float(value) == 11
    assert slope.asnumpy().tolist() == [1, 2]
    value, slopes = value_and_grad(lambda x, y: (x * y).sum(), (0, 1))(x, y)
    assert [s.asnumpy().tolist() for s in slopes] == [[3, 4], [1, 2]]
    assert isinstance(grad(lambda x, y: (x * y).sum(), (0,))(x, y), tuple)


def test_weights_alone_or_beside_inputs() -> None:
    w, b = Parameter([1.0, 2.0], "w"), Parameter([0.0, 0.0], "b")

    def loss(x: Tensor) -> Tensor:
        return (x * w + b).sum()

    x = x_of(3, 4)
    _, by_weights = value_and_grad(loss, None, [w, b])(x)
    assert [g.asnumpy().tolist() for g in by_weights] == [[3, 4], [1, 1]]
    _, (by_input, by_weights) = value_and_grad(loss, 0, [w, b])(x)
    assert by_input.asnumpy().tolist() == [1, 2]
    assert len(by_weights) == 2
    assert isinstance(grad(loss, None, w)(x), Tensor)


def test_aux_outputs_pass_through() -> None:
    def fn(x: Tensor) -> tuple[Tensor, Tensor, str]:
        return squares(x), x + 1, "kept"

    (value, more, word), slope = value_and_grad(fn, has_aux=True)(x_of(2))
    assert float(value) == 4
    assert more.asnumpy().tolist() == [3]
    assert word == "kept"
    slope_again, aux_again = grad(fn, has_aux=True)(x_of(2))
    assert slope.asnumpy() == slope_again.asnumpy() == 4
    assert aux_again[1] == "kept"


def test_several_outputs_sum_their_gradients() -> None:
    slope = grad(lambda x: (x * 2, x * 3))(x_of(1, 1))
    assert slope.asnumpy().tolist() == [5, 5]


def test_arguments_that_are_no_tensors_are_skipped() -> None:
    assert grad(lambda a, b: a + b, (0, 1))(1, 2) == ()


def test_a_value_that_left_the_computation_is_told() -> None:
    for leaves in (lambda x: float(x) * 2, lambda x: x.asnumpy() * 2, lambda x: None):
        for derive in (grad(leaves), value_and_grad(leaves)):
            with pytest.raises(TypeError, match="where a Tensor is needed"):
                derive(x_of(3.0))


def test_what_does_not_matter_has_zeros() -> None:
    used, unused = Parameter([1.0], "used"), Parameter([[1.0, 2.0]], "unused")
    _, grads = value_and_grad(lambda x: (x * used).sum(), None, [used, unused])(x_of(3))
    assert grads[1].asnumpy().tolist() == [[0, 0]]


def test_frozen_weights_have_zeros() -> None:
    frozen = Parameter([1.0], "frozen", requires_grad=False)
    assert grad(lambda x: (x * frozen).sum(), None, frozen)(x_of(3)).tolist() == [0]


def test_integer_tensors_can_be_derived_by() -> None:
    slope = grad(lambda x: x * x)(Tensor(np.array([2, 3], np.int32)))
    assert slope.asnumpy().tolist() == [4, 6]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((None, None), ValueError), ((-1,), ValueError), (((0, 0),), ValueError),
        (("0",), TypeError), ((0.5,), TypeError), ((True,), TypeError), ((0, [3]), TypeError),
    ],
)  # fmt: skip
def test_bad_positions_and_weights_are_refused(arguments: Any, error: type) -> None:
    with pytest.raises(error):
        grad(squares, *arguments)


def test_missing_argument_and_missing_aux_are_explained() -> None:
    with pytest.raises(ValueError, match="names no argument"):
        grad(squares, 3)(x_of(1))
    with pytest.raises(ValueError, match="at least two outputs"):
        grad(squares, has_aux=True)(x_of(1))


# ---- GradOperation ---------------------------------------------------------------------------


def test_grad_operation_by_first_all_and_list() -> None:
    def product(x: Tensor, y: Tensor) -> Tensor:
        return x * y

    x, y = x_of(2), x_of(5)
    assert GradOperation()(product)(x, y).asnumpy() == 5
    assert [float(g) for g in GradOperation(get_all=True)(product)(x, y)] == [5, 2]
    net = nn.Dense(1, 1)
    weights = tuple(net.trainable_params())
    by_list = GradOperation(get_by_list=True)(net, weights)(Tensor([[2.0]]))
    assert len(by_list) == len(weights)
    inputs, by_list = GradOperation(get_all=True, get_by_list=True)(net, weights)(Tensor([[2.0]]))
    assert len(inputs) == 1


def test_grad_operation_takes_the_outputs_gradient() -> None:
    weighted = GradOperation(sens_param=True)(lambda x: x * x)
    assert weighted(x_of(1, 2), x_of(10, 100)).asnumpy().tolist() == [20, 400]
    assert weighted(x_of(1, 2), sens=x_of(1, 1)).asnumpy().tolist() == [2, 4]
    with pytest.raises(ValueError, match="must be equal"):
        weighted(x_of(1, 2), x_of(1, 1, 1))
    with pytest.raises(TypeError):
        GradOperation(get_all=1)  # pyright: ignore[reportArgumentType]


# ---- rules -----------------------------------------------------------------------------------


def test_stop_gradient_and_no_grad_cut() -> None:
    assert grad(lambda x: (ops.stop_gradient(x) * x).sum())(x_of(3)).asnumpy() == 3

    def fn(x: Tensor) -> Tensor:
        with no_grad():
            constant = x * x
        return (constant * x).sum()

    assert grad(fn)(x_of(3)).asnumpy() == 9
    assert ops.stop_gradient("any object") == "any object"


def test_second_and_third_derivatives() -> None:
    x = x_of(2)
    second = grad(grad(lambda x: (x * x * x * x).sum()))
    assert second(x).asnumpy() == 48
    assert grad(second)(x).asnumpy() == 48
    assert jit(second)(x).asnumpy() == 48


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "gelu", "tanh", "silu"])
def test_second_derivatives_of_functions(name: str) -> None:
    function, weight = getattr(ops, name), Tensor(np.linspace(-1, 2, 5))
    x = Tensor(np.linspace(-1, 1, 5))

    def slope(x: Tensor) -> Tensor:
        return (grad(lambda x: (function(x) * weight).sum())(x) * weight).sum()

    found, step = grad(slope)(x).asnumpy(), 1e-6
    for i in range(5):
        up, down = x.asnumpy().copy(), x.asnumpy().copy()
        up[i] += step
        down[i] -= step
        expected = (float(slope(Tensor(up))) - float(slope(Tensor(down)))) / (2 * step)
        assert found[i] == pytest.approx(expected, abs=1e-6)


def test_powers_at_zero() -> None:
    x = x_of(0, 0, 0)
    slope = grad(lambda x: (x ** Tensor([0.0, 1.0, 2.0])).sum())(x)
    assert slope.tolist() == [0, 1, 0]


def test_one_input_twice() -> None:
    assert grad(lambda x: ops.mse_loss(x, x * 0.5))(x_of(2, 2)).asnumpy().tolist() == [0.5, 0.5]
    assert grad(lambda x: (x + x).sum())(x_of(1)).asnumpy() == 2


def test_control_flow_takes_the_path_that_ran() -> None:
    def fn(x: Tensor) -> Tensor:
        return (x * 2).sum() if x.sum() > 0 else (x * 3).sum()

    assert grad(fn)(x_of(1)).asnumpy() == 2
    assert grad(fn)(x_of(-1)).asnumpy() == 3


class Scaled(nn.Cell):
    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return x * y

    def bprop(self, x: Tensor, y: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor, Tensor]:
        return dout * 100, out * 7


def test_bprop_of_a_cell_in_eager_mode_and_jit() -> None:
    net, x, y = Scaled(), x_of(1, 2), x_of(3, 4)

    def fn(x: Tensor, y: Tensor) -> Tensor:
        return net(x * 2, y).sum()

    for derived in (grad(fn, (0, 1)), jit(grad(fn, (0, 1))), grad(jit(fn), (0, 1))):
        by_x, by_y = derived(x, y)
        assert by_x.asnumpy().tolist() == [200, 200]
        assert by_y.asnumpy().tolist() == [42, 112]


@pytest.mark.parametrize(
    ("given", "error"),
    [((1,), ValueError), ((None, None), TypeError), (None, ValueError)],
)
def test_bprop_results_are_checked(given: Any, error: type) -> None:
    class Wrong(Scaled):
        def bprop(self, x: Tensor, y: Tensor, out: Tensor, dout: Tensor) -> Any:
            return given

    with pytest.raises(error, match="Wrong"):
        grad(Wrong())(x_of(1), x_of(2))


def test_bprop_without_out_and_dout_is_refused() -> None:
    class Short(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x

        def bprop(self, x: Tensor) -> Tensor:
            return x

    with pytest.raises(TypeError, match="The params of function 'bprop'"):
        grad(Short())(x_of(1))


# ---- writes ----------------------------------------------------------------------------------


def test_writing_an_element_keeps_gradients_right() -> None:
    def fn(x: Tensor) -> Tensor:
        y = x * 2
        y[0] = x[1] * 5
        return (y * y).sum()

    assert grad(fn)(x_of(1, 3)).asnumpy().tolist() == [0, 174]


def test_values_read_before_a_write_keep_their_meaning() -> None:
    def fn(x: Tensor) -> Tensor:
        y = x * 1
        z = y * y
        y[0] = 7.0
        return (z + y).sum()

    assert grad(fn)(x_of(1, 3)).asnumpy().tolist() == [2, 7]


def test_a_view_made_before_and_used_after_a_write_is_refused() -> None:
    def fn(x: Tensor) -> Tensor:
        y = x * 2
        view = y.reshape(-1)
        y[0] = 1.0
        return (view * view).sum()

    with pytest.raises(RuntimeError, match="written to"):
        grad(fn)(x_of(1, 3))


def test_only_gradients_by_an_overwritten_parameter_itself_are_refused() -> None:
    w = Parameter([2.0], "w")

    def fn(x: Tensor) -> Tensor:
        y = (x * w).sum()
        w.set_data(Tensor([5.0]))
        return y

    assert grad(fn)(x_of(3)).tolist() == [2]
    with pytest.raises(RuntimeError, match="written to"):
        grad(fn, None, w)(x_of(3))


def test_set_data_counts_versions() -> None:
    w = Parameter([2.0], "w")
    buffer = w.data
    w.set_data(Tensor([5.0]))
    w += 1
    assert w.version == 2
    assert w.data is buffer
    assert float(w) == 6


# ---- the gradient graph ----------------------------------------------------------------------


def test_structures_share_one_graph_which_is_compiled_when_it_recurs() -> None:
    _graphs.clear()
    derived = grad(lambda x: ops.softmax(x).max())
    first = derived(x_of(1, 2, 3))
    (graph,) = _graphs.values()
    assert graph.plan is None
    again = derived(x_of(1, 2, 3))
    assert graph.plan is not None
    assert len(_graphs) == 1
    np.testing.assert_allclose(first.asnumpy(), again.asnumpy(), 1e-6)
    derived(x_of(1, 2))
    assert len(_graphs) == 2


def test_compiling_at_once_gives_the_same_bits_every_time() -> None:
    _graphs.clear()
    derived = grad(lambda x: (ops.gelu(x) * ops.softmax(x)).sum())
    x = Tensor(np.linspace(-2, 2, 37, dtype=np.float32))
    with compiling_at_once():
        results = [derived(x).asnumpy().tobytes() for _ in range(3)]
    assert len(set(results)) == 1


def test_gradient_graph_can_be_stepped_and_carries_origins() -> None:
    def place(node: str) -> origins.Origin:
        return origins.Origin((), node, "out")

    x = x_of(1, 2)
    with Record() as record:
        with origins.at(place("double")):
            y = x * 2
        with origins.at(place("left")):
            a = y * y
        with origins.at(place("right")):
            b = ops.exp(y)
        with origins.at(place("loss")):
            loss = (a + b).sum()
    graph, arrays = gradient_graph(record, [loss], [x])
    verify(graph)
    seen: list[str] = []
    (slope,) = interpret(
        graph,
        [*arrays, np.ones((), np.float32)],
        lambda node, outputs: seen.append(str(node.origin)),
    )
    np.testing.assert_allclose(slope, 2 * (4 * x.data + np.exp(2 * x.data)), 1e-6)
    assert all(text.endswith("(gradient)") for text in seen)
    assert {text.split(".")[0] for text in seen} == {"double", "left", "right", "loss"}
    sums = [node for node in graph.nodes if node.op.name == "add"]
    assert sums, "the contributions of left and right meet in an add"


def test_records_free_what_they_held() -> None:
    kept: list[weakref.ref[Tensor]] = []

    def fn(x: Tensor) -> Tensor:
        y = x * 3
        kept.append(weakref.ref(y))
        return (y * y).sum()

    def failing(x: Tensor) -> Tensor:
        fn(x)
        raise ArithmeticError

    grad(fn)(x_of(1))
    with pytest.raises(ArithmeticError):
        grad(failing)(x_of(1))
    gc.collect()
    assert [ref() for ref in kept] == [None, None]


def test_gradients_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((6, 5), (3, 5), (3,)))
    labels = np.array([0, 1, 2, 0, 1, 2])

    def loss(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        hidden = ops.layer_norm(ops.gelu(ops.dense(x, w, b)), 3)
        return ops.cross_entropy(hidden, Tensor(labels), label_smoothing=0.1)

    value, grads = value_and_grad(loss, (0, 1, 2))(Tensor(x), Tensor(w), Tensor(b))
    tensors = [torch.tensor(item, requires_grad=True) for item in (x, w, b)]
    functional = torch.nn.functional
    hidden = functional.layer_norm(functional.gelu(functional.linear(*tensors)), (3,))
    expected = functional.cross_entropy(hidden, torch.tensor(labels), label_smoothing=0.1)
    expected.backward()
    assert float(value) == pytest.approx(expected.item(), rel=1e-5)
    for mine, theirs in zip(grads, tensors, strict=True):
        np.testing.assert_allclose(mine.asnumpy(), theirs.grad.numpy(), 1e-4, 1e-6)


def test_grad_inside_no_grad_is_refused() -> None:
    with no_grad(), pytest.raises(RuntimeError, match="inside no_grad"):
        grad(squares)(x_of(1))
    assert grad(squares)(x_of(1)).asnumpy() == 2


def test_element_writes_are_compiled() -> None:
    def fn(x: Tensor) -> Tensor:
        y = x * 2
        y[0] = 7.0
        return (y * x).sum()

    compiled = jit(fn, fullgraph=True)
    assert float(compiled(x_of(1, 2, 3))) == 33
    assert grad(compiled)(x_of(1, 2, 3)).asnumpy().tolist() == [7, 8, 12]
