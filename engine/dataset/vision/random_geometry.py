"""Random crops, flips and turns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..randomness import stream
from ..transforms.base import Transform, probability
from .convert import Decode
from .geometry import HorizontalFlip, Resize, VerticalFlip, crop, pad, resize
from .images import (
    ImageTransform,
    border,
    borders,
    fill,
    height_width,
    inter,
    interval,
    number,
    size_of,
)
from .motion import affine_inverse, move, perspective, rotate, tilt
from .options import Border, Inter


class RandomCrop(ImageTransform):
    """Take a part of an image, anywhere.

    Parameters
    ----------
    size : int or (int, int)
        Height and width.
    padding : int, (int, int) or (int, int, int, int), optional
        Pixels added around the image first, as in `Pad`.
    pad_if_needed : bool
        Whether an image that is too small is padded; else it is an error.
    fill_value : int or (int, int, int)
        What added pixels hold where the border is constant.
    padding_mode : Border
        What lies around the image.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: Any = None,
        pad_if_needed: bool = False,
        fill_value: Any = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        self.size = height_width("RandomCrop", size)
        self.padding = borders("RandomCrop", 0 if padding is None else padding)
        self.pad_if_needed = bool(pad_if_needed)
        self.fill_value = fill("RandomCrop", fill_value)
        self.padding_mode = border("RandomCrop", padding_mode)

    def apply(self, image: Any) -> Any:
        """Crop one image."""
        image = pad(image, self.padding, self.fill_value, self.padding_mode, "RandomCrop")
        height, width = size_of(image)
        lack = max(0, self.size[0] - height), max(0, self.size[1] - width)
        if any(lack) and not self.pad_if_needed:
            raise ValueError(
                f"RandomCrop: {self.size[0]}×{self.size[1]} does not fit into the image of"
                f" {height}×{width}; set pad_if_needed=True or resize it."
            )
        sides = (lack[1], lack[0], lack[1], lack[0])
        image = pad(image, sides, self.fill_value, self.padding_mode, "RandomCrop")
        height, width = size_of(image)
        top = int(stream().integers(height - self.size[0] + 1))
        left = int(stream().integers(width - self.size[1] + 1))
        return crop(image, top, left, self.size, "RandomCrop")


class RandomResizedCrop(ImageTransform):
    """Take a part of random area and proportion, and bring it to one size.

    Parameters
    ----------
    size : int or (int, int)
        Height and width of the result.
    scale : (float, float)
        Smallest and largest share of the image's area.
    ratio : (float, float)
        Smallest and largest width divided by height, drawn evenly on the logarithm.
    interpolation : Inter
        How new pixels are computed.
    max_attempts : int
        How often a part is drawn that does not fit, before the middle is taken.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: Inter = Inter.BILINEAR,
        max_attempts: int = 10,
    ) -> None:
        where = type(self).__name__
        self.size = height_width(where, size)
        self.scale = interval(where, "scale", scale, 1e-9)
        self.ratio = interval(where, "ratio", ratio, 1e-9)
        self.interpolation = inter(where, interpolation)
        self.max_attempts = int(number(where, "max_attempts", max_attempts, 1))

    def apply(self, image: Any) -> Any:
        """Crop and resize one image."""
        top, left, height, width = self._part(*size_of(image))
        part = crop(image, top, left, (height, width), type(self).__name__)
        return resize(part, self.size, self.interpolation)

    def _part(self, height: int, width: int) -> tuple[int, int, int, int]:
        random = stream()
        for _ in range(self.max_attempts):
            area = height * width * random.uniform(*self.scale)
            ratio = math.exp(random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < w <= width and 0 < h <= height:
                top, left = random.integers(height - h + 1), random.integers(width - w + 1)
                return int(top), int(left), h, w
        ratio = min(max(width / height, self.ratio[0]), self.ratio[1])
        w = min(width, max(1, round(height * ratio)))
        h = min(height, max(1, round(width / ratio)))
        return (height - h) // 2, (width - w) // 2, h, w


class RandomCropDecodeResize(Transform):
    """Decode the bytes of an image file, then do as `RandomResizedCrop`; parameters as there.

    Parameters
    ----------
    size : int or (int, int)
        Height and width of the result.
    scale, ratio : (float, float)
        Limits of the part's area and proportion.
    interpolation : Inter
        How new pixels are computed.
    max_attempts : int
        How often a part is drawn that does not fit.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: Inter = Inter.BILINEAR,
        max_attempts: int = 10,
    ) -> None:
        self._decode = Decode()
        self._crop = RandomResizedCrop(size, scale, ratio, interpolation, max_attempts)

    def __call__(self, data: Any) -> np.ndarray:
        """Decode, crop and resize one image."""
        return self._crop(self._decode(data))


class RandomHorizontalFlip(HorizontalFlip):
    """Swap left and right by chance.

    Parameters
    ----------
    prob : float
        The chance, in 0..1.
    """

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = probability("RandomHorizontalFlip", prob)

    def apply(self, image: Any) -> Any:
        """Flip one image, or leave it."""
        return super().apply(image) if stream().random() < self.prob else image


