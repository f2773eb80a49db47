"""Arithmetic of two operands, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import bool_
from ..shape import Aval
from . import creation, fast, logic, math, unbroadcast
from .cast import TensorLike, as_float_pair, as_number, as_pair, cast_to
from .registry import Call, GradContext, Grads, Pointwise, op
from .rules import elementwise, require_float


def _add_grad(ctx: GradContext) -> Grads:
    return unbroadcast.fit(ctx, ctx.dout, ctx.dout)


@op(
    infer=elementwise("add"),
    kernel=np.add,
    grad=_add_grad,
    lowering=Pointwise.of("add"),
    category="math",
    method=True,
    fast=fast.binary(np.add),
)
def add(input: TensorLike, other: TensorLike) -> Call:
    """Add two tensors element by element.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        ``input + other``.
    """
    return as_pair(input, other), {}


def _sub_grad(ctx: GradContext) -> Grads:
    return unbroadcast.fit(ctx, ctx.dout, math.neg(ctx.dout) if ctx.needs[1] else None)


def _sub_rule(input: Aval, other: Aval) -> Aval:
    if input.dtype is bool_:
        raise TypeError(
            "sub: the operands are Bool, which have no difference; use logical_xor, or cast them"
            " to int32."
        )
    return elementwise("sub")(input, other)


@op(
    infer=_sub_rule,
    kernel=np.subtract,
    grad=_sub_grad,
    lowering=Pointwise.of("sub"),
    category="math",
    method=True,
    fast=fast.binary(np.subtract),
)
def sub(input: TensorLike, other: TensorLike) -> Call:
    """Subtract ``other`` from ``input`` element by element.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        ``input - other``.
    """
    return as_pair(input, other), {}


def _mul_grad(ctx: GradContext) -> Grads:
    a, b = ctx.inputs
    return unbroadcast.fit(
        ctx,
        mul(ctx.dout, b) if ctx.needs[0] else None,
        mul(ctx.dout, a) if ctx.needs[1] else None,
    )


@op(
    infer=elementwise("mul"),
    kernel=np.multiply,
    grad=_mul_grad,
    lowering=Pointwise.of("mul"),
    category="math",
    method=True,
    fast=fast.binary(np.multiply),
)
def mul(input: TensorLike, other: TensorLike) -> Call:
    """Multiply two tensors element by element.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        ``input * other``.
    """
    return as_pair(input, other), {}


def _div_grad(ctx: GradContext) -> Grads:
    _, b = ctx.inputs
    first = div(ctx.dout, b)
    return unbroadcast.fit(
        ctx, first, math.neg(mul(first, ctx.outputs[0])) if ctx.needs[1] else None
    )


def _div_rule(input: Any, other: Any) -> Any:
    require_float("div", "input", input)
    return elementwise("div")(input, other)


@op(
    infer=_div_rule,
    kernel=np.true_divide,
    grad=_div_grad,
    lowering=Pointwise.of("div"),
    category="math",
    method=True,
    fast=fast.binary(np.true_divide, floats_only=True),
)
def div(input: TensorLike, other: TensorLike) -> Call:
    """Divide element by element; integers divide as float32.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        ``input / other``; division by zero gives Inf or NaN.
    """
    return as_float_pair(input, other), {}


def _floor_div_expr(b: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        raise NotImplementedError("floored quotients of floats run in NumPy, which is exact")
    return b.call("floordiv", x, y)


@op(
    infer=elementwise("floor_div"),
    kernel=np.floor_divide,
    lowering=Pointwise(_floor_div_expr),
    category="math",
    method=True,
    primitive="FloorDiv",
)
def floor_div(input: TensorLike, other: TensorLike) -> Call:
    """Divide and round down; its gradient is zero.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        ``input // other``.
    """
    first, second = as_pair(input, other)
    return (as_number(first), as_number(second)), {}


def _mod_expr(b: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        raise NotImplementedError("remainders of floats run in NumPy, which is exact")
    return b.call("mod", x, y)


def _mod_grad(ctx: GradContext) -> Grads:
    a, b = ctx.inputs
    return unbroadcast.fit(
        ctx, ctx.dout, math.neg(mul(ctx.dout, floor_div(a, b))) if ctx.needs[1] else None
    )


@op(
    infer=elementwise("mod"),
    kernel=np.mod,
    grad=_mod_grad,
    lowering=Pointwise(_mod_expr),
    category="math",
    primitive="FloorMod",
    method=True,
)
def mod(input: TensorLike, other: TensorLike) -> Call:
    """Return the remainder of division, with the divisor's sign.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        ``input % other``.
    """
    first, second = as_pair(input, other)
    return (as_number(first), as_number(second)), {}


def _pow_grad(ctx: GradContext) -> Grads:
    a, b = ctx.inputs
    first = None
    if ctx.needs[0]:
        # x ** 0 is constant, also at 0, where x ** -1 is infinite.
        lower = logic.select(logic.equal(b, 0), creation.ones_like(b), sub(b, 1))
        first = mul(ctx.dout, mul(b, pow(a, lower)))
    second = None
    if ctx.needs[1]:
        # 0 ** b has no log; its gradient to b is 0 (b > 0).
        base = logic.select(logic.equal(a, 0), creation.ones_like(a), a)
        second = mul(ctx.dout, mul(ctx.outputs[0], math.log(base)))
    return unbroadcast.fit(ctx, first, second)


def _pow_expr(b: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind != "f":
        raise NotImplementedError("powers of integers run in NumPy")
    return b.call("pow", x, y)


@op(
    infer=elementwise("pow"),
    kernel=np.power,
    grad=_pow_grad,
    lowering=Pointwise(_pow_expr),
    category="math",
    method=True,
)
def pow(input: TensorLike, exponent: TensorLike) -> Call:
    """Raise to a power element by element.

    Parameters
    ----------
    input, exponent : Tensor or number
        Shapes that broadcast; the dtypes promote. A negative base with a fraction gives NaN.

    Returns
    -------
    Tensor
        ``input ** exponent``.
    """
    first, second = as_pair(input, exponent)
    return (as_number(first), as_number(second)), {}


def _extremum_grad(ctx: GradContext) -> Grads:
    a, b = ctx.inputs
    # Where both are equal each takes half, as MindSpore and PyTorch do.
    tie = cast_to(logic.equal(a, b), ctx.dout.dtype)
    won = logic.equal(a, ctx.outputs[0])
    share = sub(cast_to(won, ctx.dout.dtype), mul(tie, 0.5))
    return unbroadcast.fit(ctx, mul(ctx.dout, share), mul(ctx.dout, sub(1.0, share)))


@op(
    infer=elementwise("maximum"),
    kernel=np.maximum,
    grad=_extremum_grad,
    lowering=Pointwise.of("maximum"),
    category="math",
    method=True,
    fast=fast.binary(np.maximum),
)
def maximum(input: TensorLike, other: TensorLike) -> Call:
    """Return the larger of each pair of elements; NaN wins.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        The elementwise maximum.
    """
    return as_pair(input, other), {}


@op(
    infer=elementwise("minimum"),
    kernel=np.minimum,
    grad=_extremum_grad,
    lowering=Pointwise.of("minimum"),
    category="math",
    method=True,
    fast=fast.binary(np.minimum),
)
def minimum(input: TensorLike, other: TensorLike) -> Call:
    """Return the smaller of each pair of elements; NaN wins.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        The elementwise minimum.
    """
    return as_pair(input, other), {}
