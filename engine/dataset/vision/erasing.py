"""Rectangles of an image replaced by something else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..randomness import stream
from ..transforms.base import Transform, probability
from .geometry import fill_for
from .images import ImageTransform, fill, height_width, interval, number, on_array


class Erase(ImageTransform):
    """Fill a rectangle of an image H×W×C.

    Parameters
    ----------
    top, left : int
        Row and column of its upper left corner.
    height, width : int
        Its size; what reaches beyond the image is left out.
    value : int or (int, int, int)
        What its pixels hold.
    inplace : bool
        Whether the given array is changed instead of a copy.
    """

    def __init__(
        self,
        top: int,
        left: int,
        height: int,
        width: int,
        value: Any = 0,
        inplace: bool = False,
    ) -> None:
        if min(top, left) < 0:
            raise ValueError(f"Erase: the corner is outside, row {top}, column {left}.")
        self.corner, self.part = (top, left), height_width("Erase", (height, width))
        self.value, self.inplace = fill("Erase", value), bool(inplace)

    def apply(self, image: Any) -> Any:
        """Erase from one image."""

        def erased(array: np.ndarray) -> np.ndarray:
            result = array if self.inplace else array.copy()
            (top, left), (height, width) = self.corner, self.part
            result[top : top + height, left : left + width] = fill_for(result, self.value)
            return result

        return on_array(image, erased)


class RandomErasing(Transform):
    """Fill a random rectangle of an image C×H×W by chance (Zhong et al., 2017).

    Parameters
    ----------
    prob : float
        The chance, in 0..1.
    scale : (float, float)
        Limits of the rectangle's share of the area.
    ratio : (float, float)
        Limits of its width divided by its height.
    value : float, (float, float, float) or "random"
        What its pixels hold; "random" draws each from a normal distribution.
    inplace : bool
        Whether the given array is changed instead of a copy.
    max_attempts : int
        How often a rectangle is drawn that does not fit, before the image is left as it is.
    """

    def __init__(
        self,
        prob: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
        max_attempts: int = 10,
    ) -> None:
        where = "RandomErasing"
        self.prob = probability(where, prob)
        self.scale = interval(where, "scale", scale, 0, 1)
        self.ratio = interval(where, "ratio", ratio, 1e-9)
        if isinstance(value, str) and value != "random":
            raise ValueError(f"{where}: value must be numbers or 'random', it is {value!r}.")
        self.value, self.inplace = value, bool(inplace)
        self.max_attempts = int(number(where, "max_attempts", max_attempts, 1))

    def __call__(self, image: Any) -> np.ndarray:
        """Erase from one image C×H×W."""
        if not isinstance(image, np.ndarray) or image.ndim != 3:
            raise TypeError(
                "RandomErasing: needs an array C×H×W; use it after HWC2CHW or ToTensor."
            )
        random = stream()
        if random.random() >= self.prob:
            return image
        channels, height, width = image.shape
        for _ in range(self.max_attempts):
            area = height * width * random.uniform(*self.scale)
            ratio = math.exp(random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            h, w = round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio))
            if 0 < h < height and 0 < w < width:
                top, left = random.integers(height - h + 1), random.integers(width - w + 1)
                result = image if self.inplace else image.copy()
                value: Any = self.value
                if isinstance(value, str):  # "random"
                    value = random.standard_normal((channels, h, w))
                elif not isinstance(value, int | float):
                    value = np.asarray(value).reshape(-1, 1, 1)
                result[:, top : top + h, left : left + w] = value
                return result
        return image
