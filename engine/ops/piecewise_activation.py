"""Activations made of straight pieces: hard and shrinking ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, array, hyperbolic, logic
from .cast import TensorLike, as_float, as_number, cast_to
from .declarations import Declare, composite, in_dtype
from .registry import Call, GradContext, Grads, Pointwise, op
from .rules import require_float, same


def piecewise(
    kernel: Callable[..., Any], slope: Callable[..., Tensor], expr: Callable[..., Any], **more: Any
) -> Declare:
    """Declare an activation by its values, its slope ``slope(x, **attrs)`` and its expression."""

    def grad(ctx: GradContext) -> Grads:
        found = slope(ctx.inputs[0], **ctx.attrs)
        return (arithmetic.mul(ctx.dout, cast_to(found, ctx.dout.dtype)),)

    return op(
        infer=same, kernel=in_dtype(kernel), grad=grad, lowering=Pointwise(expr),
        category="activation", **more,
    )  # fmt: skip


def _between(x: Tensor, low: float, high: float) -> Tensor:
    return logic.logical_and(logic.greater(x, low), logic.less(x, high))


@piecewise(
    lambda input: np.clip(input, 0, 6),
    lambda x: _between(x, 0, 6),
    lambda b, x: b.call("minimum", b.call("maximum", x, 0), 6),
    primitive="ReLU6",
)
def relu6(input: TensorLike) -> Call:
    """Return ``min(max(input, 0), 6)``.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Elements in 0..6.

    References
    ----------
    Krizhevsky, Convolutional Deep Belief Networks on CIFAR-10, 2010.
    """
    return (as_number(input),), {}


@piecewise(
    lambda input: np.clip(input / 6 + input.dtype.type(0.5), 0, 1),
    lambda x: arithmetic.mul(cast_to(_between(x, -3, 3), x.dtype), 1 / 6),
    lambda b, x: b.call("minimum", b.call("maximum", x * (1 / 6) + 0.5, 0.0), 1.0),
    primitive="HSigmoid",
)
def hardsigmoid(input: TensorLike) -> Call:
    """Return ``input / 6 + 1 / 2``, limited to 0..1.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        Elements in 0..1.

    References
    ----------
    Howard et al., Searching for MobileNetV3, 2019.
    """
    return (as_float(input),), {}


hsigmoid = hardsigmoid
"""MindSpore's other name of ``hardsigmoid``."""


def _hardswish_kernel(input: np.ndarray) -> np.ndarray:
    return input * np.clip(input + 3, 0, 6) / 6


def _hardswish_slope(x: Tensor) -> Tensor:
    inner = arithmetic.add(arithmetic.mul(x, 1 / 3), 0.5)
    return logic.select(_between(x, -3, 3), inner, cast_to(logic.greater_equal(x, 3), x.dtype))


@piecewise(
    _hardswish_kernel,
    _hardswish_slope,
    lambda b, x: x * b.call("minimum", b.call("maximum", x + 3.0, 0.0), 6.0) * (1 / 6),
    primitive="HSwish",
)
def hardswish(input: TensorLike) -> Call:
    """Return ``input * relu6(input + 3) / 6``.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The shape of the input.

    References
    ----------
    Howard et al., Searching for MobileNetV3, 2019.
    """
    return (as_float(input),), {}


hswish = hardswish
"""MindSpore's other name of ``hardswish``."""


def _outside(x: Tensor, lambd: float) -> Tensor:
    return logic.logical_or(logic.greater(x, lambd), logic.less(x, -lambd))


def _outside_expr(b: Any, x: Any, lambd: float) -> Any:
    return b.call("or", x > lambd, x < -lambd)


