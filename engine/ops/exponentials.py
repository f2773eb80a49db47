"""Exponentials, logarithms and roots beyond the plain ones, and mixtures made of them."""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ..dtype import float64
from ..tensor import Tensor
from . import arithmetic, clipping, logic, math
from .cast import TensorLike, as_float, as_float_pair, cast_to
from .declarations import composite, in_dtype, pair, scalar
from .registry import Call, GradContext, Pointwise

_LOG2, _LOG10 = numbers.log(2.0), numbers.log(10.0)


@scalar(
    np.exp2,
    lambda ctx: arithmetic.mul(ctx.outputs[0], _LOG2),
    Pointwise(lambda b, x: b.call("pow", b.const(2.0, x), x)),
    method=False,
)
def exp2(input: TensorLike) -> Call:
    """Return two to the power of each element.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The powers.
    """
    return (as_float(input),), {}


@scalar(
    np.expm1,
    lambda ctx: arithmetic.add(ctx.outputs[0], 1.0),
    Pointwise.of("expm1"),
)
def expm1(input: TensorLike) -> Call:
    """Return ``exp(input) - 1``, exact also near zero.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The exponentials less one.
    """
    return (as_float(input),), {}


def _log_to(base: float) -> Any:
    """Return the expression of a logarithm that is whole where the input is a power of the base."""

    def expr(b: Any, x: Any) -> Any:
        found = b.call("log", x) * (1.0 / numbers.log(base))
        whole = b.call("round", found)
        return b.select(b.call("eq", b.call("pow", b.const(base, x), whole), x), whole, found)

    return Pointwise(expr)


@scalar(
    np.log2,
    lambda ctx: math.reciprocal(arithmetic.mul(ctx.inputs[0], _LOG2)),
    _log_to(2.0),
)
def log2(input: TensorLike) -> Call:
    """Return logarithms to base 2; of zero -Inf, of negative numbers NaN.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The logarithms.
    """
    return (as_float(input),), {}


@scalar(
    np.log10,
    lambda ctx: math.reciprocal(arithmetic.mul(ctx.inputs[0], _LOG10)),
    _log_to(10.0),
)
def log10(input: TensorLike) -> Call:
    """Return logarithms to base 10; of zero -Inf, of negative numbers NaN.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The logarithms.
    """
    return (as_float(input),), {}


def _log_sum(scale: float) -> Pointwise:
    """Return the expression of ``log(base^x + base^y)``, where ``scale`` is the base's log."""

    def expr(b: Any, x: Any, y: Any) -> Any:
        top = b.call("maximum", x, y)
        gap = b.call("abs", x - y)
        same = b.call("eq", x, y)  # infinities of one sign among them
        rest = b.call("log1p", b.call("exp", gap * -scale)) * (1.0 / scale)
        return top + b.select(same, b.const(_LOG2 / scale, x), rest)

    return Pointwise(expr)


def _share(first: int, second: int, scale: float) -> Any:
    def slope(ctx: GradContext) -> Tensor:
        gap = arithmetic.sub(ctx.inputs[first], ctx.inputs[second])
        return math.sigmoid(arithmetic.mul(gap, scale))

    return slope


@pair(
    "logaddexp", np.logaddexp, (_share(0, 1, 1.0), _share(1, 0, 1.0)), _log_sum(1.0),
    primitive="LogAddExp", floats=True,
)  # fmt: skip
def logaddexp(input: TensorLike, other: TensorLike) -> Call:
    """Return ``log(exp(input) + exp(other))`` without overflow.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; integers are cast to float32.

    Returns
    -------
    Tensor
        The logarithms of the sums.
    """
    return as_float_pair(input, other), {}


@pair(
    "logaddexp2", np.logaddexp2, (_share(0, 1, _LOG2), _share(1, 0, _LOG2)), _log_sum(_LOG2),
    primitive="LogAddExp2", floats=True,
)  # fmt: skip
def logaddexp2(input: TensorLike, other: TensorLike) -> Call:
    """Return ``log2(2**input + 2**other)`` without overflow.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; integers are cast to float32.

    Returns
    -------
    Tensor
        The logarithms of the sums, to base 2.
    """
    return as_float_pair(input, other), {}


def _expand_logit(input: Tensor, eps: float | None) -> Tensor:
    x = input if eps is None else clipping.clamp(input, eps, 1.0 - eps)
    return math.log(arithmetic.div(x, arithmetic.sub(1.0, x)))


@composite(_expand_logit, category="math", method=True)
def logit(input: TensorLike, eps: float | None = None) -> Call:
    """Return ``log(input / (1 - input))``, the inverse of ``sigmoid``.

    Parameters
    ----------
    input : Tensor
        Probabilities of any shape; integers are cast to float32.
    eps : float, optional
        Probabilities are limited to ``eps..1-eps`` first; None leaves them.

    Returns
    -------
    Tensor
        The logits; outside 0..1 NaN.
    """
    return (as_float(input),), {"eps": None if eps is None else float(eps)}


