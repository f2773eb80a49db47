"""Signs, steps and neighbours of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import bfloat16
from ..tensor import Tensor
from . import arithmetic, logic
from .array import identity
from .cast import TensorLike, as_float_pair, as_number, as_tensor
from .declarations import NUMPY, composite, pair, truth
from .registry import Call, GradContext, Pointwise, op


def _negative(b: Any, x: Any) -> Any:
    if x.dtype.kind != "f":
        return x < 0
    return b.call("or", x < 0, 1.0 / x < 0)  # 1 / -0 is -Inf


@op(infer=truth, kernel=np.signbit, lowering=Pointwise(_negative), category="logic", method=True)
def signbit(input: TensorLike) -> Call:
    """Tell where the sign is minus, that of -0.0 too.

    Parameters
    ----------
    input : Tensor
        Any shape; Bool counts as int64.

    Returns
    -------
    Tensor
        Bool.
    """
    return (as_number(input),), {}


def _copysign_expr(b: Any, x: Any, other: Any) -> Any:
    size = b.call("abs", x)
    return b.select(_negative(b, other), -size, size)


def _turned(ctx: GradContext) -> Tensor:
    x = ctx.inputs[0]
    zero = logic.equal(x, 0)
    return logic.select(zero, 0.0, arithmetic.div(ctx.outputs[0], logic.select(zero, 1.0, x)))


@pair("copysign", np.copysign, (_turned, None), Pointwise(_copysign_expr), floats=True)
def copysign(x: TensorLike, other: TensorLike) -> Call:
    """Return the size of ``x`` with the sign of ``other``.

    Parameters
    ----------
    x, other : Tensor or number
        Shapes that broadcast; integers are cast to float32.

    Returns
    -------
    Tensor
        Numbers with the other sign.
    """
    return as_float_pair(x, other), {}


def _step_expr(b: Any, x: Any, values: Any) -> Any:
    at_zero = b.select(b.call("eq", x, 0.0), values, x)
    return b.select(x < 0, b.const(0.0, x), b.select(x > 0, b.const(1.0, x), at_zero))


def _at_step(ctx: GradContext) -> Tensor:
    return logic.select(logic.equal(ctx.inputs[0], 0), 1.0, arithmetic.mul(ctx.outputs[0], 0.0))


@pair("heaviside", np.heaviside, (None, _at_step), Pointwise(_step_expr), floats=True)
def heaviside(input: TensorLike, values: TensorLike) -> Call:
    """Return 0 below zero, 1 above, and ``values`` at zero.

    Parameters
    ----------
    input, values : Tensor or number
        Shapes that broadcast; integers are cast to float32.

    Returns
    -------
    Tensor
        The steps; NaN stays NaN.
    """
    return as_float_pair(input, values), {}


@pair("nextafter", np.nextafter, None, NUMPY, floats=True, primitive="NextAfter")
def nextafter(input: TensorLike, other: TensorLike) -> Call:
    """Return the next number that the type can hold, from ``input`` toward ``other``.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; integers are cast to float32.

    Returns
    -------
    Tensor
        The neighbours; the gradient is zero.

    Raises
    ------
    TypeError
        If the type is BFloat16, whose numbers are computed with in Float32.
    """
    operands = as_float_pair(input, other)
    if operands[0].dtype is bfloat16:
        raise TypeError("nextafter: BFloat16 is computed in Float32, which has other neighbours.")
    return operands, {}


@composite(identity, category="math", infer=lambda input: input, method=True)
def positive(input: TensorLike) -> Call:
    """Return the elements as they are: ``+input``.

    Parameters
    ----------
    input : Tensor
        Numbers of any shape.

    Returns
    -------
    Tensor
        The input's elements.

    Raises
    ------
    TypeError
        If the elements are truth values.
    """
    tensor = as_tensor(input)
    if tensor.dtype.name == "Bool":
        raise TypeError("positive: input is Bool, which has no sign; cast it to int32.")
    return (tensor,), {}
