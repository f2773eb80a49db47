"""Resizing and means of uneven areas in plans: what NumPy's kernels of the same ops give."""

from __future__ import annotations

from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler.jit import explain
from cellwire.engine.ops.registry import OPS, apply

ops = cw.ops
RNG = np.random.default_rng(3)


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Return numbers with infinities, NaN and negative zeros among them."""
    found = RNG.standard_normal(shape).astype(dtype)
    flat = found.reshape(-1)
    flat[3::41], flat[5::43], flat[7::11], flat[9::97] = np.inf, np.nan, -0.0, -np.inf
    return found


def equal(name: str, x: np.ndarray, **attrs: Any) -> None:
    """Compare a plan, which must be native, with the op's own kernel, bit by bit."""
    op = OPS[name]

    def run(tensor: cw.Tensor) -> Any:
        return apply(op, (tensor,), attrs)

    with np.errstate(invalid="ignore"):
        wanted = op.kernel(x, **attrs)
    found = cw.jit(run, fullgraph=True)(cw.Tensor(x)).asnumpy()
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    there = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[there]), np.signbit(wanted[there]))
    assert "host" not in str(explain(run)(cw.Tensor(x)))


TABLES = [
    ("nearest", "asymmetric"), ("nearest", "pixel"), ("linear", "corners"), ("linear", "pixel"),
    ("cubic", "pixel"), ("area", "pixel"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "how"), TABLES)
@pytest.mark.parametrize("outputs", [3, 17, 41])
def test_an_axis_is_read_at_other_places(kind: str, how: str, outputs: int) -> None:
    attrs = {"outputs": outputs, "kind": kind, "how": how, "scale": None}
    for axis, dtype in ((2, np.float32), (1, np.float64)):
        equal("resample", numbers(3, 17, 20, dtype=dtype), axis=axis, **attrs)
        dout = numbers(3, 17, 20, dtype=dtype)
        back = {**attrs, "outputs": dout.shape[axis]}
        equal("resample_sum", dout, size=outputs, axis=axis, **back)


def test_pixels_lie_where_a_scale_puts_them() -> None:
    attrs = {"axis": 1, "outputs": 23, "kind": "linear", "how": "pixel", "scale": 1 / 1.7}
    equal("resample", numbers(2, 14, 5), **attrs)


@pytest.mark.parametrize("sizes", [(3, 4), (5, 10), (1, 3), (6, 7)])
def test_means_of_uneven_areas(sizes: tuple[int, int]) -> None:
    x, dout = numbers(2, 3, 7, 10), numbers(2, 3, *sizes, dtype=np.float64)
    equal("adaptive_mean", x, output_size=sizes)
    equal("adaptive_mean_grad", dout, size=(7, 10))


def test_layers_of_them_run_natively_and_so_do_their_gradients() -> None:
    def loss(x: cw.Tensor) -> cw.Tensor:
        large = ops.interpolate(x, (14, 15), mode="bilinear", align_corners=True)
        return ops.sum(ops.square(ops.adaptive_avg_pool2d(large, (4, 6))))

    x = cw.Tensor(RNG.standard_normal((2, 3, 7, 9)).astype(np.float32))
    derive = cw.value_and_grad(loss)
    wanted, found = derive(x), cw.jit(lambda x: derive(x), fullgraph=True)(x)  # noqa: PLW0108
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)
    assert "host" not in str(explain(lambda x: derive(x))(x))  # noqa: PLW0108


def test_half_precision_is_computed_in_float32() -> None:
    x = cw.Tensor(RNG.standard_normal((2, 3, 7, 9)).astype(np.float16))
    fn = cw.jit(lambda x: ops.adaptive_avg_pool2d(x, (4, 5)), fullgraph=True)
    wide = ops.adaptive_avg_pool2d(x.astype(cw.float32), (4, 5)).asnumpy()
    np.testing.assert_array_equal(fn(x).asnumpy(), wide.astype(np.float16))


def test_equal_tables_are_one_constant() -> None:
    def both(x: cw.Tensor) -> cw.Tensor:
        return ops.interpolate(x, 9, mode="linear") + ops.interpolate(x * 2.0, 9, mode="linear")

    x = cw.Tensor(RNG.standard_normal((2, 3, 5)).astype(np.float32))
    report = str(explain(both)(x))
    assert report.count("native taps") == 1
    assert "×2" in report
