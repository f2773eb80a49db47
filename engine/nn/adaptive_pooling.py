"""Pooling to a given size, and at drawn places, as layers."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import ops
from ..ops.adaptive_pool import OutputSize
from ..tensor import Tensor
from .cell import Cell


class AdaptivePooling(Cell):
    """What pooling to a given size shares over any number of axes."""

    axes: ClassVar[int] = 0

    def set_size(self, output_size: Any) -> None:
        """Keep the output's size.

        Raises
        ------
        TypeError, ValueError
            If it is neither a positive int nor one, or None, an axis.
        """
        owner = type(self).__name__
        given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,)
        if len(given) not in (1, self.axes):
            raise ValueError(
                f"{owner}: output_size must be one size or {self.axes}, it is {output_size!r}."
            )
        for size in given:
            if size is not None and (isinstance(size, bool) or not isinstance(size, int)):
                raise TypeError(f"{owner}: output_size must be an int, it is {output_size!r}.")
            if size is not None and size < 1:
                raise ValueError(f"{owner}: output_size must be positive, it is {output_size!r}.")
        self.output_size = given if len(given) == self.axes else given * self.axes

    def extend_repr(self) -> str:
        """The output's size."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(AdaptivePooling):
    """Average pooling of sequences to a given output size.

    Parameters
    ----------
    output_size : int
        The output's length.
    x : Tensor
        ``[n, c, length]``.

    Raises
    ------
    TypeError, ValueError
        If a size is no positive int.
    """

    axes = 1

    def __init__(self, output_size: int) -> None:
        super().__init__()
        self.set_size(output_size)

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        return ops.adaptive_avg_pool1d(x, self.output_size)


class AdaptiveAvgPool2d(AdaptivePooling):
    """Average pooling of images to a given output size.

    Parameters
    ----------
    output_size : int or tuple of int
        The output's rows and columns; None keeps the input's.
    x : Tensor
        ``[n, c, h, w]``.

    Raises
    ------
    TypeError, ValueError
        If a size is no positive int.
    """

    axes = 2

    def __init__(self, output_size: OutputSize) -> None:
        super().__init__()
        self.set_size(output_size)

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        return ops.adaptive_avg_pool2d(x, self.output_size)


class AdaptiveAvgPool3d(AdaptivePooling):
    """Average pooling of volumes to a given output size.

    Parameters
    ----------
    output_size : int or tuple of int
        The output's depth, rows and columns; None keeps the input's.
    x : Tensor
        ``[n, c, d, h, w]``.

    Raises
    ------
    TypeError, ValueError
        If a size is no positive int.
    """

    axes = 3

    def __init__(self, output_size: OutputSize) -> None:
        super().__init__()
        self.set_size(output_size)

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        return ops.adaptive_avg_pool3d(x, self.output_size)


class AdaptiveMaxPool1d(AdaptivePooling):
    """Max pooling of sequences to a given output size.

    Parameters
    ----------
    output_size : int
        The output's length.
    x : Tensor
        ``[n, c, length]``.

    Raises
    ------
    TypeError, ValueError
        If a size is no positive int.
    """

    axes = 1

    def __init__(self, output_size: int) -> None:
        super().__init__()
        self.set_size(output_size)

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        return ops.adaptive_max_pool1d(x, self.output_size)


class AdaptiveMaxPool2d(AdaptivePooling):
    """Max pooling of images to a given output size.

    Parameters
    ----------
    output_size : int or tuple of int
        The output's rows and columns; None keeps the input's.
    return_indices : bool
        Whether to return also where in its plane each maximum stands.
    x : Tensor
        ``[n, c, h, w]``.

    Raises
    ------
    TypeError, ValueError
        If a size is no positive int.
    """

    axes = 2

    def __init__(self, output_size: OutputSize, return_indices: bool = False) -> None:
        super().__init__()
        self.set_size(output_size)
        self.return_indices = bool(return_indices)

    def construct(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Pool."""
        return ops.adaptive_max_pool2d(x, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(AdaptivePooling):
    """Max pooling of volumes to a given output size.

    Parameters
    ----------
    output_size : int or tuple of int
        The output's depth, rows and columns; None keeps the input's.
    return_indices : bool
        Whether to return also where in its volume each maximum stands.
    x : Tensor
        ``[n, c, d, h, w]``.

    Raises
    ------
    TypeError, ValueError
        If a size is no positive int.
    """

    axes = 3

    def __init__(self, output_size: OutputSize, return_indices: bool = False) -> None:
        super().__init__()
        self.set_size(output_size)
        self.return_indices = bool(return_indices)

    def construct(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Pool."""
        return ops.adaptive_max_pool3d(x, self.output_size, self.return_indices)
