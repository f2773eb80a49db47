"""Pooling of images ``[n, c, h, w]``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import pool as pool_kernels
from ..dtype import int32
from ..shape import Aval
from ..tensor import Tensor
from .cast import TensorLike, as_float, as_tensor
from .conv import Grads, Padding, Pair, as_pair_of, padding_of, window_size
from .registry import Call, GradContext, Host, op
from .rules import require_float, require_ndim

_REASON = "runs in NumPy"


def _pool_rule(op_name: str) -> Any:
    def infer(input: Aval, **attrs: Any) -> Aval:
        size = window_size(op_name, input, attrs["kernel"], attrs)
        return Aval((*input.shape[:2], *size), input.dtype)

    return infer


def _max_rule(input: Aval, **attrs: Any) -> tuple[Aval, Aval]:
    out = _pool_rule("max_pool2d")(input, **attrs)
    return out, Aval(out.shape, int32)


def _max_grad(ctx: GradContext) -> Grads:
    if ctx.douts[0] is None:
        return (None,)
    size = tuple(ctx.inputs[0].shape[2:])
    return (max_pool2d_grad(ctx.dout, ctx.outputs[1], size, **ctx.attrs),)


def _pooling(
    op_name: str, input: Tensor, kernel_size: Any, stride: Any, pad: Any
) -> dict[str, Any]:
    pad_mode, padding, dilation = pad
    require_ndim(op_name, "input", input.aval, 4)
    kernel = as_pair_of(f"{op_name}: kernel_size", kernel_size)
    steps = kernel if stride is None else as_pair_of(f"{op_name}: stride", stride)
    spread = as_pair_of(f"{op_name}: dilation", dilation)
    sides = padding_of(op_name, input.aval, kernel, steps, spread, pad_mode, padding)
    return {"kernel": kernel, "stride": steps, "padding": sides, "dilation": spread}


@op(
    infer=_max_rule,
    kernel=pool_kernels.max_pool2d,
    grad=_max_grad,
    lowering=Host(_REASON),
    category="gradient",
    inputs=("input",),
    primitive="MaxPoolWithArgmax",
)
def max_pool2d_taps(
    input: Tensor, kernel: Pair, stride: Pair, padding: Padding, dilation: Pair
) -> Call:
    """Return the maxima of windows, and which place in its window each came from.

    Parameters
    ----------
    input : Tensor
        ``[n, c, h, w]``.
    kernel, stride, padding, dilation : tuple of int
        The windows.

    Returns
    -------
    tuple of Tensor
        Maxima and Int32 places, ``[n, c, h', w']``.
    """
    return (input,), {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}


def max_pool2d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: bool = False,
    pad_mode: str = "pad",
) -> Any:
    """Return the largest element of each window; NaN wins.

    Parameters
    ----------
    x : Tensor
        ``[n, c, h, w]``.
    kernel_size, stride : int or tuple of int
        Size and step of the window; the step is by default the size.
    padding : int or tuple of int
        Pixels around, which never win.
    dilation : int or tuple of int
        Spacing of the window's elements.
    return_indices : bool
        Whether to return also where in its plane each maximum stands (Int64).
    pad_mode : str
        ``"same"``, ``"valid"`` or ``"pad"``, as of ``conv2d``.

    Returns
    -------
    Tensor or tuple of Tensor
        ``[n, c, h', w']``.

    Raises
    ------
    ValueError
        If the window does not fit.
    """
    tensor = as_tensor(x)
    attrs = _pooling("max_pool2d", tensor, kernel_size, stride, (pad_mode, padding, dilation))
    out, taps = max_pool2d_taps(tensor, **attrs)
    if not return_indices:
        return out
    size: Any = tuple(tensor.shape[2:])
    return out, Tensor(pool_kernels.max_pool2d_indices(taps.data, size, **attrs))


def _max_back_grad(ctx: GradContext) -> Grads:
    attrs = {name: value for name, value in ctx.attrs.items() if name != "size"}
    return pool_pick(ctx.dout, ctx.inputs[1], **attrs), None


@op(
    infer=lambda dout, taps, size, **_: Aval((*dout.shape[:2], *size), dout.dtype),
    kernel=pool_kernels.max_pool2d_grad,
    grad=_max_back_grad,
    lowering=Host(_REASON),
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
    flat = input.reshape(*input.shape[:2], -1)
    return np.take_along_axis(flat, at.reshape(*at.shape[:2], -1), 2).reshape(at.shape)


def _pick_grad(ctx: GradContext) -> Grads:
    size = tuple(ctx.inputs[0].shape[2:])
    return max_pool2d_grad(ctx.dout, ctx.inputs[1], size, **ctx.attrs), None


@op(
    infer=lambda input, taps, **_: Aval(taps.shape, input.dtype),
    kernel=_pick_kernel,
    grad=_pick_grad,
    lowering=Host(_REASON),
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


def _avg_rule(input: Aval, kernel: Pair, count_padding: bool, **attrs: Any) -> Aval:
    require_float("avg_pool2d", "input", input)
    return _pool_rule("avg_pool2d")(input, kernel=kernel, **attrs)


def _avg_grad(ctx: GradContext) -> Grads:
    return (avg_pool2d_grad(ctx.dout, tuple(ctx.inputs[0].shape[2:]), **ctx.attrs),)


@op(
    infer=_avg_rule,
    kernel=pool_kernels.avg_pool2d,
    grad=_avg_grad,
    lowering=Host(_REASON),
    category="nn",
    inputs=("x",),
    primitive="AvgPool",
)
def avg_pool2d(
    x: TensorLike,
    kernel_size: Any = 1,
    stride: Any = None,
    padding: Any = 0,
    count_include_pad: bool = True,
    pad_mode: str = "pad",
) -> Call:
    """Return the mean of each window.

    Parameters
    ----------
    x : Tensor
        ``[n, c, h, w]``; integers are cast to float32.
    kernel_size, stride : int or tuple of int
        Size and step of the window; the step is by default the size.
    padding : int or tuple of int
        Pixels around, which are zeros.
    count_include_pad : bool
        Whether padding counts in the mean.
    pad_mode : str
        ``"same"``, ``"valid"`` or ``"pad"``, as of ``conv2d``.

    Returns
    -------
    Tensor
        ``[n, c, h', w']``.

    Raises
    ------
    ValueError
        If the window does not fit.
    """
    tensor = as_float(x)
    attrs = _pooling("avg_pool2d", tensor, kernel_size, stride, (pad_mode, padding, 1))
    del attrs["dilation"]
    return (tensor,), {**attrs, "count_padding": bool(count_include_pad)}


def _avg_back_grad(ctx: GradContext) -> Grads:
    attrs = ctx.attrs
    out = avg_pool2d(
        ctx.dout, attrs["kernel"], attrs["stride"], attrs["padding"], attrs["count_padding"]
    )
    return (out,)


@op(
    infer=lambda dout, size, **_: Aval((*dout.shape[:2], *size), dout.dtype),
    kernel=pool_kernels.avg_pool2d_grad,
    grad=_avg_back_grad,
    lowering=Host(_REASON),
    category="gradient",
    inputs=("dout",),
    primitive="AvgPoolGrad",
)
def avg_pool2d_grad(
    dout: Tensor, size: Any, kernel: Pair, stride: Pair, padding: Padding, count_padding: bool
) -> Call:
    """Return the gradient of ``avg_pool2d``: each output's is spread over its window.

    Parameters
    ----------
    dout : Tensor
        The output's gradient.
    size : tuple of int
        Rows and columns of the input.
    kernel, stride, padding : tuple of int
        The windows.
    count_padding : bool
        Whether padding counts in the mean.

    Returns
    -------
    Tensor
        ``[n, c, h, w]``.
    """
    return (dout,), {
        "size": size, "kernel": kernel, "stride": stride, "padding": padding,
        "count_padding": count_padding,
    }  # fmt: skip
