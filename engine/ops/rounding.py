"""Rounding to whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import fast
from .cast import TensorLike, as_number, as_tensor
from .registry import Call, Pointwise, op
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
