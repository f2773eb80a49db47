"""Pooling to a given size: means and maxima of areas that together cover the input.

Output element ``i`` of ``m`` along an axis of ``n`` covers the elements from ``floor(i n / m)`` up
to and without ``ceil((i + 1) n / m)``, as in PyTorch and MindSpore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..shape import Aval, Dim, ShapeError, SymDim
from ..tensor import Tensor
from . import array, reduce
from .cast import TensorLike, as_float
from .expansion import expanded
from .pool import REASON, unbatched
from .registry import Call, Composite, GradContext, Grads, Host, checked, op
from .rules import require_float, require_ndim
from .sliding import Sizes

OutputSize = int | tuple[int, ...] | tuple[int | None, ...]
"""One size for all axes, or one an axis, where None keeps the input's."""


def areas(size: int, count: int) -> Iterator[slice]:
    """Return the elements of an axis that each output element covers."""
    for number in range(count):
        yield slice(number * size // count, -(-(number + 1) * size // count))


def output_sizes(op_name: str, value: Any, input: Tensor, axes: int) -> tuple[Dim, ...]:
    """Return the wanted size of each axis; None keeps the input's.

    Raises
    ------
    ShapeError, ValueError
        If the input has another number of axes, or a size is not positive.
    """
    require_ndim(op_name, "input", input.aval, axes + 2)
    given = tuple(value) if isinstance(value, tuple | list) else (value,) * axes
    if len(given) != axes:
        raise ValueError(f"{op_name}: output_size must be one or {axes} sizes, it is {value!r}.")
    sizes = tuple(
        size if wanted is None else wanted
        for size, wanted in zip(input.shape[2:], given, strict=True)
    )
    if any(not isinstance(size, int | SymDim) or size == 0 for size in sizes) or any(
        isinstance(size, int) and size < 1 for size in sizes
    ):
        raise ValueError(f"{op_name}: output_size must be positive, it is {value!r}.")
    return sizes


def _rule(op_name: str, axes: int) -> Callable[..., Aval]:
    def infer(input: Aval, output_size: Sizes) -> Aval:
        require_float(op_name, "input", input)
        require_ndim(op_name, "input", input, axes + 2)
        for size, wanted in zip(input.shape[2:], output_size, strict=True):
            if isinstance(size, SymDim) and wanted not in (1, size):
                raise ShapeError(
                    f"{op_name}: an axis of {size} elements becomes 1 or stays; for another"
                    f" output_size than {wanted} its size must be known."
                )
        return Aval((*input.shape[:2], *output_size), input.dtype)

    return infer


def _divides(size: Any, wanted: Any) -> bool:
    return wanted in (1, size) or size % wanted == 0


def _expand_mean(input: Tensor, output_size: Sizes) -> Tensor:
    lead, sizes = tuple(input.shape[:2]), tuple(input.shape[2:])
    if not all(map(_divides, sizes, output_size)):
        return adaptive_mean(input, output_size)
    # Areas of one size: an axis of areas and one of what lies in them.
    parts = [part for s, m in zip(sizes, output_size, strict=True) for part in (m, s // m)]
    split = array.reshape(input, (*lead, *parts))
    return reduce.mean(split, tuple(range(3, 3 + len(parts), 2)))


def _mean_kernel(input: np.ndarray, output_size: Sizes) -> np.ndarray:
    out = input
    for axis, count in enumerate(output_size, input.ndim - len(output_size)):
        parts = [
            out[(slice(None),) * axis + (area,)].mean(axis, keepdims=True)
            for area in areas(out.shape[axis], count)
        ]
        out = np.concatenate(parts, axis)
    return out


def _mean_grad(ctx: GradContext) -> Grads:
    count = len(ctx.attrs["output_size"])
    return (adaptive_mean_grad(ctx.dout, tuple(ctx.inputs[0].shape[-count:])),)


@op(
    infer=lambda input, output_size: Aval(
        (*input.shape[: input.ndim - len(output_size)], *output_size), input.dtype
    ),
    kernel=_mean_kernel,
    grad=_mean_grad,
    lowering=Host(REASON),
    category="gradient",
    inputs=("input",),
)
def adaptive_mean(input: Tensor, output_size: Sizes) -> Call:
    """Return the means of areas of different sizes.

    Parameters
    ----------
    input : Tensor
        ``[..., *sizes]``.
    output_size : tuple of int
        How many areas there are along each of the last axes.

    Returns
    -------
    Tensor
        ``[..., *output_size]``.
    """
    return (input,), {"output_size": output_size}


def _mean_grad_kernel(dout: np.ndarray, size: Sizes) -> np.ndarray:
    out = dout
    for axis, extent in enumerate(size, dout.ndim - len(size)):
        before, count = (slice(None),) * axis, out.shape[axis]
        spread = np.zeros((*out.shape[:axis], extent, *out.shape[axis + 1 :]), out.dtype)
        for number, area in enumerate(areas(extent, count)):
            share = out[(*before, slice(number, number + 1))]
            spread[(*before, area)] += share / out.dtype.type(area.stop - area.start)
        out = spread
    return out


def _mean_back_grad(ctx: GradContext) -> Grads:
    count = len(ctx.attrs["size"])
    return (adaptive_mean(ctx.dout, tuple(ctx.inputs[0].shape[-count:])),)


@op(
    infer=lambda dout, size: Aval((*dout.shape[: dout.ndim - len(size)], *size), dout.dtype),
    kernel=_mean_grad_kernel,
    grad=_mean_back_grad,
    lowering=Host(REASON),
    category="gradient",
    inputs=("dout",),
)
def adaptive_mean_grad(dout: Tensor, size: Sizes) -> Call:
    """Return the gradient of ``adaptive_mean``: each output's is spread over its area.

    Parameters
    ----------
    dout : Tensor
        The output's gradient.
    size : tuple of int
        Sizes of the input's last axes.

    Returns
    -------
    Tensor
        ``[..., *size]``.
    """
    return (dout,), {"size": size}


def _prepare_mean(op_name: str, axes: int, input: TensorLike, output_size: Any) -> Call:
    x = as_float(input)
    sizes = output_sizes(op_name, output_size, x, axes)
    return checked(_rule(op_name, axes), (x,), {"output_size": sizes})


@op(
    infer=_rule("adaptive_avg_pool1d", 1),
    kernel=expanded(_expand_mean),
    lowering=Composite(_expand_mean),
    category="nn",
    inputs=("input",),
    primitive="AdaptiveAvgPool1D",
    fast=unbatched(1),
)
def adaptive_avg_pool1d(input: TensorLike, output_size: OutputSize) -> Call:
    """Apply average pooling with a given output size to sequences (adaptive pooling).

    Parameters
    ----------
    input : Tensor
        ``[n, c, length]`` or ``[c, length]``; integers are cast to float32.
    output_size : int
        The output's length.

    Returns
    -------
    Tensor
        ``[n, c, output_size]``.

    Raises
    ------
    ValueError
        If the size is not positive.
    """
    return _prepare_mean("adaptive_avg_pool1d", 1, input, output_size)


@op(
    infer=_rule("adaptive_avg_pool2d", 2),
    kernel=expanded(_expand_mean),
    lowering=Composite(_expand_mean),
    category="nn",
    inputs=("input",),
    primitive="AdaptiveAvgPool2D",
    fast=unbatched(2),
)
def adaptive_avg_pool2d(input: TensorLike, output_size: OutputSize) -> Call:
    """Apply average pooling with a given output size to images (adaptive pooling).

    Parameters
    ----------
    input : Tensor
        ``[n, c, h, w]`` or ``[c, h, w]``; integers are cast to float32.
    output_size : int or tuple of int
        The output's rows and columns; None keeps the input's.

    Returns
    -------
    Tensor
        ``[n, c, *output_size]``.

    Raises
    ------
    ValueError
        If a size is not positive.
    """
    return _prepare_mean("adaptive_avg_pool2d", 2, input, output_size)


@op(
    infer=_rule("adaptive_avg_pool3d", 3),
    kernel=expanded(_expand_mean),
    lowering=Composite(_expand_mean),
    category="nn",
    inputs=("input",),
    primitive="AdaptiveAvgPool3D",
    fast=unbatched(3),
)
def adaptive_avg_pool3d(input: TensorLike, output_size: OutputSize) -> Call:
    """Apply average pooling with a given output size to volumes (adaptive pooling).

    Parameters
    ----------
    input : Tensor
        ``[n, c, d, h, w]`` or ``[c, d, h, w]``; integers are cast to float32.
    output_size : int or tuple of int
        The output's depth, rows and columns; None keeps the input's.

    Returns
    -------
    Tensor
        ``[n, c, *output_size]``.

    Raises
    ------
    ValueError
        If a size is not positive.
    """
    return _prepare_mean("adaptive_avg_pool3d", 3, input, output_size)
