"""Tensor's operators, and those methods that are called otherwise than the op."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import arithmetic, array, fast, linalg, logic, math, reduce, statistics
from .cast import cast
from .registry import OPS


def _reversed(function: Any) -> Any:
    def operator(self: Tensor, other: Any) -> Tensor:
        return function(other, self)

    return operator


def _in_place(function: Any) -> Any:
    """Return an in-place operator: a Parameter takes the result, a tensor is replaced by it."""

    def operator(self: Tensor, other: Any) -> Tensor:
        result = function(self, other)
        take = getattr(self, "set_data", None)
        return result if take is None else take(result)

    return operator


def _comparison(function: Any) -> Any:
    """Return a comparison that leaves what is no number to Python, as in ``tensor == None``."""

    def operator(self: Tensor, other: Any) -> Any:
        if other is None or other.__class__ is str:
            return NotImplemented
        return function(self, other)

    return operator


_OPERATORS = {
    "add": arithmetic.add, "sub": arithmetic.sub, "mul": arithmetic.mul, "truediv": arithmetic.div,
    "floordiv": arithmetic.floor_div, "mod": arithmetic.mod, "pow": arithmetic.pow,
    "matmul": linalg.matmul,
}  # fmt: skip
_COMPARISONS = {
    "eq": logic.equal, "ne": logic.not_equal, "lt": logic.less, "le": logic.less_equal,
    "gt": logic.greater, "ge": logic.greater_equal,
}  # fmt: skip


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
    from ..dtype import dtype_of

    return self if not copy and self.dtype is dtype_of(dtype) else cast(self, dtype)


def _flatten(self: Tensor, order: str = "C", *, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Join axes into one, by default all."""
    return array.flatten(self, order, start_dim=start_dim, end_dim=end_dim)


def _extremum(value: Any, position: Any) -> Any:
    def method(
        self: Tensor, axis: Any = None, keepdims: bool = False, *, return_indices: bool = False
    ) -> Any:
        found = value(self, axis, keepdims)
        return (found, position(self, axis, keepdims)) if return_indices else found

    return method


def attach() -> None:
    """Give Tensor its operators and methods."""
    for name, function in _OPERATORS.items():
        setattr(Tensor, f"__{name}__", function)
        setattr(Tensor, f"__r{name}__", _reversed(function))
        setattr(Tensor, f"__i{name}__", _in_place(function))
    for name, function in _COMPARISONS.items():
        setattr(Tensor, f"__{name}__", _comparison(function))
    methods: dict[str, Any] = {
        "__neg__": math.neg,
        "__abs__": math.abs,
        "__invert__": logic.logical_not,
        "__and__": logic.logical_and,
        "__or__": logic.logical_or,
        "reshape": _reshape,
        "view": _reshape,
        "transpose": _transpose,
        "permute": _transpose,
        "swapaxes": array.swapaxes,
        "T": property(fast.reversing(OPS["transpose"], _transpose)),
        "flatten": _flatten,
        "astype": _astype,
        "to": _astype,
        "max": _extremum(reduce.amax, statistics.argmax),
        "min": _extremum(reduce.amin, statistics.argmin),
        "any": reduce.any,
        "all": reduce.all,
    }
    for name, method in methods.items():
        setattr(Tensor, name, method)


attach()
