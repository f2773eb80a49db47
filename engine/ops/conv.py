"""Convolution of images ``[n, c, h, w]``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import conv as conv_kernels
from ..dtype import promote
from ..shape import Aval, Dim, ShapeError, SymDim, shape_text
from ..tensor import Tensor
from . import reduce
from .cast import TensorLike, as_float, cast_to
from .registry import Call, GradContext, Grads, Host, checked, op
from .rules import require_ndim, require_same_dtype

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


def window_size(op_name: str, input: Aval, kernel: Pair, attrs: dict[str, Any]) -> tuple[Dim, Dim]:
    """Return rows and columns of the output of sliding windows."""
    require_ndim(op_name, "input", input, 4)
    top, bottom, left, right = attrs["padding"]
    dilation = attrs.get("dilation", (1, 1))
    rows = (input.shape[2], kernel[0], attrs["stride"][0], top + bottom, dilation[0])
    columns = (input.shape[3], kernel[1], attrs["stride"][1], left + right, dilation[1])
    return _out_size(op_name, *rows), _out_size(op_name, *columns)


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
    size = window_size("conv2d", input, weight.shape[2:], attrs)  # pyright: ignore[reportArgumentType]
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
