"""Orders of elements along an axis: sorted, the largest, the k-th, the most frequent."""

from __future__ import annotations

import numpy as np

from ..dtype import int64
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import slicing
from .array import reshape, squeeze
from .cast import TensorLike, as_tensor
from .declarations import composite
from .gathering import pick_elements
from .registry import Call, Composite, Host, op
from .rules import normalize_axis

Pair = tuple[Tensor, Tensor]


def _with_axis(name: str, input: TensorLike, axis: int) -> tuple[Tensor, int]:
    """Return a tensor with at least one axis, and the axis counted from the front."""
    tensor = as_tensor(input)
    ndim = len(tensor.shape)
    return tensor, normalize_axis(name, axis, max(ndim, 1))


def _argsort_kernel(input: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    if not input.ndim:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(input, axis, kind="stable")
    # Sorted backwards from the last element on, equal elements keep their order.
    turned = np.argsort(np.flip(input, axis), axis, kind="stable")
    return np.flip(input.shape[axis] - 1 - turned, axis)


@op(
    infer=lambda input, axis, descending: Aval(input.shape, int64),
    kernel=_argsort_kernel,
    lowering=Host("sorts in NumPy"),
    category="array",
    inputs=("input",),
    method=True,
)
def argsort(input: TensorLike, axis: int = -1, descending: bool = False) -> Call:
    """Return the positions of the elements in sorted order.

    Parameters
    ----------
    input : Tensor
        Any shape. NaN counts as the largest number.
    axis : int
        The axis along which to sort.
    descending : bool
        Whether the largest element comes first. Equal elements keep their order.

    Returns
    -------
    Tensor
        Int64, the shape of ``input``.
    """
    tensor, at = _with_axis("argsort", input, axis)
    return (tensor,), {"axis": at, "descending": bool(descending)}


def _picked(input: Tensor, order: Tensor, axis: int) -> Tensor:
    return pick_elements(input, order, axis) if input.shape else input


def _sort(input: Tensor, axis: int, descending: bool) -> Pair:
    order = argsort(input, axis, descending)
    return _picked(input, order, axis), order


@composite(_sort, category="array", inputs=("input",), method=True)
def sort(input: TensorLike, axis: int = -1, descending: bool = False) -> Call:
    """Sort the elements along an axis.

    Parameters
    ----------
    input : Tensor
        Any shape. NaN counts as the largest number.
    axis : int
        The axis along which to sort.
    descending : bool
        Whether the largest element comes first. Equal elements keep their order.

    Returns
    -------
    tuple of Tensor
        The sorted elements, and Int64 with the position each had.
    """
    tensor, at = _with_axis("sort", input, axis)
    return (tensor,), {"axis": at, "descending": bool(descending)}


def _msort(input: Tensor) -> Tensor:
    return _sort(input, 0, False)[0]


@composite(_msort, category="array")
def msort(input: TensorLike) -> Call:
    """Sort the elements along the first axis, the smallest first.

    Parameters
    ----------
    input : Tensor
        At least one axis.

    Returns
    -------
    Tensor
        The sorted elements.
    """
    tensor, _ = _with_axis("msort", input, 0)
    return (tensor,), {}


def _expand_top(input: Tensor, axis: int, k: int, largest: bool) -> Tensor:
    return slicing.narrow(argsort(input, axis, largest), axis, 0, k)


def _top_kernel(input: np.ndarray, axis: int, k: int, largest: bool) -> np.ndarray:
    found = _argsort_kernel(input, axis, largest)
    return found[(slice(None),) * axis + (slice(0, k),)]


@op(
    infer=lambda input, axis, k, largest: Aval(
        (*input.shape[:axis], k, *input.shape[axis + 1 :]), int64
    ),
    kernel=_top_kernel,
    lowering=Composite(_expand_top),
    category="gradient",
    inputs=("input",),
)
def top_positions(input: Tensor, axis: int, k: int, largest: bool) -> Call:
    """Return where the ``k`` largest elements along an axis stand, or the smallest.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    axis : int
        The axis.
    k : int
        How many.
    largest : bool
        Whether the largest are wanted.

    Returns
    -------
    Tensor
        Int64, with size ``k`` along the axis.
    """
    return (input,), {"axis": axis, "k": k, "largest": largest}


def _topk(input: Tensor, k: int, dim: int, largest: bool) -> Pair:
    if not input.shape:
        return input, argsort(input, dim, largest)
    order = top_positions(input, dim, k, largest)
    return _picked(input, order, dim), order


def _require_count(name: str, tensor: Tensor, axis: int, k: int, least: int) -> None:
    size = tensor.shape[axis] if tensor.shape else 1
    if k < least or (isinstance(size, int) and k > size):
        raise ShapeError(
            f"{name}: k must be in {least}..{size}, the size of axis {axis} of input"
            f" {shape_text(tensor.shape)}; it is {k}."
        )


@composite(_topk, category="array", inputs=("input",), primitive="TopK", method=True)
def topk(
    input: TensorLike,
    k: int,
    dim: int | None = None,
    largest: bool = True,
    sorted: bool = True,
) -> Call:
    """Find the ``k`` largest elements along an axis.

    Parameters
    ----------
    input : Tensor
        Any shape. NaN counts as the largest number.
    k : int
        How many elements.
    dim : int, optional
        The axis; by default the last.
    largest : bool
        Whether the largest are wanted, else the smallest.
    sorted : bool
        They are sorted in any case, the largest (or smallest) first; equal ones keep their order.

    Returns
    -------
    tuple of Tensor
        The elements, and Int64 with their positions.

    Raises
    ------
    ValueError
        If the axis has less than ``k`` elements.
    """
    tensor, at = _with_axis("topk", input, -1 if dim is None else dim)
    _require_count("topk", tensor, at, k, 0)
    return (tensor,), {"k": int(k), "dim": at, "largest": bool(largest)}


def _at_rank(input: Tensor, order: Tensor, axis: int, keepdim: bool) -> Pair:
    values = _picked(input, order, axis)
    return (values, order) if keepdim else (squeeze(values, axis), squeeze(order, axis))


def _kthvalue(input: Tensor, k: int, dim: int, keepdim: bool) -> Pair:
    order = argsort(input, dim)
    if not input.shape:
        return input, order
    return _at_rank(input, slicing.narrow(order, dim, k - 1, k), dim, keepdim)


@composite(_kthvalue, category="array", inputs=("input",))
def kthvalue(input: TensorLike, k: int, dim: int = -1, keepdim: bool = False) -> Call:
    """Find the ``k``-th smallest element along an axis.

    Parameters
    ----------
    input : Tensor
        Any shape. NaN counts as the largest number.
    k : int
        Which, counted from 1.
    dim : int
        The axis.
    keepdim : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    tuple of Tensor
        The elements, and Int64 with their positions.

    Raises
    ------
    ValueError
        If the axis has less than ``k`` elements.
    """
    tensor, at = _with_axis("kthvalue", input, dim)
    _require_count("kthvalue", tensor, at, k, 1)
    return (tensor,), {"k": int(k), "dim": at, "keepdim": bool(keepdim)}


def _mode_kernel(input: np.ndarray, axis: int) -> np.ndarray:
    rows = np.moveaxis(input, axis, -1)
    found = np.zeros((*rows.shape[:-1], 1), np.int64)
    for at in np.ndindex(*rows.shape[:-1]):
        _, first, counts = np.unique(rows[at], return_index=True, return_counts=True)
        found[at] = first[np.argmax(counts)]
    return np.moveaxis(found, -1, axis)


def _mode_rule(input: Aval, axis: int) -> Aval:
    return Aval((*input.shape[:axis], 1, *input.shape[axis + 1 :]), int64)


@op(
    infer=_mode_rule,
    kernel=_mode_kernel,
    lowering=Host("counts equal elements in NumPy"),
    category="gradient",
    inputs=("input",),
)
def most_frequent(input: TensorLike, axis: int) -> Call:
    """Return the first position of the element that is there most often.

    Parameters
    ----------
    input : Tensor
        At least one axis; of several such elements the smallest counts.
    axis : int
        The axis.

    Returns
    -------
    Tensor
        Int64, with size 1 along the axis.
    """
    return (as_tensor(input),), {"axis": axis}


def _mode(input: Tensor, axis: int, keepdims: bool) -> Pair:
    return _at_rank(input, most_frequent(input, axis), axis, keepdims)


@composite(_mode, category="array", inputs=("input",))
def mode(input: TensorLike, axis: int = -1, keepdims: bool = False) -> Call:
    """Return the most frequent element along an axis (of several the smallest) and where it is.

    Parameters
    ----------
    input : Tensor
        At least one element along the axis.
    axis : int
        The axis.
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    tuple of Tensor
        The elements, and Int64 with the first position of each.

    Raises
    ------
    ValueError
        If the axis is empty.
    """
    tensor, at = _with_axis("mode", input, axis)
    if not tensor.shape:
        tensor = reshape(tensor, (1,))
    if tensor.shape[at] == 0:
        raise ShapeError(f"mode: axis {axis} of input {shape_text(tensor.shape)} is empty.")
    return (tensor,), {"axis": at, "keepdims": bool(keepdims)}


def _unique_with_pad_kernel(x: np.ndarray, pad_num: float) -> tuple[np.ndarray, np.ndarray]:
    values, first, inverse = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    out = np.full(x.shape, pad_num, x.dtype)
    out[: len(values)] = values[order]
    return out, rank[inverse.reshape(-1)].astype(np.int64)


def _unique_with_pad_rule(x: Aval, pad_num: float) -> tuple[Aval, Aval]:
    return x, Aval(x.shape, int64)


@op(
    infer=_unique_with_pad_rule,
    kernel=_unique_with_pad_kernel,
    lowering=Host("compares elements in NumPy"),
    category="array",
    inputs=("x",),
    method=True,
)
def unique_with_pad(x: TensorLike, pad_num: float) -> Call:
    """Return the different elements in the order in which they come, filled up to the old length.

    Parameters
    ----------
    x : Tensor
        One axis.
    pad_num : number
        What stands behind the last of them.

    Returns
    -------
    tuple of Tensor
        The elements, and Int64 with the place of each element of ``x`` among them.

    Raises
    ------
    ValueError
        If ``x`` has not one axis.
    """
    tensor = as_tensor(x)
    if len(tensor.shape) != 1:
        raise ShapeError(f"unique_with_pad: x {shape_text(tensor.shape)} must have one axis.")
    return (tensor,), {"pad_num": pad_num}
