"""Cells without weights that pool, flatten, or pass through."""

from __future__ import annotations

from typing import Literal

from .. import ops
from ..tensor import Tensor
from .cell import Cell
from .layers import pair

PoolMode = Literal["same", "valid", "pad"]


class MaxPool2d(Cell):
    """The largest element of each window.

    Parameters
    ----------
    kernel_size, stride : int or tuple of int
        Size and step of the window.
    pad_mode : {"same", "valid", "pad"}
        Padding, as of `Conv2d`.
    padding : int or tuple of int
        Pixels around under ``pad``; they never win.
    x : Tensor
        ``[n, c, h, w]``.
    """

    def __init__(
        self,
        kernel_size: int | tuple[int, int] = 1,
        stride: int | tuple[int, int] = 1,
        pad_mode: PoolMode = "valid",
        padding: int | tuple[int, int] = 0,
    ) -> None:
        super().__init__()
        self.kernel_size = pair("MaxPool2d", "kernel_size", kernel_size)
        self.stride = pair("MaxPool2d", "stride", stride)
        self.pad_mode, self.padding = pad_mode, padding

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        return ops.max_pool2d(
            x, self.kernel_size, self.stride, self.padding, pad_mode=self.pad_mode
        )

    def extend_repr(self) -> str:
        """Window and padding."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


class AvgPool2d(Cell):
    """The mean of each window.

    Parameters
    ----------
    kernel_size, stride : int or tuple of int
        Size and step of the window.
    pad_mode : {"same", "valid", "pad"}
        Padding, as of `Conv2d`.
    padding : int or tuple of int
        Pixels around under ``pad``.
    count_include_pad : bool
        Whether padding counts as zeros in the mean.
    x : Tensor
        ``[n, c, h, w]``.
    """

    def __init__(
        self,
        kernel_size: int | tuple[int, int] = 1,
        stride: int | tuple[int, int] = 1,
        pad_mode: PoolMode = "valid",
        padding: int | tuple[int, int] = 0,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = pair("AvgPool2d", "kernel_size", kernel_size)
        self.stride = pair("AvgPool2d", "stride", stride)
        self.pad_mode, self.padding = pad_mode, padding
        self.count_include_pad = bool(count_include_pad)

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        return ops.avg_pool2d(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            count_include_pad=self.count_include_pad,
            pad_mode=self.pad_mode,
        )

    def extend_repr(self) -> str:
        """Window and padding."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


class Flatten(Cell):
    """Joins axes into one.

    Parameters
    ----------
    start_dim, end_dim : int
        The first and the last axis to join.
    x : Tensor
        ``[n, ...]``; by default all axes but the first are joined.
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Tensor) -> Tensor:
        """Flatten."""
        return ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Identity(Cell):
    """The input as it is.

    Parameters
    ----------
    x : Tensor
        Any shape.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Give it back."""
        return ops.identity(x)
