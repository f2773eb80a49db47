"""Functions of elements: scalar functions, comparisons, bits, mixtures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from cellwire import ops

from parity.pair import Case, Draw, Pair, binary, unary


def _same(names: str, low: float = -2.0, high: float = 2.0, **more: Any) -> list[Pair]:
    """Return the pairs of functions that PyTorch has by the same name."""
    return [
        unary(f"ops.{name}", getattr(ops, name), getattr(torch, name), low, high, **more)
        for name in names.split()
    ]


def _special(names: str, low: float = -2.0, high: float = 2.0) -> list[Pair]:
    return [
        unary(f"ops.{ours}", getattr(ops, ours), getattr(torch.special, theirs), low, high)
        for ours, theirs in (pair.split(":") for pair in names.split())
    ]


def _values(names: str) -> list[Pair]:
    """Return the pairs of functions of Bessel, whose slopes PyTorch does not have."""
    found = []
    for ours, theirs, low in (item.split(":") for item in names.split()):
        peer = getattr(torch.special, theirs)
        found.append(unary(f"ops.{ours}", getattr(ops, ours), peer, float(low), 3.0, grad=False))
    return found


def _integers(name: str, theirs: Callable[..., Any], low: int = 0, high: int = 9) -> Pair:
    def build(draw: Draw) -> Case:
        first, second = draw.two_shapes()
        arrays = (draw.integers(-40, 40, first), draw.integers(low, high, second))
        return Case(getattr(ops, name), theirs, arrays)

    return Pair(f"ops.{name}", build, grad=False)


def _odd(name: str, theirs: Callable[..., Any]) -> Pair:
    """Return the pair of a test of numbers, on NaN, infinities and zeros."""

    def build(draw: Draw) -> Case:
        numbers = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.0])
        return Case(getattr(ops, name), theirs, (draw.rng.permutation(numbers),))

    return Pair(f"ops.{name}", build, grad=False)


def _bools(name: str) -> Pair:
    def build(draw: Draw) -> Case:
        first, second = draw.two_shapes()
        peer = getattr(torch, name)
        return Case(getattr(ops, name), peer, (draw.bools(*first), draw.bools(*second)))

    return Pair(f"ops.{name}", build, grad=False)


def _three(name: str, ours: Callable[..., Any], theirs: Callable[..., Any]) -> Pair:
    def build(draw: Draw) -> Case:
        first, second = draw.two_shapes()
        arrays = tuple(draw.uniform(0.3, 2.0, shape) for shape in (first, second, first))
        return Case(ours, theirs, arrays)

    return Pair(f"ops.{name}", build)


def _sum_of_many(draw: Draw) -> Case:
    first, second = draw.two_shapes()
    arrays = tuple(draw.normal(*shape) for shape in (first, second, first))
    return Case(lambda *t: ops.addn(t), lambda a, b, c: a + b + c, arrays)


def _near(draw: Draw) -> Case:
    x = draw.normal(4, 3)
    y = x + draw.choice((0.0, 1e-9, 1e-2))
    return Case(ops.isclose, torch.isclose, (x, y))


def _all_near(draw: Draw) -> Case:
    x = draw.normal(4, 3)
    y = x + draw.choice((0.0, 1e-2))
    return Case(ops.allclose, lambda a, b: torch.tensor(torch.allclose(a, b)), (x, y))


def _choice(draw: Draw) -> Case:
    first, second = draw.two_shapes()
    arrays = (draw.bools(*first), draw.normal(*first), draw.normal(*second))
    return Case(ops.select, torch.where, arrays)


def _clipped(draw: Draw) -> Case:
    x, low = draw.normal(3, 4), draw.normal(4)
    return Case(
        lambda x, low: ops.clip_by_value(x, low, low + 1),
        lambda x, low: torch.clamp(x, low, low + 1),
        (x, low),
    )


def _norm_clipped(draw: Draw) -> Case:
    arrays = (draw.normal(3, 4), draw.normal(5))

    def theirs(*tensors: Any) -> Any:
        norm = torch.cat([t.reshape(-1) for t in tensors]).norm()
        return [t * torch.clamp(0.5 / (norm + 1e-6), max=1.0) for t in tensors]

    return Case(lambda *t: ops.clip_by_norm(t, 0.5), theirs, arrays)


def _globally_clipped(draw: Draw) -> Case:
    arrays = (draw.normal(3, 4), draw.normal(5))

    def theirs(*tensors: Any) -> Any:
        norm = torch.cat([t.reshape(-1) for t in tensors]).norm()
        return [t * 0.5 / torch.clamp(norm, min=0.5) for t in tensors]

    return Case(lambda *t: ops.clip_by_global_norm(t, 0.5), theirs, arrays)


PAIRS: list[Pair] = [
    *_same("neg abs exp square sigmoid erf sin cos tanh floor ceil round trunc frac sinh cosh"
           " asinh tan atan exp2 expm1 erfc sinc deg2rad rad2deg positive", -1.4, 1.4),
    *_same("sign signbit isfinite isnan isinf isreal logical_not", grad=False),
    *_same("log log1p sqrt rsqrt reciprocal log2 log10 lgamma digamma", 0.3, 3.0),
    *_same("atanh asin acos erfinv", -0.9, 0.9), *_same("acosh", 1.2, 4.0),
    *_same("logit", 0.1, 0.9),
    *_special("bessel_i0:i0 bessel_i1:i1 bessel_i0e:i0e bessel_i1e:i1e"),
    *_values("bessel_j0:bessel_j0:-3 bessel_j1:bessel_j1:-3 bessel_y0:bessel_y0:0.3"
             " bessel_y1:bessel_y1:0.3 bessel_k0:modified_bessel_k0:0.3"
             " bessel_k1:modified_bessel_k1:0.3 bessel_k0e:scaled_modified_bessel_k0:0.3"
             " bessel_k1e:scaled_modified_bessel_k1:0.3"),
    unary("ops.polygamma", lambda x: ops.polygamma(2, x), lambda x: torch.polygamma(2, x), 0.3,
          3.0),
    unary("ops.mvlgamma", lambda x: ops.mvlgamma(x, 2), lambda x: torch.mvlgamma(x, 2), 1.0, 4.0),
    unary("ops.igamma", lambda x: ops.igamma(1.5, x),
          lambda x: torch.special.gammainc(torch.tensor(1.5, dtype=x.dtype), x), 0.3, 3.0),
    unary("ops.igammac", lambda x: ops.igammac(1.5, x),
          lambda x: torch.special.gammaincc(torch.tensor(1.5, dtype=x.dtype), x), 0.3, 3.0),
    unary("ops.zeta", lambda x: ops.zeta(2.5, x), lambda x: torch.special.zeta(2.5, x), 0.5, 3.0),
    unary("ops.clamp", lambda x: ops.clamp(x, -0.5, 0.7), lambda x: torch.clamp(x, -0.5, 0.7)),
    unary("ops.nan_to_num", ops.nan_to_num, torch.nan_to_num),
    *(_odd(name, getattr(torch, name)) for name in ("isneginf", "isposinf")),
    binary("ops.atan2", ops.atan2, torch.atan2), binary("ops.hypot", ops.hypot, torch.hypot),
    binary("ops.logaddexp", ops.logaddexp, torch.logaddexp),
    binary("ops.logaddexp2", ops.logaddexp2, torch.logaddexp2),
    binary("ops.xlogy", ops.xlogy, torch.xlogy, low=0.3),
    binary("ops.xdivy", ops.xdivy, torch.div, low=0.3),
    binary("ops.pow", ops.pow, torch.pow, low=0.3),
    binary("ops.float_power", ops.float_power, torch.float_power, low=0.3),
    binary("ops.ldexp", ops.ldexp, lambda x, y: x * torch.exp2(y)),
    binary("ops.mod", ops.mod, torch.remainder, low=0.3),
    binary("ops.fmod", ops.fmod, torch.fmod, low=0.3),
    binary("ops.floor_div", ops.floor_div, torch.floor_divide, low=0.3, grad=False),
    binary("ops.truncate_div", ops.truncate_div,
           lambda x, y: torch.div(x, y, rounding_mode="trunc"), low=0.3, grad=False),
    binary("ops.divide", lambda x, y: ops.divide(x, y, rounding_mode="floor"),
           lambda x, y: torch.div(x, y, rounding_mode="floor"), low=0.3, grad=False),
    binary("ops.copysign", ops.copysign, torch.copysign),
    binary("ops.heaviside", ops.heaviside, torch.heaviside, grad=False),
    binary("ops.nextafter", ops.nextafter, torch.nextafter, grad=False),
    binary("ops.squared_difference", ops.squared_difference, lambda x, y: (x - y) ** 2),
    binary("ops.approximate_equal", lambda x, y: ops.approximate_equal(x, y, 0.5),
           lambda x, y: (x - y).abs() < 0.5, grad=False),
    unary("ops.cbrt", ops.cbrt, lambda x: x ** (1 / 3), 0.3, 3.0),
    *(binary(f"ops.{ours}", getattr(ops, ours), getattr(torch, theirs), grad=False)
      for ours, theirs in (("equal", "eq"), ("not_equal", "ne"), ("less", "lt"),
                           ("less_equal", "le"), ("greater", "gt"), ("greater_equal", "ge"))),
    *(_integers(name, getattr(torch, name)) for name in
      ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
       "gcd", "lcm")),
    _integers("truncate_mod", torch.fmod, 1),
    *(_bools(name) for name in ("logical_and", "logical_or", "logical_xor")),
    Pair("ops.bitwise_not", lambda draw: Case(
        ops.bitwise_not, torch.bitwise_not, (draw.integers(-9, 9, draw.shape()),)), grad=False),
    _three("lerp", ops.lerp, torch.lerp),
    _three("addcmul", lambda *t: ops.addcmul(*t, value=0.5),
           lambda *t: torch.addcmul(*t, value=0.5)),
    _three("addcdiv", lambda *t: ops.addcdiv(*t, value=0.5),
           lambda *t: torch.addcdiv(*t, value=0.5)),
    Pair("ops.addn", _sum_of_many), Pair("ops.isclose", _near, grad=False),
    Pair("ops.allclose", _all_near, grad=False), Pair("ops.select", _choice),
    Pair("ops.clip_by_value", _clipped), Pair("ops.clip_by_norm", _norm_clipped),
    Pair("ops.clip_by_global_norm", _globally_clipped),
]  # fmt: skip
