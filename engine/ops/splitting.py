"""Cutting a tensor along an axis into several."""

from __future__ import annotations

from collections.abc import Sequence

from ..shape import Dim, ShapeError, shape_text
from ..tensor import Tensor
from . import slicing
from .array import squeeze
from .cast import TensorLike, as_tensor
from .declarations import composite
from .registry import Call
from .rules import normalize_axis

Sections = int | Sequence[int]


def _pieces(input: Tensor, sizes: tuple[Dim, ...], axis: int) -> tuple[Tensor, ...]:
    start: Dim = 0
    found = []
    for size in sizes:
        found.append(slicing.narrow(input, axis, start, start + size))
        start = start + size
    return tuple(found)


def _known_size(name: str, tensor: Tensor, axis: int) -> int:
    size = tensor.shape[axis]
    if not isinstance(size, int):
        raise ShapeError(
            f"{name}: the size {size} of axis {axis} is not known yet, so the number of pieces is"
            " not; give the sizes of all pieces to split, or another axis."
        )
    return size


@composite(_pieces, category="array", inputs=("tensor",))
def split(tensor: TensorLike, split_size_or_sections: Sections, axis: int = 0) -> Call:
    """Cut a tensor along an axis into pieces.

    Parameters
    ----------
    tensor : Tensor
        Any shape.
    split_size_or_sections : int or sequence of int
        The size of each piece (the last may be smaller), or the sizes of all.
    axis : int
        The axis to cut.

    Returns
    -------
    tuple of Tensor
        The pieces, views.

    Raises
    ------
    ValueError
        If the sizes do not add up to the axis.
    """
    x = as_tensor(tensor)
    at = normalize_axis("split", axis, len(x.shape))
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step < 1:
            raise ShapeError(f"split: split_size_or_sections must be positive, it is {step}.")
        size = _known_size("split", x, at)
        sizes = [min(step, size - start) for start in range(0, size, step)] or [0]
    else:
        sizes = list(split_size_or_sections)
        if sum(sizes) != x.shape[at] or any(isinstance(n, int) and n < 0 for n in sizes):
            raise ShapeError(
                f"split: sections {sizes} add up to {sum(sizes)}, axis {axis} has size"
                f" {x.shape[at]}."
            )
    return (x,), {"sizes": tuple(sizes), "axis": at}


def _sections(name: str, input: Tensor, sections: Sections, axis: int) -> Call:
    size = _known_size(name, input, axis)
    if isinstance(sections, int):
        if sections < 1:
            raise ShapeError(f"{name}: the number of sections must be positive, it is {sections}.")
        short, longer = divmod(size, sections)
        sizes = [short + 1] * longer + [short] * (sections - longer)
    else:
        ends = [min(max(at + size if at < 0 else at, 0), size) for at in (*sections, size)]
        ends[-1] = size
        starts = [0, *ends[:-1]]
        sizes = [max(end - start, 0) for start, end in zip(starts, ends, strict=True)]
        if sum(sizes) != size:
            raise ShapeError(f"{name}: indices {tuple(sections)} must rise.")
    return (input,), {"sizes": tuple(sizes), "axis": axis}


@composite(_pieces, category="array", inputs=("input",), method=True)
def tensor_split(input: TensorLike, indices_or_sections: Sections, axis: int = 0) -> Call:
    """Cut a tensor along an axis into pieces of nearly equal sizes, or at given places.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    indices_or_sections : int or sequence of int
        The number of pieces (the first ones are longer by one where it does not divide the
        axis), or where to cut.
    axis : int
        The axis to cut.

    Returns
    -------
    tuple of Tensor
        The pieces, views.

    Raises
    ------
    ValueError
        If the number is not positive or the indices fall.
    """
    x = as_tensor(input)
    at = normalize_axis("tensor_split", axis, len(x.shape))
    return _sections("tensor_split", x, indices_or_sections, at)


def _checked_sections(name: str, input: TensorLike, sections: Sections, axis: int) -> Call:
    x = as_tensor(input)
    if len(x.shape) <= axis:
        raise ShapeError(
            f"{name}: input {shape_text(x.shape)} must have at least {max(axis + 1, 1)} axes."
        )
    return _sections(name, x, sections, axis)


