"""The largest element of each window of images, its place and its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels import pool as pool_kernels
from ..dtype import int32, int64
from ..shape import Aval
from ..tensor import Tensor
from .cast import TensorLike, as_tensor
from .pool import REASON, Window, pool_rule, window_of, with_batch
from .registry import OPS, Call, GradContext, Grads, Host, Op, apply, op
from .rules import require_ndim
from .sliding import Padding, Pair


def _max_rule(input: Aval, **attrs: Any) -> tuple[Aval, Aval]:
    out = pool_rule("max_pool2d", 2)(input, **attrs)
    return out, Aval(out.shape, int32)


def _max_grad(ctx: GradContext) -> Grads:
    if ctx.douts[0] is None:
        return (None,)
    size = tuple(ctx.inputs[0].shape[2:])
    return (max_pool2d_grad(ctx.dout, ctx.outputs[1], size, **ctx.attrs),)


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

    return with_batch(run, ("x",), 2)


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
    """Apply max pooling to images: the largest element of each window; NaN wins.

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
