"""Transforms of colours: brightness, contrast, hue, grey, inversion, blur."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..transforms.base import ArrayTransform
from .convert import grey
from .images import ImageTransform, is_pillow, number, on_array, on_pillow


def brightened(image: Any, factor: float, where: str) -> Any:
    """The image blended with black; 1 leaves it, 0 is black."""
    return _enhanced(image, "Brightness", factor, where)


def contrasted(image: Any, factor: float, where: str) -> Any:
    """The image blended with its mean grey; 1 leaves it, 0 is grey."""
    return _enhanced(image, "Contrast", factor, where)


def saturated(image: Any, factor: float, where: str) -> Any:
    """The image blended with its grey version; 1 leaves it, 0 has no colour."""
    return _enhanced(image, "Color", factor, where)


def sharpened(image: Any, factor: float, where: str) -> Any:
    """The image blended with a smoothed one; 1 leaves it, 0 is smooth."""
    return _enhanced(image, "Sharpness", factor, where)


def _enhanced(image: Any, kind: str, factor: float, where: str) -> Any:
    from PIL import ImageEnhance

    return on_pillow(
        image, lambda pillow: getattr(ImageEnhance, kind)(pillow).enhance(factor), where
    )


def hue_shifted(image: Any, shift: float, where: str) -> Any:
    """The image with its hues turned by a share of the circle; grey images stay."""
    from PIL import Image

    def shifted(pillow: Any) -> Any:
        if pillow.mode in ("L", "LA", "1"):
            return pillow
        hue, saturation, value = pillow.convert("RGB").convert("HSV").split()
        turned = np.array(hue, np.int32) + round(shift * 256)
        hue = Image.fromarray((turned % 256).astype(np.uint8))
        made = Image.merge("HSV", (hue, saturation, value)).convert("RGB")
        if pillow.mode == "RGBA":
            made.putalpha(pillow.getchannel("A"))
        return made

    return on_pillow(image, shifted, where)


def mapped(image: Any, function: Callable[[np.ndarray], np.ndarray], where: str) -> Any:
    """The image whose 8-bit pixels go through a function; transparency stays."""

    def through(array: np.ndarray) -> np.ndarray:
        if array.dtype != np.uint8:
            raise TypeError(f"{where}: needs an image of uint8 in 0..255, this is {array.dtype}.")
        table = np.clip(function(np.arange(256)), 0, 255).astype(np.uint8)
        if array.ndim == 3 and array.shape[2] in (2, 4):
            return np.concatenate([table[array[:, :, :-1]], array[:, :, -1:]], 2)
        return table[array]

    return on_array(image, through)


class AdjustBrightness(ImageTransform):
    """Make an image darker or brighter.

    Parameters
    ----------
    brightness_factor : float
        0 is black, 1 leaves it, 2 is twice as bright.
    """

    def __init__(self, brightness_factor: float) -> None:
        self.brightness_factor = number("AdjustBrightness", "factor", brightness_factor, 0)

    def apply(self, image: Any) -> Any:
        """Adjust one image."""
        return brightened(image, self.brightness_factor, "AdjustBrightness")


class AdjustContrast(ImageTransform):
    """Draw an image's pixels nearer to their mean, or apart.

    Parameters
    ----------
    contrast_factor : float
        0 is one grey, 1 leaves it.
    """

    def __init__(self, contrast_factor: float) -> None:
        self.contrast_factor = number("AdjustContrast", "factor", contrast_factor, 0)

    def apply(self, image: Any) -> Any:
        """Adjust one image."""
        return contrasted(image, self.contrast_factor, "AdjustContrast")


class AdjustSaturation(ImageTransform):
    """Make colours paler or stronger.

    Parameters
    ----------
    saturation_factor : float
        0 has no colour, 1 leaves it.
    """

    def __init__(self, saturation_factor: float) -> None:
        self.saturation_factor = number("AdjustSaturation", "factor", saturation_factor, 0)

    def apply(self, image: Any) -> Any:
        """Adjust one image."""
        return saturated(image, self.saturation_factor, "AdjustSaturation")


class AdjustSharpness(ImageTransform):
    """Blur or sharpen an image.

    Parameters
    ----------
    sharpness_factor : float
        0 is smooth, 1 leaves it, above it is sharper.
    """

    def __init__(self, sharpness_factor: float) -> None:
        self.sharpness_factor = number("AdjustSharpness", "factor", sharpness_factor, 0)

    def apply(self, image: Any) -> Any:
        """Adjust one image."""
        return sharpened(image, self.sharpness_factor, "AdjustSharpness")


class AdjustHue(ImageTransform):
    """Turn the hues of an image.

    Parameters
    ----------
    hue_factor : float
        Share of the circle of hues, in -0.5..0.5; 0 leaves it.
    """

    def __init__(self, hue_factor: float) -> None:
        self.hue_factor = number("AdjustHue", "factor", hue_factor, -0.5, 0.5)

    def apply(self, image: Any) -> Any:
        """Adjust one image."""
        return hue_shifted(image, self.hue_factor, "AdjustHue")


class AdjustGamma(ImageTransform):
    """Raise pixels, as shares of full brightness, to a power.

    Parameters
    ----------
    gamma : float
        The power; above 1 shadows get darker, below brighter.
    gain : float
        Factor of the result.
    """

    def __init__(self, gamma: float, gain: float = 1) -> None:
        self.gamma = number("AdjustGamma", "gamma", gamma, 0)
        self.gain = number("AdjustGamma", "gain", gain, -math.inf)

    def apply(self, image: Any) -> Any:
        """Adjust one image of uint8, or of floats in 0..1."""
        if not is_pillow(image) and image.dtype.kind == "f":
            return np.clip(self.gain * image**self.gamma, 0, 1).astype(image.dtype)
        return mapped(
            image, lambda x: np.rint(255 * self.gain * (x / 255) ** self.gamma), "AdjustGamma"
        )


class Equalize(ImageTransform):
    """Spread each channel's values so that all are about equally frequent."""

    def apply(self, image: Any) -> Any:
        """Equalize one image."""
        from PIL import ImageOps

        return on_pillow(image, _without_alpha(ImageOps.equalize), "Equalize")


