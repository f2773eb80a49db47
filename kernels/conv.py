"""Convolution of arrays, for eager use.

Images are (N, C, H, W), weights (O, C // groups, rows, columns), as MindSpore has them; what is
computed is the cross-correlation that every framework calls convolution. Those of float32 and
float64 run as native kernels (`conv_calls.py`), the others in NumPy and BLAS; those of float16 are
computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, Final, ParamSpec

import numpy as np

from .blas_threads import matmul
from .conv_calls import Convolution, conv_calls
from .expressions import FLOAT16, FLOAT32, FLOAT64
from .gemm import blas_address
from .runtime import Bound, Program, Slot, Step, build_entry
from .target import Target, host
from .windows import Padding, Pair, Window, crop, pad, patches, tap
from .workers import thread_count

P = ParamSpec("P")
NO_PADDING: Padding = (0, 0, 0, 0)
WORTH_SHARING: Final = 1 << 20
"""Multiplications from which a convolution runs on several threads: some 20 µs on one."""


def _in_float32(
    run: Callable[Concatenate[np.ndarray, np.ndarray, P], np.ndarray],
) -> Callable[Concatenate[np.ndarray, np.ndarray, P], np.ndarray]:
    """Compute float16 in float32 and round once: no BLAS multiplies float16."""

    @wraps(run)
    def computed(
        first: np.ndarray, second: np.ndarray, *args: P.args, **kwargs: P.kwargs
    ) -> np.ndarray:
        if first.dtype != FLOAT16:
            return run(first, second, *args, **kwargs)
        found = run(first.astype(FLOAT32), second.astype(FLOAT32), *args, **kwargs)
        with np.errstate(over="ignore"):
            return found.astype(FLOAT16)

    return computed


@_in_float32
def conv2d(
    x: np.ndarray,
    weight: np.ndarray,
    stride: Pair = (1, 1),
    padding: Padding = NO_PADDING,
    dilation: Pair = (1, 1),
    groups: int = 1,
) -> np.ndarray:
    """Convolve (N, C, H, W) with (O, C // groups, rows, columns) into (N, O, H', W')."""
    window = _window(x.shape, weight.shape, stride, padding, dilation, groups)
    out_size = (window.out_height, window.out_width)
    out = np.empty((x.shape[0], weight.shape[0], *out_size), x.dtype)
    native = _described("forward", window, x, weight, out, groups)
    if native is not None:
        _run(native, x, weight, out)
        return out
    filters = weight.reshape(groups, weight.shape[0] // groups, -1)
    out = matmul(filters, _columns(x, window, groups))
    return out.reshape(x.shape[0], weight.shape[0], *out_size)


@_in_float32
def conv2d_input_grad(
    dout: np.ndarray,
    weight: np.ndarray,
    size: Pair,
    stride: Pair = (1, 1),
    padding: Padding = NO_PADDING,
    dilation: Pair = (1, 1),
    groups: int = 1,
) -> np.ndarray:
    """Return the gradient (N, C, *size) of the input from that of the output."""
    n, (o, c) = dout.shape[0], weight.shape[:2]
    shape = (n, c * groups, *size)
    window = _window(shape, weight.shape, stride, padding, dilation, groups)
    out = np.empty(shape, dout.dtype)
    native = _described("input_grad", window, out, weight, dout, groups)
    if native is not None:
        _run(native, out, weight, dout)
        return out
    filters = weight.reshape(groups, o // groups, -1)
    grads = dout.reshape(n, groups, o // groups, window.out_height * window.out_width)
    columns = matmul(filters.swapaxes(1, 2), grads)
    if window.is_pointwise:
        return columns.reshape(shape)
    columns = columns.reshape(n, c * groups, *window.kernel, window.out_height, window.out_width)
    padded = np.zeros((*shape[:2], *window.padded), dout.dtype)
    for row, column in np.ndindex(*window.kernel):
        tap(padded, window, row, column)[...] += columns[:, :, row, column]
    return np.ascontiguousarray(crop(padded, padding))


@_in_float32
def conv2d_weight_grad(
    dout: np.ndarray,
    x: np.ndarray,
    kernel: Pair,
    stride: Pair = (1, 1),
    padding: Padding = NO_PADDING,
    dilation: Pair = (1, 1),
    groups: int = 1,
) -> np.ndarray:
    """Return the gradient (O, C // groups, *kernel) of the weight from that of the output."""
    o, c = dout.shape[1], x.shape[1]
    shape = (o, c // groups, *kernel)
    window = _window(x.shape, shape, stride, padding, dilation, groups)
    out = np.empty(shape, dout.dtype)
    native = _described("weight_grad", window, x, out, dout, groups)
    if native is not None:
        _run(native, x, out, dout)
        return out
    pixels = window.out_height * window.out_width
    grads = dout.reshape(dout.shape[0], groups, o // groups, pixels)
    columns = _columns(x, window, groups)
    # A product an image, added up: tensordot would first copy both sides into another order.
    total = np.zeros((groups, o // groups, columns.shape[2]), dout.dtype)
    for image in range(x.shape[0]):
        total += matmul(grads[image], columns[image].swapaxes(1, 2))
    return total.reshape(shape)


def _window(
    image: tuple[int, ...],
    weight: tuple[int, ...],
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> Window:
    if image[1] != weight[1] * groups or weight[0] % groups:
        raise ValueError(
            f"an image of {image[1]} channels and a weight of shape {weight} do not fit with "
            f"{groups} groups; the weight is (out, channels // groups, rows, columns)"
        )
    return Window(image[2], image[3], (weight[2], weight[3]), stride, padding, dilation)


def _described(
    kind: str, window: Window, image: np.ndarray, weight: np.ndarray, out: np.ndarray, groups: int
) -> Convolution | None:
    """Return the convolution if there is a native kernel for it."""
    sizes = (image.shape[0], image.shape[1], weight.shape[0], groups, image.dtype)
    found = Convolution(kind, window, *sizes)
    same = image.dtype == weight.dtype == out.dtype and image.dtype in (FLOAT32, FLOAT64)
    empty = 0 in (image.size, weight.size, out.size)
    return found if same and not empty else None


def _run(conv: Convolution, image: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """Run the native kernels; one of the arrays is new and gets the result."""
    bound, temporaries = _native(conv, thread_count(), host())
    arrays = [np.ascontiguousarray(array) for array in (image, weight, out)]
    bound(*arrays, *(np.empty(size, conv.dtype) for size in temporaries))


@lru_cache(256)
def _native(conv: Convolution, threads: int, target: Target) -> tuple[Bound, tuple[int, ...]]:
    """Return the kernels for a convolution; code is made for the target that `host` says now."""
    assert target == host()
    found = conv_calls(conv, threads)
    roles = ("image", "weight", "out", *found.temporaries)
    places = {role: Slot("array", place) for place, role in enumerate(roles)}
    places["blas"] = Slot("fixed", 0)
    ints = [f"n{i}" for i in range(sum(len(call.ints) for call in found.calls))]
    names = iter(ints)
    steps = [
        Step(
            call.kernel.name,
            tuple(places[role] for role in call.buffers),
            tuple(next(names) for _ in call.ints),
            call.rows if threads > 1 else None,
        )
        for call in found.calls
    ]
    regions = (1,) * len(steps) if threads > 1 else ()
    name = f"{found.calls[-1].kernel.name}.call"
    program = Program(name, len(roles), 1, tuple(ints), tuple(steps), threads, regions)
    entry = build_entry(program, [call.kernel for call in found.calls])
    sizes = [number for call in found.calls for number in call.ints]
    shared = conv.products >= WORTH_SHARING
    numbers = dict(zip(ints, sizes, strict=True))
    bound = entry.bind((blas_address(conv.dtype),), numbers, shared)
    return bound, tuple(found.temporaries.values())


def _columns(x: np.ndarray, window: Window, groups: int) -> np.ndarray:
    """Gather patches: (N, groups, channels * rows * columns, out pixels)."""
    n, c = x.shape[:2]
    pixels = window.out_height * window.out_width
    if window.is_pointwise:
        return x.reshape(n, groups, c // groups, pixels)
    rows = c // groups * window.kernel[0] * window.kernel[1]
    return patches(pad(x, window.padding), window).reshape(n, groups, rows, pixels)
