"""Tensor's methods that are called otherwise than an op, and those that other functions make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..dtype import dtype_of
from ..tensor import Tensor
from . import (
    arithmetic,
    array,
    clipping,
    creation,
    fast,
    flattening,
    logic,
    reduce,
    statistics,
    unbroadcast,
)
from .cast import as_tensor, cast
from .index import gather
from .random_numbers import uniform
from .registry import OPS


def _sizes(args: tuple[Any, ...]) -> Any:
    return args[0] if len(args) == 1 and args[0].__class__ in (tuple, list) else args


def _reshape(self: Tensor, *shape: Any) -> Tensor:
    """Arrange the elements in another shape, given as a tuple or as several sizes."""
    return array.reshape(self, _sizes(shape))


def _transpose(self: Tensor, *axes: Any) -> Tensor:
    """Put the axes in another order, given as a tuple or one by one; none reverses them."""
    order = _sizes(axes)
    return array.transpose(self, order if order else tuple(range(len(self.shape)))[::-1])


def _astype(self: Tensor, dtype: Any, copy: bool = True) -> Tensor:
    """Convert the elements to another type."""
    return self if not copy and self.dtype is dtype_of(dtype) else cast(self, dtype)


def _flatten(self: Tensor, order: str = "C", *, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Join axes into one, by default all."""
    return flattening.flatten(self, order, start_dim=start_dim, end_dim=end_dim)


def _extremum(value: Any, position: Any) -> Any:
    def method(
        self: Tensor, axis: Any = None, keepdims: bool = False, *, return_indices: bool = False
    ) -> Any:
        found = value(self, axis, keepdims)
        return (found, position(self, axis, keepdims)) if return_indices else found

    return method


def _type(self: Tensor, dtype: Any = None) -> Any:
    """Return the name of the element type, or the elements converted to another one."""
    return str(self.dtype) if dtype is None else cast(self, dtype)


