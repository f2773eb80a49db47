"""Windows of pooling, and the largest element of each window of images."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...kernels import pool as pool_kernels
from ..dtype import int32, int64
from ..shape import Aval, Dim, ShapeError
from ..tensor import Tensor
from . import array
from .cast import TensorLike, as_tensor
from .registry import OPS, Call, GradContext, Grads, Host, Op, apply, op
from .rules import require_ndim
from .sliding import Padding, Pair, Sizes, as_sizes, hashable, out_sizes, padding_of, reach

REASON = "runs in NumPy"
Window = dict[str, Any]
"""Kernel, stride, padding and dilation, as pooling ops have them among their attributes."""


def window_of(
    op_name: str,
    sizes: tuple[Dim, ...],
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any = 1,
    pad_mode: str = "pad",
    ceil_mode: bool = False,
) -> tuple[Window, Sizes]:
    """Return the windows over axes of these sizes, and the padding that only ``ceil_mode`` adds.

    Raises
    ------
    ValueError
        If numbers do not fit, or a window would see nothing but padding.
    """
    given = map(hashable, (kernel_size, stride, padding, dilation))
    found, spill = _window(op_name, sizes, *given, pad_mode, bool(ceil_mode))
    return dict(found), spill


@lru_cache(512, typed=True)
def _window(
    op_name: str,
    sizes: tuple[Dim, ...],
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    pad_mode: str,
    ceil_mode: bool,
) -> tuple[tuple[tuple[str, Sizes], ...], Sizes]:
    axes = len(sizes)
    kernel = as_sizes(f"{op_name}: kernel_size", kernel_size, axes)
    steps = kernel if stride is None else as_sizes(f"{op_name}: stride", stride, axes)
    spread = as_sizes(f"{op_name}: dilation", dilation, axes)
    sides = padding_of(op_name, sizes, kernel, steps, spread, pad_mode, padding)
    for axis in range(axes):
        if max(sides[2 * axis : 2 * axis + 2]) >= reach(kernel[axis], spread[axis]):
            raise ValueError(
                f"{op_name}: padding {sides} is as large as the window {kernel} (dilation"
                f" {spread}), so that some windows would see nothing else; pad less."
            )
    spill = (0,) * axes
    if ceil_mode:
        spill = _spill(op_name, sizes, kernel, steps, sides, spread)
    more = tuple(side + (spill[i // 2] if i % 2 else 0) for i, side in enumerate(sides))
    window = {"kernel": kernel, "stride": steps, "padding": more, "dilation": spread}
    out_sizes(op_name, sizes, kernel, steps, more, spread)  # raises where no window fits
    return tuple(window.items()), spill


def _spill(
    op_name: str,
    sizes: tuple[Dim, ...],
    kernel: Sizes,
    stride: Sizes,
    sides: Sizes,
    dilation: Sizes,
) -> Sizes:
    """Return what each axis lacks at its end for a last window that begins inside it."""
    lacking: list[int] = []
    for axis, size in enumerate(sizes):
        if not isinstance(size, int):
            raise ShapeError(f"{op_name}: ceil_mode needs known sizes, axis {axis + 2} is {size}.")
        span = size + sides[2 * axis] + sides[2 * axis + 1] - reach(kernel[axis], dilation[axis])
        last = -(-max(span, 0) // stride[axis]) * stride[axis]
        if last >= size + sides[2 * axis]:
            last -= stride[axis]
        lacking.append(max(last - span, 0) if span >= 0 else 0)
    return tuple(lacking)


def flat_window(window: Window) -> Window:
    """Return a window over one axis as one over rows of height 1."""
    before, after = window["padding"]
    return {
        "kernel": (1, *window["kernel"]), "stride": (1, *window["stride"]),
        "padding": (0, 0, before, after), "dilation": (1, *window["dilation"]),
    }  # fmt: skip


def split_window(window: Window) -> tuple[Window, Window]:
    """Return a window over depth, rows and columns as one over images and one over depth."""
    inner = {
        name: window[name][1:] if name != "padding" else window[name][2:]
        for name in ("kernel", "stride", "dilation", "padding")
    }
    outer = {name: (window[name][0], 1) for name in ("kernel", "stride", "dilation")}
    return inner, {**outer, "padding": (*window["padding"][:2], 0, 0)}


def pool_rule(op_name: str, axes: int) -> Callable[..., Aval]:
    """Return the rule of a pooling op: one element a window."""

    def infer(
        input: Aval, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, **_: Any
    ) -> Aval:
        require_ndim(op_name, "input", input, axes + 2)
        size = out_sizes(op_name, input.shape[2:], kernel, stride, padding, dilation)
        return Aval((*input.shape[:2], *size), input.dtype)

    return infer


def _max_rule(input: Aval, **attrs: Any) -> tuple[Aval, Aval]:
    out = pool_rule("max_pool2d", 2)(input, **attrs)
    return out, Aval(out.shape, int32)


def _max_grad(ctx: GradContext) -> Grads:
    if ctx.douts[0] is None:
        return (None,)
    size = tuple(ctx.inputs[0].shape[2:])
    return (max_pool2d_grad(ctx.dout, ctx.outputs[1], size, **ctx.attrs),)


def unbatched(axes: int) -> Callable[[Op, Callable[..., Call]], Callable[..., Any]]:
    """Return the maker of a function that takes planes of one example too, without a batch axis."""

    def make(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            inputs, attrs = prepare(*args, **kwargs)
            return apply(entry, inputs, attrs)

        return _with_batch(run, entry.inputs, axes)

    return make


def _with_batch(run: Callable[..., Any], names: tuple[str, ...], axes: int) -> Callable[..., Any]:
    """Give tensors without a batch axis one, and take it off the results."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*args[: len(names)], *(kwargs[name] for name in names if name in kwargs)]
        tensors = [as_tensor(item) for item in given]
        if not tensors or any(len(tensor.shape) != axes + 1 for tensor in tensors):
            return run(*args, **kwargs)
        count = min(len(args), len(names))
        batches = [array.expand_dims(tensor, 0) for tensor in tensors]
        named = dict(zip((n for n in names if n in kwargs), batches[count:], strict=True))
        out = run(*batches[:count], *args[count:], **{**kwargs, **named})
        if isinstance(out, tuple):
            return tuple(array.squeeze(part, 0) for part in out)
        return array.squeeze(out, 0)

    return call


