"""Images read at places that a grid of coordinates names, and the grids of affine maps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import int64
from ..shape import ShapeError, comparable, shape_text
from ..tensor import Tensor
from . import clipping, creation, linalg, logic, math, rounding
from .array import expand_dims, reshape, transpose
from .cast import TensorLike, as_float, as_float_pair, cast_to
from .declarations import composite
from .gathering import select_ext
from .index import index
from .indexed_put import count_along
from .literals import constant
from .registry import Call
from .resampling import CUBIC
from .rules import require_ndim

MODES = ("bilinear", "nearest", "bicubic")
PADDING_MODES = ("zeros", "border", "reflection")


def _in_pixels(coordinate: Tensor, size: int, align_corners: bool) -> Tensor:
    """Return a coordinate in -1..1 in pixels, counted from the first one's centre."""
    if align_corners:
        return (coordinate + 1.0) * ((size - 1) / 2)
    return ((coordinate + 1.0) * size - 1.0) * 0.5


def _reflected(place: Tensor, low: float, high: float) -> Tensor:
    """Return places mirrored at two borders until they lie between them."""
    span = high - low
    if span <= 0:
        return place * 0.0
    distance = math.abs(place - low)
    turns = rounding.floor(distance / span)
    rest = distance - turns * span
    even = logic.equal(turns - rounding.floor(turns / 2.0) * 2.0, 0.0)
    return logic.select(even, rest, rest * -1.0 + span) + low


