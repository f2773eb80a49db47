"""Transforms that move pixels: sizes, crops, borders, flips, patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .images import (
    ImageTransform,
    border,
    borders,
    fill,
    filter_of,
    height_width,
    inter,
    is_pillow,
    on_array,
    resampled,
    size_of,
)
from .options import Border, Inter, SliceMode


def resize(image: Any, size: tuple[int, int], interpolation: Inter) -> Any:
    """The image in this height and width."""
    how = filter_of(interpolation)
    return resampled(image, lambda pillow: pillow.resize((size[1], size[0]), how))


def crop(image: Any, top: int, left: int, size: tuple[int, int], where: str) -> Any:
    """A part of the image; ValueError where it reaches beyond."""
    height, width = size_of(image)
    if top < 0 or left < 0 or top + size[0] > height or left + size[1] > width:
        raise ValueError(
            f"{where}: {size[0]}×{size[1]} from row {top}, column {left} reaches beyond the image"
            f" of {height}×{width}."
        )
    if is_pillow(image):
        return image.crop((left, top, left + size[1], top + size[0]))
    return np.array(image[top : top + size[0], left : left + size[1]])


def pad(
    image: Any, sides: tuple[int, int, int, int], value: tuple[int, ...], mode: Border, where: str
) -> Any:
    """The image with pixels added left, top, right and bottom."""
    left, top, right, bottom = sides
    if not any(sides):
        return image

    def padded(array: np.ndarray) -> np.ndarray:
        around = [(top, bottom), (left, right)] + [(0, 0)] * (array.ndim - 2)
        if mode is not Border.CONSTANT:
            if mode is Border.REFLECT and (
                max(top, bottom) >= array.shape[0] or max(left, right) >= array.shape[1]
            ):
                raise ValueError(
                    f"{where}: an image of {array.shape[0]}×{array.shape[1]} cannot be reflected"
                    f" over {max(sides)} pixels."
                )
            return np.pad(array, around, mode.value)
        result = np.empty(
            (array.shape[0] + top + bottom, array.shape[1] + left + right, *array.shape[2:]),
            array.dtype,
        )
        result[...] = fill_for(array, value)
        result[top : top + array.shape[0], left : left + array.shape[1]] = array
        return result

    return on_array(image, padded)


def fill_for(array: np.ndarray, value: tuple[int, ...]) -> Any:
    """One value for all channels, or one each where there are three (transparency stays full)."""
    if array.ndim == 2 or len(value) == 1:
        return value[0]
    if array.shape[2] == 4 and len(value) == 3:
        return (*value, 255)
    return value if array.shape[2] == len(value) else value[0]


class Resize(ImageTransform):
    """Bring an image to another size.

    Parameters
    ----------
    size : int or (int, int)
        Height and width; one int is the shorter side, and the other keeps its proportion.
    interpolation : Inter
        How new pixels are computed.
    """

    def __init__(self, size: int | Sequence[int], interpolation: Inter = Inter.LINEAR) -> None:
        height_width("Resize", size)
        self.size = size if isinstance(size, int) else tuple(size)
        self.interpolation = inter("Resize", interpolation)

    def apply(self, image: Any) -> Any:
        """Resize one image."""
        return resize(image, self._goal(*size_of(image)), self.interpolation)

    def _goal(self, height: int, width: int) -> tuple[int, int]:
        if not isinstance(self.size, int):
            return height_width("Resize", self.size)
        short = min(height, width)
        return max(1, self.size * height // short), max(1, self.size * width // short)


class CenterCrop(ImageTransform):
    """Take the middle of an image; a smaller one is padded with zeros.

    Parameters
    ----------
    size : int or (int, int)
        Height and width.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = height_width("CenterCrop", size)

    def apply(self, image: Any) -> Any:
        """Crop one image."""
        height, width = size_of(image)
        lack = [max(0, self.size[0] - height), max(0, self.size[1] - width)]
        sides = (lack[1] // 2, lack[0] // 2, lack[1] - lack[1] // 2, lack[0] - lack[0] // 2)
        image = pad(image, sides, (0,), Border.CONSTANT, "CenterCrop")
        height, width = size_of(image)
        top, left = (height - self.size[0]) // 2, (width - self.size[1]) // 2
        return crop(image, top, left, self.size, "CenterCrop")


class Crop(ImageTransform):
    """Take a part of an image.

    Parameters
    ----------
    coordinates : (int, int)
        Row and column of its upper left corner.
    size : int or (int, int)
        Height and width.

    Raises
    ------
    ValueError
        If, when called, the part reaches beyond the image.
    """

    def __init__(self, coordinates: Sequence[int], size: int | Sequence[int]) -> None:
        if len(coordinates) != 2 or min(coordinates) < 0:
            raise ValueError(f"Crop: coordinates must be (row, column), they are {coordinates!r}.")
        self.coordinates = int(coordinates[0]), int(coordinates[1])
        self.size = height_width("Crop", size)

    def apply(self, image: Any) -> Any:
        """Crop one image."""
        return crop(image, *self.coordinates, self.size, "Crop")


class ResizedCrop(ImageTransform):
    """Take a part of an image and bring it to another size.

    Parameters
    ----------
    top, left : int
        Row and column of the part's upper left corner.
    height, width : int
        Its size.
    size : int or (int, int)
        Height and width of the result.
    interpolation : Inter
        How new pixels are computed.
    """

    def __init__(
        self,
        top: int,
        left: int,
        height: int,
        width: int,
        size: int | Sequence[int],
        interpolation: Inter = Inter.BILINEAR,
    ) -> None:
        self.corner, self.part = (top, left), height_width("ResizedCrop", (height, width))
        self.size = height_width("ResizedCrop", size)
        self.interpolation = inter("ResizedCrop", interpolation)

    def apply(self, image: Any) -> Any:
        """Crop and resize one image."""
        part = crop(image, *self.corner, self.part, "ResizedCrop")
        return resize(part, self.size, self.interpolation)


class Pad(ImageTransform):
    """Add pixels around an image.

    Parameters
    ----------
    padding : int, (int, int) or (int, int, int, int)
        Pixels on each side; left and right, top and bottom; or left, top, right, bottom.
    fill_value : int or (int, int, int)
        What they hold where the border is constant, in 0..255.
    padding_mode : Border
        What lies around the image.
    """

    def __init__(
        self, padding: Any, fill_value: Any = 0, padding_mode: Border = Border.CONSTANT
    ) -> None:
        self.padding = borders("Pad", padding)
        self.fill_value = fill("Pad", fill_value)
        self.padding_mode = border("Pad", padding_mode)

    def apply(self, image: Any) -> Any:
        """Pad one image."""
        return pad(image, self.padding, self.fill_value, self.padding_mode, "Pad")


class PadToSize(ImageTransform):
    """Add pixels around an image until it has a size.

    Parameters
    ----------
    size : int or (int, int)
        Height and width of the result.
    offset : int or (int, int), optional
        Pixels added at the top and at the left; by default the image is in the middle.
    fill_value : int or (int, int, int)
        What they hold where the border is constant.
    padding_mode : Border
        What lies around the image.

    Raises
    ------
    ValueError
        If, when called, the image and its offset do not fit.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        offset: int | Sequence[int] | None = None,
        fill_value: Any = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        self.size = height_width("PadToSize", size)
        self.offset = (offset, offset) if isinstance(offset, int) else offset
        self.fill_value = fill("PadToSize", fill_value)
        self.padding_mode = border("PadToSize", padding_mode)

    def apply(self, image: Any) -> Any:
        """Pad one image."""
        height, width = size_of(image)
        lack = self.size[0] - height, self.size[1] - width
        top, left = self.offset or (lack[0] // 2, lack[1] // 2)
        sides = (left, top, lack[1] - left, lack[0] - top)
        if min(sides) < 0:
            raise ValueError(
                f"PadToSize: an image of {height}×{width} does not fit into"
                f" {self.size[0]}×{self.size[1]}."
            )
        return pad(image, sides, self.fill_value, self.padding_mode, "PadToSize")


class HorizontalFlip(ImageTransform):
    """Swap left and right."""

    def apply(self, image: Any) -> Any:
        """Flip one image."""
        return on_array(image, lambda array: array[:, ::-1])


class VerticalFlip(ImageTransform):
    """Swap top and bottom."""

    def apply(self, image: Any) -> Any:
        """Flip one image."""
        return on_array(image, lambda array: array[::-1])


class FiveCrop(ImageTransform):
    """The four corners and the middle of an image, five results.

    Parameters
    ----------
    size : int or (int, int)
        Height and width of each.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = height_width(type(self).__name__, size)

    def apply(self, image: Any) -> tuple[Any, ...]:
        """Upper left, upper right, lower left, lower right, middle."""
        (height, width), (h, w), where = size_of(image), self.size, type(self).__name__
        corners = [(0, 0), (0, width - w), (height - h, 0), (height - h, width - w)]
        corners.append(((height - h) // 2, (width - w) // 2))
        return tuple(crop(image, top, left, self.size, where) for top, left in corners)


class TenCrop(FiveCrop):
    """`FiveCrop` of an image and of its mirror image, ten results.

    Parameters
    ----------
    size : int or (int, int)
        Height and width of each.
    use_vertical_flip : bool
        Whether the mirror swaps top and bottom instead of left and right.
    """

    def __init__(self, size: int | Sequence[int], use_vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.use_vertical_flip = bool(use_vertical_flip)

    def apply(self, image: Any) -> tuple[Any, ...]:
        """The five crops of both."""
        mirror = VerticalFlip() if self.use_vertical_flip else HorizontalFlip()
        return (*super().apply(image), *super().apply(mirror.apply(image)))


class SlicePatches(ImageTransform):
    """Cut an image into equal patches, one result each, row by row.

    Parameters
    ----------
    num_height, num_width : int
        How many patches down and across.
    slice_mode : SliceMode
        Whether an image that does not divide evenly is padded, or its rest dropped.
    fill_value : int
        What padding holds.
    """

    def __init__(
        self,
        num_height: int = 1,
        num_width: int = 1,
        slice_mode: SliceMode = SliceMode.PAD,
        fill_value: int = 0,
    ) -> None:
        self.counts = height_width("SlicePatches", (num_height, num_width))
        self.slice_mode = SliceMode(slice_mode)
        self.fill_value = fill("SlicePatches", fill_value)

    def apply(self, image: Any) -> tuple[Any, ...]:
        """The patches."""
        (height, width), (down, across) = size_of(image), self.counts
        if self.slice_mode is SliceMode.PAD:
            sides = (0, 0, -width % across, -height % down)
            image = pad(image, sides, self.fill_value, Border.CONSTANT, "SlicePatches")
            height, width = size_of(image)
        size = height // down, width // across
        if 0 in size:
            raise ValueError(
                f"SlicePatches: {height}×{width} pixels make no {down}×{across} parts."
            )
        return tuple(
            crop(image, row * size[0], column * size[1], size, "SlicePatches")
            for row in range(down)
            for column in range(across)
        )
