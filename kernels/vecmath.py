"""Elementary functions as straight-line code on vectors, for float32 and float64.

Every polynomial is a minimax fit of our own (Remez exchange in 50-digit arithmetic, weighted for
relative error of the function). Results at NaN, infinities, zeros, denormals and overflow are
NumPy's. `MAX_ULP` states the largest error; tests sweep it. Steps that must not be contracted use
unflagged instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from .control import Carried, when
from .emitter import Emitter, Number, Value, literal
from .expressions import BOOL, FLOAT32, DType

MAX_ULP: Final[dict[str, tuple[float, float]]] = {
    "rsqrt": (1.5, 1.5),
    "exp": (1.0, 1.0),
    "expm1": (2.0, 2.0),
    "log": (1.5, 1.0),
    "log1p": (2.0, 2.0),
    "tanh": (3.0, 3.0),
    "sigmoid": (2.5, 2.5),
    "erf": (1.5, 2.0),
    "sin": (2.0, 2.0),
    "cos": (2.0, 2.0),
    "pow": (1.0, 1.5),
}
"""Largest error in units in the last place, for float32 and for float64."""


@dataclass(frozen=True)
class Constants:
    """Coefficients and limits of one dtype, lowest power first."""

    mantissa: int  # stored bits
    bias: int
    ln2: tuple[float, float]  # high part short enough that n * high is exact
    exp_high: float  # overflows above
    exp_low: float  # zero below
    expm1_low: float  # -1 below
    tanh_high: float  # 1 above
    exp: tuple[float, ...]  # (e^r - 1 - r) / r^2
    half_pi: tuple[float, float, float]  # truncated, all positive: keeps the sign of zero
    turn_limit: float  # largest argument of sin and cos that is reduced here
    sin: tuple[float, ...]  # (sin r - r) / r^3 in r^2
    cos: tuple[float, ...]  # (cos r - 1 + r^2/2) / r^4 in r^2
    erf: tuple[float, ...]  # erf(x) / x - 1 in x^2, |x| < 1
    erfc: tuple[float, ...]  # -log(erfc(a)) in a - erfc_center, a >= 1
    erfc_center: float
    erf_high: float  # 1 above


_F32: Final = Constants(
    mantissa=23,
    bias=127,
    ln2=(float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cp-20")),
    exp_high=89.0,
    exp_low=-104.0,
    expm1_low=-18.0,
    tanh_high=10.0,
    exp=(0.5, 0.16666666, 0.041666348, 0.0083333915, 0.0013941652, 0.00019845941),
    half_pi=(
        float.fromhex("0x1.921fb4p+0"),
        float.fromhex("0x1.4442d0p-24"),
        float.fromhex("0x1.846988p-48"),
    ),
    turn_limit=32768.0,
    sin=(-0.16666655, 0.008332155, -0.00019514078),
    cos=(0.041666646, -0.0013887337, 2.4434838e-05),
    erf=(
        0.1283791671,
        -0.37612626,
        0.112835854,
        -0.026853813,
        0.005188328,
        -0.00080101984,
        7.8538775e-05,
    ),
    erfc=(
        -0.00018344203,
        1.1295568,
        0.63326263,
        0.10837246,
        -0.025178956,
        0.004193607,
        -0.0004391055,
        2.1496046e-05,
    ),
    erfc_center=0.0,
    erf_high=4.0,
)
_F64: Final = Constants(
    mantissa=52,
    bias=1023,
    ln2=(float.fromhex("0x1.62e42fefa38p-1"), float.fromhex("0x1.ef35793c7673p-45")),
    exp_high=710.0,
    exp_low=-746.0,
    expm1_low=-40.0,
    tanh_high=20.0,
    exp=(
        0.5,
        0.16666666666666677,
        0.04166666666666649,
        0.008333333333320736,
        0.001388888888896833,
        0.0001984126988868914,
        2.4801587164828005e-05,
        2.7557241363739058e-06,
        2.7557405858637473e-07,
        2.5110111639904305e-08,
        2.087534582206182e-09,
    ),
    half_pi=(
        float.fromhex("0x1.921fb54442d18p+0"),
        float.fromhex("0x1.1a62633145c06p-54"),
        float.fromhex("0x1.c1cd129024e08p-107"),
    ),
    turn_limit=float(2**30),
    sin=(
        -0.16666666666666666,
        0.008333333333333323,
        -0.00019841269841254386,
        2.755731921383067e-06,
        -2.5052104816375108e-08,
        1.6058354317820602e-10,
        -7.578079283400481e-13,
    ),
    cos=(
        0.041666666666666664,
        -0.0013888888888888874,
        2.4801587301570737e-05,
        -2.7557319215045773e-07,
        2.0876754291105903e-09,
        -1.1470284673435172e-11,
        4.737718216582472e-14,
    ),
    erf=(
        0.12837916709551258,
        -0.3761263890318375,
        0.11283791670954857,
        -0.026866170645072907,
        0.005223977624780965,
        -0.0008548326978747702,
        0.00012055331037093965,
        -1.4925593511401867e-05,
        1.6460972886829844e-06,
        -1.6350025936209924e-07,
        1.4657884472637242e-08,
        -1.1365683248456953e-09,
        5.945290031037285e-11,
    ),
    erfc=(
        7.806815272727264,
        5.352680750986391,
        0.9438937335241365,
        0.010858072738522616,
        -0.002165476898949203,
        0.00042093256164917736,
        -7.703080538619416e-05,
        1.2755838313072937e-05,
        -1.768981960363187e-06,
        1.5597079995027028e-07,
        1.2609276901023632e-08,
        -1.093339708129727e-08,
        3.511387580866051e-09,
        -8.412963992839514e-10,
        1.6308958859082704e-10,
        -2.3022924973928027e-11,
        1.2354261786046634e-12,
        2.374003292309394e-13,
        -2.0178408041618198e-13,
        1.2086314472823092e-13,
        -2.248666379231936e-14,
    ),
    erfc_center=2.5,
    erf_high=6.0,
)

_LOG_F32: Final = (
    0.33333313,
    -0.2500001,
    0.20002119,
    -0.16667996,
    0.14219554,
    -0.1240559,
    0.11888153,
    -0.11675631,
    0.06746626,
)
"""(log(1+f) - f + f^2/2) / f^3 for sqrt(1/2) <= 1+f < sqrt(2)."""

_LOG_F64: Final = (
    0.6666666666666666,
    0.40000000000006286,
    0.285714285690728,
    0.22222222648767917,
    0.18181775507506545,
    0.15387097684300433,
    0.13249961450691813,
    0.13252758854040594,
)
"""(2 atanh(s) - 2 s) / s^3 in s^2, for s = f / (2 + f)."""

LOG2E: Final = float.fromhex("0x1.71547652b82fep+0")
_TWO_OVER_PI: Final = float.fromhex("0x1.45f306dc9c883p-1")


def constants(dtype: DType) -> Constants:
    """Return the coefficients and limits of a dtype."""
    return _F32 if dtype == FLOAT32 else _F64


def _add(emit: Emitter, x: Number, y: Number) -> Value:
    return emit.exact("add", x, y)


def _sub(emit: Emitter, x: Number, y: Number) -> Value:
    return emit.exact("sub", x, y)


def _mul(emit: Emitter, x: Number, y: Number) -> Value:
    return emit.exact("mul", x, y)


def like(x: Value, number: float) -> Value:
    """Return a constant of the same dtype and lanes."""
    return literal(number, x.dtype, x.lanes)


def polynomial(emit: Emitter, x: Value, coefficients: Sequence[float]) -> Value:
    """Evaluate by Horner's rule, lowest power first."""
    total = like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = emit.fma(total, x, coefficient)
    return total


