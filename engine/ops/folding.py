"""Sliding windows as columns of a matrix, and columns added back up to images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..shape import Dim, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, slicing
from .array import reshape
from .cast import TensorLike, as_tensor
from .declarations import composite
from .joining import stack
from .padding import pad
from .registry import Call
from .rules import require_ndim

Two = tuple[int, int]


def _two(name: str, what: str, value: int | Sequence[int], least: int) -> Two:
    sizes = (value, value) if isinstance(value, int) else tuple(int(item) for item in value)
    if len(sizes) == 1:
        sizes = (sizes[0], sizes[0])
    if len(sizes) != 2 or min(sizes) < least:
        raise ValueError(
            f"{name}: {what} must be one or two ints of at least {least}, it is {value}."
        )
    return sizes[0], sizes[1]


def _borders(name: str, padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    """Return the padding at the top, bottom, left and right."""
    if not isinstance(padding, int) and len(padding) == 4:
        top, bottom, left, right = (int(n) for n in padding)
        return top, bottom, left, right
    high, wide = _two(name, "padding", padding, 0)
    return high, high, wide, wide


def _counts(sizes: Sequence[Dim], attrs: dict[str, Any]) -> tuple[Dim, Dim]:
    """Return how many windows lie below and beside each other."""
    top, bottom, left, right = attrs["padding"]
    found = []
    for axis, (size, added) in enumerate(zip(sizes, (top + bottom, left + right), strict=True)):
        reach = attrs["dilation"][axis] * (attrs["kernel_size"][axis] - 1) + 1
        found.append((size + (added - reach)) // attrs["stride"][axis] + 1)
    return found[0], found[1]


def _ranges(counts: tuple[Dim, Dim], attrs: dict[str, Any]) -> list[tuple[Any, Any, Any]]:
    """Return for each element of the window which pixels it meets, as begin, end and steps."""
    (dy, dx), (sy, sx) = attrs["dilation"], attrs["stride"]
    found = []
    for i in range(attrs["kernel_size"][0]):
        for j in range(attrs["kernel_size"][1]):
            begin = (None, None, i * dy, j * dx)
            end = (
                None, None, i * dy + (counts[0] - 1) * sy + 1, j * dx + (counts[1] - 1) * sx + 1,
            )  # fmt: skip
            found.append((begin, end, (1, 1, sy, sx)))
    return found


def _unfold(input: Tensor, **attrs: Any) -> Tensor:
    n, c, h, w = input.shape
    top, bottom, left, right = attrs["padding"]
    x = pad(input, (left, right, top, bottom)) if any(attrs["padding"]) else input
    counts = _counts((h, w), attrs)
    parts = [slicing.strided_slice(x, *cut) for cut in _ranges(counts, attrs)]
    return reshape(stack(parts, 2), (n, c * len(parts), counts[0] * counts[1]))


def _attrs(name: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> dict[str, Any]:
    return {
        "kernel_size": _two(name, "kernel_size", kernel_size, 1),
        "dilation": _two(name, "dilation", dilation, 1),
        "padding": _borders(name, padding),
        "stride": _two(name, "stride", stride, 1),
    }


@composite(_unfold, category="array", inputs=("input",), primitive="Im2Col")
def unfold(
    input: TensorLike,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Call:
    """Write each sliding window of an image as a column (im2col).

    Parameters
    ----------
    input : Tensor
        ``[n, c, h, w]``.
    kernel_size : int or tuple of int
        Size of the window.
    dilation : int or tuple of int
        Distance of the pixels in a window.
    padding : int or tuple of int
        Zeros around the image: for both sides, or for height and width.
    stride : int or tuple of int
        Step from one window to the next.

    Returns
    -------
    Tensor
        ``[n, c * kh * kw, windows]``.

    Raises
    ------
    ValueError
        If no window fits.
    """
    x = as_tensor(input)
    require_ndim("unfold", "input", x.aval, 4)
    attrs = _attrs("unfold", kernel_size, dilation, padding, stride)
    if any(isinstance(n, int) and n < 1 for n in _counts(x.shape[2:], attrs)):
        raise ShapeError(
            f"unfold: no window of kernel_size {attrs['kernel_size']} fits input"
            f" {shape_text(x.shape)}."
        )
    return (x,), attrs


def _fold(input: Tensor, output_size: Two, **attrs: Any) -> Tensor:
    n, rows, _ = input.shape
    high, wide = attrs["kernel_size"]
    c = rows // (high * wide)
    counts = _counts(output_size, attrs)
    columns = reshape(input, (n, c, high * wide, *counts))
    top, bottom, left, right = attrs["padding"]
    shape = (n, c, output_size[0] + top + bottom, output_size[1] + left + right)
    whole = None
    for number, cut in enumerate(_ranges(counts, attrs)):
        part = reshape(slicing.narrow(columns, 2, number, number + 1), (n, c, *counts))
        begin, end, steps = cut
        placed = slicing.unslice(part, shape, begin, end, steps)
        whole = placed if whole is None else arithmetic.add(whole, placed)
    assert whole is not None
    return pad(whole, (-left, -right, -top, -bottom)) if any(attrs["padding"]) else whole


@composite(_fold, category="array", inputs=("input",), primitive="Col2Im")
def fold(
    input: TensorLike,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Call:
    """Add sliding windows up to an image (col2im): what overlaps is summed.

    Parameters
    ----------
    input : Tensor
        ``[n, c * kh * kw, windows]``, as ``unfold`` gives it.
    output_size : int or tuple of int
        Height and width of the image.
    kernel_size : int or tuple of int
        Size of the window.
    dilation : int or tuple of int
        Distance of the pixels in a window.
    padding : int or tuple of int
        Pixels around the image that are cut off.
    stride : int or tuple of int
        Step from one window to the next.

    Returns
    -------
    Tensor
        ``[n, c, h, w]``.

    Raises
    ------
    ValueError
        If the columns do not fit the sizes.
    """
    x = as_tensor(input)
    require_ndim("fold", "input", x.aval, 3)
    sizes = _two("fold", "output_size", output_size, 1)
    attrs = _attrs("fold", kernel_size, dilation, padding, stride)
    area = attrs["kernel_size"][0] * attrs["kernel_size"][1]
    high, wide = _counts(sizes, attrs)
    if x.shape[1] // area * area != x.shape[1] or x.shape[2] != high * wide:
        raise ShapeError(
            f"fold: input {shape_text(x.shape)} must be [n, channels * {area}, {high * wide}] for"
            f" output_size {sizes}."
        )
    return (x,), {"output_size": sizes, **attrs}
