"""Convolution of sequences and of volumes, by that of images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..shape import Aval
from ..tensor import Tensor
from . import array
from .cast import TensorLike
from .conv import apply_conv, conv_rule, prepare_conv
from .expansion import expanded
from .linalg import bias_add
from .registry import Call, Composite, GradContext, Grads, Host, op
from .sliding import Pair, out_sizes, reach

_REASON = "gathers windows of frames in NumPy"


def flat_attrs(attrs: dict[str, Any]) -> dict[str, Any]:
    """Return a convolution's attributes over one axis as those over rows of height 1."""
    return {
        "stride": (1, *attrs["stride"]), "padding": (0, 0, *attrs["padding"]),
        "dilation": (1, *attrs["dilation"]), "groups": attrs["groups"],
    }  # fmt: skip


def split_attrs(attrs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a convolution's attributes over volumes as those over images and those over depth."""
    inner = {
        "stride": attrs["stride"][1:], "padding": attrs["padding"][2:],
        "dilation": attrs["dilation"][1:], "groups": attrs["groups"],
    }  # fmt: skip
    outer = {
        "stride": attrs["stride"][0], "padding": attrs["padding"][:2],
        "dilation": attrs["dilation"][0],
    }  # fmt: skip
    return inner, outer


def _expand_conv1d(input: Tensor, weight: Tensor, *bias: Tensor, **attrs: Any) -> Tensor:
    rows, filters = array.expand_dims(input, 2), array.expand_dims(weight, 2)
    out = array.squeeze(apply_conv(rows, filters, flat_attrs(attrs)), 2)
    return bias_add(out, bias[0]) if bias else out


@op(
    infer=conv_rule("conv1d", 1),
    kernel=expanded(_expand_conv1d),
    lowering=Composite(_expand_conv1d),
    category="nn",
    inputs=("input", "weight", "bias"),
    primitive="Conv1D",
)
def conv1d(
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | tuple[int] = 1,
    pad_mode: str = "valid",
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int] = 1,
    groups: int = 1,
) -> Call:
    """Apply a 1-D convolution (cross-correlation) to sequences.

    Parameters
    ----------
    input : Tensor
        ``[n, c, length]``.
    weight : Tensor
        ``[o, c / groups, taps]``.
    bias : Tensor, optional
        ``[o]``.
    stride : int or tuple of int
        Step of the window.
    pad_mode : str
        ``"same"`` keeps the size (divided by the stride), ``"valid"`` pads nothing, ``"pad"``
        takes ``padding``.
    padding : int or tuple of int
        Zeros at both ends: one number, or (before, after).
    dilation : int or tuple of int
        Spacing of the filter's elements.
    groups : int
        Groups of channels that are convolved apart.

    Returns
    -------
    Tensor
        ``[n, o, length']``.

    Raises
    ------
    ValueError
        If channels, groups or sizes do not fit.
    """
    tensors = (input, weight, bias)
    return prepare_conv("conv1d", 1, tensors, stride, (pad_mode, padding), dilation, groups)


def _frames(shape: tuple[Any, ...], kernel: int, stride: int, padding: Pair, dilation: int) -> Any:
    (count,) = out_sizes("conv3d", shape[2:3], (kernel,), (stride,), tuple(padding), (dilation,))
    return count


def _windows_rule(input: Aval, kernel: int, stride: int, padding: Pair, dilation: int) -> Aval:
    n, c, _, h, w = input.shape
    count = _frames(input.shape, kernel, stride, padding, dilation)
    return Aval((n, count, c, kernel, h, w), input.dtype)


def _seen(padded: np.ndarray, kernel: int, stride: int, dilation: int) -> np.ndarray:
    """Return the view ``[n, windows, c, kernel, h, w]`` of a padded volume."""
    view = sliding_window_view(padded, reach(kernel, dilation), 2, writeable=True)
    return view[:, :, ::stride, :, :, ::dilation].transpose(0, 2, 1, 5, 3, 4)


def _windows_kernel(
    input: np.ndarray, kernel: int, stride: int, padding: Pair, dilation: int
) -> np.ndarray:
    if any(padding):
        input = np.pad(input, ((0, 0), (0, 0), padding, (0, 0), (0, 0)))
    return np.ascontiguousarray(_seen(input, kernel, stride, dilation))


def _windows_grad(ctx: GradContext) -> Grads:
    return (frame_windows_sum(ctx.dout, ctx.inputs[0].shape[2], **ctx.attrs),)


