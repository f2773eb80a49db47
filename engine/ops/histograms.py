"""Counts of elements in bins, and the bins that elements fall into."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dtype import int32, int64
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor, wrap
from .cast import TensorLike, as_float, as_pair, as_tensor
from .registry import Call, Host, active_trace, op
from .rules import require_int, require_same_dtype


def _histc_kernel(input: np.ndarray, bins: int, min: float, max: float) -> np.ndarray:
    own = min == max and input.size > 0
    low, high = (float(input.min()), float(input.max())) if own else (min, max)
    if low == high:
        low, high = low - 1, high + 1
    counts, _ = np.histogram(input.astype(np.float64), bins, (low, high))
    return counts.astype(input.dtype)


@op(
    infer=lambda input, bins, min, max: Aval((bins,), input.dtype),
    kernel=_histc_kernel,
    lowering=Host("counts in NumPy"),
    category="reduce",
    inputs=("input",),
    primitive="Histogram",
    method=True,
)
def histc(input: TensorLike, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Call:
    """Count the elements in bins of equal width.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    bins : int
        Number of bins.
    min, max : float
        The range; equal ones stand for the elements' own. What is outside is not counted.

    Returns
    -------
    Tensor
        ``[bins]`` counts in the input's dtype.

    Raises
    ------
    ValueError
        If there is no bin or ``min`` is above ``max``.
    """
    if bins < 1 or min > max:
        raise ValueError(
            f"histc: bins must be positive and min at most max, they are {bins}, {min} and {max}."
        )
    return (as_float(input),), {"bins": int(bins), "min": float(min), "max": float(max)}


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count how often each whole number from zero on occurs.

    The length depends on the largest number, so that a static graph breaks here.

    Parameters
    ----------
    input : Tensor
        ``[n]`` integers, none negative.
    weights : Tensor, optional
        ``[n]``, what each counts; by default one.
    minlength : int
        The least number of counts.

    Returns
    -------
    Tensor
        ``[max(input) + 1]`` counts: Int32, or with weights their dtype.

    Raises
    ------
    ValueError
        If the input has not one axis or a number is negative, or the weights do not fit.
    TypeError
        If the input holds no integers.
    """
    numbers = as_tensor(input)
    require_int("bincount", "input", numbers.aval)
    if len(numbers.shape) != 1:
        raise ShapeError(f"bincount: input {shape_text(numbers.shape)} must have one axis.")
    if weights is not None and tuple(weights.shape) != tuple(numbers.shape):
        raise ShapeError(
            f"bincount: weights {shape_text(weights.shape)} must have the shape of input"
            f" {shape_text(numbers.shape)}."
        )
    values = _known("bincount", numbers)
    if values.size and values.min() < 0:
        raise ValueError(f"bincount: input holds {values.min()}; numbers must not be negative.")
    if weights is None:
        return wrap(np.bincount(values, minlength=minlength).astype(np.int32))
    counts = np.bincount(values, _known("bincount", weights), minlength)
    return wrap(counts.astype(weights.dtype.numpy))


def _known(name: str, tensor: Tensor) -> np.ndarray:
    """Return the values that a result's shape depends on; a trace breaks here."""
    if active_trace() is not None:
        from ..compiler.traced import TraceBreak, Traced

        if isinstance(tensor, Traced):
            raise TraceBreak(
                f"{name} gives a tensor whose shape depends on values",
                "call it outside of the compiled function",
            )
    return tensor.data


def _search_rule(sorted_sequence: Aval, values: Aval, out_int32: bool, right: bool) -> Aval:
    require_same_dtype("searchsorted", sorted_sequence=sorted_sequence, values=values)
    if sorted_sequence.ndim == 0:
        raise ShapeError("searchsorted: sorted_sequence must have at least one axis, it has none.")
    if sorted_sequence.ndim > 1 and sorted_sequence.shape[:-1] != values.shape[:-1]:
        raise ShapeError(
            f"searchsorted: sorted_sequence {shape_text(sorted_sequence.shape)} must have one axis"
            f" or the leading axes of values {shape_text(values.shape)}."
        )
    return Aval(values.shape, int32 if out_int32 else int64)


def _search_kernel(
    sorted_sequence: np.ndarray, values: np.ndarray, out_int32: bool, right: bool
) -> np.ndarray:
    side = "right" if right else "left"
    kind = np.int32 if out_int32 else np.int64
    if sorted_sequence.ndim < 2:
        return np.asarray(np.searchsorted(sorted_sequence, values, side)).astype(kind)
    rows = sorted_sequence.reshape(-1, sorted_sequence.shape[-1])
    wanted = values.reshape(-1, values.shape[-1])
    found = [np.searchsorted(row, want, side) for row, want in zip(rows, wanted, strict=True)]
    return np.array(found, kind).reshape(values.shape)


@op(
    infer=_search_rule,
    kernel=_search_kernel,
    lowering=Host("searches in NumPy"),
    category="reduce",
    inputs=("sorted_sequence", "values"),
    primitive="SearchSorted",
)
def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    *,
    out_int32: bool = False,
    right: bool = False,
) -> Call:
    """Return where values would be put into a sorted sequence.

    Parameters
    ----------
    sorted_sequence : Tensor
        Rising along its last axis: ``[n]``, or the leading axes of ``values`` and ``n``.
    values : Tensor or number
        Any shape; the dtypes promote.
    out_int32 : bool
        Whether positions are Int32 rather than Int64.
    right : bool
        Whether equal values come after the sequence's.

    Returns
    -------
    Tensor
        Positions in the shape of ``values``.

    Raises
    ------
    ValueError
        If the leading axes differ.
    """
    inputs = as_pair(sorted_sequence, values)
    attrs = {"out_int32": bool(out_int32), "right": bool(right)}
    _search_rule(inputs[0].aval, inputs[1].aval, **attrs)
    return inputs, attrs


def _bucket_kernel(input: np.ndarray, boundaries: tuple[float, ...], right: bool) -> np.ndarray:
    side = "right" if right else "left"
    return np.asarray(np.searchsorted(np.array(boundaries), input, side)).astype(np.int32)


@op(
    infer=lambda input, boundaries, right: Aval(input.shape, int32),
    kernel=_bucket_kernel,
    lowering=Host("searches in NumPy"),
    category="reduce",
    inputs=("input",),
)
def bucketize(input: TensorLike, boundaries: Sequence[float], *, right: bool = False) -> Call:
    """Return the number of the bucket that each element falls into.

    Parameters
    ----------
    input : Tensor
        Any shape.
    boundaries : sequence of float
        Rising boundaries between the buckets.
    right : bool
        Whether an element on a boundary belongs above it.

    Returns
    -------
    Tensor
        Int32 numbers from zero on.
    """
    bounds = boundaries.asnumpy().tolist() if isinstance(boundaries, Tensor) else boundaries
    return (as_tensor(input),), {
        "boundaries": tuple(float(bound) for bound in bounds), "right": bool(right),
    }  # fmt: skip
