"""Elements moved between channels, batch and pixels: shuffles, blocks and windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..shape import Dim, ShapeError, comparable, element_count, shape_text
from ..tensor import Tensor
from . import slicing
from .array import reshape, transpose
from .cast import TensorLike, as_tensor
from .declarations import composite
from .padding import pad
from .registry import Call
from .rules import require_ndim


def _divides(name: str, size: Dim, by: Dim, what: str) -> None:
    if (size // by) * by != size and comparable(size):
        raise ShapeError(f"{name}: {what} {size} must be a multiple of {by}.")


def _positive(name: str, what: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name}: {what} must be a positive int, it is {value!r}.")
    return value


def _pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    *lead, c, h, w = input.shape
    r, n = upscale_factor, len(lead)
    blocks = reshape(input, (*lead, c // (r * r), r, r, h, w))
    order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return reshape(transpose(blocks, order), (*lead, c // (r * r), h * r, w * r))


@composite(_pixel_shuffle, category="array", inputs=("input",))
def pixel_shuffle(input: TensorLike, upscale_factor: int) -> Call:
    """Rearrange channels into larger images: each pixel's channels become a block of pixels.

    Parameters
    ----------
    input : Tensor
        ``[..., c * r * r, h, w]``.
    upscale_factor : int
        The side r of a block.

    Returns
    -------
    Tensor
        ``[..., c, h * r, w * r]``.

    Raises
    ------
    ValueError
        If the channels are no multiple of r * r.

    References
    ----------
    Shi et al., Real-Time Single Image and Video Super-Resolution, 2016.
    """
    x = _image("pixel_shuffle", input)
    r = _positive("pixel_shuffle", "upscale_factor", upscale_factor)
    _divides("pixel_shuffle", x.shape[-3], r * r, "the number of channels")
    return (x,), {"upscale_factor": r}


def _image(name: str, input: TensorLike) -> Tensor:
    tensor = as_tensor(input)
    if len(tensor.shape) < 3:
        raise ShapeError(
            f"{name}: input {shape_text(tensor.shape)} must have channels, height and width."
        )
    return tensor


def _pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    *lead, c, h, w = input.shape
    r, n = downscale_factor, len(lead)
    blocks = reshape(input, (*lead, c, h // r, r, w // r, r))
    order = (*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return reshape(transpose(blocks, order), (*lead, c * r * r, h // r, w // r))


@composite(_pixel_unshuffle, category="array", inputs=("input",))
def pixel_unshuffle(input: TensorLike, downscale_factor: int) -> Call:
    """Rearrange blocks of pixels into channels: ``pixel_shuffle`` undone.

    Parameters
    ----------
    input : Tensor
        ``[..., c, h * r, w * r]``.
    downscale_factor : int
        The side r of a block.

    Returns
    -------
    Tensor
        ``[..., c * r * r, h, w]``.

    Raises
    ------
    ValueError
        If height or width is no multiple of r.
    """
    x = _image("pixel_unshuffle", input)
    r = _positive("pixel_unshuffle", "downscale_factor", downscale_factor)
    _divides("pixel_unshuffle", x.shape[-2], r, "the height")
    _divides("pixel_unshuffle", x.shape[-1], r, "the width")
    return (x,), {"downscale_factor": r}


def _channel_shuffle(x: Tensor, groups: int) -> Tensor:
    n, c, *rest = x.shape
    parts = reshape(x, (n, groups, c // groups, *rest))
    order = (0, 2, 1, *range(3, len(rest) + 3))
    return reshape(transpose(parts, order), (n, c, *rest))


@composite(_channel_shuffle, category="array", inputs=("x",))
def channel_shuffle(x: TensorLike, groups: int) -> Call:
    """Interleave the channels of all groups.

    Parameters
    ----------
    x : Tensor
        ``[n, c, ...]``.
    groups : int
        Number of groups.

    Returns
    -------
    Tensor
        The channels in another order.

    Raises
    ------
    ValueError
        If the channels are no multiple of the groups.

    References
    ----------
    Zhang et al., ShuffleNet, 2018.
    """
    tensor = as_tensor(x)
    if len(tensor.shape) < 3:
        raise ShapeError(f"channel_shuffle: x {shape_text(tensor.shape)} must have 3 axes or more.")
    _positive("channel_shuffle", "groups", groups)
    _divides("channel_shuffle", tensor.shape[1], groups, "the number of channels")
    return (tensor,), {"groups": groups}


def _space_to_depth(input: Tensor, block_size: int) -> Tensor:
    n, c, h, w = input.shape
    b = block_size
    blocks = reshape(input, (n, c, h // b, b, w // b, b))
    return reshape(transpose(blocks, (0, 3, 5, 1, 2, 4)), (n, c * b * b, h // b, w // b))


@composite(_space_to_depth, category="array", inputs=("input",))
def space_to_depth(input: TensorLike, block_size: int) -> Call:
    """Rearrange blocks of pixels into channels; the position in the block counts first.

    Parameters
    ----------
    input : Tensor
        ``[n, c, h * b, w * b]``.
    block_size : int
        The side b of a block.

    Returns
    -------
    Tensor
        ``[n, b * b * c, h, w]``.

    Raises
    ------
    ValueError
        If height or width is no multiple of b.
    """
    x = as_tensor(input)
    require_ndim("space_to_depth", "input", x.aval, 4)
    b = _positive("space_to_depth", "block_size", block_size)
    _divides("space_to_depth", x.shape[2], b, "the height")
    _divides("space_to_depth", x.shape[3], b, "the width")
    return (x,), {"block_size": b}


def _depth_to_space(input: Tensor, block_size: int) -> Tensor:
    n, c, h, w = input.shape
    b = block_size
    blocks = reshape(input, (n, b, b, c // (b * b), h, w))
    return reshape(transpose(blocks, (0, 3, 4, 1, 5, 2)), (n, c // (b * b), h * b, w * b))


@composite(_depth_to_space, category="array", inputs=("input",))
def depth_to_space(input: TensorLike, block_size: int) -> Call:
    """Rearrange each pixel's channels into a block of pixels: ``space_to_depth`` undone.

    Parameters
    ----------
    input : Tensor
        ``[n, b * b * c, h, w]``.
    block_size : int
        The side b of a block.

    Returns
    -------
    Tensor
        ``[n, c, h * b, w * b]``.

    Raises
    ------
    ValueError
        If the channels are no multiple of b * b.
    """
    x = as_tensor(input)
    require_ndim("depth_to_space", "input", x.aval, 4)
    b = _positive("depth_to_space", "block_size", block_size)
    _divides("depth_to_space", x.shape[1], b * b, "the number of channels")
    return (x,), {"block_size": b}


def _space_to_batch_nd(input_x: Tensor, block_size: tuple[int, ...], paddings: Any) -> Tensor:
    lead = len(input_x.shape) - len(block_size)
    x = pad(input_x, [n for pair in reversed(paddings) for n in pair])
    kept, m = list(x.shape[:lead]), len(block_size)
    sizes = [part for s, b in zip(x.shape[lead:], block_size, strict=True) for part in (s // b, b)]
    blocks = reshape(x, (*kept, *sizes))
    inner = range(lead + 1, lead + 2 * m, 2)
    outer = range(lead, lead + 2 * m, 2)
    moved = transpose(blocks, (*inner, *range(lead), *outer))
    batch = kept[0] * element_count(block_size)
    return reshape(moved, (batch, *kept[1:], *sizes[::2]))


@composite(_space_to_batch_nd, category="array", inputs=("input_x",), primitive="SpaceToBatchND")
def space_to_batch_nd(
    input_x: TensorLike, block_size: Sequence[int], paddings: Sequence[Sequence[int]]
) -> Call:
    """Make examples of the positions in each block of the last axes, after padding with zeros.

    Parameters
    ----------
    input_x : Tensor
        ``[n, ..., *sizes]``.
    block_size : sequence of int
        The side of a block along each of the last axes.
    paddings : sequence of pairs
        Zeros before and after along each of them.

    Returns
    -------
    Tensor
        The batch times the elements of a block, the last axes divided by its sides.

    Raises
    ------
    ValueError
        If a padded size is no multiple of the block's.
    """
    x = as_tensor(input_x)
    sides, pairs = _blocks("space_to_batch_nd", x, block_size, paddings)
    for size, side, (a, b) in zip(x.shape[-len(sides) :], sides, pairs, strict=True):
        _divides("space_to_batch_nd", size + (a + b), side, "the padded size")
    return (x,), {"block_size": sides, "paddings": pairs}


def _blocks(name: str, x: Tensor, block_size: Any, pairs: Any) -> tuple[Any, Any]:
    sides = tuple(_positive(name, "block_size", int(side)) for side in block_size)
    edges = tuple((int(a), int(b)) for a, b in pairs)
    if not 1 <= len(sides) < len(x.shape) or len(edges) != len(sides):
        raise ShapeError(
            f"{name}: block_size {sides} and {edges} must name as many axes of input"
            f" {shape_text(x.shape)}, without the first."
        )
    return sides, edges


def _batch_to_space_nd(input_x: Tensor, block_shape: tuple[int, ...], crops: Any) -> Tensor:
    m, lead = len(block_shape), len(input_x.shape) - len(block_shape)
    n, *kept = input_x.shape[:lead]
    sizes = input_x.shape[lead:]
    batch = n // element_count(block_shape)
    blocks = reshape(input_x, (*block_shape, batch, *kept, *sizes))
    pairs = [part for i in range(m) for part in (m + lead + i, i)]
    moved = transpose(blocks, (*range(m, m + lead), *pairs))
    whole = [s * b for s, b in zip(sizes, block_shape, strict=True)]
    x = reshape(moved, (batch, *kept, *whole))
    for axis, ((before, after), size) in enumerate(zip(crops, whole, strict=True), lead):
        if before or after:
            x = slicing.narrow(x, axis, before, size - after)
    return x


@composite(_batch_to_space_nd, category="array", inputs=("input_x",), primitive="BatchToSpaceND")
def batch_to_space_nd(
    input_x: TensorLike, block_shape: Sequence[int], crops: Sequence[Sequence[int]]
) -> Call:
    """Make blocks along the last axes of examples: what ``space_to_batch_nd`` did, undone.

    Parameters
    ----------
    input_x : Tensor
        ``[n, ..., *sizes]``.
    block_shape : sequence of int
        The side of a block along each of the last axes.
    crops : sequence of pairs
        Elements to cut off before and after along each of them.

    Returns
    -------
    Tensor
        The batch divided by the elements of a block, the last axes times its sides.

    Raises
    ------
    ValueError
        If the batch is no multiple of the block's elements.
    """
    x = as_tensor(input_x)
    sides, pairs = _blocks("batch_to_space_nd", x, block_shape, crops)
    _divides("batch_to_space_nd", x.shape[0], element_count(sides), "the batch")
    return (x,), {"block_shape": sides, "crops": pairs}
