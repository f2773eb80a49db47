"""Transforms of arrays of any kind: types, classes, padding, slices, masks."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from ...dtype import dtype_of
from ..columns import filled, positive
from .base import ArrayTransform, Transform


class RelationalOp(IntEnum):
    """How `Mask` compares: equal, not equal, less, less or equal, greater, greater or equal."""

    EQ = 0
    NE = 1
    LT = 2
    LE = 3
    GT = 4
    GE = 5


_COMPARISONS = {
    RelationalOp.EQ: np.equal,
    RelationalOp.NE: np.not_equal,
    RelationalOp.LT: np.less,
    RelationalOp.LE: np.less_equal,
    RelationalOp.GT: np.greater,
    RelationalOp.GE: np.greater_equal,
}


class TypeCast(ArrayTransform):
    """Change the element type; text becomes the number that it spells.

    Parameters
    ----------
    output_type : DType or numpy dtype
        The type to change to.

    Raises
    ------
    TypeError
        If there is no such type.
    """

    def __init__(self, output_type: Any) -> None:
        self.output_type = np.dtype(np.str_) if output_type is str else dtype_of(output_type).numpy

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """Cast the array."""
        return array.astype(self.output_type)


class OneHot(ArrayTransform):
    """A class number as a row of ones and zeros.

    Parameters
    ----------
    num_classes : int
        How many classes; a label is in 0..num_classes-1.
    smoothing_rate : float
        The share that is taken from the class and spread over all classes, in 0..1.

    Raises
    ------
    ValueError
        If, when called, a label is outside.
    """

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0) -> None:
        self.num_classes = positive("OneHot", "num_classes", num_classes)
        if not 0 <= smoothing_rate <= 1:
            raise ValueError(f"OneHot: smoothing_rate must be in 0..1, it is {smoothing_rate}.")
        self.smoothing_rate = float(smoothing_rate)

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """Labels, integers of shape () or (1,), as rows of int32 (smoothed: float32)."""
        if array.dtype.kind not in "iu":
            raise TypeError(f"OneHot: labels must be integers, they are {array.dtype}.")
        if array.ndim == leading + 1 and array.shape[-1] == 1:
            array = array[..., 0]
        if array.ndim > leading + 1:
            raise ValueError(f"OneHot: a label must be one number, its shape is {array.shape}.")
        outside = (array < 0) | (array >= self.num_classes)
        if outside.any():
            raise ValueError(
                f"OneHot: label {array[outside].flat[0]} is outside 0..{self.num_classes - 1}."
            )
        hot = array[..., None] == np.arange(self.num_classes)
        if not self.smoothing_rate:
            return hot.astype(np.int32)
        spread = self.smoothing_rate / self.num_classes
        return np.where(hot, 1 - self.smoothing_rate + spread, spread).astype(np.float32)


class Fill(ArrayTransform):
    """Replace every element by one value.

    Parameters
    ----------
    fill_value : int, float, bool or str
        The value; it takes the array's element type.
    """

    def __init__(self, fill_value: Any) -> None:
        self.fill_value = fill_value

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """An array of the same shape, filled."""
        return filled(array.shape, self.fill_value, array.dtype, "Fill")


class PadEnd(Transform):
    """Pad an array at the ends of its axes.

    Parameters
    ----------
    pad_shape : list of int or None
        The shape to pad to; None keeps an axis.
    pad_value : int, float, bool or str, optional
        What to pad with; by default zero or empty text.

    Raises
    ------
    ValueError
        If, when called, the array has other axes or is larger.
    """

    def __init__(self, pad_shape: Sequence[int | None], pad_value: Any = None) -> None:
        self.pad_shape = list(pad_shape)
        for size in self.pad_shape:
            if size is not None:
                positive("PadEnd", "a size of pad_shape", size)
        self.pad_value = pad_value

    def __call__(self, value: Any) -> np.ndarray:
        """Pad one array."""
        array = np.asarray(value)
        if array.ndim != len(self.pad_shape):
            raise ValueError(
                f"PadEnd: the array has {array.ndim} axes, pad_shape {len(self.pad_shape)}."
            )
        pairs = zip(array.shape, self.pad_shape, strict=True)
        shape = tuple(size if goal is None else goal for size, goal in pairs)
        if any(goal < size for size, goal in zip(array.shape, shape, strict=True)):
            raise ValueError(f"PadEnd: an array of shape {array.shape} does not fit into {shape}.")
        result = filled(shape, self.pad_value, array.dtype, "PadEnd")
        result[tuple(slice(size) for size in array.shape)] = array
        return result


class Concatenate(Transform):
    """Join arrays along an axis, with something in front and behind.

    Parameters
    ----------
    axis : int
        The axis; 0 or -1 for text.
    prepend, append : ndarray, optional
        What comes in front of all and behind all.
    """

    def __init__(self, axis: int = 0, prepend: Any = None, append: Any = None) -> None:
        if isinstance(axis, bool) or not isinstance(axis, int):
            raise TypeError(f"Concatenate: axis must be an int, it is {axis!r}.")
        self.axis, self.prepend, self.append = axis, prepend, append

    def __call__(self, *values: Any) -> np.ndarray:
        """Join the arrays."""
        parts = [self.prepend, *values, self.append]
        arrays = [np.asarray(part) for part in parts if part is not None]
        return np.concatenate([np.atleast_1d(array) for array in arrays], self.axis)


class Duplicate(Transform):
    """Give a value twice, for two columns."""

    def __call__(self, value: Any) -> tuple[np.ndarray, np.ndarray]:
        """The value and a copy of it."""
        return np.array(value), np.array(value)


class Mask(ArrayTransform):
    """Whether each element compares to a constant so.

    Parameters
    ----------
    operator : RelationalOp
        How it is compared.
    constant : int, float, bool or str
        What it is compared to.
    dtype : DType
        Type of the result.
    """

    def __init__(self, operator: RelationalOp, constant: Any, dtype: Any = bool) -> None:
        self.operator = RelationalOp(operator)
        self.constant, self.dtype = constant, dtype_of(dtype).numpy

    def apply(self, array: np.ndarray, leading: int) -> np.ndarray:
        """The comparison's outcome, of the same shape."""
        return _COMPARISONS[self.operator](array, self.constant).astype(self.dtype)


