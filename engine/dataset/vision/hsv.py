"""Hue, saturation and value (A. R. Smith, Color gamut transform pairs, SIGGRAPH 1978)."""

from __future__ import annotations

import numpy as np

from ..transforms.base import ArrayTransform


class _Channels(ArrayTransform):
    """A function of three channels in 0..1, wherever their axis is."""

    def __init__(self, is_hwc: bool = False) -> None:
        self.is_hwc = bool(is_hwc)

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """Change the channels of images."""
        axis = array.ndim - 1 if self.is_hwc else leading
        if array.ndim - leading != 3 or array.shape[axis] != 3 or array.dtype.kind != "f":
            raise ValueError(
                f"{type(self).__name__}: needs floats in 0..1 with three channels, the image is"
                f" {array.dtype} {array.shape[leading:]}; see is_hwc, and ToTensor or Rescale."
            )
        return np.stack(self.change(np.moveaxis(array, axis, 0)), axis).astype(array.dtype)

    def change(self, planes: np.ndarray) -> list[np.ndarray]:
        """The three new planes of three."""
        raise NotImplementedError


class RgbToHsv(_Channels):
    """Red, green and blue in 0..1 as hue, saturation and value in 0..1.

    Parameters
    ----------
    is_hwc : bool
        Whether channels are the last axis; else they are the first.
    """

    def change(self, planes: np.ndarray) -> list[np.ndarray]:
        """Hue, saturation, value."""
        red, green, blue = planes
        value, low = planes.max(0), planes.min(0)
        span = value - low
        safe = np.where(span == 0, 1, span)
        hue = np.where(
            value == red,
            (green - blue) / safe,
            np.where(value == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
        )
        saturation = np.where(value == 0, 0, span / np.where(value == 0, 1, value))
        return [np.where(span == 0, 0, hue / 6 % 1), saturation, value]


class HsvToRgb(_Channels):
    """Hue, saturation and value in 0..1 as red, green and blue in 0..1.

    Parameters
    ----------
    is_hwc : bool
        Whether channels are the last axis; else they are the first.
    """

    def change(self, planes: np.ndarray) -> list[np.ndarray]:
        """Red, green, blue."""
        hue, saturation, value = planes
        results: list[np.ndarray] = []
        for offset in (5, 3, 1):
            k = (offset + hue * 6) % 6
            results.append(value - value * saturation * np.clip(np.minimum(k, 4 - k), 0, 1))
        return results
