"""Primitives of convolutions, whose attributes are not those of the functions.

As of every primitive, attributes go to the constructor and tensors to the call; what does not fit
raises in the constructor, or before anything is computed.
"""

from __future__ import annotations

from typing import Any

from ..shape import ShapeError, shape_text
from ..tensor import Tensor
from .conv import conv2d, conv2d_input_grad, float_operands
from .conv_axes import conv3d
from .conv_transpose import conv_transpose3d
from .primitives import OwnCall
from .registry import OPS
from .sliding import Sizes, as_sides, as_sizes, mode_of, out_sizes, padding_of


def channels_first(owner: str, data_format: str, wanted: str = "NCHW") -> None:
    """Raise ValueError unless the order of axes is ``wanted``."""
    if data_format != wanted:
        raise ValueError(f"{owner}: data_format must be {wanted!r}, it is {data_format!r}.")


def window_sizes(owner: str, name: str, value: Any, axes: int) -> Sizes:
    """Return sizes of windows, which may be given with those of the batch and the channels."""
    given = tuple(value) if isinstance(value, tuple | list) else value
    if isinstance(given, tuple) and len(given) == axes + 2 and given[:2] == (1, 1):
        given = given[2:]
    return as_sizes(f"{owner}: {name}", given, axes)


class _Windows(OwnCall):
    """What primitives of convolutions share."""

    axes = 2

    def _set(
        self,
        channels: int,
        sizes: tuple[Any, Any, Any],
        mode: int,
        pad: tuple[str, Any],
        group: int,
        data_format: str,
    ) -> None:
        owner = type(self).__name__
        channels_first(owner, data_format, "NCHW" if self.axes == 2 else "NCDHW")
        if mode != 1:
            raise ValueError(f"{owner}: mode must be 1, the cross-correlation, it is {mode!r}.")
        pad_mode = mode_of(owner, pad[0])
        if any(as_sides(f"{owner}: pad", pad[1], self.axes)) and pad_mode != "pad":
            raise ValueError(f"{owner}: pad {pad[1]!r} needs pad_mode 'pad', it is {pad_mode!r}.")
        as_sizes(f"{owner}: channels", channels, 1)
        as_sizes(f"{owner}: group", group, 1)
        self.attrs = {
            "out_channel": channels,
            "kernel_size": as_sizes(f"{owner}: kernel_size", sizes[0], self.axes),
            "pad_mode": pad_mode, "pad": pad[1],
            "stride": window_sizes(owner, "stride", sizes[1], self.axes),
            "dilation": window_sizes(owner, "dilation", sizes[2], self.axes),
            "group": group,
        }  # fmt: skip

    def _check_weight(self, weight: Tensor) -> None:
        wanted = (self.attrs["out_channel"], *self.attrs["kernel_size"])
        if (weight.shape[0], *weight.shape[2:]) != wanted:
            raise ShapeError(
                f"{type(self).__name__}: weight {shape_text(weight.shape)} does not have"
                f" {wanted[0]} filters of {shape_text(wanted[1:])}."
            )


class Conv2D(_Windows):
    """Slides filters over images: ``Conv2D(out_channel, kernel_size, ...)(x, weight)``.

    Parameters
    ----------
    out_channel : int
        Number of filters.
    kernel_size : int or tuple of int
        Size of the window, one number for all axes or one an axis.
    mode : int
        1, the cross-correlation; there is no other.
    pad_mode : str
        ``"valid"``, ``"same"`` or ``"pad"``.
    pad : int or tuple of int
        Widths of the padding with ``pad_mode="pad"``: one for all sides, or one a side.
    stride : int or tuple of int
        Steps of the window.
    dilation : int or tuple of int
        Distances between the window's elements.
    group : int
        Groups of channels that are convolved apart.
    data_format : str
        The order of the axes: channels first.
    """

    op = OPS["conv2d"]

    def __init__(
        self,
        out_channel: int,
        kernel_size: int | tuple[int, int],
        mode: int = 1,
        pad_mode: str = "valid",
        pad: int | tuple[int, ...] = 0,
        stride: int | tuple[int, ...] = 1,
        dilation: int | tuple[int, ...] = 1,
        group: int = 1,
        data_format: str = "NCHW",
    ) -> None:
        sizes = (kernel_size, stride, dilation)
        self._set(out_channel, sizes, mode, (pad_mode, pad), group, data_format)

    def __call__(self, x: Tensor, weight: Tensor) -> Tensor:
        """Convolve ``[n, c, h, w]`` with ``[out_channel, c / group, rows, columns]``."""
        self._check_weight(weight)
        a = self.attrs
        pad = (a["pad_mode"], a["pad"])
        return conv2d(x, weight, None, a["stride"], *pad, a["dilation"], a["group"])


class Conv3D(_Windows):
    """Slides filters over volumes: ``Conv3D(out_channel, kernel_size, ...)(x, weight)``.

    Parameters
    ----------
    out_channel : int
        Number of filters.
    kernel_size : int or tuple of int
        Size of the window, one number for all axes or one an axis.
    mode : int
        1, the cross-correlation; there is no other.
    pad_mode : str
        ``"valid"``, ``"same"`` or ``"pad"``.
    pad : int or tuple of int
        Widths of the padding with ``pad_mode="pad"``: one for all sides, or one a side.
    stride : int or tuple of int
        Steps of the window.
    dilation : int or tuple of int
        Distances between the window's elements.
    group : int
        Groups of channels that are convolved apart.
    data_format : str
        The order of the axes: channels first.
    """

    op = OPS["conv3d"]
    axes = 3

    def __init__(
        self,
        out_channel: int,
        kernel_size: int | tuple[int, int, int],
        mode: int = 1,
        pad_mode: str = "valid",
        pad: int | tuple[int, ...] = 0,
        stride: int | tuple[int, ...] = 1,
        dilation: int | tuple[int, ...] = 1,
        group: int = 1,
        data_format: str = "NCDHW",
    ) -> None:
        sizes = (kernel_size, stride, dilation)
        self._set(out_channel, sizes, mode, (pad_mode, pad), group, data_format)

    def __call__(self, x: Tensor, weight: Tensor) -> Tensor:
        """Convolve ``[n, c, d, h, w]`` with ``[out_channel, c / group, frames, rows, columns]``."""
        self._check_weight(weight)
        a = self.attrs
        pad = (a["pad_mode"], a["pad"])
        return conv3d(x, weight, None, a["stride"], *pad, a["dilation"], a["group"])


