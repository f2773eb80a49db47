"""Winograd's convolution: whole numbers exactly, others within its bound, special ones as ever."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import ops
from cellwire.engine.compiler import planner
from cellwire.engine.compiler.plan import Plan, compile_graph
from cellwire.engine.compiler.trace import trace
from cellwire.kernels import conv as conv_module
from cellwire.kernels import conv_winograd_choice as choice
from cellwire.kernels.conv import conv2d, conv2d_input_grad
from cellwire.kernels.conv_calls import Convolution, conv_calls
from cellwire.kernels.conv_direct import DirectConv
from cellwire.kernels.conv_winograd import TransformWeights, WinogradConv, is_winograd
from cellwire.kernels.expressions import FLOAT32, FLOAT64
from cellwire.kernels.loops import LoopError
from cellwire.kernels.native import compile_module
from cellwire.kernels.target import Target, host
from cellwire.kernels.windows import Window, pad, patches

EPS = 2.0**-24
ROUNDING, ROUNDING_OF_NORMAL = 5.0, 2.7
"""The bounds that the kernel's docstring states."""

TARGETS = [replace(host(), vector_bytes=size, registers=count) for size, count in (
    (16, 32), (32, 16), (64, 32),
)]  # fmt: skip
"""The vectors of NEON, AVX2 and AVX-512, as far as this machine can run them all."""

SIZES = [
    # channels, filters, window, rows of tiles in a strip
    (5, 3, Window(6, 7, (3, 3), padding=(1, 1, 1, 1)), 2),
    (17, 33, Window(9, 20, (3, 3), padding=(0, 2, 1, 0)), 1),
    (4, 40, Window(14, 14, (3, 3), padding=(1, 1, 1, 1)), 7),
    (2, 1, Window(3, 39, (3, 3), padding=(2, 2, 2, 2)), 3),
    (1, 16, Window(3, 3, (3, 3)), 1),
]


def definition(x: np.ndarray, weight: np.ndarray, padding: Any) -> np.ndarray:
    """The sum that a convolution is, in float64."""
    x, weight = x.astype(np.float64), weight.astype(np.float64)
    window = Window(x.shape[2], x.shape[3], (3, 3), padding=padding)
    with np.errstate(invalid="ignore", over="ignore"):
        seen = patches(pad(x, padding), window)
        return np.einsum("ncabhw,ocab->nohw", seen, weight, optimize=not _special(x, weight))


def _special(*arrays: np.ndarray) -> bool:
    return not all(np.isfinite(a).all() for a in arrays)


def turned(weight: np.ndarray) -> np.ndarray:
    """The weights with which the gradient of the input is a convolution."""
    return np.ascontiguousarray(np.swapaxes(weight, 0, 1)[:, :, ::-1, ::-1])


def whole(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-9, 10, shape).astype(np.float32)


