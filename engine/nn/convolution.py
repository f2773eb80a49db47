"""Convolutions as layers, over one to three axes."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

from .. import ops
from ..dtype import DType, dtype_of, float32
from ..ops.sliding import as_sides, mode_of
from ..tensor import Tensor
from .cell import Cell
from .layers import Init, bias_of, positive, sizes, weight_of

PadMode = Literal["same", "valid", "pad"]


class Convolution(Cell):
    """What convolutions over any number of axes share: sizes, weight and bias."""

    axes: ClassVar[int] = 0
    transposed: ClassVar[bool] = False

    def set_sizes(
        self,
        channels: tuple[int, int],
        windows: tuple[Any, Any, Any],
        pad: tuple[PadMode, Any],
        group: int,
    ) -> None:
        """Keep channels, kernel, stride and dilation, padding and groups.

        Raises
        ------
        TypeError, ValueError
            If one of them does not fit.
        """
        owner, axes = type(self).__name__, self.axes
        self.in_channels = positive(owner, "in_channels", channels[0])
        self.out_channels = positive(owner, "out_channels", channels[1])
        self.kernel_size = sizes(owner, "kernel_size", windows[0], axes)
        self.stride = sizes(owner, "stride", windows[1], axes)
        self.dilation = sizes(owner, "dilation", windows[2], axes)
        self.pad_mode, self.padding = mode_of(owner, pad[0]), pad[1]
        self.group = positive(owner, "group", group)
        if self.in_channels % group or self.out_channels % group:
            raise ValueError(
                f"{owner}: in_channels {self.in_channels} and out_channels {self.out_channels} must"
                f" be multiples of group {group}."
            )
        if any(as_sides(f"{owner}: padding", self.padding, axes)) and self.pad_mode != "pad":
            raise ValueError(
                f"{owner}: padding {self.padding!r} needs pad_mode 'pad', it is {self.pad_mode!r}."
            )

    def set_weights(self, weight_init: Init, bias_init: Init, has_bias: bool, dtype: DType) -> None:
        """Make the weight, and the bias if there is one."""
        kind = dtype_of(dtype)
        ends = (self.in_channels, self.out_channels)
        first, second = ends if self.transposed else ends[::-1]
        shape = (first, second // self.group, *self.kernel_size)
        self.has_bias = bool(has_bias)
        self.weight = weight_of(weight_init, shape, kind)
        fan_in = math.prod(shape[1:])
        self.bias = bias_of(bias_init, self.out_channels, fan_in, kind) if has_bias else None

    def extend_repr(self) -> str:
        """Sizes and padding."""
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels},"
            f" kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode},"
            f" padding={self.padding}, dilation={self.dilation}, group={self.group},"
            f" has_bias={self.has_bias}"
        )


class Conv1d(Convolution):
    """A convolution over sequences.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the output.
    kernel_size : int or tuple of int
        Length of the window.
    stride : int or tuple of int
        Step of the window.
    pad_mode : {"same", "valid", "pad"}
        ``same`` pads so that the output is the input's size divided by the stride, ``valid`` not at
        all, ``pad`` by `padding`.
    padding : int or tuple of int
        Zeros at both ends under ``pad``: one number, or before and after.
    dilation : int or tuple of int
        Spacing of the window's elements.
    group : int
        How many groups the channels are split into.
    has_bias : bool
        Whether a bias is added to each channel.
    weight_init, bias_init : Tensor, str, Initializer or number, optional
        Initial values; by default uniform within ``sqrt(1 / fan_in)``.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, in_channels, length]``.

    Raises
    ------
    TypeError, ValueError
        If a size does not fit.
    """

    axes = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int],
        stride: int | tuple[int] = 1,
        pad_mode: PadMode = "same",
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int] = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Init = None,
        bias_init: Init = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        windows = (kernel_size, stride, dilation)
        self.set_sizes((in_channels, out_channels), windows, (pad_mode, padding), group)
        self.set_weights(weight_init, bias_init, has_bias, dtype)

    def construct(self, x: Tensor) -> Tensor:
        """Convolve."""
        return ops.conv1d(
            x, self.weight, self.bias, self.stride, self.pad_mode, self.padding, self.dilation,
            self.group,
        )  # fmt: skip


class Conv2d(Convolution):
    """A convolution over images.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the output.
    kernel_size : int or tuple of int
        Height and width of the window.
    stride : int or tuple of int
        Steps of the window.
    pad_mode : {"same", "valid", "pad"}
        ``same`` pads so that the output is the input's size divided by the stride, ``valid`` not at
        all, ``pad`` by `padding`.
    padding : int or tuple of int
        Zeros around the image under ``pad``: one number, or top, bottom, left and right.
    dilation : int or tuple of int
        Spacing of the window's elements.
    group : int
        How many groups the channels are split into.
    has_bias : bool
        Whether a bias is added to each channel.
    weight_init, bias_init : Tensor, str, Initializer or number, optional
        Initial values; by default uniform within ``sqrt(1 / fan_in)``.
    data_format : {"NCHW", "NHWC"}
        Whether channels come before rows and columns, or last.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, in_channels, h, w]``.

    Raises
    ------
    TypeError, ValueError
        If a size does not fit.
    """

    axes = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        pad_mode: PadMode = "same",
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, int] = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Init = None,
        bias_init: Init = None,
        data_format: Literal["NCHW", "NHWC"] = "NCHW",
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        windows = (kernel_size, stride, dilation)
        self.set_sizes((in_channels, out_channels), windows, (pad_mode, padding), group)
        self.set_weights(weight_init, bias_init, has_bias, dtype)
        self.data_format = image_format("Conv2d", data_format)

    def construct(self, x: Tensor) -> Tensor:
        """Convolve."""
        out = ops.conv2d(
            channels_first(x, self.data_format), self.weight, self.bias, self.stride,
            self.pad_mode, self.padding, self.dilation, self.group,
        )  # fmt: skip
        return channels_back(out, self.data_format)


def image_format(owner: str, data_format: str) -> str:
    """Return the order of an image's axes.

    Raises
    ------
    ValueError
        If there is no such order.
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(f"{owner}: data_format must be 'NCHW' or 'NHWC', it is {data_format!r}.")
    return data_format


