"""Random numbers; with the same seed of Cellwire the same ones."""

from __future__ import annotations

from typing import Any

from .....engine import ops
from .....engine.tensor import Tensor
from ..arrays import dtype_named
from ..call import Call
from ..registry import operator


def _made(call: Call, shape: tuple[int, ...], like: Any, normal: bool) -> Tensor:
    number = call.attr("dtype")
    default = "float32" if like is None or not like.dtype.is_float else like.dtype
    dtype = default if number is None else dtype_named(number)
    if normal:
        numbers = ops.randn(*shape) * call.attr("scale", 1.0) + call.attr("mean", 0.0)
    else:
        low, high = call.attr("low", 0.0), call.attr("high", 1.0)
        numbers = ops.rand(*shape) * (high - low) + low
    return ops.cast(numbers, dtype)


@operator("RandomNormal", "RandomUniform")
def random_of_shape(call: Call) -> Tensor:
    """Draw numbers in a given shape."""
    shape = tuple(call.attr("shape"))
    return _made(call, shape, None, normal=call.op_type == "RandomNormal")


@operator("RandomNormalLike", "RandomUniformLike")
def random_like(call: Call, x: Tensor) -> Tensor:
    """Draw numbers in the shape of a tensor."""
    return _made(call, tuple(x.shape), x, normal=call.op_type == "RandomNormalLike")


@operator("Bernoulli")
def bernoulli(call: Call, x: Tensor) -> Tensor:
    """Draw ones with the given probabilities."""
    number = call.attr("dtype")
    drawn = ops.rand(*x.shape) < ops.cast(x, "float32")
    return ops.cast(drawn, x.dtype if number is None else dtype_named(number))


@operator("Multinomial")
def multinomial(call: Call, x: Tensor) -> Tensor:
    """Draw classes by unnormalised log-probabilities, one row an example."""
    count = call.attr("sample_size", 1)
    chances = ops.cumsum(ops.softmax(ops.cast(x, "float32"), -1), -1)
    drawn = ops.expand_dims(ops.rand(x.shape[0], count), -1)
    found = ops.sum(ops.cast(drawn >= ops.expand_dims(chances, 1), "int32"), -1)
    return ops.cast(ops.minimum(found, x.shape[-1] - 1), dtype_named(call.attr("dtype", 6)))
