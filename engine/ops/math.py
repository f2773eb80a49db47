"""Functions of one operand, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from ..tensor import Tensor
from . import arithmetic, fast, logic
from .cast import TensorLike, as_float, as_tensor, cast_to
from .registry import Call, GradContext, Pointwise, op
from .rules import require_float, same

Grads = tuple[Tensor | None, ...]


def _float_rule(name: str) -> Any:
    def infer(input: Any) -> Any:
        require_float(name, "input", input)
        return input

    return infer


def _neg_grad(ctx: GradContext) -> Grads:
    return (neg(ctx.dout),)


@op(
    infer=same,
    kernel=np.negative,
    grad=_neg_grad,
    lowering=Pointwise.of("neg"),
    category="math",
    method=True,
    fast=fast.unary(np.negative),
)
def neg(input: TensorLike) -> Call:
    """Return the elements with the other sign.

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
        ``|input|``.
    """
    return (as_tensor(input),), {}


def _sign_kernel(input: np.ndarray) -> np.ndarray:
    return np.sign(input)


@op(
    infer=same,
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
    infer=_float_rule("exp"),
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
    infer=_float_rule("log"),
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
    infer=_float_rule("log1p"),
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
    infer=_float_rule("sqrt"),
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
    infer=_float_rule("rsqrt"),
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
    return (as_tensor(input),), {}


def _reciprocal_grad(ctx: GradContext) -> Grads:
    return (neg(arithmetic.mul(ctx.dout, square(ctx.outputs[0]))),)


@op(
    infer=_float_rule("reciprocal"),
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


def _sin_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(ctx.dout, cos(ctx.inputs[0])),)


@op(
    infer=_float_rule("sin"),
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
    return (neg(arithmetic.mul(ctx.dout, sin(ctx.inputs[0]))),)


@op(
    infer=_float_rule("cos"),
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
    return (arithmetic.mul(ctx.dout, arithmetic.sub(1.0, square(ctx.outputs[0]))),)


@op(
    infer=_float_rule("tanh"),
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


def _sigmoid_kernel(input: np.ndarray) -> np.ndarray:
    return special.expit(input).astype(input.dtype, copy=False)


def _sigmoid_grad(ctx: GradContext) -> Grads:
    out = ctx.outputs[0]
    return (arithmetic.mul(ctx.dout, arithmetic.mul(out, arithmetic.sub(1.0, out))),)


@op(
    infer=_float_rule("sigmoid"),
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
    infer=_float_rule("erf"),
    kernel=_erf_kernel,
    grad=_erf_grad,
    lowering=Pointwise.of("erf"),
    category="math",
    method=True,
)
def erf(input: TensorLike) -> Call:
    """Return the error function.

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


def _rounding(name: str) -> Pointwise:
    return Pointwise(lambda b, x: b.call(name, x) if x.dtype.kind == "f" else x)


@op(
    infer=same,
    kernel=np.floor,
    lowering=_rounding("floor"),
    category="math",
    method=True,
    fast=fast.unary(np.floor),
)
def floor(input: TensorLike) -> Call:
    """Round down to whole numbers; the gradient is zero.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Whole numbers in the input's dtype.
    """
    return (as_tensor(input),), {}


@op(
    infer=same,
    kernel=np.ceil,
    lowering=_rounding("ceil"),
    category="math",
    method=True,
    fast=fast.unary(np.ceil),
)
def ceil(input: TensorLike) -> Call:
    """Round up to whole numbers; the gradient is zero.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Whole numbers in the input's dtype.
    """
    return (as_tensor(input),), {}


def _round_kernel(input: np.ndarray) -> np.ndarray:
    return np.rint(input) if input.dtype.kind == "f" else input


@op(
    infer=same,
    kernel=_round_kernel,
    lowering=_rounding("round"),
    category="math",
    method=True,
    fast=fast.unary(np.rint),
)
def round(input: TensorLike) -> Call:
    """Round to the nearest whole number, halves to even; the gradient is zero.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Whole numbers in the input's dtype.
    """
    return (as_tensor(input),), {}


def _clamp_kernel(input: np.ndarray, min: float | None, max: float | None) -> np.ndarray:
    return np.clip(input, min, max)


def _clamp_expr(b: Any, x: Any, min: float | None, max: float | None) -> Any:
    low = x if min is None else b.call("maximum", x, min)
    return low if max is None else b.call("minimum", low, max)


def _clamp_grad(ctx: GradContext) -> Grads:
    x = ctx.inputs[0]
    dout = ctx.dout
    for bound, inside in (
        (ctx.attrs["min"], logic.greater_equal),
        (ctx.attrs["max"], logic.less_equal),
    ):
        if bound is not None:
            dout = arithmetic.mul(dout, cast_to(inside(x, bound), dout.dtype))
    return (dout,)


@op(
    infer=same,
    kernel=_clamp_kernel,
    grad=_clamp_grad,
    lowering=Pointwise(_clamp_expr),
    category="math",
    primitive="ClipByValue",
    method=True,
)
def clamp(input: TensorLike, min: float | None = None, max: float | None = None) -> Call:
    """Limit the elements to a range.

    Parameters
    ----------
    input : Tensor
        Any shape.
    min, max : number, optional
        Bounds; None leaves that side open.

    Returns
    -------
    Tensor
        Elements in ``min..max``; NaN stays NaN. The gradient is zero outside the range.

    Raises
    ------
    ValueError
        If both bounds are None.
    """
    if min is None and max is None:
        raise ValueError("clamp: give min, max or both.")
    tensor = as_tensor(input)
    if not tensor.dtype.is_float and (isinstance(min, float) or isinstance(max, float)):
        tensor = as_float(tensor)
    return (tensor,), {"min": min, "max": max}
