"""Triangles and diagonals of matrices: taken, written, and the indices of their elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtype import DType, dtype_of, int64
from ..shape import Aval, Dim, ShapeError, shape_text
from ..tensor import Tensor
from . import array, index, logic, reduce
from .array import expand_dims
from .axes import movedim
from .cast import TensorLike, as_number, as_tensor
from .creation import ONCE, zeros_like
from .declarations import composite
from .literals import constant
from .registry import Call, GradContext, Grads, Host, op
from .rules import normalize_axis, same


def known(name: str, size: Dim) -> int:
    """Return a size that must be known while a graph is made."""
    if not isinstance(size, int):
        raise ShapeError(f"{name}: the size of the matrices must be known, it is {size}.")
    return size


def require_matrices(name: str, tensor: Tensor | Aval) -> None:
    """Raise ShapeError unless there are two axes or more."""
    if len(tensor.shape) < 2:
        raise ShapeError(
            f"{name}: input {shape_text(tensor.shape)} needs two axes or more: [..., rows,"
            " columns]."
        )


def _expand_triangle(lower: bool) -> Any:
    def expand(input: Tensor, diagonal: int) -> Tensor:
        rows, columns = (known("tril", size) for size in input.shape[-2:])
        full = np.ones((rows, columns), bool)
        kept = np.tril(full, diagonal) if lower else np.triu(full, diagonal)
        return logic.select(constant(kept), input, 0)

    return expand


def _lower_kernel(input: np.ndarray, diagonal: int) -> np.ndarray:
    return np.tril(input, diagonal)


def _upper_kernel(input: np.ndarray, diagonal: int) -> np.ndarray:
    return np.triu(input, diagonal)


@composite(
    _expand_triangle(True), category="linalg", infer=same, kernel=_lower_kernel,
    inputs=("input",), method=True,
)  # fmt: skip
def tril(input: TensorLike, diagonal: int = 0) -> Call:
    """Return the lower triangles of matrices, zeros elsewhere.

    Parameters
    ----------
    input : Tensor
        ``[..., rows, columns]``.
    diagonal : int
        The last diagonal that is kept: 0 is the main one, 1 the one above it.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If the input has fewer than two axes.
    """
    tensor = as_number(input)
    require_matrices("tril", tensor)
    return (tensor,), {"diagonal": int(diagonal)}


@composite(
    _expand_triangle(False), category="linalg", infer=same, kernel=_upper_kernel,
    inputs=("input",), method=True,
)  # fmt: skip
def triu(input: TensorLike, diagonal: int = 0) -> Call:
    """Return the upper triangles of matrices, zeros elsewhere.

    Parameters
    ----------
    input : Tensor
        ``[..., rows, columns]``.
    diagonal : int
        The first diagonal that is kept: 0 is the main one, 1 the one above it.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If the input has fewer than two axes.
    """
    tensor = as_number(input)
    require_matrices("triu", tensor)
    return (tensor,), {"diagonal": int(diagonal)}


def _expand_diagonal(input: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    count = len(input.shape)
    rest = [axis for axis in range(count) if axis not in (dim1, dim2)]
    moved = array.transpose(input, (dim1, dim2, *rest))
    rows, columns = (known("diagonal", size) for size in moved.shape[:2])
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    first = np.arange(length) + max(0, -offset)
    second = np.arange(length) + max(0, offset)
    layout = (0, 1, *([-1] * len(rest)))
    found = index.index(moved, (constant(first), constant(second)), layout)
    return array.transpose(found, (*range(1, count - 1), 0))


def _diagonal_kernel(input: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    return np.ascontiguousarray(np.diagonal(input, offset, dim1, dim2))


def _plane(name: str, tensor: Tensor, dim1: int, dim2: int) -> tuple[int, int]:
    require_matrices(name, tensor)
    first, second = (normalize_axis(name, int(dim), len(tensor.shape)) for dim in (dim1, dim2))
    if first == second:
        raise ShapeError(f"{name}: dim1 and dim2 both name axis {first}; name two axes.")
    return first, second


@composite(
    _expand_diagonal, category="linalg", kernel=_diagonal_kernel, inputs=("input",), method=True
)
def diagonal(input: TensorLike, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Call:
    """Return the diagonals of matrices.

    Parameters
    ----------
    input : Tensor
        Two axes or more.
    offset : int
        0 is the main diagonal, 1 the one above it, -1 the one below.
    dim1, dim2 : int
        The axes of rows and of columns.

    Returns
    -------
    Tensor
        The input without the two axes, the diagonal along a new last one.

    Raises
    ------
    ValueError
        If there are fewer than two axes, or both are one.
    """
    tensor = as_tensor(input)
    first, second = _plane("diagonal", tensor, dim1, dim2)
    return (tensor,), {"offset": int(offset), "dim1": first, "dim2": second}


def _expand_trace(input: Tensor, offset: int, axis1: int, axis2: int) -> Tensor:
    return reduce.sum(_expand_diagonal(input, offset, axis1, axis2), -1)


@composite(_expand_trace, category="linalg", inputs=("input",), method=True)
def trace(input: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Call:
    """Return the sums of the diagonals of matrices.

    Parameters
    ----------
    input : Tensor
        Two axes or more; Bool is counted in int64.
    offset : int
        0 is the main diagonal, 1 the one above it, -1 the one below.
    axis1, axis2 : int
        The axes of rows and of columns.

    Returns
    -------
    Tensor
        The input's shape without the two axes.

    Raises
    ------
    ValueError
        If there are fewer than two axes, or both are one.
    """
    tensor = as_number(input)
    first, second = _plane("trace", tensor, axis1, axis2)
    return (tensor,), {"offset": int(offset), "axis1": first, "axis2": second}


def _expand_diag(input: Tensor, diagonal: int) -> Tensor:
    if len(input.shape) == 1:
        return diag_embed(input, diagonal, 0, 1)
    return _expand_diagonal(input, diagonal, 0, 1)


@composite(_expand_diag, category="linalg", inputs=("input",), method=True)
def diag(input: TensorLike, diagonal: int = 0) -> Call:
    """Return a matrix with this diagonal, or the diagonal of this matrix.

    Parameters
    ----------
    input : Tensor
        One axis (a diagonal) or two (a matrix).
    diagonal : int
        0 is the main diagonal, 1 the one above it, -1 the one below.

    Returns
    -------
    Tensor
        Two axes, or one.

    Raises
    ------
    ValueError
        If the input has neither one nor two axes.
    """
    tensor = as_number(input)
    if len(tensor.shape) not in (1, 2):
        raise ShapeError(f"diag: input {shape_text(tensor.shape)} must have one axis or two.")
    return (tensor,), {"diagonal": int(diagonal)}


def _expand_diagflat(input: Tensor, offset: int) -> Tensor:
    return diag_embed(array.reshape(input, (-1,)), offset, 0, 1)


@composite(_expand_diagflat, category="linalg", inputs=("input",), method=True)
def diagflat(input: TensorLike, offset: int = 0) -> Call:
    """Return a matrix with all elements of the input as its diagonal.

    Parameters
    ----------
    input : Tensor
        Any shape.
    offset : int
        0 is the main diagonal, 1 the one above it, -1 the one below.

    Returns
    -------
    Tensor
        Two axes.
    """
    return (as_number(input),), {"offset": int(offset)}


def _triangle(find: Callable[..., Any]) -> dict[str, Any]:
    def kernel(row: int, col: int, offset: int, dtype: DType) -> np.ndarray:
        return np.stack(find(row, offset, col)).astype(dtype.numpy)

    return {
        "infer": lambda **attrs: Aval(kernel(**attrs).shape, attrs["dtype"]),
        "kernel": kernel, "lowering": ONCE, "category": "array", "inputs": (),
    }  # fmt: skip


@op(**_triangle(np.tril_indices))
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64) -> Call:
    """Return the positions on and below a diagonal.

    Parameters
    ----------
    row, col : int
        Size of the matrix.
    offset : int
        Which diagonal; positive ones lie above the main one.
    dtype : DType
        An integer type.

    Returns
    -------
    Tensor
        ``[2, count]``: row numbers, then column numbers.
    """
    return (), {"row": row, "col": col, "offset": offset, "dtype": dtype_of(dtype)}


@op(**_triangle(np.triu_indices))
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64) -> Call:
    """Return the positions on and above a diagonal.

    Parameters
    ----------
    row, col : int
        Size of the matrix.
    offset : int
        Which diagonal; positive ones lie above the main one.
    dtype : DType
        An integer type.

    Returns
    -------
    Tensor
        ``[2, count]``: row numbers, then column numbers.
    """
    return (), {"row": row, "col": col, "offset": offset, "dtype": dtype_of(dtype)}


def _fill_diagonal_kernel(input: np.ndarray, fill_value: float, wrap: bool) -> np.ndarray:
    out = input.copy()
    np.fill_diagonal(out, fill_value, wrap)
    return out


def _fill_diagonal_grad(ctx: GradContext) -> Grads:
    return (fill_diagonal(ctx.dout, 0, ctx.attrs["wrap"]),)


@op(
    infer=same,
    kernel=_fill_diagonal_kernel,
    grad=_fill_diagonal_grad,
    lowering=Host("writes a diagonal"),
    category="array",
    inputs=("input",),
    method=True,
)
def fill_diagonal(input: TensorLike, fill_value: float, wrap: bool = False) -> Call:
    """Write one number on the main diagonal.

    Parameters
    ----------
    input : Tensor
        At least two axes; of more than two all must have one size.
    fill_value : number
        The number.
    wrap : bool
        Whether the diagonal begins anew, after an empty row, below a tall matrix's end.

    Returns
    -------
    Tensor
        The changed copy.

    Raises
    ------
    ValueError
        If the input has less than two axes, or more with different sizes.
    """
    tensor = as_tensor(input)
    if len(tensor.shape) < 2 or (len(tensor.shape) > 2 and len({*tensor.shape}) > 1):
        raise ShapeError(
            f"fill_diagonal: input {shape_text(tensor.shape)} must have two axes, or more of one"
            " size."
        )
    return (tensor,), {"fill_value": fill_value, "wrap": bool(wrap)}


def _diag_embed(input: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    from .padding import pad

    size = input.shape[-1]
    assert isinstance(size, int)
    side = size + abs(offset)
    padded = pad(input, (0, side - size)) if offset else input
    mask = constant(np.eye(side, side, offset, dtype=np.bool_))
    spread = expand_dims(padded, -1 if offset >= 0 else -2)
    whole = logic.select(mask, spread, zeros_like(spread))
    ndim = len(whole.shape)
    return whole if (dim1, dim2) == (ndim - 2, ndim - 1) else movedim(whole, (-2, -1), (dim1, dim2))


@composite(_diag_embed, category="array", inputs=("input",), method=True)
def diag_embed(input: TensorLike, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Call:
    """Put the last axis on the diagonal of a plane of zeros.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    offset : int
        Which diagonal; positive ones lie above the main one.
    dim1, dim2 : int
        Where the plane's two axes stand in the result.

    Returns
    -------
    Tensor
        One axis more than the input.

    Raises
    ------
    ValueError
        If ``dim1`` and ``dim2`` are the same axis.
    """
    tensor = as_tensor(input)
    ndim = len(tensor.shape) + 1
    if ndim < 2 or not isinstance(tensor.shape[-1], int):
        raise ShapeError(
            f"diag_embed: input {shape_text(tensor.shape)} must end with an axis of a known size."
        )
    first, second = (normalize_axis("diag_embed", axis, ndim) for axis in (dim1, dim2))
    if first == second:
        raise ShapeError(f"diag_embed: dim1 {dim1} and dim2 {dim2} must be two axes.")
    return (tensor,), {"offset": int(offset), "dim1": first, "dim2": second}