def _clamp(emit: Emitter, x: Value, low: float, high: float) -> Value:
    """Clamp, but let NaN pass."""
    x = emit.select(emit.compare("gt", x, high), like(x, high), x)
    return emit.select(emit.compare("lt", x, low), like(x, low), x)


def copysign(emit: Emitter, magnitude: Value, sign: Value) -> Value:
    """Return the magnitude with another's sign."""
    return emit.intrinsic("llvm.copysign", [magnitude, sign], sign.dtype, sign.lanes)


def nearest(emit: Emitter, x: Value, factor: float) -> tuple[Value, Value]:
    """Return x * factor rounded to an integer, as a float and as an integer.

    Adding 1.5 * 2^mantissa leaves the integer in the low bits; NaN gives some integer, unlike a
    conversion instruction, whose result would be undefined.
    """
    magic = 1.5 * 2.0 ** constants(x.dtype).mantissa
    shifted = emit.fma(x, factor, magic)
    whole = _sub(emit, shifted, magic)
    return whole, emit.binary("sub", emit.bits(shifted), emit.bits(like(x, magic)))


def power_of_two(emit: Emitter, n: Value, dtype: DType) -> Value:
    """Return 2**n for exponents of normal numbers."""
    c = constants(dtype)
    bits = emit.binary("shl", emit.binary("add", n, c.bias), c.mantissa)
    return emit.reinterpret(bits, dtype)


