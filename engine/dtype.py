"""Element types of tensors: their names, NumPy counterparts and promotion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from ml_dtypes import bfloat16 as _bfloat16
from ml_dtypes import finfo


@dataclass(frozen=True, eq=False, slots=True)
class DType:
    """One element type; each exists once, so types are compared with ``is`` or ``==``."""

    name: str
    """MindSpore's printed name, as ``Float32``."""
    short: str
    """The name on wires, as ``f32``."""
    numpy: np.dtype[Any]
    itemsize: int
    is_float: bool
    is_int: bool

    @property
    def limits(self) -> Any:
        """A float type's ``max``, ``eps``, ``tiny`` and ``smallest_subnormal``, as ``np.finfo``."""
        return finfo(self.numpy)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (dtype_of, (self.numpy.name,))


def _make(name: str, short: str, of: Any) -> DType:
    numpy = np.dtype(of)
    # ml_dtypes registers bfloat16 with NumPy, which does not count it among its own floats.
    is_float = numpy.kind == "f" or numpy.type is _bfloat16
    return DType(name, short, numpy, numpy.itemsize, is_float, numpy.kind in "iu")


bfloat16 = _make("BFloat16", "bf16", _bfloat16)
float16 = _make("Float16", "f16", "float16")
float32 = _make("Float32", "f32", "float32")
float64 = _make("Float64", "f64", "float64")
uint8 = _make("UInt8", "u8", "uint8")
uint16 = _make("UInt16", "u16", "uint16")
uint32 = _make("UInt32", "u32", "uint32")
uint64 = _make("UInt64", "u64", "uint64")
int8 = _make("Int8", "i8", "int8")
int16 = _make("Int16", "i16", "int16")
int32 = _make("Int32", "i32", "int32")
int64 = _make("Int64", "i64", "int64")
bool_ = _make("Bool", "bool", "bool")

byte, short, intc, intp = int8, int16, int32, int64
ubyte, ushort, uintc, uintp = uint8, uint16, uint32, uint64
half, single, double = float16, float32, float64

DTYPES = (
    bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32,
    float64,
)  # fmt: skip
"""Every element type."""

_OF_NUMPY: dict[Any, DType] = {dtype.numpy: dtype for dtype in DTYPES}
_OF_NAME: dict[str, DType] = {
    key: dtype
    for dtype in DTYPES
    for key in (dtype.name, dtype.short, dtype.numpy.name, dtype.name.lower())
}
_OF_NAME["bool_"] = bool_
_OF_PYTHON: dict[type, DType] = {bool: bool_, int: int64, float: float32}


def dtype_of(value: Any) -> DType:
    """Return the DType that ``value`` names: a DType, a name, a NumPy dtype or a Python type.

    Raises
    ------
    TypeError
        If no element type of that name exists.
    """
    if value.__class__ is DType:
        return value
    if value.__class__ in {type, str}:
        found = _OF_PYTHON.get(value) if value.__class__ is type else _OF_NAME.get(value)
        if found is not None:
            return found
    try:
        numpy = np.dtype(value)
        found = _OF_NUMPY.get(numpy) or _OF_NUMPY.get(numpy.newbyteorder("="))
    except TypeError:
        found = None
    if found is None:
        known = ", ".join(dtype.numpy.name for dtype in DTYPES)
        raise TypeError(f"no element type {value!r}: use one of {known}.")
    return found


def dtype_to_nptype(type_: DType) -> type[np.generic]:
    """Return the NumPy scalar type of an element type.

    Parameters
    ----------
    type_ : DType
        The element type.

    Returns
    -------
    type
        As ``np.float32``; of BFloat16 the type of ml_dtypes.
    """
    return dtype_of(type_).numpy.type


def dtype_to_pytype(type_: DType) -> type:
    """Return the Python type of the numbers that an element type holds.

    Parameters
    ----------
    type_ : DType
        The element type.

    Returns
    -------
    type
        ``bool``, ``int`` or ``float``.
    """
    kind = dtype_of(type_)
    return float if kind.is_float else int if kind.is_int else bool


def pytype_to_dtype(obj: type) -> DType:
    """Return the element type of tensors made from a Python type's numbers.

    Parameters
    ----------
    obj : type
        ``bool``, ``int`` or ``float``, or a NumPy scalar type.

    Returns
    -------
    DType
        The element type.

    Raises
    ------
    TypeError
        If there is none.
    """
    return dtype_of(obj)


_RISING = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64)
"""The types that meet in the later one of two, with the exceptions below."""
_ALONE = (uint16, uint32, uint64)
"""These meet their own kind and ``bool_`` only."""
_EXCEPTIONS = {(uint8, int8): int16, (float16, bfloat16): float32}


def _promote(a: DType, b: DType) -> DType | None:
    if a in _ALONE or b in _ALONE:
        low, high = sorted((a, b), key=DTYPES.index)
        return high if low in (bool_, high) else None
    low, high = sorted((a, b), key=_RISING.index)
    return _EXCEPTIONS.get((low, high), high)


_TABLE = {(a, b): _promote(a, b) for a in DTYPES for b in DTYPES}


def promote(a: DType, b: DType) -> DType:
    """Return the type in which tensors of types ``a`` and ``b`` meet, by MindSpore's table.

    An integer with a float gives the float, two floats the wider one (``float16`` and
    ``bfloat16`` give ``float32``), ``uint8`` with ``int8`` gives ``int16``, and ``bool`` gives way
    to everything.

    Raises
    ------
    TypeError
        If ``uint16``, ``uint32`` or ``uint64`` meets another type than its own or ``bool``.
    """
    found = _TABLE[a, b]
    if found is None:
        raise TypeError(f"{a} and {b} meet in no type; cast one of them, as in x.astype(int64).")
    return found


def promote_scalar(dtype: DType, value: bool | float) -> DType:
    """Return the type in which a tensor of ``dtype`` meets a Python scalar, which is weak.

    A float beside an integer tensor gives ``float32``; an int beside a bool tensor ``int64``;
    otherwise the tensor's type stays.

    Raises
    ------
    TypeError
        If the tensor is of ``uint16``, ``uint32`` or ``uint64`` and the number is no bool.
    """
    if isinstance(value, bool) or dtype.is_float:
        return dtype
    if dtype in _ALONE:
        raise TypeError(
            f"a {dtype} tensor and the number {value!r} meet in no type; cast the tensor, as in"
            " x.astype(int64), or make a tensor of the number."
        )
    if isinstance(value, float):
        return float32
    return int64 if dtype is bool_ else dtype
