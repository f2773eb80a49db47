"""Functions of one operand, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from ..dtype import bool_
from ..shape import Aval
from . import arithmetic, fast
from .cast import TensorLike, as_float, as_number, as_tensor
from .registry import Call, GradContext, Grads, Pointwise, op
from .rules import float_rule, same


def _signed_rule(name: str, instead: str) -> Callable[..., Aval]:
    """Return the rule of an op that truth values do not have."""

    def infer(input: Aval) -> Aval:
        if input.dtype is bool_:
            raise TypeError(f"{name}: input is Bool, which has no sign; {instead}.")
        return input

    return infer


def _neg_grad(ctx: GradContext) -> Grads:
    return (neg(ctx.dout),)


@op(
    infer=_signed_rule("neg", "use logical_not, or cast it to int32"),
    kernel=np.negative,
    grad=_neg_grad,
    lowering=Pointwise.of("neg"),
    category="math",
    method=True,
    fast=fast.unary(np.negative),
)
def neg(input: TensorLike) -> Call:
    """Return the negated elements.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        ``-input``.
    """
    return (as_tensor(input),), {}


def _abs_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(ctx.dout, sign(ctx.inputs[0])),)


@op(
    infer=same,
    kernel=np.abs,
    grad=_abs_grad,
    lowering=Pointwise.of("abs"),
    category="math",
    method=True,
    fast=fast.unary(np.abs),
)
def abs(input: TensorLike) -> Call:
    """Return absolute values; the gradient at zero is zero.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        ``|input|``; Bool counts as int64.
    """
    return (as_number(input),), {}


def _sign_kernel(input: np.ndarray) -> np.ndarray:
    return np.sign(input)


@op(
    infer=_signed_rule("sign", "cast it to int32"),
    kernel=_sign_kernel,
    lowering=Pointwise.of("sign"),
    category="math",
    method=True,
    fast=fast.unary(np.sign),
)
def sign(input: TensorLike) -> Call:
    """Return -1, 0 or 1 by the sign of each element; NaN stays NaN.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Signs in the input's dtype.
    """
    return (as_tensor(input),), {}


def _exp_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(ctx.dout, ctx.outputs[0]),)


@op(
    infer=float_rule("exp"),
    kernel=np.exp,
    grad=_exp_grad,
    lowering=Pointwise.of("exp"),
    category="math",
    method=True,
    fast=fast.unary(np.exp),
)
def exp(input: TensorLike) -> Call:
    """Return e to the power of each element.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The exponentials.
    """
    return (as_float(input),), {}


def _log_grad(ctx: GradContext) -> Grads:
    return (arithmetic.div(ctx.dout, ctx.inputs[0]),)


@op(
    infer=float_rule("log"),
    kernel=np.log,
    grad=_log_grad,
    lowering=Pointwise.of("log"),
    category="math",
    method=True,
    fast=fast.unary(np.log),
)
def log(input: TensorLike) -> Call:
    """Return natural logarithms; of zero -Inf, of negative numbers NaN.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The logarithms.
    """
    return (as_float(input),), {}


def _log1p_grad(ctx: GradContext) -> Grads:
    return (arithmetic.div(ctx.dout, arithmetic.add(ctx.inputs[0], 1.0)),)


@op(
    infer=float_rule("log1p"),
    kernel=np.log1p,
    grad=_log1p_grad,
    lowering=Pointwise.of("log1p"),
    category="math",
    method=True,
    fast=fast.unary(np.log1p),
)
def log1p(input: TensorLike) -> Call:
    """Return ``log(1 + input)``, exact also near zero.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The logarithms.
    """
    return (as_float(input),), {}


def _sqrt_grad(ctx: GradContext) -> Grads:
    return (arithmetic.div(arithmetic.mul(ctx.dout, 0.5), ctx.outputs[0]),)


@op(
    infer=float_rule("sqrt"),
    kernel=np.sqrt,
    grad=_sqrt_grad,
    lowering=Pointwise.of("sqrt"),
    category="math",
    method=True,
    fast=fast.unary(np.sqrt),
)
def sqrt(input: TensorLike) -> Call:
    """Return square roots; of negative numbers NaN.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The roots.
    """
    return (as_float(input),), {}


def _rsqrt_kernel(input: np.ndarray) -> np.ndarray:
    return np.reciprocal(np.sqrt(input))


def _rsqrt_grad(ctx: GradContext) -> Grads:
    out = ctx.outputs[0]
    return (
        arithmetic.mul(
            arithmetic.mul(ctx.dout, -0.5), arithmetic.mul(out, arithmetic.mul(out, out))
        ),
    )


@op(
    infer=float_rule("rsqrt"),
    kernel=_rsqrt_kernel,
    grad=_rsqrt_grad,
    lowering=Pointwise.of("rsqrt"),
    category="math",
    method=True,
)
def rsqrt(input: TensorLike) -> Call:
    """Return ``1 / sqrt(input)``.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        The reciprocal roots.
    """
    return (as_float(input),), {}


def _square_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(ctx.dout, arithmetic.mul(ctx.inputs[0], 2)),)


@op(
    infer=same,
    kernel=np.square,
    grad=_square_grad,
    lowering=Pointwise.of("square"),
    category="math",
    method=True,
    fast=fast.unary(np.square),
)
def square(input: TensorLike) -> Call:
    """Return each element times itself.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        The squares.
    """
    return (as_number(input),), {}


def _reciprocal_grad(ctx: GradContext) -> Grads:
    return (neg(arithmetic.mul(ctx.dout, square(ctx.outputs[0]))),)


@op(
    infer=float_rule("reciprocal"),
    kernel=np.reciprocal,
    grad=_reciprocal_grad,
    lowering=Pointwise(lambda b, x: 1.0 / x),
    category="math",
    method=True,
)
def reciprocal(input: TensorLike) -> Call:
    """Return one over each element.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        ``1 / input``.
    """
    return (as_float(input),), {}


inv = reciprocal


def _sigmoid_kernel(input: np.ndarray) -> np.ndarray:
    return special.expit(input).astype(input.dtype, copy=False)


def _sigmoid_grad(ctx: GradContext) -> Grads:
    out = ctx.outputs[0]
    return (arithmetic.mul(ctx.dout, arithmetic.mul(out, arithmetic.sub(1.0, out))),)


@op(
    infer=float_rule("sigmoid"),
    kernel=_sigmoid_kernel,
    grad=_sigmoid_grad,
    lowering=Pointwise.of("sigmoid"),
    category="math",
    method=True,
    fast=fast.unary(special.expit),
)
def sigmoid(input: TensorLike) -> Call:
    """Return the logistic function, ``1 / (1 + exp(-input))``.

    Parameters
    ----------
    input : Tensor
        Any shape; integers are cast to float32.

    Returns
    -------
    Tensor
        Values in 0..1.
    """
    return (as_float(input),), {}


def _erf_kernel(input: np.ndarray) -> np.ndarray:
    return special.erf(input).astype(input.dtype, copy=False)


def _erf_grad(ctx: GradContext) -> Grads:
    slope = arithmetic.mul(exp(neg(square(ctx.inputs[0]))), 2.0 / math.sqrt(math.pi))
    return (arithmetic.mul(ctx.dout, slope),)


@op(
    infer=float_rule("erf"),
    kernel=_erf_kernel,
    grad=_erf_grad,
    lowering=Pointwise.of("erf"),
    category="math",
    method=True,
)
def erf(input: TensorLike) -> Call:
    """Return the Gauss error function.

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
