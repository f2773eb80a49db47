"""Every scalar op against NumPy, ordinary and special values; the stated errors of vecmath."""

from __future__ import annotations

import ctypes
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cellwire.kernels.loops import (
    BFLOAT16,
    OPS,
    Buffer,
    Function,
    Loop,
    Store,
    Var,
    affine,
    call,
    cast,
    load,
    select,
)
from cellwire.kernels.native import compile_module
from cellwire.kernels.target import Target, host
from cellwire.kernels.vecmath import MAX_ULP
from scipy import special

SHORT = Target(host().triple, host().cpu, host().features, 16, 16)
FLOATS = [np.float32, np.float64]
INTS = [np.uint8, np.int8, np.int16, np.int32, np.int64, np.uint32, np.uint64]
RNG = np.random.default_rng(20)


def apply(op: str, *arrays: np.ndarray, target: Target | None = None) -> np.ndarray:
    """Run one op over arrays of one length, by a scalar loop first and then by a vector loop."""
    results = []
    for vector in (False, True):
        buffers = [Buffer(f"x{k}", a.dtype) for k, a in enumerate(arrays)]
        value = op(*[load(b, affine("i")) for b in buffers])
        buffers.append(Buffer("y", value.dtype))
        body = (Loop("i", "n", (Store("y", affine("i"), value),), vector),)
        library = compile_module([Function("f", tuple(buffers), ("n",), body)], target)
        out = np.empty(arrays[0].shape, value.dtype)
        kinds = [ctypes.c_void_p] * len(buffers) + [ctypes.c_int64]
        run = ctypes.CFUNCTYPE(None, *kinds)(library["f"])
        run(*[a.ctypes.data for a in (*arrays, out)], out.size)
        results.append(out)
    np.testing.assert_array_equal(*results, err_msg="scalar and vector code differ")
    return results[1]