def _brought_in(place: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Return places outside the image where the padding mode puts them."""
    if padding_mode == "zeros":
        return place
    if padding_mode == "reflection":
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        place = _reflected(place, low, high)
    return clipping.clamp(place, 0.0, size - 1.0)


class _Image:
    """An image with its channels last, to be read at pixels."""

    def __init__(self, input: Tensor, batch: Tensor) -> None:
        self.sizes: Any = input.shape[2:]
        ndim = len(input.shape)
        self.pixels = transpose(input, (0, *range(2, ndim), 1))
        self.batch = batch

    def read(self, places: Sequence[Tensor]) -> Tensor:
        """Return the channels of whole-numbered places, zeros outside the image."""
        inside, positions = None, []
        for place, size in zip(places, self.sizes, strict=True):
            within = logic.logical_and(
                logic.greater_equal(place, 0.0), logic.less_equal(place, size - 1.0)
            )
            inside = within if inside is None else logic.logical_and(inside, within)
            # NaN is cast to a number outside any image, so the whole number is clamped as well.
            whole = cast_to(clipping.clamp(place, 0.0, size - 1.0), int64)
            positions.append(clipping.clamp(whole, 0, size - 1))
        layout = (*range(len(self.sizes) + 1), -1)
        found = index(self.pixels, [self.batch, *positions], layout)
        assert inside is not None
        return logic.select(expand_dims(inside, -1), found, creation.zeros_like(found))


def _cubic_weights(part: Tensor) -> list[Tensor]:
    """Return the weights of four neighbours, ``part`` behind the second (Keys, 1981)."""
    a = CUBIC

    def near(x: Tensor) -> Tensor:
        return ((x * (a + 2)) - (a + 3)) * x * x + 1.0

    def far(x: Tensor) -> Tensor:
        return ((x - 5.0) * x + 8.0) * x * a - 4 * a

    rest = part * -1.0 + 1.0
    return [far(part + 1.0), near(part), near(rest), far(rest + 1.0)]


def _product(weights: Sequence[Tensor]) -> Tensor:
    total = weights[0]
    for weight in weights[1:]:
        total = total * weight
    return total


def _grid_sample(
    input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool
) -> Tensor:
    sizes: Any = input.shape[2:]
    depth = len(sizes)
    places = [
        _in_pixels(select_ext(grid, -1, depth - 1 - axis), size, align_corners)
        for axis, size in enumerate(sizes)
    ]
    image = _Image(input, count_along(places[0], 0))

    def brought_in(tensors: Sequence[Tensor]) -> list[Tensor]:
        return [
            _brought_in(tensor, size, padding_mode, align_corners)
            for tensor, size in zip(tensors, sizes, strict=True)
        ]

    if mode == "nearest":
        total = image.read([rounding.round(place) for place in brought_in(places)])
    else:
        places = places if mode == "bicubic" else brought_in(places)
        firsts = [rounding.floor(place) for place in places]
        parts = [place - first for place, first in zip(places, firsts, strict=True)]
        if mode == "bicubic":
            steps, weights = range(-1, 3), [_cubic_weights(part) for part in parts]
        else:
            steps, weights = range(2), [[part * -1.0 + 1.0, part] for part in parts]
        total = None
        for choice in itertools.product(range(len(steps)), repeat=depth):
            taps = [first + float(steps[i]) for first, i in zip(firsts, choice, strict=True)]
            found = image.read(brought_in(taps) if mode == "bicubic" else taps)
            weight = _product([weights[axis][i] for axis, i in enumerate(choice)])
            part = found * expand_dims(weight, -1)
            total = part if total is None else total + part
        assert total is not None
    return transpose(total, (0, depth + 1, *range(1, depth + 1)))


@composite(_grid_sample, category="nn", inputs=("input", "grid"), primitive="GridSampler")
def grid_sample(
    input: TensorLike,
    grid: TensorLike,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Call:
    """Sample images or volumes at the coordinates of a grid, by interpolation.

    Parameters
    ----------
    input : Tensor
        ``[n, c, h, w]`` or ``[n, c, d, h, w]``, a float type.
    grid : Tensor
        ``[n, h', w', 2]`` or ``[n, d', h', w', 3]``: for each output the place, x first, where -1
        and 1 are the image's borders.
    mode : {"bilinear", "nearest", "bicubic"}
        How pixels are read; ``bicubic`` of images only.
    padding_mode : {"zeros", "border", "reflection"}
        What lies outside the image: zeros, its border's pixels, or the image mirrored.
    align_corners : bool
        Whether -1 and 1 are the centres of the outer pixels, else the image's edges.

    Returns
    -------
    Tensor
        ``[n, c, h', w']`` or ``[n, c, d', h', w']``.

    Raises
    ------
    ValueError
        If the shapes do not fit or there is no such mode.

    References
    ----------
    Jaderberg et al., Spatial Transformer Networks, 2015.
    """
    x, at = as_float_pair(input, grid)
    if mode not in MODES or (mode == "bicubic" and len(x.shape) == 5):
        raise ValueError(f"grid_sample: mode {mode!r} is none of {MODES} for {len(x.shape)} axes.")
    if padding_mode not in PADDING_MODES:
        raise ValueError(f"grid_sample: padding_mode must be one of {PADDING_MODES}.")
    ndim = len(x.shape)
    fits = ndim in (4, 5) and len(at.shape) == ndim and at.shape[-1] == ndim - 2
    if not fits or at.shape[0] != x.shape[0]:
        raise ShapeError(
            f"grid_sample: grid {shape_text(at.shape)} must be [n, h, w, 2] for an input"
            f" [n, c, h, w], or [n, d, h, w, 3]; input is {shape_text(x.shape)}."
        )
    if not all(isinstance(size, int) and size > 0 for size in x.shape[2:]):
        raise ShapeError(
            f"grid_sample: the image's sizes in {shape_text(x.shape)} must be known and positive."
        )
    attrs = {"mode": mode, "padding_mode": padding_mode, "align_corners": bool(align_corners)}
    return (x, at), attrs


def _base(size: int, align_corners: bool) -> np.ndarray:
    if align_corners:
        return np.linspace(-1.0, 1.0, size) if size > 1 else np.zeros(1)
    return (2 * np.arange(size) + 1) / size - 1


def _affine_grid(theta: Tensor, sizes: tuple[int, ...], align_corners: bool) -> Tensor:
    axes = [_base(size, align_corners) for size in sizes]
    grids = np.meshgrid(*axes, indexing="ij")[::-1]
    points = np.stack([*grids, np.ones(sizes)], -1).reshape(-1, len(sizes) + 1)
    base = constant(points.astype(theta.dtype.numpy))
    found = linalg.matmul(base, transpose(theta, (0, 2, 1)))
    return reshape(found, (theta.shape[0], *sizes, len(sizes)))


@composite(_affine_grid, category="nn", inputs=("theta",))
def affine_grid(theta: TensorLike, size: Sequence[int], align_corners: bool = False) -> Call:
    """Return the sampling grid, for ``grid_sample``, of affine transformations.

    Parameters
    ----------
    theta : Tensor
        ``[n, 2, 3]`` for images or ``[n, 3, 4]`` for volumes: one matrix an example.
    size : tuple of int
        Shape of the output: ``(n, c, h, w)`` or ``(n, c, d, h, w)``.
    align_corners : bool
        Whether -1 and 1 are the centres of the outer pixels, else the image's edges.

    Returns
    -------
    Tensor
        ``[n, h, w, 2]`` or ``[n, d, h, w, 3]``.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    References
    ----------
    Jaderberg et al., Spatial Transformer Networks, 2015.
    """
    matrix = as_float(theta)
    require_ndim("affine_grid", "theta", matrix.aval, 3)
    sizes = tuple(size)[2:]
    if tuple(matrix.shape[1:]) != (len(sizes), len(sizes) + 1) or len(sizes) not in (2, 3):
        raise ShapeError(
            f"affine_grid: theta {shape_text(matrix.shape)} must be [n, 2, 3] for a size of four"
            f" numbers or [n, 3, 4] for five; size is {tuple(size)}."
        )
    if comparable(matrix.shape[0]) and size[0] != matrix.shape[0]:
        raise ShapeError(f"affine_grid: size {tuple(size)} must begin with {matrix.shape[0]}.")
    attrs = {"sizes": tuple(int(n) for n in sizes), "align_corners": bool(align_corners)}
    return (matrix,), attrs
