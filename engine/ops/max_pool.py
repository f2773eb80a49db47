"""The largest element of each window of sequences and volumes, by that of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtype import int32, int64
from ..shape import Aval
from ..tensor import Tensor
from . import arithmetic, array, creation
from .cast import TensorLike, as_tensor, cast_to
from .expansion import expanded
from .max_pool2d import extremes, pool_indices, pool_pick
from .pool import (
    Window,
    flat_window,
    pool_rule,
    split_window,
    unbatched,
    window_of,
)
from .registry import Call, Composite, op
from .rules import require_ndim


def _rule(op_name: str, axes: int) -> Callable[..., Any]:
    windows = pool_rule(op_name, axes)

    def infer(input: Aval, return_indices: bool, **window: Any) -> Any:
        out = windows(input, **window)
        return (out, Aval(out.shape, int64)) if return_indices else out

    return infer


def _prepare(
    op_name: str,
    axes: int,
    x: TensorLike,
    window: tuple[Any, ...],
    return_indices: bool,
    ceil_mode: bool,
) -> Call:
    tensor = as_tensor(x)
    require_ndim(op_name, "x", tensor.aval, axes + 2)
    found, _ = window_of(op_name, tuple(tensor.shape[2:]), *window, ceil_mode=ceil_mode)
    attrs = {**found, "return_indices": bool(return_indices)}
    return (tensor,), attrs


def _expand_max_pool1d(x: Tensor, return_indices: bool, **window: Any) -> Any:
    flat = flat_window(window)
    rows = array.expand_dims(x, 2)
    out, taps = extremes(rows, flat)
    if not return_indices:
        return array.squeeze(out, 2)
    at = pool_indices(taps, tuple(rows.shape[2:]), **flat)
    return array.squeeze(out, 2), array.squeeze(at, 2)


@op(
    infer=_rule("max_pool1d", 1),
    kernel=expanded(_expand_max_pool1d),
    lowering=Composite(_expand_max_pool1d),
    category="nn",
    inputs=("x",),
    primitive="MaxPool1D",
    fast=unbatched(1),
)
def max_pool1d(
    x: TensorLike,
    kernel_size: int | tuple[int],
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int] = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
    pad_mode: str = "pad",
) -> Call:
    """Apply max pooling to sequences: the largest element of each window; NaN wins.

    Parameters
    ----------
    x : Tensor
        ``[n, c, length]`` or ``[c, length]``.
    kernel_size, stride : int or tuple of int
        Size and step of the window; the step is by default the size.
    padding : int or tuple of int
        Elements at both ends, or (before, after), which never win.
    dilation : int or tuple of int
        Spacing of the window's elements.
    return_indices : bool
        Whether to return also where in its sequence each maximum stands (Int64).
    ceil_mode : bool
        Whether a last window that begins in the sequence counts though it does not end there.
    pad_mode : str
        ``"same"``, ``"valid"`` or ``"pad"``, as of ``conv1d``.

    Returns
    -------
    Tensor or tuple of Tensor
        ``[n, c, length']``.

    Raises
    ------
    ValueError
        If the window does not fit.
    """
    window = (kernel_size, stride, padding, dilation, pad_mode)
    return _prepare("max_pool1d", 1, x, window, return_indices, ceil_mode)


def _expand_max_pool3d(x: Tensor, return_indices: bool, **window: Any) -> Any:
    inner, outer = split_window(window)
    n, c, depth, *size = x.shape
    found, taps = extremes(array.reshape(x, (n, c * depth, *size)), inner)
    rows, columns = found.shape[2:]
    planes = (n, c, depth, rows * columns)
    out, frames = extremes(array.reshape(found, planes), outer)
    shape = (n, c, out.shape[2], rows, columns)
    if not return_indices:
        return array.reshape(out, shape)
    at = array.reshape(pool_indices(taps, tuple(size), **inner), planes)
    at = pool_pick(at, frames, **outer)
    depths = _depths(frames, outer)
    at = arithmetic.add(at, arithmetic.mul(depths, size[0] * size[1]))
    return array.reshape(out, shape), array.reshape(at, shape)


def _depths(frames: Tensor, window: Window) -> Tensor:
    """Return at which depth each maximum stands, from its place in the window."""
    starts = cast_to(creation.arange(frames.shape[2]), int32)
    starts = array.reshape(arithmetic.mul(starts, window["stride"][0]), (-1, 1))
    depth = arithmetic.add(arithmetic.mul(frames, window["dilation"][0]), starts)
    return cast_to(arithmetic.sub(depth, window["padding"][0]), int64)


@op(
    infer=_rule("max_pool3d", 3),
    kernel=expanded(_expand_max_pool3d),
    lowering=Composite(_expand_max_pool3d),
    category="nn",
    inputs=("x",),
    primitive="MaxPool3DWithArgmax",
    fast=unbatched(3),
)
def max_pool3d(
    x: TensorLike,
    kernel_size: int | tuple[int, int, int],
    stride: int | tuple[int, int, int] | None = None,
    padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, int, int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    pad_mode: str = "pad",
) -> Call:
    """Apply max pooling to volumes: the largest element of each window; NaN wins.

    Parameters
    ----------
    x : Tensor
        ``[n, c, d, h, w]`` or ``[c, d, h, w]``.
    kernel_size, stride : int or tuple of int
        Size and step of the window; the step is by default the size.
    padding : int or tuple of int
        Elements around, which never win: one number, one an axis, or two an axis.
    dilation : int or tuple of int
        Spacing of the window's elements.
    ceil_mode : bool
        Whether a last window that begins in the volume counts though it does not end there.
    return_indices : bool
        Whether to return also where in its volume each maximum stands (Int64).
    pad_mode : str
        ``"same"``, ``"valid"`` or ``"pad"``, as of ``conv3d``.

    Returns
    -------
    Tensor or tuple of Tensor
        ``[n, c, d', h', w']``.

    Raises
    ------
    ValueError
        If the window does not fit.
    """
    window = (kernel_size, stride, padding, dilation, pad_mode)
    return _prepare("max_pool3d", 3, x, window, return_indices, ceil_mode)
