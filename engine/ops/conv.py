"""Convolution and pooling of images ``[n, c, h, w]``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import conv as conv_kernels
from ...kernels import pool as pool_kernels
from ..dtype import int32, promote
from ..shape import Aval, Dim, ShapeError, SymDim, shape_text
from ..tensor import Tensor
from . import reduce
from .cast import TensorLike, as_float, as_tensor, cast_to
from .registry import Call, GradContext, Host, checked, op
from .rules import require_float, require_ndim, require_same_dtype

Grads = tuple[Tensor | None, ...]
Pair = tuple[int, int]
Padding = tuple[int, int, int, int]
"""Rows above and below, columns left and right."""

_REASON = "runs in NumPy and BLAS"


def as_pair_of(name: str, value: Any) -> Pair:
    """Return one number or two as a pair of positive numbers for rows and columns."""
    pair = (value, value) if isinstance(value, int) else tuple(value)
    if len(pair) != 2 or any(not isinstance(item, int) or item < 1 for item in pair):
        raise ValueError(f"{name} must be a positive int or two of them, it is {value!r}.")
    return pair  # pyright: ignore[reportReturnType]


def padding_of(
    op_name: str,
    input: Aval,
    kernel: Pair,
    stride: Pair,
    dilation: Pair,
    pad_mode: str,
    padding: Any,
) -> Padding:
    """Return the padding that a mode gives: ``same``, ``valid`` or ``pad`` with numbers."""
    if pad_mode == "valid":
        return (0, 0, 0, 0)
    if pad_mode == "pad":
        sides = (padding,) * 4 if isinstance(padding, int) else tuple(padding)
        if len(sides) == 2:
            sides = (sides[0], sides[0], sides[1], sides[1])
        if len(sides) != 4 or min(sides) < 0:
            raise ValueError(
                f"{op_name}: padding must be an int, two or four of them, not negative; it is"
                f" {padding!r}."
            )
        return sides
    if pad_mode != "same":
        raise ValueError(
            f"{op_name}: pad_mode must be 'same', 'valid' or 'pad', it is {pad_mode!r}."
        )
    rows = _same_padding(op_name, input.shape[-2], kernel[0], stride[0], dilation[0])
    columns = _same_padding(op_name, input.shape[-1], kernel[1], stride[1], dilation[1])
    return (*rows, *columns)


def _same_padding(op_name: str, size: Dim, kernel: int, stride: int, dilation: int) -> Pair:
    reach = (kernel - 1) * dilation + 1
    if isinstance(size, SymDim):
        if stride != 1:
            raise ShapeError(
                f"{op_name}: pad_mode 'same' with stride {stride} needs a known size, it is {size}."
            )
        total = reach - 1
    else:
        total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def _out_size(op_name: str, size: Dim, kernel: int, stride: int, before: int, dilation: int) -> Dim:
    span = size + (before - ((kernel - 1) * dilation + 1))
    if isinstance(span, int) and span < 0:
        raise ShapeError(
            f"{op_name}: a kernel of {kernel} (dilation {dilation}) does not fit {size} elements"
            f" padded by {before}; make the image larger or the kernel smaller."
        )
    return span // stride + 1


def _window(op_name: str, input: Aval, kernel: Pair, attrs: dict[str, Any]) -> tuple[Dim, Dim]:
    require_ndim(op_name, "input", input, 4)
    top, bottom, left, right = attrs["padding"]
    dilation = attrs.get("dilation", (1, 1))
    rows = (input.shape[2], kernel[0], attrs["stride"][0], top + bottom, dilation[0])
    columns = (input.shape[3], kernel[1], attrs["stride"][1], left + right, dilation[1])
    return _out_size(op_name, *rows), _out_size(op_name, *columns)


# ---- convolution -----------------------------------------------------------------------------


def _conv_rule(input: Aval, weight: Aval, bias: Aval | None = None, **attrs: Any) -> Aval:
    require_ndim("conv2d", "input", input, 4)
    require_ndim("conv2d", "weight", weight, 4)
    dtype = require_same_dtype("conv2d", input=input, weight=weight)
    groups = attrs["groups"]
    out_channels, channels = weight.shape[:2]
    if input.shape[1] != channels * groups:
        raise ShapeError(
            f"conv2d: input {shape_text(input.shape)} has {input.shape[1]} channels, weight"
            f" {shape_text(weight.shape)} with groups {groups} takes {channels * groups}."
        )
    if isinstance(out_channels, int) and out_channels % groups:
        raise ShapeError(
            f"conv2d: {out_channels} output channels do not divide by groups {groups}."
        )
    if bias is not None and bias.shape != (out_channels,):
        raise ShapeError(f"conv2d: bias {shape_text(bias.shape)} must have [{out_channels}].")
    size = _window("conv2d", input, weight.shape[2:], attrs)  # pyright: ignore[reportArgumentType]
    return Aval((input.shape[0], out_channels, *size), dtype)


def _conv_kernel(
    input: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, **attrs: Any
) -> np.ndarray:
    out = conv_kernels.conv2d(input, weight, **attrs)
    if bias is not None:
        out += bias[:, None, None]
    return out


def _conv_grad(ctx: GradContext) -> Grads:
    x, weight = ctx.inputs[:2]
    attrs = ctx.attrs
    first = second = None
    if ctx.needs[0]:
        first = conv2d_input_grad(ctx.dout, weight, tuple(x.shape[2:]), **attrs)
    if ctx.needs[1]:
        second = conv2d_weight_grad(ctx.dout, x, tuple(weight.shape[2:]), **attrs)
    if len(ctx.inputs) == 2:
        return first, second
    return first, second, reduce.sum(ctx.dout, (0, 2, 3)) if ctx.needs[2] else None


@op(
    infer=_conv_rule,
    kernel=_conv_kernel,
    grad=_conv_grad,
    lowering=Host(_REASON),
    category="nn",
    inputs=("input", "weight", "bias"),
    primitive="Conv2D",
)
def conv2d(
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Call:
    """Slide filters over images.

    Parameters
    ----------
    input : Tensor
        ``[n, c, h, w]``.
    weight : Tensor
        ``[o, c / groups, rows, columns]``.
    bias : Tensor, optional
        ``[o]``.
    stride : int or tuple of int
        Step of the window in rows and columns.
    pad_mode : str
        ``"same"`` keeps the size (divided by the stride), ``"valid"`` pads nothing, ``"pad"``
        takes ``padding``.
    padding : int or tuple of int
        Pixels around: one number, (rows, columns) or (top, bottom, left, right).
    dilation : int or tuple of int
        Spacing of the filter's elements.
    groups : int
        Groups of channels that are convolved apart.

    Returns
    -------
    Tensor
        ``[n, o, h', w']``.

    Raises
    ------
    ValueError
        If channels, groups or sizes do not fit.
    """
    items = [as_float(item) for item in (input, weight, bias) if item is not None]
    dtype = items[0].dtype
    for item in items[1:]:
        dtype = promote(dtype, item.dtype)
    x, w = items[0].aval, items[1].aval
    require_ndim("conv2d", "input", x, 4)
    require_ndim("conv2d", "weight", w, 4)
    steps, spread = as_pair_of("conv2d: stride", stride), as_pair_of("conv2d: dilation", dilation)
    kernel: Any = w.shape[2:]
    sides = padding_of("conv2d", x, kernel, steps, spread, pad_mode, padding)
    attrs = {"stride": steps, "padding": sides, "dilation": spread, "groups": int(groups)}
    return checked(_conv_rule, tuple(cast_to(item, dtype) for item in items), attrs)


def _conv_input_grad_grad(ctx: GradContext) -> Grads:
    dout, weight = ctx.inputs
    attrs = {name: value for name, value in ctx.attrs.items() if name != "size"}
    first = apply_conv(ctx.dout, weight, attrs) if ctx.needs[0] else None
    second = None
    if ctx.needs[1]:
        second = conv2d_weight_grad(dout, ctx.dout, tuple(weight.shape[2:]), **attrs)
    return first, second


def apply_conv(input: Tensor, weight: Tensor, attrs: dict[str, Any]) -> Tensor:
    """Run ``conv2d`` with attributes as its op has them."""
    return conv2d(
        input, weight, None, attrs["stride"], "pad", attrs["padding"], attrs["dilation"],
        attrs["groups"],
    )  # fmt: skip


@op(
    infer=lambda dout, weight, size, groups, **_: Aval(
        (dout.shape[0], weight.shape[1] * groups, *size), dout.dtype
    ),
    kernel=conv_kernels.conv2d_input_grad,
    grad=_conv_input_grad_grad,
    lowering=Host(_REASON),
    category="gradient",
    inputs=("dout", "weight"),
    primitive="Conv2DBackpropInput",
)
def conv2d_input_grad(
    dout: Tensor,
    weight: Tensor,
    size: Any,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> Call:
    """Return the gradient of ``conv2d`` to its input.

    Parameters
    ----------
    dout, weight : Tensor
        The output's gradient and the filters.
    size : tuple of int
        Rows and columns of the input.
    stride, padding, dilation, groups
        As of ``conv2d``.

    Returns
    -------
    Tensor
        ``[n, c, h, w]``.
    """
    return (dout, weight), {
        "size": size, "stride": stride, "padding": padding, "dilation": dilation, "groups": groups,
    }  # fmt: skip


def _conv_weight_grad_grad(ctx: GradContext) -> Grads:
    dout, x = ctx.inputs
    attrs = {name: value for name, value in ctx.attrs.items() if name != "kernel"}
    first = apply_conv(x, ctx.dout, attrs) if ctx.needs[0] else None
    second = None
    if ctx.needs[1]:
        second = conv2d_input_grad(dout, ctx.dout, tuple(x.shape[2:]), **attrs)
    return first, second


@op(
    infer=lambda dout, input, kernel, groups, **_: Aval(
        (dout.shape[1], input.shape[1] // groups, *kernel), dout.dtype
    ),
    kernel=conv_kernels.conv2d_weight_grad,
    grad=_conv_weight_grad_grad,
    lowering=Host(_REASON),
    category="gradient",
    inputs=("dout", "input"),
    primitive="Conv2DBackpropFilter",
)
def conv2d_weight_grad(
    dout: Tensor,
    input: Tensor,
    kernel: Any,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> Call:
    """Return the gradient of ``conv2d`` to its filters.

    Parameters
    ----------
    dout, input : Tensor
        The output's gradient and the images.
    kernel : tuple of int
        Rows and columns of the filters.
    stride, padding, dilation, groups
        As of ``conv2d``.

    Returns
    -------
    Tensor
        ``[o, c / groups, rows, columns]``.
    """
    return (dout, input), {
        "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation,
        "groups": groups,
    }  # fmt: skip


# ---- pooling ---------------------------------------------------------------------------------


def _pool_rule(op_name: str) -> Any:
    def infer(input: Aval, **attrs: Any) -> Aval:
        size = _window(op_name, input, attrs["kernel"], attrs)
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
