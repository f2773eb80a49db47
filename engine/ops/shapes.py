"""What a tensor is like: its shape, number of axes and elements; pieces cut by begin and size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import DType, int64
from ..shape import Aval, Dim, Shape, ShapeError, comparable, element_count, shape_text
from ..tensor import Tensor
from . import slicing
from .cast import TensorLike, as_tensor
from .declarations import composite
from .literals import constant
from .registry import Call, GradContext, Grads, Host, op
from .rules import normalize_axis, require_int, require_ndim


def shape(input_x: Tensor) -> Shape:
    """Return the sizes of the axes.

    Parameters
    ----------
    input_x : Tensor
        Any shape.

    Returns
    -------
    tuple of int
        One size an axis; symbols where a size is not known yet.
    """
    return tuple(as_tensor(input_x).shape)


def rank(input_x: Tensor) -> Tensor:
    """Return the number of axes.

    Parameters
    ----------
    input_x : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Int64 without axes.
    """
    return constant(np.asarray(len(as_tensor(input_x).shape), np.int64))


def size(input_x: Tensor) -> Dim:
    """Return the number of elements.

    Parameters
    ----------
    input_x : Tensor
        Any shape.

    Returns
    -------
    int
        The number; symbolic where a size is not known yet.
    """
    return element_count(as_tensor(input_x).shape)


def numel(input: Tensor) -> Dim:
    """Return the number of elements: ``size`` by its other name.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    int
        The number; symbolic where a size is not known yet.
    """
    return size(input)


def dtype(input_x: Tensor) -> DType:
    """Return the element type.

    Parameters
    ----------
    input_x : Tensor
        Any shape.

    Returns
    -------
    DType
        The type.
    """
    return as_tensor(input_x).dtype


def is_tensor(obj: object) -> bool:
    """Return whether an object is a Tensor (a Parameter is one).

    Parameters
    ----------
    obj : object
        Anything.

    Returns
    -------
    bool
        Whether it is.
    """
    return isinstance(obj, Tensor)


def _shape_kernel(input: np.ndarray) -> np.ndarray:
    return np.array(input.shape, np.int64)


@op(
    infer=lambda input: Aval((input.ndim,), int64),
    kernel=_shape_kernel,
    lowering=Host("the sizes are read when it runs"),
    category="array",
    primitive="TensorShape",
)
def tensor_shape(input: TensorLike) -> Call:
    """Return the sizes of the axes as a tensor.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Int64, one number an axis.
    """
    return (as_tensor(input),), {}


def _slice(input_x: Tensor, begin: tuple[Dim, ...], size: tuple[Dim, ...]) -> Tensor:
    end = tuple(None if n == -1 else start + n for start, n in zip(begin, size, strict=True))
    return slicing.strided_slice(input_x, begin, end, (1,) * len(begin))


@composite(_slice, category="array", inputs=("input_x",))
def slice(input_x: TensorLike, begin: Sequence[int], size: Sequence[int]) -> Call:
    """Cut out a piece by where it begins and how large it is.

    Parameters
    ----------
    input_x : Tensor
        Any shape.
    begin : tuple of int
        The first position along each axis, not negative.
    size : tuple of int
        The number of elements along each axis; -1 takes what is left.

    Returns
    -------
    Tensor
        A view of the piece.

    Raises
    ------
    ValueError
        If the piece does not lie within the input.
    """
    x = as_tensor(input_x)
    starts, counts = tuple(as_plain(begin)), tuple(as_plain(size))
    if not len(starts) == len(counts) == len(x.shape):
        raise ShapeError(
            f"slice: begin {starts} and size {counts} must name each of the {len(x.shape)} axes of"
            f" input_x {shape_text(x.shape)}."
        )
    for axis, (start, count, whole) in enumerate(zip(starts, counts, x.shape, strict=True)):
        known = comparable(start, count, whole)
        if known and not (start >= 0 and count >= -1 and start + max(count, 0) <= whole):
            raise ShapeError(
                f"slice: {count} elements from {start} on do not lie within axis {axis} of size"
                f" {whole}."
            )
    return (x,), {"begin": starts, "size": counts}


def as_plain(numbers: Any) -> Sequence[Any]:
    """Return numbers given as a sequence or a tensor as a sequence."""
    return numbers.tolist() if isinstance(numbers, Tensor) else numbers


def _reversed_kernel(
    x: np.ndarray, seq_lengths: np.ndarray, seq_dim: int, batch_dim: int
) -> np.ndarray:
    longest = x.shape[seq_dim]
    if seq_lengths.size and not (seq_lengths.min() >= 0 and seq_lengths.max() <= longest):
        raise ValueError(
            f"reverse_sequence: seq_lengths must lie in 0..{longest}, the size of axis {seq_dim}."
        )
    rows = np.moveaxis(x, (batch_dim, seq_dim), (0, 1))
    out = rows.copy()
    for number, length in enumerate(seq_lengths):
        out[number, :length] = rows[number, :length][::-1]
    return np.moveaxis(out, (0, 1), (batch_dim, seq_dim))


def _reversed_grad(ctx: GradContext) -> Grads:
    return reverse_sequence(ctx.dout, ctx.inputs[1], **ctx.attrs), None


@op(
    infer=lambda x, seq_lengths, seq_dim, batch_dim: x,
    kernel=_reversed_kernel,
    grad=_reversed_grad,
    lowering=Host("turns rows round up to lengths known only when it runs"),
    category="array",
    inputs=("x", "seq_lengths"),
)
def reverse_sequence(
    x: TensorLike, seq_lengths: TensorLike, seq_dim: int, batch_dim: int = 0
) -> Call:
    """Reverse the first elements of each sequence; those behind its length stay.

    Parameters
    ----------
    x : Tensor
        At least two axes.
    seq_lengths : Tensor
        Integers ``[n]``: the length of each sequence.
    seq_dim : int
        The axis of the sequences' elements.
    batch_dim : int
        The axis of the sequences, of size n.

    Returns
    -------
    Tensor
        The shape of ``x``.

    Raises
    ------
    ValueError
        If the axes are the same or a length is out of range.
    """
    tensor, lengths = as_tensor(x), as_tensor(seq_lengths)
    require_int("reverse_sequence", "seq_lengths", lengths.aval)
    require_ndim("reverse_sequence", "seq_lengths", lengths.aval, 1)
    ndim = len(tensor.shape)
    along = normalize_axis("reverse_sequence", seq_dim, ndim)
    across = normalize_axis("reverse_sequence", batch_dim, ndim)
    if along == across or lengths.shape[0] != tensor.shape[across]:
        raise ShapeError(
            f"reverse_sequence: seq_dim {seq_dim} and batch_dim {batch_dim} must be two axes, and"
            f" seq_lengths {shape_text(lengths.shape)} as many as {tensor.shape[across]} sequences."
        )
    return (tensor, lengths), {"seq_dim": along, "batch_dim": across}
