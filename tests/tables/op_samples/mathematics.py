"""Samples of scalar functions, bits, signs and mixtures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cellwire.engine import ops
from scipy import special

from op_samples.sample import N, Sample, bools, integers, normal, positive

X, Y, P = normal(N, 2), normal(N, 2, seed=1), positive(N, 2)
UNIT = X / 4  # within -1..1
ODD = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0])
NO: dict[str, Any] = {"differentiable": False}


def _unary(name: str, reference: Callable[..., Any], x: np.ndarray = X, **more: Any) -> Sample:
    return Sample(name, getattr(ops, name), (x,), reference, **more)


def _binary(name: str, reference: Any, x: Any = X, y: Any = Y, **more: Any) -> list[Sample]:
    function = getattr(ops, name)
    return [
        Sample(name, function, (x, y), reference, **more),
        Sample(name, function, (x, y[:1]), reference, **more),
    ]


def _circular() -> list[Sample]:
    return [
        _unary("sinh", np.sinh), _unary("cosh", np.cosh), _unary("asinh", np.arcsinh),
        _unary("acosh", np.arccosh, P + 1), _unary("atanh", np.arctanh, UNIT),
        _unary("tan", np.tan, UNIT), _unary("asin", np.arcsin, UNIT),
        _unary("acos", np.arccos, UNIT), _unary("atan", np.arctan),
        *_binary("atan2", np.arctan2), _unary("deg2rad", np.deg2rad, X * 90),
        _unary("rad2deg", np.rad2deg), _unary("sinc", np.sinc),
        Sample("sinc", ops.sinc, (np.array([0.0, 1.5]),), np.sinc, **NO),
    ]  # fmt: skip


def _exponential() -> list[Sample]:
    return [
        _unary("exp2", np.exp2), _unary("expm1", np.expm1), _unary("log2", np.log2, P),
        _unary("log10", np.log10, P), *_binary("logaddexp", np.logaddexp),
        *_binary("logaddexp2", np.logaddexp2), _unary("logit", special.logit, P / 5),
        Sample("logit", lambda x: ops.logit(x, 0.1), (P / 5,),
               lambda x: special.logit(x.clip(0.1, 0.9)), **NO),
        *_binary("xlogy", special.xlogy, y=P), *_binary("xdivy", np.divide),
        Sample("xdivy", ops.xdivy, (np.zeros(N), np.array([0.0, 1, 2, np.inf, -1])),
               lambda x, y: np.zeros(N), **NO),
        _unary("cbrt", np.cbrt), *_binary("float_power", np.float_power, x=P),
        *_binary("ldexp", lambda x, y: x * 2.0**y), *_binary("hypot", np.hypot),
    ]  # fmt: skip


def _special() -> list[Sample]:
    return [
        _unary("erfc", special.erfc), _unary("erfinv", special.erfinv, UNIT),
        _unary("lgamma", special.gammaln, P), _unary("digamma", special.digamma, P),
        _unary("digamma", special.digamma, X),
        Sample("polygamma", lambda x: ops.polygamma(2, x), (P,),
               lambda x: special.polygamma(2, x)),
        Sample("mvlgamma", lambda x: ops.mvlgamma(x, 2), (P + 1,),
               lambda x: special.gammaln(x) + special.gammaln(x - 0.5) + np.log(np.pi) / 2),
        Sample("igamma", lambda x: ops.igamma(1.5, x), (P,), lambda x: special.gammainc(1.5, x)),
        Sample("igammac", lambda x: ops.igammac(1.5, x), (P,),
               lambda x: special.gammaincc(1.5, x)),
        Sample("zeta", lambda q: ops.zeta(3.0, q), (P,), lambda q: special.zeta(3.0, q)),
        *(_unary(f"bessel_{kind}", getattr(special, kind), P if kind[0] in "yk" else X)
          for kind in "j0 j1 y0 y1 i0 i1 i0e i1e k0 k1 k0e k1e".split()),  # noqa: SIM905
    ]  # fmt: skip


def _bits() -> list[Sample]:
    a, b = integers(N, 2, high=40), integers(N, 2, high=9, seed=1)
    return [
        *_binary("bitwise_and", np.bitwise_and, a, b, **NO),
        *_binary("bitwise_or", np.bitwise_or, a, b, **NO),
        *_binary("bitwise_xor", np.bitwise_xor, a, b, **NO),
        *_binary("bitwise_left_shift", np.left_shift, a, b, **NO),
        *_binary("bitwise_right_shift", np.right_shift, -a, b, **NO),
        _unary("bitwise_not", np.invert, a, **NO), _unary("bitwise_not", np.invert, bools(N), **NO),
        *_binary("logical_xor", np.logical_xor, bools(N, 2), bools(N, 2, seed=1), **NO),
        *_binary("gcd", np.gcd, a, b, **NO), *_binary("lcm", np.lcm, a, b, **NO),
    ]  # fmt: skip


def _rounded() -> list[Sample]:
    a, b = integers(N, 2, low=-20, high=20), integers(N, 2, low=1, high=7, seed=1)
    whole = lambda x, y: np.trunc(x / y)  # noqa: E731
    return [
        _unary("trunc", np.trunc, X * 3, **NO), _unary("trunc", np.trunc, a, **NO),
        _unary("frac", lambda x: x - np.trunc(x)),
        *_binary("truncate_div", whole, X * 9, **NO), *_binary("truncate_div", whole, a, b, **NO),
        *_binary("truncate_div", whole, a, -b, **NO),
        *_binary("fmod", np.fmod, X * 9, P), *_binary("fmod", np.fmod, a, -b, **NO),
    ]  # fmt: skip


def _signs() -> list[Sample]:
    zeros = np.array([0.0, -0.0, 1.0, -1.0, np.inf])
    return [
        _unary("signbit", np.signbit, zeros, **NO), _unary("signbit", np.signbit, X, **NO),
        *_binary("copysign", np.copysign), _unary("positive", np.positive),
        *_binary("heaviside", np.heaviside),
        Sample("heaviside", lambda v: ops.heaviside(ops.zeros_like(v), v), (X,), np.copy),
        Sample("nextafter", lambda x: ops.nextafter(x, 9.0), (X,), **NO),
        _unary("isneginf", np.isneginf, ODD, **NO), _unary("isposinf", np.isposinf, ODD, **NO),
        _unary("isreal", np.isreal, ODD, **NO),
    ]  # fmt: skip


def _close() -> list[Sample]:
    near = np.array([np.nan, np.inf, np.inf, 1e-9, 1.000001])
    return [
        Sample("isclose", ops.isclose, (ODD, near), np.isclose, **NO),
        Sample("isclose", lambda a, b: ops.isclose(a, b, equal_nan=True), (ODD, near),
               lambda a, b: np.isclose(a, b, equal_nan=True), **NO),
        Sample("allclose", ops.allclose, (X, X + 1e-7), np.allclose, **NO),
        Sample("allclose", ops.allclose, (X, Y), np.allclose, **NO),
        Sample("approximate_equal", lambda a, b: ops.approximate_equal(a, b, 0.5), (X, Y),
               lambda a, b: abs(a - b) < 0.5, **NO),
    ]  # fmt: skip


def _mixtures() -> list[Sample]:
    z = normal(2, seed=2)
    return [
        Sample("lerp", ops.lerp, (X, Y, z), lambda x, y, w: x + w * (y - x)),
        Sample("lerp", lambda x, y: ops.lerp(x, y, 0.25), (X, Y), lambda x, y: (3 * x + y) / 4),
        Sample("addcmul", lambda *t: ops.addcmul(*t, value=0.5), (X, Y, z),
               lambda x, y, z: x + y * z / 2),
        Sample("addcdiv", lambda *t: ops.addcdiv(*t, value=0.5), (X, Y, z),
               lambda x, y, z: x + y / z / 2),
        *_binary("squared_difference", lambda x, y: (x - y) ** 2),
        Sample("addn", lambda *t: ops.addn(t), (X, Y, z), lambda x, y, z: x + y + z),
        Sample("addn", lambda *t: ops.addn(t), (X,), np.copy),
        Sample("nan_to_num", lambda x: ops.nan_to_num(x, 1.0, 2.0, -3.0), (ODD,),
               lambda x: np.nan_to_num(x, nan=1, posinf=2, neginf=-3), **NO),
        Sample("nan_to_num", ops.nan_to_num, (X,), np.copy),
        Sample("clip_by_value", ops.clip_by_value, (X, Y - 2, Y + 0.1),
               lambda x, low, high: x.clip(low, high)),
        Sample("clip_by_value", lambda x: ops.clip_by_value(x, clip_value_max=0.5), (X,),
               lambda x: x.clip(None, 0.5)),
    ]  # fmt: skip


SAMPLES: list[Sample] = [
    *_circular(), *_exponential(), *_special(), *_bits(), *_rounded(), *_signs(), *_close(),
    *_mixtures(),
]  # fmt: skip
