"""Images and signals in another size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..shape import Dim, ShapeError, SymDim, shape_text
from ..tensor import Tensor
from .cast import TensorLike, as_float, as_tensor
from .declarations import composite
from .registry import Call
from .resampling import resample
from .rules import require_ndim

KINDS = {
    "nearest": ("nearest", (3, 4, 5)), "nearest-exact": ("nearest", (3, 4, 5)),
    "linear": ("linear", (3,)), "bilinear": ("linear", (4,)), "trilinear": ("linear", (5,)),
    "bicubic": ("cubic", (4,)), "area": ("area", (3, 4, 5)),
}  # fmt: skip
"""For each mode how an axis is read, and how many axes the input may have."""


def _resized(
    input: Tensor, sizes: tuple[int, ...], kind: str, how: str, scales: tuple[Any, ...]
) -> Tensor:
    x = input
    for axis, (size, scale) in enumerate(zip(sizes, scales, strict=True), 2):
        if x.shape[axis] != size or scale is not None:
            x = resample(x, axis, size, kind, how, scale)
    return x


def _per_axis(name: str, what: str, value: Any, count: int) -> tuple[Any, ...]:
    values = (value,) * count if isinstance(value, int | float) else tuple(value)
    if len(values) != count:
        raise ShapeError(
            f"{name}: {what} {value} must be one number or one for each of {count} axes."
        )
    return values


def _scaled(name: str, size: Dim, factor: float) -> int:
    if isinstance(size, SymDim):
        raise ShapeError(
            f"{name}: size {size} is not known yet, so nothing can be scaled; give size instead."
        )
    found = int(size * factor)
    if found < 1:
        raise ShapeError(f"{name}: scale_factor {factor} leaves nothing of size {size}.")
    return found


@composite(_resized, category="nn", inputs=("input",), primitive="Interpolate")
def interpolate(
    input: TensorLike,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Call:
    """Resize images, signals or volumes by interpolation.

    Parameters
    ----------
    input : Tensor
        ``[n, c, w]``, ``[n, c, h, w]`` or ``[n, c, d, h, w]``, a float type.
    size : int or tuple of int, optional
        The new sizes of the axes after the channels.
    scale_factor : float or tuple of float, optional
        What the sizes are multiplied by (and rounded down), in the place of ``size``.
    mode : {"nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact"}
        How pixels are read: the nearest, straight lines between neighbours (of 3, 4 and 5 axes
        by its own name each), cubic convolution (4 axes), or the mean of what an output covers.
    align_corners : bool, optional
        For lines and cubics: whether the centres of the outer pixels stay where they are, else
        the image's edges do.
    recompute_scale_factor : bool, optional
        Whether pixels lie where the rounded sizes put them, else where ``scale_factor`` does.

    Returns
    -------
    Tensor
        The input's axes with the new sizes.

    Raises
    ------
    ValueError
        If there is no such mode for so many axes, or not one of ``size`` and ``scale_factor`` is
        given.

    References
    ----------
    Keys, Cubic Convolution Interpolation for Digital Image Processing, 1981.
    """
    x = as_float(input)
    ndim = len(x.shape)
    kind, allowed = KINDS.get(mode, ("", ()))
    if ndim not in allowed:
        known = ", ".join(repr(name) for name, (_, axes) in KINDS.items() if ndim in axes)
        raise ValueError(
            f"interpolate: mode {mode!r} does not fit input {shape_text(x.shape)}; of {ndim} axes"
            f" there is {known or 'none'}."
        )
    if align_corners is not None and kind not in ("linear", "cubic"):
        raise ValueError(f"interpolate: align_corners has no meaning for mode {mode!r}.")
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor.")
    count = ndim - 2
    scales: tuple[Any, ...] = (None,) * count
    if size is not None:
        sizes = tuple(int(n) for n in _per_axis("interpolate", "size", size, count))
    else:
        factors = _per_axis("interpolate", "scale_factor", scale_factor, count)
        pairs = zip(x.shape[2:], factors, strict=True)
        sizes = tuple(_scaled("interpolate", n, factor) for n, factor in pairs)
        if not recompute_scale_factor and kind != "area":
            scales = tuple(1.0 / factor for factor in factors)
    return (x,), {"sizes": sizes, "kind": kind, "how": _how(mode, align_corners), "scales": scales}


def _how(mode: str, align_corners: bool | None) -> str:
    if mode == "nearest":
        return "asymmetric"
    return "corners" if align_corners else "pixel"


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Bring images to another size: ``interpolate`` by MindSpore's other name.

    Parameters
    ----------
    input : Tensor
        ``[n, c, w]``, ``[n, c, h, w]`` or ``[n, c, d, h, w]``, a float type.
    size : int or tuple of int, optional
        The new sizes of the axes after the channels.
    scale_factor : float or tuple of float, optional
        What the sizes are multiplied by, in the place of ``size``.
    mode : str
        How pixels are read, as of ``interpolate``.
    align_corners : bool, optional
        Whether the centres of the outer pixels stay where they are.
    recompute_scale_factor : bool, optional
        Whether pixels lie where the rounded sizes put them, else where ``scale_factor`` does.

    Returns
    -------
    Tensor
        The input's axes with the new sizes.
    """
    return interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


