"""Elements put around a tensor: a constant, mirrored, repeated, or from the other end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..shape import Aval, Dim, Shape, ShapeError, shape_text
from ..tensor import Tensor
from . import axes, slicing
from .array import broadcast_to
from .cast import TensorLike, as_tensor
from .declarations import composite
from .joining import concat
from .registry import Call, GradContext, Grads, Host, op

Pairs = tuple[tuple[int, int], ...]
"""Numbers before and after along the last axes, in their order."""
MODES = ("constant", "reflect", "symmetric", "replicate", "circular")
OTHER_NAMES = {"edge": "replicate", "wrap": "circular"}


def _constant_rule(input: Aval, padding: Pairs, value: float) -> Aval:
    lead = input.ndim - len(padding)
    if lead < 0:
        raise ShapeError(
            f"pad: padding names {len(padding)} axes, input {shape_text(input.shape)} has"
            f" {input.ndim}."
        )
    sizes = zip(input.shape[lead:], padding, strict=True)
    return Aval((*input.shape[:lead], *(size + (a + b) for size, (a, b) in sizes)), input.dtype)


def _constant_kernel(input: np.ndarray, padding: Pairs, value: float) -> np.ndarray:
    pairs = ((0, 0),) * (input.ndim - len(padding)) + padding
    shape = [size + a + b for size, (a, b) in zip(input.shape, pairs, strict=True)]
    out = np.full(shape, value, input.dtype)
    out[tuple(slice(a, a + size) for size, (a, _) in zip(input.shape, pairs, strict=True))] = input
    return out


def _constant_grad(ctx: GradContext) -> Grads:
    padding, shape = ctx.attrs["padding"], ctx.inputs[0].shape
    dout, lead = ctx.dout, len(shape) - len(padding)
    for axis, (before, _) in enumerate(padding, lead):
        dout = slicing.narrow(dout, axis, before, before + shape[axis])
    return (dout,)


@op(
    infer=_constant_rule,
    kernel=_constant_kernel,
    grad=_constant_grad,
    lowering=Host("copies the array into a larger one"),
    category="gradient",
    inputs=("input",),
)
def pad_constant(input: TensorLike, padding: Pairs, value: float) -> Call:
    """Put a constant around the elements.

    Parameters
    ----------
    input : Tensor
        Any shape.
    padding : tuple of pairs
        Numbers before and after along the last axes.
    value : number
        The constant.

    Returns
    -------
    Tensor
        The larger tensor.
    """
    return (as_tensor(input),), {"padding": padding, "value": value}


def _mirrored(input: Tensor, axis: int, start: Dim, length: int) -> Tensor:
    return axes.flip(slicing.narrow(input, axis, start, start + length), axis)


def _reflected(input: Tensor, axis: int, before: int, after: int) -> list[Tensor]:
    size = input.shape[axis]
    return [
        _mirrored(input, axis, 1, before), input, _mirrored(input, axis, size - after - 1, after)
    ]  # fmt: skip


def _symmetric(input: Tensor, axis: int, before: int, after: int) -> list[Tensor]:
    size = input.shape[axis]
    return [_mirrored(input, axis, 0, before), input, _mirrored(input, axis, size - after, after)]


def _replicated(input: Tensor, axis: int, before: int, after: int) -> list[Tensor]:
    size, shape = input.shape[axis], tuple(input.shape)

    def repeated(position: Dim, length: int) -> Tensor:
        edge = slicing.narrow(input, axis, position, position + 1)
        return broadcast_to(edge, (*shape[:axis], length, *shape[axis + 1 :]))

    return [repeated(0, before), input, repeated(size - 1, after)]


def _circular(input: Tensor, axis: int, before: int, after: int) -> list[Tensor]:
    size = input.shape[axis]
    return [
        slicing.narrow(input, axis, size - before, size), input,
        slicing.narrow(input, axis, 0, after),
    ]  # fmt: skip


_SIDES: dict[str, Callable[[Tensor, int, int, int], list[Tensor]]] = {
    "reflect": _reflected, "symmetric": _symmetric, "replicate": _replicated,
    "circular": _circular,
}  # fmt: skip


def _pad(input: Tensor, padding: Pairs, mode: str, value: float) -> Tensor:
    lead = len(input.shape) - len(padding)
    x = input
    for axis, (before, after) in enumerate(padding, lead):
        if before < 0 or after < 0:
            start, end = max(-before, 0), x.shape[axis] + min(after, 0)
            x = slicing.narrow(x, axis, start, end)
    added = tuple((max(before, 0), max(after, 0)) for before, after in padding)
    if mode == "constant":
        return pad_constant(x, added, value)
    for axis, (before, after) in enumerate(added, lead):
        if before or after:
            sides = _SIDES[mode](x, axis, before, after)
            kept = [part for part, n in zip(sides, (before, 1, after), strict=True) if n]
            x = concat(kept, axis)
    return x


@composite(_pad, category="array", inputs=("input",), primitive="PadV3")
def pad(
    input: TensorLike,
    padding: Sequence[Any],
    mode: str = "constant",
    value: float | None = None,
) -> Call:
    """Put elements around a tensor, or cut some off.

    Parameters
    ----------
    input : Tensor
        Any shape.
    padding : sequence of int, or of pairs
        Numbers before and after, beginning with the last axis, as ``(left, right, top, bottom)``;
        or one pair for each axis, beginning with the first. Negative ones cut off.
    mode : {"constant", "reflect", "symmetric", "replicate", "circular"}
        What is put there: a constant, the elements mirrored at the first and last one or beyond
        them, the first and last one repeated, or the elements from the other end.
    value : number, optional
        The constant, by default 0.

    Returns
    -------
    Tensor
        The larger or smaller tensor.

    Raises
    ------
    ValueError
        If there is no such mode, the padding does not fit the axes, or an axis has too few
        elements to be mirrored or to go round.
    """
    name = OTHER_NAMES.get(mode.lower(), mode.lower())
    if name not in MODES:
        known = ", ".join(repr(item) for item in MODES)
        raise ValueError(f"pad: mode must be one of {known}, it is {mode!r}.")
    if value is not None and name != "constant":
        raise ValueError(f"pad: value belongs to mode 'constant', mode is {mode!r}.")
    tensor = as_tensor(input)
    pairs = _pairs(padding, len(tensor.shape))
    _check(tuple(tensor.shape), pairs, name)
    return (tensor,), {"padding": pairs, "mode": name, "value": 0 if value is None else value}


def _pairs(padding: Any, ndim: int) -> Pairs:
    items = padding.tolist() if isinstance(padding, Tensor) else list(padding)
    if items and isinstance(items[0], tuple | list):
        pairs = [(int(a), int(b)) for a, b in items]
        if len(pairs) != ndim:
            raise ShapeError(f"pad: padding names {len(pairs)} axes, the input has {ndim}.")
    else:
        if len(items) % 2 or len(items) > 2 * ndim:
            raise ShapeError(
                f"pad: padding {items} must hold two numbers for each of up to {ndim} axes."
            )
        pairs = [(int(items[i]), int(items[i + 1])) for i in range(0, len(items), 2)][::-1]
    while pairs and pairs[0] == (0, 0):
        pairs = pairs[1:]
    return tuple(pairs)


_REACH = {"reflect": 1, "symmetric": 0, "circular": 0}


def _check(shape: Shape, pairs: Pairs, mode: str) -> None:
    """Raise ShapeError where an axis is cut to nothing or has too few elements for the mode."""
    for axis, (before, after) in enumerate(pairs, len(shape) - len(pairs)):
        size = shape[axis]
        if not isinstance(size, int):
            continue
        left = size + min(before, 0) + min(after, 0)
        if left < 0:
            raise ShapeError(f"pad: {(before, after)} cuts more than the {size} of axis {axis}.")
        most = left - _REACH.get(mode, 0)
        if mode in _REACH and max(before, after) > most:
            raise ShapeError(
                f"pad: mode {mode!r} can put at most {most} elements beside axis {axis} of size"
                f" {left}, not {max(before, after)}."
            )
        if mode == "replicate" and not left and max(before, after) > 0:
            raise ShapeError(f"pad: axis {axis} is empty, there is nothing to replicate.")