@op(
    infer=_windows_rule,
    kernel=_windows_kernel,
    grad=_windows_grad,
    lowering=Host(_REASON),
    category="gradient",
    inputs=("input",),
)
def frame_windows(input: Tensor, kernel: int, stride: int, padding: Pair, dilation: int) -> Call:
    """Return the windows over the depth of volumes, one after another.

    Parameters
    ----------
    input : Tensor
        ``[n, c, d, h, w]``.
    kernel, stride, dilation : int
        Size, step and spacing of the windows.
    padding : tuple of int
        Frames of zeros before and after.

    Returns
    -------
    Tensor
        ``[n, windows, c, kernel, h, w]``.
    """
    return (input,), {
        "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation,
    }  # fmt: skip


def _windows_sum_kernel(
    dout: np.ndarray, depth: int, kernel: int, stride: int, padding: Pair, dilation: int
) -> np.ndarray:
    n, count, c, _, h, w = dout.shape
    padded = np.zeros((n, c, depth + sum(padding), h, w), dout.dtype)
    for tap in range(kernel):
        first = tap * dilation
        frames = padded[:, :, first : first + (count - 1) * stride + 1 : stride]
        frames += dout[:, :, :, tap].swapaxes(1, 2)
    return np.ascontiguousarray(padded[:, :, padding[0] : padding[0] + depth])


def _windows_sum_grad(ctx: GradContext) -> Grads:
    return (frame_windows(ctx.dout, **{k: v for k, v in ctx.attrs.items() if k != "depth"}),)


@op(
    infer=lambda dout, depth, **_: Aval(
        (dout.shape[0], dout.shape[2], depth, *dout.shape[4:]), dout.dtype
    ),
    kernel=_windows_sum_kernel,
    grad=_windows_sum_grad,
    lowering=Host(_REASON),
    category="gradient",
    inputs=("dout",),
)
def frame_windows_sum(
    dout: Tensor, depth: Any, kernel: int, stride: int, padding: Pair, dilation: int
) -> Call:
    """Add windows over the depth up where they came from.

    Parameters
    ----------
    dout : Tensor
        ``[n, windows, c, kernel, h, w]``.
    depth : int
        Frames of the volumes.
    kernel, stride, padding, dilation
        As of ``frame_windows``.

    Returns
    -------
    Tensor
        ``[n, c, depth, h, w]``.
    """
    return (dout,), {
        "depth": depth, "kernel": kernel, "stride": stride, "padding": padding,
        "dilation": dilation,
    }  # fmt: skip


def _expand_conv3d(input: Tensor, weight: Tensor, *bias: Tensor, **attrs: Any) -> Tensor:
    # The frames that a window sees become channels of one image, which is convolved as such.
    inner, outer = split_attrs(attrs)
    o, c, taps, *size = weight.shape
    windows = frame_windows(input, kernel=taps, **outer)
    n, count, channels, _, h, w = windows.shape
    images = array.reshape(windows, (n * count, channels * taps, h, w))
    out = apply_conv(images, array.reshape(weight, (o, c * taps, *size)), inner)
    out = array.reshape(out, (n, count, o, *out.shape[2:]))
    out = array.transpose(out, (0, 2, 1, 3, 4))
    return bias_add(out, bias[0]) if bias else out


@op(
    infer=conv_rule("conv3d", 3),
    kernel=expanded(_expand_conv3d),
    lowering=Composite(_expand_conv3d),
    category="nn",
    inputs=("input", "weight", "bias"),
    primitive="Conv3D",
)
def conv3d(
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | tuple[int, int, int] = 1,
    pad_mode: str = "valid",
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, int, int] = 1,
    groups: int = 1,
) -> Call:
    """Apply a 3-D convolution (cross-correlation) to volumes.

    Parameters
    ----------
    input : Tensor
        ``[n, c, d, h, w]``.
    weight : Tensor
        ``[o, c / groups, frames, rows, columns]``.
    bias : Tensor, optional
        ``[o]``.
    stride : int or tuple of int
        Step of the window along each axis.
    pad_mode : str
        ``"same"`` keeps the size (divided by the stride), ``"valid"`` pads nothing, ``"pad"``
        takes ``padding``.
    padding : int or tuple of int
        Zeros around: one number, one an axis, or two an axis (before and after).
    dilation : int or tuple of int
        Spacing of the filter's elements.
    groups : int
        Groups of channels that are convolved apart.

    Returns
    -------
    Tensor
        ``[n, o, d', h', w']``.

    Raises
    ------
    ValueError
        If channels, groups or sizes do not fit.
    """
    tensors = (input, weight, bias)
    return prepare_conv("conv3d", 3, tensors, stride, (pad_mode, padding), dilation, groups)
