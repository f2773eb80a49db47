"""x^y: the logarithm in double-double arithmetic, so that a large y does not magnify its error."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np

from .emitter import Emitter, Value
from .expressions import FLOAT32, FLOAT64
from .vecmath import constants, copysign, exp, like, log, log_parts, polynomial

_TWO_THIRDS: Final = (float.fromhex("0x1.5555555555555p-1"), float.fromhex("0x1.5555555555555p-55"))

_LOG_TAIL: Final = (
    0.4,
    0.28571428571428376,
    0.22222222222291066,
    0.18181818169176162,
    0.15384616760197006,
    0.13333240055246529,
    0.1176868606836708,
    0.1042268829882687,
    0.11014906868499139,
)
"""((2 atanh(s) - 2 s) / s^3 - 2/3) / s^2 in s^2, for s = f / (2 + f)."""

Double: TypeAlias = tuple[Value, Value]
"""A number as a float64 and its rounding error."""


def power(emit: Emitter, x: Value, y: Value) -> Value:
    """x^y as C's pow; float32 is computed in float64 with a plain logarithm."""
    if x.dtype == FLOAT64:
        a = emit.unary("fabs", x)
        return _finish(emit, x, y, _exp_product(emit, _log_double(emit, a), y))
    base, exponent = emit.cast(x, FLOAT64), emit.cast(y, FLOAT64)
    product = emit.exact("mul", exponent, log(emit, emit.unary("fabs", base)))
    return emit.cast(_finish(emit, base, exponent, exp(emit, product)), FLOAT32)


def _finish(emit: Emitter, x: Value, y: Value, result: Value) -> Value:
    """Correct |x|^y for the sign of x and for the cases that C's pow lists."""
    a = emit.unary("fabs", x)
    ordered = emit.compare("ord", y, y)
    one = emit.binary("and", emit.compare("eq", a, 1.0), ordered)  # also for infinite y
    result = emit.select(one, like(x, 1.0), result)
    integral = emit.compare("eq", emit.unary("floor", y), y)
    halved = emit.exact("mul", y, 0.5)
    odd = emit.binary("and", integral, emit.compare("ne", emit.unary("floor", halved), halved))
    result = emit.select(odd, copysign(emit, result, x), result)
    finite_below = emit.binary("and", emit.compare("lt", x, 0.0), emit.compare("gt", x, -np.inf))
    undefined = emit.binary("and", finite_below, emit.binary("xor", integral, True))
    result = emit.select(undefined, like(x, np.nan), result)
    always = emit.binary("or", emit.compare("eq", x, 1.0), emit.compare("eq", y, 0.0))
    return emit.select(always, like(x, 1.0), result)


def _product(emit: Emitter, x: Double, y: Double) -> Double:
    high = emit.exact("mul", x[0], y[0])
    error = emit.fma(x[0], y[0], emit.neg(high))
    return high, emit.fma(x[0], y[1], emit.fma(x[1], y[0], error))


def _sum(emit: Emitter, x: Value, y: Value) -> Double:
    """Add where |x| >= |y| or x is zero."""
    high = emit.exact("add", x, y)
    return high, emit.exact("add", emit.exact("sub", x, high), y)


def _log_double(emit: Emitter, x: Value) -> Double:
    """Logarithm of x >= 0, to about 2^-64: 2 s + s^3 (2/3 + s^2 Q(s^2)) + k log(2)."""
    f, k = log_parts(emit, x)
    divisor, divisor_error = _sum(emit, like(x, 2.0), f)
    inverse = emit.div(like(x, 1.0), divisor)
    s_high = emit.exact("mul", f, inverse)
    left = emit.fma(emit.neg(s_high), divisor, f)
    left = emit.fma(emit.neg(s_high), divisor_error, left)
    s = (s_high, emit.exact("mul", left, inverse))
    z = _product(emit, s, s)
    tail = emit.exact("mul", z[0], polynomial(emit, z[0], _LOG_TAIL))
    factor_high, factor_low = _sum(emit, like(x, _TWO_THIRDS[0]), tail)
    factor = (factor_high, emit.exact("add", factor_low, _TWO_THIRDS[1]))
    cubic = _product(emit, _product(emit, s, z), factor)
    twice = emit.exact("add", s[0], s[0])
    head, error = _sum(emit, twice, cubic[0])
    error = emit.exact("add", error, emit.fma(s[1], 2.0, cubic[1]))
    high, low = constants(x.dtype).ln2
    total, lost = _sum(emit, emit.exact("mul", k, high), head)
    lost = emit.exact("add", lost, emit.fma(k, low, error))
    total = emit.select(emit.compare("eq", x, 0.0), like(x, -np.inf), total)
    return emit.select(emit.compare("ueq", x, np.inf), x, total), lost


def _exp_product(emit: Emitter, logarithm: Double, y: Value) -> Value:
    """e^(y * logarithm), the product's rounding error included."""
    high = emit.exact("mul", y, logarithm[0])
    error = emit.fma(y, logarithm[0], emit.neg(high))
    error = emit.fma(y, logarithm[1], error)
    inside = emit.compare("lt", emit.unary("fabs", high), 1000.0)  # else e^high is 0 or infinite
    return exp(emit, high, emit.select(inside, error, like(y, 0.0)))
