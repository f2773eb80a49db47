"""Hyperbolic functions and their inverses."""

from __future__ import annotations

import math as numbers
from typing import Any

import numpy as np

from ..tensor import Tensor
from . import arithmetic, fast, math
from .cast import TensorLike, as_float
from .declarations import scalar
from .registry import Call, GradContext, Grads, Pointwise, op
from .rules import float_rule

_LOG2 = numbers.log(2.0)
_LARGE = 1e4
"""Beyond it the square swallows the one beside it in float32 and float64 alike, or nearly so."""


def signed(b: Any, x: Any, size: Any) -> Any:
    """Give ``size`` the sign of ``x``; zeros and NaN of ``x`` stay as they are."""
    return b.select(x < 0, -size, b.select(x > 0, size, x))


def _sinh_expr(b: Any, x: Any) -> Any:
    a = b.call("abs", x)
    rise = b.call("expm1", b.call("minimum", a, 20.0))
    half = b.call("exp", a * 0.5)  # twice the half, since exp(a) overflows before sinh does
    return signed(b, x, b.select(a < 20.0, (rise + rise / (rise + 1.0)) * 0.5, half * 0.5 * half))


def _sinh_slope(ctx: GradContext) -> Tensor:
    return cosh(ctx.inputs[0])


@scalar(np.sinh, _sinh_slope, Pointwise(_sinh_expr))
def sinh(input: TensorLike) -> Call:
    """Return hyperbolic sines.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        ``(exp(input) - exp(-input)) / 2``.
    """
    return (as_float(input),), {}


def _cosh_expr(b: Any, x: Any) -> Any:
    half = b.call("exp", b.call("abs", x) * 0.5)
    return half * 0.5 * half + 0.5 / half / half


@scalar(np.cosh, lambda ctx: sinh(ctx.inputs[0]), Pointwise(_cosh_expr))
def cosh(input: TensorLike) -> Call:
    """Return hyperbolic cosines.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        ``(exp(input) + exp(-input)) / 2``.
    """
    return (as_float(input),), {}


def _asinh_expr(b: Any, x: Any) -> Any:
    a = b.call("abs", x)
    low = b.call("minimum", a, _LARGE)
    root = b.call("sqrt", low * low + 1.0)
    near = b.call("log1p", low + low * low / (root + 1.0))
    return signed(b, x, b.select(a < _LARGE, near, b.call("log", a) + _LOG2 + 0.25 / a / a))


def _asinh_slope(ctx: GradContext) -> Any:
    return math.rsqrt(arithmetic.add(math.square(ctx.inputs[0]), 1.0))


@scalar(np.arcsinh, _asinh_slope, Pointwise(_asinh_expr))
def asinh(input: TensorLike) -> Call:
    """Return inverse hyperbolic sines.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The numbers whose ``sinh`` is the input.
    """
    return (as_float(input),), {}


def _acosh_expr(b: Any, x: Any) -> Any:
    t = b.call("minimum", x, _LARGE) - 1.0
    near = b.call("log1p", t + b.call("sqrt", t * (t + 2.0)))
    found = b.select(x > _LARGE, b.call("log", x) + _LOG2 - 0.25 / x / x, near)
    return b.select(x < 1.0, b.const(np.nan, x), found)


def _acosh_slope(ctx: GradContext) -> Any:
    x = ctx.inputs[0]
    return math.rsqrt(arithmetic.mul(arithmetic.sub(x, 1.0), arithmetic.add(x, 1.0)))


@scalar(np.arccosh, _acosh_slope, Pointwise(_acosh_expr))
def acosh(input: TensorLike) -> Call:
    """Return inverse hyperbolic cosines; of numbers below one NaN.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The numbers, none negative, whose ``cosh`` is the input.
    """
    return (as_float(input),), {}


def _atanh_expr(b: Any, x: Any) -> Any:
    a = b.call("abs", x)
    return signed(b, x, b.call("log1p", a * 2.0 / (1.0 - a)) * 0.5)


def _atanh_slope(ctx: GradContext) -> Any:
    x = ctx.inputs[0]
    return math.reciprocal(arithmetic.mul(arithmetic.sub(1.0, x), arithmetic.add(x, 1.0)))


@scalar(np.arctanh, _atanh_slope, Pointwise(_atanh_expr))
def atanh(input: TensorLike) -> Call:
    """Return inverse hyperbolic tangents; beyond -1 and 1 NaN.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The numbers whose ``tanh`` is the input.
    """
    return (as_float(input),), {}


def _tanh_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(ctx.dout, arithmetic.sub(1.0, math.square(ctx.outputs[0]))),)


@op(
    infer=float_rule("tanh"),
    kernel=np.tanh,
    grad=_tanh_grad,
    lowering=Pointwise.of("tanh"),
    category="math",
    method=True,
    fast=fast.unary(np.tanh),
)
def tanh(input: TensorLike) -> Call:
    """Return hyperbolic tangents.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        Values in -1..1.
    """
    return (as_float(input),), {}


arcsinh, arccosh, arctanh = asinh, acosh, atanh
