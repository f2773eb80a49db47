"""Random changes of colour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..randomness import stream
from ..transforms.base import probability
from .colour import (
    AutoContrast,
    Equalize,
    Grayscale,
    Invert,
    brightened,
    contrasted,
    hue_shifted,
    posterized,
    saturated,
    sharpened,
    solarized,
)
from .images import ImageTransform, interval, number, on_array


class RandomColorAdjust(ImageTransform):
    """Change brightness, contrast, saturation and hue by random amounts, in random order.

    Parameters
    ----------
    brightness, contrast, saturation : float or (float, float)
        Limits of the factor, 1 leaving the image; one number v means 1 - v..1 + v.
    hue : float or (float, float)
        Limits of the turn as a share of the circle, in -0.5..0.5; one number v means -v..v.
    """

    def __init__(
        self,
        brightness: Any = (1, 1),
        contrast: Any = (1, 1),
        saturation: Any = (1, 1),
        hue: Any = (0, 0),
    ) -> None:
        self.brightness = _factor("brightness", brightness)
        self.contrast = _factor("contrast", contrast)
        self.saturation = _factor("saturation", saturation)
        turn = (-hue, hue) if isinstance(hue, int | float) else hue
        self.hue = interval("RandomColorAdjust", "hue", turn, -0.5, 0.5)

    def apply(self, image: Any) -> Any:
        """Change one image."""
        random = stream()
        changes: list[tuple[Callable[[Any, float, str], Any], tuple[float, float], float]] = [
            (brightened, self.brightness, 1.0),
            (contrasted, self.contrast, 1.0),
            (saturated, self.saturation, 1.0),
            (hue_shifted, self.hue, 0.0),
        ]
        for at in random.permutation(len(changes)).tolist():
            change, limits, neutral = changes[at]
            if limits != (neutral, neutral):
                image = change(image, random.uniform(*limits), "RandomColorAdjust")
        return image


def _factor(name: str, value: Any) -> tuple[float, float]:
    where = "RandomColorAdjust"
    if isinstance(value, int | float):
        spread = number(where, name, value, 0)
        return max(0.0, 1 - spread), 1 + spread
    return interval(where, name, value, 0)


class RandomColor(ImageTransform):
    """Make colours paler or stronger by a random factor.

    Parameters
    ----------
    degrees : (float, float)
        Limits of the factor; 0 has no colour, 1 leaves it.
    """

    def __init__(self, degrees: Sequence[float] = (0.1, 1.9)) -> None:
        self.degrees = interval("RandomColor", "degrees", degrees, 0)

    def apply(self, image: Any) -> Any:
        """Change one image."""
        return saturated(image, stream().uniform(*self.degrees), "RandomColor")


class RandomSharpness(ImageTransform):
    """Blur or sharpen by a random factor.

    Parameters
    ----------
    degrees : (float, float)
        Limits of the factor; 0 is smooth, 1 leaves it.
    """

    def __init__(self, degrees: Sequence[float] = (0.1, 1.9)) -> None:
        self.degrees = interval("RandomSharpness", "degrees", degrees, 0)

    def apply(self, image: Any) -> Any:
        """Change one image."""
        return sharpened(image, stream().uniform(*self.degrees), "RandomSharpness")


class RandomAdjustSharpness(ImageTransform):
    """Change sharpness by a factor, by chance.

    Parameters
    ----------
    degree : float
        The factor; 0 is smooth, 1 leaves it.
    prob : float
        The chance, in 0..1.
    """

    def __init__(self, degree: float, prob: float = 0.5) -> None:
        self.degree = number("RandomAdjustSharpness", "degree", degree, 0)
        self.prob = probability("RandomAdjustSharpness", prob)

    def apply(self, image: Any) -> Any:
        """Change one image, or leave it."""
        if stream().random() >= self.prob:
            return image
        return sharpened(image, self.degree, "RandomAdjustSharpness")


class RandomSolarize(ImageTransform):
    """Invert the values within a random range.

    Parameters
    ----------
    threshold : (int, int)
        Limits between which the range is drawn, in 0..255.
    """

    def __init__(self, threshold: Sequence[int] = (0, 255)) -> None:
        self.threshold = interval("RandomSolarize", "threshold", threshold, 0, 255)

    def apply(self, image: Any) -> Any:
        """Solarize one image."""
        low, high = (int(limit) for limit in self.threshold)
        drawn = sorted(stream().integers(low, high + 1, 2).tolist())
        return solarized(image, drawn, "RandomSolarize")


class RandomPosterize(ImageTransform):
    """Keep only a random number of the highest bits.

    Parameters
    ----------
    bits : int or (int, int)
        Limits of the number, in 1..8; one int is the number itself.
    """

    def __init__(self, bits: int | Sequence[int] = (8, 8)) -> None:
        given = (bits, bits) if isinstance(bits, int) else bits
        self.bits = interval("RandomPosterize", "bits", given, 1, 8)

    def apply(self, image: Any) -> Any:
        """Posterize one image."""
        low, high = (int(limit) for limit in self.bits)
        return posterized(image, int(stream().integers(low, high + 1)), "RandomPosterize")


class RandomGrayscale(ImageTransform):
    """Brightness instead of colours by chance; the number of channels stays.

    Parameters
    ----------
    prob : float
        The chance, in 0..1.
    """

    def __init__(self, prob: float = 0.1) -> None:
        self.prob = probability("RandomGrayscale", prob)

    def apply(self, image: Any) -> Any:
        """One image in grey, or as it is."""
        if stream().random() >= self.prob:
            return image
        grey_of = Grayscale(3)

        def changed(array: np.ndarray) -> np.ndarray:
            if array.ndim == 2 or array.shape[2] < 3:
                return array
            return np.concatenate([grey_of.apply(array), array[:, :, 3:]], 2)

        return on_array(image, changed)


class RandomInvert(Invert):
    """Invert colours by chance.

    Parameters
    ----------
    prob : float
        The chance, in 0..1.
    """

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = probability("RandomInvert", prob)

    def apply(self, image: Any) -> Any:
        """Invert one image, or leave it."""
        return super().apply(image) if stream().random() < self.prob else image


class RandomEqualize(Equalize):
    """Equalize by chance.

    Parameters
    ----------
    prob : float
        The chance, in 0..1.
    """

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = probability("RandomEqualize", prob)

    def apply(self, image: Any) -> Any:
        """Equalize one image, or leave it."""
        return super().apply(image) if stream().random() < self.prob else image


class RandomAutoContrast(AutoContrast):
    """Stretch the contrast by chance.

    Parameters
    ----------
    cutoff : float
        Percentage of pixels left out at both ends.
    ignore : int or list of int, optional
        Values that do not count.
    prob : float
        The chance, in 0..1.
    """

    def __init__(self, cutoff: float = 0.0, ignore: Any = None, prob: float = 0.5) -> None:
        super().__init__(cutoff, ignore)
        self.prob = probability("RandomAutoContrast", prob)

    def apply(self, image: Any) -> Any:
        """Stretch one image, or leave it."""
        return super().apply(image) if stream().random() < self.prob else image


class RandomLighting(ImageTransform):
    """Shift colours along the main axes of natural images' colours (Krizhevsky et al., 2012).

    Parameters
    ----------
    alpha : float
        Standard deviation of the shift along each axis, in units of the axis.
    """

    # principal components of ImageNet's pixels, from Krizhevsky's code
    _VALUES = np.array([55.46, 4.794, 1.148])
    _VECTORS = np.array([
        [-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203],
    ])  # fmt: skip

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha = number("RandomLighting", "alpha", alpha, 0)

    def apply(self, image: Any) -> Any:
        """Shift the colours of one image of three channels."""
        shift = self._VECTORS @ (self._VALUES * stream().normal(0, self.alpha, 3))

        def lit(array: np.ndarray) -> np.ndarray:
            if array.ndim != 3 or array.shape[2] != 3 or array.dtype != np.uint8:
                raise TypeError("RandomLighting: needs an image H×W×3 of uint8.")
            return np.clip(np.rint(array + shift), 0, 255).astype(np.uint8)

        return on_array(image, lit)
