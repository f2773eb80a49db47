"""Pooling of powers and at drawn places, and what takes maxima back, as layers."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import ops
from ..tensor import Tensor
from .cell import Cell
from .layers import sizes


class LPPooling(Cell):
    """What roots of sums of powers share."""

    axes: ClassVar[int] = 0

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        if not norm_type:
            raise ValueError(f"{owner}: norm_type must not be 0; it is the power of the norm.")
        self.norm_type = norm_type
        self.kernel_size = sizes(owner, "kernel_size", kernel_size, self.axes)
        self.stride = None if stride is None else sizes(owner, "stride", stride, self.axes)
        self.ceil_mode = bool(ceil_mode)

    def extend_repr(self) -> str:
        """Power and window."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride},"
            f" ceil_mode={self.ceil_mode}"
        )


class LPPool1d(LPPooling):
    """Power-average pooling of sequences: the root of each window's sum of powers.

    Parameters
    ----------
    norm_type : float
        The power, and which root.
    kernel_size, stride : int or tuple of int
        Size and step of the window; the step is by default the size.
    ceil_mode : bool
        Whether a last window that begins in the sequence counts though it does not end there.
    x : Tensor
        ``[n, c, length]``.
    """

    axes = 1

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        return ops.lp_pool1d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(LPPooling):
    """Power-average pooling of images: the root of each window's sum of powers.

    Parameters
    ----------
    norm_type : float
        The power, and which root.
    kernel_size, stride : int or tuple of int
        Size and step of the window; the step is by default the size.
    ceil_mode : bool
        Whether a last window that begins in the plane counts though it does not end there.
    x : Tensor
        ``[n, c, h, w]``.
    """

    axes = 2

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        return ops.lp_pool2d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class FractionalMaxPool2d(Cell):
    """Fractional max pooling of images: windows whose steps are drawn at random.

    Parameters
    ----------
    kernel_size : int or tuple of int
        Size of the windows.
    output_size : int or tuple of int, optional
        The output's rows and columns.
    output_ratio : float or tuple of float, optional
        Instead of them, their share of the input's, in 0..1.
    return_indices : bool
        Whether to return also where in its plane each maximum stands.
    _random_samples : Tensor, optional
        ``[n, c, 2]``, the numbers from 0 to 1 by which steps are chosen; drawn by default.
    x : Tensor
        ``[n, c, h, w]``.

    References
    ----------
    Graham, Fractional Max-Pooling, 2014.
    """

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        output_size: int | tuple[int, int] | None = None,
        output_ratio: float | tuple[float, float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{owner}: give either output_size or output_ratio.")
        self.kernel_size = sizes(owner, "kernel_size", kernel_size, 2)
        self.output_size, self.output_ratio = output_size, output_ratio
        self.return_indices, self._random_samples = bool(return_indices), _random_samples

    def construct(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Pool."""
        return ops.fractional_max_pool2d(
            x, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip

    def extend_repr(self) -> str:
        """Window and size."""
        return (
            f"kernel_size={self.kernel_size}, output_size={self.output_size},"
            f" output_ratio={self.output_ratio}"
        )


class FractionalMaxPool3d(Cell):
    """Fractional max pooling of volumes: windows whose steps are drawn at random.

    Parameters
    ----------
    kernel_size : int or tuple of int
        Size of the windows.
    output_size : int or tuple of int, optional
        The output's depth, rows and columns.
    output_ratio : float or tuple of float, optional
        Instead of them, their share of the input's, in 0..1.
    return_indices : bool
        Whether to return also where in its volume each maximum stands.
    _random_samples : Tensor, optional
        ``[n, c, 3]``, the numbers from 0 to 1 by which steps are chosen; drawn by default.
    x : Tensor
        ``[n, c, d, h, w]``.

    References
    ----------
    Graham, Fractional Max-Pooling, 2014.
    """

    def __init__(
        self,
        kernel_size: int | tuple[int, int, int],
        output_size: int | tuple[int, int, int] | None = None,
        output_ratio: float | tuple[float, float, float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{owner}: give either output_size or output_ratio.")
        self.kernel_size = sizes(owner, "kernel_size", kernel_size, 3)
        self.output_size, self.output_ratio = output_size, output_ratio
        self.return_indices, self._random_samples = bool(return_indices), _random_samples

    def construct(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Pool."""
        return ops.fractional_max_pool3d(
            x, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip

    def extend_repr(self) -> str:
        """Window and size."""
        return (
            f"kernel_size={self.kernel_size}, output_size={self.output_size},"
            f" output_ratio={self.output_ratio}"
        )


class MaxUnpooling(Cell):
    """What layers share that put maxima back."""

    axes: ClassVar[int] = 0

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.kernel_size = sizes(owner, "kernel_size", kernel_size, self.axes)
        self.stride = None if stride is None else sizes(owner, "stride", stride, self.axes)
        self.padding: Any = padding

    def extend_repr(self) -> str:
        """Window and padding."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(MaxUnpooling):
    """Undoes max pooling of sequences: maxima go back to where they stood, among zeros.

    Parameters
    ----------
    kernel_size, stride, padding : int or tuple of int
        The windows of the pooling; the step is by default the size.
    x : Tensor
        ``[n, c, length]``.
    indices : Tensor
        Where each element stands in the output, as `MaxPool1d` returns it.
    output_size : tuple of int, optional
        The output's size, where the pooling left elements out.
    """

    axes = 1

    def construct(
        self, x: Tensor, indices: Tensor, output_size: tuple[int, ...] | None = None
    ) -> Tensor:
        """Put them back."""
        window = (self.kernel_size, self.stride, self.padding)
        return ops.max_unpool1d(x, indices, *window, output_size)


class MaxUnpool2d(MaxUnpooling):
    """Undoes max pooling of images: maxima go back to where they stood, among zeros.

    Parameters
    ----------
    kernel_size, stride, padding : int or tuple of int
        The windows of the pooling; the step is by default the size.
    x : Tensor
        ``[n, c, h, w]``.
    indices : Tensor
        Where each element stands in the output, as `MaxPool2d` returns it.
    output_size : tuple of int, optional
        The output's size, where the pooling left elements out.
    """

    axes = 2

    def construct(
        self, x: Tensor, indices: Tensor, output_size: tuple[int, ...] | None = None
    ) -> Tensor:
        """Put them back."""
        window = (self.kernel_size, self.stride, self.padding)
        return ops.max_unpool2d(x, indices, *window, output_size)


class MaxUnpool3d(MaxUnpooling):
    """Undoes max pooling of volumes: maxima go back to where they stood, among zeros.

    Parameters
    ----------
    kernel_size, stride, padding : int or tuple of int
        The windows of the pooling; the step is by default the size.
    x : Tensor
        ``[n, c, d, h, w]``.
    indices : Tensor
        Where each element stands in the output, as `MaxPool3d` returns it.
    output_size : tuple of int, optional
        The output's size, where the pooling left elements out.
    """

    axes = 3

    def construct(
        self, x: Tensor, indices: Tensor, output_size: tuple[int, ...] | None = None
    ) -> Tensor:
        """Put them back."""
        window = (self.kernel_size, self.stride, self.padding)
        return ops.max_unpool3d(x, indices, *window, output_size)
