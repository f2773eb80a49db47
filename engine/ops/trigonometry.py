"""Functions of angles, circular and hyperbolic."""

from __future__ import annotations

import numpy as np

from . import arithmetic, fast, math
from .cast import TensorLike, as_float
from .registry import Call, GradContext, Grads, Pointwise, op
from .rules import float_rule


def _sin_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(ctx.dout, cos(ctx.inputs[0])),)


@op(
    infer=float_rule("sin"),
    kernel=np.sin,
    grad=_sin_grad,
    lowering=Pointwise.of("sin"),
    category="math",
    method=True,
    fast=fast.unary(np.sin),
)
def sin(input: TensorLike) -> Call:
    """Return sines of angles in radians.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The sines.
    """
    return (as_float(input),), {}


def _cos_grad(ctx: GradContext) -> Grads:
    return (math.neg(arithmetic.mul(ctx.dout, sin(ctx.inputs[0]))),)


@op(
    infer=float_rule("cos"),
    kernel=np.cos,
    grad=_cos_grad,
    lowering=Pointwise.of("cos"),
    category="math",
    method=True,
    fast=fast.unary(np.cos),
)
def cos(input: TensorLike) -> Call:
    """Return cosines of angles in radians.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The cosines.
    """
    return (as_float(input),), {}


def _tanh_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(ctx.dout, arithmetic.sub(1.0, math.square(ctx.outputs[0]))),)


@op(
    infer=float_rule("tanh"),
    kernel=np.tanh,
    grad=_tanh_grad,
    lowering=Pointwise.of("tanh"),
    category="math",
    method=True,
    fast=fast.unary(np.tanh),
)
def tanh(input: TensorLike) -> Call:
    """Return hyperbolic tangents.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        Values in -1..1.
    """
    return (as_float(input),), {}
