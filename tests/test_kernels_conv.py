"""Convolution and pooling against loops that spell out the definition."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cellwire.kernels import conv as conv_module
from cellwire.kernels.conv import conv2d, conv2d_input_grad, conv2d_weight_grad
from cellwire.kernels.conv_calls import Convolution, conv_calls
from cellwire.kernels.conv_direct import DirectConv, PackWeights, is_direct
from cellwire.kernels.conv_weight_grad import UnpackSums, WeightGrad
from cellwire.kernels.expressions import FLOAT32, FLOAT64
from cellwire.kernels.loops import LoopError
from cellwire.kernels.native import compile_module
from cellwire.kernels.pool import (
    avg_pool2d,
    avg_pool2d_grad,
    max_pool2d,
    max_pool2d_grad,
    max_pool2d_indices,
)
from cellwire.kernels.target import Target, host
from cellwire.kernels.windows import Window, pad, patches

CASES = [
    # channels, out channels, groups, kernel, stride, padding, dilation
    (3, 4, 1, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    (2, 6, 2, (3, 2), (2, 1), (0, 1, 2, 0), (1, 2)),
    (4, 4, 4, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1)),
    (3, 5, 1, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
    (3, 2, 1, (1, 1), (2, 3), (0, 0, 0, 0), (1, 1)),
    (4, 2, 2, (2, 2), (1, 1), (0, 0, 0, 0), (3, 2)),
]


def naive_conv2d(
    x: np.ndarray, weight: np.ndarray, stride: Any, padding: Any, dilation: Any, groups: int
) -> np.ndarray:
    top, bottom, left, right = padding
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    o, cg, kh, kw = weight.shape
    oh = (x.shape[2] - (kh - 1) * dilation[0] - 1) // stride[0] + 1
    ow = (x.shape[3] - (kw - 1) * dilation[1] - 1) // stride[1] + 1
    out = np.zeros((x.shape[0], o, oh, ow), x.dtype)
    for n, f, i, j, c, a, b in np.ndindex(*out.shape, cg, kh, kw):
        channel = f // (o // groups) * cg + c
        row, column = i * stride[0] + a * dilation[0], j * stride[1] + b * dilation[1]
        out[n, f, i, j] += x[n, channel, row, column] * weight[f, c, a, b]
    return out


@pytest.mark.parametrize(("c", "o", "groups", "kernel", "stride", "padding", "dilation"), CASES)
def test_conv2d_and_its_gradients(
    c: int, o: int, groups: int, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, c, 6, 7))
    weight = rng.standard_normal((o, c // groups, *kernel))
    out = conv2d(x, weight, stride, padding, dilation, groups)
    expected = naive_conv2d(x, weight, stride, padding, dilation, groups)
    np.testing.assert_allclose(out, expected, atol=1e-12)

    # The convolution is linear in each argument: <dout, conv(v, w)> == <dx, v> for any v.
    dout = rng.standard_normal(out.shape)
    dx = conv2d_input_grad(dout, weight, (6, 7), stride, padding, dilation, groups)
    dw = conv2d_weight_grad(dout, x, kernel, stride, padding, dilation, groups)
    assert dx.shape == x.shape
    assert dw.shape == weight.shape
    v, u = rng.standard_normal(x.shape), rng.standard_normal(weight.shape)
    along_x = (dout * naive_conv2d(v, weight, stride, padding, dilation, groups)).sum()
    along_w = (dout * naive_conv2d(x, u, stride, padding, dilation, groups)).sum()
    np.testing.assert_allclose((dx * v).sum(), along_x, rtol=1e-10)
    np.testing.assert_allclose((dw * u).sum(), along_w, rtol=1e-10)


def test_conv2d_keeps_float32() -> None:
    x, weight = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
    dout = np.ones((1, 1, 2, 2), np.float32)
    assert conv2d(x, weight).dtype == np.float32
    assert conv2d_input_grad(dout, weight, (4, 4)).dtype == np.float32
    assert conv2d_weight_grad(dout, x, (3, 3)).dtype == np.float32


def test_a_kernel_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit into an image of 2×2"):
        conv2d(np.ones((1, 1, 2, 2)), np.ones((1, 1, 3, 3)))
    with pytest.raises(ValueError, match="3 channels"):
        conv2d(np.ones((1, 3, 4, 4)), np.ones((2, 2, 3, 3)))


POOLS = [
    ((2, 2), (2, 2), (0, 0, 0, 0)),
    ((3, 2), (1, 2), (1, 1, 0, 1)),
    ((3, 3), (2, 2), (1, 1, 1, 1)),
]


def naive_pool(
    x: np.ndarray, kernel: Any, stride: Any, padding: Any, function: Callable[..., Any], fill: float
) -> np.ndarray:
    top, bottom, left, right = padding
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    oh, ow = ((x.shape[2 + a] - kernel[a]) // stride[a] + 1 for a in (0, 1))
    out = np.zeros((*x.shape[:2], oh, ow))
    for i, j in np.ndindex(oh, ow):
        rows = slice(i * stride[0], i * stride[0] + kernel[0])
        columns = slice(j * stride[1], j * stride[1] + kernel[1])
        out[:, :, i, j] = function(x[:, :, rows, columns], axis=(2, 3))
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize(("kernel", "stride", "padding"), POOLS)
def test_max_pool2d(kernel: Any, stride: Any, padding: Any, dtype: Any) -> None:
    x = np.random.default_rng(2).permutation(2 * 3 * 6 * 8).reshape(2, 3, 6, 8).astype(dtype)
    out, taps = max_pool2d(x, kernel, stride, padding)
    np.testing.assert_array_equal(out, naive_pool(x, kernel, stride, padding, np.max, x.min()))
    flat = max_pool2d_indices(taps, (6, 8), kernel, stride, padding)
    planes = x.reshape(2, 3, -1)
    np.testing.assert_array_equal(
        np.take_along_axis(planes, flat.reshape(2, 3, -1), 2).reshape(out.shape), out
    )
    dout = np.random.default_rng(3).standard_normal(out.shape)
    dx = np.zeros(planes.shape)
    for n, c in np.ndindex(2, 3):
        np.add.at(dx[n, c], flat[n, c].ravel(), dout[n, c].ravel())
    result = max_pool2d_grad(dout, taps, (6, 8), kernel, stride, padding)
    np.testing.assert_allclose(result, dx.reshape(x.shape), atol=1e-12)


def test_max_pool2d_passes_nan_on_and_never_takes_padding() -> None:
    x = np.full((1, 1, 2, 2), -np.inf, np.float32)
    x[0, 0, 1, 1] = np.nan
    out, taps = max_pool2d(x, (2, 2), (1, 1), (1, 0, 1, 0))
    np.testing.assert_array_equal(out[0, 0], [[-np.inf, -np.inf], [-np.inf, np.nan]])
    assert taps[0, 0, 1, 1] == 3


@pytest.mark.parametrize(("kernel", "stride", "padding"), POOLS)
@pytest.mark.parametrize("count_padding", [True, False])
def test_avg_pool2d(kernel: Any, stride: Any, padding: Any, count_padding: bool) -> None:
    x = np.random.default_rng(4).standard_normal((2, 3, 6, 8))
    out = avg_pool2d(x, kernel, stride, padding, count_padding)
    fill, mean = (0.0, np.mean) if count_padding else (np.nan, np.nanmean)
    np.testing.assert_allclose(out, naive_pool(x, kernel, stride, padding, mean, fill), atol=1e-12)
    dout, v = (
        np.random.default_rng(seed).standard_normal(s) for seed, s in ((5, out.shape), (6, x.shape))
    )
    along = (dout * avg_pool2d(v, kernel, stride, padding, count_padding)).sum()
    dx = avg_pool2d_grad(dout, (6, 8), kernel, stride, padding, count_padding)
    np.testing.assert_allclose((dx * v).sum(), along, rtol=1e-10)


def test_half_floats_and_large_maxima_run_in_numpy() -> None:
    rng = np.random.default_rng(9)
    x, weight = rng.standard_normal((2, 3, 6, 7)), rng.standard_normal((4, 3, 3, 3))
    halves = [a.astype(np.float16) for a in (x, weight)]
    args = ((1, 1), (1, 1, 1, 1), (1, 1), 1)
    out = conv2d(*halves, *args[:2])
    assert out.dtype == np.float16
    np.testing.assert_allclose(out, naive_conv2d(x, weight, *args), atol=0.1)
    dx = conv2d_input_grad(out, halves[1], (6, 7), *args[:2])
    exact = conv2d_input_grad(out.astype(np.float64), weight, (6, 7), *args[:2])
    np.testing.assert_allclose(dx, exact, atol=0.5)
    dw = conv2d_weight_grad(out, halves[0], (3, 3), *args[:2])
    exact = conv2d_weight_grad(out.astype(np.float64), x, (3, 3), *args[:2])
    np.testing.assert_allclose(dw, exact, atol=2)
    np.testing.assert_array_equal(max_pool2d(x, (6, 7), (1, 1))[0], x.max((2, 3), keepdims=True))
    mean = avg_pool2d(halves[0], (6, 7), (1, 1))
    np.testing.assert_allclose(mean, x.mean((2, 3), keepdims=True), atol=0.01)
    share = avg_pool2d_grad(mean, (6, 7), (6, 7), (1, 1))
    np.testing.assert_allclose(share, np.broadcast_to(mean / 42, x.shape), atol=0.001)


# -- native kernels ----------------------------------------------------------------------------

TARGETS = [replace(host(), vector_bytes=size, registers=count) for size, count in (
    (16, 32), (32, 16), (64, 32),
)]  # fmt: skip
"""The vectors of NEON, AVX2 and AVX-512, as far as this machine can run them all."""

WINDOWS = [
    # channels, filters, groups, window; lanes are filters in some and pixels in others
    (5, 20, 1, Window(6, 21, (3, 2), (1, 1), (1, 0, 1, 1))),
    (6, 3, 3, Window(9, 18, (3, 3), (2, 2), (1, 1, 1, 1), (1, 2))),
    (3, 33, 1, Window(5, 4, (1, 1))),
    (2, 1, 1, Window(40, 3, (7, 5), (1, 1), (3, 3, 2, 2))),
]


def run_kernels(calls: list[tuple[Any, list[np.ndarray], list[int]]]) -> None:
    """Run kernels over arrays and sizes, each with a workspace of NaN where it takes one."""
    for kernel, arrays, ints in calls:
        library = compile_module([kernel])
        given = [a.ctypes.data for a in arrays]
        if hasattr(kernel, "workspace"):
            workspace = np.full(kernel.workspace, np.nan, kernel.dtype)
            given.append(workspace.ctypes.data)
        kinds = [ctypes.c_void_p] * len(given) + [ctypes.c_int64] * len(ints)
        ctypes.CFUNCTYPE(None, *kinds)(library[kernel.name])(*given, *ints)


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.full(shape, np.nan, dtype)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: f"{t.vector_bytes} bytes")
@pytest.mark.parametrize(("c", "o", "groups", "window"), WINDOWS)
def test_direct_convolution_in_vectors_of_any_width(
    c: int, o: int, groups: int, window: Window, target: Target
) -> None:
    dtype = FLOAT32 if window.stride == (1, 1) else FLOAT64
    rng = np.random.default_rng(7)
    x = rng.standard_normal((3, c, window.height, window.width)).astype(dtype)
    weight = rng.standard_normal((o, c // groups, *window.kernel)).astype(dtype)
    args = (window.stride, window.padding, window.dilation, groups)
    expected = naive_conv2d(x, weight, *args)
    out = empty(expected.shape, dtype)
    pieces = min(2, window.out_height)
    kernel = DirectConv("conv", "forward", window, c, o, dtype, groups, pieces, target=target)
    run_kernels([(kernel, [x, weight, out], [0, 3 * pieces])])
    tolerance = 1e-4 if dtype == FLOAT32 else 1e-12
    np.testing.assert_allclose(out, expected, atol=tolerance)

    dout = rng.standard_normal(expected.shape).astype(dtype)
    grad = WeightGrad("grad", window, c, o, dtype, groups, target)
    sums, found = empty((grad.sums,), dtype), empty(weight.shape, dtype)
    half, blocks = grad.units // 2, grad.groups * grad.blocks
    run_kernels([
        (grad, [x, sums, dout], [3, half, grad.units - half]),
        (grad, [x, sums, dout], [3, 0, half]),
        (UnpackSums("unpack", grad), [sums, found], [0, blocks]),
    ])  # fmt: skip
    expected = naive_weight_grad(dout, x, weight.shape, *args)
    np.testing.assert_allclose(found, expected, atol=20 * tolerance)


def naive_weight_grad(
    dout: np.ndarray, x: np.ndarray, shape: Any, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> np.ndarray:  # fmt: skip
    weight = np.zeros(shape)
    for at in np.ndindex(*shape):
        one = np.zeros(shape, x.dtype)
        one[at] = 1
        seen = conv2d_by_patches(x, one, stride, padding, dilation, groups)
        weight[at] = (seen[:, at[0]] * dout[:, at[0]]).sum(dtype=np.float64)
    return weight


def conv2d_by_patches(
    x: np.ndarray, weight: np.ndarray, stride: Any, padding: Any, dilation: Any, groups: int
) -> np.ndarray:
    window = Window(x.shape[2], x.shape[3], weight.shape[2:], stride, padding, dilation)
    seen = patches(pad(x, padding), window)
    cg, og = weight.shape[1], weight.shape[0] // groups
    parts = [
        np.einsum(
            "ncabhw,ocab->nohw",
            seen[:, g * cg : (g + 1) * cg],
            weight[g * og : (g + 1) * og],
            optimize=True,
        )
        for g in range(groups)
    ]
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize(("c", "o"), [(3, 20), (20, 2)])
def test_what_is_not_finite_goes_where_the_window_sees_it_and_nowhere_else(c: int, o: int) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, c, 5, 19)).astype(np.float32)
    x[0, 0, 0, 18], x[1, 1, 4, 0], x[1, 2, 2, 9] = np.nan, np.inf, -np.inf
    weight = rng.standard_normal((o, c, 3, 3)).astype(np.float32)
    args = ((1, 1), (1, 1, 1, 1), (1, 1), 1)
    with np.errstate(invalid="ignore"):
        expected = naive_conv2d(x, weight, *args)
    np.testing.assert_allclose(conv2d(x, weight, *args), expected, rtol=1e-4, atol=1e-4)
    dx = conv2d_input_grad(x, np.swapaxes(weight, 0, 1), (5, 19), *args)
    with np.errstate(invalid="ignore"):
        turned = naive_conv2d(x, weight[:, :, ::-1, ::-1], *args)
    np.testing.assert_allclose(dx, turned, rtol=1e-4, atol=1e-4)
    dout = np.ones((2, o, 5, 19), np.float32)
    dw = conv2d_weight_grad(dout, x, (3, 3), *args)
    seen = patches(pad(x, (1, 1, 1, 1)), Window(5, 19, (3, 3), padding=(1, 1, 1, 1)))
    with np.errstate(invalid="ignore"):
        sums = seen.sum((0, 4, 5))
    np.testing.assert_allclose(dw, np.broadcast_to(sums, dw.shape), rtol=1e-3, atol=1e-3)


def test_small_batches_are_cut_by_rows_and_large_weights_are_packed_once() -> None:
    window = Window(14, 14, (3, 3), padding=(1, 1, 1, 1))
    (call,) = conv_calls(Convolution("forward", window, 1, 8, 32, 1, FLOAT32), 2).calls
    assert isinstance(call.kernel, DirectConv)
    assert call.kernel.pieces >= 4
    pack, conv = conv_calls(Convolution("forward", window, 8, 256, 256, 1, FLOAT64), 2).calls
    assert isinstance(pack.kernel, PackWeights)
    assert isinstance(conv.kernel, DirectConv)
    assert conv.kernel.pieces == 1
    assert pack.rows is not None
    assert conv.rows is not None


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((1, 24, 15, 15)).astype(np.float32)
    weight = rng.standard_normal((40, 24, 3, 3)).astype(np.float32)
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(conv_module, "thread_count", lambda threads=threads: threads)
        out = conv2d(x, weight)
        found.append((out, conv2d_weight_grad(out, x, (3, 3)), conv2d_input_grad(
            out, weight, (15, 15)
        )))  # fmt: skip
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)


def test_the_input_gradient_of_a_strided_convolution_is_not_direct() -> None:
    assert not is_direct("input_grad", Window(6, 6, (3, 3), (2, 1)))
    assert not is_direct("input_grad", Window(6, 6, (1, 1), padding=(1, 0, 0, 0)))
    with pytest.raises(LoopError, match="no direct convolution"):
        DirectConv("conv", "input_grad", Window(6, 6, (3, 3), (2, 2)), 1, 1, FLOAT64)
