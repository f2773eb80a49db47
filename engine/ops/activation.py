"""Activations, element by element."""

from __future__ import annotations

import math as numbers
from typing import Any

import numpy as np
from scipy import special

from ..tensor import Tensor
from . import arithmetic, fast, hyperbolic, logic, math
from .cast import TensorLike, as_float, as_number, cast_to
from .registry import Call, Composite, GradContext, Grads, Pointwise, op
from .rules import float_rule, same


def _relu_kernel(input: np.ndarray) -> np.ndarray:
    return np.maximum(input, 0)


_ZERO = np.zeros((), np.float32)
"""An array, since NumPy takes twice as long where it has to make one of a Python number."""


def _relu_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(ctx.dout, cast_to(logic.greater(ctx.outputs[0], 0), ctx.dout.dtype)),)


@op(
    infer=same,
    kernel=_relu_kernel,
    grad=_relu_grad,
    lowering=Pointwise(lambda b, x: b.call("maximum", x, 0)),
    category="activation",
    primitive="ReLU",
    method=True,
    fast=fast.unary(lambda a: np.maximum(a, _ZERO)),
)
def relu(input: TensorLike) -> Call:
    """Return ``max(input, 0)``.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Non-negative elements; NaN stays NaN.
    """
    return (as_number(input),), {}


def _positive(x: Tensor) -> Tensor:
    return logic.greater(x, 0)


def _leaky_kernel(input: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(input > 0, input, input * input.dtype.type(alpha))


def _leaky_grad(ctx: GradContext) -> Grads:
    scaled = arithmetic.mul(ctx.dout, ctx.attrs["alpha"])
    return (logic.select(_positive(ctx.inputs[0]), ctx.dout, scaled),)


@op(
    infer=float_rule("leaky_relu"),
    kernel=_leaky_kernel,
    grad=_leaky_grad,
    lowering=Pointwise(lambda b, x, alpha: b.select(x > 0, x, x * alpha)),
    category="activation",
    primitive="LeakyReLU",
)
def leaky_relu(input: TensorLike, alpha: float = 0.2) -> Call:
    """Return ``input`` where positive, else ``alpha * input``.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    alpha : float
        Slope of the negative side.

    Returns
    -------
    Tensor
        The shape of the input.
    """
    return (as_float(input),), {"alpha": float(alpha)}


def _elu_kernel(input: np.ndarray, alpha: float) -> np.ndarray:
    low = np.expm1(np.minimum(input, 0)) * input.dtype.type(alpha)
    return np.where(input > 0, input, low)


def _elu_grad(ctx: GradContext) -> Grads:
    slope = arithmetic.add(ctx.outputs[0], ctx.attrs["alpha"])
    return (logic.select(_positive(ctx.inputs[0]), ctx.dout, arithmetic.mul(ctx.dout, slope)),)


@op(
    infer=float_rule("elu"),
    kernel=_elu_kernel,
    grad=_elu_grad,
    lowering=Pointwise(
        lambda b, x, alpha: b.select(x > 0, x, b.call("expm1", b.call("minimum", x, 0)) * alpha)
    ),
    category="activation",
    primitive="Elu",
)
def elu(input_x: TensorLike, alpha: float = 1.0) -> Call:
    """Return the exponential linear unit: ``input`` if positive, else ``alpha * expm1(input)``.

    Parameters
    ----------
    input_x : Tensor
        Any shape; integers are cast to float32.
    alpha : float
        Limit of the negative side.

    Returns
    -------
    Tensor
        The shape of the input.

    References
    ----------
    Clevert, Unterthiner and Hochreiter, Exponential Linear Units, 2015.
    """
    return (as_float(input_x),), {"alpha": float(alpha)}


def _silu_kernel(input: np.ndarray) -> np.ndarray:
    return input * special.expit(input).astype(input.dtype, copy=False)


def _silu_grad(ctx: GradContext) -> Grads:
    x = ctx.inputs[0]
    s = math.sigmoid(x)
    slope = arithmetic.mul(s, arithmetic.add(arithmetic.mul(x, arithmetic.sub(1.0, s)), 1.0))
    return (arithmetic.mul(ctx.dout, slope),)


@op(
    infer=float_rule("silu"),
    kernel=_silu_kernel,
    grad=_silu_grad,
    lowering=Pointwise(lambda b, x: x * b.call("sigmoid", x)),
    category="activation",
    primitive="SiLU",
)
def silu(input: TensorLike) -> Call:
    """Return ``input * sigmoid(input)``.

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
    Elfwing, Uchibe and Doya, Sigmoid-Weighted Linear Units, 2017.
    """
    return (as_float(input),), {}


def _softplus_kernel(input: np.ndarray) -> np.ndarray:
    return np.logaddexp(input, input.dtype.type(0))


def _softplus_expr(b: Any, x: Any) -> Any:
    return b.call("maximum", x, 0) + b.call("log1p", b.call("exp", -b.call("abs", x)))


def _softplus_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(ctx.dout, math.sigmoid(ctx.inputs[0])),)


