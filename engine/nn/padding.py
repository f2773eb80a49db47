"""Cells that put elements around their input: constants, mirrored or repeated ones."""

from __future__ import annotations

from typing import Any, Literal

from .. import ops
from ..tensor import Tensor
from .cell import Cell

PadCellMode = Literal["CONSTANT", "REFLECT", "SYMMETRIC"]


def sides(name: str, padding: Any, axes: int) -> tuple[int, ...]:
    """Return the numbers before and after each of the last axes, the last one first.

    Raises
    ------
    TypeError
        If ``padding`` holds other things than ints.
    ValueError
        If it holds not two numbers an axis.
    """
    several = isinstance(padding, tuple | list)
    values = tuple(padding) if several else (padding,) * (2 * axes)
    if not all(isinstance(item, int) and not isinstance(item, bool) for item in values):
        raise TypeError(f"{name}: padding must be an int or a tuple of ints, it is {padding!r}.")
    if len(values) != 2 * axes:
        raise ValueError(
            f"{name}: padding must be one int or {2 * axes} of them, two an axis beginning with the"
            f" last; it is {padding!r}."
        )
    return values


class Pad(Cell):
    """Pads a tensor with a constant, mirrored or repeated elements.

    Parameters
    ----------
    paddings : tuple of tuple of int
        For each axis of the input the numbers before and after.
    mode : {"CONSTANT", "REFLECT", "SYMMETRIC"}
        Zeros, or the elements mirrored at the outer ones or beyond them.
    x : Tensor
        As many axes as ``paddings`` names.

    Raises
    ------
    ValueError
        If there is no such mode, or ``paddings`` holds not two numbers an axis.
    """

    def __init__(
        self, paddings: tuple[tuple[int, int], ...], mode: PadCellMode = "CONSTANT"
    ) -> None:
        super().__init__()
        if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
            raise ValueError(
                f"Pad: mode must be 'CONSTANT', 'REFLECT' or 'SYMMETRIC', it is {mode!r}."
            )
        pairs = tuple(tuple(int(n) for n in pair) for pair in paddings)
        if any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
            raise ValueError(
                f"Pad: paddings must hold two numbers of at least 0 an axis, it is {paddings}."
            )
        self.paddings, self.mode = pairs, mode

    def construct(self, x: Tensor) -> Tensor:
        """Pad."""
        return ops.pad(x, self.paddings, self.mode)

    def extend_repr(self) -> str:
        """Padding and mode."""
        return f"paddings={self.paddings}, mode={self.mode}"


class _Padded(Cell):
    """Puts elements around the last axes in one of the modes of ``ops.pad``."""

    axes = 1
    mode = "constant"

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__()
        self.padding = sides(type(self).__name__, padding, self.axes)

    def construct(self, x: Tensor) -> Tensor:
        """Pad."""
        ndim = len(x.shape)
        if ndim not in (self.axes + 1, self.axes + 2):
            raise ValueError(
                f"{type(self).__name__}: the input must have {self.axes + 1} or {self.axes + 2}"
                f" axes, it has {ndim}."
            )
        return ops.pad(x, self.padding, self.mode)

    def extend_repr(self) -> str:
        """The padding."""
        return f"padding={self.padding}"


class _ConstantPadded(_Padded):
    """Puts a constant around the last axes."""

    def __init__(self, padding: int | tuple[int, ...], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def construct(self, x: Tensor) -> Tensor:
        """Pad."""
        return ops.pad(x, self.padding, "constant", self.value)

    def extend_repr(self) -> str:
        """Padding and value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadded):
    """Pads the last axis with a constant.

    Parameters
    ----------
    padding : int or tuple of int
        How many, for both ends or as ``(left, right)``; negative numbers cut off.
    value : float
        The constant.
    x : Tensor
        At least one axis.
    """


class ConstantPad2d(_ConstantPadded):
    """Pads the last two axes with a constant.

    Parameters
    ----------
    padding : int or tuple of int
        How many, for all sides or as ``(left, right, top, bottom)``; negative numbers cut off.
    value : float
        The constant.
    x : Tensor
        At least two axes.
    """

    axes = 2


class ConstantPad3d(_ConstantPadded):
    """Pads the last three axes with a constant.

    Parameters
    ----------
    padding : int or tuple of int
        How many, for all sides or as ``(left, right, top, bottom, front, back)``; negative numbers
        cut off.
    value : float
        The constant.
    x : Tensor
        At least three axes.
    """

    axes = 3


class ZeroPad2d(_Padded):
    """Pads images with zeros.

    Parameters
    ----------
    padding : int or tuple of int
        How many, for all sides or as ``(left, right, top, bottom)``; negative numbers cut off.
    x : Tensor
        ``[n, c, h, w]`` or ``[c, h, w]``.
    """

    axes = 2


class ReflectionPad1d(_Padded):
    """Pads signals by mirroring them at their first and last element.

    Parameters
    ----------
    padding : int or tuple of int
        How many elements, for both ends or as ``(left, right)``; fewer than there are.
    x : Tensor
        ``[n, c, w]`` or ``[c, w]``.
    """

    mode = "reflect"


class ReflectionPad2d(_Padded):
    """Pads images by mirroring them at their outer pixels.

    Parameters
    ----------
    padding : int or tuple of int
        How many pixels, for all sides or as ``(left, right, top, bottom)``; fewer than there are.
    x : Tensor
        ``[n, c, h, w]`` or ``[c, h, w]``.
    """

    axes = 2
    mode = "reflect"


class ReflectionPad3d(_Padded):
    """Pads volumes by mirroring them at their outer elements.

    Parameters
    ----------
    padding : int or tuple of int
        How many, for all sides or as ``(left, right, top, bottom, front, back)``; fewer than there
        are.
    x : Tensor
        ``[n, c, d, h, w]`` or ``[c, d, h, w]``.
    """

    axes = 3
    mode = "reflect"


class ReplicationPad1d(_Padded):
    """Pads signals by repeating their first and last element.

    Parameters
    ----------
    padding : int or tuple of int
        How often, for both ends or as ``(left, right)``.
    x : Tensor
        ``[n, c, w]`` or ``[c, w]``.
    """

    mode = "replicate"


class ReplicationPad2d(_Padded):
    """Pads images by repeating their outer pixels.

    Parameters
    ----------
    padding : int or tuple of int
        How often, for all sides or as ``(left, right, top, bottom)``.
    x : Tensor
        ``[n, c, h, w]`` or ``[c, h, w]``.
    """

    axes = 2
    mode = "replicate"


class ReplicationPad3d(_Padded):
    """Pads volumes by repeating their outer elements.

    Parameters
    ----------
    padding : int or tuple of int
        How often, for all sides or as ``(left, right, top, bottom, front, back)``.
    x : Tensor
        ``[n, c, d, h, w]`` or ``[c, d, h, w]``.
    """

    axes = 3
    mode = "replicate"
