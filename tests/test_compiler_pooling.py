"""Pooling in plans: native with gradients, whatever the padding, the size and the kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import ops

F32 = np.float32


def images(*shape: int, dtype: Any = F32) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def same(fn: Callable[..., Any], *arrays: np.ndarray) -> Any:
    """Compare value and gradients of the compiled function with the eager one; return its plan."""
    run = cw.jit(fn, fullgraph=True)
    found, wanted = run(*map(cw.Tensor, arrays)), fn(*map(cw.Tensor, arrays))
    np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-6, atol=1e-7)

    def total(*tensors: Any) -> Any:
        return ops.sum(ops.square(fn(*tensors)))

    derive = cw.value_and_grad(total, 0)
    compiled = cw.jit(derive, fullgraph=True)
    (found, slope), (wanted, direct) = (f(*map(cw.Tensor, arrays)) for f in (compiled, derive))
    np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(slope.asnumpy(), direct.asnumpy(), rtol=1e-6, atol=1e-6)
    for call in (run, compiled):
        report = str(cw.jit.explain(call)(*map(cw.Tensor, arrays)))  # pyright: ignore[reportFunctionMemberAccess]
        assert "host" not in report, report
    return compiled


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "fn",
    [
        lambda x: ops.avg_pool2d(x, 3, 2, 1),
        lambda x: ops.avg_pool2d(x, 2, 2),
        lambda x: ops.avg_pool2d(x, (3, 2), (2, 1), (1, 0), ceil_mode=True),
        lambda x: ops.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        lambda x: ops.avg_pool2d(x, 3, 2, 1, True, False),
        lambda x: ops.avg_pool2d(x, 3, 1, divisor_override=5),
        lambda x: ops.max_pool2d(x, 3, 2, 1),
        lambda x: ops.max_pool2d(x, (3, 2), 1, (1, 0, 0, 1), (2, 1)),
        lambda x: ops.max_pool2d(x, 7, 1, 3),
    ],
    ids=["padded", "whole", "ceil", "uncounted", "ceil uncounted", "divisor", "max", "sides",
         "large"],
)  # fmt: skip
def test_windows_over_images_are_native(fn: Callable[..., Any], dtype: Any) -> None:
    same(fn, images(2, 3, 8, 9, dtype=dtype))


@pytest.mark.parametrize(
    ("fn", "shape"),
    [
        (lambda x: ops.avg_pool1d(x, 3, 2, 1), (2, 3, 9)),
        (lambda x: ops.max_pool1d(x, 3, 2, 1), (2, 3, 9)),
        (lambda x: ops.avg_pool3d(x, 2, 2), (2, 2, 4, 4, 6)),
        (lambda x: ops.max_pool3d(x, 3, 2, 1), (2, 2, 4, 5, 6)),
        (lambda x: ops.adaptive_avg_pool2d(x, 1), (2, 3, 6, 4)),
        (lambda x: ops.adaptive_avg_pool2d(x, (3, 2)), (2, 3, 6, 4)),
    ],
    ids=["avg 1d", "max 1d", "avg 3d", "max 3d", "global", "adaptive"],
)
def test_other_axes_and_sizes_are_native(fn: Callable[..., Any], shape: tuple[int, ...]) -> None:
    same(fn, images(*shape))


def test_nan_and_infinity_win_and_padding_never_does() -> None:
    x = np.full((1, 1, 5, 5), -np.inf, F32)
    x[0, 0, 0, 0], x[0, 0, 4, 4] = np.nan, 1
    for window in (3, 7):  # compared in registers, and in memory
        found = cw.jit(lambda x, w=window: ops.max_pool2d(x, w, 2, w // 2))(cw.Tensor(x))
        wanted = ops.max_pool2d(cw.Tensor(x), window, 2, window // 2)
        np.testing.assert_array_equal(found.asnumpy(), wanted.asnumpy())
        assert np.isnan(found.asnumpy()).any()
        assert np.isneginf(found.asnumpy()).any()


def test_a_large_window_takes_the_first_of_equals() -> None:
    x = cw.Tensor(np.zeros((1, 1, 8, 8), F32))
    best, at = ops.max_pool2d(x, 7, 1, return_indices=True)
    assert best.asnumpy().any() == 0
    assert at.asnumpy().ravel().tolist() == [0, 1, 8, 9]


def test_places_of_maxima_are_written_only_where_something_reads_them() -> None:
    def places(fn: Callable[..., Any]) -> int:
        x = cw.Tensor(images(2, 3, 8, 8))
        explained = cw.jit.explain(cw.jit(fn))(x)  # pyright: ignore[reportFunctionMemberAccess]
        return explained.report.code.count("taps: int32")

    def pooled(x: Any) -> Any:
        return ops.exp(ops.max_pool2d(x, 2))

    assert places(pooled) == 0
    assert places(cw.value_and_grad(lambda x: ops.sum(pooled(x)))) == 2