def run_kernel(conv: WinogradConv, image: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """Run the kernels that there are, each in two calls, over memory full of NaN."""
    units = image.shape[0] * conv.strips
    runs: list[tuple[Any, list[np.ndarray], int]] = [(conv, [image, weight, out], units)]
    if conv.packed:
        packed = np.full(conv.packed_size, np.nan, np.float32)
        runs[0][1].append(packed)
        runs.insert(0, (TransformWeights("weights", conv), [weight, packed], conv.blocks))
    for kernel, arrays, count in runs:
        library = compile_module([kernel])
        workspace = np.full(kernel.workspace, np.nan, np.float32)
        given = [a.ctypes.data for a in (*arrays, workspace)]
        kinds = [ctypes.c_void_p] * len(given) + [ctypes.c_int64] * 2
        call = ctypes.CFUNCTYPE(None, *kinds)(library[kernel.name])
        call(*given, count // 2, count - count // 2)
        call(*given, 0, count // 2)


def convolved(conv: WinogradConv, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    w = conv.window
    out = np.full((x.shape[0], conv.filters, w.out_height, w.out_width), np.nan, np.float32)
    run_kernel(conv, x, weight, out)
    return out


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: f"{t.vector_bytes} bytes")
@pytest.mark.parametrize(("c", "o", "window", "rows"), SIZES)
def test_whole_numbers_are_exact(c: int, o: int, window: Window, rows: int, target: Target) -> None:
    rng = np.random.default_rng(1)
    x, weight = whole(rng, 3, c, window.height, window.width), whole(rng, o, c, 3, 3)
    conv = WinogradConv("conv", "forward", window, c, o, rows, c > o, target=target)
    expected = definition(x, weight, window.padding)
    np.testing.assert_array_equal(convolved(conv, x, weight), expected)

    dout, image = whole(rng, *expected.shape), np.full(x.shape, np.nan, np.float32)
    grad = WinogradConv("grad", "input_grad", window, c, o, rows, c < o, target=target)
    run_kernel(grad, image, weight, dout)
    top, bottom, left, right = (2 - p for p in window.padding)
    expected = definition(dout, turned(weight), (top, bottom, left, right))
    np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize("c", [1, 3, 16, 200])
@pytest.mark.parametrize("kind", ["normal", "positive", "spread"])
def test_rounding_stays_within_its_bound(c: int, kind: str) -> None:
    rng = np.random.default_rng(c)
    window = Window(16, 16, (3, 3), padding=(1, 1, 1, 1))
    x, weight = (rng.standard_normal(s) for s in ((4, c, 16, 16), (16, c, 3, 3)))
    if kind == "positive":
        x, weight = np.abs(x), np.abs(weight)
    if kind == "spread":
        x, weight = (a * 10.0 ** rng.uniform(-6, 6, a.shape) for a in (x, weight))
    x, weight = x.astype(np.float32), weight.astype(np.float32)
    error = np.abs(convolved(WinogradConv("conv", "forward", window, c, 16, 8), x, weight)
                   - definition(x, weight, window.padding))  # fmt: skip
    largest = patches(pad(np.abs(x).astype(np.float64), window.padding), window).max((2, 3))
    terms = np.einsum("nchw,oc->nohw", largest, np.abs(weight).max((2, 3)).astype(np.float64))
    assert (error <= ROUNDING * EPS * 9 * terms).all()
    if kind == "normal" and c >= choice.FEWEST:
        exact = definition(np.abs(x), np.abs(weight), window.padding)
        assert (error <= ROUNDING_OF_NORMAL * EPS * exact).all()


WINDOW = Window(12, 13, (3, 3), padding=(1, 1, 1, 1))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38, 1e20])
def test_special_pixels_are_as_in_a_direct_convolution(value: float) -> None:
    rng = np.random.default_rng(3)
    x, weight = whole(rng, 3, 5, 12, 13), whole(rng, 20, 5, 3, 3)
    weight[3, 1] = 0  # where zero times infinity makes NaN
    x[1, 1, 0, 12] = x[2, 4, 7, 0] = value
    found = convolved(WinogradConv("conv", "forward", WINDOW, 5, 20, 2), x, weight)
    with np.errstate(over="ignore"):
        expected = definition(x, weight, WINDOW.padding).astype(np.float32)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
@pytest.mark.parametrize("place", [(0, 0, 0, 0), (19, 4, 2, 2), (7, 2, 1, 1)])
def test_special_weights_are_as_in_a_direct_convolution(value: float, place: Any) -> None:
    rng = np.random.default_rng(4)
    x, weight = whole(rng, 2, 5, 12, 13), whole(rng, 20, 5, 3, 3)
    weight[place] = value
    found = convolved(WinogradConv("conv", "forward", WINDOW, 5, 20, 6), x, weight)
    with np.errstate(over="ignore"):
        expected = definition(x, weight, WINDOW.padding).astype(np.float32)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=0)


def test_sums_below_the_limit_do_not_overflow_and_denormals_keep_their_bits() -> None:
    conv = WinogradConv("conv", "forward", WINDOW, 5, 20, 6)
    x, weight = (np.full(s, 2.0**46, np.float32) for s in ((1, 5, 12, 13), (20, 5, 3, 3)))
    x[:, ::2] *= -1
    weight[:, :, 0] *= -1
    np.testing.assert_array_equal(convolved(conv, x, weight), definition(x, weight, (1, 1, 1, 1)))
    x, weight = np.zeros_like(x), np.zeros_like(weight)
    x[0, 1, 6, 6] = weight[4, 1, 1, 1] = 2.0**63  # their product, but not four times as much
    np.testing.assert_array_equal(convolved(conv, x, weight), definition(x, weight, (1, 1, 1, 1)))
    rng = np.random.default_rng(5)
    x, small = whole(rng, 1, 5, 12, 13), whole(rng, 20, 5, 3, 3) * np.float32(2.0**-149)
    np.testing.assert_array_equal(convolved(conv, x, small), definition(x, small, (1, 1, 1, 1)))


def test_an_output_depends_on_the_pixels_of_its_window_alone() -> None:
    rng = np.random.default_rng(6)
    conv = WinogradConv("conv", "forward", WINDOW, 5, 20, 2)
    x, weight = (rng.standard_normal(s).astype(np.float32) for s in ((1, 5, 12, 13), (20, 5, 3, 3)))
    before = convolved(conv, x, weight)
    x[0, 2, 5, 6] = 1e15
    changed = convolved(conv, x, weight) != before
    seen = np.zeros((12, 13), bool)
    seen[4:7, 5:8] = True
    np.testing.assert_array_equal(changed, np.broadcast_to(seen, changed.shape))