class AutoContrast(ImageTransform):
    """Stretch each channel to the whole range.

    Parameters
    ----------
    cutoff : float
        Percentage of the darkest and of the brightest pixels that are left out, in 0..50.
    ignore : int or list of int, optional
        Values that do not count as dark or bright.
    """

    def __init__(self, cutoff: float = 0.0, ignore: Any = None) -> None:
        self.cutoff = number("AutoContrast", "cutoff", cutoff, 0, 50)
        self.ignore = [ignore] if isinstance(ignore, int) else ignore

    def apply(self, image: Any) -> Any:
        """Stretch one image."""
        from PIL import ImageOps

        def stretched(pillow: Any) -> Any:
            return ImageOps.autocontrast(pillow, self.cutoff, self.ignore)

        return on_pillow(image, _without_alpha(stretched), "AutoContrast")


def _without_alpha(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of Pillow images that leaves transparency as it is."""

    def applied(pillow: Any) -> Any:
        if pillow.mode not in ("RGBA", "LA"):
            return function(pillow)
        made = function(pillow.convert(pillow.mode[:-1]))
        made.putalpha(pillow.getchannel("A"))
        return made

    return applied


class Invert(ImageTransform):
    """Turn each 8-bit value v into 255 - v."""

    def apply(self, image: Any) -> Any:
        """Invert one image."""
        return mapped(image, lambda x: 255 - x, "Invert")


class Solarize(ImageTransform):
    """Invert the values within a range.

    Parameters
    ----------
    threshold : int or (int, int)
        The range in 0..255, both ends included; one number v, or (v, v), means v..255.
    """

    def __init__(self, threshold: float | Sequence[float]) -> None:
        given = (threshold, 255) if isinstance(threshold, int | float) else tuple(threshold)
        if len(given) != 2 or not 0 <= given[0] <= given[1] <= 255:
            raise ValueError(f"Solarize: threshold must be rising in 0..255, it is {threshold!r}.")
        self.threshold = given

    def apply(self, image: Any) -> Any:
        """Solarize one image."""
        return solarized(image, self.threshold, "Solarize")


def solarized(image: Any, limits: Sequence[float], where: str) -> Any:
    """The image with values within limits inverted; equal limits mean all from there up."""
    low, high = limits
    high = 255 if low == high else high
    return mapped(image, lambda x: np.where((x >= low) & (x <= high), 255 - x, x), where)


class Posterize(ImageTransform):
    """Keep only the highest bits of each value.

    Parameters
    ----------
    bits : int
        How many, in 0..8.
    """

    def __init__(self, bits: int) -> None:
        self.bits = int(number("Posterize", "bits", bits, 0, 8))

    def apply(self, image: Any) -> Any:
        """Posterize one image."""
        return posterized(image, self.bits, "Posterize")


def posterized(image: Any, bits: int, where: str) -> Any:
    """The image with the lower bits cleared."""
    return mapped(image, lambda x: x & (256 - (1 << (8 - bits))), where)


class Grayscale(ImageTransform):
    """Brightness instead of colours.

    Parameters
    ----------
    num_output_channels : int
        1, or 3 equal ones.
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        if num_output_channels not in (1, 3):
            raise ValueError(f"Grayscale: channels must be 1 or 3, not {num_output_channels!r}.")
        self.num_output_channels = num_output_channels

    def apply(self, image: Any) -> Any:
        """One image in grey; an array keeps its number of axes."""

        def changed(array: np.ndarray) -> np.ndarray:
            plane = grey(array) if array.ndim == 3 and array.shape[2] >= 3 else array
            plane = plane.reshape(plane.shape[:2])
            if self.num_output_channels == 3:
                return np.stack([plane] * 3, 2)
            return plane if is_pillow(image) or array.ndim == 2 else plane[:, :, None]

        return on_array(image, changed)


class GaussianBlur(ImageTransform):
    """Smooth an image by a Gaussian window.

    Parameters
    ----------
    kernel_size : int or (int, int)
        Width and height of the window, odd.
    sigma : float or (float, float), optional
        Standard deviation in x and y; by default 0.3 ((kernel_size - 1) / 2 - 1) + 0.8.

    Notes
    -----
    Edges are reflected without their last pixel. The default follows OpenCV's getGaussianKernel.
    """

    def __init__(self, kernel_size: int | Sequence[int], sigma: Any = None) -> None:
        sizes = (kernel_size,) * 2 if isinstance(kernel_size, int) else tuple(kernel_size)
        if len(sizes) != 2 or any(not isinstance(n, int) or n < 1 or n % 2 == 0 for n in sizes):
            raise ValueError(f"GaussianBlur: kernel_size must be odd ints, it is {kernel_size!r}.")
        given = (sigma,) * 2 if sigma is None or isinstance(sigma, int | float) else tuple(sigma)
        self.kernel_size, self.sigma = sizes, given
        self._windows = [_window(n, s) for n, s in zip(sizes, given, strict=True)]

    def apply(self, image: Any) -> Any:
        """Blur one image."""
        return on_array(image, self._blurred)

    def _blurred(self, array: np.ndarray) -> np.ndarray:
        from scipy.ndimage import correlate1d

        result = array.astype(np.float64)
        for axis, window in ((1, self._windows[0]), (0, self._windows[1])):
            result = correlate1d(result, window, axis, mode="mirror")
        return (np.rint(result) if array.dtype.kind in "iu" else result).astype(array.dtype)


def _window(size: int, sigma: float | None) -> np.ndarray:
    deviation = sigma or 0.3 * ((size - 1) / 2 - 1) + 0.8
    if deviation <= 0:
        raise ValueError(f"GaussianBlur: sigma must be above zero, it is {sigma!r}.")
    weights = np.exp(-((np.arange(size) - (size - 1) / 2) ** 2) / (2 * deviation**2))
    return weights / weights.sum()


class RgbToBgr(ArrayTransform):
    """Swap red and blue.

    Parameters
    ----------
    is_hwc : bool
        Whether channels are the last axis; else they are the first.
    """

    def __init__(self, is_hwc: bool = True) -> None:
        self.is_hwc = bool(is_hwc)

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """Swap the channels."""
        axis = array.ndim - 1 if self.is_hwc else leading
        if array.ndim - leading != 3 or array.shape[axis] != 3:
            raise ValueError(
                f"RgbToBgr: needs three channels, the image is {array.shape[leading:]}; see is_hwc."
            )
        return np.ascontiguousarray(np.flip(array, axis))