class Slice(Transform):
    """Take a part of an array.

    Parameters
    ----------
    *slices : int, list of int, slice, None or Ellipsis
        For each axis what is kept: one index (the axis stays), some of them, a range, or all.
    """

    def __init__(self, *slices: Any) -> None:
        self.slices = slices

    def __call__(self, value: Any) -> np.ndarray:
        """The part of one array.

        Raises
        ------
        IndexError
            If the array has no such part.
        """
        array = np.asarray(value)
        if Ellipsis not in self.slices and len(self.slices) > array.ndim:
            raise IndexError(f"Slice: {len(self.slices)} slices for {array.ndim} axes.")
        at = self.slices.index(Ellipsis) if Ellipsis in self.slices else len(self.slices)
        for axis, chosen in enumerate(self.slices[:at]):
            array = _taken(array, axis, chosen)
        behind = self.slices[at + 1 :]
        for axis, chosen in enumerate(behind, array.ndim - len(behind)):
            array = _taken(array, axis, chosen)
        return array


def _taken(array: np.ndarray, axis: int, chosen: Any) -> np.ndarray:
    if chosen is None or isinstance(chosen, bool):
        return array
    if isinstance(chosen, slice):
        return array[(slice(None),) * axis + (chosen,)]
    numbers = [chosen] if isinstance(chosen, int) else list(chosen)
    return np.take(array, numbers, axis)


class Unique(Transform):
    """The different elements of an array, where each one stands, and how often it comes.

    The result is three arrays, so the map needs three output columns.
    """

    def __call__(self, value: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Different elements in order of appearance, index of each element int32, counts int32."""
        found, first, inverse, counts = np.unique(
            np.asarray(value).reshape(-1), return_index=True, return_inverse=True,
            return_counts=True,
        )  # fmt: skip
        order = np.argsort(first)
        rank = np.argsort(order)
        places = rank[inverse.reshape(-1)].astype(np.int32)
        return found[order], places, counts[order].astype(np.int32)
