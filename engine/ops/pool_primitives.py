"""Primitives of pooling, whose attributes are not those of the functions."""

from __future__ import annotations

from typing import Any

from ..dtype import int32, int64
from ..tensor import Tensor
from .avg_pool import avg_pool2d, avg_pool3d
from .cast import cast_to
from .conv_primitives import channels_first, window_sizes
from .max_pool import max_pool3d
from .max_pool2d import max_pool2d
from .primitives import OwnCall
from .registry import OPS
from .sliding import as_sides, mode_of


class _Pool(OwnCall):
    """What primitives of pooling over images share."""

    def __init__(
        self,
        kernel_size: int | tuple[int, ...] = 1,
        strides: int | tuple[int, ...] = 1,
        pad_mode: str = "valid",
        data_format: str = "NCHW",
    ) -> None:
        owner = type(self).__name__
        channels_first(owner, data_format)
        mode = mode_of(owner, pad_mode)
        if mode == "pad":
            raise ValueError(f"{owner}: pad_mode must be 'same' or 'valid', it is {pad_mode!r}.")
        self.attrs = {
            "kernel_size": window_sizes(owner, "kernel_size", kernel_size, 2),
            "strides": window_sizes(owner, "strides", strides, 2),
            "pad_mode": mode,
        }


class MaxPool(_Pool):
    """The largest element of each window: ``MaxPool(kernel_size, strides, pad_mode)(x)``.

    Parameters
    ----------
    kernel_size : int or tuple of int
        Size of the window, one number for all axes or one an axis.
    strides : int or tuple of int
        Steps of the window.
    pad_mode : str
        ``"valid"``, ``"same"`` or ``"pad"``.
    data_format : str
        The order of the axes: channels first.
    """

    op = OPS["max_pool2d"]

    def __call__(self, x: Tensor) -> Tensor:
        """Pool ``[n, c, h, w]``."""
        a = self.attrs
        return max_pool2d(x, a["kernel_size"], a["strides"], pad_mode=a["pad_mode"])


class AvgPool(_Pool):
    """The mean of each window: ``AvgPool(kernel_size, strides, pad_mode)(x)``.

    Parameters
    ----------
    kernel_size : int or tuple of int
        Size of the window, one number for all axes or one an axis.
    strides : int or tuple of int
        Steps of the window.
    pad_mode : str
        ``"valid"``, ``"same"`` or ``"pad"``.
    data_format : str
        The order of the axes: channels first.
    """

    op = OPS["avg_pool2d"]

    def __call__(self, x: Tensor) -> Tensor:
        """Pool ``[n, c, h, w]``."""
        a = self.attrs
        return avg_pool2d(x, a["kernel_size"], a["strides"], pad_mode=a["pad_mode"])


class MaxPool3D(OwnCall):
    """The largest element of each window of volumes: ``MaxPool3D(kernel_size, strides)(x)``.

    Parameters
    ----------
    kernel_size : int or tuple of int
        Size of the window, one number for all axes or one an axis.
    strides : int or tuple of int
        Steps of the window.
    pad_mode : str
        ``"valid"``, ``"same"`` or ``"pad"``.
    pad_list : int or tuple of int
        Widths of the padding with ``pad_mode="pad"``, one a side.
    ceil_mode : bool
        Whether a last window may reach beyond the edge.
    data_format : str
        The order of the axes: channels first.
    """

    op = OPS["max_pool3d"]

    def __init__(
        self,
        kernel_size: int | tuple[int, ...] = 1,
        strides: int | tuple[int, ...] = 1,
        pad_mode: str = "valid",
        pad_list: int | tuple[int, ...] = 0,
        ceil_mode: bool | None = None,
        data_format: str = "NCDHW",
    ) -> None:
        channels_first("MaxPool3D", data_format, "NCDHW")
        self.attrs = {
            "kernel_size": window_sizes("MaxPool3D", "kernel_size", kernel_size, 3),
            "strides": window_sizes("MaxPool3D", "strides", strides, 3),
            "pad_mode": mode_of("MaxPool3D", pad_mode),
            "pad_list": as_sides("MaxPool3D: pad_list", pad_list, 3),
            "ceil_mode": bool(ceil_mode),
        }

    def __call__(self, x: Tensor) -> Tensor:
        """Pool ``[n, c, d, h, w]``."""
        a = self.attrs
        return max_pool3d(
            x, a["kernel_size"], a["strides"], a["pad_list"], ceil_mode=a["ceil_mode"],
            pad_mode=a["pad_mode"],
        )  # fmt: skip