class Conv2DTranspose(_Windows):
    """The gradient of `Conv2D` to images of a given shape: ``(...)(dout, weight, input_size)``.

    ``out_channel`` is the number of filters, so of the channels of ``dout``.

    Parameters
    ----------
    out_channel : int
        Number of filters.
    kernel_size : int or tuple of int
        Size of the window, one number for all axes or one an axis.
    pad_mode : str
        ``"valid"``, ``"same"`` or ``"pad"``.
    pad : int or tuple of int
        Widths of the padding with ``pad_mode="pad"``: one for all sides, or one a side.
    pad_list : int or tuple of int
        Widths of the padding with ``pad_mode="pad"``, one a side.
    mode : int
        1, the cross-correlation; there is no other.
    stride : int or tuple of int
        Steps of the window.
    dilation : int or tuple of int
        Distances between the window's elements.
    group : int
        Groups of channels that are convolved apart.
    data_format : str
        The order of the axes: channels first.
    """

    op = OPS["conv_transpose2d"]

    def __init__(
        self,
        out_channel: int,
        kernel_size: int | tuple[int, int],
        pad_mode: str = "valid",
        pad: int | tuple[int, ...] = 0,
        pad_list: tuple[int, ...] | None = None,
        mode: int = 1,
        stride: int | tuple[int, ...] = 1,
        dilation: int | tuple[int, ...] = 1,
        group: int = 1,
        data_format: str = "NCHW",
    ) -> None:
        sizes = (kernel_size, stride, dilation)
        given = (pad_mode, pad if pad_list is None else pad_list)
        self._set(out_channel, sizes, mode, given, group, data_format)

    def __call__(self, dout: Tensor, weight: Tensor, input_size: Any) -> Tensor:
        """Return images of shape ``input_size`` from ``dout`` and the filters."""
        self._check_weight(weight)
        dout, weight = float_operands(dout, weight)
        a, size = self.attrs, tuple(input_size)[2:]
        steps = (a["kernel_size"], a["stride"], a["dilation"])
        name = "Conv2DTranspose"
        sides: Any = padding_of(name, size, *steps, a["pad_mode"], a["pad"])
        seen = out_sizes(name, size, a["kernel_size"], a["stride"], sides, a["dilation"])
        wanted = (dout.shape[0], weight.shape[1] * a["group"])
        if seen != tuple(dout.shape[2:]) or tuple(input_size)[:2] != wanted:
            raise ShapeError(
                f"{name}: images of shape {shape_text(input_size)} give"
                f" {shape_text((*wanted[:1], a['out_channel'], *seen))}, not dout"
                f" {shape_text(dout.shape)}; their channels must be {wanted[1]}."
            )
        return conv2d_input_grad(
            dout, weight, size, stride=a["stride"], padding=sides, dilation=a["dilation"],
            groups=a["group"],
        )  # fmt: skip


class Conv3DTranspose(_Windows):
    """A transposed convolution over volumes: ``Conv3DTranspose(in, out, kernel)(dout, weight)``.

    Parameters
    ----------
    in_channel : int
        Channels of ``dout``.
    out_channel : int
        Number of filters.
    kernel_size : int or tuple of int
        Size of the window, one number for all axes or one an axis.
    mode : int
        1, the cross-correlation; there is no other.
    pad_mode : str
        ``"valid"``, ``"same"`` or ``"pad"``.
    pad : int or tuple of int
        Widths of the padding with ``pad_mode="pad"``: one for all sides, or one a side.
    stride : int or tuple of int
        Steps of the window.
    dilation : int or tuple of int
        Distances between the window's elements.
    group : int
        Groups of channels that are convolved apart.
    output_padding : int or tuple of int
        Rows added behind the output, which the stride leaves open.
    data_format : str
        The order of the axes: channels first.
    """

    op = OPS["conv_transpose3d"]
    axes = 3

    def __init__(
        self,
        in_channel: int,
        out_channel: int,
        kernel_size: int | tuple[int, int, int],
        mode: int = 1,
        pad_mode: str = "valid",
        pad: int | tuple[int, ...] = 0,
        stride: int | tuple[int, ...] = 1,
        dilation: int | tuple[int, ...] = 1,
        group: int = 1,
        output_padding: int | tuple[int, int, int] = 0,
        data_format: str = "NCDHW",
    ) -> None:
        sizes = (kernel_size, stride, dilation)
        self._set(in_channel, sizes, mode, (pad_mode, pad), group, data_format)
        as_sizes("Conv3DTranspose: out_channel", out_channel, 1)
        self.attrs["output_padding"] = output_padding

    def __call__(self, dout: Tensor, weight: Tensor) -> Tensor:
        """Spread ``[n, in_channel, d, h, w]`` by ``[in_channel, out_channel / group, ...]``."""
        self._check_weight(weight)
        a = self.attrs
        more = (a["output_padding"], a["group"], a["dilation"], a["pad_mode"])
        return conv_transpose3d(dout, weight, None, a["stride"], a["pad"], *more)