def special_values(dtype: Any) -> np.ndarray:
    limits = np.finfo(dtype)
    ends = [0.0, limits.smallest_subnormal, limits.tiny, 0.5, 1, 1.5, 2, 2.5, 3, 87.0, limits.max]
    return np.array([sign * x for x in (*ends, np.inf) for sign in (1, -1)] + [np.nan], dtype)


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Every ordered pair of special values and some ordinary ones."""
    values = np.concatenate([special_values(dtype), RNG.normal(size=9).astype(dtype) * 3])
    x, y = np.meshgrid(values, values)
    return x.ravel(), y.ravel()


def sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


UNARY = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square, "sqrt": np.sqrt,
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "rsqrt": lambda x: 1 / np.sqrt(x), "exp": np.exp, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "tanh": np.tanh, "erf": special.erf, "sigmoid": sigmoid, "sin": np.sin,
    "cos": np.cos,
}  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power,
    "maximum": np.maximum, "minimum": np.minimum, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
INTEGER = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "floordiv": np.floor_divide, "mod": np.mod,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "shl": np.left_shift, "shr": np.right_shift, "eq": np.equal, "lt": np.less,
    "ge": np.greater_equal,
}  # fmt: skip


def test_every_op_is_tested_here() -> None:
    assert set(OPS) == {*UNARY, *BINARY, *INTEGER, "fma", "not"}


def assert_same(got: np.ndarray, expected: np.ndarray, ulps: Any, signs: bool = True) -> None:
    """Compare in units in the last place; NaN, infinities and signs of zeros must be equal."""
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(got[~finite], expected[~finite])
    with np.errstate(over="ignore"):
        room = ulps * np.minimum(np.spacing(np.abs(expected[finite])), np.finfo(got.dtype).max)
    assert (np.abs(got[finite] - expected[finite]) <= room).all()
    zero = finite & (expected == 0)
    if signs:
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", UNARY)
@pytest.mark.parametrize("target", [None, SHORT], ids=["host", "short"])
def test_float_functions_at_special_values(op: str, dtype: Any, target: Target | None) -> None:
    x = special_values(dtype)
    got = apply(lambda v: call(op, v), x, target=target)
    with np.errstate(all="ignore"):
        expected = UNARY[op](x)
    if expected.dtype == bool:
        np.testing.assert_array_equal(got, expected)
    else:
        assert_same(got, expected, 1 + MAX_ULP.get(op, (0, 0))[dtype is np.float64])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", BINARY)
def test_float_pairs_at_special_values(op: str, dtype: Any) -> None:
    x, y = pairs(dtype)
    got = apply(lambda a, b: call(op, a, b), x, y)
    with np.errstate(all="ignore"):
        expected = BINARY[op](x, y)
    if expected.dtype == bool:
        np.testing.assert_array_equal(got, expected)
    else:  # which zero is larger is left open, by NumPy too
        assert_same(got, expected, 2 if op == "pow" else 0, op not in ("maximum", "minimum"))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op", INTEGER)
def test_integer_pairs(op: str, dtype: Any) -> None:
    limits = np.iinfo(dtype)
    values = np.unique(
        np.array([limits.min, limits.min + 1, 0, 1, 2, 3, 7, 8, 63, 100, limits.max], dtype)
    )
    if dtype().dtype.kind == "i":
        values = np.concatenate([values, np.array([-1, -2, -7], dtype)])
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    if op in ("shl", "shr"):
        x, y = x[y < 100], y[y < 100]
        x, y = x[y >= 0], y[y >= 0]
    got = apply(lambda a, b: call(op, a, b), x, y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, INTEGER[op](x, y))


@pytest.mark.parametrize("dtype", INTS)
def test_integer_functions(dtype: Any) -> None:
    x = np.array([0, 1, 5, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    with np.errstate(all="ignore"):
        expected = {"neg": -x, "abs": np.abs(x), "sign": np.sign(x), "square": x * x, "not": ~x}
    for op, result in expected.items():
        np.testing.assert_array_equal(apply(lambda v, op=op: call(op, v), x), result, err_msg=op)


def test_bool_ops() -> None:
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    for op, function in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
        np.testing.assert_array_equal(
            apply(lambda a, b, op=op: call(op, a, b), x, y), function(x, y)
        )
    np.testing.assert_array_equal(apply(lambda a: call("not", a), x), ~x)
    np.testing.assert_array_equal(apply(lambda a, b: call("eq", a, b), x, y), x == y)


@pytest.mark.parametrize("dtype", FLOATS)
def test_fma_rounds_once(dtype: Any) -> None:
    x = (1 + RNG.random(64)).astype(dtype)
    z = -(x * x)
    got = apply(lambda a, b, c: call("fma", a, b, c), x, x, z)
    exact = [float(Fraction(a.item()) ** 2 + Fraction(c.item())) for a, c in zip(x, z, strict=True)]
    np.testing.assert_array_equal(got, np.array(exact, dtype))
    assert got.any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_select_takes_whole_values(dtype: Any) -> None:
    x, y = pairs(dtype)
    got = apply(lambda a, b: select(a < b, a, b), x, y)
    assert_same(got, np.where(x < y, x, y), 0)


CASTS = [np.float16, *FLOATS, np.uint8, np.int32, np.int64, np.bool_]


@pytest.mark.parametrize("target", CASTS)
@pytest.mark.parametrize("source", CASTS)
def test_casts(source: Any, target: Target | None) -> None:
    x = np.array([0, 1, 2, 3.7, 100.5, 17, 200], source)
    np.testing.assert_array_equal(apply(lambda v: cast(v, target), x), x.astype(target))


def test_casts_keep_infinity_nan_and_wrap() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 1e10, -0.0, 65504, 65520, 1e-8], np.float32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(apply(lambda v: cast(v, np.float16), x), x.astype(np.float16))
    wide = np.array([-1, 256, 300, -129, 2**40 + 5])
    np.testing.assert_array_equal(apply(lambda v: cast(v, np.uint8), wide), wide.astype(np.uint8))
    np.testing.assert_array_equal(apply(lambda v: cast(v, np.int8), wide), wide.astype(np.int8))


def assert_same_halves(wanted: np.ndarray, found: np.ndarray) -> None:
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(number, ~np.isnan(found))
    kind = f"u{wanted.itemsize}"
    np.testing.assert_array_equal(wanted.view(kind)[number], found.view(kind)[number])


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BFLOAT16], ids=str)
def test_every_half_survives_float32_and_every_boundary_rounds_to_even(dtype: Any) -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(dtype)
    wide = apply(lambda v: cast(v, np.float32), halves)
    assert_same_halves(halves.astype(np.float32), wide)
    finite = wide[np.isfinite(wide)]
    beyond = [np.nextafter(finite, np.float32(limit)) for limit in (-np.inf, np.inf)]
    with np.errstate(all="ignore"):
        ties = finite + np.spacing(finite.astype(dtype)).astype(np.float32) / 2
        numbers = np.concatenate([wide, *beyond, ties])
        numbers = numbers[~np.isnan(numbers)]
        assert_same_halves(numbers.astype(dtype), apply(lambda v: cast(v, dtype), numbers))


def test_the_loop_variable_is_a_value() -> None:
    x = np.zeros(70)
    np.testing.assert_array_equal(apply(lambda v: cast(Var("i"), np.float64) + v, x), np.arange(70))


# -- the stated errors -------------------------------------------------------------------------

RANGES = {
    "rsqrt": (1e-30, 1e30), "exp": (-104, 89), "expm1": (-20, 89), "log": (0, 3), "log1p": (-1, 3),
    "tanh": (-11, 11), "sigmoid": (-110, 50), "erf": (-5, 5), "sin": (-4e4, 4e4),
    "cos": (-4e4, 4e4),
}  # fmt: skip


@pytest.mark.parametrize("op", RANGES)
def test_float32_errors_are_within_their_bound(op: str) -> None:
    low, high = RANGES[op]
    uniform = [RNG.uniform(a, b, 200_000) for a, b in ((low, high), (max(low, -2), min(high, 2)))]
    bits = RNG.integers(0, 2**32, 200_000, np.uint32)
    x = np.concatenate([*(u.astype(np.float32) for u in uniform), bits.view(np.float32)])
    got = apply(lambda v: call(op, v), x)
    with np.errstate(all="ignore"):
        exact = UNARY[op](x.astype(np.float64))
        nearest = exact.astype(np.float32)
    finite = np.isfinite(nearest)
    np.testing.assert_array_equal(got[~finite], nearest[~finite])
    error = np.abs(got[finite] - exact[finite]) / np.spacing(np.abs(nearest[finite]))
    assert error.max() <= MAX_ULP[op][0]


def longdouble_reference(op: str, x: np.ndarray) -> np.ndarray:
    """The function in 64-bit mantissas, or for erf a series there."""
    wide = x.astype(np.longdouble)
    if op != "erf":
        return UNARY[op](wide)
    total, term = np.zeros_like(wide), np.ones_like(wide)
    for n in range(1, 200):  # erf(x) = 2/sqrt(pi) exp(-x^2) sum of 2^k x^(2k+1) / (2k+1)!!
        total += term
        term *= 2 * wide * wide / (2 * n + 1)
    return (
        2
        / np.sqrt(np.longdouble("3.14159265358979323846264338"))
        * np.exp(-wide * wide)
        * wide
        * total
    )


@pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long double is no wider than double"
)
@pytest.mark.parametrize("op", RANGES)
def test_float64_errors_are_within_their_bound(op: str) -> None:
    low, high = {"exp": (-745, 710), "expm1": (-50, 710), "tanh": (-25, 25), "sigmoid": (-740, 50),
                 "sin": (-1e3, 1e3), "cos": (-1e3, 1e3)}.get(op, RANGES[op])  # fmt: skip
    x = np.concatenate(
        [RNG.uniform(low, high, 20_000), RNG.uniform(max(low, -2), min(high, 2), 20_000)]
    )
    got = apply(lambda v: call(op, v), x)
    with np.errstate(all="ignore"):
        exact = longdouble_reference(op, x)
        nearest = exact.astype(np.float64)
    finite = np.isfinite(nearest)
    np.testing.assert_array_equal(got[~finite], nearest[~finite])
    error = np.abs(got[finite] - exact[finite]) / np.spacing(np.abs(nearest[finite]))
    assert error.max() <= MAX_ULP[op][1]


@pytest.mark.parametrize("dtype", FLOATS)
def test_sine_and_cosine_of_huge_angles(dtype: Any) -> None:
    x = np.concatenate([10.0 ** RNG.uniform(4, 37, 50), RNG.uniform(-3, 3, 50)]).astype(dtype)
    for op in ("sin", "cos"):
        expected = UNARY[op](x.astype(np.float64)).astype(dtype)
        assert_same(apply(lambda v, op=op: call(op, v), x), expected, 2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_within_their_bound(dtype: Any) -> None:
    x = RNG.uniform(0, 20, 50_000).astype(dtype)
    y = RNG.uniform(-30, 30, 50_000).astype(dtype)
    got = apply(lambda a, b: call("pow", a, b), x, y)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        nearest = exact.astype(dtype)
    finite = np.isfinite(nearest)
    error = np.abs(got[finite] - exact[finite]) / np.spacing(np.abs(nearest[finite]))
    assert error.max() <= MAX_ULP["pow"][dtype is np.float64]