class AvgPool3D(OwnCall):
    """The mean of each window of volumes: ``AvgPool3D(kernel_size, strides)(x)``.

    Parameters
    ----------
    kernel_size : int or tuple of int
        Size of the window, one number for all axes or one an axis.
    strides : int or tuple of int
        Steps of the window.
    pad_mode : str
        ``"valid"``, ``"same"`` or ``"pad"``.
    pad : int or tuple of int
        Widths of the padding with ``pad_mode="pad"``: one for all sides, or one a side.
    ceil_mode : bool
        Whether a last window may reach beyond the edge.
    count_include_pad : bool
        Whether the padding counts in the mean.
    divisor_override : int
        What sums are divided by instead of the count; 0: the count.
    data_format : str
        The order of the axes: channels first.
    """

    op = OPS["avg_pool3d"]

    def __init__(
        self,
        kernel_size: int | tuple[int, ...] = 1,
        strides: int | tuple[int, ...] = 1,
        pad_mode: str = "valid",
        pad: int | tuple[int, ...] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int = 0,
        data_format: str = "NCDHW",
    ) -> None:
        channels_first("AvgPool3D", data_format, "NCDHW")
        self.attrs = {
            "kernel_size": window_sizes("AvgPool3D", "kernel_size", kernel_size, 3),
            "strides": window_sizes("AvgPool3D", "strides", strides, 3),
            "pad_mode": mode_of("AvgPool3D", pad_mode),
            "pad": as_sides("AvgPool3D: pad", pad, 3),
            "ceil_mode": bool(ceil_mode), "count_include_pad": bool(count_include_pad),
            "divisor_override": divisor_override,
        }  # fmt: skip

    def __call__(self, x: Tensor) -> Tensor:
        """Pool ``[n, c, d, h, w]``."""
        a = self.attrs
        counting = (a["ceil_mode"], a["count_include_pad"], a["divisor_override"])
        return avg_pool3d(x, a["kernel_size"], a["strides"], a["pad"], *counting, a["pad_mode"])


class MaxPoolWithArgmaxV2(OwnCall):
    """Maxima and their places: ``MaxPoolWithArgmaxV2(kernel_size, strides, pads)(x)``.

    Parameters
    ----------
    kernel_size : int or tuple of int
        Size of the window, one number for all axes or one an axis.
    strides : int or tuple of int
        Steps of the window.
    pads : int or tuple of int
        Widths of the padding.
    dilation : int or tuple of int
        Distances between the window's elements.
    ceil_mode : bool
        Whether a last window may reach beyond the edge.
    argmax_type : DType
        The type of the positions, int32 or int64.
    """

    op = OPS["max_pool2d"]

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] | None = None,
        pads: int | tuple[int, int] = 0,
        dilation: int | tuple[int, ...] = 1,
        ceil_mode: bool = False,
        argmax_type: Any = int64,
    ) -> None:
        owner = "MaxPoolWithArgmaxV2"
        if argmax_type not in (int32, int64):
            raise TypeError(f"{owner}: argmax_type must be int32 or int64, it is {argmax_type}.")
        kernel = window_sizes(owner, "kernel_size", kernel_size, 2)
        self.attrs = {
            "kernel_size": kernel,
            "strides": kernel if strides is None else window_sizes(owner, "strides", strides, 2),
            "pads": as_sides(f"{owner}: pads", pads, 2),
            "dilation": window_sizes(owner, "dilation", dilation, 2),
            "ceil_mode": bool(ceil_mode), "argmax_type": argmax_type,
        }  # fmt: skip

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Pool ``[n, c, h, w]``."""
        a = self.attrs
        window = (a["kernel_size"], a["strides"], a["pads"], a["dilation"])
        out, at = max_pool2d(x, *window, return_indices=True, ceil_mode=a["ceil_mode"])
        return out, cast_to(at, a["argmax_type"])
