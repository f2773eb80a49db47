"""How many kernels the things that nets are made of become, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.autograd import value_and_grad
from cellwire.engine.compiler.graph import interpret
from cellwire.engine.compiler.plan import compile_graph
from cellwire.engine.compiler.trace import trace
from cellwire.engine.dtype import float32
from cellwire.engine.shape import Aval

F32 = np.float32
ROWS, WIDTH = (24, 16), (16,)


def calls(fn: Callable[..., Any], *shapes: tuple[int, ...]) -> int:
    """Compile, compare with the interpreter, return how often the plan calls a kernel."""
    call = trace(fn, [Aval(shape, float32) for shape in shapes])
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=shape).astype(F32) for shape in shapes]
    arrays += [tensor.data for tensor in call.captured]
    plan = compile_graph(call.graph)
    wanted = interpret(call.graph, arrays)
    for found, expected in zip(plan(*arrays), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert plan.report.host_steps == ()
    return sum(kernel.calls for kernel in plan.report.kernels)


def slopes(fn: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return the gradients by the first inputs; the last one is the output's gradient."""

    def derived(*tensors: Any) -> Any:
        def weighed(*given: Any) -> Any:
            return ops.sum(ops.mul(fn(*given), tensors[-1]))

        return value_and_grad(weighed, tuple(range(count)))(*tensors[:-1])[1]

    return derived


@pytest.mark.parametrize(
    ("fn", "shapes"),
    [
        (ops.softmax, [ROWS]),
        (ops.log_softmax, [ROWS]),
        (lambda x, w, b: ops.layer_norm(x, WIDTH, w, b), [ROWS, WIDTH, WIDTH]),
        (lambda x, w: ops.rms_norm(x, w)[0], [ROWS, WIDTH]),
        (ops.gelu, [ROWS]),
        (ops.silu, [ROWS]),
    ],
    ids=["softmax", "log_softmax", "layer_norm", "rms_norm", "gelu", "silu"],
)
def test_forward_and_backward_are_one_kernel_each(fn: Any, shapes: list[Any]) -> None:
    assert calls(fn, *shapes) == 1
    assert calls(slopes(fn, len(shapes)), *shapes, ROWS) == 1


def test_a_batch_norm_in_training_is_one_kernel_each_way() -> None:
    norm = cw.nn.BatchNorm2d(4)
    norm.set_train()
    shape = (3, 4, 6, 6)
    assert calls(norm, shape) == 1
    assert calls(slopes(norm, 1), shape, shape) == 1


def test_what_is_expensive_and_small_is_not_done_anew_for_every_row() -> None:
    def fn(x: Any, w: Any, v: Any) -> Any:
        return ops.dense(x, w) * ops.rsqrt(ops.exp(v)) + 1.0

    def cheap(x: Any, w: Any, v: Any) -> Any:
        return ops.dense(x, w) * (v + 2.0) + 1.0

    assert calls(fn, ROWS, (8, 16), (8,)) == 2
    assert calls(cheap, ROWS, (8, 16), (8,)) == 1


def test_a_statistic_of_rows_stays_with_its_rows() -> None:
    assert calls(lambda x: x * ops.rsqrt(ops.sum(ops.square(x), 1, keepdims=True)), ROWS) == 1


def test_the_updates_of_equal_blocks_share_their_kernels() -> None:
    def kernels(depth: int) -> int:
        net = cw.nn.SequentialCell([cw.nn.Dense(16, 16, activation="relu") for _ in range(depth)])
        optimizer = cw.nn.Adam(net.trainable_params(), 1e-3)
        derive = cw.value_and_grad(lambda x: ops.mean(net(x)), None, optimizer.parameters)

        def step(x: Any) -> Any:
            value, grads = derive(x)
            optimizer(grads)
            return value

        report = cw.jit.explain(step)(cw.ops.zeros(ROWS)).report  # pyright: ignore[reportFunctionMemberAccess]
        assert report.host_steps == ()
        return len(report.kernels)

    assert kernels(12) == kernels(5)