def test_what_it_is_not_for_is_refused() -> None:
    with pytest.raises(LoopError, match="filters of 3x3"):
        WinogradConv("conv", "forward", Window(9, 9, (3, 3), (2, 2)), 4, 4, 1)
    wide = Window(9, 9, (3, 3), padding=(3, 3, 3, 3))
    assert is_winograd("forward", wide, 4, 4, 1, FLOAT32)
    assert not is_winograd("input_grad", wide, 4, 4, 1, FLOAT32)
    assert not is_winograd("forward", wide, 4, 4, 2, FLOAT32)
    assert not is_winograd("forward", wide, 4, 4, 1, FLOAT64)


# -- where it is chosen --------------------------------------------------------------------------


@pytest.mark.parametrize(("images", "c", "size", "o", "chosen"), [
    (8, 64, 56, 64, True), (8, 256, 14, 256, True), (1, 64, 56, 64, True), (8, 32, 28, 32, True),
    (1, 512, 7, 512, False), (8, 64, 7, 16, False), (64, 1, 28, 32, False), (32, 6, 14, 16, False),
])  # fmt: skip
def test_where_it_is_faster(images: int, c: int, size: int, o: int, chosen: bool) -> None:
    window = Window(size, size, (3, 3), padding=(1, 1, 1, 1))
    for kind in ("forward", "input_grad"):
        for threads in (1, 2):
            found = conv_calls(Convolution(kind, window, images, c, o, 1, FLOAT32), threads)
            kernels = {type(call.kernel) for call in found.calls}
            assert (WinogradConv in kernels) == (chosen and (c >= o or kind == "forward"))
            assert (DirectConv in kernels) != (WinogradConv in kernels)


def test_the_code_is_the_same_for_many_images_of_any_number() -> None:
    window = Window(28, 28, (3, 3), padding=(1, 1, 1, 1))
    texts = {
        conv_calls(Convolution("forward", window, images, 64, 64, 1, FLOAT32), 2).calls[-1].kernel
        for images in (4, 8, 11, 30)
    }
    assert len(texts) == 1


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Choose Winograd's algorithm wherever it can be."""
    monkeypatch.setattr(choice, "WORTH_COMPILING", 0)
    monkeypatch.setattr(choice, "GAIN", np.inf)
    monkeypatch.setattr(choice, "FEWEST", 1)
    conv_module._native.cache_clear()
    yield
    conv_module._native.cache_clear()


@pytest.mark.usefixtures("always")
def test_eager_results_do_not_depend_on_the_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(8)
    x, weight = rng.standard_normal((1, 24, 15, 15)), rng.standard_normal((40, 24, 3, 3))
    x, weight = x.astype(np.float32), weight.astype(np.float32)
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(conv_module, "thread_count", lambda threads=threads: threads)
        out = conv2d(x, weight)
        found.append((out, conv2d_input_grad(out, weight, (15, 15))))
    np.testing.assert_allclose(found[0][0], definition(x, weight, (0, 0, 0, 0)), atol=1e-4)
    expected = definition(found[0][0], turned(weight), (2, 2, 2, 2))
    np.testing.assert_allclose(found[0][1], expected, rtol=1e-4, atol=1e-3)
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)


def plan_of(fn: Any, *arrays: np.ndarray) -> Plan:
    tensors = [cw.Tensor(array) for array in arrays]
    return compile_graph(trace(fn, [tensor.aval for tensor in tensors]).graph)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("special", [False, True])
def test_what_follows_is_done_by_the_convolution(
    threads: int, special: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(9)
    shapes = ((3, 5, 11, 9), (20, 5, 3, 3), (20,), (3, 20, 11, 9))
    x, w, b, r = (whole(rng, *shape) for shape in shapes)
    if special:
        x[1, 2, 3, 4], x[2, 0, 0, 0] = np.nan, np.inf

    def fn(x: Any, w: Any, b: Any, r: Any) -> Any:
        return ops.relu(ops.conv2d(x, w, b, pad_mode="same") * 0.5 + r)

    monkeypatch.setattr(planner, "thread_count", lambda: threads)
    plan = plan_of(fn, x, w, b, r)
    assert {"conv2d", "add", "mul", "relu"} <= set(plan.report.kernels[-1].ops)
    assert "winograd" in plan.report.code
    sums = definition(x, w, (1, 1, 1, 1)) + b[:, None, None]
    expected = np.maximum(sums * 0.5 + r, 0)
    np.testing.assert_array_equal(plan(x, w, b, r)[0], expected)
