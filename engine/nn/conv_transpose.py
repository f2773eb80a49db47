"""Transposed convolutions as layers, over one to three axes."""

from __future__ import annotations

from .. import ops
from ..dtype import DType, float32
from ..tensor import Tensor
from .convolution import Convolution, PadMode
from .layers import Init


class Conv1dTranspose(Convolution):
    """A transposed convolution over sequences, which widens them by its stride.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the output.
    kernel_size : int or tuple of int
        Length of the window.
    stride : int or tuple of int
        Step of the window in the output.
    pad_mode : {"same", "valid", "pad"}
        ``same`` gives the input's size times the stride, ``valid`` all that windows reach, ``pad``
        cuts `padding` off that.
    padding : int or tuple of int
        Elements cut off both ends under ``pad``: one number, or before and after.
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
    transposed = True

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
        """Spread the input over the output."""
        return ops.conv_transpose1d(
            x, self.weight, self.bias, self.stride, self.padding, 0, self.group, self.dilation,
            self.pad_mode,
        )  # fmt: skip


class Conv2dTranspose(Convolution):
    """A transposed convolution over images, which widens them by its stride.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the output.
    kernel_size : int or tuple of int
        Height and width of the window.
    stride : int or tuple of int
        Steps of the window in the output.
    pad_mode : {"same", "valid", "pad"}
        ``same`` gives the input's size times the stride, ``valid`` all that windows reach, ``pad``
        cuts `padding` off that.
    padding : int or tuple of int
        Pixels cut off around under ``pad``: one number, or top, bottom, left and right.
    output_padding : int or tuple of int
        Rows and columns more at the output's end under ``pad``, fewer than a step.
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
        ``[n, in_channels, h, w]``.

    Raises
    ------
    TypeError, ValueError
        If a size does not fit.

    References
    ----------
    Zeiler et al., Deconvolutional Networks, 2010.
    """

    axes = 2
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        pad_mode: PadMode = "same",
        padding: int | tuple[int, ...] = 0,
        output_padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Init = None,
        bias_init: Init = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        windows = (kernel_size, stride, dilation)
        self.set_sizes((in_channels, out_channels), windows, (pad_mode, padding), group)
        self.output_padding = output_padding
        self.set_weights(weight_init, bias_init, has_bias, dtype)

    def construct(self, x: Tensor) -> Tensor:
        """Spread the input over the output."""
        return ops.conv_transpose2d(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.group,
            self.dilation, self.pad_mode,
        )  # fmt: skip


class Conv3dTranspose(Convolution):
    """A transposed convolution over volumes, which widens them by its stride.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the output.
    kernel_size : int or tuple of int
        Depth, height and width of the window.
    stride : int or tuple of int
        Steps of the window in the output.
    pad_mode : {"same", "valid", "pad"}
        ``same`` gives the input's size times the stride, ``valid`` all that windows reach, ``pad``
        cuts `padding` off that.
    padding : int or tuple of int
        Elements cut off around under ``pad``: one number, one an axis, or two an axis.
    dilation : int or tuple of int
        Spacing of the window's elements.
    group : int
        How many groups the channels are split into.
    output_padding : int or tuple of int
        Elements more at the end of each axis under ``pad``, fewer than a step.
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
    transposed = True

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
        output_padding: int | tuple[int, int, int] = 0,
        has_bias: bool = False,
        weight_init: Init = None,
        bias_init: Init = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        windows = (kernel_size, stride, dilation)
        self.set_sizes((in_channels, out_channels), windows, (pad_mode, padding), group)
        self.output_padding = output_padding
        self.set_weights(weight_init, bias_init, has_bias, dtype)

    def construct(self, x: Tensor) -> Tensor:
        """Spread the input over the output."""
        return ops.conv_transpose3d(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.group,
            self.dilation, self.pad_mode,
        )  # fmt: skip
