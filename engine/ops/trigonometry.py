"""Trigonometric functions, their inverses, and degrees."""

from __future__ import annotations

import math as numbers
from typing import Any

import numpy as np

from . import arithmetic, fast, logic, math
from .cast import TensorLike, as_float, as_float_pair
from .declarations import pair, scalar, widened
from .hyperbolic import signed
from .registry import Call, GradContext, Grads, Pointwise, op
from .rules import float_rule


def _sin_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(ctx.dout, cos(ctx.inputs[0])),)


@op(
    infer=float_rule("sin"),
    kernel=np.sin,
    grad=_sin_grad,
    lowering=Pointwise.of("sin"),
    category="math",
    method=True,
    fast=fast.unary(np.sin),
)
def sin(input: TensorLike) -> Call:
    """Return sines of angles in radians.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The sines.
    """
    return (as_float(input),), {}


def _cos_grad(ctx: GradContext) -> Grads:
    return (math.neg(arithmetic.mul(ctx.dout, sin(ctx.inputs[0]))),)


@op(
    infer=float_rule("cos"),
    kernel=np.cos,
    grad=_cos_grad,
    lowering=Pointwise.of("cos"),
    category="math",
    method=True,
    fast=fast.unary(np.cos),
)
def cos(input: TensorLike) -> Call:
    """Return cosines of angles in radians.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The cosines.
    """
    return (as_float(input),), {}


_P = (
    -8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1,
    -1.228866684490136173410e2, -6.485021904942025371773e1,
)  # fmt: skip


_Q = (
    1.0, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2,
    4.853903996359136964868e2, 1.945506571482613964425e2,
)  # fmt: skip


# Moshier, Methods and Programs for Mathematical Functions, 1989: atan on 0..0.66.
_STEEP = 2.414213562373095  # tan(3 pi / 8)


def _polynomial(x: Any, factors: tuple[float, ...]) -> Any:
    total = x * factors[0] + factors[1]
    for factor in factors[2:]:
        total = total * x + factor
    return total


def _atan_size(b: Any, a: Any) -> Any:
    """Return the arc tangent of numbers that are not negative."""
    steep, middle = a > _STEEP, a > 0.66
    flat = b.select(middle, (a - 1.0) / (a + 1.0), a)
    t = b.select(steep, -1.0 / a, flat)
    z = t * t
    base = b.select(
        steep, b.const(numbers.pi / 2, a), b.select(middle, b.const(numbers.pi / 4, a), a * 0.0)
    )
    return base + (t + t * z * (_polynomial(z, _P) / _polynomial(z, _Q)))


def _atan_expr(b: Any, x: Any) -> Any:
    return signed(b, x, _atan_size(b, b.call("abs", x)))


def _leg(b: Any, x: Any) -> Any:
    return b.call("sqrt", (1.0 - x) * (1.0 + x))


def _asin_expr(b: Any, x: Any) -> Any:
    a = b.call("abs", x)
    return signed(b, x, _atan_size(b, a / _leg(b, a)))


def _acos_expr(b: Any, x: Any) -> Any:
    a = b.call("abs", x)
    size = _atan_size(b, _leg(b, a) / a)
    return b.select(x < 0, numbers.pi - size, size)


def _tan_slope(ctx: GradContext) -> Any:
    return arithmetic.add(math.square(ctx.outputs[0]), 1.0)


@scalar(np.tan, _tan_slope, Pointwise(lambda b, x: b.call("sin", x) / b.call("cos", x)))
def tan(input: TensorLike) -> Call:
    """Return tangents of angles in radians.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The tangents.
    """
    return (as_float(input),), {}


def _asin_slope(ctx: GradContext) -> Any:
    x = ctx.inputs[0]
    return math.rsqrt(arithmetic.mul(arithmetic.sub(1.0, x), arithmetic.add(x, 1.0)))


@scalar(np.arcsin, _asin_slope, Pointwise(_asin_expr))
def asin(input: TensorLike) -> Call:
    """Return arc sines in radians; beyond -1 and 1 NaN.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        Angles in ``-pi/2..pi/2``.
    """
    return (as_float(input),), {}


