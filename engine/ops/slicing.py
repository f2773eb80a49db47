"""Cutting pieces out of arrays by ranges, and putting them back for the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..shape import Aval, Dim, Shape, ShapeError, SymDim, shape_text
from ..tensor import Tensor
from .cast import TensorLike, as_tensor
from .registry import Call, GradContext, Grads, Host, View, op

Ends = tuple[Dim | None, ...]


def _cut(begin: Ends, end: Ends, strides: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(b, e, s) for b, e, s in zip(begin, end, strides, strict=True))


def cut_size(size: Dim, begin: Dim | None, end: Dim | None, stride: int) -> Dim:
    """Return how many positions of an axis of ``size`` a range has."""
    cut: Any = (size, begin, end)
    if not any(isinstance(item, SymDim) for item in cut):
        return len(range(cut[0])[cut[1] : cut[2] : stride])
    start: Dim = 0 if begin is None else begin
    stop: Dim = size if end is None else end
    if isinstance(start, int) and start < 0:
        start = start + size
    if isinstance(stop, int) and stop < 0:
        stop = stop + size
    if stride == -1 and begin is None and end is None:
        return size
    if stride < 0:
        raise ShapeError(
            f"strided_slice: size {size} is not known, so stride {stride} cannot cut it."
        )
    # A symbolic size is taken to be large enough for the range.
    return stop - start if stride == 1 else (stop - start + (stride - 1)) // stride


def _slice_rule(input: Aval, begin: Ends, end: Ends, strides: tuple[int, ...]) -> Aval:
    if not len(begin) == len(end) == len(strides) == input.ndim:
        raise ShapeError(
            f"strided_slice: begin, end and strides must name each of the {input.ndim} axes of"
            f" input {shape_text(input.shape)}."
        )
    sizes = zip(input.shape, begin, end, strides, strict=True)
    return Aval(tuple(cut_size(*item) for item in sizes), input.dtype)


def _slice_grad(ctx: GradContext) -> Grads:
    return (unslice(ctx.dout, ctx.inputs[0].shape, **ctx.attrs),)


@op(
    infer=_slice_rule,
    kernel=lambda input, begin, end, strides: input[_cut(begin, end, strides)],
    grad=_slice_grad,
    lowering=View(),
    category="array",
    inputs=("input",),
)
def strided_slice(
    input: TensorLike, begin: Sequence[Any], end: Sequence[Any], strides: Sequence[int] = ()
) -> Call:
    """Cut out a range of each axis.

    Parameters
    ----------
    input : Tensor
        Any shape.
    begin, end : tuple of int or None
        Range of each axis as in Python slices; axes not named are kept whole.
    strides : tuple of int
        Step of each axis, by default 1.

    Returns
    -------
    Tensor
        A view of the piece.
    """
    tensor = as_tensor(input)
    missing = len(tensor.shape) - len(begin)
    steps = tuple(strides) + (1,) * (len(tensor.shape) - len(strides))
    return (tensor,), {
        "begin": tuple(begin) + (None,) * missing,
        "end": tuple(end) + (None,) * missing,
        "strides": steps,
    }


def _unslice_kernel(
    input: np.ndarray, shape: Shape, begin: Ends, end: Ends, strides: tuple[int, ...]
) -> np.ndarray:
    whole = np.zeros(shape, input.dtype)  # pyright: ignore[reportArgumentType, reportCallIssue]
    whole[_cut(begin, end, strides)] = input
    return whole


def _unslice_grad(ctx: GradContext) -> Grads:
    attrs = ctx.attrs
    return (strided_slice(ctx.dout, attrs["begin"], attrs["end"], attrs["strides"]),)


@op(
    infer=lambda input, shape, begin, end, strides: Aval(shape, input.dtype),
    kernel=_unslice_kernel,
    grad=_unslice_grad,
    lowering=Host("writes a piece into zeros"),
    category="gradient",
    inputs=("input",),
)
def unslice(
    input: TensorLike, shape: Shape, begin: Ends, end: Ends, strides: tuple[int, ...]
) -> Call:
    """Put a piece back into zeros of ``shape``: what ``strided_slice`` cut out.

    Parameters
    ----------
    input : Tensor
        The piece.
    shape : tuple of int
        Shape of the whole.
    begin, end, strides : tuple
        As given to ``strided_slice``.

    Returns
    -------
    Tensor
        Zeros with the piece in its place.
    """
    return (as_tensor(input),), {
        "shape": tuple(shape), "begin": begin, "end": end, "strides": strides,
    }  # fmt: skip


def _assemble_kernel(*pieces: np.ndarray, shape: Shape, places: tuple[Any, ...]) -> np.ndarray:
    whole = np.zeros(shape, pieces[0].dtype)  # pyright: ignore[reportArgumentType, reportCallIssue]
    for piece, place in zip(pieces, places, strict=True):
        whole[tuple(slice(*item) for item in place)] += piece
    return whole


def _assemble_grad(ctx: GradContext) -> Grads:
    ranges = [tuple(zip(*place, strict=True)) for place in ctx.attrs["places"]]
    return tuple(strided_slice(ctx.dout, *item) for item in ranges)


@op(
    infer=lambda *pieces, shape, places: Aval(shape, pieces[0].dtype),
    kernel=_assemble_kernel,
    grad=_assemble_grad,
    lowering=Host("writes pieces into zeros"),
    category="gradient",
    inputs=("pieces",),
    variadic=True,
)
def assemble(pieces: Sequence[TensorLike], shape: Shape, places: tuple[Any, ...]) -> Call:
    """Put pieces that do not overlap into zeros of ``shape``: the sum of several ``unslice``.

    Parameters
    ----------
    pieces : sequence of Tensor
        The pieces.
    shape : tuple of int
        Shape of the whole.
    places : tuple
        For each piece and axis the range that it fills: begin, end and step.

    Returns
    -------
    Tensor
        Zeros with the pieces added in their places, so that -0.0 becomes 0.0.
    """
    return tuple(as_tensor(piece) for piece in pieces), {"shape": tuple(shape), "places": places}


def narrow(input: Tensor, axis: int, start: Dim, end: Dim) -> Tensor:
    """Return the range ``start..end`` of one axis."""
    ndim = len(input.shape)
    begin: list[Dim | None] = [None] * ndim
    stop: list[Dim | None] = [None] * ndim
    begin[axis], stop[axis] = start, end
    return strided_slice(input, tuple(begin), tuple(stop), (1,) * ndim)
