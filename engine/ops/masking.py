"""Elements chosen by truth values or by being different: masks, what is not zero, unique ones.

The shape of some results depends on values. These read their input when they are called, so they
end a trace; the rest of their work, of known shape, is an op like others and has a gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import bool_, int64
from ..shape import Aval, broadcast_shapes, element_count
from ..tensor import Tensor, wrap
from . import logic
from .array import broadcast_to, identity, reshape
from .cast import TensorLike, as_tensor, cast_to
from .declarations import composite
from .index import gather
from .registry import Call, Host, op, own_trace
from .rules import normalize_axis, require_same_dtype


def values_of(name: str, tensor: Tensor) -> np.ndarray:
    """Return the values of a tensor on which the shape of a result depends.

    Raises
    ------
    TraceBreak
        In a trace, where there are no values.
    """
    if own_trace() is not None:
        # The compiler imports the ops, so it can be asked only once they are all there.
        from ..compiler.traced import TraceBreak

        raise TraceBreak(
            f"the shape of what {name} gives depends on values",
            "call it outside the compiled function, or keep all elements and choose with ops.where",
        )
    return tensor.data


def _require_mask(name: str, mask: Tensor) -> None:
    if mask.dtype is not bool_:
        raise TypeError(f"{name}: mask must be Bool, it is {mask.dtype}; compare, as in mask != 0.")


def _masked_fill(input_x: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    return logic.select(mask, value, input_x)


@composite(_masked_fill, category="array", inputs=("input_x", "mask", "value"), method=True)
def masked_fill(input_x: TensorLike, mask: TensorLike, value: TensorLike) -> Call:
    """Write one number where a mask is true.

    Parameters
    ----------
    input_x : Tensor
        Any shape.
    mask : Tensor
        Bool; broadcasts with ``input_x``.
    value : number or Tensor
        The number, or a tensor without axes.

    Returns
    -------
    Tensor
        The changed copy.

    Raises
    ------
    TypeError
        If the mask is not Bool.
    """
    x, chosen = as_tensor(input_x), as_tensor(mask)
    _require_mask("masked_fill", chosen)
    return (x, chosen, cast_to(as_tensor(value, x.dtype), x.dtype)), {}


def _masked_select(input: Tensor, positions: Tensor, shape: Any) -> Tensor:
    x = input if tuple(input.shape) == shape else broadcast_to(input, shape)
    return gather(reshape(x, (-1,)), positions, 0)


@composite(_masked_select, category="array", inputs=("input", "mask"), method=True)
def masked_select(input: TensorLike, mask: TensorLike) -> Call:
    """Return the elements where a mask is true, in one row.

    Parameters
    ----------
    input : Tensor
        Any shape.
    mask : Tensor
        Bool; broadcasts with ``input``.

    Returns
    -------
    Tensor
        One axis, as long as the mask is often true.

    Raises
    ------
    TypeError
        If the mask is not Bool.
    """
    x, chosen = as_tensor(input), as_tensor(mask)
    _require_mask("masked_select", chosen)
    shape = broadcast_shapes(tuple(x.shape), tuple(chosen.shape))
    true = np.broadcast_to(values_of("masked_select", chosen), shape)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return (x, wrap(np.flatnonzero(true))), {"shape": shape}


def _rank_kernel(mask: np.ndarray) -> np.ndarray:
    return (np.cumsum(mask) - 1).clip(0).reshape(mask.shape)


@op(
    infer=lambda mask: Aval(mask.shape, int64),
    kernel=_rank_kernel,
    lowering=Host("counts in NumPy"),
    category="gradient",
)
def rank_of_true(mask: TensorLike) -> Call:
    """Return how many elements before each are true.

    Parameters
    ----------
    mask : Tensor
        Bool.

    Returns
    -------
    Tensor
        Int64; elements that are not true have a number of no meaning.
    """
    return (as_tensor(mask),), {}


def _masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    shape = broadcast_shapes(tuple(input.shape), tuple(mask.shape))
    whole = mask if tuple(mask.shape) == shape else broadcast_to(mask, shape)
    values = gather(reshape(source, (-1,)), rank_of_true(whole), 0)
    return logic.select(whole, values, input)


@composite(_masked_scatter, category="array", inputs=("input", "mask", "source"), method=True)
def masked_scatter(input: TensorLike, mask: TensorLike, source: TensorLike) -> Call:
    """Write the elements of ``source``, one after the other, where a mask is true.

    Parameters
    ----------
    input : Tensor
        Any shape.
    mask : Tensor
        Bool; broadcasts with ``input``.
    source : Tensor
        At least as many elements as the mask has true ones, in the input's dtype.

    Returns
    -------
    Tensor
        The changed copy.

    Raises
    ------
    TypeError
        If the mask is not Bool or the dtypes differ.
    IndexError
        If the source has too few elements.
    """
    x, chosen, values = as_tensor(input), as_tensor(mask), as_tensor(source)
    _require_mask("masked_scatter", chosen)
    require_same_dtype("masked_scatter", input=x.aval, source=values.aval)
    return (x, chosen, values), {}


def _nonzero(positions: Tensor) -> Tensor:
    return identity(positions)


@composite(_nonzero, category="array", inputs=("input",))
def argwhere(input: TensorLike) -> Call:
    """Return the positions of the elements that are not zero.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Int64, one position a row: ``[count, axes]``.
    """
    found = np.argwhere(values_of("argwhere", as_tensor(input)))
    return (wrap(found.astype(np.int64)),), {}


def nonzero(input: TensorLike, *, as_tuple: bool = False) -> Any:
    """Return the positions of the elements that are not zero.

    Parameters
    ----------
    input : Tensor
        Any shape.
    as_tuple : bool
        Whether each axis has a tensor of its own.

    Returns
    -------
    Tensor or tuple of Tensor
        Int64 ``[count, axes]``, or one tensor ``[count]`` an axis.
    """
    found = argwhere(input)
    if not as_tuple:
        return found
    return tuple(gather(found, as_tensor(axis), 1) for axis in range(int(found.shape[1])))


def _unique(input: Tensor, first: Tensor, inverse: Tensor) -> tuple[Tensor, Tensor]:
    return gather(reshape(input, (-1,)), first, 0), identity(inverse)


@composite(_unique, category="array", inputs=("input", "first", "inverse"))
def unique(input: TensorLike) -> Call:
    """Return the different elements, the smallest first.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    tuple of Tensor
        The elements ``[count]``, and Int64 in the input's shape with the place of each among them.
    """
    x = as_tensor(input)
    values = values_of("unique", x)
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    places = inverse.reshape(values.shape).astype(np.int64)
    return (x, wrap(first.astype(np.int64)), wrap(places)), {}


def _runs(
    input: Tensor, first: Tensor, inverse: Tensor, counts: Tensor, axis: int, told: Any
) -> Any:
    values = gather(input, first, axis)
    more = (identity(inverse), identity(counts))
    asked = tuple(part for part, wanted in zip(more, told, strict=True) if wanted)
    return (values, *asked) if asked else values


@composite(_runs, category="array", inputs=("input", "first", "inverse", "counts"), method=True)
def unique_consecutive(
    input: TensorLike,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Call:
    """Keep the first of equal elements that follow each other.

    Parameters
    ----------
    input : Tensor
        Any shape.
    return_inverse : bool
        Whether to return for each element the place of its run.
    return_counts : bool
        Whether to return the length of each run.
    axis : int, optional
        The axis whose slices are compared; by default the elements are taken as one row.

    Returns
    -------
    tuple of Tensor
        What is kept, then Int64 tensors as asked for; what is kept alone where none are.
    """
    x = as_tensor(input)
    shape = tuple(x.shape)
    if axis is None:
        x = reshape(x, (element_count(shape),))
    at = normalize_axis("unique_consecutive", axis or 0, len(x.shape))
    rows = np.moveaxis(values_of("unique_consecutive", x), at, 0)
    rows = rows.reshape(len(rows), -1)
    starts = np.ones(len(rows), np.bool_)
    starts[1:] = (rows[1:] != rows[:-1]).any(1)
    first = np.flatnonzero(starts)
    inverse = (np.cumsum(starts) - 1).astype(np.int64)
    counts = np.diff(np.append(first, len(rows))).astype(np.int64)
    if axis is None:
        inverse = inverse.reshape(shape)  # pyright: ignore[reportArgumentType, reportCallIssue]
    attrs = {"axis": at, "told": (bool(return_inverse), bool(return_counts))}
    return (x, wrap(first.astype(np.int64)), wrap(inverse), wrap(counts)), attrs
