"""Constants and element types."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....engine import ops
from .....engine.tensor import Tensor, wrap
from ..arrays import array_of, dtype_named
from ..call import Call
from ..registry import operator


@operator("Constant")
def constant(call: Call) -> Tensor:
    """Return the attribute's numbers."""
    for name, dtype in (("value_float", np.float32), ("value_floats", np.float32),
                        ("value_int", np.int64), ("value_ints", np.int64)):  # fmt: skip
        found = call.attr(name)
        if found is not None:
            return wrap(np.asarray(found, dtype))
    value = call.attr("value")
    if value is None:
        raise call.refuse("it has no value of numbers (text and sparse values are not known).")
    return wrap(array_of(value))


@operator("Cast")
def cast(call: Call, x: Tensor) -> Tensor:
    """Convert the elements to another type."""
    return _converted(x, dtype_named(call.attr("to")))


@operator("CastLike")
def cast_like(_: Call, x: Tensor, like: Tensor) -> Tensor:
    """Convert the elements to another tensor's type."""
    return _converted(x, like.dtype)


def _converted(x: Tensor, dtype: Any) -> Tensor:
    return x if x.dtype is dtype else ops.cast(x, dtype)


@operator("BitCast")
def bit_cast(call: Call, x: Tensor) -> Tensor:
    """Read the same bits as another type of the same width."""
    dtype = dtype_named(call.attr("to"))
    return wrap(x.asnumpy().reshape(-1).view(dtype.numpy).reshape(x.shape))


@operator("QuantizeLinear")
def quantize_linear(call: Call, x: Tensor, scale: Tensor, zero: Any = None) -> Tensor:
    """Divide by the scale, round half to even, shift and saturate."""
    if zero is not None:
        dtype = zero.dtype
    else:
        dtype = dtype_named(call.attr("output_dtype", 0) or 2)
    if not dtype.is_int:
        raise call.refuse(f"it gives integers, not {dtype}.")
    scale, zero = (_spread(call, item, x) for item in (scale, zero))
    scaled = ops.round(ops.cast(x, "float32") / ops.cast(scale, "float32"))
    if zero is not None:
        scaled = scaled + ops.cast(zero, "float32")
    info = np.iinfo(dtype.numpy)
    return ops.cast(ops.clamp(scaled, float(info.min), float(info.max)), dtype)


@operator("DequantizeLinear")
def dequantize_linear(call: Call, x: Tensor, scale: Tensor, zero: Any = None) -> Tensor:
    """Take off the shift and multiply by the scale."""
    dtype = scale.dtype
    scale, zero = (_spread(call, item, x) for item in (scale, zero))
    numbers = ops.cast(x, "float32")
    if zero is not None:
        numbers = numbers - ops.cast(zero, "float32")
    return ops.cast(numbers * ops.cast(scale, "float32"), dtype)


def _spread(call: Call, item: Any, x: Tensor) -> Any:
    """Lay a scale or shift of one axis, or of blocks along it, beside the tensor."""
    if item is None or item.ndim == 0 or item.size == 1:
        return item if item is None else ops.reshape(item, ())
    axis = call.attr("axis", 1) % x.ndim
    block = call.attr("block_size", 0)
    if block:
        spread = ops.repeat_interleave(item, block, axis)
        return spread[tuple(slice(0, size) for size in x.shape)]
    shape = [1] * x.ndim
    shape[axis] = item.shape[0]
    return ops.reshape(item, tuple(shape))


@operator("DynamicQuantizeLinear")
def dynamic_quantize_linear(_: Call, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Choose scale and shift of UInt8 by the range, which includes zero, and quantize."""
    high = ops.maximum(ops.amax(x), 0.0)
    low = ops.minimum(ops.amin(x), 0.0)
    scale = (high - low) / 255.0
    zero = ops.clamp(ops.round(0.0 - low / scale), 0.0, 255.0)
    y = ops.clamp(ops.round(x / scale) + zero, 0.0, 255.0)
    return ops.cast(y, "uint8"), scale, ops.cast(zero, "uint8")
