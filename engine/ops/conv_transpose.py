"""Transposed convolution: the gradient of a convolution to its input, as a layer that widens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..shape import Aval, Dim, ShapeError, shape_text
from ..tensor import Tensor
from . import array
from . import padding as borders
from .cast import TensorLike
from .conv import conv2d_input_grad, float_operands, positive_groups
from .conv_axes import flat_attrs, frame_windows_sum, split_attrs
from .expansion import expanded
from .linalg import bias_add
from .registry import Call, Composite, checked, op
from .rules import require_ndim, require_same_dtype
from .sliding import Sizes, as_sides, as_sizes, mode_of, reach


def _covered(sizes: Any, kernel: Any, attrs: dict[str, Any]) -> tuple[Dim, ...]:
    """Return the sizes of the output that windows reach: all but the zeros after them."""
    pads = attrs["padding"]
    return tuple(
        (size - 1) * attrs["stride"][i]
        + (reach(kernel[i], attrs["dilation"][i]) - pads[2 * i] - pads[2 * i + 1])
        for i, size in enumerate(sizes)
    )


def _rule(op_name: str, axes: int) -> Callable[..., Aval]:
    def infer(input: Aval, weight: Aval, bias: Aval | None = None, **attrs: Any) -> Aval:
        require_ndim(op_name, "input", input, axes + 2)
        require_ndim(op_name, "weight", weight, axes + 2)
        dtype = require_same_dtype(op_name, input=input, weight=weight)
        groups = attrs["groups"]
        if input.shape[1] != weight.shape[0]:
            raise ShapeError(
                f"{op_name}: input {shape_text(input.shape)} has {input.shape[1]} channels, weight"
                f" {shape_text(weight.shape)} takes {weight.shape[0]}."
            )
        if isinstance(input.shape[1], int) and input.shape[1] % groups:
            raise ShapeError(
                f"{op_name}: {input.shape[1]} input channels do not divide by groups {groups}."
            )
        out_channels = weight.shape[1] * groups
        if bias is not None and bias.shape != (out_channels,):
            shape = shape_text(bias.shape)
            raise ShapeError(f"{op_name}: bias {shape} must have [{out_channels}].")
        covered = _covered(input.shape[2:], weight.shape[2:], attrs)
        size = tuple(c + more for c, more in zip(covered, attrs["extra"], strict=True))
        if any(isinstance(side, int) and side < 1 for side in size):
            raise ShapeError(
                f"{op_name}: padding {attrs['padding']} leaves nothing of the output; pad less."
            )
        return Aval((input.shape[0], out_channels, *size), dtype)

    return infer


def _mode_sides(kernel: Sizes, stride: Sizes, dilation: Sizes, mode: str) -> tuple[Sizes, Sizes]:
    """Return what ``same`` or ``valid`` cuts off each side, and the zeros that they add."""
    sides: list[int] = []
    extra: list[int] = []
    for taps, step, spacing in zip(kernel, stride, dilation, strict=True):
        over = reach(taps, spacing) - step
        cut = max(over, 0) if mode == "same" else 0
        sides += [cut // 2, cut - cut // 2]
        extra.append(max(-over, 0))
    return tuple(sides), tuple(extra)


def _output_padding(op_name: str, value: Any, stride: Sizes, dilation: Sizes, mode: str) -> Sizes:
    """Return how much larger the output is than the smallest one.

    Raises
    ------
    ValueError
        If it is negative, as large as a step, or there is a mode that sets the size.
    """
    axes = len(stride)
    more = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(more) == 1:
        more *= axes
    if any(more) and mode != "pad":
        raise ValueError(
            f"{op_name}: output_padding {value!r} needs pad_mode 'pad', it is {mode!r}."
        )
    limits = [max(pair) for pair in zip(stride, dilation, strict=True)]
    if len(more) != axes or any(not 0 <= m < top for m, top in zip(more, limits, strict=True)):
        raise ValueError(
            f"{op_name}: output_padding must be at least 0 and below the larger of stride and"
            f" dilation {limits}, it is {value!r}."
        )
    return more


def _prepare(
    op_name: str,
    axes: int,
    tensors: tuple[TensorLike, TensorLike, TensorLike | None],
    stride: Any,
    pad: tuple[str, Any, Any],
    groups: Any,
    dilation: Any,
) -> Call:
    items = float_operands(*tensors)
    require_ndim(op_name, "input", items[0].aval, axes + 2)
    require_ndim(op_name, "weight", items[1].aval, axes + 2)
    steps = as_sizes(f"{op_name}: stride", stride, axes)
    spread = as_sizes(f"{op_name}: dilation", dilation, axes)
    mode = mode_of(op_name, pad[0])
    sides = as_sides(f"{op_name}: padding", pad[1], axes)
    more = _output_padding(op_name, pad[2], steps, spread, mode)
    if mode == "pad":
        # What the output gains at its end is first what the padding would have cut off there.
        extra = tuple(max(m - sides[2 * i + 1], 0) for i, m in enumerate(more))
        sides = tuple(
            max(side - more[i // 2], 0) if i % 2 else side for i, side in enumerate(sides)
        )
    elif any(sides):
        raise ValueError(f"{op_name}: padding {pad[1]!r} needs pad_mode 'pad', it is {mode!r}.")
    else:
        kernel: Any = items[1].shape[2:]
        sides, extra = _mode_sides(kernel, steps, spread, mode)
    attrs = {
        "stride": steps, "padding": sides, "extra": extra, "dilation": spread,
        "groups": positive_groups(op_name, groups),
    }  # fmt: skip
    return checked(_rule(op_name, axes), items, attrs)


def _finished(out: Tensor, bias: tuple[Tensor, ...], extra: Sizes) -> Tensor:
    """Append the zeros that no window reaches, and add the bias."""
    if any(extra):
        out = borders.pad(out, [n for more in reversed(extra) for n in (0, more)])
    return bias_add(out, bias[0]) if bias else out


def _expand_1d(input: Tensor, weight: Tensor, *bias: Tensor, extra: Sizes, **attrs: Any) -> Tensor:
    size = (1, *_covered(input.shape[2:], weight.shape[2:], attrs))
    rows, filters = array.expand_dims(input, 2), array.expand_dims(weight, 2)
    out = array.squeeze(conv2d_input_grad(rows, filters, size, **flat_attrs(attrs)), 2)
    return _finished(out, bias, extra)


@op(
    infer=_rule("conv_transpose1d", 1),
    kernel=expanded(_expand_1d),
    lowering=Composite(_expand_1d),
    category="nn",
    inputs=("input", "weight", "bias"),
    primitive="Conv1DTranspose",
)
def conv_transpose1d(
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | tuple[int] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int] = 0,
    groups: int = 1,
    dilation: int | tuple[int] = 1,
    pad_mode: str = "pad",
) -> Call:
    """Apply a 1-D transposed convolution to sequences.

    Parameters
    ----------
    input : Tensor
        ``[n, c, length]``.
    weight : Tensor
        ``[c, o / groups, taps]``.
    bias : Tensor, optional
        ``[o]``.
    stride : int or tuple of int
        Step of the window in the output.
    padding : int or tuple of int
        Elements cut off both ends of the output, or (before, after).
    output_padding : int or tuple of int
        Elements more at the output's end, fewer than a step.
    groups : int
        Groups of channels that are convolved apart.
    dilation : int or tuple of int
        Spacing of the filter's elements.
    pad_mode : str
        ``"pad"`` takes ``padding``; ``"same"`` gives the input's size times the stride,
        ``"valid"`` cuts nothing off.

    Returns
    -------
    Tensor
        ``[n, o, length']``.

    Raises
    ------
    ValueError
        If channels, groups or sizes do not fit.

    Notes
    -----
    This is the transpose of the linear map ``conv1d``, so its gradient is a ``conv1d``.
    """
    tensors, pad = (input, weight, bias), (pad_mode, padding, output_padding)
    return _prepare("conv_transpose1d", 1, tensors, stride, pad, groups, dilation)


def _expand_2d(input: Tensor, weight: Tensor, *bias: Tensor, extra: Sizes, **attrs: Any) -> Tensor:
    size = _covered(input.shape[2:], weight.shape[2:], attrs)
    return _finished(conv2d_input_grad(input, weight, size, **attrs), bias, extra)


@op(
    infer=_rule("conv_transpose2d", 2),
    kernel=expanded(_expand_2d),
    lowering=Composite(_expand_2d),
    category="nn",
    inputs=("input", "weight", "bias"),
    primitive="Conv2DTranspose",
)
def conv_transpose2d(
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, int] = 0,
    groups: int = 1,
    dilation: int | tuple[int, int] = 1,
    pad_mode: str = "pad",
) -> Call:
    """Apply a 2-D transposed convolution to images.

    Parameters
    ----------
    input : Tensor
        ``[n, c, h, w]``.
    weight : Tensor
        ``[c, o / groups, rows, columns]``.
    bias : Tensor, optional
        ``[o]``.
    stride : int or tuple of int
        Step of the window in the output.
    padding : int or tuple of int
        Pixels cut off around the output: one number, (rows, columns) or (top, bottom, left, right).
    output_padding : int or tuple of int
        Rows and columns more at the output's end, fewer than a step.
    groups : int
        Groups of channels that are convolved apart.
    dilation : int or tuple of int
        Spacing of the filter's elements.
    pad_mode : str
        ``"pad"`` takes ``padding``; ``"same"`` gives the input's size times the stride,
        ``"valid"`` cuts nothing off.

    Returns
    -------
    Tensor
        ``[n, o, h', w']``.

    Raises
    ------
    ValueError
        If channels, groups or sizes do not fit.

    References
    ----------
    Zeiler et al., Deconvolutional Networks, 2010.
    """
    tensors, pad = (input, weight, bias), (pad_mode, padding, output_padding)
    return _prepare("conv_transpose2d", 2, tensors, stride, pad, groups, dilation)


def _expand_3d(input: Tensor, weight: Tensor, *bias: Tensor, extra: Sizes, **attrs: Any) -> Tensor:
    inner, outer = split_attrs(attrs)
    depth, *size = _covered(input.shape[2:], weight.shape[2:], attrs)
    c, o, taps, *kernel = weight.shape
    n, _, frames, h, w = input.shape
    images = array.reshape(array.transpose(input, (0, 2, 1, 3, 4)), (n * frames, c, h, w))
    filters = array.reshape(weight, (c, o * taps, *kernel))
    spread = conv2d_input_grad(images, filters, tuple(size), **inner)
    windows = array.reshape(spread, (n, frames, o * attrs["groups"], taps, *size))
    return _finished(frame_windows_sum(windows, depth, taps, **outer), bias, extra)


@op(
    infer=_rule("conv_transpose3d", 3),
    kernel=expanded(_expand_3d),
    lowering=Composite(_expand_3d),
    category="nn",
    inputs=("input", "weight", "bias"),
    primitive="Conv3DTranspose",
)
def conv_transpose3d(
    input: TensorLike,
    weight: TensorLike,
    bias: TensorLike | None = None,
    stride: int | tuple[int, int, int] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, int, int] = 0,
    groups: int = 1,
    dilation: int | tuple[int, int, int] = 1,
    pad_mode: str = "pad",
) -> Call:
    """Apply a 3-D transposed convolution to volumes.

    Parameters
    ----------
    input : Tensor
        ``[n, c, d, h, w]``.
    weight : Tensor
        ``[c, o / groups, frames, rows, columns]``.
    bias : Tensor, optional
        ``[o]``.
    stride : int or tuple of int
        Step of the window in the output.
    padding : int or tuple of int
        Elements cut off around the output: one number, one an axis, or two an axis.
    output_padding : int or tuple of int
        Elements more at the end of each axis, fewer than a step.
    groups : int
        Groups of channels that are convolved apart.
    dilation : int or tuple of int
        Spacing of the filter's elements.
    pad_mode : str
        ``"pad"`` takes ``padding``; ``"same"`` gives the input's size times the stride,
        ``"valid"`` cuts nothing off.

    Returns
    -------
    Tensor
        ``[n, o, d', h', w']``.

    Raises
    ------
    ValueError
        If channels, groups or sizes do not fit.

    Notes
    -----
    This is the transpose of the linear map ``conv3d``, so its gradient is a ``conv3d``.
    """
    tensors, pad = (input, weight, bias), (pad_mode, padding, output_padding)
    return _prepare("conv_transpose3d", 3, tensors, stride, pad, groups, dilation)
