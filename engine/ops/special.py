"""Special functions: gamma, error and Bessel functions, from SciPy."""

from __future__ import annotations

import math as numbers
from typing import Any

import numpy as np
from scipy import special

from ..shape import Aval
from ..tensor import Tensor
from . import arithmetic, exponentials, math
from .cast import TensorLike, as_float, as_float_pair
from .declarations import SCIPY, composite, in_dtype, pair, scalar
from .registry import Call, GradContext, Grads, op
from .rules import require_float

_ROOT_PI = numbers.sqrt(numbers.pi)


def _erfc_slope(ctx: GradContext) -> Tensor:
    return arithmetic.mul(math.exp(math.neg(math.square(ctx.inputs[0]))), -2.0 / _ROOT_PI)


@scalar(special.erfc, _erfc_slope)
def erfc(input: TensorLike) -> Call:
    """Return the complementary error function, ``1 - erf(input)``, exact also where it is tiny.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        Values in 0..2.
    """
    return (as_float(input),), {}


def _erfinv_slope(ctx: GradContext) -> Tensor:
    return arithmetic.mul(math.exp(math.square(ctx.outputs[0])), _ROOT_PI / 2.0)


@scalar(special.erfinv, _erfinv_slope)
def erfinv(input: TensorLike) -> Call:
    """Return the inverse of the error function; beyond -1 and 1 NaN.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The numbers whose ``erf`` is the input.
    """
    return (as_float(input),), {}


@scalar(special.gammaln, lambda ctx: digamma(ctx.inputs[0]))
def lgamma(input: TensorLike) -> Call:
    """Return the logarithm of the absolute value of the gamma function.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        ``log |gamma(input)|``.
    """
    return (as_float(input),), {}


@scalar(special.digamma, lambda ctx: polygamma(1, ctx.inputs[0]))
def digamma(input: TensorLike) -> Call:
    """Return the digamma function: the derivative of ``lgamma``.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The digamma function.
    """
    return (as_float(input),), {}


def _polygamma_rule(input: Aval, n: int) -> Aval:
    require_float("polygamma", "input", input)
    return input


def _polygamma_kernel(input: np.ndarray, n: int) -> np.ndarray:
    if n == 0:
        return special.digamma(input)
    # Reflection: SciPy's Hurwitz zeta knows positive numbers alone.
    x = np.asarray(input, np.float64)
    if n == 1:
        reflected = (numbers.pi / np.sin(numbers.pi * x)) ** 2 - special.polygamma(1, 1 - x)
        return np.where(x > 0, special.polygamma(1, np.where(x > 0, x, 1.0)), reflected)
    return np.where(x > 0, special.polygamma(n, np.where(x > 0, x, 1.0)), np.nan)


def _polygamma_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(ctx.dout, polygamma(ctx.attrs["n"] + 1, ctx.inputs[0])),)


@op(
    infer=_polygamma_rule,
    kernel=in_dtype(_polygamma_kernel),
    grad=_polygamma_grad,
    lowering=SCIPY,
    category="math",
    inputs=("input",),
)
def polygamma(n: int, input: TensorLike) -> Call:
    """Return the ``n``-th derivative of ``digamma``.

    Parameters
    ----------
    n : int
        Order, not negative.
    input : Tensor
        Any shape; integers are cast to float32. Orders of two and more take positive numbers.

    Returns
    -------
    Tensor
        The polygamma function.

    Raises
    ------
    ValueError
        If the order is negative.

    References
    ----------
    Abramowitz and Stegun, Handbook of Mathematical Functions, 6.4.
    """
    if n < 0:
        raise ValueError(f"polygamma: n must not be negative, it is {n}.")
    return (as_float(input),), {"n": int(n)}


def _expand_mvlgamma(input: Tensor, p: int) -> Tensor:
    total = lgamma(input)
    for number in range(1, p):
        total = arithmetic.add(total, lgamma(arithmetic.sub(input, number / 2)))
    return arithmetic.add(total, p * (p - 1) / 4 * numbers.log(numbers.pi))


@composite(_expand_mvlgamma, category="math", inputs=("input",), method=True)
def mvlgamma(input: TensorLike, p: int) -> Call:
    """Return the logarithm of the multivariate gamma function.

    Parameters
    ----------
    input : Tensor
        Numbers above ``(p - 1) / 2``; integers are cast to float32.
    p : int
        Dimension, one or more.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If the dimension is less than one.

    References
    ----------
    James, Distributions of Matrix Variates, 1964.
    """
    if p < 1:
        raise ValueError(f"mvlgamma: p must be one or more, it is {p}.")
    return (as_float(input),), {"p": int(p)}


def _igamma_slope(sign: float) -> Any:
    def slope(ctx: GradContext) -> Tensor:
        a, x = ctx.inputs
        power = arithmetic.sub(exponentials.xlogy(arithmetic.sub(a, 1.0), x), x)
        return arithmetic.mul(math.exp(arithmetic.sub(power, lgamma(a))), sign)

    return slope


@pair("igamma", special.gammainc, (None, _igamma_slope(1.0)), floats=True)
def igamma(input: TensorLike, other: TensorLike) -> Call:
    """Return the regularized lower incomplete gamma function.

    Parameters
    ----------
    input : Tensor
        Shape parameters, positive; no gradient flows to them.
    other : Tensor
        Upper limits of the integral, of a shape that broadcasts.

    Returns
    -------
    Tensor
        Values in 0..1.

    References
    ----------
    Abramowitz and Stegun, Handbook of Mathematical Functions, 6.5.
    """
    return as_float_pair(input, other), {}


@pair("igammac", special.gammaincc, (None, _igamma_slope(-1.0)), floats=True)
def igammac(input: TensorLike, other: TensorLike) -> Call:
    """Return the regularized upper incomplete gamma function, ``1 - igamma``.

    Parameters
    ----------
    input : Tensor
        Shape parameters, positive; no gradient flows to them.
    other : Tensor
        Lower limits of the integral, of a shape that broadcasts.

    Returns
    -------
    Tensor
        Values in 0..1.

    References
    ----------
    Abramowitz and Stegun, Handbook of Mathematical Functions, 6.5.
    """
    return as_float_pair(input, other), {}


def _zeta_slope(ctx: GradContext) -> Tensor:
    s, q = ctx.inputs
    return math.neg(arithmetic.mul(s, zeta(arithmetic.add(s, 1.0), q)))


@pair("zeta", special.zeta, (None, _zeta_slope), floats=True, method=False)
def zeta(input: TensorLike, other: TensorLike) -> Call:
    """Return the Hurwitz zeta function, the sum of ``(k + other)**-input`` over k from zero.

    Parameters
    ----------
    input : Tensor
        Exponents above one; no gradient flows to them.
    other : Tensor
        Positive numbers, of a shape that broadcasts.

    Returns
    -------
    Tensor
        The sums.

    References
    ----------
    Abramowitz and Stegun, Handbook of Mathematical Functions, 23.2.
    """
    return as_float_pair(input, other), {}
