"""Sliding windows over images: output sizes, padding, and the patches a kernel sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

Pair = tuple[int, int]
Padding = tuple[int, int, int, int]
"""Rows and columns added at top, bottom, left, right."""


@dataclass(frozen=True)
class Window:
    """How a kernel moves over an image of `height` by `width`."""

    height: int
    width: int
    kernel: Pair
    stride: Pair = (1, 1)
    padding: Padding = (0, 0, 0, 0)
    dilation: Pair = (1, 1)

    def __post_init__(self) -> None:
        if min(*self.kernel, *self.stride, *self.dilation) < 1 or min(self.padding) < 0:
            raise ValueError(
                f"kernel {self.kernel}, stride {self.stride} and dilation {self.dilation} must be "
                f"positive and padding {self.padding} not negative"
            )
        if self.out_height < 1 or self.out_width < 1:
            raise ValueError(
                f"a kernel of {self.kernel} with dilation {self.dilation} does not fit into an "
                f"image of {self.height}×{self.width} padded by {self.padding}; "
                "pad more or use a smaller kernel"
            )

    @property
    def padded(self) -> Pair:
        """Height and width with padding."""
        top, bottom, left, right = self.padding
        return self.height + top + bottom, self.width + left + right

    @property
    def out_height(self) -> int:
        """Rows of the output."""
        reach = (self.kernel[0] - 1) * self.dilation[0] + 1
        return (self.padded[0] - reach) // self.stride[0] + 1

    @property
    def out_width(self) -> int:
        """Columns of the output."""
        reach = (self.kernel[1] - 1) * self.dilation[1] + 1
        return (self.padded[1] - reach) // self.stride[1] + 1

    @property
    def is_pointwise(self) -> bool:
        """Whether the window is a single pixel that visits every pixel once."""
        return self.kernel == (1, 1) == self.stride and not any(self.padding)


def pad(x: np.ndarray, padding: Padding, value: float = 0) -> np.ndarray:
    """Pad the last two axes with a constant; without padding, return `x` itself."""
    if not any(padding):
        return x
    top, bottom, left, right = padding
    height, width = x.shape[-2:]
    shape = (*x.shape[:-2], height + top + bottom, width + left + right)
    out = np.full(shape, value, x.dtype) if value else np.zeros(shape, x.dtype)
    out[..., top : top + height, left : left + width] = x
    return out


def crop(x: np.ndarray, padding: Padding) -> np.ndarray:
    """Undo `pad`."""
    if not any(padding):
        return x
    top, bottom, left, right = padding
    return x[..., top : x.shape[-2] - bottom, left : x.shape[-1] - right]


def tap(x: np.ndarray, window: Window, row: int, column: int) -> np.ndarray:
    """Return the view of a padded image that kernel position (row, column) multiplies."""
    top, left = row * window.dilation[0], column * window.dilation[1]
    bottom = top + (window.out_height - 1) * window.stride[0] + 1
    right = left + (window.out_width - 1) * window.stride[1] + 1
    return x[..., top : bottom : window.stride[0], left : right : window.stride[1]]


def patches(x: np.ndarray, window: Window) -> np.ndarray:
    """Return a padded image as a view (N, C, *kernel, out height, out width)."""
    n, c, h, w = x.strides
    shape = (*x.shape[:2], *window.kernel, window.out_height, window.out_width)
    dilation, stride = window.dilation, window.stride
    strides = (n, c, h * dilation[0], w * dilation[1], h * stride[0], w * stride[1])
    return as_strided(x, shape, strides, writeable=False)
