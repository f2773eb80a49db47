"""Images as arrays and as Pillow's: checks, and passing from one to the other.

Arrays are H×W or H×W×C. A transform gives back the kind of image that it got. Pillow is imported
when an image is first worked on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..transforms.base import Transform
from .options import Border, Inter


class ImageTransform(Transform):
    """A step on one image; ``apply`` gets an array H×W(×C) or a Pillow image."""

    def __call__(self, image: Any) -> Any:
        """Apply the step to one image."""
        return self.apply(checked_image(image, type(self).__name__))

    def apply(self, image: Any) -> Any:
        """Apply the step to an image that was checked."""
        raise NotImplementedError


def is_pillow(image: Any) -> bool:
    """Whether it is one of Pillow's images."""
    return type(image).__module__.startswith("PIL.")


def checked_image(image: Any, where: str) -> Any:
    """The image; TypeError or ValueError where it is no Pillow image and no array H×W(×C)."""
    if is_pillow(image):
        return image
    if not isinstance(image, np.ndarray):
        raise TypeError(
            f"{where}: an image must be an array H×W×C or a Pillow image, not"
            f" {type(image).__name__}."
        )
    if image.ndim not in (2, 3):
        hint = " Decode it first (vision.Decode)." if image.ndim == 1 else ""
        raise ValueError(f"{where}: an image has axes H×W×C, this array {image.shape}.{hint}")
    if image.dtype.kind not in "biuf":
        raise TypeError(f"{where}: an image holds numbers, this array {image.dtype}.")
    if 0 in image.shape:
        raise ValueError(f"{where}: the image is empty, its shape is {image.shape}.")
    return image


def size_of(image: Any) -> tuple[int, int]:
    """Height and width."""
    if is_pillow(image):
        return image.height, image.width
    return image.shape[0], image.shape[1]


def as_array(image: Any) -> np.ndarray:
    """The image as an array."""
    return np.array(image) if is_pillow(image) else image


def as_pillow(array: np.ndarray, where: str) -> Any:
    """An array as a Pillow image; TypeError or ValueError where Pillow has no such image."""
    from PIL import Image

    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim == 3 and array.shape[2] not in (2, 3, 4):
        raise ValueError(f"{where}: an image has 1 to 4 channels, this has {array.shape[2]}.")
    if array.dtype == np.bool_:
        array = array.astype(np.uint8) * 255
    if array.dtype != np.uint8:
        raise TypeError(
            f"{where}: needs an image of uint8 in 0..255, this is {array.dtype}. Use it before"
            " Rescale, Normalize and ToTensor."
        )
    return Image.fromarray(np.ascontiguousarray(array))


