"""Tensors of several shapes brought together: stacked, broadcast, combined."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import promote
from ..shape import Aval, Shape, ShapeError, broadcast_shapes, shape_text
from ..tensor import Tensor
from .array import broadcast_to, reshape, reshape_grad
from .axes import each
from .cast import TensorLike, as_tensor, cast_to
from .creation import zeros
from .declarations import composite
from .index import gather
from .joining import concat, stack
from .literals import constant
from .registry import Call, View, op


def as_list(name: str, tensors: Sequence[TensorLike]) -> tuple[Tensor, ...]:
    """Return the tensors in the dtype in which they meet.

    Raises
    ------
    ValueError
        If there are none.
    """
    items = [as_tensor(item) for item in tensors]
    if not items:
        raise ValueError(f"{name}: no tensors are given; give at least one.")
    dtype = items[0].dtype
    for item in items[1:]:
        dtype = promote(dtype, item.dtype)
    return tuple(cast_to(item, dtype) for item in items)


def _shape_1d(shape: Shape) -> Shape:
    return shape or (1,)


def _shape_2d(shape: Shape) -> Shape:
    return (1,) * (2 - len(shape)) + shape


def _shape_3d(shape: Shape) -> Shape:
    if len(shape) < 2:
        return (1, *_shape_1d(shape), 1)
    return (*shape, 1) if len(shape) == 2 else shape


@op(
    infer=lambda inputs: Aval(_shape_1d(inputs.shape), inputs.dtype),
    kernel=np.atleast_1d,
    grad=reshape_grad,
    lowering=View(),
    category="array",
    fast=each,
)
def atleast_1d(inputs: TensorLike) -> Call:
    """Give a tensor without axes one of size 1.

    Parameters
    ----------
    inputs : Tensor
        Any shape; of a list each tensor is treated and a list returned.

    Returns
    -------
    Tensor
        A view with at least one axis.
    """
    return (as_tensor(inputs),), {}


@op(
    infer=lambda inputs: Aval(_shape_2d(inputs.shape), inputs.dtype),
    kernel=np.atleast_2d,
    grad=reshape_grad,
    lowering=View(),
    category="array",
    fast=each,
)
def atleast_2d(inputs: TensorLike) -> Call:
    """Put axes of size 1 in front until there are two.

    Parameters
    ----------
    inputs : Tensor
        Any shape; of a list each tensor is treated and a list returned.

    Returns
    -------
    Tensor
        A view with at least two axes.
    """
    return (as_tensor(inputs),), {}


@op(
    infer=lambda inputs: Aval(_shape_3d(inputs.shape), inputs.dtype),
    kernel=np.atleast_3d,
    grad=reshape_grad,
    lowering=View(),
    category="array",
    fast=each,
)
def atleast_3d(inputs: TensorLike) -> Call:
    """Put axes of size 1 around until there are three: ``[n]`` becomes ``[1, n, 1]``.

    Parameters
    ----------
    inputs : Tensor
        Any shape; of a list each tensor is treated and a list returned.

    Returns
    -------
    Tensor
        A view with at least three axes; ``[m, n]`` becomes ``[m, n, 1]``.
    """
    return (as_tensor(inputs),), {}


def _hstack(*tensors: Tensor) -> Tensor:
    items = [atleast_1d(item) for item in tensors]
    return concat(items, 0 if len(items[0].shape) == 1 else 1)


@composite(_hstack, category="array", inputs=("tensors",), variadic=True)
def hstack(tensors: Sequence[TensorLike]) -> Call:
    """Join tensors side by side: along the second axis, or the only one.

    Parameters
    ----------
    tensors : sequence of Tensor
        Equal shapes but for that axis; the dtypes promote.

    Returns
    -------
    Tensor
        All elements.
    """
    return as_list("hstack", tensors), {}


def _vstack(*tensors: Tensor) -> Tensor:
    return concat([atleast_2d(item) for item in tensors], 0)


@composite(_vstack, category="array", inputs=("inputs",), variadic=True)
def vstack(inputs: Sequence[TensorLike]) -> Call:
    """Put tensors below each other: along the first axis, rows of one axis as ``[1, n]``.

    Parameters
    ----------
    inputs : sequence of Tensor
        Equal shapes but for the first axis; the dtypes promote.

    Returns
    -------
    Tensor
        All elements.
    """
    return as_list("vstack", inputs), {}


row_stack = vstack


def _dstack(*tensors: Tensor) -> Tensor:
    return concat([atleast_3d(item) for item in tensors], 2)


@composite(_dstack, category="array", inputs=("inputs",), variadic=True)
def dstack(inputs: Sequence[TensorLike]) -> Call:
    """Put tensors behind each other: along the third axis.

    Parameters
    ----------
    inputs : sequence of Tensor
        Equal shapes but for the third axis; the dtypes promote.

    Returns
    -------
    Tensor
        All elements, with at least three axes.
    """
    return as_list("dstack", inputs), {}


def _column_stack(*tensors: Tensor) -> Tensor:
    columns = [
        item if len(item.shape) > 1 else reshape(item, (*_shape_1d(item.shape), 1))
        for item in tensors
    ]
    return concat(columns, 1)


@composite(_column_stack, category="array", inputs=("tensors",), variadic=True)
def column_stack(tensors: Sequence[TensorLike]) -> Call:
    """Join tensors as columns: those of one axis stand upright.

    Parameters
    ----------
    tensors : sequence of Tensor
        One or two axes, with the same first size; the dtypes promote.

    Returns
    -------
    Tensor
        All elements, along the second axis.
    """
    return as_list("column_stack", tensors), {}


def _block_diag(*inputs: Tensor) -> Tensor:
    items = [atleast_2d(item) for item in inputs]
    rows = []
    for number, item in enumerate(items):
        parts = [
            item if other == number else zeros((item.shape[0], block.shape[1]), item.dtype)
            for other, block in enumerate(items)
        ]
        rows.append(concat(parts, 1))
    return concat(rows, 0)


@composite(_block_diag, category="array", inputs=("inputs",), variadic=True)
def block_diag(*inputs: TensorLike) -> Call:
    """Put matrices along a diagonal, with zeros around them.

    Parameters
    ----------
    *inputs : Tensor
        Up to two axes each; the dtypes promote.

    Returns
    -------
    Tensor
        Two axes.

    Raises
    ------
    ValueError
        If one has more than two axes.
    """
    items = as_list("block_diag", _unpacked(inputs))
    for number, item in enumerate(items):
        if len(item.shape) > 2:
            raise ShapeError(
                f"block_diag: inputs[{number}] {shape_text(item.shape)} has more than two axes."
            )
    return items, {}


def _unpacked(inputs: tuple[Any, ...]) -> Sequence[Any]:
    """Return tensors given one by one, or as one sequence."""
    return inputs[0] if len(inputs) == 1 and isinstance(inputs[0], tuple | list) else inputs


def _broadcast_tensors(*inputs: Tensor) -> tuple[Tensor, ...]:
    shape = broadcast_shapes(*(tuple(item.shape) for item in inputs))
    return tuple(broadcast_to(item, shape) for item in inputs)


@composite(_broadcast_tensors, category="array", inputs=("inputs",), variadic=True)
def broadcast_tensors(*inputs: TensorLike) -> Call:
    """Bring tensors to the shape to which all of them broadcast.

    Parameters
    ----------
    *inputs : Tensor
        Shapes that broadcast.

    Returns
    -------
    tuple of Tensor
        Each tensor in the common shape.
    """
    items = tuple(as_tensor(item) for item in _unpacked(inputs))
    broadcast_shapes(*(tuple(item.shape) for item in items))
    return items, {}


def _meshgrid(*inputs: Tensor, indexing: str) -> tuple[Tensor, ...]:
    count = len(inputs)
    order = list(range(count))
    if indexing == "xy" and count > 1:
        order[0], order[1] = 1, 0
    sizes = [inputs[number].shape[0] for number in order]
    grids = []
    for number, item in enumerate(inputs):
        at = order.index(number)
        column = reshape(item, (*(1,) * at, item.shape[0], *(1,) * (count - at - 1)))
        grids.append(broadcast_to(column, tuple(sizes)))
    return tuple(grids)


def _coordinates(name: str, inputs: tuple[TensorLike, ...]) -> tuple[Tensor, ...]:
    items = as_list(name, _unpacked(inputs))
    for number, item in enumerate(items):
        if len(item.shape) != 1:
            raise ShapeError(
                f"{name}: inputs[{number}] {shape_text(item.shape)} must have one axis."
            )
    return items


@composite(_meshgrid, category="array", inputs=("inputs",), variadic=True)
def meshgrid(*inputs: TensorLike, indexing: str = "xy") -> Call:
    """Spread coordinates over a grid, one tensor an axis.

    Parameters
    ----------
    *inputs : Tensor
        The coordinates along each axis, ``[n_i]``.
    indexing : str
        ``"xy"`` gives ``[n_1, n_0, ...]``, the second coordinate downwards; ``"ij"`` gives
        ``[n_0, n_1, ...]``.

    Returns
    -------
    tuple of Tensor
        As many tensors as inputs, all of the grid's shape.

    Raises
    ------
    ValueError
        If ``indexing`` is another, or an input has not one axis.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', it is {indexing!r}.")
    return _coordinates("meshgrid", inputs), {"indexing": indexing}


