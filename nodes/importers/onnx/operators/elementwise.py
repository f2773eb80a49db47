"""Arithmetic, comparison, logic and activations, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....engine import ops
from .....engine.dtype import bool_
from .....engine.tensor import Tensor
from ..call import Call
from ..registry import operator

UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "Abs": ops.abs, "Acos": ops.acos, "Acosh": ops.acosh, "Asin": ops.asin, "Asinh": ops.asinh,
    "Atan": ops.atan, "Atanh": ops.atanh, "BitwiseNot": ops.bitwise_not, "Ceil": ops.ceil,
    "Cos": ops.cos, "Cosh": ops.cosh, "Erf": ops.erf, "Exp": ops.exp, "Floor": ops.floor,
    "Identity": ops.identity, "IsNaN": ops.isnan, "Log": ops.log,
    "Neg": ops.neg, "Not": ops.logical_not, "Reciprocal": ops.reciprocal,
    "Relu": ops.relu, "Round": ops.round, "Sigmoid": ops.sigmoid, "Sign": ops.sign,
    "Sin": ops.sin, "Sinh": ops.sinh, "Softplus": ops.softplus,
    "Sqrt": ops.sqrt, "Tan": ops.tan, "Tanh": ops.tanh,
}  # fmt: skip

BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Add": ops.add, "BitwiseAnd": ops.bitwise_and, "BitwiseOr": ops.bitwise_or,
    "BitwiseXor": ops.bitwise_xor, "Equal": ops.equal, "Greater": ops.greater,
    "GreaterOrEqual": ops.greater_equal, "Less": ops.less, "LessOrEqual": ops.less_equal,
    "Mul": ops.mul, "Or": ops.logical_or, "PRelu": lambda x, slope: ops.where(x < 0, x * slope, x),
    "Sub": ops.sub, "And": ops.logical_and, "Xor": ops.logical_xor,
}  # fmt: skip


def _plain(function: Callable[..., Tensor], count: int) -> Callable[..., Any]:
    def run(_: Call, *inputs: Any) -> Any:
        if count == 1 and not isinstance(inputs[0], Tensor):
            return inputs[0]  # Identity of a sequence or of nothing
        return function(*inputs)

    return run


for _name, _function in UNARY.items():
    operator(_name)(_plain(_function, 1))
for _name, _function in BINARY.items():
    operator(_name)(_plain(_function, 2))


@operator("Div")
def div(_: Call, a: Tensor, b: Tensor) -> Tensor:
    """Divide; integers are truncated towards zero."""
    if a.dtype.is_float:
        return ops.div(a, b)
    return ops.truncate_div(a, b)


@operator("Mod")
def mod(call: Call, a: Tensor, b: Tensor) -> Tensor:
    """Return the remainder with the divisor's sign, or the dividend's with ``fmod``."""
    return ops.fmod(a, b) if call.attr("fmod", 0) else ops.mod(a, b)


@operator("Pow")
def pow(_: Call, base: Tensor, exponent: Tensor) -> Tensor:
    """Raise to a power; the result has the base's type."""
    if base.dtype.is_float or not exponent.dtype.is_float:
        exponent = ops.cast(exponent, base.dtype)
    return ops.cast(ops.pow(base, exponent), base.dtype)


@operator("BitShift")
def bit_shift(call: Call, a: Tensor, bits: Tensor) -> Tensor:
    """Shift bits to the left or right."""
    left = call.attr("direction") == "LEFT"
    return ops.bitwise_left_shift(a, bits) if left else ops.bitwise_right_shift(a, bits)


@operator("Max", "Min", "Sum", "Mean")
def fold(call: Call, *inputs: Tensor) -> Tensor:
    """Join any number of tensors that broadcast."""
    function = {"Max": ops.maximum, "Min": ops.minimum}.get(call.op_type, ops.add)
    total = inputs[0]
    for item in inputs[1:]:
        total = function(total, item)
    return ops.div(total, float(len(inputs))) if call.op_type == "Mean" else total


@operator("Clip")
def clip(call: Call, x: Tensor, low: Any = None, high: Any = None) -> Tensor:
    """Bound the elements."""
    low = call.attr("min") if low is None else low
    high = call.attr("max") if high is None else high
    if low is not None:
        x = ops.maximum(x, low)
    return x if high is None else ops.minimum(x, high)


