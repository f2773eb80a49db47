"""Sliding windows: their sizes and steps on any number of axes, and the padding of a mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..shape import Dim, ShapeError, SymDim

Sizes = tuple[int, ...]
Pair = tuple[int, int]
Padding = tuple[int, int, int, int]
"""Rows above and below, columns left and right."""


def as_sizes(name: str, value: Any, axes: int) -> Sizes:
    """Return one number or one an axis as a tuple of positive numbers.

    Raises
    ------
    ValueError
        If it is neither a positive int nor ``axes`` of them.
    """
    sizes = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(sizes) == 1:
        sizes *= axes
    if len(sizes) != axes or any(not isinstance(item, int) or item < 1 for item in sizes):
        wanted = "a positive int" if axes == 1 else f"a positive int or {axes} of them"
        raise ValueError(f"{name} must be {wanted}, it is {value!r}.")
    return sizes


def as_sides(name: str, value: Any, axes: int) -> Sizes:
    """Return padding as two numbers an axis: before and after it.

    Raises
    ------
    ValueError
        If it is neither one int, nor one an axis, nor two an axis, or one is negative.
    """
    given = (value,) if isinstance(value, int) else tuple(value)
    if len(given) == 1:
        given *= axes
    sides = tuple(side for side in given for _ in range(2)) if len(given) == axes else given
    if len(sides) != 2 * axes or any(not isinstance(side, int) or side < 0 for side in sides):
        raise ValueError(
            f"{name} must be an int, {axes} or {2 * axes} of them, not negative; it is {value!r}."
        )
    return sides


def hashable(value: Any) -> Any:
    """Return sizes as they are given, a list as a tuple: a key of caches."""
    return tuple(value) if isinstance(value, list) else value


def reach(kernel: int, dilation: int) -> int:
    """Return how many elements lie between a window's ends, both included."""
    return (kernel - 1) * dilation + 1


def padding_of(
    op_name: str,
    sizes: Sequence[Dim],
    kernel: Sizes,
    stride: Sizes,
    dilation: Sizes,
    pad_mode: str,
    padding: Any,
) -> Sizes:
    """Return the sides that a mode gives: ``same``, ``valid`` or ``pad`` with numbers."""
    mode = mode_of(op_name, pad_mode)
    sides = as_sides(f"{op_name}: padding", padding, len(kernel))
    if mode == "pad":
        return sides
    if any(sides):
        raise ValueError(f"{op_name}: padding {padding!r} needs pad_mode 'pad', it is {mode!r}.")
    if mode == "valid":
        return sides
    pairs = map(_same_padding, [op_name] * len(kernel), sizes, kernel, stride, dilation)
    return tuple(side for pair in pairs for side in pair)


def mode_of(op_name: str, pad_mode: str) -> str:
    """Return the padding mode in lower case.

    Raises
    ------
    ValueError
        If there is no such mode.
    """
    mode = pad_mode.lower() if isinstance(pad_mode, str) else pad_mode
    if mode not in ("same", "valid", "pad"):
        raise ValueError(
            f"{op_name}: pad_mode must be 'same', 'valid' or 'pad', it is {pad_mode!r}."
        )
    return mode


def _same_padding(op_name: str, size: Dim, kernel: int, stride: int, dilation: int) -> Pair:
    span = reach(kernel, dilation)
    if isinstance(size, SymDim):
        if stride != 1:
            raise ShapeError(
                f"{op_name}: pad_mode 'same' with stride {stride} needs a known size, it is {size}."
            )
        total = span - 1
    else:
        total = max((-(-size // stride) - 1) * stride + span - size, 0)
    return total // 2, total - total // 2


def _out_size(op_name: str, size: Dim, kernel: int, stride: int, extra: int, dilation: int) -> Dim:
    span = size + (extra - reach(kernel, dilation))
    if isinstance(span, int) and span < 0:
        raise ShapeError(
            f"{op_name}: a kernel of {kernel} (dilation {dilation}) does not fit {size} elements"
            f" padded by {extra}; make the image larger or the kernel smaller."
        )
    return span // stride + 1


def out_sizes(
    op_name: str,
    sizes: Sequence[Dim],
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes | None = None,
) -> tuple[Dim, ...]:
    """Return how many windows there are along each axis.

    Raises
    ------
    ShapeError
        If a window is larger than the padded axis.
    """
    spread = dilation or (1,) * len(kernel)
    extra = [padding[2 * i] + padding[2 * i + 1] for i in range(len(kernel))]
    return tuple(
        _out_size(op_name, size, kernel[i], stride[i], extra[i], spread[i])
        for i, size in enumerate(sizes)
    )
