"""Quotients and remainders that round toward zero, and whole-number divisors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..shape import Aval
from ..tensor import Tensor
from . import arithmetic, math
from .cast import TensorLike, as_number, as_pair
from .declarations import NUMPY, Declare, in_dtype, pair
from .registry import Call, GradContext, Pointwise, op
from .rules import broadcast, require_int, require_same_dtype


def _numbers(input: TensorLike, other: TensorLike) -> tuple[Tensor, Tensor]:
    first, second = as_pair(input, other)
    return as_number(first), as_number(second)


def _truncate_kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "f":
        return np.trunc(x / y)
    quotient = np.floor_divide(x, y)
    return quotient + ((np.mod(x, y) != 0) & ((x < 0) != (y < 0)))


def _truncate_expr(b: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return b.call("trunc", x / y)
    quotient = b.call("floordiv", x, y)
    apart = b.call("ne", x < 0, y < 0)
    uneven = b.call("ne", b.call("mod", x, y), 0)
    return b.select(b.call("and", apart, uneven), quotient + 1, quotient)


@pair("truncate_div", _truncate_kernel, None, Pointwise(_truncate_expr), method=False)
def truncate_div(x: TensorLike, y: TensorLike) -> Call:
    """Divide and round toward zero; its gradient is zero.

    Parameters
    ----------
    x, y : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        The whole quotients.
    """
    return _numbers(x, y), {}


def _fmod_expr(b: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        raise NotImplementedError("remainders of floats run in NumPy, which is exact")
    rest = x - _truncate_expr(b, x, y) * y
    return b.select(b.call("eq", y, 0), b.const(0, x), rest)


def _truncated(ctx: GradContext) -> Tensor:
    return math.neg(truncate_div(*ctx.inputs))


@pair("fmod", np.fmod, (lambda ctx: 1.0, _truncated), Pointwise(_fmod_expr), primitive="Fmod")
def fmod(input: TensorLike, other: TensorLike) -> Call:
    """Return the remainder of division, with the dividend's sign.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        ``input - truncate_div(input, other) * other``.
    """
    return _numbers(input, other), {}


truncate_mod = fmod
"""MindSpore's other name of ``fmod``."""
floor_mod = remainder = arithmetic.mod
"""MindSpore's other names of ``mod``."""


def div(input: TensorLike, other: TensorLike, *, rounding_mode: str | None = None) -> Tensor:
    """Divide element by element, and round the quotients if asked to.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote. Integers divide as float32 unless rounded.
    rounding_mode : {None, "floor", "trunc"}
        None keeps fractions, ``"floor"`` rounds down, ``"trunc"`` toward zero.

    Returns
    -------
    Tensor
        The quotients; division by zero gives Inf or NaN.

    Raises
    ------
    ValueError
        If ``rounding_mode`` is another word.
    """
    if rounding_mode is None:
        return arithmetic.div(input, other)
    if rounding_mode == "floor":
        return arithmetic.floor_div(input, other)
    if rounding_mode == "trunc":
        return truncate_div(input, other)
    raise ValueError(
        f"div: rounding_mode must be None, 'floor' or 'trunc', it is {rounding_mode!r}."
    )


divide = div
"""MindSpore's other name of ``div``."""


def _whole(name: str, kernel: Callable[..., Any]) -> Declare:
    def infer(input: Aval, other: Aval) -> Aval:
        require_int(name, "input", input)
        dtype = require_same_dtype(name, input=input, other=other)
        return Aval(broadcast(name, input=input, other=other), dtype)

    return op(
        infer=infer, kernel=in_dtype(kernel), lowering=NUMPY, category="math", method=True,
    )  # fmt: skip


def _whole_pair(name: str, input: TensorLike, other: TensorLike) -> Call:
    left, right = as_pair(input, other)
    require_int(name, "input", left.aval)
    return (left, right), {}


@_whole("gcd", np.gcd)
def gcd(input: TensorLike, other: TensorLike) -> Call:
    """Return greatest common divisors.

    Parameters
    ----------
    input, other : Tensor or int
        Integers, shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        The divisors, none negative.

    Raises
    ------
    TypeError
        If an operand is no integer.
    """
    return _whole_pair("gcd", input, other)


@_whole("lcm", np.lcm)
def lcm(input: TensorLike, other: TensorLike) -> Call:
    """Return least common multiples.

    Parameters
    ----------
    input, other : Tensor or int
        Integers, shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        The multiples, none negative.

    Raises
    ------
    TypeError
        If an operand is no integer.
    """
    return _whole_pair("lcm", input, other)