def _xlogy_expr(b: Any, x: Any, y: Any) -> Any:
    plain = x * b.call("log", y)
    return b.select(b.call("and", b.call("eq", x, 0.0), b.call("eq", y, y)), x - x, plain)


def _where_zero(ctx: GradContext, value: Tensor) -> Tensor:
    return logic.select(logic.equal(ctx.inputs[0], 0), 0.0, value)


def _unless(ctx: GradContext, without: Callable[..., Tensor], slope: Callable[..., Tensor]) -> Any:
    """Return the slope to the first operand, zero where that is zero and the second has none."""
    x, y = ctx.inputs
    return logic.select(logic.logical_and(logic.equal(x, 0), without(y, 0)), 0.0, slope(y))


@pair(
    "xlogy", special.xlogy,
    (lambda ctx: _unless(ctx, logic.less_equal, math.log),
     lambda ctx: _where_zero(ctx, arithmetic.div(ctx.inputs[0], ctx.inputs[1]))),
    Pointwise(_xlogy_expr), floats=True,
)  # fmt: skip
def xlogy(input: TensorLike, other: TensorLike) -> Call:
    """Return ``input * log(other)``, zero where ``input`` is zero.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; integers are cast to float32.

    Returns
    -------
    Tensor
        The products.
    """
    return as_float_pair(input, other), {}


def _xdivy_kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where((x == 0) & ~np.isnan(y), 0, x / y)


def _xdivy_expr(b: Any, x: Any, y: Any) -> Any:
    zero = b.call("and", b.call("eq", x, 0.0), b.call("eq", y, y))
    return b.select(zero, b.const(0.0, x), x / y)


@pair(
    "xdivy", _xdivy_kernel,
    (lambda ctx: _unless(ctx, logic.equal, math.reciprocal),
     lambda ctx: _where_zero(
         ctx, math.neg(arithmetic.div(ctx.outputs[0], ctx.inputs[1])))),
    Pointwise(_xdivy_expr), floats=True,
)  # fmt: skip
def xdivy(x: TensorLike, y: TensorLike) -> Call:
    """Return ``x / y``, zero where ``x`` is zero.

    Parameters
    ----------
    x, y : Tensor or number
        Shapes that broadcast; integers are cast to float32.

    Returns
    -------
    Tensor
        The quotients.
    """
    return as_float_pair(x, y), {}


@scalar(
    np.cbrt,
    lambda ctx: arithmetic.div(1.0 / 3.0, math.square(ctx.outputs[0])),
    method=False,
)
def cbrt(input: TensorLike) -> Call:
    """Return cube roots, of negative numbers as well.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The roots.
    """
    return (as_float(input),), {}


@composite(arithmetic.pow, category="math", kernel=in_dtype(np.power), method=True)
def float_power(input: TensorLike, exponent: TensorLike) -> Call:
    """Raise to a power in float64, whatever the operands' types.

    Parameters
    ----------
    input, exponent : Tensor or number
        Shapes that broadcast.

    Returns
    -------
    Tensor
        Float64 powers; a negative base with a fraction gives NaN.
    """
    first, second = as_float_pair(input, exponent)
    return (cast_to(first, float64), cast_to(second, float64)), {}


def _ldexp_kernel(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    return x * np.exp2(other)


def _expand_ldexp(x: Tensor, other: Tensor) -> Tensor:
    return arithmetic.mul(x, exp2(other))


@composite(_expand_ldexp, category="math", kernel=in_dtype(_ldexp_kernel), method=True)
def ldexp(x: TensorLike, other: TensorLike) -> Call:
    """Return ``x * 2**other``.

    Parameters
    ----------
    x, other : Tensor or number
        Shapes that broadcast; integers are cast to float32.

    Returns
    -------
    Tensor
        The scaled numbers.
    """
    return as_float_pair(x, other), {}


def _hypot_expr(b: Any, x: Any, y: Any) -> Any:
    left, right = b.call("abs", x), b.call("abs", y)
    long, short = b.call("maximum", left, right), b.call("minimum", left, right)
    ratio = short / long  # squares of the sides themselves may overflow
    plain = long * b.call("sqrt", ratio * ratio + 1.0)
    plain = b.select(b.call("eq", long, 0.0), long, plain)
    wide = b.call("or", b.call("isinf", x), b.call("isinf", y))
    return b.select(wide, b.const(np.inf, x), plain)


def _leg_slope(position: int) -> Any:
    def slope(ctx: GradContext) -> Tensor:
        flat = logic.equal(ctx.outputs[0], 0)
        safe = logic.select(flat, 1.0, ctx.outputs[0])
        return arithmetic.div(ctx.inputs[position], safe)

    return slope


@pair("hypot", np.hypot, (_leg_slope(0), _leg_slope(1)), Pointwise(_hypot_expr), floats=True)
def hypot(input: TensorLike, other: TensorLike) -> Call:
    """Return ``sqrt(input**2 + other**2)`` without overflow.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; integers are cast to float32.

    Returns
    -------
    Tensor
        Lengths; at the origin the gradient is zero.
    """
    return as_float_pair(input, other), {}