def channels_first(x: Tensor, data_format: str) -> Tensor:
    """Return images as ``[n, c, h, w]``."""
    return x if data_format == "NCHW" else ops.transpose(x, (0, 3, 1, 2))


def channels_back(x: Tensor, data_format: str) -> Tensor:
    """Return images ``[n, c, h, w]`` in the order that was asked for."""
    return x if data_format == "NCHW" else ops.transpose(x, (0, 2, 3, 1))


class Conv3d(Convolution):
    """A convolution over volumes.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the output.
    kernel_size : int or tuple of int
        Depth, height and width of the window.
    stride : int or tuple of int
        Steps of the window.
    pad_mode : {"same", "valid", "pad"}
        ``same`` pads so that the output is the input's size divided by the stride, ``valid`` not at
        all, ``pad`` by `padding`.
    padding : int or tuple of int
        Zeros around the volume under ``pad``: one number, one an axis, or two an axis.
    dilation : int or tuple of int
        Spacing of the window's elements.
    group : int
        How many groups the channels are split into.
    has_bias : bool
        Whether a bias is added to each channel.
    weight_init, bias_init : Tensor, str, Initializer or number, optional
        Initial values; by default uniform within ``sqrt(1 / fan_in)``.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, in_channels, d, h, w]``.

    Raises
    ------
    TypeError, ValueError
        If a size does not fit.
    """

    axes = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int, int],
        stride: int | tuple[int, int, int] = 1,
        pad_mode: PadMode = "same",
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, int, int] = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Init = None,
        bias_init: Init = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        windows = (kernel_size, stride, dilation)
        self.set_sizes((in_channels, out_channels), windows, (pad_mode, padding), group)
        self.set_weights(weight_init, bias_init, has_bias, dtype)

    def construct(self, x: Tensor) -> Tensor:
        """Convolve."""
        return ops.conv3d(
            x, self.weight, self.bias, self.stride, self.pad_mode, self.padding, self.dilation,
            self.group,
        )  # fmt: skip
