"""Fractional max pooling: windows whose steps differ, drawn at random."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import random as streams
from ..dtype import int64
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from .adaptive_max import first_maximum, place_in_plane
from .cast import TensorLike, as_float, cast_to
from .expansion import expanded
from .plane_indexing import plane_add
from .pool import REASON
from .random import uniform_by_key
from .registry import Call, Composite, GradContext, Grads, Host, checked, op
from .rules import require_float, require_ndim
from .sliding import Sizes, as_sizes


def _rule(op_name: str) -> Callable[..., Any]:
    def infer(
        input: Aval,
        samples: Aval,
        kernel: Sizes,
        output_size: Sizes,
        return_indices: bool = True,
    ) -> Any:
        require_float(op_name, "input", input)
        for axis, size in enumerate(input.shape[2:]):
            if not isinstance(size, int) or output_size[axis] + kernel[axis] - 1 > size:
                raise ShapeError(
                    f"{op_name}: {output_size[axis]} windows of {kernel[axis]} do not fit an axis"
                    f" of {size} elements; ask for fewer."
                )
        wanted = (*input.shape[:2], len(output_size))
        if samples.shape != wanted:
            raise ShapeError(
                f"{op_name}: _random_samples {shape_text(samples.shape)} must have the shape"
                f" {shape_text(wanted)}."
            )
        out = Aval((*input.shape[:2], *output_size), input.dtype)
        return (out, Aval(out.shape, int64)) if return_indices else out

    return infer


def _starts(size: int, count: int, kernel: int, sample: float) -> list[int]:
    """Return where windows begin along an axis; the last one ends with it."""
    if count == 1:
        return [size - kernel]
    step = (size - kernel) / (count - 1)
    first = [int((i + sample) * step) - int(sample * step) for i in range(count - 1)]
    return [*first, size - kernel]


def _kernel(
    input: np.ndarray, samples: np.ndarray, kernel: Sizes, output_size: Sizes
) -> tuple[np.ndarray, np.ndarray]:
    plane, axes = input.shape[2:], len(kernel)
    # Samples are given for columns first in images, but for depth first in volumes.
    order = range(axes)[::-1] if axes == 2 else range(axes)
    best = np.empty((*input.shape[:2], *output_size), input.dtype)
    indices = np.empty(best.shape, np.int64)
    for at in np.ndindex(*input.shape[:2]):
        starts = [
            _starts(plane[axis], output_size[axis], kernel[axis], float(samples[(*at, sample)]))
            for axis, sample in enumerate(order)
        ]
        for place in itertools.product(*(range(count) for count in output_size)):
            begin = tuple(starts[axis][number] for axis, number in enumerate(place))
            cut = tuple(slice(b, b + k) for b, k in zip(begin, kernel, strict=True))
            best[(*at, *place)], found = first_maximum(input[(*at, *cut)], axes)
            indices[(*at, *place)] = place_in_plane(found, kernel, begin, plane)
    return best, indices


def _grad(ctx: GradContext) -> Grads:
    if ctx.douts[0] is None:
        return None, None
    return plane_add(ctx.dout, ctx.outputs[1], tuple(ctx.inputs[0].shape[2:])), None


@op(
    infer=_rule("fractional_max_pool"),
    kernel=_kernel,
    grad=_grad,
    lowering=Host(REASON),
    category="gradient",
    inputs=("input", "samples"),
)
def fractional_maximum(input: Tensor, samples: Tensor, kernel: Sizes, output_size: Sizes) -> Call:
    """Return the maxima of windows at drawn places, and where in their planes they stand.

    Parameters
    ----------
    input : Tensor
        ``[n, c, *sizes]``.
    samples : Tensor
        Numbers from 0 to 1, ``[n, c, axes]``.
    kernel, output_size : tuple of int
        Sizes of the windows, and how many there are along each axis.

    Returns
    -------
    tuple of Tensor
        Maxima and Int64 places, ``[n, c, *output_size]``.
    """
    return (input, samples), {"kernel": kernel, "output_size": output_size}


def _expand(
    input: Tensor, samples: Tensor, kernel: Sizes, output_size: Sizes, return_indices: bool
) -> Any:
    found = fractional_maximum(input, samples, kernel, output_size)
    return found if return_indices else found[0]


def _output_size(op_name: str, input: Aval, size: Any, ratio: Any, axes: int) -> Sizes:
    if (size is None) == (ratio is None):
        raise ValueError(f"{op_name}: give either output_size or output_ratio.")
    if ratio is None:
        return as_sizes(f"{op_name}: output_size", size, axes)
    ratios = tuple(ratio) if isinstance(ratio, tuple | list) else (ratio,) * axes
    if len(ratios) != axes or any(not 0 < item < 1 for item in ratios):
        raise ValueError(f"{op_name}: output_ratio must be in 0..1, it is {ratio!r}.")
    known = [extent for extent in input.shape[2:] if isinstance(extent, int)]
    if len(known) != axes:
        raise ShapeError(f"{op_name}: output_ratio needs known sizes; give output_size.")
    return tuple(max(int(e * r), 1) for e, r in zip(known, ratios, strict=True))


def _prepare(
    op_name: str,
    axes: int,
    input: TensorLike,
    kernel_size: Any,
    wanted: tuple[Any, Any],
    return_indices: bool,
    samples: TensorLike | None,
) -> Call:
    x = as_float(input)
    require_ndim(op_name, "input", x.aval, axes + 2)
    kernel = as_sizes(f"{op_name}: kernel_size", kernel_size, axes)
    output_size = _output_size(op_name, x.aval, *wanted, axes)
    if samples is None:
        drawn = uniform_by_key(streams.next_key(), (*x.shape[:2], axes), x.dtype)
    else:
        drawn = cast_to(as_float(samples), x.dtype)
    attrs = {
        "kernel": kernel, "output_size": output_size, "return_indices": bool(return_indices),
    }  # fmt: skip
    return checked(_rule(op_name), (x, drawn), attrs)


@op(
    infer=_rule("fractional_max_pool2d"),
    kernel=expanded(_expand),
    lowering=Composite(_expand),
    category="nn",
    inputs=("input",),
    primitive="FractionalMaxPool2D",
)
def fractional_max_pool2d(
    input: TensorLike,
    kernel_size: int | tuple[int, int],
    output_size: int | tuple[int, int] | None = None,
    output_ratio: float | tuple[float, float] | None = None,
    return_indices: bool = False,
    _random_samples: TensorLike | None = None,
) -> Call:
    """Apply fractional max pooling to images: windows whose steps are drawn at random.

    Parameters
    ----------
    input : Tensor
        ``[n, c, h, w]``; integers are cast to float32.
    kernel_size : int or tuple of int
        Size of the windows.
    output_size : int or tuple of int, optional
        The output's rows and columns.
    output_ratio : float or tuple of float, optional
        Instead of them, their share of the input's, in 0..1.
    return_indices : bool
        Whether to return also where in its plane each maximum stands (Int64).
    _random_samples : Tensor, optional
        ``[n, c, 2]``, the numbers from 0 to 1 by which the steps are chosen; drawn by default.

    Returns
    -------
    Tensor or tuple of Tensor
        ``[n, c, *output_size]``.

    Raises
    ------
    ValueError
        If neither or both of size and ratio are given, or the windows do not fit.

    References
    ----------
    Graham, Fractional Max-Pooling, 2014.
    """
    wanted = (output_size, output_ratio)
    return _prepare(
        "fractional_max_pool2d", 2, input, kernel_size, wanted, return_indices, _random_samples
    )


@op(
    infer=_rule("fractional_max_pool3d"),
    kernel=expanded(_expand),
    lowering=Composite(_expand),
    category="nn",
    inputs=("input",),
    primitive="FractionalMaxPool3D",
)
def fractional_max_pool3d(
    input: TensorLike,
    kernel_size: int | tuple[int, int, int],
    output_size: int | tuple[int, int, int] | None = None,
    output_ratio: float | tuple[float, float, float] | None = None,
    return_indices: bool = False,
    _random_samples: TensorLike | None = None,
) -> Call:
    """Apply fractional max pooling to volumes: windows whose steps are drawn at random.

    Parameters
    ----------
    input : Tensor
        ``[n, c, d, h, w]``; integers are cast to float32.
    kernel_size : int or tuple of int
        Size of the windows.
    output_size : int or tuple of int, optional
        The output's depth, rows and columns.
    output_ratio : float or tuple of float, optional
        Instead of them, their share of the input's, in 0..1.
    return_indices : bool
        Whether to return also where in its volume each maximum stands (Int64).
    _random_samples : Tensor, optional
        ``[n, c, 3]``, the numbers from 0 to 1 by which the steps are chosen; drawn by default.

    Returns
    -------
    Tensor or tuple of Tensor
        ``[n, c, *output_size]``.

    Raises
    ------
    ValueError
        If neither or both of size and ratio are given, or the windows do not fit.

    References
    ----------
    Graham, Fractional Max-Pooling, 2014.
    """
    wanted = (output_size, output_ratio)
    return _prepare(
        "fractional_max_pool3d", 3, input, kernel_size, wanted, return_indices, _random_samples
    )