def _resize_call(name: str, x: Tensor, size: Any, kind: str, how: str) -> Call:
    require_ndim(name, "input", x.aval, 4)
    sizes = tuple(int(n) for n in _per_axis(name, "size", size, 2))
    if min(sizes) < 1:
        raise ShapeError(f"{name}: size must be positive, it is {sizes}.")
    return (x,), {"sizes": sizes, "kind": kind, "how": how, "scales": (None, None)}


def _grid(name: str, align_corners: bool, half_pixel_centers: bool) -> str:
    if align_corners and half_pixel_centers:
        raise ValueError(f"{name}: align_corners and half_pixel_centers exclude each other.")
    return "corners" if align_corners else "pixel" if half_pixel_centers else "asymmetric"


@composite(_resized, category="nn", inputs=("input",), primitive="ResizeNearestNeighbor")
def resize_nearest_neighbor(
    input: TensorLike,
    size: int | Sequence[int],
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Call:
    """Resize images by nearest-neighbour interpolation.

    Parameters
    ----------
    input : Tensor
        ``[n, c, h, w]``.
    size : int or tuple of int
        The new height and width.
    align_corners : bool
        Whether the centres of the outer pixels stay where they are.
    half_pixel_centers : bool
        Whether the image's edges stay; else the first pixel's corner does.

    Returns
    -------
    Tensor
        ``[n, c, *size]``.

    Raises
    ------
    ValueError
        If the input has not four axes.
    """
    how = _grid("resize_nearest_neighbor", align_corners, half_pixel_centers)
    return _resize_call("resize_nearest_neighbor", as_tensor(input), size, "nearest", how)


@composite(_resized, category="nn", inputs=("input",), primitive="ResizeBilinearV2")
def resize_bilinear(
    input: TensorLike,
    size: int | Sequence[int],
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Call:
    """Resize images by bilinear interpolation.

    Parameters
    ----------
    input : Tensor
        ``[n, c, h, w]``; integers become ``Float32``.
    size : int or tuple of int
        The new height and width.
    align_corners : bool
        Whether the centres of the outer pixels stay where they are.
    half_pixel_centers : bool
        Whether the image's edges stay; else the first pixel's corner does.

    Returns
    -------
    Tensor
        ``[n, c, *size]``.

    Raises
    ------
    ValueError
        If the input has not four axes.
    """
    how = _grid("resize_bilinear", align_corners, half_pixel_centers)
    return _resize_call("resize_bilinear", as_float(input), size, "linear", how)


@composite(_resized, category="nn", inputs=("input",), primitive="ResizeBicubic")
def resize_bicubic(
    input: TensorLike,
    size: int | Sequence[int],
    align_corners: bool = False,
    half_pixel_centers: bool = False,
) -> Call:
    """Resize images by bicubic interpolation.

    Parameters
    ----------
    input : Tensor
        ``[n, c, h, w]``; integers become ``Float32``.
    size : int or tuple of int
        The new height and width.
    align_corners : bool
        Whether the centres of the outer pixels stay where they are.
    half_pixel_centers : bool
        Whether the image's edges stay; else the first pixel's corner does.

    Returns
    -------
    Tensor
        ``[n, c, *size]``.

    Raises
    ------
    ValueError
        If the input has not four axes.

    References
    ----------
    Keys, Cubic Convolution Interpolation for Digital Image Processing, 1981.
    """
    how = _grid("resize_bicubic", align_corners, half_pixel_centers)
    return _resize_call("resize_bicubic", as_float(input), size, "cubic", how)
