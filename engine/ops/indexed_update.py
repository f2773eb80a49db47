"""Writing single elements and slices: by positions along an axis, by several index tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtype import DType
from ..shape import ShapeError, broadcast_shapes, shape_text
from ..tensor import Tensor
from . import slicing
from .array import broadcast_to, reshape
from .cast import TensorLike, as_tensor, cast_to
from .declarations import composite
from .gathering import as_positions
from .indexed_put import REDUCTIONS, along, put
from .registry import Call
from .rules import normalize_axis, require_ndim

OTHER_NAMES = {
    "multiply": "mul", "prod": "mul", "sum": "add", "amax": "max", "amin": "min",
    "subtract": "sub",
}  # fmt: skip
"""Reductions by the names that other functions of MindSpore and PyTorch give them."""


def as_reduction(name: str, reduction: str | None) -> str:
    """Return a reduction by its own name.

    Raises
    ------
    ValueError
        If there is no such reduction.
    """
    found = OTHER_NAMES.get(reduction or "none", reduction or "none")
    if found not in REDUCTIONS:
        known = ", ".join(repr(key) for key in (*REDUCTIONS, *OTHER_NAMES))
        raise ValueError(f"{name}: there is no reduction {reduction!r}; use one of {known}.")
    return found


def _values(value: TensorLike, dtype: DType) -> Tensor:
    return cast_to(as_tensor(value, dtype), dtype)


def _scatter(input: Tensor, index: Tensor, src: Tensor, axis: int, reduction: str) -> Tensor:
    if not src.shape:
        src = broadcast_to(src, index.shape)
    elif tuple(src.shape) != tuple(index.shape):
        ndim = len(index.shape)
        src = slicing.strided_slice(src, (0,) * ndim, tuple(index.shape), (1,) * ndim)
    positions, layout = along(index, axis)
    return put(input, src, positions, layout, reduction)


def _scatter_call(
    name: str, input: TensorLike, axis: int, index: TensorLike, src: TensorLike, reduce: Any
) -> Call:
    x, positions = as_tensor(input), as_positions(name, index)
    values = _values(src, x.dtype)
    at = normalize_axis(name, axis, len(x.shape))
    ndim = len(positions.shape)
    if ndim != len(x.shape) or (values.shape and len(values.shape) != ndim):
        raise ShapeError(
            f"{name}: input {shape_text(x.shape)}, index {shape_text(positions.shape)} and src"
            f" {shape_text(values.shape)} must have as many axes."
        )
    for i, size in enumerate(positions.shape):
        limits = [x.shape[i]] if i != at else []
        limits += [values.shape[i]] if values.shape else []
        if any(isinstance(size, int) and isinstance(n, int) and size > n for n in limits):
            raise ShapeError(
                f"{name}: index {shape_text(positions.shape)} is larger on axis {i} than input"
                f" {shape_text(x.shape)} or src {shape_text(values.shape)}."
            )
    return (x, positions, values), {"axis": at, "reduction": as_reduction(name, reduce)}


@composite(_scatter, category="array", inputs=("input", "index", "src"), method=True)
def scatter(
    input: TensorLike, axis: int, index: TensorLike, src: TensorLike, reduce: str | None = None
) -> Call:
    """Write values to positions along an axis: ``out[index[i][j]][j] = src[i][j]`` for axis 0.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    axis : int
        The axis along which the positions run.
    index : Tensor
        Integers, as many axes as the input and no larger but along ``axis``.
    src : Tensor or number
        The values; of a larger tensor the part of the size of ``index``.
    reduce : {"none", "add", "sub", "mul", "div", "max", "min"}, optional
        How a value meets the element; by default it takes its place. Without ``reduce`` the
        last of several values for one position stays.

    Returns
    -------
    Tensor
        The changed copy.

    Raises
    ------
    IndexError
        If a position does not exist.
    ValueError
        If the shapes do not fit or there is no such reduction.
    """
    return _scatter_call("scatter", input, axis, index, src, reduce)


@composite(_scatter, category="array", inputs=("input_x", "indices", "updates"))
def tensor_scatter_elements(
    input_x: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    axis: int = 0,
    reduction: str = "none",
) -> Call:
    """Write values to positions along an axis, as ``scatter`` does.

    Parameters
    ----------
    input_x : Tensor
        At least one axis.
    indices : Tensor
        Integers, as many axes as the input and no larger but along ``axis``.
    updates : Tensor
        The values, in the shape of ``indices``.
    axis : int
        The axis along which the positions run.
    reduction : {"none", "add", "sub", "mul", "div", "max", "min"}
        How a value meets the element.

    Returns
    -------
    Tensor
        The changed copy.

    Raises
    ------
    IndexError
        If a position does not exist.
    ValueError
        If the shapes do not fit or there is no such reduction.
    """
    return _scatter_call("tensor_scatter_elements", input_x, axis, indices, updates, reduction)


# ---- slices of one axis ----------------------------------------------------------------------


def _at_axis(axis: int, ndim: int) -> tuple[int, ...]:
    return tuple(0 if at == axis else -1 for at in range(ndim))


def _index_add(x: Tensor, indices: Tensor, y: Tensor, axis: int, reduction: str) -> Tensor:
    return put(x, y, [indices], _at_axis(axis, len(x.shape)), reduction)


def _slices_call(
    name: str, x: TensorLike, indices: TensorLike, y: TensorLike, axis: int, reduction: str
) -> Call:
    tensor, positions = as_tensor(x), as_positions(name, indices)
    require_ndim(name, "indices", positions.aval, 1)
    at = normalize_axis(name, axis, len(tensor.shape))
    values = _values(y, tensor.dtype)
    wanted = (*tensor.shape[:at], positions.shape[0], *tensor.shape[at + 1 :])
    if tuple(values.shape) != wanted:
        raise ShapeError(
            f"{name}: the values {shape_text(values.shape)} must be {shape_text(wanted)}: one slice"
            f" of x {shape_text(tensor.shape)} for each position."
        )
    return (tensor, positions, values), {"axis": at, "reduction": reduction}


@composite(_index_add, category="array", inputs=("x", "indices", "y"))
def index_add(
    x: TensorLike,
    indices: TensorLike,
    y: TensorLike,
    axis: int,
    use_lock: bool = True,
    check_index_bound: bool = True,
) -> Call:
    """Add slices to those at positions along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    indices : Tensor
        Integers ``[n]``; a position named twice takes both slices.
    y : Tensor
        The slices: as ``x``, with size n along the axis.
    axis : int
        The axis.
    use_lock, check_index_bound : bool
        Have no effect: one thread writes, and positions are always checked.

    Returns
    -------
    Tensor
        The changed copy.

    Raises
    ------
    IndexError
        If a position does not exist.
    """
    return _slices_call("index_add", x, indices, y, axis, "add")


def _index_fill(x: Tensor, index: Tensor, value: Tensor, axis: int) -> Tensor:
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    filled = broadcast_to(value, shape)
    return put(x, filled, [index], _at_axis(axis, len(x.shape)), "none")


@composite(_index_fill, category="array", inputs=("x", "index", "value"), method=True)
def index_fill(x: TensorLike, axis: int, index: TensorLike, value: TensorLike) -> Call:
    """Write one number into the slices at positions along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis.
    axis : int
        The axis.
    index : Tensor
        Integers ``[n]``.
    value : number or Tensor
        The number, or a tensor without axes.

    Returns
    -------
    Tensor
        The changed copy.

    Raises
    ------
    IndexError
        If a position does not exist.
    """
    tensor, positions = as_tensor(x), as_positions("index_fill", index)
    if not positions.shape:
        positions = reshape(positions, (1,))
    require_ndim("index_fill", "index", positions.aval, 1)
    number = _values(value, tensor.dtype)
    require_ndim("index_fill", "value", number.aval, 0)
    at = normalize_axis("index_fill", axis, len(tensor.shape))
    return (tensor, positions, number), {"axis": at}


@composite(_index_add, category="array", inputs=("x", "indices", "v"))
def inplace_update(x: TensorLike, v: TensorLike, indices: int | Sequence[int] | Tensor) -> Call:
    """Put rows in the place of those at positions along the first axis.

    Parameters
    ----------
    x : Tensor
        At least one axis; it stays as it is.
    v : Tensor
        The rows: as ``x``, with as many rows as positions.
    indices : int, sequence of int or Tensor
        The positions.

    Returns
    -------
    Tensor
        The changed copy.
    """
    return _slices_call("inplace_update", x, _row(indices), v, 0, "none")


@composite(_index_add, category="array", inputs=("x", "indices", "v"))
def inplace_add(x: TensorLike, v: TensorLike, indices: int | Sequence[int] | Tensor) -> Call:
    """Add rows to those at positions along the first axis.

    Parameters
    ----------
    x : Tensor
        At least one axis; it stays as it is.
    v : Tensor
        The rows: as ``x``, with as many rows as positions.
    indices : int, sequence of int or Tensor
        The positions.

    Returns
    -------
    Tensor
        The changed copy.
    """
    return _slices_call("inplace_add", x, _row(indices), v, 0, "add")


@composite(_index_add, category="array", inputs=("x", "indices", "v"))
def inplace_sub(x: TensorLike, v: TensorLike, indices: int | Sequence[int] | Tensor) -> Call:
    """Subtract rows from those at positions along the first axis.

    Parameters
    ----------
    x : Tensor
        At least one axis; it stays as it is.
    v : Tensor
        The rows: as ``x``, with as many rows as positions.
    indices : int, sequence of int or Tensor
        The positions.

    Returns
    -------
    Tensor
        The changed copy.
    """
    return _slices_call("inplace_sub", x, _row(indices), v, 0, "sub")


def _row(indices: int | Sequence[int] | Tensor) -> TensorLike:
    return [indices] if isinstance(indices, int) else indices


# ---- several index tensors -------------------------------------------------------------------


def _index_put(x: Tensor, values: Tensor, *indices: Tensor, accumulate: bool) -> Tensor:
    places = broadcast_shapes(*(tuple(item.shape) for item in indices))
    rest = tuple(x.shape[len(indices) :])
    layout = (*range(len(indices)), *(-1,) * len(rest))
    spread = broadcast_to(values, (*places, *rest))
    return put(x, spread, indices, layout, "add" if accumulate else "none")


@composite(
    _index_put, category="array", inputs=("x", "values", "indices"), primitive="IndexPut",
    method=True,
)  # fmt: skip
def index_put(
    x: TensorLike,
    indices: Sequence[TensorLike] | Tensor,
    values: TensorLike,
    accumulate: bool = False,
) -> Call:
    """Write values to positions given by one tensor for each of the first axes.

    Parameters
    ----------
    x : Tensor
        At least one axis; it stays as it is.
    indices : Tensor or sequence of Tensor
        Integers of shapes that broadcast; negative ones count from the end.
    values : Tensor
        Broadcasts to the positions followed by the other axes.
    accumulate : bool
        Whether values are added; by default they take the elements' place.

    Returns
    -------
    Tensor
        The changed copy.

    Raises
    ------
    IndexError
        If a position does not exist.
    ValueError
        If there are more index tensors than axes, or none.
    """
    tensor = as_tensor(x)
    given = [indices] if isinstance(indices, Tensor) else indices
    positions = [as_positions("index_put", item) for item in given]
    if not 1 <= len(positions) <= len(tensor.shape):
        raise ShapeError(
            f"index_put: {len(positions)} index tensors are given for the {len(tensor.shape)} axes"
            f" of x {shape_text(tensor.shape)}; give one for each of the first axes."
        )
    inputs = (tensor, _values(values, tensor.dtype), *positions)
    return inputs, {"accumulate": bool(accumulate)}
