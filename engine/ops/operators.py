"""Tensor's operators, as Python spells them."""

from __future__ import annotations

from typing import Any

from ..dtype import bool_
from ..tensor import Tensor
from . import arithmetic, bitwise, linalg, logic, math, rounding


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
    "matmul": linalg.matmul, "and": bitwise.bitwise_and, "or": bitwise.bitwise_or,
    "xor": bitwise.bitwise_xor, "lshift": bitwise.bitwise_left_shift,
    "rshift": bitwise.bitwise_right_shift,
}  # fmt: skip
_COMPARISONS = {
    "eq": logic.equal, "ne": logic.not_equal, "lt": logic.less, "le": logic.less_equal,
    "gt": logic.greater, "ge": logic.greater_equal,
}  # fmt: skip


def _invert(self: Tensor) -> Tensor:
    """Return the other truth values, or integers with every bit turned."""
    return logic.logical_not(self) if self.dtype is bool_ else bitwise.bitwise_not(self)


def _divmod(self: Any, other: Any) -> tuple[Tensor, Tensor]:
    """Return the floored quotient and the remainder that goes with it."""
    return arithmetic.floor_div(self, other), arithmetic.mod(self, other)


def _round(self: Tensor, ndigits: int | None = None) -> Tensor:
    """Round to a number of decimal digits, halves to even; to whole numbers by default."""
    if not ndigits or not self.dtype.is_float:
        return rounding.round(self)
    scale = 10.0**ndigits
    return rounding.round(self * scale) / scale


def attach() -> None:
    """Give Tensor its operators."""
    for name, function in _OPERATORS.items():
        setattr(Tensor, f"__{name}__", function)
        setattr(Tensor, f"__r{name}__", _reversed(function))
        setattr(Tensor, f"__i{name}__", _in_place(function))
    for name, function in _COMPARISONS.items():
        setattr(Tensor, f"__{name}__", _comparison(function))
    others: dict[str, Any] = {
        "__neg__": math.neg,
        "__pos__": lambda self: self,
        "__abs__": math.abs,
        "__invert__": _invert,
        "__divmod__": _divmod,
        "__rdivmod__": lambda self, other: _divmod(other, self),
        "__round__": _round,
    }
    for name, method in others.items():
        setattr(Tensor, name, method)


attach()
