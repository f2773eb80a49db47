"""Picking elements by integer positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import dtype_of, float32, int64
from ..shape import Aval, Dim, Shape, broadcast_shapes
from ..tensor import Tensor
from . import array, creation, logic
from .cast import TensorLike, as_tensor, cast_to
from .registry import Call, Composite, GradContext, Grads, Host, op
from .rules import normalize_axis, require_int

Layout = tuple[int, ...]
"""For each axis the number of the index tensor that picks from it, or -1 to keep it."""


# ---- gather ----------------------------------------------------------------------------------


def out_of_range(name: str, indices: np.ndarray, axis: int, size: int) -> IndexError:
    """Return the error that names a position which an axis of ``size`` does not have."""
    wrong = indices[(indices < -size) | (indices >= size)]
    held = f"position {wrong.flat[0]}" if wrong.size else "a position"
    return IndexError(
        f"{name}: the indices hold {held}, axis {axis} has size {size}; use {-size} to {size - 1}."
    )


def checked_key(name: str, shape: Sequence[int], indices: Any, layout: Layout) -> tuple[Any, ...]:
    """Return NumPy's index, after a check that every position exists."""
    for axis, number in enumerate(layout):
        if number >= 0:
            held, size = indices[number], shape[axis]
            if held.size and not (-size <= held.min() and held.max() < size):
                raise out_of_range(name, held, axis, size)
    return index_key(indices, layout)


def _gather_rule(params: Aval, indices: Aval, axis: int) -> Aval:
    require_int("gather", "input_indices", indices)
    at = normalize_axis("gather", axis, params.ndim)
    return Aval((*params.shape[:at], *indices.shape, *params.shape[at + 1 :]), params.dtype)


