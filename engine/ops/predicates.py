"""Tests of numbers: infinities by sign, closeness."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import float64
from ..tensor import Tensor
from . import arithmetic, logic, math, reduce
from .cast import TensorLike, as_float_pair, as_pair, as_tensor, cast_to
from .declarations import composite, truth
from .registry import Call, Pointwise, op


def _infinite(sign: float) -> Pointwise:
    def expr(b: Any, x: Any) -> Any:
        if x.dtype.kind != "f":
            return b.call("ne", x, x)
        return b.call("eq", x, sign * np.inf)

    return Pointwise(expr)


@op(
    infer=truth, kernel=lambda input: input == -np.inf, lowering=_infinite(-1.0),
    category="logic", method=True,
)  # fmt: skip
def isneginf(input: TensorLike) -> Call:
    """Tell where elements are -Inf.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Bool.
    """
    return (as_tensor(input),), {}


@op(
    infer=truth, kernel=lambda input: input == np.inf, lowering=_infinite(1.0),
    category="logic", method=True,
)  # fmt: skip
def isposinf(input: TensorLike) -> Call:
    """Tell where elements are Inf.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Bool.
    """
    return (as_tensor(input),), {}


@op(
    infer=truth,
    kernel=lambda input: np.ones(input.shape, bool),
    lowering=Pointwise(lambda b, x: b.const(True, np.bool_)),
    category="logic",
    primitive="IsReal",
    method=True,
)
def isreal(input: TensorLike) -> Call:
    """Tell where elements have no imaginary part: everywhere, as all types are real.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Bool.
    """
    return (as_tensor(input),), {}


def _expand_isclose(x1: Tensor, x2: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    gap = math.abs(arithmetic.sub(x1, x2))
    room = arithmetic.add(arithmetic.mul(math.abs(x2), rtol), atol)
    near = logic.logical_and(logic.less_equal(gap, room), logic.isfinite(x2))
    close = logic.logical_or(near, logic.equal(x1, x2))
    if equal_nan:
        close = logic.logical_or(close, logic.logical_and(logic.isnan(x1), logic.isnan(x2)))
    return close


def _close_pair(x1: TensorLike, x2: TensorLike) -> tuple[Tensor, Tensor]:
    first, second = as_pair(x1, x2)
    kind = first.dtype if first.dtype.is_float else float64  # which holds every int32
    return cast_to(first, kind), cast_to(second, kind)


@composite(_expand_isclose, category="logic", inputs=("x1", "x2"), method=True)
def isclose(
    x1: TensorLike,
    x2: TensorLike,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Call:
    """Tell where ``|x1 - x2| <= atol + rtol * |x2|``; equal infinities are close.

    Parameters
    ----------
    x1, x2 : Tensor or number
        Shapes that broadcast; the dtypes promote.
    rtol : float
        Allowed difference relative to ``x2``.
    atol : float
        Allowed absolute difference.
    equal_nan : bool
        Whether NaN is close to NaN.

    Returns
    -------
    Tensor
        Bool.
    """
    attrs = {"rtol": float(rtol), "atol": float(atol), "equal_nan": bool(equal_nan)}
    return _close_pair(x1, x2), attrs


def _expand_allclose(input: Tensor, other: Tensor, **attrs: Any) -> Tensor:
    return reduce.all(_expand_isclose(input, other, **attrs))


@composite(_expand_allclose, category="logic", inputs=("input", "other"), method=True)
def allclose(
    input: TensorLike,
    other: TensorLike,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Call:
    """Tell whether all elements of two tensors are close, as ``isclose`` has it.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.
    rtol : float
        Allowed difference relative to ``other``.
    atol : float
        Allowed absolute difference.
    equal_nan : bool
        Whether NaN is close to NaN.

    Returns
    -------
    Tensor
        One Bool.
    """
    attrs = {"rtol": float(rtol), "atol": float(atol), "equal_nan": bool(equal_nan)}
    return _close_pair(input, other), attrs


def _expand_approximate(x: Tensor, y: Tensor, tolerance: float) -> Tensor:
    return logic.less(math.abs(arithmetic.sub(x, y)), tolerance)


@composite(_expand_approximate, category="logic", inputs=("x", "y"), primitive="ApproximateEqual")
def approximate_equal(x: TensorLike, y: TensorLike, tolerance: float = 1e-5) -> Call:
    """Tell where ``|x - y| < tolerance``.

    Parameters
    ----------
    x, y : Tensor or number
        Shapes that broadcast; integers are cast to float32.
    tolerance : float
        Allowed difference.

    Returns
    -------
    Tensor
        Bool.
    """
    return as_float_pair(x, y), {"tolerance": float(tolerance)}
