"""Scalar functions at the edges of their domains, eager and compiled, and what ops refuse."""

from __future__ import annotations

from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import ops
from scipy import special

EDGES = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -3e-5, 7.0, -90.0, 90.0, 1e10, -1e30, 8.0]
)
FUNCTIONS: dict[str, Any] = {
    "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "exp2": np.exp2, "log2": np.log2, "log10": np.log10, "sinc": np.sinc, "trunc": np.trunc,
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)), "logsigmoid": special.log_expit,
    "softsign": lambda x: x / (1 + abs(x)), "signbit": np.signbit, "isneginf": np.isneginf,
}  # fmt: skip
PAIRS: dict[str, Any] = {
    "atan2": np.arctan2, "hypot": np.hypot, "logaddexp": np.logaddexp, "copysign": np.copysign,
    "heaviside": np.heaviside, "xlogy": special.xlogy, "fmod": np.fmod,
}  # fmt: skip


def both(function: Any, *arrays: np.ndarray) -> list[np.ndarray]:
    """Return what a function gives op by op and as a static graph."""
    tensors = [cw.Tensor(array) for array in arrays]
    return [f(*tensors).asnumpy() for f in (function, cw.jit(function, fullgraph=True))]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_are_numpys(name: str, dtype: type) -> None:
    # sinc of huge numbers is rounding alone
    x = EDGES[:12].astype(dtype) if name == "sinc" else EDGES.astype(dtype)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name](x)
    for found in both(getattr(ops, name), x):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        if expected.dtype.kind == "f" and not np.isnan(expected[3]):  # zeros keep their signs
            np.testing.assert_array_equal(np.signbit(found[3:5]), np.signbit(expected[3:5]))


@pytest.mark.parametrize("name", PAIRS)
def test_edges_of_pairs_are_numpys(name: str) -> None:
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 2.0, -3.0])
    x, y = (side.reshape(-1) for side in np.meshgrid(odd, odd))
    with np.errstate(all="ignore"):
        expected = PAIRS[name](x, y)
    known = ~np.isnan(y) if name == "copysign" else np.ones(x.shape, bool)  # a NaN's sign
    for found in both(getattr(ops, name), x, y):
        np.testing.assert_allclose(found[known], expected[known], rtol=1e-12)


def test_logarithms_of_powers_are_whole() -> None:
    powers = np.arange(-20, 21)
    for found in both(ops.log2, np.exp2(powers).astype(np.float32)):
        np.testing.assert_array_equal(found, powers)
    for found in both(ops.log10, np.array([1.0, 10.0, 1000.0, 1e6])):
        np.testing.assert_array_equal(found, [0, 1, 3, 6])