@op(
    infer=float_rule("softplus"),
    kernel=_softplus_kernel,
    grad=_softplus_grad,
    lowering=Pointwise(_softplus_expr),
    category="activation",
    primitive="Softplus",
)
def softplus(input: TensorLike) -> Call:
    """Return ``log(1 + exp(input))``.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        Positive elements.
    """
    return (as_float(input),), {}


def _hardtanh_kernel(input: np.ndarray, min_val: float, max_val: float) -> np.ndarray:
    return np.clip(input, min_val, max_val)


def _hardtanh_grad(ctx: GradContext) -> Grads:
    x = ctx.inputs[0]
    inside = logic.logical_and(
        logic.greater(x, ctx.attrs["min_val"]), logic.less(x, ctx.attrs["max_val"])
    )
    return (arithmetic.mul(ctx.dout, cast_to(inside, ctx.dout.dtype)),)


@op(
    infer=float_rule("hardtanh"),
    kernel=_hardtanh_kernel,
    grad=_hardtanh_grad,
    lowering=Pointwise(
        lambda b, x, min_val, max_val: b.call("minimum", b.call("maximum", x, min_val), max_val)
    ),
    category="activation",
)
def hardtanh(input: TensorLike, min_val: float = -1.0, max_val: float = 1.0) -> Call:
    """Limit the elements to ``min_val..max_val``.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    min_val, max_val : float
        The limits.

    Returns
    -------
    Tensor
        The shape of the input.
    """
    return (as_float(input),), {"min_val": float(min_val), "max_val": float(max_val)}


_ROOT_HALF = numbers.sqrt(0.5)
_TANH_SCALE = numbers.sqrt(2.0 / numbers.pi)
_CUBIC = 0.044715  # Hendrycks and Gimpel, Gaussian Error Linear Units, 2016


def _gelu_kernel(input: np.ndarray, approximate: str) -> np.ndarray:
    one, half = input.dtype.type(1), input.dtype.type(0.5)
    if approximate == "none":
        inner = special.erf(input * input.dtype.type(_ROOT_HALF)).astype(input.dtype, copy=False)
    else:
        cubic = input.dtype.type(_CUBIC) * input * input * input
        inner = np.tanh(input.dtype.type(_TANH_SCALE) * (input + cubic))
    return half * input * (one + inner)


def _gelu_inner(x: Tensor, approximate: str) -> Tensor:
    if approximate == "none":
        return math.erf(arithmetic.mul(x, _ROOT_HALF))
    cubic = arithmetic.mul(arithmetic.mul(x, math.square(x)), _CUBIC)
    return hyperbolic.tanh(arithmetic.mul(arithmetic.add(x, cubic), _TANH_SCALE))


def _expand_gelu(input: Tensor, approximate: str) -> Tensor:
    inner = _gelu_inner(input, approximate)
    return arithmetic.mul(arithmetic.mul(input, 0.5), arithmetic.add(inner, 1.0))


def _gelu_grad(ctx: GradContext) -> Grads:
    x, approximate = ctx.inputs[0], ctx.attrs["approximate"]
    inner = _gelu_inner(x, approximate)
    if approximate == "none":
        density = math.exp(arithmetic.mul(math.square(x), -0.5))
        slope = arithmetic.mul(arithmetic.mul(x, density), 1.0 / numbers.sqrt(2.0 * numbers.pi))
    else:
        rise = arithmetic.add(arithmetic.mul(math.square(x), 3.0 * _CUBIC), 1.0)
        steep = arithmetic.mul(
            arithmetic.sub(1.0, math.square(inner)), arithmetic.mul(rise, _TANH_SCALE)
        )
        slope = arithmetic.mul(arithmetic.mul(x, 0.5), steep)
    whole = arithmetic.add(arithmetic.mul(arithmetic.add(inner, 1.0), 0.5), slope)
    return (arithmetic.mul(ctx.dout, whole),)


@op(
    infer=float_rule("gelu"),
    kernel=_gelu_kernel,
    grad=_gelu_grad,
    lowering=Composite(_expand_gelu),
    category="activation",
    primitive="GeLU",
    fast=fast.composite("none"),
)
def gelu(input: TensorLike, approximate: str = "none") -> Call:
    """Return ``input`` times the standard normal distribution function of it (GELU).

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.
    approximate : str
        ``"none"`` uses erf, ``"tanh"`` the approximation by tanh.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If ``approximate`` is another word.

    References
    ----------
    Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
    """
    if approximate not in {"none", "tanh"}:
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', it is {approximate!r}.")
    return (as_float(input),), {"approximate": approximate}