def _public_max_pool2d(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
    """Return the function that keeps the op's second output, the taps, to itself."""

    def run(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        pad_mode: str = "pad",
    ) -> Any:
        inputs, attrs = prepare(
            x, kernel_size, stride, padding, dilation, return_indices, ceil_mode, pad_mode
        )
        out, taps = apply(entry, inputs, attrs)
        if not return_indices:
            return out
        return out, pool_indices(taps, tuple(inputs[0].shape[2:]), **attrs)

    return _with_batch(run, ("x",), 2)


@op(
    infer=_max_rule,
    kernel=pool_kernels.max_pool2d,
    grad=_max_grad,
    lowering=Host(REASON),
    category="nn",
    inputs=("x",),
    primitive="MaxPool2D",
    fast=_public_max_pool2d,
)
def max_pool2d(
    x: TensorLike,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, int] = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
    pad_mode: str = "pad",
) -> Call:
    """Return the largest element of each window of images; NaN wins.

    Parameters
    ----------
    x : Tensor
        ``[n, c, h, w]`` or ``[c, h, w]``.
    kernel_size, stride : int or tuple of int
        Size and step of the window; the step is by default the size.
    padding : int or tuple of int
        Pixels around, which never win: one number, (rows, columns) or (top, bottom, left, right).
    dilation : int or tuple of int
        Spacing of the window's elements.
    return_indices : bool
        Whether to return also where in its plane each maximum stands (Int64), the first of equals.
    ceil_mode : bool
        Whether a last window that begins in the image counts though it does not end there.
    pad_mode : str
        ``"same"``, ``"valid"`` or ``"pad"``, as of ``conv2d``.

    Returns
    -------
    Tensor or tuple of Tensor
        ``[n, c, h', w']``, without ``n`` where the input has none.

    Raises
    ------
    ValueError
        If the window does not fit.
    """
    tensor = as_tensor(x)
    require_ndim("max_pool2d", "x", tensor.aval, 4)
    sizes = tuple(tensor.shape[2:])
    window, _ = window_of(
        "max_pool2d", sizes, kernel_size, stride, padding, dilation, pad_mode, ceil_mode
    )
    return (tensor,), window


