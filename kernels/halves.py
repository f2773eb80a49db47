"""Conversions between float32 and the dtypes of two bytes, where processors lack or flush them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from .expressions import BFLOAT16, FLOAT16, FLOAT32, FLOAT64

if TYPE_CHECKING:
    from .emitter import Emitter, Value

BITS: Final = np.dtype(np.uint16)
_WIDE_BITS: Final = np.dtype(np.uint32)


def widen(emit: Emitter, x: Value) -> Value:
    """Return a half as float32, of which bfloat16 is the upper half."""
    if x.dtype == FLOAT16:
        return emit.convert("fpext", x, FLOAT32)
    bits = emit.cast(replace(x, dtype=BITS), _WIDE_BITS)
    return emit.reinterpret(emit.binary("shl", bits, 16), FLOAT32)


def round_to_bfloat16(emit: Emitter, x: Value) -> Value:
    """Round float32 to the nearest, ties to even; NaN becomes a quiet one of the same sign.

    The processor's own instruction takes denormal numbers for zero.
    """
    bits = emit.reinterpret_unsigned(emit.bits(x))
    high = emit.binary("lshr", bits, 16)
    above = emit.add(emit.add(bits, emit.binary("and", high, 1)), 0x7FFF)
    quiet = emit.binary("or", emit.binary("and", high, 0x8000), 0x7FC0)
    rounded = emit.select(emit.is_nan(x), quiet, emit.binary("lshr", above, 16))
    return replace(emit.cast(rounded, BITS), dtype=BFLOAT16)


def round_to_odd(emit: Emitter, x: Value) -> Value:
    """Round float64 to float32 so that rounding once more is as good as rounding once.

    What is inexact is cut off and its last bit set (S. Boldo and G. Melquiond, "Emulation of
    a FMA and correctly rounded sums", 2008): processors only convert float32 to float16.
    """
    near = emit.cast(x, FLOAT32)
    back = emit.cast(near, FLOAT64)
    above = emit.compare("gt", emit.unary("fabs", back), emit.unary("fabs", x))
    inexact = emit.compare("one", back, x)
    bits = emit.bits(near)
    bits = emit.sub(bits, emit.convert("zext", above, bits.dtype))
    return emit.reinterpret(
        emit.binary("or", bits, emit.convert("zext", inexact, bits.dtype)), FLOAT32
    )
