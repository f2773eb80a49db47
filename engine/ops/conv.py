"""Convolution of images ``[n, c, h, w]``."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...kernels import conv as conv_kernels
from ..dtype import promote
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import reduce
from .cast import TensorLike, as_float, cast_to
from .registry import Call, GradContext, Grads, Host, checked, op
from .rules import require_ndim, require_same_dtype
from .sliding import Padding, Pair, Sizes, as_sizes, hashable, out_sizes, padding_of

_REASON = "runs in NumPy and BLAS"


def conv_rule(op_name: str, axes: int) -> Callable[..., Aval]:
    """Return the shape rule of a convolution over so many axes."""

    def infer(
        input: Aval,
        weight: Aval,
        bias: Aval | None = None,
        *,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
    ) -> Aval:
        require_ndim(op_name, "input", input, axes + 2)
        require_ndim(op_name, "weight", weight, axes + 2)
        dtype = require_same_dtype(op_name, input=input, weight=weight)
        out_channels, channels = weight.shape[:2]
        if input.shape[1] != channels * groups:
            raise ShapeError(
                f"{op_name}: input {shape_text(input.shape)} has {input.shape[1]} channels, weight"
                f" {shape_text(weight.shape)} with groups {groups} takes {channels * groups}."
            )
        if isinstance(out_channels, int) and out_channels % groups:
            raise ShapeError(
                f"{op_name}: {out_channels} output channels do not divide by groups {groups}."
            )
        if bias is not None and bias.shape != (out_channels,):
            shape = shape_text(bias.shape)
            raise ShapeError(f"{op_name}: bias {shape} must have [{out_channels}].")
        kernel: Any = weight.shape[2:]
        size = out_sizes(op_name, input.shape[2:], kernel, stride, padding, dilation)
        return Aval((input.shape[0], out_channels, *size), dtype)

    return infer


def float_operands(*tensors: TensorLike | None) -> tuple[Tensor, ...]:
    """Return the tensors that are given, in the float dtype in which they meet."""
    items = [as_float(item) for item in tensors if item is not None]
    dtype = items[0].dtype
    for item in items[1:]:
        dtype = promote(dtype, item.dtype)
    return tuple(cast_to(item, dtype) for item in items)


def positive_groups(op_name: str, groups: Any) -> int:
    """Return the number of groups.

    Raises
    ------
    ValueError
        If it is no positive int.
    """
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
        raise ValueError(f"{op_name}: groups must be a positive int, it is {groups!r}.")
    return groups


def prepare_conv(
    op_name: str,
    axes: int,
    tensors: tuple[TensorLike, TensorLike, TensorLike | None],
    stride: Any,
    pad: tuple[str, Any],
    dilation: Any,
    groups: Any,
) -> Call:
    """Return the call of a convolution over so many axes: operands and whole attributes."""
    items = float_operands(*tensors)
    x, w = items[0].aval, items[1].aval
    require_ndim(op_name, "input", x, axes + 2)
    require_ndim(op_name, "weight", w, axes + 2)
    steps = (hashable(stride), pad[0], hashable(pad[1]), hashable(dilation), groups)
    attrs = dict(_conv_attrs(op_name, x.shape[2:], w.shape[2:], *steps))
    return checked(conv_rule(op_name, axes), items, attrs)


@lru_cache(512, typed=True)
def _conv_attrs(
    op_name: str,
    sizes: Any,
    kernel: Any,
    stride: Any,
    pad_mode: str,
    padding: Any,
    dilation: Any,
    groups: Any,
) -> tuple[tuple[str, Any], ...]:
    steps = as_sizes(f"{op_name}: stride", stride, len(sizes))
    spread = as_sizes(f"{op_name}: dilation", dilation, len(sizes))
    attrs = {
        "stride": steps,
        "padding": padding_of(op_name, sizes, kernel, steps, spread, pad_mode, padding),
        "dilation": spread,
        "groups": positive_groups(op_name, groups),
    }
    return tuple(attrs.items())


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
    infer=conv_rule("conv2d", 2),
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
    stride: int | tuple[int, int] = 1,
    pad_mode: str = "valid",
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> Call:
    """Apply a 2-D convolution (cross-correlation) to images.

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
    tensors = (input, weight, bias)
    return prepare_conv("conv2d", 2, tensors, stride, (pad_mode, padding), dilation, groups)


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
