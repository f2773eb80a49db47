"""One axis read at other places: weighted sums of a few neighbours, and the gradient of that.

Resizing works axis by axis, since its weights are products of one factor an axis.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..shape import Aval, Dim
from .cast import TensorLike, as_tensor
from .registry import Call, GradContext, Grads, Host, op

CUBIC = -0.75
"""The free parameter of cubic convolution, as MindSpore and PyTorch have it (Keys, 1981)."""
Table = tuple[np.ndarray, np.ndarray]
"""Positions and weights, ``[taps, outputs]``: an output is the weighted sum of its taps."""


def places(size: int, outputs: int, how: str, scale: float | None) -> np.ndarray:
    """Return where in the input each output lies, in pixels.

    ``how`` is ``corners`` (the first and last pixels' centres stay), ``pixel`` (the image's edges
    stay) or ``asymmetric`` (the first pixel's corner stays); ``scale`` is input by output pixels.
    """
    index = np.arange(outputs, dtype=np.float64)
    if how == "corners":
        return index * ((size - 1) / (outputs - 1) if outputs > 1 else 0.0)
    step = size / outputs if scale is None else scale
    return (index + 0.5) * step - 0.5 if how == "pixel" else index * step


def _nearest(size: int, outputs: int, how: str, scale: float | None) -> Table:
    if how == "corners":
        at = np.floor(places(size, outputs, how, None) + 0.5)
    elif how == "pixel":  # the pixel under the output's centre
        at = np.floor(places(size, outputs, how, scale) + 0.5)
    else:
        at = np.floor(places(size, outputs, how, scale))
    positions = at.astype(np.int64).clip(0, size - 1)[None]
    return positions, np.ones(positions.shape)


def _linear(size: int, outputs: int, how: str, scale: float | None) -> Table:
    at = places(size, outputs, how, scale).clip(0, None)
    first = np.floor(at).astype(np.int64).clip(None, size - 1)
    part = at - first
    return np.stack([first, (first + 1).clip(None, size - 1)]), np.stack([1 - part, part])


def _cubic(size: int, outputs: int, how: str, scale: float | None) -> Table:
    at = places(size, outputs, how, scale)
    first = np.floor(at)
    taps = first + np.arange(-1, 3)[:, None]
    x = np.abs(at - taps)
    a = CUBIC
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return taps.astype(np.int64).clip(0, size - 1), np.where(x <= 1, near, far)


def _area(size: int, outputs: int, how: str, scale: float | None) -> Table:
    number = np.arange(outputs)
    begin = number * size // outputs
    end = -(-(number + 1) * size // outputs)
    counts = end - begin
    offsets = np.arange(counts.max())[:, None]
    inside = offsets < counts
    return np.minimum(begin + offsets, end - 1), inside / counts


_TABLES: dict[str, Any] = {
    "nearest": _nearest, "linear": _linear, "cubic": _cubic, "area": _area,
}  # fmt: skip


@lru_cache(maxsize=256)
def table(size: int, outputs: int, kind: str, how: str, scale: float | None) -> Table:
    """Return the taps of each output along an axis of ``size``."""
    return _TABLES[kind](size, outputs, how, scale)


def _weighted(weights: np.ndarray, like: np.ndarray, axis: int) -> np.ndarray:
    shape = (-1, *(1,) * (like.ndim - axis - 1))
    return weights.astype(like.dtype).reshape(shape)


def _part(pixels: np.ndarray, factors: np.ndarray, kind: str) -> np.ndarray:
    """Return what pixels weigh; those beyond the area nothing, not even infinite ones."""
    part = pixels * factors
    return np.where(factors == 0, part.dtype.type(0), part) if kind == "area" else part


def _resample_kernel(
    input: np.ndarray, axis: int, outputs: int, kind: str, how: str, scale: float | None
) -> np.ndarray:
    positions, weights = table(input.shape[axis], outputs, kind, how, scale)
    if kind == "nearest":
        return np.take(input, positions[0], axis)
    wide = input.astype(np.float32) if input.dtype == np.float16 else input
    total = None
    for taps, factors in zip(positions, weights, strict=True):
        part = _part(np.take(wide, taps, axis), _weighted(factors, wide, axis), kind)
        total = part if total is None else np.add(total, part, out=total)
    assert total is not None
    return total.astype(input.dtype, copy=False)


def _resample_rule(
    input: Aval, axis: int, outputs: int, kind: str, how: str, scale: float | None
) -> Aval:
    return Aval((*input.shape[:axis], outputs, *input.shape[axis + 1 :]), input.dtype)


def _resample_grad(ctx: GradContext) -> Grads:
    return (resample_sum(ctx.dout, ctx.inputs[0].shape[ctx.attrs["axis"]], **ctx.attrs),)


@op(
    infer=_resample_rule,
    kernel=_resample_kernel,
    grad=_resample_grad,
    lowering=Host("reads neighbours from a table in NumPy"),
    category="gradient",
    inputs=("input",),
)
def resample(
    input: TensorLike, axis: int, outputs: int, kind: str, how: str, scale: float | None
) -> Call:
    """Read one axis at other places.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axis : int
        The axis.
    outputs : int
        Its new size.
    kind : str
        ``nearest``, ``linear``, ``cubic`` or ``area``.
    how : str
        Where the outputs lie, as ``places`` has it.
    scale : float or None
        Input pixels by output pixels; None takes the sizes' ratio.

    Returns
    -------
    Tensor
        The axis with its new size.
    """
    attrs = {"axis": axis, "outputs": outputs, "kind": kind, "how": how, "scale": scale}
    return (as_tensor(input),), attrs


def _sum_kernel(
    dout: np.ndarray, size: int, axis: int, outputs: int, kind: str, how: str, scale: float | None
) -> np.ndarray:
    positions, weights = table(size, outputs, kind, how, scale)
    wide = dout.astype(np.float32) if dout.dtype == np.float16 else dout
    rows = np.moveaxis(wide, axis, 0)
    total = np.zeros((size, *rows.shape[1:]), wide.dtype)
    for taps, factors in zip(positions, weights, strict=True):
        np.add.at(total, taps, _part(rows, _weighted(factors, rows, 0), kind))
    return np.moveaxis(total, 0, axis).astype(dout.dtype, copy=False)


def _sum_rule(dout: Aval, size: Dim, axis: int, **_: Any) -> Aval:
    return Aval((*dout.shape[:axis], size, *dout.shape[axis + 1 :]), dout.dtype)


def _sum_grad(ctx: GradContext) -> Grads:
    attrs = {name: value for name, value in ctx.attrs.items() if name != "size"}
    return (resample(ctx.dout, **attrs),)


@op(
    infer=_sum_rule,
    kernel=_sum_kernel,
    grad=_sum_grad,
    lowering=Host("adds up neighbours from a table in NumPy"),
    category="gradient",
    inputs=("dout",),
)
def resample_sum(
    dout: TensorLike,
    size: Dim,
    axis: int,
    outputs: int,
    kind: str,
    how: str,
    scale: float | None,
) -> Call:
    """Give each output's gradient to the neighbours it was read from.

    Parameters
    ----------
    dout : Tensor
        The gradient of what ``resample`` gave.
    size : int
        The axis's size before.
    axis, outputs, kind, how, scale
        As of ``resample``.

    Returns
    -------
    Tensor
        The gradient of its input.
    """
    return (as_tensor(dout),), {
        "size": size, "axis": axis, "outputs": outputs, "kind": kind, "how": how, "scale": scale,
    }  # fmt: skip
