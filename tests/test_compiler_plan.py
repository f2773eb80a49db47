"""Plans: fused machine code gives what the interpreter gives, in few kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.autograd import grad, value_and_grad
from cellwire.engine.compiler.fuse import Fuser
from cellwire.engine.compiler.graph import interpret, verify
from cellwire.engine.compiler.plan import compile_graph
from cellwire.engine.compiler.simplify import simplify
from cellwire.engine.compiler.trace import trace
from cellwire.engine.dtype import dtype_of
from cellwire.engine.origin import Origin, at
from cellwire.engine.shape import Aval
from hypothesis import given, settings
from hypothesis import strategies as st

F32 = np.float32


def normal(*shape: int, dtype: Any = F32) -> np.ndarray:
    return np.random.default_rng(sum(shape) + 1).normal(size=shape).astype(dtype)


def traced(fn: Callable[..., Any], *arrays: np.ndarray) -> Any:
    return trace(fn, [Aval(a.shape, dtype_of(a.dtype)) for a in arrays])


def check(
    fn: Callable[..., Any],
    *arrays: np.ndarray,
    rtol: float = 2e-5,
    atol: float = 2e-5,
    taps: Sequence[Any] = (),
) -> Any:
    """Compile, compare with the interpreter, return the plan."""
    call = traced(fn, *arrays)
    arrays = [*arrays, *(t.data for t in call.captured)]
    with np.errstate(all="ignore"):
        expected = interpret(call.graph, arrays)
    simple = simplify(call.graph)
    verify(simple)
    plan = compile_graph(call.graph, taps=taps)
    for found, wanted in zip(plan(*arrays), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)
    return plan


def kernels(plan: Any) -> int:
    assert plan.report.host_steps == ()
    return sum(kernel.calls for kernel in plan.report.kernels)


# ---- what fuses ------------------------------------------------------------------------------


def test_a_pointwise_chain_with_broadcasting_is_one_kernel() -> None:
    plan = check(
        lambda x, y, z: ops.tanh(x * y + z) - ops.exp(-ops.abs(x)),
        normal(5, 7), normal(7), normal(5, 1),
    )  # fmt: skip
    assert kernels(plan) == 1


def test_softmax_and_its_gradient_are_one_kernel() -> None:
    x, dy = normal(6, 10), normal(6, 10)
    assert kernels(check(ops.softmax, x)) == 1
    both = check(lambda x, dy: grad(lambda v: ops.sum(ops.softmax(v) * dy))(x), x, dy)
    assert kernels(both) == 1


def test_layer_norm_and_its_three_gradients_are_one_kernel() -> None:
    x, g, b, dy = normal(6, 10), normal(10), normal(10), normal(6, 10)

    def backward(x: Any, g: Any, b: Any, dy: Any) -> Any:
        def loss(x: Any, g: Any, b: Any) -> Any:
            return ops.sum(ops.layer_norm(x, (10,), g, b) * dy)

        return grad(loss, (0, 1, 2))(x, g, b)

    assert kernels(check(lambda x, g, b: ops.layer_norm(x, (10,), g, b), x, g, b)) == 1
    assert kernels(check(backward, x, g, b, dy, rtol=1e-4, atol=1e-5)) == 1


def test_cross_entropy_is_one_kernel_and_with_its_gradient_two_beside_its_check() -> None:
    x, labels = normal(6, 10), np.arange(6, dtype=np.int32)
    alone = check(ops.cross_entropy, x, labels).report.kernels
    assert [kernel.kind for kernel in alone] == ["native", "loop"]
    assert alone[0].ops == ("require_labels",)
    both = check(lambda x, y: value_and_grad(lambda v: ops.cross_entropy(v, y))(x), x, labels)
    assert [kernel.kind for kernel in both.report.kernels] == ["native", "loop", "loop"]


def test_a_dense_layer_takes_bias_activation_residual_and_norm_as_its_epilogue() -> None:
    x, w, b, g = normal(9, 12), normal(12, 12), normal(12), normal(12)
    plan = check(
        lambda x, w, b, g: ops.layer_norm(ops.relu(ops.dense(x, w, b)) + x, (12,), g, b),
        x, w, b, g, rtol=1e-4, atol=1e-4,
    )  # fmt: skip
    assert kernels(plan) == 1
    assert plan.report.kernels[0].kind == "gemm"


def test_what_a_gemm_is_followed_by_may_read_what_was_computed_before_it() -> None:
    def fn(x: Any, w: Any) -> Any:
        early = ops.tanh(x * x)
        return ops.maximum(ops.tanh(ops.matmul(x, w)), early)

    assert kernels(check(fn, normal(3, 4, 6), normal(6, 6))) == 1


def test_a_batch_of_columns_is_no_matrix_of_rows() -> None:
    check(lambda x, y: ops.tanh(ops.matmul(x, y)) + 1.0, normal(5, 8, 3), normal(5, 3, 1))


def test_batch_statistics_and_normalisation_are_one_kernel() -> None:
    def fn(x: Any, mean: Any, variance: Any, weight: Any, bias: Any) -> Any:
        return ops.batch_norm(x, mean, variance, weight, bias, training=True)

    plan = check(fn, normal(4, 3, 5, 6), normal(3), np.abs(normal(3)), normal(3), normal(3))
    assert kernels(plan) == 1


def test_column_sums_run_in_one_pass() -> None:
    plan = check(lambda x: (ops.sum(x, 0), ops.sum(x * x, 0)), normal(20, 33))
    assert kernels(plan) == 1


def test_equal_updates_of_tensors_of_other_sizes_share_one_kernel() -> None:
    def step(*args: Any) -> Any:
        half = len(args) // 2
        return tuple(p - 0.1 * g for p, g in zip(args[:half], args[half:], strict=True))

    plan = check(step, normal(3, 4), normal(7), normal(5, 5), normal(3, 4), normal(7), normal(5, 5))
    assert len(plan.report.kernels) == 1
    assert plan.report.kernels[0].calls == 3


def test_groups_stay_convex() -> None:
    def fn(x: Any) -> Any:
        a = ops.exp(x)
        b = ops.matmul(a, a)
        return a + b + ops.sum(a * b)

    fusion = Fuser(simplify(traced(fn, normal(4, 4)).graph)).run()
    numbers = [group.number for group in fusion.groups]
    assert len(set(numbers)) == len(numbers)
    check(fn, normal(4, 4), rtol=1e-4)


# ---- views and contractions ------------------------------------------------------------------


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: ops.transpose(x, (2, 0, 1)),
        lambda x: ops.exp(ops.transpose(x, (1, 0, 2))) + 1.0,
        lambda x: x[1:, ::2, -3:] * 2.0,
        lambda x: ops.reshape(ops.transpose(x, (2, 1, 0)), (-1,)) * 3.0,
        lambda x: ops.broadcast_to(ops.sum(x, 1, keepdims=True), x.shape) - x,
        lambda x: ops.expand_dims(ops.sum(x, 2), 1) * ops.exp(x[:, :1, :4]),
        lambda x: ops.softmax(ops.transpose(x, (0, 2, 1))),
        lambda x: ops.softmax(x, 1),
        lambda x: ops.softmax(ops.reshape(ops.exp(x), (6, -1))),
        lambda x: (ops.reshape(x, (-1,)), ops.reshape(ops.exp(x), (-1,))),
        lambda x: (x, x + 1.0, ops.sum(x)),
    ],
)
def test_views_are_read_in_place_or_copied_right(fn: Callable[..., Any]) -> None:
    check(fn, normal(3, 4, 5))


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((3, 4), (2, 4, 5)),
     ((1, 4), (4, 1)), ((4,), (4, 5)), ((2, 1, 3, 4), (5, 4, 2))],
)  # fmt: skip
def test_contractions_of_any_rank(a: Any, b: Any) -> None:
    check(lambda x, y: ops.relu(ops.matmul(x, y) + 1.0), normal(*a), normal(*b))


def test_transposed_operands_need_no_copy() -> None:
    plan = check(
        lambda x, y: ops.matmul(ops.transpose(x, (1, 0)), ops.transpose(y, (1, 0))),
        normal(4, 3), normal(5, 4),
    )  # fmt: skip
    assert kernels(plan) == 1


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32])
def test_other_dtypes(dtype: Any) -> None:
    x = (normal(5, 6) * 3).astype(dtype)
    tolerance = 2e-3 if dtype == np.float16 else 1e-6
    check(lambda x: ops.maximum(x * x - x, x), x, rtol=tolerance, atol=tolerance)
    check(lambda x: ops.sum(x + x, -1), x, rtol=tolerance, atol=tolerance)


def test_an_op_with_a_numpy_kernel_runs_between_native_runs_and_is_reported() -> None:
    plan = check(lambda x: ops.exp(ops.logcumsumexp(x * 2.0, 0)), normal(3, 4))
    assert [(s.op, bool(s.reason)) for s in plan.report.host_steps] == [("logcumsumexp", True)]
    assert plan.report.native_runs == 2


# ---- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: ops.pow(ops.cast(x, dtype_of("int32")), ops.cast(x, dtype_of("int32"))),
        lambda x: ops.maximum(x > 1, x > 2),
        lambda x: ops.amax(x > 1, axis=1),
        lambda x: ops.amin(x > 1, axis=0),
    ],
)
def test_what_native_code_does_not_know_of_a_dtype_runs_in_numpy_and_is_reported(
    fn: Callable[..., Any],
) -> None:
    plan = check(lambda x: ops.cast(fn(ops.exp(x)), dtype_of("float32")) * 2, abs(normal(4, 6)))
    assert len(plan.report.host_steps) == 1
    assert plan.report.kernels


def test_nan_infinity_and_signed_zero_survive() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 1.0, -1.0], F32)
    plan = compile_graph(
        traced(lambda x: (x * 1.0, ops.maximum(x, 0.0) + x, ops.isnan(x)), x).graph
    )
    with np.errstate(all="ignore"):
        same, total, nan = plan(x)
    assert same.tobytes() == x.tobytes()
    np.testing.assert_array_equal(total, np.maximum(x, 0) + x)
    np.testing.assert_array_equal(nan, np.isnan(x))


def test_softmax_of_large_and_infinite_logits() -> None:
    x = np.array([[1e30, 1e30, 0], [-np.inf, 0, 0], [np.nan, 0, 1]], F32)
    (out,) = compile_graph(traced(ops.softmax, x).graph)(x)
    np.testing.assert_allclose(out[:2], [[0.5, 0.5, 0], [0, 0.5, 0.5]], rtol=1e-6)
    assert np.isnan(out[2]).all()


UNARY = [ops.exp, ops.tanh, ops.neg, ops.abs, ops.sigmoid, ops.square, ops.relu]
BINARY = [ops.add, ops.sub, ops.mul, ops.maximum, ops.minimum]


@st.composite
def programs(draw: Any) -> Any:
    """Random graphs of pointwise ops, reductions and views over small tensors."""
    steps = draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 19)))
    return shape, steps


def build(steps: Sequence[Any]) -> Any:
    def fn(x: Any, y: Any) -> Any:
        values = [x, y]
        for step in steps:
            kind, step = step % 8, step // 8
            a = values[step % len(values)]
            b = values[(step // 7) % len(values)]
            if kind < 3:
                values.append(ops.tanh(UNARY[step % len(UNARY)](a)))
            elif kind < 5:
                values.append(ops.tanh(BINARY[step % len(BINARY)](a, b)))
            elif kind == 5:
                axes = [(0,), (1,), (2,), (1, 2), (0, 1), (0, 2), (0, 1, 2)][step % 7]
                reduce = [ops.sum, ops.amax, ops.mean][step % 3]
                values.append(ops.tanh(reduce(a, axes, keepdims=True)))
            elif kind == 6:
                values.append(ops.broadcast_to(a, x.shape))
            else:
                values.append(ops.reshape(ops.reshape(a, (-1,)), a.shape))
        return tuple(values[2:])

    return fn


@settings(max_examples=25, deadline=None, derandomize=True)
@given(programs())
def test_random_graphs_agree_with_the_interpreter(program: Any) -> None:
    shape, steps = program
    check(build(steps), normal(*shape), normal(shape[0], 1, shape[2]), rtol=1e-4, atol=1e-5)


# ---- plans -----------------------------------------------------------------------------------


def test_another_batch_size_compiles_no_new_machine_code() -> None:
    def fn(x: Any, w: Any, b: Any) -> Any:
        h = ops.relu(ops.dense(x, w, b))
        return ops.mean(ops.softmax(h) * h), ops.sum(h, 0)

    w, b = normal(16, 12), normal(16)
    check(fn, normal(8, 12), w, b)
    for batch in (5, 32, 77):
        assert not check(fn, normal(batch, 12), w, b, rtol=1e-4, atol=1e-4).report.compiled


def test_an_edit_compiles_only_the_kernels_that_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CELLWIRE_CACHE_DIR", str(tmp_path))

    def net(last: Callable[..., Any]) -> Any:
        def fn(x: Any, w: Any) -> Any:
            return last(ops.matmul(ops.matmul(ops.tanh(x) * 1.5, w) * 2.5, w))

        return compile_graph(traced(fn, normal(4, 6), normal(6, 6)).graph)

    first = net(ops.tanh)
    before = set(tmp_path.rglob("*.o"))
    second = net(ops.softmax)
    assert len(first.report.kernels) == len(second.report.kernels) == 3
    assert len(set(tmp_path.rglob("*.o")) - before) == 2  # the last kernel and the program


def test_a_tap_gives_its_value_before_anything_reads_it() -> None:
    call = traced(lambda x: ops.exp(ops.tanh(x) * 2.0) + 1.0, normal(4, 5))
    tapped = call.graph.nodes[1].outputs[0]
    plan = compile_graph(call.graph, taps=[tapped])
    x = normal(4, 5)
    run = plan.segments(x)
    value, array = next(run)
    assert value is tapped
    np.testing.assert_allclose(array, np.tanh(x) * 2, rtol=1e-5, atol=1e-6)
    with pytest.raises(StopIteration) as end:
        next(run)
    np.testing.assert_allclose(end.value.value[0], np.exp(np.tanh(x) * 2) + 1, rtol=1e-5)
    assert sum(k.calls for k in plan.report.kernels) == 2


def test_what_a_tap_yields_can_be_changed_before_it_is_read() -> None:
    call = traced(lambda x: ops.exp(x) * 2.0, normal(3))
    plan = compile_graph(call.graph, taps=[call.graph.nodes[0].outputs[0]])
    run = plan.segments(normal(3))
    _, array = next(run)
    array[...] = 5
    with pytest.raises(StopIteration) as end:
        next(run)
    assert end.value.value[0].tolist() == [10, 10, 10]


def test_results_never_share_memory_with_later_calls() -> None:
    plan = check(lambda x: (ops.exp(x), ops.sum(ops.exp(x) * 2.0, 0)), normal(3, 4))
    first = [a.copy() for a in plan(normal(3, 4))]
    kept = plan(normal(3, 4))
    plan(normal(3, 4) + 1)
    for a, b in zip(first, kept, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_plan_names_the_array_that_does_not_fit() -> None:
    plan = check(lambda x: x + 1.0, normal(3, 4))
    with pytest.raises(ValueError, match=r"float32\[3, 4\]"):
        plan(normal(4, 3))
    with pytest.raises(ValueError, match="1 arrays"):
        plan()


def test_the_report_names_origins_and_shows_code() -> None:
    def fn(x: Any) -> Any:
        with at(Origin((), "n1", "out")):
            y = ops.exp(x)
        with at(Origin((), "n2", "out")):
            return y * 2.0

    report = check(fn, normal(3, 4)).report
    assert [origin.node for origin in report.kernels[0].origins] == ["n1", "n2"]
    assert "exp" in report.code
    assert "1 kernel " in str(report)


# ---- convolution and pooling -----------------------------------------------------------------


def test_a_convolutional_net_and_its_gradients_are_one_native_run() -> None:
    def loss(x: Any, w: Any, b: Any, v: Any) -> Any:
        h = ops.relu(ops.conv2d(x, w, b, pad_mode="pad", padding=1))
        h = ops.max_pool2d(h, 2, 2)
        return ops.sum(ops.square(ops.dense(ops.reshape(h, (h.shape[0], -1)), v)))

    arrays = normal(3, 2, 8, 8), normal(4, 2, 3, 3), normal(4), normal(5, 64)
    plan = check(value_and_grad(loss, (0, 1, 2, 3)), *arrays, rtol=1e-3, atol=1e-3)
    assert plan.report.host_steps == ()
    assert plan.report.native_runs == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_overlapping_windows_and_large_images(dtype: Any) -> None:
    def fn(x: Any, w: Any) -> Any:
        y = ops.conv2d(ops.transpose(x, (0, 1, 3, 2)), w, stride=2, dilation=2)
        return ops.sum(ops.max_pool2d(y, 3, 1)) + ops.sum(ops.exp(-ops.abs(y)))

    x, w = normal(2, 3, 17, 15, dtype=dtype), normal(6, 3, 3, 3, dtype=dtype)
    check(value_and_grad(fn, (0, 1)), x, w, rtol=1e-3, atol=1e-3)


def test_grouped_and_strided_convolutions_leave_nothing_to_numpy() -> None:
    def fn(x: Any, w: Any) -> Any:
        return ops.sum(ops.conv2d(x, w, stride=2, groups=3) ** 2)

    plan = check(value_and_grad(fn, (0, 1)), normal(2, 3, 7, 7), normal(3, 1, 3, 3))
    assert plan.report.host_steps == ()


def test_a_float_too_large_for_a_small_integer_wraps_as_in_numpy() -> None:
    values = np.array([-2.0, 3.7, 255.0, 300.0], np.float32)

    def fn(x: Any) -> Any:
        return ops.cast(ops.cast(x, dtype_of("uint8")), dtype_of("float32")) * 2

    compiled = cw.jit(fn, fullgraph=True)(cw.Tensor(values))
    np.testing.assert_array_equal(compiled.asnumpy(), fn(cw.Tensor(values)).asnumpy())