class RandomVerticalFlip(VerticalFlip):
    """Swap top and bottom by chance.

    Parameters
    ----------
    prob : float
        The chance, in 0..1.
    """

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = probability("RandomVerticalFlip", prob)

    def apply(self, image: Any) -> Any:
        """Flip one image, or leave it."""
        return super().apply(image) if stream().random() < self.prob else image


class RandomRotation(ImageTransform):
    """Turn an image by a random angle.

    Parameters
    ----------
    degrees : float or (float, float)
        The limits; one number v means -v..v.
    resample : Inter
        How new pixels are computed.
    expand : bool
        Whether the result grows so that all of the image is in it.
    center : (float, float), optional
        The point (x, y) that stays; by default the middle.
    fill_value : int or (int, int, int)
        What pixels from outside hold.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill_value: Any = 0,
    ) -> None:
        self.degrees = around("RandomRotation", "degrees", degrees)
        self.resample = inter("RandomRotation", resample)
        self.expand, self.center = bool(expand), center
        self.fill_value = fill("RandomRotation", fill_value)

    def apply(self, image: Any) -> Any:
        """Turn one image."""
        angle = stream().uniform(*self.degrees)
        return rotate(
            image, angle, self.resample, self.expand, self.center, self.fill_value, "RandomRotation"
        )


class RandomAffine(ImageTransform):
    """Turn, shift, scale and shear an image by random amounts.

    Parameters
    ----------
    degrees : float or (float, float)
        Limits of the turn; one number v means -v..v.
    translate : tuple of float, optional
        Limits of the shift as shares of the width and the height: (x low, x high), or
        (x low, x high, y low, y high), in -1..1.
    scale : (float, float), optional
        Limits of the factor.
    shear : float or tuple of float, optional
        Limits of the slant in degrees: v for -v..v along x, (x low, x high), or four.
    resample : Inter
        How new pixels are computed.
    fill_value : int or (int, int, int)
        What pixels from outside hold.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        resample: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        where = "RandomAffine"
        self.degrees = around(where, "degrees", degrees)
        self.translate = _pairs(where, "translate", translate or (0, 0), 1)
        self.scale = interval(where, "scale", (1, 1) if scale is None else scale, 1e-6)
        slant = (-shear, shear) if isinstance(shear, int | float) else shear or (0, 0)
        self.shear = _pairs(where, "shear", slant, 89)
        self.resample = inter(where, resample)
        self.fill_value = fill(where, fill_value)

    def apply(self, image: Any) -> Any:
        """Move one image."""
        random, size = stream(), size_of(image)
        angle, factor = random.uniform(*self.degrees), random.uniform(*self.scale)
        shift = [random.uniform(*limits) for limits in self.translate]
        slant = [random.uniform(*limits) for limits in self.shear]
        inverse = affine_inverse(
            size, angle, (shift[0] * size[1], shift[1] * size[0]), factor, (slant[0], slant[1])
        )
        return move(image, inverse, self.resample, self.fill_value, "RandomAffine")


class RandomPerspective(ImageTransform):
    """Tilt an image by chance.

    Parameters
    ----------
    distortion_scale : float
        How far corners go inwards at most, as a share of half the side, in 0..1.
    prob : float
        The chance, in 0..1.
    interpolation : Inter
        How new pixels are computed.
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        prob: float = 0.5,
        interpolation: Inter = Inter.BICUBIC,
    ) -> None:
        self.distortion_scale = number("RandomPerspective", "scale", distortion_scale, 0, 1)
        self.prob = probability("RandomPerspective", prob)
        self.interpolation = inter("RandomPerspective", interpolation)

    def apply(self, image: Any) -> Any:
        """Tilt one image, or leave it."""
        random = stream()
        if random.random() >= self.prob:
            return image
        height, width = size_of(image)
        corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], float)
        inward = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
        reach = self.distortion_scale * np.array([width, height]) / 2
        ends = corners + inward * random.uniform(0, 1, (4, 2)) * reach
        return tilt(image, perspective(corners, ends), self.interpolation, "RandomPerspective")


class RandomResize(ImageTransform):
    """Bring an image to a size with a random interpolation.

    Parameters
    ----------
    size : int or (int, int)
        As in `Resize`.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        height_width("RandomResize", size)
        self.size = size

    def apply(self, image: Any) -> Any:
        """Resize one image."""
        kinds = (Inter.NEAREST, Inter.LINEAR, Inter.CUBIC, Inter.AREA)
        return Resize(self.size, kinds[int(stream().integers(len(kinds)))]).apply(image)


def around(where: str, name: str, value: Any) -> tuple[float, float]:
    """Limits from one number v (-v..v) or two."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"{where}: {name} must not be negative, it is {value}.")
        return -float(value), float(value)
    return interval(where, name, value)


def _pairs(where: str, name: str, value: Any, limit: float) -> list[tuple[float, float]]:
    given = list(value)
    if len(given) == 2:
        given += [0, 0]
    if len(given) != 4:
        raise ValueError(f"{where}: {name} must be 2 or 4 numbers, it is {value!r}.")
    return [interval(where, name, tuple(given[at : at + 2]), -limit, limit) for at in (0, 2)]