def _cartesian_prod(*inputs: Tensor) -> Tensor:
    if len(inputs) == 1:
        return inputs[0]
    grids = _meshgrid(*inputs, indexing="ij")
    return stack([reshape(grid, (-1,)) for grid in grids], 1)


@composite(_cartesian_prod, category="array", inputs=("inputs",), variadic=True)
def cartesian_prod(*inputs: TensorLike) -> Call:
    """Pair every element of each tensor with every element of the others.

    Parameters
    ----------
    *inputs : Tensor
        One axis each.

    Returns
    -------
    Tensor
        ``[n_0 * n_1 * ..., count]``, the last input running fastest; of one input itself.
    """
    return _coordinates("cartesian_prod", inputs), {}


def _combinations(input: Tensor, r: int, with_replacement: bool) -> Tensor:
    size = input.shape[0]
    assert isinstance(size, int)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(size), r)), np.int64).reshape(-1, r)
    return gather(input, constant(rows), 0)


@composite(_combinations, category="array", inputs=("input",))
def combinations(input: TensorLike, r: int = 2, with_replacement: bool = False) -> Call:
    """List the ways to take ``r`` elements.

    Parameters
    ----------
    input : Tensor
        One axis.
    r : int
        How many elements to take.
    with_replacement : bool
        Whether an element may be taken again.

    Returns
    -------
    Tensor
        One combination a row, in the order of the elements: ``[count, r]``.

    Raises
    ------
    ValueError
        If the input has not one axis of a known size.
    """
    tensor = as_tensor(input)
    if len(tensor.shape) != 1 or not isinstance(tensor.shape[0], int):
        raise ShapeError(
            f"combinations: input {shape_text(tensor.shape)} must have one axis of a known size."
        )
    return (tensor,), {"r": int(r), "with_replacement": bool(with_replacement)}
