"""Pooling by windows as layers, over one to three axes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from .. import ops
from ..ops.sliding import as_sides, mode_of
from ..tensor import Tensor
from .cell import Cell
from .convolution import PadMode, channels_back, channels_first, image_format
from .layers import sizes

Size = int | tuple[int, ...]


class Pooling(Cell):
    """What pooling layers over any number of axes share: window, step and padding."""

    axes: ClassVar[int] = 0

    def set_window(self, kernel_size: Any, stride: Any, pad_mode: PadMode, padding: Any) -> None:
        """Keep the window's size, step and padding.

        Raises
        ------
        TypeError, ValueError
            If one of them does not fit.
        """
        owner = type(self).__name__
        self.kernel_size = sizes(owner, "kernel_size", kernel_size, self.axes)
        self.stride = sizes(owner, "stride", stride, self.axes)
        self.pad_mode, self.padding = mode_of(owner, pad_mode), padding
        if any(as_sides(f"{owner}: padding", padding, self.axes)) and self.pad_mode != "pad":
            raise ValueError(
                f"{owner}: padding {padding!r} needs pad_mode 'pad', it is {self.pad_mode!r}."
            )

    def extend_repr(self) -> str:
        """Window and padding."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


class MaxPooling(Pooling):
    """What layers of maxima share."""

    def __init__(
        self,
        kernel_size: Size = 1,
        stride: Size = 1,
        pad_mode: PadMode = "valid",
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.set_window(kernel_size, stride, pad_mode, padding)
        self.dilation = sizes(type(self).__name__, "dilation", dilation, self.axes)
        self.return_indices, self.ceil_mode = bool(return_indices), bool(ceil_mode)

    def pool(self, function: Any, x: Tensor) -> Any:
        """Pool by the op of this number of axes."""
        return function(
            x, self.kernel_size, self.stride, self.padding, self.dilation,
            return_indices=self.return_indices, ceil_mode=self.ceil_mode, pad_mode=self.pad_mode,
        )  # fmt: skip


class MaxPool1d(MaxPooling):
    """Max pooling of sequences: the largest element of each window.

    Parameters
    ----------
    kernel_size, stride : int or tuple of int
        Size and step of the window.
    pad_mode : {"same", "valid", "pad"}
        Padding, as of `Conv1d`.
    padding : int or tuple of int
        Elements at both ends under ``pad``; they never win.
    dilation : int or tuple of int
        Distance of the window's elements.
    return_indices : bool
        Whether to return also where each maximum stands.
    ceil_mode : bool
        Whether a last window that begins in the sequence counts though it does not end there.
    x : Tensor
        ``[n, c, length]``.
    """

    axes = 1

    def construct(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Pool."""
        return self.pool(ops.max_pool1d, x)


class MaxPool2d(MaxPooling):
    """Max pooling of images: the largest element of each window.

    Parameters
    ----------
    kernel_size, stride : int or tuple of int
        Size and step of the window.
    pad_mode : {"same", "valid", "pad"}
        Padding, as of `Conv2d`.
    padding : int or tuple of int
        Pixels around under ``pad``; they never win.
    dilation : int or tuple of int
        Distance of the window's elements.
    return_indices : bool
        Whether to return also where in its plane each maximum stands.
    ceil_mode : bool
        Whether a last window that begins in the image counts though it does not end there.
    data_format : {"NCHW", "NHWC"}
        Whether channels come before rows and columns, or last.
    x : Tensor
        ``[n, c, h, w]``.
    """

    axes = 2

    def __init__(
        self,
        kernel_size: int | tuple[int, int] = 1,
        stride: int | tuple[int, int] = 1,
        pad_mode: PadMode = "valid",
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, int] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: Literal["NCHW", "NHWC"] = "NCHW",
    ) -> None:
        super().__init__(
            kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode
        )
        self.data_format = image_format("MaxPool2d", data_format)

    def construct(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Pool."""
        out = self.pool(ops.max_pool2d, channels_first(x, self.data_format))
        if not self.return_indices:
            return channels_back(out, self.data_format)
        return channels_back(out[0], self.data_format), channels_back(out[1], self.data_format)


class MaxPool3d(MaxPooling):
    """Max pooling of volumes: the largest element of each window.

    Parameters
    ----------
    kernel_size, stride : int or tuple of int
        Size and step of the window.
    pad_mode : {"same", "valid", "pad"}
        Padding, as of `Conv3d`.
    padding : int or tuple of int
        Elements around under ``pad``; they never win.
    dilation : int or tuple of int
        Distance of the window's elements.
    return_indices : bool
        Whether to return also where in its volume each maximum stands.
    ceil_mode : bool
        Whether a last window that begins in the volume counts though it does not end there.
    x : Tensor
        ``[n, c, d, h, w]``.
    """

    axes = 3

    def construct(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Pool."""
        return self.pool(ops.max_pool3d, x)


class AvgPooling(Pooling):
    """What layers of means share."""

    def set_counting(self, ceil_mode: bool, count_include_pad: bool, divisor: int | None) -> None:
        """Keep which windows there are and what their sums are divided by.

        Raises
        ------
        ValueError
            If the divisor is zero.
        """
        if divisor == 0:
            raise ValueError(f"{type(self).__name__}: divisor_override must not be 0.")
        self.ceil_mode, self.count_include_pad = bool(ceil_mode), bool(count_include_pad)
        self.divisor_override = divisor


class AvgPool1d(AvgPooling):
    """Average pooling of sequences: the mean of each window.

    Parameters
    ----------
    kernel_size, stride : int or tuple of int
        Size and step of the window.
    pad_mode : {"same", "valid", "pad"}
        Padding, as of `Conv1d`.
    padding : int or tuple of int
        Zeros at both ends under ``pad``.
    ceil_mode : bool
        Whether a last window that begins in the sequence counts though it does not end there.
    count_include_pad : bool
        Whether padding counts as zeros in the mean.
    x : Tensor
        ``[n, c, length]``.
    """

    axes = 1

    def __init__(
        self,
        kernel_size: Size = 1,
        stride: Size = 1,
        pad_mode: PadMode = "valid",
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.set_window(kernel_size, stride, pad_mode, padding)
        self.set_counting(ceil_mode, count_include_pad, None)

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        return ops.avg_pool1d(
            x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.pad_mode,
        )  # fmt: skip


class AvgPool2d(AvgPooling):
    """Average pooling of images: the mean of each window.

    Parameters
    ----------
    kernel_size, stride : int or tuple of int
        Size and step of the window.
    pad_mode : {"same", "valid", "pad"}
        Padding, as of `Conv2d`.
    padding : int or tuple of int
        Pixels around under ``pad``.
    ceil_mode : bool
        Whether a last window that begins in the image counts though it does not end there.
    count_include_pad : bool
        Whether padding counts as zeros in the mean.
    divisor_override : int, optional
        What sums are divided by instead of the number of elements.
    data_format : {"NCHW", "NHWC"}
        Whether channels come before rows and columns, or last.
    x : Tensor
        ``[n, c, h, w]``.
    """

    axes = 2

    def __init__(
        self,
        kernel_size: int | tuple[int, int] = 1,
        stride: int | tuple[int, int] = 1,
        pad_mode: PadMode = "valid",
        padding: int | tuple[int, ...] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        data_format: Literal["NCHW", "NHWC"] = "NCHW",
    ) -> None:
        super().__init__()
        self.set_window(kernel_size, stride, pad_mode, padding)
        self.set_counting(ceil_mode, count_include_pad, divisor_override)
        self.data_format = image_format("AvgPool2d", data_format)

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        out = ops.avg_pool2d(
            channels_first(x, self.data_format), self.kernel_size, self.stride, self.padding,
            self.ceil_mode, self.count_include_pad, self.divisor_override, self.pad_mode,
        )  # fmt: skip
        return channels_back(out, self.data_format)


class AvgPool3d(AvgPooling):
    """Average pooling of volumes: the mean of each window.

    Parameters
    ----------
    kernel_size, stride : int or tuple of int
        Size and step of the window.
    pad_mode : {"same", "valid", "pad"}
        Padding, as of `Conv3d`.
    padding : int or tuple of int
        Zeros around under ``pad``.
    ceil_mode : bool
        Whether a last window that begins in the volume counts though it does not end there.
    count_include_pad : bool
        Whether padding counts as zeros in the mean.
    divisor_override : int, optional
        What sums are divided by instead of the number of elements.
    x : Tensor
        ``[n, c, d, h, w]``.
    """

    axes = 3

    def __init__(
        self,
        kernel_size: Size = 1,
        stride: Size = 1,
        pad_mode: PadMode = "valid",
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.set_window(kernel_size, stride, pad_mode, padding)
        self.set_counting(ceil_mode, count_include_pad, divisor_override)

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        return ops.avg_pool3d(
            x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override, self.pad_mode,
        )  # fmt: skip
