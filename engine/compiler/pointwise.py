"""Scalars of a kernel: how ops spell expressions, and in which dtypes they are computed.

The fuser asks whether an op has an expression; `lower.py` and `conv_ending.py` write it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...kernels import loops
from ...kernels.loops import Expr
from ..ops import registry
from .graph import Node, Value


class Builder(loops.ExprBuilder):
    """The vocabulary of pointwise lowerings, spelled as functions, on scalar ops of the loop IR."""

    NAMES: ClassVar[dict[str, str]] = {
        "floor_div": "floordiv",
        "logical_and": "and",
        "logical_or": "or",
        "logical_not": "not",
    }

    def call(self, name: str, *args: Any) -> Expr:
        """Apply the op of that name."""
        return getattr(self, name)(*args)

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(self.NAMES.get(name, name))

    def const(self, value: Any, dtype: Any) -> loops.Const:
        """Build a constant; ``dtype`` may be an expression, whose dtype is taken, or a DType."""
        if isinstance(dtype, Expr):
            dtype = dtype.dtype
        return super().const(value, getattr(dtype, "numpy", dtype))

    def cast(self, x: Expr, dtype: Any) -> Expr:
        """Convert to another dtype."""
        return super().cast(x, getattr(dtype, "numpy", dtype))


class Float16Builder(Builder):
    """Of equal numbers, which may be zeros of two signs, NumPy takes the first in float16."""

    def maximum(self, x: Any, y: Any) -> Expr:
        """Return the larger; NaN if either is."""
        return loops.call("maximum", y, x)

    def minimum(self, x: Any, y: Any) -> Expr:
        """Return the smaller; NaN if either is."""
        return loops.call("minimum", y, x)


BUILDER = Builder()
FLOAT16_BUILDER = Float16Builder()
IDENTITY = {"sum": 0, "prod": 1}


def compute_dtype(value: Value) -> np.dtype[Any]:
    """Return the dtype in which a value is computed: half precision is widened."""
    dtype = value.aval.dtype.numpy
    return loops.FLOAT32 if dtype in loops.HALVES else dtype


def reduction_kind(node: Node) -> str:
    """Return what a reduce node does: ``sum``, ``max``, ``min`` or ``prod``."""
    lowering = node.op.lowering
    assert isinstance(lowering, registry.Reduce)
    return lowering.kind


def neutral(kind: str, dtype: np.dtype[Any]) -> loops.Const:
    """Return the value that a reduction starts from."""
    if kind in IDENTITY:
        return loops.const(IDENTITY[kind], dtype)
    if dtype.kind == "f":
        return loops.const(-np.inf if kind == "max" else np.inf, dtype)
    if dtype.kind == "b":
        return loops.const(kind == "min", dtype)
    limits = np.iinfo(dtype)
    return loops.const(limits.min if kind == "max" else limits.max, dtype)