@scalar(np.arccos, lambda ctx: math.neg(_asin_slope(ctx)), Pointwise(_acos_expr), primitive="ACos")
def acos(input: TensorLike) -> Call:
    """Return arc cosines in radians; beyond -1 and 1 NaN.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        Angles in ``0..pi``.
    """
    return (as_float(input),), {}


def _atan_slope(ctx: GradContext) -> Any:
    return math.reciprocal(arithmetic.add(math.square(ctx.inputs[0]), 1.0))


@scalar(np.arctan, _atan_slope, Pointwise(_atan_expr))
def atan(input: TensorLike) -> Call:
    """Return arc tangents in radians.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        Angles in ``-pi/2..pi/2``.
    """
    return (as_float(input),), {}


def _atan2_expr(b: Any, y: Any, x: Any) -> Any:
    up, across = b.call("abs", y), b.call("abs", x)
    long, short = b.call("maximum", up, across), b.call("minimum", up, across)
    # Equal sides, zeros and infinities among them, stand for a ratio of one or of zero.
    ratio = b.select(b.call("eq", long, short), b.const(1.0, x), short / long)
    size = _atan_size(b, b.select(b.call("eq", long, 0.0), long, ratio))
    size = b.select(up > across, numbers.pi / 2 - size, size)
    size = b.select(_negative(b, x), numbers.pi - size, size)
    return b.select(_negative(b, y), -size, size)


def _negative(b: Any, x: Any) -> Any:
    return b.call("or", x < 0, 1.0 / x < 0)  # 1 / -0 is -Inf


def _atan2_slopes() -> Any:
    def radius(ctx: GradContext) -> Any:
        y, x = ctx.inputs
        squares = arithmetic.add(math.square(y), math.square(x))
        return logic.select(logic.equal(squares, 0), 1.0, squares)  # slopes of zero at the origin

    return (
        lambda ctx: arithmetic.div(ctx.inputs[1], radius(ctx)),
        lambda ctx: math.neg(arithmetic.div(ctx.inputs[0], radius(ctx))),
    )


@pair("atan2", np.arctan2, _atan2_slopes(), Pointwise(_atan2_expr), floats=True)
def atan2(input: TensorLike, other: TensorLike) -> Call:
    """Return arc tangents of ``input / other`` in radians, in the quadrant of (other, input).

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; integers are cast to float32.

    Returns
    -------
    Tensor
        Angles in ``-pi..pi``.
    """
    return as_float_pair(input, other), {}


def _factor(by: float) -> tuple[Any, Any]:
    return (
        lambda ctx: by,
        Pointwise(lambda b, x: x * by),
    )


@scalar(np.deg2rad, *_factor(numbers.pi / 180.0))
def deg2rad(x: TensorLike) -> Call:
    """Return degrees as radians.

    Parameters
    ----------
    x : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        ``x * pi / 180``.
    """
    return (as_float(x),), {}


@scalar(np.rad2deg, *_factor(180.0 / numbers.pi))
def rad2deg(x: TensorLike) -> Call:
    """Return radians as degrees.

    Parameters
    ----------
    x : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        ``x * 180 / pi``.
    """
    return (as_float(x),), {}


def _sinc_expr(b: Any, x: Any) -> Any:
    angle = x * numbers.pi
    return b.select(b.call("eq", x, 0.0), b.const(1.0, x), b.call("sin", angle) / angle)


def _sinc_slope(ctx: GradContext) -> Any:
    x = ctx.inputs[0]
    zero = logic.equal(x, 0)
    safe = logic.select(zero, 1.0, x)
    slope = arithmetic.div(arithmetic.sub(cos(arithmetic.mul(x, numbers.pi)), ctx.outputs[0]), safe)
    return logic.select(zero, 0.0, slope)


@scalar(widened(np.sinc), _sinc_slope, Pointwise(_sinc_expr))
def sinc(input: TensorLike) -> Call:
    """Return ``sin(pi x) / (pi x)``; at zero one.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The normalized cardinal sines.
    """
    return (as_float(input),), {}


arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