def _clip(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Bring the elements into a range, whose ends may be tensors that broadcast."""
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        return clipping.clamp(self, min, max)
    above = self if min is None else arithmetic.maximum(self, min)
    return above if max is None else arithmetic.minimum(above, max)


def _fill(self: Tensor, value: float) -> Tensor:
    """Return a tensor of this shape and dtype, filled with one number."""
    return creation.full(tuple(self.shape), value, self.dtype)


def _itemset(self: Tensor, *args: Any) -> Tensor:
    """Return a copy with one element set: ``itemset(value)`` or ``itemset(index, value)``.

    An index that is one int counts the elements in their order in memory.
    """
    if len(args) not in (1, 2) or (len(args) == 1 and self.size != 1):
        raise ValueError(
            f"itemset of a tensor of shape {list(self.shape)} takes an index and a value;"
            " the value alone only where there is one element."
        )
    *place, value = args
    index = place[0] if place else 0
    if not isinstance(index, tuple):
        index = np.unravel_index(index, self.shape)
    changed = array.identity(self)
    changed[index] = value
    return changed


def _resize(self: Tensor, *new_shape: Any) -> Tensor:
    """Return a tensor of another size: elements in order, then zeros where more are asked for."""
    shape = tuple(int(size) for size in _sizes(new_shape))
    count = int(np.prod(shape))
    flat = array.reshape(self, (-1,))[:count]
    if flat.shape[0] < count:
        whole = creation.zeros((count,), self.dtype)
        whole[: flat.shape[0]] = flat
        flat = whole
    return array.reshape(flat, shape)


def _uniform(self: Tensor, from_: float = 0.0, to: float = 1.0) -> Tensor:
    """Return numbers drawn evenly between two bounds, in this tensor's shape and dtype."""
    drawn = uniform(tuple(self.shape), 0.0, 1.0)
    return cast(drawn * (to - from_) + from_, self.dtype)


def _where(self: Tensor, condition: Any, y: Any) -> Tensor:
    """Keep the elements where a condition holds, and take those of ``y`` elsewhere."""
    return logic.where(condition, self, y)


def _choose(self: Tensor, choices: Any) -> Tensor:
    """Choose from several tensors by these numbers, element by element."""
    found: Any = as_tensor(choices[-1])
    for number in range(len(choices) - 2, -1, -1):
        found = logic.where(logic.equal(self, number), as_tensor(choices[number]), found)
    return found


def _repeat(self: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    """Repeat each element along an axis; without one the elements in their order."""
    tensor = array.reshape(self, (-1,)) if axis is None else self
    counts = np.asarray(repeats.data if isinstance(repeats, Tensor) else repeats)
    places = np.repeat(np.arange(tensor.shape[axis or 0]), counts)
    return gather(tensor, as_tensor(places), axis or 0)


def _ptp(self: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return how far the elements spread: the largest minus the smallest."""
    return reduce.amax(self, axis, keepdims) - reduce.amin(self, axis, keepdims)


def _t(self: Tensor) -> Tensor:
    """Exchange the two axes of a matrix; tensors of fewer axes stay as they are."""
    if len(self.shape) > 2:
        raise ValueError(f"t() is for at most two axes, this tensor has {len(self.shape)}.")
    return _transpose(self)


def _with_value(value: Any, position: Any) -> Any:
    def method(self: Tensor, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        return position(self, axis, keep_dims), value(self, axis, keep_dims)

    method.__doc__ = "Return the position of the extreme along an axis, and the extreme."
    return method


def _new(value: int) -> Any:
    def method(self: Tensor, size: Any, dtype: Any = None) -> Tensor:
        return creation.full(size, value, dtype or self.dtype)

    method.__doc__ = f"Return {'zeros' if value == 0 else 'ones'} of a shape, in this dtype."
    return method


def _to_type(dtype: str) -> Any:
    def method(self: Tensor) -> Tensor:
        return cast(self, dtype)

    method.__doc__ = f"Convert the elements to {dtype_of(dtype)}."
    return method


_TYPES = {
    "half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16",
    "byte": "uint8", "short": "int16", "int": "int32", "long": "int64", "bool": "bool",
}  # fmt: skip

_METHODS: dict[str, Any] = {
    "reshape": _reshape,
    "view": _reshape,
    "transpose": _transpose,
    "permute": _transpose,
    "swapaxes": array.swapaxes,
    "T": property(fast.reversing(OPS["transpose"], _transpose)),
    "flatten": _flatten,
    "astype": _astype,
    "to": _astype,
    "type": _type,
    "type_as": lambda self, other: cast(self, other.dtype),
    "view_as": lambda self, other: array.reshape(self, tuple(other.shape)),
    "reshape_as": lambda self, other: array.reshape(self, tuple(other.shape)),
    "expand_as": lambda self, other: array.broadcast_to(self, tuple(other.shape)),
    "max": _extremum(reduce.amax, statistics.argmax),
    "min": _extremum(reduce.amin, statistics.argmin),
    "any": reduce.any,
    "all": reduce.all,
    "argmax_with_value": _with_value(reduce.amax, statistics.argmax),
    "argmin_with_value": _with_value(reduce.amin, statistics.argmin),
    "choose": _choose,
    "clip": _clip,
    "copy": array.identity,
    "fill": _fill,
    "itemset": _itemset,
    "nelement": Tensor.numel,
    "ptp": _ptp,
    "repeat": _repeat,
    "resize": _resize,
    "select": _where,
    "sum_to_size": lambda self, *size: unbroadcast.sum_to(self, _sizes(size)),
    "t": _t,
    "uniform": _uniform,
    "where": _where,
    "new_zeros": _new(0),
    "new_ones": _new(1),
    "new_full": lambda self, size, fill_value, dtype=None: creation.full(
        size, fill_value, dtype or self.dtype
    ),
}

AS_FUNCTIONS = (
    "absolute", "eq", "floor_divide", "ge", "gt", "inv", "le", "lt", "multiply", "ne", "negative",
    "sgn", "subtract", "true_divide",
    "approximate_equal", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "argwhere", "bernoulli", "bincount", "divide", "expand", "flip", "fliplr", "flipud", "fold",
    "gather", "ger", "hardshrink", "i0", "index_add", "inplace_update", "invert", "log_softmax",
    "moveaxis", "movedim", "msort", "nonzero", "remainder", "reverse", "reverse_sequence", "rot90",
    "searchsorted", "split", "strided_slice", "swapdims", "unbind", "unfold", "unique",
    "unsorted_segment_max", "unsorted_segment_min", "unsorted_segment_prod", "unsqueeze",
)  # fmt: skip
"""Methods that are the functions of the same name, the tensor first."""


def attach() -> None:
    """Give Tensor the methods of this module."""
    for name, method in _METHODS.items():
        setattr(Tensor, name, method)
    for name, dtype in _TYPES.items():
        setattr(Tensor, name, _to_type(dtype))


def attach_functions(functions: Mapping[str, Any]) -> None:
    """Give Tensor the methods that are functions of ``ops``."""
    for name in AS_FUNCTIONS:
        setattr(Tensor, name, functions[name])


attach()