@operator("Where")
def where(_: Call, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Choose by a condition."""
    return ops.where(condition, a, b)


@operator("IsInf")
def is_inf(call: Call, x: Tensor) -> Tensor:
    """Tell infinities, of one sign or both."""
    found = ops.isinf(x)
    if not call.attr("detect_negative", 1):
        found = ops.logical_and(found, x > 0)
    if not call.attr("detect_positive", 1):
        found = ops.logical_and(found, x < 0)
    return found


@operator("Elu")
def elu(call: Call, x: Tensor) -> Tensor:
    """Return ``x`` where positive, else ``alpha * (exp(x) - 1)``."""
    return ops.where(x < 0, (ops.exp(ops.minimum(x, 0.0)) - 1) * call.attr("alpha", 1.0), x)


@operator("LeakyRelu")
def leaky_relu(call: Call, x: Tensor) -> Tensor:
    """Return ``x`` where positive, else ``alpha * x``."""
    return ops.leaky_relu(x, call.attr("alpha", 0.01))


@operator("Selu")
def selu(call: Call, x: Tensor) -> Tensor:
    """Return the scaled exponential linear unit."""
    alpha = call.attr("alpha", 1.67326319217681884765625)
    gamma = call.attr("gamma", 1.05070102214813232421875)
    return ops.where(x <= 0, (ops.exp(ops.minimum(x, 0.0)) - 1) * alpha, x) * gamma


@operator("ThresholdedRelu")
def thresholded_relu(call: Call, x: Tensor) -> Tensor:
    """Return ``x`` above ``alpha``, else zero."""
    return ops.where(x > call.attr("alpha", 1.0), x, ops.zeros_like(x))


@operator("Shrink")
def shrink(call: Call, x: Tensor) -> Tensor:
    """Move large elements towards zero by ``bias``; small ones become zero."""
    bias, bound = call.attr("bias", 0.0), call.attr("lambd", 0.5)
    zeros = ops.zeros_like(x)
    above = ops.where(x > bound, ops.cast(x - bias, x.dtype), zeros)
    return ops.where(x < -bound, ops.cast(x + bias, x.dtype), above)


@operator("HardSigmoid")
def hard_sigmoid(call: Call, x: Tensor) -> Tensor:
    """Return ``alpha * x + beta``, bounded by 0 and 1."""
    return ops.clamp(x * call.attr("alpha", 0.2) + call.attr("beta", 0.5), 0.0, 1.0)


@operator("Softmax", "LogSoftmax", "Hardmax")
def softmax(call: Call, x: Tensor) -> Tensor:
    """Normalise along an axis; before version 13 along all axes from it on."""
    late = call.version >= 13
    axis, shape = call.attr("axis", -1 if late else 1), x.shape
    if not late:
        axis = axis % max(x.ndim, 1)
        lead = 1
        for size in shape[:axis]:
            lead *= size
        x, axis = ops.reshape(x, (lead, -1)), 1
    found = _normalised(call.op_type, x, axis)
    return found if late else ops.reshape(found, shape)


def _normalised(kind: str, x: Tensor, axis: int) -> Tensor:
    if kind == "Hardmax":
        best = ops.one_hot(ops.argmax(x, axis), x.shape[axis])
        return ops.cast(ops.movedim(best, -1, axis), x.dtype)
    return ops.softmax(x, axis) if kind == "Softmax" else ops.log_softmax(x, axis)


@operator("Gelu")
def gelu(call: Call, x: Tensor) -> Tensor:
    """Return the Gaussian error linear unit."""
    return ops.gelu(x, call.attr("approximate", "none"))


@operator("Swish")
def swish(call: Call, x: Tensor) -> Tensor:
    """Return ``x * sigmoid(alpha * x)``."""
    return x * ops.sigmoid(x * call.attr("alpha", 1.0))


@operator("Dropout")
def dropout(call: Call, x: Tensor, *_: Any) -> Any:
    """Drop elements in training; in inference the input itself, and a mask of ones."""
    training = call.version >= 12 and bool(call.number(2, False))
    share = call.number(1, call.attr("ratio", 0.5))
    if not training or not share:
        kept = ops.cast(ops.ones_like(x), bool_)
        return (x, kept) if call.wanted(1) else x
    scale = ops.dropout(ops.ones_like(x), share, training=True)
    out = x * scale
    return (out, scale > 0) if call.wanted(1) else out
