"""Rounding to whole numbers, and limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import bool_, int64
from ..tensor import Tensor
from . import arithmetic, fast, logic
from .cast import TensorLike, as_float, as_number, as_tensor, cast_to
from .registry import Call, GradContext, Grads, Pointwise, op
from .rules import same


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


def _frac_expr(b: Any, x: Any) -> Any:
    return x - b.call("trunc", x) if x.dtype.kind == "f" else b.const(0, x)


@op(
    infer=same,
    kernel=lambda input: np.trunc(input).astype(input.dtype, copy=False),
    lowering=_rounding("trunc"),
    category="math",
    method=True,
)
def trunc(input: TensorLike) -> Call:
    """Round to whole numbers toward zero; the gradient is zero.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        Whole numbers in the input's dtype.
    """
    return (as_number(input),), {}


@op(
    infer=same,
    kernel=lambda input: input - np.trunc(input).astype(input.dtype, copy=False),
    grad=lambda ctx: (ctx.dout,),
    lowering=Pointwise(_frac_expr),
    category="math",
    method=True,
)
def frac(input: TensorLike) -> Call:
    """Return what follows the point, with the element's sign.

    Parameters
    ----------
    input : Tensor
        Any shape.

    Returns
    -------
    Tensor
        ``input - trunc(input)``.
    """
    return (as_number(input),), {}


rint, fix = round, trunc
"""Other names of ``round`` and ``trunc``."""


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
    if tensor.dtype is bool_:
        tensor = cast_to(tensor, int64)
    return (tensor,), {"min": _bound(min, tensor), "max": _bound(max, tensor)}


def _bound(bound: float | None, tensor: Tensor) -> float | None:
    """Return a bound that the tensor's integers can hold: one beyond limits nothing."""
    if bound is None or not tensor.dtype.is_int:
        return bound
    limits = np.iinfo(tensor.dtype.numpy)
    return int(np.clip(bound, limits.min, limits.max))
