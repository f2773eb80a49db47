"""A Cell that computes in another float type than its parameters have: ``Cell.to_float``."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ..dtype import DType, dtype_of
from ..ops.cast import cast_to
from ..parameter import Parameter
from ..tensor import Tensor

if TYPE_CHECKING:
    from .cell import Cell

SHORT_NAMES = ("f16", "bf16", "f32")
"""The types that ``to_float`` takes."""


def compute_type(dst_type: Any) -> DType:
    """Return the float type that ``to_float`` was asked for.

    Raises
    ------
    ValueError
        If it is none of float16, bfloat16 and float32.
    """
    dtype = dtype_of(dst_type)
    if dtype.short not in SHORT_NAMES:
        raise ValueError(f"to_float takes float16, bfloat16 or float32, not {dtype}.")
    return dtype


def cast_floats(value: Any, dtype: DType) -> Any:
    """Return `value` with the float tensors in it cast, also those in tuples, lists and dicts."""
    if isinstance(value, Tensor):
        return cast_to(value, dtype) if value.dtype.is_float else value
    if isinstance(value, tuple | list):
        parts = [cast_floats(item, dtype) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: cast_floats(item, dtype) for key, item in value.items()}
    return value


class _CastView:
    """The base of a Cell's view in which its own parameters are cast.

    Everything else is the Cell's own, writes included. What ``construct`` writes to (the Cell's
    `written_params`) stays as it is.
    """

    def __getattribute__(self, name: str) -> Any:
        cell, casts = object.__getattribute__(self, "__dict__")["_view"]
        found = casts.get(name)
        value = getattr(cell, name)
        if found is not None and value is found[0]:
            return found[1]
        if isinstance(value, types.MethodType) and value.__self__ is cell:
            return types.MethodType(value.__func__, self)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        cell, _ = object.__getattribute__(self, "__dict__")["_view"]
        setattr(cell, name, value)


def _view_type(kind: type) -> type:
    """Return the class of views of Cells of a class, which keeps it: both go together."""
    if "_view_type" not in kind.__dict__:
        made = type(kind.__name__, (_CastView, kind), {"__module__": kind.__module__})
        kind._view_type = made  # pyright: ignore[reportAttributeAccessIssue]
    return kind.__dict__["_view_type"]


def view_of(cell: Cell, dtype: DType) -> Any:
    """Return an object that is `cell`, but with its float parameters cast to `dtype`."""
    casts: dict[str, tuple[Parameter, Tensor]] = {}
    for name, param in cell._params.items():
        if param.dtype.is_float and param.dtype is not dtype and name not in cell.written_params:
            casts[name] = (param, cast_to(param, dtype))
    view = object.__new__(_view_type(type(cell)))
    object.__getattribute__(view, "__dict__")["_view"] = (cell, casts)
    return view
