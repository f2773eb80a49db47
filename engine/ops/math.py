"""Arithmetic: one output element from one element of each operand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from ..tensor import Tensor
from . import array, fast, logic
from .cast import TensorLike, as_float, as_float_pair, as_pair, as_tensor, cast_to
from .registry import Call, GradContext, Pointwise, op
from .rules import elementwise, require_float, same
from .unbroadcast import fit

Grads = tuple[Tensor | None, ...]


def _float_rule(name: str) -> Any:
    def infer(input: Any) -> Any:
        require_float(name, "input", input)
        return input

    return infer


def _call(name: str) -> Pointwise:
    return Pointwise(lambda b, *args: b.call(name, *args))


# ---- two operands ----------------------------------------------------------------------------


def _add_grad(ctx: GradContext) -> Grads:
    return fit(ctx, ctx.dout, ctx.dout)


@op(
    infer=elementwise("add"),
    kernel=np.add,
    grad=_add_grad,
    lowering=_call("add"),
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
    return fit(ctx, ctx.dout, neg(ctx.dout) if ctx.needs[1] else None)


@op(
    infer=elementwise("sub"),
    kernel=np.subtract,
    grad=_sub_grad,
    lowering=_call("sub"),
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
    return fit(
        ctx,
        mul(ctx.dout, b) if ctx.needs[0] else None,
        mul(ctx.dout, a) if ctx.needs[1] else None,
    )


@op(
    infer=elementwise("mul"),
    kernel=np.multiply,
    grad=_mul_grad,
    lowering=_call("mul"),
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
    return fit(ctx, first, neg(mul(first, ctx.outputs[0])) if ctx.needs[1] else None)


def _div_rule(input: Any, other: Any) -> Any:
    require_float("div", "input", input)
    return elementwise("div")(input, other)


@op(
    infer=_div_rule,
    kernel=np.true_divide,
    grad=_div_grad,
    lowering=_call("div"),
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
    return b.call("floor", x / y) if x.dtype.kind == "f" else b.call("floordiv", x, y)


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
    return as_pair(input, other), {}


def _mod_expr(b: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind != "f":
        return b.call("mod", x, y)
    return x - b.call("floor", x / y) * y


def _mod_grad(ctx: GradContext) -> Grads:
    a, b = ctx.inputs
    return fit(ctx, ctx.dout, neg(mul(ctx.dout, floor(div(a, b)))) if ctx.needs[1] else None)


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
    return as_pair(input, other), {}


def _pow_grad(ctx: GradContext) -> Grads:
    a, b = ctx.inputs
    first = mul(ctx.dout, mul(b, pow(a, sub(b, 1)))) if ctx.needs[0] else None
    second = None
    if ctx.needs[1]:
        # 0 ** b has no log; its gradient to b is 0 (b > 0).
        base = logic.select(logic.equal(a, 0), array.ones_like(a), a)
        second = mul(ctx.dout, mul(ctx.outputs[0], log(base)))
    return fit(ctx, first, second)


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
    return as_pair(input, exponent), {}


def _extremum_grad(ctx: GradContext) -> Grads:
    a, b = ctx.inputs
    # Where both are equal each takes half, as MindSpore and PyTorch do.
    tie = cast_to(logic.equal(a, b), ctx.dout.dtype)
    won = logic.equal(a, ctx.outputs[0])
    share = sub(cast_to(won, ctx.dout.dtype), mul(tie, 0.5))
    return fit(ctx, mul(ctx.dout, share), mul(ctx.dout, sub(1.0, share)))


@op(
    infer=elementwise("maximum"),
    kernel=np.maximum,
    grad=_extremum_grad,
    lowering=_call("maximum"),
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
    lowering=_call("minimum"),
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


# ---- one operand -----------------------------------------------------------------------------


def _neg_grad(ctx: GradContext) -> Grads:
    return (neg(ctx.dout),)


@op(
    infer=same,
    kernel=np.negative,
    grad=_neg_grad,
    lowering=_call("neg"),
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
    return (mul(ctx.dout, sign(ctx.inputs[0])),)


@op(
    infer=same,
    kernel=np.abs,
    grad=_abs_grad,
    lowering=_call("abs"),
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
    lowering=_call("sign"),
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
    return (mul(ctx.dout, ctx.outputs[0]),)


@op(
    infer=_float_rule("exp"),
    kernel=np.exp,
    grad=_exp_grad,
    lowering=_call("exp"),
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
    return (div(ctx.dout, ctx.inputs[0]),)


@op(
    infer=_float_rule("log"),
    kernel=np.log,
    grad=_log_grad,
    lowering=_call("log"),
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
    return (div(ctx.dout, add(ctx.inputs[0], 1.0)),)


@op(
    infer=_float_rule("log1p"),
    kernel=np.log1p,
    grad=_log1p_grad,
    lowering=_call("log1p"),
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
    return (div(mul(ctx.dout, 0.5), ctx.outputs[0]),)


@op(
    infer=_float_rule("sqrt"),
    kernel=np.sqrt,
    grad=_sqrt_grad,
    lowering=_call("sqrt"),
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
    return (mul(mul(ctx.dout, -0.5), mul(out, mul(out, out))),)


@op(
    infer=_float_rule("rsqrt"),
    kernel=_rsqrt_kernel,
    grad=_rsqrt_grad,
    lowering=_call("rsqrt"),
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
    return (mul(ctx.dout, mul(ctx.inputs[0], 2)),)


@op(
    infer=same,
    kernel=np.square,
    grad=_square_grad,
    lowering=_call("square"),
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
    return (neg(mul(ctx.dout, square(ctx.outputs[0]))),)


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
    return (mul(ctx.dout, cos(ctx.inputs[0])),)


@op(
    infer=_float_rule("sin"),
    kernel=np.sin,
    grad=_sin_grad,
    lowering=_call("sin"),
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
    return (neg(mul(ctx.dout, sin(ctx.inputs[0]))),)


@op(
    infer=_float_rule("cos"),
    kernel=np.cos,
    grad=_cos_grad,
    lowering=_call("cos"),
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
    return (mul(ctx.dout, sub(1.0, square(ctx.outputs[0]))),)


@op(
    infer=_float_rule("tanh"),
    kernel=np.tanh,
    grad=_tanh_grad,
    lowering=_call("tanh"),
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
    return special.expit(input)


def _sigmoid_grad(ctx: GradContext) -> Grads:
    out = ctx.outputs[0]
    return (mul(ctx.dout, mul(out, sub(1.0, out))),)


@op(
    infer=_float_rule("sigmoid"),
    kernel=_sigmoid_kernel,
    grad=_sigmoid_grad,
    lowering=_call("sigmoid"),
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
    slope = mul(exp(neg(square(ctx.inputs[0]))), 2.0 / math.sqrt(math.pi))
    return (mul(ctx.dout, slope),)


@op(
    infer=_float_rule("erf"),
    kernel=_erf_kernel,
    grad=_erf_grad,
    lowering=_call("erf"),
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
            dout = mul(dout, cast_to(inside(x, bound), dout.dtype))
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
