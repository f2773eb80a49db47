"""Scalar ops of the loop IR as instructions, with NumPy's results at NaN, infinities and zeros."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from . import vecmath
from .emitter import Emitter, Value, literal
from .expressions import DType, kind_of
from .power import power

HEAVY: Final = frozenset(
    "exp expm1 log log1p tanh erf sigmoid sin cos pow floordiv mod".split()  # noqa: SIM905
)
"""Ops of ten instructions and more: loops that hold several are not unrolled."""


def scalar_op(emit: Emitter, op: str, args: Sequence[Value], dtype: DType) -> Value:
    """Emit one call of a scalar op on matching or splattable values."""
    if op == "cast":
        return emit.cast(args[0], dtype)
    if op == "select":
        return emit.select(*args)
    if op in ("eq", "ne", "lt", "le", "gt", "ge"):
        return emit.compare(op, *args)
    rule = _RULES[op]
    return rule(emit, *emit.match(*args))


def _sign(emit: Emitter, x: Value) -> Value:
    if kind_of(x.dtype) != "float":
        positive = emit.select(emit.compare("gt", x, 0), literal(1, x.dtype, x.lanes), 0)
        if x.dtype.kind == "u":
            return positive
        return emit.select(emit.compare("lt", x, 0), literal(-1, x.dtype, x.lanes), positive)
    other = emit.select(emit.is_nan(x), x, literal(0.0, x.dtype, x.lanes))
    above = emit.select(emit.compare("gt", x, 0.0), literal(1.0, x.dtype, x.lanes), other)
    return emit.select(emit.compare("lt", x, 0.0), literal(-1.0, x.dtype, x.lanes), above)


def _abs(emit: Emitter, x: Value) -> Value:
    if kind_of(x.dtype) == "float":
        return emit.unary("fabs", x)
    if x.dtype.kind == "u":
        return x
    return emit.select(emit.compare("lt", x, 0), emit.neg(x), x)


def _div(emit: Emitter, x: Value, y: Value) -> Value:
    return emit.div(x, y)


def _quotient(emit: Emitter, x: Value, y: Value) -> tuple[Value, Value, Value]:
    """Return the floored quotient, the remainder with the divisor's sign, and where y is zero.

    The machine traps on zero and on the smallest integer by -1, so neither reaches it.
    """
    zero = emit.compare("eq", y, 0)
    if x.dtype.kind == "u":
        safe = emit.select(zero, literal(1, x.dtype, x.lanes), y)
        quotient = emit.binary("udiv", x, safe)
        return quotient, emit.sub(x, emit.mul(quotient, safe)), zero
    minus = emit.compare("eq", y, -1)
    risky = emit.binary("or", zero, minus)
    safe = emit.select(risky, literal(1, x.dtype, x.lanes), y)
    quotient = emit.binary("sdiv", x, safe)
    remainder = emit.sub(x, emit.mul(quotient, safe))
    crosses = emit.compare("lt", emit.binary("xor", remainder, safe), 0)
    inexact = emit.binary("and", emit.compare("ne", remainder, 0), crosses)
    quotient = emit.select(inexact, emit.sub(quotient, 1), quotient)
    remainder = emit.select(inexact, emit.add(remainder, safe), remainder)
    return emit.select(minus, emit.neg(x), quotient), remainder, zero


def _floordiv(emit: Emitter, x: Value, y: Value) -> Value:
    quotient, _, zero = _quotient(emit, x, y)
    return emit.select(zero, literal(0, x.dtype, x.lanes), quotient)


def _mod(emit: Emitter, x: Value, y: Value) -> Value:
    _, remainder, zero = _quotient(emit, x, y)
    return emit.select(zero, literal(0, x.dtype, x.lanes), remainder)


def _shift(emit: Emitter, word: str, x: Value, y: Value) -> Value:
    """Shift; counts beyond the width give 0 or the sign, as NumPy's."""
    bits = 8 * x.dtype.itemsize
    inside = emit.compare("lt", emit.reinterpret_unsigned(y), bits)
    safe = emit.select(inside, y, literal(0, x.dtype, x.lanes))
    beyond = literal(0, x.dtype, x.lanes)
    if word == "ashr":
        beyond = emit.binary("ashr", x, bits - 1)
    return emit.select(inside, emit.binary(word, x, safe), beyond)


def _shr(emit: Emitter, x: Value, y: Value) -> Value:
    return _shift(emit, "ashr" if x.dtype.kind == "i" else "lshr", x, y)


def _not(emit: Emitter, x: Value) -> Value:
    return emit.binary("xor", x, True if kind_of(x.dtype) == "bool" else -1)


def _isinf(emit: Emitter, x: Value) -> Value:
    return emit.compare("eq", emit.unary("fabs", x), np.inf)


def _isfinite(emit: Emitter, x: Value) -> Value:
    return emit.compare("lt", emit.unary("fabs", x), np.inf)


def _intrinsic(name: str) -> Callable[..., Value]:
    return lambda emit, x: emit.unary(name, x)


_RULES: Final[dict[str, Callable[..., Value]]] = {
    "add": Emitter.add,
    "sub": Emitter.sub,
    "mul": Emitter.mul,
    "div": _div,
    "fma": Emitter.fma,
    "neg": Emitter.neg,
    "abs": _abs,
    "sign": _sign,
    "square": lambda emit, x: emit.mul(x, x),
    "maximum": Emitter.maximum,
    "minimum": Emitter.minimum,
    "sqrt": _intrinsic("sqrt"),
    "floor": _intrinsic("floor"),
    "ceil": _intrinsic("ceil"),
    "trunc": _intrinsic("trunc"),
    "round": _intrinsic("rint"),
    "isnan": Emitter.is_nan,
    "isinf": _isinf,
    "isfinite": _isfinite,
    "floordiv": _floordiv,
    "mod": _mod,
    "shl": lambda emit, x, y: _shift(emit, "shl", x, y),
    "shr": _shr,
    "and": lambda emit, x, y: emit.binary("and", x, y),
    "or": lambda emit, x, y: emit.binary("or", x, y),
    "xor": lambda emit, x, y: emit.binary("xor", x, y),
    "not": _not,
    "rsqrt": vecmath.rsqrt,
    "exp": vecmath.exp,
    "expm1": vecmath.expm1,
    "log": vecmath.log,
    "log1p": vecmath.log1p,
    "tanh": vecmath.tanh,
    "erf": vecmath.erf,
    "sigmoid": vecmath.sigmoid,
    "sin": vecmath.sin,
    "cos": vecmath.cos,
    "pow": power,
}