def _gather_kernel(params: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
    try:
        return np.take(params, indices, axis)
    except IndexError as error:
        raise out_of_range("gather", indices, axis, params.shape[axis]) from error


def _gather_grad(ctx: GradContext) -> Grads:
    params, indices = ctx.inputs
    axis = ctx.attrs["axis"]
    if not ctx.needs[0]:
        return None, None
    return scatter_sum(ctx.dout, indices, axis, params.shape[axis]), None


@op(
    infer=_gather_rule,
    kernel=_gather_kernel,
    grad=_gather_grad,
    lowering=Host("reads rows by positions known only when it runs"),
    category="array",
    inputs=("input_params", "input_indices"),
    primitive="Gather",
)
def gather(input_params: TensorLike, input_indices: TensorLike, axis: int = 0) -> Call:
    """Pick slices along an axis by position; with axis 0 it looks up rows of a table.

    Parameters
    ----------
    input_params : Tensor
        At least one axis.
    input_indices : Tensor
        Integers of any shape; negative ones count from the end.
    axis : int
        The axis to pick from.

    Returns
    -------
    Tensor
        ``input_params`` with the axis replaced by the shape of ``input_indices``.

    Raises
    ------
    IndexError
        If a position does not exist.
    TypeError
        If the indices are not integers.
    """
    params, indices = as_tensor(input_params), as_tensor(input_indices)
    require_int("gather", "input_indices", indices.aval)
    return (params, indices), {"axis": normalize_axis("gather", int(axis), len(params.shape))}


def _scatter_rule(dout: Aval, indices: Aval, axis: int, size: Dim) -> Aval:
    return Aval((*dout.shape[:axis], size, *dout.shape[axis + indices.ndim :]), dout.dtype)


def _scatter_kernel(dout: np.ndarray, indices: np.ndarray, axis: int, size: int) -> np.ndarray:
    lead, tail = dout.shape[:axis], dout.shape[axis + indices.ndim :]
    out = np.zeros((size, *lead, *tail), dout.dtype)
    rows = np.moveaxis(dout.reshape(*lead, indices.size, *tail), axis, 0)
    np.add.at(out, indices.reshape(-1), rows)
    return np.moveaxis(out, 0, axis)


def _scatter_grad(ctx: GradContext) -> Grads:
    return gather(ctx.dout, ctx.inputs[1], ctx.attrs["axis"]), None


@op(
    infer=_scatter_rule,
    kernel=_scatter_kernel,
    grad=_scatter_grad,
    lowering=Host("adds rows up at positions known only when it runs"),
    category="gradient",
    inputs=("dout", "indices"),
    primitive="UnsortedSegmentSum",
)
def scatter_sum(dout: TensorLike, indices: TensorLike, axis: int, size: Dim) -> Call:
    """Add slices up at their positions along an axis: the gradient of ``gather``.

    Parameters
    ----------
    dout : Tensor
        The slices.
    indices : Tensor
        Their positions.
    axis : int
        The axis.
    size : int
        Number of positions.

    Returns
    -------
    Tensor
        The sums.
    """
    return (as_tensor(dout), as_tensor(indices)), {"axis": axis, "size": size}


# ---- several index tensors -------------------------------------------------------------------


def index_rule(input: Aval, *indices: Aval, layout: Layout) -> Aval:
    """Return what is read at positions along the axes that ``layout`` names."""
    for number, aval in enumerate(indices):
        require_int("index", f"indices[{number}]", aval)
    picked = [axis for axis, number in enumerate(layout) if number >= 0]
    kept = [size for axis, size in enumerate(input.shape) if layout[axis] < 0]
    shape = broadcast_shapes(*(aval.shape for aval in indices))
    together = picked == list(range(picked[0], picked[-1] + 1))
    at = picked[0] if together else 0
    return Aval((*kept[:at], *shape, *kept[at:]), input.dtype)


def index_key(indices: Sequence[np.ndarray], layout: Layout) -> tuple[Any, ...]:
    """Return NumPy's index for positions along the axes that ``layout`` names."""
    return tuple(slice(None) if number < 0 else indices[number] for number in layout)


def _index_kernel(input: np.ndarray, *indices: np.ndarray, layout: Layout) -> np.ndarray:
    return input[checked_key("index", input.shape, indices, layout)]


def _index_grad(ctx: GradContext) -> Grads:
    x, *indices = ctx.inputs
    grad = None
    if ctx.needs[0]:
        grad = index_sum(ctx.dout, indices, tuple(x.shape), ctx.attrs["layout"])
    return grad, *([None] * len(indices))


@op(
    infer=index_rule,
    kernel=_index_kernel,
    grad=_index_grad,
    lowering=Host("reads elements by positions known only when it runs"),
    category="gradient",
    inputs=("input", "indices"),
)
def index(input: TensorLike, indices: Sequence[TensorLike], layout: Layout) -> Call:
    """Pick elements by one tensor of positions for each of several axes, as NumPy does.

    Parameters
    ----------
    input : Tensor
        Any shape.
    indices : sequence of Tensor
        Integers of shapes that broadcast.
    layout : tuple of int
        For each axis the number of its index tensor, or -1 to keep the axis.

    Returns
    -------
    Tensor
        The picked elements.

    Raises
    ------
    IndexError
        If a position does not exist.
    """
    return (as_tensor(input), *(as_tensor(item) for item in indices)), {"layout": layout}


def _index_sum_kernel(
    dout: np.ndarray, *indices: np.ndarray, shape: Shape, layout: Layout
) -> np.ndarray:
    whole = np.zeros(shape, dout.dtype)  # pyright: ignore[reportArgumentType, reportCallIssue]
    np.add.at(whole, index_key(indices, layout), dout)
    return whole


def _index_sum_grad(ctx: GradContext) -> Grads:
    _, *indices = ctx.inputs
    return index(ctx.dout, indices, ctx.attrs["layout"]), *([None] * len(indices))


@op(
    infer=lambda dout, *indices, shape, layout: Aval(shape, dout.dtype),
    kernel=_index_sum_kernel,
    grad=_index_sum_grad,
    lowering=Host("adds elements up at positions known only when it runs"),
    category="gradient",
    inputs=("dout", "indices"),
)
def index_sum(
    dout: TensorLike, indices: Sequence[TensorLike], shape: Shape, layout: Layout
) -> Call:
    """Add elements up at their positions in zeros of ``shape``: the gradient of ``index``.

    Parameters
    ----------
    dout : Tensor
        The elements.
    indices : sequence of Tensor
        Their positions.
    shape : tuple of int
        Shape of the result.
    layout : tuple of int
        As of ``index``.

    Returns
    -------
    Tensor
        The sums.
    """
    inputs = (as_tensor(dout), *(as_tensor(item) for item in indices))
    return inputs, {"shape": shape, "layout": layout}


# ---- one_hot ---------------------------------------------------------------------------------


def _one_hot_rule(
    indices: Aval, depth: int, on_value: float, off_value: float, axis: int, dtype: Any
) -> Aval:
    require_int("one_hot", "indices", indices)
    at = normalize_axis("one_hot", axis, indices.ndim + 1)
    return Aval((*indices.shape[:at], depth, *indices.shape[at:]), dtype)


def _one_hot_kernel(
    indices: np.ndarray, depth: int, on_value: float, off_value: float, axis: int, dtype: Any
) -> np.ndarray:
    kind = dtype.numpy.type
    hot = np.expand_dims(indices, axis) == _counted(depth, axis, indices.ndim + 1)
    return np.where(hot, kind(on_value), kind(off_value))


def _expand_one_hot(
    indices: Tensor, depth: int, on_value: float, off_value: float, axis: int, dtype: Any
) -> Tensor:
    ndim = len(indices.shape) + 1
    numbers = creation.arange(0, depth, 1, int64)
    at = normalize_axis("one_hot", axis, ndim)
    numbers = array.reshape(numbers, (1,) * at + (depth,) + (1,) * (ndim - at - 1))
    hot = logic.equal(cast_to(array.expand_dims(indices, axis), int64), numbers)
    on, off = (creation.full((), value, dtype) for value in (on_value, off_value))
    return logic.select(hot, on, off)


def _counted(depth: int, axis: int, ndim: int) -> np.ndarray:
    at = normalize_axis("one_hot", axis, ndim)
    return np.arange(depth).reshape((1,) * at + (depth,) + (1,) * (ndim - at - 1))


@op(
    infer=_one_hot_rule,
    kernel=_one_hot_kernel,
    lowering=Composite(_expand_one_hot),
    category="array",
    inputs=("indices",),
)
def one_hot(
    indices: TensorLike,
    depth: int,
    on_value: float | Tensor = 1,
    off_value: float | Tensor = 0,
    axis: int = -1,
    dtype: Any = None,
) -> Call:
    """Return one-hot vectors: each integer becomes a row with one number set.

    Parameters
    ----------
    indices : Tensor
        Integers of any shape; those outside ``0..depth-1`` set nothing.
    depth : int
        Length of the rows.
    on_value, off_value : number or Tensor
        Value at the position, and elsewhere; tensors have one element.
    axis : int
        Where the new axis stands.
    dtype : DType, optional
        Element type of the result; by default that of a tensor ``on_value``, else ``Float32``.

    Returns
    -------
    Tensor
        One axis more than ``indices``.

    Raises
    ------
    TypeError
        If the indices are not integers.
    """
    tensor = as_tensor(indices)
    require_int("one_hot", "indices", tensor.aval)
    kind = on_value.dtype if dtype is None and isinstance(on_value, Tensor) else dtype
    return (tensor,), {
        "depth": int(depth), "on_value": _number(on_value), "off_value": _number(off_value),
        "axis": normalize_axis("one_hot", axis, len(tensor.shape) + 1),
        "dtype": dtype_of(kind or float32),
    }  # fmt: skip


def _number(value: float | Tensor) -> Any:
    return value.item() if isinstance(value, Tensor) else value
