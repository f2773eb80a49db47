"""Convolution and pooling against loops that spell out the definition."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cellwire.kernels.conv import conv2d, conv2d_input_grad, conv2d_weight_grad
from cellwire.kernels.conv_native import ConvKernel
from cellwire.kernels.gemm import EPILOGUE_INTS, blas_address
from cellwire.kernels.loops import (
    FLOAT64,
    Buffer,
    Function,
    Loop,
    LoopError,
    Store,
    affine,
    call,
    load,
)
from cellwire.kernels.native import compile_module
from cellwire.kernels.pool import (
    avg_pool2d,
    avg_pool2d_grad,
    max_pool2d,
    max_pool2d_grad,
    max_pool2d_indices,
)
from cellwire.kernels.windows import Window

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


def run_native(kernel: Any, *arrays: np.ndarray, ints: Any) -> None:
    """Run a convolution kernel over (image, weight, out, others...) and sizes."""
    workspace = np.full(kernel.workspace, np.nan, kernel.dtype)
    pointers = [a.ctypes.data for a in (*arrays[:3], workspace, *arrays[3:])]
    if kernel.needs_blas:
        pointers.append(blas_address(kernel.dtype))
    library = compile_module([kernel])
    kinds = [ctypes.c_void_p] * len(pointers) + [ctypes.c_int64] * len(ints)
    ctypes.CFUNCTYPE(None, *kinds)(library[kernel.name])(*pointers, *ints)


@pytest.mark.parametrize(("c", "o", "kernel", "stride", "padding", "dilation"), [
    (3, 4, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    (2, 6, (3, 2), (2, 1), (0, 1, 2, 0), (1, 2)),
    (3, 5, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
    (3, 2, (1, 1), (2, 3), (0, 0, 0, 0), (1, 1)),
    (256, 300, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
])  # fmt: skip
def test_native_convolution_is_the_same(
    c: int, o: int, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> None:
    rng = np.random.default_rng(7)
    window = Window(6, 7, kernel, stride, padding, dilation)
    x, weight = rng.standard_normal((3, c, 6, 7)), rng.standard_normal((o, c, *kernel))
    dout = rng.standard_normal((3, o, window.out_height, window.out_width))
    args = (stride, padding, dilation)
    for kind, place, expected in (
        ("forward", 2, conv2d(x, weight, *args)),
        ("input_grad", 0, conv2d_input_grad(dout, weight, (6, 7), *args)),
        ("weight_grad", 1, conv2d_weight_grad(dout, x, kernel, *args)),
    ):
        arrays = [x.copy(), weight.copy(), dout.copy()]
        arrays[place] = np.full(expected.shape, np.nan)
        run_native(ConvKernel("conv", kind, window, c, o, FLOAT64), *arrays, ints=[3])
        np.testing.assert_allclose(arrays[place], expected, atol=1e-10)


def test_native_convolution_ends_with_bias_residual_and_relu() -> None:
    rng = np.random.default_rng(8)
    x, residual = rng.standard_normal((4, 2, 6, 6)), rng.standard_normal((4, 3, 6, 6))
    weight, bias = rng.standard_normal((3, 2, 3, 3)), rng.standard_normal(3)
    out, per_filter, other = (Buffer(name, FLOAT64) for name in ("out", "bias", "residual"))
    at = affine(("first", 36), ("i", 36), "j")
    total = load(out, at) + load(per_filter, affine("row", "i")) + load(other, at)
    columns = Loop("j", 36, (Store("out", at, call("maximum", total, 0.0)),), vector=True)
    epilogue = Function(
        "end", (out, per_filter, other), EPILOGUE_INTS, (Loop("i", "rows", (columns,)),)
    )
    window = Window(6, 6, (3, 3), padding=(1, 1, 1, 1))
    result = np.full((4, 3, 6, 6), np.nan)
    kernel = ConvKernel("conv", "forward", window, 2, 3, FLOAT64, epilogue)
    run_native(kernel, x, weight, result, bias, residual, ints=[4])
    expected = conv2d(x, weight, padding=(1, 1, 1, 1)) + bias[:, None, None] + residual
    np.testing.assert_allclose(result, np.maximum(expected, 0), atol=1e-12)


def test_what_a_native_convolution_refuses() -> None:
    window = Window(6, 6, (3, 3))
    with pytest.raises(LoopError, match="'backward' is not one of"):
        ConvKernel("conv", "backward", window, 1, 1, FLOAT64)
    with pytest.raises(LoopError, match="takes no epilogue"):
        ConvKernel("conv", "input_grad", window, 1, 1, FLOAT64, Function("f", (), (), ()))