@pytest.mark.parametrize("name", ["neg", "sign", "positive"])
def test_truth_has_no_sign(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: input is Bool"):
        getattr(ops, name)(cw.Tensor([True]))


def test_truth_has_no_difference() -> None:
    with pytest.raises(TypeError, match="use logical_xor"):
        cw.Tensor([True]) - cw.Tensor([False])
    np.testing.assert_array_equal(ops.abs(cw.Tensor([True])).asnumpy(), [1])


def test_bits_of_floats_are_refused() -> None:
    with pytest.raises(TypeError, match="cast it to int32"):
        ops.bitwise_and(cw.Tensor([1.0]), cw.Tensor([2.0]))
    with pytest.raises(TypeError, match="integer"):
        ops.gcd(cw.Tensor([1.0]), 2)


def test_integers_meet_floats() -> None:
    assert ops.atan2(cw.Tensor([1]), 2).dtype is cw.float32
    assert ops.float_power(cw.Tensor([2]), 3).dtype is cw.float64
    np.testing.assert_array_equal(ops.truncate_div(cw.Tensor([-7]), 2).asnumpy(), [-3])
    np.testing.assert_array_equal(
        ops.divide(cw.Tensor([-7]), 2, rounding_mode="floor").asnumpy(), [-4]
    )
    with pytest.raises(ValueError, match="rounding_mode"):
        ops.divide(cw.Tensor([1]), 2, rounding_mode="up")


def test_counting_breaks_a_static_graph() -> None:
    def counted(x: cw.Tensor) -> cw.Tensor:
        return ops.bincount(x) + 1

    numbers = cw.Tensor(np.array([0, 2, 2]))
    with pytest.warns(match="runs eagerly, not compiled.*bincount"):
        np.testing.assert_array_equal(cw.jit(counted)(numbers).asnumpy(), [2, 1, 3])
    with pytest.raises(Exception, match="shape depends on values"):
        cw.jit(counted, fullgraph=True)(numbers)
    weighed = ops.bincount(numbers, cw.Tensor([1.0, 0.5, 0.5]), 4)
    np.testing.assert_array_equal(weighed.asnumpy(), [1, 0, 1, 0])
    with pytest.raises(ValueError, match="must not be negative"):
        ops.bincount(cw.Tensor(np.array([-1])))


def test_norms_are_clipped_together() -> None:
    first, second = cw.Tensor([3.0, 0.0]), cw.Tensor([[4.0]])
    scaled = ops.clip_by_global_norm((first, second), 1.0)
    np.testing.assert_allclose(scaled[0].asnumpy(), [0.6, 0], rtol=1e-6)
    np.testing.assert_allclose(ops.clip_by_norm(first, 9.0).asnumpy(), [3, 0])
    with pytest.raises(ValueError, match="holds no tensors"):
        ops.clip_by_global_norm([], 1.0)
    with pytest.raises(RuntimeError, match="look for NaN"):
        ops.clip_by_norm(cw.Tensor([np.inf]), 1.0, error_if_nonfinite=True)


def test_primitives_take_mindspores_attributes() -> None:
    x = cw.Tensor(np.array([[1.0, -2.0], [0.0, 4.0]], np.float32))
    np.testing.assert_array_equal(ops.ReduceAll(keep_dims=True)(x, 1).asnumpy(), [[True], [False]])
    np.testing.assert_array_equal(ops.CumSum(reverse=True)(x, 1).asnumpy(), [[-1, -2], [4, 4]])
    np.testing.assert_array_equal(ops.AddN()([x, x]).asnumpy(), 2 * x.asnumpy())
    np.testing.assert_array_equal(ops.Invert()(cw.Tensor([1])).asnumpy(), [-2])


def test_second_derivatives_come_from_the_slopes() -> None:
    x = cw.Tensor(np.array([0.3, 0.7]))
    for name, second in (("tan", lambda v: 2 * np.tan(v) / np.cos(v) ** 2), ("cosh", np.cosh)):
        function = getattr(ops, name)
        slope = cw.grad(lambda v, f=function: ops.sum(f(v)))
        found = cw.grad(lambda v, s=slope: ops.sum(s(v)))(x)
        np.testing.assert_allclose(found.asnumpy(), second(x.asnumpy()), rtol=1e-10)


@pytest.mark.parametrize("name", ["celu", "elu", "selu"])
def test_exponential_units_have_the_slope_of_their_left_side_at_zero(name: str) -> None:
    slope = cw.grad(lambda x: ops.sum(getattr(ops, name)(x)))(cw.Tensor([-1e-9, 0.0, -0.0]))
    np.testing.assert_allclose(slope.asnumpy()[1:], slope.asnumpy()[0], rtol=1e-6)


def test_slopes_to_a_factor_of_zero() -> None:
    x, y = np.zeros(4), np.array([2.0, 0.5, 0.0, -1.0])
    first = cw.grad(lambda x, y: ops.sum(ops.xlogy(x, y)))(cw.Tensor(x), cw.Tensor(y))
    np.testing.assert_allclose(first.asnumpy(), [np.log(2.0), np.log(0.5), 0.0, 0.0])
    first = cw.grad(lambda x, y: ops.sum(ops.xdivy(x, y)))(cw.Tensor(x), cw.Tensor(y))
    np.testing.assert_allclose(first.asnumpy(), [0.5, 2.0, 0.0, -1.0])


def test_slopes_where_a_root_or_an_angle_has_none_are_zero() -> None:
    slope = cw.grad(lambda x: ops.sum(ops.std(x, 1)))(cw.Tensor([[2.0, 2.0], [1.0, 3.0]]))
    np.testing.assert_allclose(slope.asnumpy(), [[0.0, 0.0], [-0.5, 0.5]])
    slopes = cw.grad(ops.atan2, (0, 1))(cw.Tensor(0.0), cw.Tensor(0.0))
    assert [float(slope) for slope in slopes] == [0.0, 0.0]


def test_next_numbers_of_bfloat16_are_refused() -> None:
    with pytest.raises(TypeError, match="BFloat16"):
        ops.nextafter(cw.Tensor([1.0], cw.bfloat16), cw.Tensor([2.0], cw.bfloat16))


def test_sinc_of_half_precision_is_that_of_single() -> None:
    x = np.array([1.0, 2.5, 20.0], np.float16)
    found = both(ops.sinc, x)
    wanted = np.sinc(x.astype(np.float32)).astype(np.float16)
    for values in found:
        np.testing.assert_allclose(values, wanted, rtol=2e-3, atol=1e-7)


def test_what_is_empty_is_told_by_the_ops_name() -> None:
    for name in ("softmax", "log_softmax"):
        with pytest.raises(ValueError, match=rf"{name}: axis 0 of input \[0\] is empty"):
            getattr(ops, name)(cw.Tensor(np.zeros(0, np.float32)))
    with pytest.raises(ValueError, match="at least one"):
        ops.multi_dot([])
    with pytest.raises(ValueError, match="tile: dims must not be negative"):
        ops.tile(cw.Tensor([1.0]), (-1,))
    with pytest.raises(ValueError, match="sorted_sequence must have at least one axis"):
        ops.searchsorted(cw.Tensor(1.0), cw.Tensor([1.0]))
    with pytest.raises(TypeError, match="the first argument must be the equation"):
        ops.einsum(cw.Tensor([1.0]), "i->i")
    assert ops.histc(cw.Tensor(np.zeros(0, np.float32)), 3).asnumpy().tolist() == [0, 0, 0]