@piecewise(
    lambda input, lambd: np.where((input >= -lambd) & (input <= lambd), 0, input),
    _outside,
    lambda b, x, lambd: b.select(
        b.call("or", _outside_expr(b, x, lambd), b.call("isnan", x)), x, 0.0
    ),
    primitive="HShrink",
)
def hardshrink(input: TensorLike, lambd: float = 0.5) -> Call:
    """Return the elements outside of ``-lambd..lambd``, zero for the others.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    lambd : float
        The threshold.

    Returns
    -------
    Tensor
        The shape of the input.
    """
    return (as_float(input),), {"lambd": float(lambd)}


def _softshrink_kernel(input: np.ndarray, lambd: float) -> np.ndarray:
    beyond = np.where(input > lambd, input - lambd, input + lambd)
    return np.where(abs(input) > lambd, beyond, np.where(np.isinf(input), 0, input) * 0)


def _softshrink_expr(b: Any, x: Any, lambd: float) -> Any:
    low = b.select(x < -lambd, x + lambd, x * 0.0)
    return b.select(x > lambd, x - lambd, low)


@piecewise(_softshrink_kernel, _outside, _softshrink_expr, primitive="SoftShrink")
def softshrink(input: TensorLike, lambd: float = 0.5) -> Call:
    """Return the elements moved toward zero by ``lambd``, zero for those it would pass.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    lambd : float
        How far they move, not negative.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If ``lambd`` is negative.
    """
    if lambd < 0:
        raise ValueError(f"softshrink: lambd must not be negative, it is {lambd}.")
    return (as_float(input),), {"lambd": float(lambd)}


def _expand_tanhshrink(input: Tensor) -> Tensor:
    return arithmetic.sub(input, hyperbolic.tanh(input))


@composite(_expand_tanhshrink, category="activation")
def tanhshrink(input: TensorLike) -> Call:
    """Return ``input - tanh(input)``.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The shape of the input.
    """
    return (as_float(input),), {}


def _threshold_expr(b: Any, x: Any, thr: float, value: float) -> Any:
    return b.select(x <= thr, b.const(value, x), x)


@piecewise(
    lambda input, thr, value: np.where(input <= thr, value, input),
    lambda x, thr, value: logic.greater(x, thr),
    _threshold_expr,
    inputs=("input",),
)
def threshold(input: TensorLike, thr: float, value: float) -> Call:
    """Return the elements above ``thr``, and ``value`` for the others.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    thr : float
        The threshold.
    value : float
        What stands for elements at or below it.

    Returns
    -------
    Tensor
        The shape of the input.
    """
    return (as_float(input),), {"thr": float(thr), "value": float(value)}


def _channels(weight: Tensor, x: Tensor) -> Tensor:
    if weight.shape == (1,) or not weight.shape or len(x.shape) < 2:
        return weight
    return array.reshape(weight, (-1,) + (1,) * (len(x.shape) - 2))


def _expand_prelu(input: Tensor, weight: Tensor) -> Tensor:
    below = arithmetic.mul(input, _channels(weight, input))
    return logic.select(logic.greater(input, 0), input, below)


def _prelu_rule(input: Aval, weight: Aval) -> Aval:
    require_float("prelu", "input", input)
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.ndim > 1 or (weight.shape and weight.shape[0] not in (1, channels)):
        raise ShapeError(
            f"prelu: weight {shape_text(weight.shape)} must have one element, or one for each of"
            f" the {channels} channels (axis 1) of input {shape_text(input.shape)}."
        )
    return input


@composite(_expand_prelu, category="activation", infer=_prelu_rule, primitive="PReLU")
def prelu(input: TensorLike, weight: TensorLike) -> Call:
    """Return ``input`` where positive, else ``weight * input``.

    Parameters
    ----------
    input : Tensor
        ``[n, c, ...]``; integers are cast to float32.
    weight : Tensor
        ``[c]`` or ``[1]``, slopes of the negative side.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If the weight does not have one element, or one a channel.

    References
    ----------
    He et al., Delving Deep into Rectifiers, 2015.
    """
    x = as_float(input)
    slope = cast_to(as_float(weight), x.dtype)
    _prelu_rule(x.aval, slope.aval)
    return (x, slope), {}