def on_array(image: Any, function: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Apply a function of arrays to an image of either kind."""
    if not is_pillow(image):
        return np.ascontiguousarray(function(image))
    from PIL import Image

    return Image.fromarray(np.ascontiguousarray(function(np.array(image))))


def on_pillow(image: Any, function: Callable[[Any], Any], where: str) -> Any:
    """Apply a function of 8-bit Pillow images to an image of either kind."""
    if is_pillow(image):
        return function(image)
    made = np.array(function(as_pillow(image, where)))
    return made[:, :, None] if image.ndim == 3 and made.ndim == 2 else made


def resampled(image: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function that moves pixels; images other than uint8 go channel by channel as floats.

    They are computed in float32 and keep their element type; integers are rounded.
    """
    if is_pillow(image):
        return function(image)
    if image.dtype == np.uint8 and (image.ndim == 2 or image.shape[2] in (1, 3)):
        return on_pillow(image, function, "resample")
    from PIL import Image

    planes = image[:, :, None] if image.ndim == 2 else image
    channels = [
        np.array(function(Image.fromarray(np.ascontiguousarray(plane, np.float32))))
        for plane in np.moveaxis(planes, 2, 0)
    ]
    made = np.stack(channels, 2)
    if image.dtype.kind in "iub":
        if image.dtype.kind == "b":
            made = made > 0.5
        else:
            limits = np.iinfo(image.dtype)
            made = np.clip(np.rint(made), limits.min, limits.max)
    made = made.astype(image.dtype)
    return made[:, :, 0] if image.ndim == 2 else made


def filter_of(interpolation: Inter) -> Any:
    """Pillow's filter of that name."""
    from PIL import Image

    return {
        Inter.NEAREST: Image.Resampling.NEAREST,
        Inter.ANTIALIAS: Image.Resampling.LANCZOS,
        Inter.LINEAR: Image.Resampling.BILINEAR,
        Inter.CUBIC: Image.Resampling.BICUBIC,
        Inter.AREA: Image.Resampling.BOX,
        Inter.PILCUBIC: Image.Resampling.BICUBIC,
    }[Inter(interpolation)]


def transform_filter(interpolation: Inter, where: str) -> Any:
    """Pillow's filter for turning and shearing; ValueError where it has none of that kind."""
    if interpolation in (Inter.ANTIALIAS, Inter.AREA):
        raise ValueError(f"{where}: use Inter.NEAREST, LINEAR or CUBIC, not {interpolation.name}.")
    return filter_of(interpolation)


# what constructors take


def inter(where: str, value: Any) -> Inter:
    """An interpolation; TypeError where it is none."""
    if not isinstance(value, Inter):
        raise TypeError(f"{where}: interpolation must be an Inter, it is {value!r}.")
    return value


def border(where: str, value: Any) -> Border:
    """A kind of border; TypeError where it is none."""
    if not isinstance(value, Border):
        raise TypeError(f"{where}: padding_mode must be a Border, it is {value!r}.")
    return value


def height_width(where: str, size: Any) -> tuple[int, int]:
    """Height and width from one int or two; TypeError or ValueError where it is neither."""
    pair = (size, size) if isinstance(size, int) else tuple(size) if _is_list(size) else ()
    if len(pair) != 2 or not all(isinstance(n, int | np.integer) for n in pair):
        raise TypeError(f"{where}: size must be an int or (height, width), it is {size!r}.")
    if min(pair) < 1:
        raise ValueError(f"{where}: size must be positive, it is {size!r}.")
    return int(pair[0]), int(pair[1])


def interval(
    where: str, name: str, value: Any, low: float = -math.inf, high: float = math.inf
) -> tuple[float, float]:
    """Two rising numbers within limits; TypeError or ValueError where they are not."""
    if not _is_list(value) or len(value) != 2 or not all(_is_number(n) for n in value):
        raise TypeError(f"{where}: {name} must be two numbers (low, high), it is {value!r}.")
    first, last = float(value[0]), float(value[1])
    if not low <= first <= last <= high:
        raise ValueError(
            f"{where}: {name} must be (low, high) in {low:g}..{high:g}, it is {value!r}."
        )
    return first, last


def borders(where: str, padding: Any) -> tuple[int, int, int, int]:
    """Pixels left, top, right, bottom from one int, (left and right, top and bottom), or four."""
    given = (
        [padding] * 4 if isinstance(padding, int) else list(padding) if _is_list(padding) else []
    )
    if len(given) == 2:
        given = [given[0], given[1], given[0], given[1]]
    if len(given) != 4 or not all(isinstance(n, int | np.integer) for n in given):
        raise TypeError(f"{where}: padding must be 1, 2 or 4 ints, it is {padding!r}.")
    if min(given) < 0:
        raise ValueError(f"{where}: padding must not be negative, it is {padding!r}.")
    left, top, right, bottom = (int(n) for n in given)
    return left, top, right, bottom


def fill(where: str, value: Any) -> tuple[int, ...]:
    """What new pixels hold: one int in 0..255, or three."""
    given = (value,) if isinstance(value, int) else tuple(value) if _is_list(value) else ()
    if len(given) not in (1, 3) or not all(isinstance(n, int | np.integer) for n in given):
        raise TypeError(f"{where}: fill_value must be an int or three, it is {value!r}.")
    if min(given) < 0 or max(given) > 255:
        raise ValueError(f"{where}: fill_value must be in 0..255, it is {value!r}.")
    return tuple(int(n) for n in given)


def number(where: str, name: str, value: Any, low: float, high: float = math.inf) -> float:
    """A number within limits; TypeError or ValueError where it is none."""
    if not _is_number(value):
        raise TypeError(f"{where}: {name} must be a number, it is {value!r}.")
    if not low <= value <= high:
        raise ValueError(f"{where}: {name} must be in {low:g}..{high:g}, it is {value}.")
    return float(value)


def numbers(where: str, name: str, value: Any) -> np.ndarray:
    """A row of float32 numbers; TypeError where it is none."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or not len(value):
        raise TypeError(f"{where}: {name} must be a list of numbers, it is {value!r}.")
    return np.asarray(value, np.float32).reshape(-1)


def _is_list(value: Any) -> bool:
    return isinstance(value, tuple | list)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
