"""Activations made of exponentials, and gates."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ..shape import ShapeError, shape_text
from ..tensor import Tensor
from . import activation, arithmetic, cumulative, exponentials, hyperbolic, logic, math
from .cast import TensorLike, as_float
from .declarations import composite, scalar
from .registry import Call, GradContext, Pointwise
from .rules import normalize_axis
from .softmax import softmax

_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_ALPHA = 1.6732632423543772848170429916717  # Klambauer et al., 2017


def _below_zero(x: Tensor) -> Tensor:
    """Return ``min(x, 0)`` whose slope at zero is one: the minimum's would be a half."""
    return logic.select(logic.greater(x, 0), 0.0, x)


def _expand_selu(input_x: Tensor) -> Tensor:
    low = exponentials.expm1(_below_zero(input_x))
    return arithmetic.mul(
        logic.select(logic.greater(input_x, 0), input_x, arithmetic.mul(low, _SELU_ALPHA)),
        _SELU_SCALE,
    )


@composite(_expand_selu, category="activation", primitive="SeLU")
def selu(input_x: TensorLike) -> Call:
    """Return the scaled exponential linear unit, ``scale * (x if x > 0 else alpha * expm1(x))``.

    Parameters
    ----------
    input_x : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The shape of the input.

    References
    ----------
    Klambauer et al., Self-Normalizing Neural Networks, 2017.
    """
    return (as_float(input_x),), {}


def _expand_celu(x: Tensor, alpha: float) -> Tensor:
    low = exponentials.expm1(arithmetic.mul(_below_zero(x), 1.0 / alpha))
    return logic.select(logic.greater(x, 0), x, arithmetic.mul(low, alpha))


@composite(_expand_celu, category="activation", inputs=("x",), primitive="CeLU")
def celu(x: TensorLike, alpha: float = 1.0) -> Call:
    """Return ``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)``.

    Parameters
    ----------
    x : Tensor
        Any shape; integers are cast to float32.
    alpha : float
        Limit of the negative side, not zero.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If ``alpha`` is zero.

    References
    ----------
    Barron, Continuously Differentiable Exponential Linear Units, 2017.
    """
    if alpha == 0:
        raise ValueError("celu: alpha must not be zero.")
    return (as_float(x),), {"alpha": float(alpha)}


def _mish_slope(ctx: GradContext) -> Tensor:
    x = ctx.inputs[0]
    gate = hyperbolic.tanh(activation.softplus(x))
    steep = arithmetic.mul(arithmetic.sub(1.0, math.square(gate)), math.sigmoid(x))
    return arithmetic.add(gate, arithmetic.mul(x, steep))


def _mish_expr(b: Any, x: Any) -> Any:
    soft = b.call("maximum", x, 0.0) + b.call("log1p", b.call("exp", -b.call("abs", x)))
    return x * b.call("tanh", soft)


@scalar(
    lambda x: x * np.tanh(np.logaddexp(x, x.dtype.type(0))), _mish_slope, Pointwise(_mish_expr),
    category="activation", method=False,
)  # fmt: skip
def mish(input: TensorLike) -> Call:
    """Return ``input * tanh(softplus(input))``.

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
    Misra, Mish: A Self Regularized Non-Monotonic Activation Function, 2019.
    """
    return (as_float(input),), {}


def _softsign_slope(ctx: GradContext) -> Tensor:
    return math.reciprocal(math.square(arithmetic.add(math.abs(ctx.inputs[0]), 1.0)))


@scalar(
    lambda x: x / (1 + np.abs(x)), _softsign_slope,
    Pointwise(lambda b, x: x / (1.0 + b.call("abs", x))),
    category="activation", method=False,
)  # fmt: skip
def softsign(input: TensorLike) -> Call:
    """Return ``input / (1 + |input|)``.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        Elements in -1..1.
    """
    return (as_float(input),), {}


@scalar(
    lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))),
    lambda ctx: math.sigmoid(math.neg(ctx.inputs[0])),
    Pointwise(
        lambda b, x: b.call("minimum", x, 0.0)
        - b.call("log1p", b.call("exp", -b.call("abs", x)))
    ),
    category="activation", primitive="LogSigmoid", method=False,
)  # fmt: skip
def logsigmoid(x: TensorLike) -> Call:
    """Return ``log(sigmoid(x))`` without underflow.

    Parameters
    ----------
    x : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        Elements that are not positive.
    """
    return (as_float(x),), {}


_FAST = 1.702


def _fast_slope(ctx: GradContext) -> Tensor:
    x = ctx.inputs[0]
    gate = math.sigmoid(arithmetic.mul(x, _FAST))
    steep = arithmetic.mul(arithmetic.mul(x, _FAST), arithmetic.sub(1.0, gate))
    return arithmetic.mul(gate, arithmetic.add(steep, 1.0))


@scalar(
    lambda x: x * special.expit(x * x.dtype.type(_FAST)), _fast_slope,
    Pointwise(lambda b, x: x * b.call("sigmoid", x * _FAST)),
    category="activation", primitive="FastGeLU", method=False,
)  # fmt: skip
def fast_gelu(x: TensorLike) -> Call:
    """Return ``x * sigmoid(1.702 * x)``, an approximation of ``gelu``.

    Parameters
    ----------
    x : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The shape of the input.

    References
    ----------
    Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
    """
    return (as_float(x),), {}


def _halves(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    size = x.shape[axis]
    assert isinstance(size, int)
    middle = size // 2
    return cumulative.part(x, axis, None, middle), cumulative.part(x, axis, middle, None)


def _expand_glu(x: Tensor, axis: int) -> Tensor:
    value, gate = _halves(x, axis)
    return arithmetic.mul(value, math.sigmoid(gate))


@composite(_expand_glu, category="activation", inputs=("x",), primitive="GLU")
def glu(x: TensorLike, axis: int = -1) -> Call:
    """Return the first half along an axis times the sigmoid of the second.

    Parameters
    ----------
    x : Tensor
        An even number of elements along the axis; integers are cast to float32.
    axis : int
        The axis that is halved.

    Returns
    -------
    Tensor
        Half the size along the axis.

    Raises
    ------
    ValueError
        If the axis has an odd size.

    References
    ----------
    Dauphin et al., Language Modeling with Gated Convolutional Networks, 2016.
    """
    tensor = as_float(x)
    at = normalize_axis("glu", axis, len(tensor.shape))
    size = tensor.shape[at]
    if not isinstance(size, int) or size % 2:
        raise ShapeError(f"glu: axis {at} of x {shape_text(tensor.shape)} must have an even size.")
    return (tensor,), {"axis": at}


def _expand_softmin(x: Tensor, axis: int) -> Tensor:
    return softmax(math.neg(x), axis)


@composite(_expand_softmin, category="activation", inputs=("x",))
def softmin(x: TensorLike, axis: int = -1) -> Call:
    """Return ``softmax`` of the negated elements along an axis.

    Parameters
    ----------
    x : Tensor
        At least one axis; integers are cast to float32.
    axis : int
        The axis that sums to one.

    Returns
    -------
    Tensor
        The shape of the input.
    """
    tensor = as_float(x)
    return (tensor,), {"axis": normalize_axis("softmin", axis, len(tensor.shape))}


swish = activation.silu
"""Another name of ``silu``."""
