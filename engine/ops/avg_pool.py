"""The mean of each window, over one, two or three axes."""

from __future__ import annotations

from typing import Any

from ...kernels import pool as pool_kernels
from ..shape import Aval
from ..tensor import Tensor
from . import arithmetic, array
from .cast import TensorLike, as_float
from .expansion import expanded
from .pool import (
    REASON,
    Window,
    flat_window,
    pool_rule,
    split_window,
    unbatched,
    window_of,
)
from .registry import OPS, Attrs, Call, Composite, GradContext, Grads, Host, apply, op
from .rules import require_float, require_ndim
from .sliding import Padding, Pair, Sizes


def _avg_rule(op_name: str, axes: int) -> Any:
    windows = pool_rule(op_name, axes)

    def infer(input: Aval, kernel: Sizes, stride: Sizes, padding: Sizes, **_: Any) -> Aval:
        require_float(op_name, "input_x", input)
        return windows(input, kernel, stride, padding, (1,) * axes)

    return infer


def _prepare(
    op_name: str,
    axes: int,
    input_x: TensorLike,
    window: tuple[Any, Any, Any, str, bool],
    count_include_pad: bool,
    divisor_override: int | None,
) -> Call:
    """Return the call of an average: a float tensor, its windows and what they are divided by."""
    x = as_float(input_x)
    require_ndim(op_name, "input_x", x.aval, axes + 2)
    kernel_size, stride, padding, pad_mode, ceil_mode = window
    found, spill = window_of(
        op_name, tuple(x.shape[2:]), kernel_size, stride, padding, 1, pad_mode, ceil_mode
    )
    del found["dilation"]
    divisor = divisor_override or 0
    if isinstance(divisor, bool) or not isinstance(divisor, int):
        raise TypeError(f"{op_name}: divisor_override must be an int, it is {divisor_override!r}.")
    attrs = {**found, "count_padding": bool(count_include_pad), "spill": spill, "divisor": divisor}
    return (x,), attrs


def averaged(x: Tensor, attrs: Attrs) -> Tensor:
    """Run ``avg_pool2d`` with attributes as its op has them."""
    return apply(OPS["avg_pool2d"], (x,), attrs)


def _avg_grad(ctx: GradContext) -> Grads:
    return (avg_pool2d_grad(ctx.dout, tuple(ctx.inputs[0].shape[2:]), **ctx.attrs),)


@op(
    infer=_avg_rule("avg_pool2d", 2),
    kernel=pool_kernels.avg_pool2d,
    grad=_avg_grad,
    lowering=Host(REASON),
    category="nn",
    inputs=("input_x",),
    primitive="AvgPool2D",
    fast=unbatched(2),
)
def avg_pool2d(
    input_x: TensorLike,
    kernel_size: int | tuple[int, int] = 1,
    stride: int | tuple[int, int] | None = 1,
    padding: int | tuple[int, ...] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    pad_mode: str = "pad",
) -> Call:
    """Apply average pooling to images: the mean of each window.

    Parameters
    ----------
    input_x : Tensor
        ``[n, c, h, w]`` or ``[c, h, w]``; integers are cast to float32.
    kernel_size, stride : int or tuple of int
        Size and step of the window; a step of None is the size.
    padding : int or tuple of int
        Pixels around, which are zeros: one number, (rows, columns) or (top, bottom, left, right).
    ceil_mode : bool
        Whether a last window that begins in the image counts though it does not end there.
    count_include_pad : bool
        Whether padding counts in the mean.
    divisor_override : int, optional
        What the sums are divided by instead of the number of elements; 0 is none.
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
    window = (kernel_size, stride, padding, pad_mode, ceil_mode)
    return _prepare("avg_pool2d", 2, input_x, window, count_include_pad, divisor_override)


def _avg_back_grad(ctx: GradContext) -> Grads:
    return (averaged(ctx.dout, {name: v for name, v in ctx.attrs.items() if name != "size"}),)


@op(
    infer=lambda dout, size, **_: Aval((*dout.shape[:2], *size), dout.dtype),
    kernel=pool_kernels.avg_pool2d_grad,
    grad=_avg_back_grad,
    lowering=Host(REASON),
    category="gradient",
    inputs=("dout",),
    primitive="AvgPoolGrad",
)
def avg_pool2d_grad(
    dout: Tensor,
    size: Any,
    kernel: Pair,
    stride: Pair,
    padding: Padding,
    count_padding: bool,
    spill: Pair,
    divisor: int,
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
    spill : tuple of int
        Rows and columns of the padding that never count.
    divisor : int
        What sums are divided by; 0 is the number of elements.

    Returns
    -------
    Tensor
        ``[n, c, h, w]``.
    """
    return (dout,), {
        "size": size, "kernel": kernel, "stride": stride, "padding": padding,
        "count_padding": count_padding, "spill": spill, "divisor": divisor,
    }  # fmt: skip


