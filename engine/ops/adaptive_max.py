"""Maxima of areas that together cover the input, and where they stand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtype import int64
from ..shape import Aval, ShapeError
from ..tensor import Tensor
from .adaptive_pool import OutputSize, areas, output_sizes
from .cast import TensorLike, as_tensor
from .expansion import expanded
from .plane_indexing import plane_add
from .pool import REASON, unbatched
from .registry import Call, Composite, GradContext, Grads, Host, checked, op
from .sliding import Sizes


def _rule(op_name: str) -> Callable[..., Any]:
    def infer(input: Aval, output_size: Sizes, return_indices: bool = True) -> Any:
        for size in (*input.shape[2:], *output_size):
            if not isinstance(size, int):
                raise ShapeError(f"{op_name}: the axes after the first two need known sizes.")
        out = Aval((*input.shape[:2], *output_size), input.dtype)
        return (out, Aval(out.shape, int64)) if return_indices else out

    return infer


def first_maximum(window: np.ndarray, axes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximum over the last axes and its place among them; NaN wins."""
    lead = window.ndim - axes
    flat = window.reshape(*window.shape[:lead], math.prod(window.shape[lead:]))
    at = flat.argmax(-1)
    return np.take_along_axis(flat, at[..., None], -1)[..., 0], at


def place_in_plane(at: np.ndarray, window: Sizes, begin: Sizes, plane: Sizes) -> np.ndarray:
    """Turn places in a window that begins somewhere into places in the whole plane."""
    places = np.unravel_index(at, window)
    moved = tuple(p + b for p, b in zip(places, begin, strict=True))
    return np.ravel_multi_index(moved, plane)


def _kernel(input: np.ndarray, output_size: Sizes) -> tuple[np.ndarray, np.ndarray]:
    plane = input.shape[2:]
    best = np.empty((*input.shape[:2], *output_size), input.dtype)
    indices = np.empty(best.shape, np.int64)
    by_axis = [list(areas(size, count)) for size, count in zip(plane, output_size, strict=True)]
    for place in itertools.product(*(range(count) for count in output_size)):
        area = tuple(by_axis[axis][number] for axis, number in enumerate(place))
        window = input[(..., *area)]
        here = (slice(None), slice(None), *place)
        best[here], at = first_maximum(window, len(plane))
        begin = tuple(part.start for part in area)
        indices[here] = place_in_plane(at, window.shape[2:], begin, plane)
    return best, indices


def _grad(ctx: GradContext) -> Grads:
    if ctx.douts[0] is None:
        return (None,)
    return (plane_add(ctx.dout, ctx.outputs[1], tuple(ctx.inputs[0].shape[2:])),)


@op(
    infer=_rule("adaptive_max_pool"),
    kernel=_kernel,
    grad=_grad,
    lowering=Host(REASON),
    category="gradient",
    inputs=("input",),
)
def adaptive_maximum(input: Tensor, output_size: Sizes) -> Call:
    """Return the maxima of areas and where in their planes they stand.

    Parameters
    ----------
    input : Tensor
        ``[n, c, *sizes]``.
    output_size : tuple of int
        How many areas there are along each axis.

    Returns
    -------
    tuple of Tensor
        Maxima and Int64 places, ``[n, c, *output_size]``.
    """
    return (input,), {"output_size": output_size}


def _expand(input: Tensor, output_size: Sizes, return_indices: bool) -> Any:
    found = adaptive_maximum(input, output_size)
    return found if return_indices else found[0]


def _prepare(
    op_name: str, axes: int, input: TensorLike, output_size: Any, return_indices: bool
) -> Call:
    x = as_tensor(input)
    sizes = output_sizes(op_name, output_size, x, axes)
    attrs = {"output_size": sizes, "return_indices": bool(return_indices)}
    return checked(_rule(op_name), (x,), attrs)


@op(
    infer=_rule("adaptive_max_pool1d"),
    kernel=expanded(_expand),
    lowering=Composite(_expand),
    category="nn",
    inputs=("input",),
    primitive="AdaptiveMaxPool1D",
    fast=unbatched(1),
)
def adaptive_max_pool1d(
    input: TensorLike, output_size: OutputSize, return_indices: bool = False
) -> Call:
    """Apply max pooling with a given output size to sequences (adaptive pooling).

    Parameters
    ----------
    input : Tensor
        ``[n, c, length]`` or ``[c, length]``.
    output_size : int
        The output's length.
    return_indices : bool
        Whether to return also where in its sequence each maximum stands (Int64).

    Returns
    -------
    Tensor or tuple of Tensor
        ``[n, c, output_size]``.

    Raises
    ------
    ValueError
        If the size is not positive.
    """
    return _prepare("adaptive_max_pool1d", 1, input, output_size, return_indices)


@op(
    infer=_rule("adaptive_max_pool2d"),
    kernel=expanded(_expand),
    lowering=Composite(_expand),
    category="nn",
    inputs=("input",),
    primitive="AdaptiveMaxPool2D",
    fast=unbatched(2),
)
def adaptive_max_pool2d(
    input: TensorLike, output_size: OutputSize, return_indices: bool = False
) -> Call:
    """Apply max pooling with a given output size to images (adaptive pooling).

    Parameters
    ----------
    input : Tensor
        ``[n, c, h, w]`` or ``[c, h, w]``.
    output_size : int or tuple of int
        The output's rows and columns; None keeps the input's.
    return_indices : bool
        Whether to return also where in its plane each maximum stands (Int64).

    Returns
    -------
    Tensor or tuple of Tensor
        ``[n, c, *output_size]``.

    Raises
    ------
    ValueError
        If a size is not positive.
    """
    return _prepare("adaptive_max_pool2d", 2, input, output_size, return_indices)


@op(
    infer=_rule("adaptive_max_pool3d"),
    kernel=expanded(_expand),
    lowering=Composite(_expand),
    category="nn",
    inputs=("input",),
    primitive="AdaptiveMaxPool3D",
    fast=unbatched(3),
)
def adaptive_max_pool3d(
    input: TensorLike, output_size: OutputSize, return_indices: bool = False
) -> Call:
    """Apply max pooling with a given output size to volumes (adaptive pooling).

    Parameters
    ----------
    input : Tensor
        ``[n, c, d, h, w]`` or ``[c, d, h, w]``.
    output_size : int or tuple of int
        The output's depth, rows and columns; None keeps the input's.
    return_indices : bool
        Whether to return also where in its volume each maximum stands (Int64).

    Returns
    -------
    Tensor or tuple of Tensor
        ``[n, c, *output_size]``.

    Raises
    ------
    ValueError
        If a size is not positive.
    """
    return _prepare("adaptive_max_pool3d", 3, input, output_size, return_indices)