def _exp_parts(emit: Emitter, x: Value, rest: Value | None = None) -> tuple[Value, Value]:
    """Return (e^r - 1, n) where x (plus rest) = n log(2) + r and |r| <= log(2)/2."""
    c = constants(x.dtype)
    whole, n = nearest(emit, x, LOG2E)
    r = emit.fma(whole, -c.ln2[1], emit.fma(whole, -c.ln2[0], x))
    r = r if rest is None else _add(emit, r, rest)
    return emit.fma(_mul(emit, r, r), polynomial(emit, r, c.exp), r), n


def _exp_inside(emit: Emitter, x: Value) -> Value:
    """e^x where neither it nor 2^n leaves the normal numbers."""
    p, n = _exp_parts(emit, x)
    return _mul(emit, _add(emit, p, 1.0), power_of_two(emit, n, x.dtype))


def exp(emit: Emitter, x: Value, rest: Value | None = None) -> Value:
    """e^x, with denormal results rounded once; `rest` is a small number to be added to x."""
    c = constants(x.dtype)
    p, n = _exp_parts(emit, _clamp(emit, x, c.exp_low, c.exp_high), rest)
    half = emit.binary("ashr", n, 1)
    scaled = _mul(emit, _add(emit, p, 1.0), power_of_two(emit, half, x.dtype))
    return _mul(emit, scaled, power_of_two(emit, emit.binary("sub", n, half), x.dtype))


def expm1(emit: Emitter, x: Value) -> Value:
    """e^x - 1, accurate near zero."""
    c = constants(x.dtype)
    p, n = _exp_parts(emit, _clamp(emit, x, c.expm1_low, c.exp_high))
    half = power_of_two(emit, emit.binary("sub", n, 1), x.dtype)  # 2^(n-1): 2^n may overflow
    halved = emit.fma(half, p, _sub(emit, half, 0.5))
    tiny = emit.compare("lt", emit.unary("fabs", x), 2.0 ** -(2 * c.mantissa))
    return emit.select(tiny, x, _add(emit, halved, halved))


def tanh(emit: Emitter, x: Value) -> Value:
    """(e^2a - 1) / (e^2a + 1) of a = |x|, with the sign of x."""
    c = constants(x.dtype)
    a = emit.unary("fabs", x)
    a = emit.select(emit.compare("gt", a, c.tanh_high), like(x, c.tanh_high), a)
    p, n = _exp_parts(emit, _add(emit, a, a))
    scale = power_of_two(emit, n, x.dtype)
    grown = emit.fma(scale, p, _sub(emit, scale, 1.0))
    return copysign(emit, emit.div(grown, _add(emit, grown, 2.0)), x)


def sigmoid(emit: Emitter, x: Value) -> Value:
    """1 / (1 + e^-x), written so that neither side overflows or cancels."""
    e = exp(emit, emit.neg(emit.unary("fabs", x)))
    above = emit.select(emit.compare("lt", x, 0.0), e, like(x, 1.0))
    return emit.div(above, _add(emit, e, 1.0))


def rsqrt(emit: Emitter, x: Value) -> Value:
    """1 / sqrt(x)."""
    return emit.div(like(x, 1.0), emit.unary("sqrt", x))


def log_parts(emit: Emitter, x: Value) -> tuple[Value, Value]:
    """Return (f, k) where x = 2^k (1 + f) and sqrt(1/2) <= 1 + f < sqrt(2), for positive x."""
    c = constants(x.dtype)
    small = emit.compare("lt", x, 2.0 ** (1 - c.bias))  # denormals are brought up first
    x = emit.select(small, _mul(emit, x, 2.0**c.mantissa), x)
    bits = emit.bits(x)
    root = x.dtype.type(np.sqrt(0.5)).view(f"i{x.dtype.itemsize}").item()
    k = emit.binary("ashr", emit.binary("sub", bits, root), c.mantissa)
    m = emit.reinterpret(emit.binary("sub", bits, emit.binary("shl", k, c.mantissa)), x.dtype)
    exponent = emit.convert("sitofp", k, x.dtype)
    lowered = _sub(emit, exponent, float(c.mantissa))
    return _sub(emit, m, 1.0), emit.select(small, lowered, exponent)