def _flat_average(window: Window, spill: Sizes, count_padding: bool, divisor: int) -> Attrs:
    """Return the attributes of an average over one axis as of one over rows of height 1."""
    flat = flat_window({**window, "dilation": (1,)})
    del flat["dilation"]
    return {**flat, "count_padding": count_padding, "spill": (0, *spill), "divisor": divisor}


def _expand_avg_pool1d(
    input_x: Tensor, spill: Sizes, count_padding: bool, divisor: int, **window: Any
) -> Tensor:
    attrs = _flat_average(window, spill, count_padding, divisor)
    return array.squeeze(averaged(array.expand_dims(input_x, 2), attrs), 2)


@op(
    infer=_avg_rule("avg_pool1d", 1),
    kernel=expanded(_expand_avg_pool1d),
    lowering=Composite(_expand_avg_pool1d),
    category="nn",
    inputs=("input_x",),
    primitive="AvgPool1D",
    fast=unbatched(1),
)
def avg_pool1d(
    input_x: TensorLike,
    kernel_size: int | tuple[int] = 1,
    stride: int | tuple[int] | None = 1,
    padding: int | tuple[int, ...] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    pad_mode: str = "pad",
) -> Call:
    """Apply average pooling to sequences: the mean of each window.

    Parameters
    ----------
    input_x : Tensor
        ``[n, c, length]`` or ``[c, length]``; integers are cast to float32.
    kernel_size, stride : int or tuple of int
        Size and step of the window; a step of None is the size.
    padding : int or tuple of int
        Zeros at both ends, or (before, after).
    ceil_mode : bool
        Whether a last window that begins in the sequence counts though it does not end there.
    count_include_pad : bool
        Whether padding counts in the mean.
    pad_mode : str
        ``"same"``, ``"valid"`` or ``"pad"``, as of ``conv1d``.

    Returns
    -------
    Tensor
        ``[n, c, length']``.

    Raises
    ------
    ValueError
        If the window does not fit.
    """
    window = (kernel_size, stride, padding, pad_mode, ceil_mode)
    return _prepare("avg_pool1d", 1, input_x, window, count_include_pad, None)


def _expand_avg_pool3d(
    input_x: Tensor, spill: Sizes, count_padding: bool, divisor: int, **window: Any
) -> Tensor:
    # The counts are products of an axis each, so means over images and depth are the whole mean.
    inner, outer = split_window({**window, "dilation": (1, 1, 1)})
    del inner["dilation"], outer["dilation"]
    common = {"count_padding": count_padding, "divisor": 1 if divisor else 0}
    n, c, depth, *size = input_x.shape
    images = array.reshape(input_x, (n, c * depth, *size))
    means = averaged(images, {**inner, **common, "spill": spill[1:]})
    rows, columns = means.shape[2:]
    flat = array.reshape(means, (n, c, depth, rows * columns))
    out = averaged(flat, {**outer, **common, "spill": (spill[0], 0)})
    out = array.reshape(out, (n, c, out.shape[2], rows, columns))
    return arithmetic.mul(out, 1.0 / divisor) if divisor else out


@op(
    infer=_avg_rule("avg_pool3d", 3),
    kernel=expanded(_expand_avg_pool3d),
    lowering=Composite(_expand_avg_pool3d),
    category="nn",
    inputs=("input_x",),
    primitive="AvgPool3D",
    fast=unbatched(3),
)
def avg_pool3d(
    input_x: TensorLike,
    kernel_size: int | tuple[int, int, int] = 1,
    stride: int | tuple[int, int, int] | None = 1,
    padding: int | tuple[int, ...] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    pad_mode: str = "pad",
) -> Call:
    """Apply average pooling to volumes: the mean of each window.

    Parameters
    ----------
    input_x : Tensor
        ``[n, c, d, h, w]`` or ``[c, d, h, w]``; integers are cast to float32.
    kernel_size, stride : int or tuple of int
        Size and step of the window; a step of None is the size.
    padding : int or tuple of int
        Zeros around: one number, one an axis, or two an axis (before and after).
    ceil_mode : bool
        Whether a last window that begins in the volume counts though it does not end there.
    count_include_pad : bool
        Whether padding counts in the mean.
    divisor_override : int, optional
        What the sums are divided by instead of the number of elements; 0 is none.
    pad_mode : str
        ``"same"``, ``"valid"`` or ``"pad"``, as of ``conv3d``.

    Returns
    -------
    Tensor
        ``[n, c, d', h', w']``.

    Raises
    ------
    ValueError
        If the window does not fit.
    """
    window = (kernel_size, stride, padding, pad_mode, ceil_mode)
    return _prepare("avg_pool3d", 3, input_x, window, count_include_pad, divisor_override)
