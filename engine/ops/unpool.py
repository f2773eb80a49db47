"""Max unpooling: maxima go back to where they stood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..shape import Aval, Dim, ShapeError, comparable, shape_text
from ..tensor import Tensor
from .cast import TensorLike, as_tensor
from .expansion import expanded
from .plane_indexing import plane_put
from .pool import unbatched
from .registry import Call, Composite, checked, op
from .rules import require_int, require_ndim
from .sliding import as_sizes


def _expand(x: Tensor, indices: Tensor, size: tuple[Dim, ...]) -> Tensor:
    return plane_put(x, indices, size)


def _rule(op_name: str, axes: int) -> Callable[..., Aval]:
    def infer(x: Aval, indices: Aval, size: tuple[Dim, ...]) -> Aval:
        require_ndim(op_name, "x", x, axes + 2)
        require_int(op_name, "indices", indices)
        if x.shape != indices.shape:
            raise ShapeError(
                f"{op_name}: x {shape_text(x.shape)} and indices {shape_text(indices.shape)} must"
                " have one shape, as max pooling with return_indices gives them."
            )
        return Aval((*x.shape[:2], *size), x.dtype)

    return infer


def _paddings(op_name: str, padding: Any, axes: int) -> tuple[int, ...]:
    each = (padding,) * axes if isinstance(padding, int) else tuple(padding)
    if len(each) != axes or min(each) < 0:
        raise ValueError(
            f"{op_name}: padding must be an int or {axes} of them, not negative, it is {padding!r}."
        )
    return each


def _size(
    op_name: str, x: Aval, windows: tuple[Any, Any, Any], output_size: Any, axes: int
) -> tuple[Dim, ...]:
    """Return the sizes before pooling: those given, else the smallest ones possible."""
    kernel = as_sizes(f"{op_name}: kernel_size", windows[0], axes)
    stride = kernel if windows[1] is None else as_sizes(f"{op_name}: stride", windows[1], axes)
    pads = _paddings(op_name, windows[2], axes)
    usual = tuple(
        (size - 1) * stride[i] + kernel[i] - 2 * pads[i] for i, size in enumerate(x.shape[2:])
    )
    if output_size is None:
        return usual
    given = tuple(output_size)[-axes:]
    fits = [
        not comparable(u) or -step < size - u < step
        for size, u, step in zip(given, usual, stride, strict=False)
    ]
    if len(tuple(output_size)) not in (axes, axes + 2) or len(fits) != axes or not all(fits):
        raise ValueError(
            f"{op_name}: output_size {output_size} must differ from {shape_text(usual)} by less"
            f" than the stride {stride}."
        )
    return given


def _prepare(
    op_name: str,
    axes: int,
    tensors: tuple[TensorLike, TensorLike],
    windows: tuple[Any, Any, Any],
    output_size: Any,
) -> Call:
    x, indices = (as_tensor(item) for item in tensors)
    require_ndim(op_name, "x", x.aval, axes + 2)
    size = _size(op_name, x.aval, windows, output_size, axes)
    return checked(_rule(op_name, axes), (x, indices), {"size": size})


@op(
    infer=_rule("max_unpool1d", 1),
    kernel=expanded(_expand),
    lowering=Composite(_expand),
    category="nn",
    inputs=("x", "indices"),
    primitive="MaxUnpool1D",
    fast=unbatched(1),
)
def max_unpool1d(
    x: TensorLike,
    indices: TensorLike,
    kernel_size: int | tuple[int],
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    output_size: tuple[int, ...] | None = None,
) -> Call:
    """Undo max pooling of sequences: maxima go back to where they stood, among zeros.

    Parameters
    ----------
    x : Tensor
        ``[n, c, length]`` or ``[c, length]``.
    indices : Tensor
        Where each element stands in the output, as ``max_pool1d`` returns it.
    kernel_size, stride, padding : int or tuple of int
        The windows of the pooling; the step is by default the size.
    output_size : tuple of int, optional
        The output's length, where the pooling left elements out.

    Returns
    -------
    Tensor
        ``[n, c, length']``; of two elements for one place the last stays.

    Raises
    ------
    ValueError
        If shapes or sizes do not fit.
    """
    return _prepare("max_unpool1d", 1, (x, indices), (kernel_size, stride, padding), output_size)


@op(
    infer=_rule("max_unpool2d", 2),
    kernel=expanded(_expand),
    lowering=Composite(_expand),
    category="nn",
    inputs=("x", "indices"),
    primitive="MaxUnpool2D",
    fast=unbatched(2),
)
def max_unpool2d(
    x: TensorLike,
    indices: TensorLike,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    output_size: tuple[int, ...] | None = None,
) -> Call:
    """Undo max pooling of images: maxima go back to where they stood, among zeros.

    Parameters
    ----------
    x : Tensor
        ``[n, c, h, w]`` or ``[c, h, w]``.
    indices : Tensor
        Where each element stands in its plane of the output, as ``max_pool2d`` returns it.
    kernel_size, stride, padding : int or tuple of int
        The windows of the pooling; the step is by default the size.
    output_size : tuple of int, optional
        The output's rows and columns, where the pooling left elements out.

    Returns
    -------
    Tensor
        ``[n, c, h', w']``; of two elements for one place the last stays.

    Raises
    ------
    ValueError
        If shapes or sizes do not fit.
    """
    return _prepare("max_unpool2d", 2, (x, indices), (kernel_size, stride, padding), output_size)


@op(
    infer=_rule("max_unpool3d", 3),
    kernel=expanded(_expand),
    lowering=Composite(_expand),
    category="nn",
    inputs=("x", "indices"),
    primitive="MaxUnpool3D",
    fast=unbatched(3),
)
def max_unpool3d(
    x: TensorLike,
    indices: TensorLike,
    kernel_size: int | tuple[int, int, int],
    stride: int | tuple[int, int, int] | None = None,
    padding: int | tuple[int, int, int] = 0,
    output_size: tuple[int, ...] | None = None,
) -> Call:
    """Undo max pooling of volumes: maxima go back to where they stood, among zeros.

    Parameters
    ----------
    x : Tensor
        ``[n, c, d, h, w]`` or ``[c, d, h, w]``.
    indices : Tensor
        Where each element stands in its volume of the output, as ``max_pool3d`` returns it.
    kernel_size, stride, padding : int or tuple of int
        The windows of the pooling; the step is by default the size.
    output_size : tuple of int, optional
        The output's sizes, where the pooling left elements out.

    Returns
    -------
    Tensor
        ``[n, c, d', h', w']``; of two elements for one place the last stays.

    Raises
    ------
    ValueError
        If shapes or sizes do not fit.
    """
    return _prepare("max_unpool3d", 3, (x, indices), (kernel_size, stride, padding), output_size)