def _log_positive(emit: Emitter, x: Value) -> Value:
    f, k = log_parts(emit, x)
    high, low = constants(x.dtype).ln2
    square = _mul(emit, f, f)
    if x.dtype == FLOAT32:
        tail = emit.fma(f, polynomial(emit, f, _LOG_F32), -0.5)
        return emit.fma(k, high, emit.fma(k, low, emit.fma(square, tail, f)))
    s = emit.div(f, _add(emit, f, 2.0))
    z = _mul(emit, s, s)
    half = _mul(emit, square, 0.5)
    inner = emit.fma(z, polynomial(emit, z, _LOG_F64), half)
    # log(1 + f) = f - (f^2/2 - s (f^2/2 + z R)), since 2 s = f - s f.
    correction = emit.fma(s, inner, _mul(emit, k, low))
    return emit.fma(k, high, _sub(emit, f, _sub(emit, half, correction)))


def log(emit: Emitter, x: Value) -> Value:
    """Natural logarithm: -inf at zero, NaN below."""
    result = _log_positive(emit, x)
    result = emit.select(emit.compare("lt", x, 0.0), like(x, np.nan), result)
    result = emit.select(emit.compare("eq", x, 0.0), like(x, -np.inf), result)
    unchanged = emit.compare("ueq", x, np.inf)  # NaN and inf
    return emit.select(unchanged, x, result)


def log1p(emit: Emitter, x: Value) -> Value:
    """log(1 + x), accurate near zero: the rounding error of 1 + x is added back."""
    u = _add(emit, x, 1.0)
    lost = _sub(emit, x, _sub(emit, u, 1.0))
    whole = log(emit, u)
    result = _add(emit, whole, emit.div(lost, u))
    ends = emit.binary("or", emit.compare("eq", u, 0.0), emit.compare("eq", u, np.inf))
    result = emit.select(ends, whole, result)
    tiny = emit.compare("lt", emit.unary("fabs", x), 2.0 ** -(2 * constants(x.dtype).mantissa))
    return emit.select(tiny, x, result)


def erf(emit: Emitter, x: Value) -> Value:
    """Error function: x P(x^2) inside 1, 1 - e^-G(|x|) outside."""
    c = constants(x.dtype)
    a = emit.unary("fabs", x)
    near = emit.fma(x, polynomial(emit, _mul(emit, x, x), c.erf), x)
    a_limited = emit.select(emit.compare("gt", a, c.erf_high), like(x, c.erf_high), a)
    shifted = _sub(emit, a_limited, c.erfc_center) if c.erfc_center else a_limited
    complement = _exp_inside(emit, emit.neg(polynomial(emit, shifted, c.erfc)))
    far = copysign(emit, _sub(emit, like(x, 1.0), complement), x)
    return emit.select(emit.compare("lt", a, 1.0), near, far)


def sin(emit: Emitter, x: Value) -> Value:
    """Sine."""
    return _turn(emit, x, 0)


def cos(emit: Emitter, x: Value) -> Value:
    """Cosine."""
    return _turn(emit, x, 1)


def _turn(emit: Emitter, x: Value, quarter: int) -> Value:
    """Sine of x plus quarter turns. Huge arguments, which are rare, go to the C library."""
    fast = _turn_reduced(emit, x, quarter)
    if not quarter:  # keeps the sign of zero
        fast = emit.select(emit.compare("eq", x, 0.0), x, fast)
    huge = emit.compare("gt", emit.unary("fabs", x), constants(x.dtype).turn_limit)
    some = huge
    if huge.lanes:
        some = emit.call(f"llvm.vector.reduce.or.v{huge.lanes}i1", [huge], BOOL, 0)

    def library(state: Carried) -> Carried:
        slow = emit.unary("cos" if quarter else "sin", x)
        return {"result": emit.select(huge, slow, state["result"])}

    return when(emit, some, {"result": fast}, library)["result"]


def _turn_reduced(emit: Emitter, x: Value, quarter: int) -> Value:
    c = constants(x.dtype)
    whole, n = nearest(emit, x, _TWO_OVER_PI)
    r = x
    for part in c.half_pi:
        r = emit.fma(whole, -part, r)
    z = _mul(emit, r, r)
    sine = emit.fma(_mul(emit, z, r), polynomial(emit, z, c.sin), r)
    even = emit.fma(z, -0.5, 1.0)
    cosine = emit.fma(_mul(emit, z, z), polynomial(emit, z, c.cos), even)
    if quarter:
        n = emit.binary("add", n, quarter)
    odd = emit.compare("ne", emit.binary("and", n, 1), 0)
    result = emit.select(odd, cosine, sine)
    negative = emit.compare("ne", emit.binary("and", n, 2), 0)
    return emit.select(negative, emit.neg(result), result)
