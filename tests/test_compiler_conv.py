"""Convolutions in plans: what follows one is done by its kernel, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import ops
from cellwire.engine.compiler.plan import Plan, compile_graph
from cellwire.engine.compiler.trace import trace

SHAPES = [
    # images, channels, filters, size: cut by images, cut by rows, pixels as lanes, packed once
    (4, 5, 20, 9),
    (1, 5, 40, 15),
    (4, 6, 3, 21),
    (2, 80, 96, 6),
]


def plan_of(fn: Callable[..., Any], *arrays: np.ndarray) -> Plan:
    """Compile a function and compare it with itself run eagerly."""
    tensors = [cw.Tensor(array) for array in arrays]
    plan = compile_graph(trace(fn, [tensor.aval for tensor in tensors]).graph)
    for found, expected in zip(plan(*arrays), _tuple(fn(*tensors)), strict=True):
        np.testing.assert_allclose(found, expected.asnumpy(), rtol=1e-4, atol=1e-4)
    assert plan.report.host_steps == ()
    return plan


def _tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def kernels_of(plan: Plan) -> list[tuple[str, ...]]:
    return [kernel.ops for kernel in plan.report.kernels]


def numbers(shape: tuple[int, int, int, int]) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(2)
    n, c, o, size = shape
    sizes = [(n, c, size, size), (o, c, 3, 3), (o,), (n, o, size, size)]
    return tuple(rng.standard_normal(s).astype(np.float32) for s in sizes)


@pytest.mark.parametrize("shape", SHAPES)
def test_bias_residual_and_activation_are_done_by_the_convolution(shape: Any) -> None:
    def fn(x: Any, w: Any, b: Any, r: Any) -> Any:
        return ops.relu(ops.conv2d(x, w, b, pad_mode="same") * 0.5 + r)

    kernels = kernels_of(plan_of(fn, *numbers(shape)))
    assert all("conv2d" in kernel for kernel in kernels)
    assert {"conv2d", "add", "mul", "relu"} <= set(kernels[-1])


def test_a_relu_passes_nan_on_at_the_end_of_a_convolution() -> None:
    x, w, b, _ = numbers((4, 5, 20, 9))
    x[1, 2, 3, 4], x[2, 0, 0, 0] = np.nan, np.inf
    plan_of(lambda x, w, b: ops.relu(ops.conv2d(x, w, b, pad_mode="same")), x, w, b)


def test_what_others_read_as_well_stays_apart() -> None:
    def fn(x: Any, w: Any, b: Any, r: Any) -> Any:
        y = ops.conv2d(x, w, pad_mode="same")
        return ops.relu(y + r), ops.sum(y, 1)

    assert ("conv2d",) in kernels_of(plan_of(fn, *numbers((4, 5, 20, 9))))


def test_long_endings_and_other_shapes_stay_apart() -> None:
    x, w, _, r = numbers((4, 5, 20, 9))
    long = plan_of(lambda x, w: ops.gelu(ops.conv2d(x, w, pad_mode="same")), x, w)
    assert ("conv2d",) in kernels_of(long)
    row = np.arange(9, dtype=np.float32)
    rows = plan_of(lambda x, w, row: ops.conv2d(x, w, pad_mode="same") + row, x, w, row)
    assert ("conv2d",) in kernels_of(rows)
    wide = plan_of(lambda x, w, r: ops.conv2d(x, w, pad_mode="same") + r, x[:1], w, r)
    assert ("conv2d",) in kernels_of(wide)


def test_a_residual_of_the_same_convolution_waits_for_it() -> None:
    def fn(x: Any, w: Any, b: Any) -> Any:
        first = ops.relu(ops.conv2d(x, w, b, pad_mode="same"))
        return ops.relu(ops.conv2d(first, w, b, pad_mode="same") + first)

    x, w, b, _ = numbers((4, 5, 5, 9))
    kernels = kernels_of(plan_of(fn, x, w, b))
    assert all("conv2d" in kernel and "relu" in kernel for kernel in kernels)


def test_the_report_outlines_what_convolutions_do() -> None:
    def fn(x: Any, w: Any, b: Any, g: Any) -> Any:
        found = ops.relu(ops.conv2d(x, w, b, pad_mode="same", stride=2))
        derive = cw.grad(lambda x, w: ops.sum(ops.conv2d(x, w, pad_mode="same") * g), (0, 1))
        return found, *derive(x, w)

    code = plan_of(fn, *numbers((2, 5, 20, 9))).report.code
    assert "Window(" not in code
    assert "Tiling(" not in code
    outline = "  images of 9×9 to 5×5, kernel 3×3, stride 2×2, padding 1 1 1 1\n  for image:\n"
    assert f": float32, 5 channels to 20 filters\n{outline}    for strip of " in code
    assert "maximum(add(sum, x0)" in code
    assert ", the input's gradient, 5 channels to 20 filters\n" in code
    assert ": float32, the weight's gradient, 5 channels to 20 filters\n" in code
    assert "sums of blocks of" in code
