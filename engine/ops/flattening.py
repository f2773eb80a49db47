"""Axes joined into one, and one split into several."""

from __future__ import annotations

from collections.abc import Sequence

from ..shape import Aval, Dim, Shape, ShapeError, element_count, shape_text
from .array import reshape_grad, transpose
from .cast import TensorLike, as_tensor
from .registry import Call, View, op
from .rules import as_shape, normalize_axis


def _flat_shape(shape: Shape, start_dim: int, end_dim: int) -> Shape:
    if not shape:
        return (1,)
    first = normalize_axis("flatten", start_dim, max(len(shape), 2))
    last = normalize_axis("flatten", end_dim, len(shape))
    if first >= len(shape):
        return (*shape, 1)
    if first > last:
        raise ShapeError(
            f"flatten: start_dim {start_dim} lies behind end_dim {end_dim}; give the first axis"
            " to join, then the last."
        )
    return (*shape[:first], element_count(shape[first : last + 1]), *shape[last + 1 :])


@op(
    infer=lambda input, start_dim, end_dim: Aval(
        _flat_shape(input.shape, start_dim, end_dim), input.dtype
    ),
    kernel=lambda input, start_dim, end_dim: input.reshape(
        _flat_shape(input.shape, start_dim, end_dim)
    ),
    grad=reshape_grad,
    lowering=View(),
    category="array",
    inputs=("input",),
)
def flatten(input: TensorLike, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Call:
    """Join the axes from ``start_dim`` to ``end_dim`` into one.

    Parameters
    ----------
    input : Tensor
        Any shape.
    order : str
        ``"C"`` with the last axis running fastest, ``"F"`` with the first.
    start_dim, end_dim : int
        The first and the last axis to join.

    Returns
    -------
    Tensor
        The elements with fewer axes; one axis more where ``start_dim`` is behind the last.

    Raises
    ------
    ValueError
        If ``order`` is another.
    """
    if order not in {"C", "F"}:
        raise ValueError(f"flatten: order must be 'C' or 'F', it is {order!r}.")
    tensor = as_tensor(input)
    if order == "F":
        tensor = transpose(tensor, tuple(range(len(tensor.shape)))[::-1])
    return (tensor,), {"start_dim": int(start_dim), "end_dim": int(end_dim)}


@op(
    infer=lambda input: Aval((element_count(input.shape),), input.dtype),
    kernel=lambda input: input.reshape(-1),
    grad=reshape_grad,
    lowering=View(),
    category="array",
    method=True,
)
def ravel(input: TensorLike) -> Call:
    """Put all elements in one row.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        One axis.
    """
    return (as_tensor(input),), {}


def _unflatten_shape(shape: Shape, axis: int, sizes: Shape) -> Shape:
    known = element_count([size for size in sizes if size != -1])
    holes = sum(size == -1 for size in sizes)
    whole = shape[axis]
    rest: Dim = whole // known if holes == 1 and known != 0 else 1
    full = tuple(rest if size == -1 else size for size in sizes)
    if holes > 1 or element_count(full) != whole:
        raise ShapeError(
            f"unflatten: unflattened_size {shape_text(sizes)} does not make up axis {axis} of size"
            f" {whole}; the sizes must multiply to it, and one may be -1."
        )
    return (*shape[:axis], *full, *shape[axis + 1 :])


@op(
    infer=lambda input, axis, unflattened_size: Aval(
        _unflatten_shape(input.shape, axis, unflattened_size), input.dtype
    ),
    kernel=lambda input, axis, unflattened_size: input.reshape(
        _unflatten_shape(input.shape, axis, unflattened_size)
    ),
    grad=reshape_grad,
    lowering=View(),
    category="array",
    inputs=("input",),
    method=True,
)
def unflatten(input: TensorLike, axis: int, unflattened_size: Sequence[int]) -> Call:
    """Split one axis into several.

    Parameters
    ----------
    input : Tensor
        Any shape.
    axis : int
        The axis to split.
    unflattened_size : tuple of int
        The new sizes; one may be -1 and is worked out.

    Returns
    -------
    Tensor
        A view with more axes.

    Raises
    ------
    ValueError
        If the sizes do not multiply to the axis.
    """
    tensor = as_tensor(input)
    at = normalize_axis("unflatten", axis, len(tensor.shape))
    return (tensor,), {"axis": at, "unflattened_size": as_shape(unflattened_size)}
