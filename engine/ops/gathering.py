"""Reading elements: by positions along an axis, by coordinates, by a table of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..shape import Dim, ShapeError, SymDim, broadcast_shapes, element_count, shape_text
from ..tensor import Tensor
from . import arithmetic, array, logic, slicing
from .array import broadcast_to, expand_dims, reshape, squeeze
from .cast import TensorLike, as_tensor
from .declarations import composite
from .index import gather, index
from .indexed_put import along, nd_layout
from .literals import constant
from .registry import Call
from .rules import normalize_axis, require_int, require_ndim


def as_positions(name: str, value: TensorLike) -> Tensor:
    """Return a tensor of integers.

    Raises
    ------
    TypeError
        If it is of another type.
    """
    tensor = as_tensor(value)
    require_int(name, "indices", tensor.aval)
    return tensor


def pick_elements(input: Tensor, index: Tensor, dim: int) -> Tensor:
    """Return the elements at positions along an axis that ``index`` names."""
    positions, layout = along(index, dim)
    return _at(input, positions, layout)


def _at(input: Tensor, positions: Sequence[Tensor], layout: tuple[int, ...]) -> Tensor:
    return index(input, positions, layout)


def _fitting(name: str, input: Tensor, index: Tensor, dim: int) -> None:
    """Raise ShapeError unless ``index`` lies within ``input`` but for one axis."""
    fits = len(index.shape) == len(input.shape) and all(
        axis == dim or not (isinstance(a, int) and isinstance(b, int)) or a <= b
        for axis, (a, b) in enumerate(zip(index.shape, input.shape, strict=True))
    )
    if not fits:
        raise ShapeError(
            f"{name}: index {shape_text(index.shape)} must have the axes of input"
            f" {shape_text(input.shape)} and be no larger but along axis {dim}."
        )


@composite(
    pick_elements, category="array", inputs=("input", "index"), primitive="GatherD", method=True
)
def gather_elements(input: TensorLike, dim: int, index: TensorLike) -> Call:
    """Pick single elements along an axis: ``out[i][j] = input[index[i][j]][j]`` for axis 0.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    dim : int
        The axis to pick from.
    index : Tensor
        Integers, with the input's axes, no larger than it but along ``dim``; negative ones count
        from the end.

    Returns
    -------
    Tensor
        The shape of ``index``.

    Raises
    ------
    IndexError
        If a position does not exist.
    ValueError
        If the shapes do not fit.
    """
    x, positions = as_tensor(input), as_positions("gather_elements", index)
    at = normalize_axis("gather_elements", dim, len(x.shape))
    _fitting("gather_elements", x, positions, at)
    return (x, positions), {"dim": at}


def gather_d(x: TensorLike, dim: int, index: TensorLike) -> Tensor:
    """Pick single elements along an axis: ``gather_elements`` by MindSpore's other name.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    dim : int
        The axis to pick from.
    index : Tensor
        Integers, with the input's axes.

    Returns
    -------
    Tensor
        The shape of ``index``.
    """
    return gather_elements(x, dim, index)


def _take_along_dim(input: Tensor, indices: Tensor, dim: int) -> Tensor:
    def but(shape: Any) -> tuple[Dim, ...]:
        return (*shape[:dim], 1, *shape[dim + 1 :])

    common = broadcast_shapes(but(input.shape), but(indices.shape))

    def spread(tensor: Tensor) -> Tensor:
        shape = (*common[:dim], tensor.shape[dim], *common[dim + 1 :])
        return tensor if tuple(tensor.shape) == shape else broadcast_to(tensor, shape)

    return pick_elements(spread(input), spread(indices), dim)


@composite(_take_along_dim, category="array", inputs=("input", "indices"), method=True)
def take_along_dim(input: TensorLike, indices: TensorLike, dim: int | None = None) -> Call:
    """Pick single elements along an axis, as ``argsort`` and ``argmax`` name them.

    Parameters
    ----------
    input : Tensor
        Any shape.
    indices : Tensor
        Integers; the other axes broadcast with the input's.
    dim : int, optional
        The axis; by default both are taken as one row.

    Returns
    -------
    Tensor
        The elements at the positions.
    """
    x, positions = as_tensor(input), as_positions("take_along_dim", indices)
    if dim is None:
        return (reshape(x, (-1,)), reshape(positions, (-1,))), {"dim": 0}
    if len(x.shape) != len(positions.shape):
        raise ShapeError(
            f"take_along_dim: indices {shape_text(positions.shape)} must have as many axes as"
            f" input {shape_text(x.shape)}."
        )
    return (x, positions), {"dim": normalize_axis("take_along_dim", dim, len(x.shape))}


def _gather_nd(input_x: Tensor, indices: Tensor) -> Tensor:
    return index(input_x, *nd_layout("gather_nd", indices, len(input_x.shape)))


@composite(_gather_nd, category="array", method=True)
def gather_nd(input_x: TensorLike, indices: TensorLike) -> Call:
    """Pick slices by their coordinates in the first axes.

    Parameters
    ----------
    input_x : Tensor
        At least one axis.
    indices : Tensor
        Integers ``[..., k]``: each row names one slice by its positions in the first k axes.

    Returns
    -------
    Tensor
        ``indices.shape[:-1]`` followed by the axes of ``input_x`` from k on.

    Raises
    ------
    IndexError
        If a position does not exist.
    """
    x, positions = as_tensor(input_x), as_positions("gather_nd", indices)
    nd_layout("gather_nd", positions, len(x.shape))
    return (x, positions), {}


def _take(input: Tensor, indices: Tensor, axis: int | None, mode: str) -> Tensor:
    if axis is None:
        input, axis = reshape(input, (-1,)), 0
    size = input.shape[axis]
    if mode == "wrap":
        indices = arithmetic.mod(indices, size)
    elif mode == "clip":
        zero = logic.select(logic.less(indices, 0), arithmetic.mul(indices, 0), indices)
        indices = arithmetic.minimum(zero, size - 1)
    return gather(input, indices, axis)


@composite(_take, category="array", inputs=("input", "indices"), method=True)
def take(
    input: TensorLike, indices: TensorLike, axis: int | None = None, mode: str = "clip"
) -> Call:
    """Pick slices along an axis, or elements of the whole row.

    Parameters
    ----------
    input : Tensor
        Any shape.
    indices : Tensor
        Integers of any shape.
    axis : int, optional
        The axis to pick from; by default the elements are taken as one row.
    mode : {"clip", "wrap", "raise"}
        What happens to positions out of range: the nearest one is taken, they go round the end,
        or IndexError is raised. With ``"clip"`` negative ones are 0.

    Returns
    -------
    Tensor
        The axis replaced by the shape of ``indices``.

    Raises
    ------
    IndexError
        If a position does not exist, under ``"raise"``.
    ValueError
        If the mode is another.
    """
    if mode not in ("clip", "wrap", "raise"):
        raise ValueError(f"take: mode must be 'clip', 'wrap' or 'raise', it is {mode!r}.")
    x, positions = as_tensor(input), as_positions("take", indices)
    at = None if axis is None else normalize_axis("take", axis, len(x.shape))
    size = element_count(x.shape) if at is None else x.shape[at]
    if isinstance(size, SymDim) and mode != "raise":
        raise ShapeError(
            f"take: size {size} is not known yet, so mode {mode!r} cannot bring positions into"
            " range; use mode='raise'."
        )
    return (x, positions), {"axis": at, "mode": mode}


def _index_select(input: Tensor, index: Tensor, axis: int) -> Tensor:
    return gather(input, index, axis)


@composite(_index_select, category="array", inputs=("input", "index"), method=True)
def index_select(input: TensorLike, axis: int, index: TensorLike) -> Call:
    """Pick slices along an axis.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    axis : int
        The axis to pick from.
    index : Tensor
        Integers ``[n]``.

    Returns
    -------
    Tensor
        The input with n slices along the axis.

    Raises
    ------
    IndexError
        If a position does not exist.
    """
    x, positions = as_tensor(input), as_positions("index_select", index)
    require_ndim("index_select", "index", positions.aval, 1)
    return (x, positions), {"axis": normalize_axis("index_select", axis, len(x.shape))}


def _select_ext(input: Tensor, dim: int, index: int) -> Tensor:
    return squeeze(slicing.narrow(input, dim, index, index + 1), dim)


@composite(_select_ext, category="array", inputs=("input",))
def select_ext(input: TensorLike, dim: int, index: int) -> Call:
    """Take the slice at one position of an axis.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    dim : int
        The axis, which is left out.
    index : int
        The position; negative counts from the end.

    Returns
    -------
    Tensor
        A view with one axis less.

    Raises
    ------
    IndexError
        If the position does not exist.
    """
    x = as_tensor(input)
    at = normalize_axis("select_ext", dim, len(x.shape))
    size = x.shape[at]
    if isinstance(size, int) and not -size <= index < size:
        raise IndexError(
            f"select_ext: position {index} does not exist, axis {dim} has size {size}."
        )
    begin: Dim = index + size if index < 0 else index
    return (x,), {"dim": at, "index": begin}


def _embedding(input: Tensor, weight: Tensor, padding_idx: int | None) -> Tensor:
    found = gather(weight, input, 0)
    if padding_idx is None:
        return found
    padded = expand_dims(logic.equal(input, padding_idx), -1)
    return logic.select(padded, array.stop_gradient(found), found)


@composite(_embedding, category="nn", inputs=("input", "weight"))
def embedding(input: TensorLike, weight: TensorLike, padding_idx: int | None = None) -> Call:
    """Look up rows of a table.

    Parameters
    ----------
    input : Tensor
        Integers of any shape.
    weight : Tensor
        The table, ``[rows, size]``.
    padding_idx : int, optional
        A row whose gradient is zero.

    Returns
    -------
    Tensor
        ``input.shape`` followed by ``size``.

    Raises
    ------
    IndexError
        If a row does not exist.
    """
    positions, table = as_positions("embedding", input), as_tensor(weight)
    require_ndim("embedding", "weight", table.aval, 2)
    if padding_idx is not None:
        padding_idx = normalize_axis("embedding", int(padding_idx), int(table.shape[0]))
    return (positions, table), {"padding_idx": padding_idx}


def _repeat(input: Tensor, repeats: Any, axis: int) -> Tensor:
    if isinstance(repeats, tuple):
        table = np.repeat(np.arange(len(repeats)), repeats).astype(np.int64)
        return gather(input, constant(table), axis)
    shape = tuple(input.shape)
    spread = broadcast_to(
        expand_dims(input, axis + 1), (*shape[: axis + 1], repeats, *shape[axis + 1 :])
    )
    return reshape(spread, (*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :]))


@composite(_repeat, category="array", inputs=("input",), method=True)
def repeat_interleave(
    input: TensorLike, repeats: int | Sequence[int] | Tensor, axis: int | None = None
) -> Call:
    """Repeat each element several times, one copy beside the other.

    Parameters
    ----------
    input : Tensor
        Any shape.
    repeats : int, sequence of int or Tensor
        How often; several numbers give each position along the axis its own.
    axis : int, optional
        The axis; by default the elements are taken as one row.

    Returns
    -------
    Tensor
        The repeated elements.

    Raises
    ------
    ValueError
        If a number is negative, or there are not as many as positions.
    """
    x = as_tensor(input)
    if axis is None:
        x = reshape(x, (-1,))
    at = normalize_axis("repeat_interleave", axis or 0, len(x.shape))
    if isinstance(repeats, Tensor):
        repeats = repeats.tolist()
    times = repeats if isinstance(repeats, int) else tuple(int(n) for n in repeats)
    if isinstance(times, tuple) and len(times) == 1:
        times = times[0]
    if isinstance(times, tuple) and len(times) != x.shape[at]:
        raise ShapeError(
            f"repeat_interleave: {len(times)} repeats are given for {x.shape[at]} positions of axis"
            f" {at}."
        )
    if min(times if isinstance(times, tuple) else (times,), default=0) < 0:
        raise ValueError(f"repeat_interleave: repeats must not be negative, they are {repeats}.")
    return (x,), {"repeats": times, "axis": at}


def repeat_elements(x: TensorLike, rep: int, axis: int = 0) -> Tensor:
    """Repeat each element along an axis: ``repeat_interleave`` by one number.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    rep : int
        How often.
    axis : int
        The axis.

    Returns
    -------
    Tensor
        The repeated elements.
    """
    return repeat_interleave(x, int(rep), axis)