def _max_back_grad(ctx: GradContext) -> Grads:
    attrs = {name: value for name, value in ctx.attrs.items() if name != "size"}
    return pool_pick(ctx.dout, ctx.inputs[1], **attrs), None


@op(
    infer=lambda dout, taps, size, **_: Aval((*dout.shape[:2], *size), dout.dtype),
    kernel=pool_kernels.max_pool2d_grad,
    grad=_max_back_grad,
    lowering=Host(REASON),
    category="gradient",
    inputs=("dout", "taps"),
    primitive="MaxPoolGradWithArgmax",
)
def max_pool2d_grad(
    dout: Tensor,
    taps: Tensor,
    size: Any,
    kernel: Pair,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
) -> Call:
    """Return the gradient of ``max_pool2d``: each output's goes to its maximum.

    Parameters
    ----------
    dout, taps : Tensor
        The output's gradient and the places of the maxima.
    size : tuple of int
        Rows and columns of the input.
    kernel, stride, padding, dilation : tuple of int
        The windows.

    Returns
    -------
    Tensor
        ``[n, c, h, w]``.
    """
    return (dout, taps), {
        "size": size, "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation,
    }  # fmt: skip


def _pick_kernel(input: np.ndarray, taps: np.ndarray, **attrs: Any) -> np.ndarray:
    at = pool_kernels.max_pool2d_indices(taps, input.shape[2:], **attrs)
    lead = input.shape[:2]
    flat = input.reshape(*lead, input.shape[2] * input.shape[3])
    places = at.reshape(*lead, at.shape[2] * at.shape[3])
    return np.take_along_axis(flat, places, 2).reshape(at.shape)


def _pick_grad(ctx: GradContext) -> Grads:
    size = tuple(ctx.inputs[0].shape[2:])
    return max_pool2d_grad(ctx.dout, ctx.inputs[1], size, **ctx.attrs), None


@op(
    infer=lambda input, taps, **_: Aval(taps.shape, input.dtype),
    kernel=_pick_kernel,
    grad=_pick_grad,
    lowering=Host(REASON),
    category="gradient",
    inputs=("input", "taps"),
)
def pool_pick(
    input: Tensor, taps: Tensor, kernel: Pair, stride: Pair, padding: Padding, dilation: Pair
) -> Call:
    """Return the elements that stand where ``max_pool2d`` found its maxima.

    Parameters
    ----------
    input, taps : Tensor
        Images, and the places of the maxima.
    kernel, stride, padding, dilation : tuple of int
        The windows.

    Returns
    -------
    Tensor
        ``[n, c, h', w']``.
    """
    return (input, taps), {
        "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation,
    }  # fmt: skip


@op(
    infer=lambda taps, **_: Aval(taps.shape, int64),
    kernel=pool_kernels.max_pool2d_indices,
    lowering=Host(REASON),
    category="gradient",
    inputs=("taps",),
)
def pool_indices(
    taps: Tensor, size: Any, kernel: Pair, stride: Pair, padding: Padding, dilation: Pair
) -> Call:
    """Return where in their planes the maxima of ``max_pool2d`` stand.

    Parameters
    ----------
    taps : Tensor
        Which place in its window each maximum came from.
    size : tuple of int
        Rows and columns of the input.
    kernel, stride, padding, dilation : tuple of int
        The windows.

    Returns
    -------
    Tensor
        Int64, row times width plus column.
    """
    return (taps,), {
        "size": size, "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation,
    }  # fmt: skip


def extremes(x: Tensor, window: Window) -> tuple[Tensor, Tensor]:
    """Return the maxima of windows over images, and which place in its window each came from."""
    attrs = {name: window[name] for name in ("kernel", "stride", "padding", "dilation")}
    return apply(OPS["max_pool2d"], (x,), attrs)