@composite(_pieces, category="array", inputs=("input",), method=True)
def hsplit(input: TensorLike, indices_or_sections: Sections) -> Call:
    """Cut a tensor along its second axis, or the only one, as ``tensor_split`` does.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    indices_or_sections : int or sequence of int
        The number of pieces, or where to cut.

    Returns
    -------
    tuple of Tensor
        The pieces, views.
    """
    x = as_tensor(input)
    return _checked_sections("hsplit", x, indices_or_sections, 0 if len(x.shape) == 1 else 1)


@composite(_pieces, category="array", inputs=("input",), method=True)
def vsplit(input: TensorLike, indices_or_sections: Sections) -> Call:
    """Cut a tensor along its first axis, as ``tensor_split`` does.

    Parameters
    ----------
    input : Tensor
        At least two axes.
    indices_or_sections : int or sequence of int
        The number of pieces, or where to cut.

    Returns
    -------
    tuple of Tensor
        The pieces, views.
    """
    x = as_tensor(input)
    if len(x.shape) < 2:
        raise ShapeError(f"vsplit: input {shape_text(x.shape)} must have at least two axes.")
    return _checked_sections("vsplit", x, indices_or_sections, 0)


@composite(_pieces, category="array", inputs=("input",), method=True)
def dsplit(input: TensorLike, indices_or_sections: Sections) -> Call:
    """Cut a tensor along its third axis, as ``tensor_split`` does.

    Parameters
    ----------
    input : Tensor
        At least three axes.
    indices_or_sections : int or sequence of int
        The number of pieces, or where to cut.

    Returns
    -------
    tuple of Tensor
        The pieces, views.
    """
    return _checked_sections("dsplit", input, indices_or_sections, 2)


@composite(_pieces, category="array", inputs=("input",), method=True)
def chunk(input: TensorLike, chunks: int, axis: int = 0) -> Call:
    """Cut a tensor along an axis into at most ``chunks`` pieces of one size.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    chunks : int
        The number of pieces; there are fewer where the size, rounded up, fills the axis earlier.
    axis : int
        The axis to cut.

    Returns
    -------
    tuple of Tensor
        The pieces, views; the last may be smaller.

    Raises
    ------
    ValueError
        If ``chunks`` is not positive.
    """
    x = as_tensor(input)
    at = normalize_axis("chunk", axis, len(x.shape))
    if chunks < 1:
        raise ShapeError(f"chunk: chunks must be positive, it is {chunks}.")
    size = _known_size("chunk", x, at)
    step = max(-(-size // chunks), 1)
    sizes = [min(step, size - start) for start in range(0, size, step)] or [0]
    return (x,), {"sizes": tuple(sizes), "axis": at}


def _unbind(input: Tensor, axis: int) -> tuple[Tensor, ...]:
    size = input.shape[axis]
    assert isinstance(size, int)
    return tuple(squeeze(slicing.narrow(input, axis, i, i + 1), axis) for i in range(size))


@composite(_unbind, category="array", inputs=("input",), primitive="Unstack")
def unbind(input: TensorLike, dim: int = 0) -> Call:
    """Take a tensor apart along an axis.

    Parameters
    ----------
    input : Tensor
        At least one axis, of a known size.
    dim : int
        The axis, which is left out of the parts.

    Returns
    -------
    tuple of Tensor
        One view for each position along the axis.
    """
    x = as_tensor(input)
    at = normalize_axis("unbind", dim, len(x.shape))
    _known_size("unbind", x, at)
    return (x,), {"axis": at}


def unstack(input_x: TensorLike, axis: int = 0) -> tuple[Tensor, ...]:
    """Take a tensor apart along an axis: ``unbind`` by MindSpore's other name.

    Parameters
    ----------
    input_x : Tensor
        At least one axis, of a known size.
    axis : int
        The axis, which is left out of the parts.

    Returns
    -------
    tuple of Tensor
        One view for each position along the axis.
    """
    return unbind(input_x, axis)
