"""Transforms that turn, shear and tilt images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .images import (
    ImageTransform,
    fill,
    inter,
    number,
    resampled,
    size_of,
    transform_filter,
)
from .options import Inter


def move(image: Any, inverse: np.ndarray, how: Inter, value: tuple[int, ...], where: str) -> Any:
    """The image whose pixel at (x, y, 1) is the old one at ``inverse @ (x, y, 1)``."""
    from PIL import Image

    chosen, data = transform_filter(how, where), tuple(inverse[:2].reshape(-1).tolist())

    def moved(pillow: Any) -> Any:
        filled = colour_for(pillow, value)
        method = Image.Transform.AFFINE
        return pillow.transform(pillow.size, method, data, chosen, fillcolor=filled)

    return resampled(image, moved)


def colour_for(pillow: Any, value: tuple[int, ...]) -> Any:
    """A fill value as a colour of that Pillow image."""
    bands = len(pillow.getbands())
    if bands == 1:
        return value[0]
    colour = value if len(value) == 3 else value * 3
    return (*colour, 255) if bands == 4 else colour[:bands]


def rotate(
    image: Any,
    degrees: float,
    how: Inter,
    expand: bool,
    center: Sequence[float] | None,
    value: tuple[int, ...],
    where: str,
) -> Any:
    """The image turned against the clock about its middle or another point (x, y)."""
    chosen = transform_filter(how, where)
    point = None if center is None else tuple(center)
    return resampled(
        image,
        lambda pillow: pillow.rotate(
            degrees, chosen, expand, point, fillcolor=colour_for(pillow, value)
        ),
    )


def affine_inverse(
    size: tuple[int, int],
    degrees: float,
    translate: tuple[float, float],
    scale: float,
    shear: tuple[float, float],
) -> np.ndarray:
    """3×3, from new places (x, y, 1) to old ones, of `Affine`'s motion."""
    x, y = size[1] / 2, size[0] / 2
    angle = math.radians(degrees)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    slant = np.array([[1, math.tan(math.radians(shear[0]))], [math.tan(math.radians(shear[1])), 1]])
    forward = np.eye(3)
    forward[:2, :2] = scale * turn @ slant
    forward[:2, 2] = np.array([x, y]) + translate - forward[:2, :2] @ [x, y]
    return np.linalg.inv(forward)


class Rotate(ImageTransform):
    """Turn an image against the clock.

    Parameters
    ----------
    degrees : int or float
        By how much.
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
        degrees: float,
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill_value: Any = 0,
    ) -> None:
        self.degrees = number("Rotate", "degrees", degrees, -math.inf)
        self.resample = inter("Rotate", resample)
        self.expand, self.center = bool(expand), center
        self.fill_value = fill("Rotate", fill_value)

    def apply(self, image: Any) -> Any:
        """Turn one image."""
        return rotate(
            image, self.degrees, self.resample, self.expand, self.center, self.fill_value, "Rotate"
        )


class Affine(ImageTransform):
    """Turn, shear, scale and shift an image about its middle.

    Parameters
    ----------
    degrees : float
        The turn with the clock, in -180..180.
    translate : (float, float)
        The shift right and down, as shares of width and height in -1..1.
    scale : float
        The factor, above zero.
    shear : float or (float, float)
        The slant along x and along y, in degrees.
    resample : Inter
        How new pixels are computed.
    fill_value : int or (int, int, int)
        What pixels from outside hold.

    Notes
    -----
    A point goes to ``scale R(degrees) [[1, tan a], [tan b, 1]] p + shift``, measured from the
    middle, with y down.
    """

    def __init__(
        self,
        degrees: float,
        translate: Sequence[float],
        scale: float,
        shear: float | Sequence[float],
        resample: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        self.degrees = number("Affine", "degrees", degrees, -180, 180)
        x, y = translate
        self.translate = number("Affine", "translate", x, -1, 1), number("Affine", "y", y, -1, 1)
        self.scale = number("Affine", "scale", scale, 1e-6)
        a, b = (shear, 0.0) if isinstance(shear, int | float) else shear
        self.shear = number("Affine", "shear", a, -89, 89), number("Affine", "shear", b, -89, 89)
        self.resample = inter("Affine", resample)
        self.fill_value = fill("Affine", fill_value)

    def apply(self, image: Any) -> Any:
        """Move one image."""
        size = size_of(image)
        shift = self.translate[0] * size[1], self.translate[1] * size[0]
        inverse = affine_inverse(size, self.degrees, shift, self.scale, self.shear)
        return move(image, inverse, self.resample, self.fill_value, "Affine")


class Perspective(ImageTransform):
    """Tilt an image so that four points go to four others.

    Parameters
    ----------
    start_points : list of (float, float)
        Four points (x, y) of the image.
    end_points : list of (float, float)
        Where they go.
    interpolation : Inter
        How new pixels are computed.

    Raises
    ------
    ValueError
        If there are not four points each, or three of them lie on a line.
    """

    def __init__(
        self, start_points: Any, end_points: Any, interpolation: Inter = Inter.BILINEAR
    ) -> None:
        self.coefficients = perspective(start_points, end_points)
        self.interpolation = inter("Perspective", interpolation)

    def apply(self, image: Any) -> Any:
        """Tilt one image."""
        return tilt(image, self.coefficients, self.interpolation, "Perspective")


def perspective(start_points: Any, end_points: Any) -> tuple[float, ...]:
    """Pillow's eight numbers, from new places to old ones, of the tilt.

    Notes
    -----
    x' = (a x + b y + c) / (g x + h y + 1), y' = (d x + e y + f) / (g x + h y + 1); Hartley and
    Zisserman, Multiple View Geometry in Computer Vision, section 4.1.
    """
    start, end = np.asarray(start_points, float), np.asarray(end_points, float)
    if start.shape != (4, 2) or end.shape != (4, 2):
        raise ValueError("Perspective: give four points (x, y) of the image and where each goes.")
    rows: list[list[float]] = []
    for (old_x, old_y), (x, y) in zip(start.tolist(), end.tolist(), strict=True):
        rows.append([x, y, 1, 0, 0, 0, -old_x * x, -old_x * y])
        rows.append([0, 0, 0, x, y, 1, -old_y * x, -old_y * y])
    try:
        return tuple(np.linalg.solve(np.array(rows), start.reshape(-1)).tolist())
    except np.linalg.LinAlgError as error:
        raise ValueError("Perspective: three of the four points lie on a line.") from error


def tilt(image: Any, coefficients: tuple[float, ...], how: Inter, where: str) -> Any:
    """The image tilted by those eight numbers; what comes from outside is zero."""
    from PIL import Image

    chosen = transform_filter(how, where)
    return resampled(
        image,
        lambda pillow: pillow.transform(
            pillow.size, Image.Transform.PERSPECTIVE, coefficients, chosen
        ),
    )
