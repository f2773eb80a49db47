"""Comparisons, truth and choice, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import bool_
from ..shape import Aval
from ..tensor import Tensor
from . import creation, fast, unbroadcast
from .cast import TensorLike, as_pair, as_tensor
from .registry import Call, GradContext, Grads, Pointwise, op
from .rules import broadcast, comparison, require_same_dtype


@op(
    infer=comparison("equal"),
    kernel=np.equal,
    lowering=Pointwise.of("eq"),
    category="logic",
    method=True,
    fast=fast.binary(np.equal),
)
def equal(input: TensorLike, other: TensorLike) -> Call:
    """Tell where two tensors are equal.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        Bool; NaN equals nothing.
    """
    return as_pair(input, other), {}


@op(
    infer=comparison("not_equal"),
    kernel=np.not_equal,
    lowering=Pointwise.of("ne"),
    category="logic",
    method=True,
    fast=fast.binary(np.not_equal),
)
def not_equal(input: TensorLike, other: TensorLike) -> Call:
    """Tell where two tensors differ.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        Bool; NaN differs from everything.
    """
    return as_pair(input, other), {}


@op(
    infer=comparison("less"),
    kernel=np.less,
    lowering=Pointwise.of("lt"),
    category="logic",
    method=True,
    fast=fast.binary(np.less),
)
def less(input: TensorLike, other: TensorLike) -> Call:
    """Tell where ``input < other``.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        Bool; false where an element is NaN.
    """
    return as_pair(input, other), {}


@op(
    infer=comparison("less_equal"),
    kernel=np.less_equal,
    lowering=Pointwise.of("le"),
    category="logic",
    method=True,
    fast=fast.binary(np.less_equal),
)
def less_equal(input: TensorLike, other: TensorLike) -> Call:
    """Tell where ``input <= other``.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        Bool; false where an element is NaN.
    """
    return as_pair(input, other), {}


@op(
    infer=comparison("greater"),
    kernel=np.greater,
    lowering=Pointwise.of("gt"),
    category="logic",
    method=True,
    fast=fast.binary(np.greater),
)
def greater(input: TensorLike, other: TensorLike) -> Call:
    """Tell where ``input > other``.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        Bool; false where an element is NaN.
    """
    return as_pair(input, other), {}


@op(
    infer=comparison("greater_equal"),
    kernel=np.greater_equal,
    lowering=Pointwise.of("ge"),
    category="logic",
    method=True,
    fast=fast.binary(np.greater_equal),
)
def greater_equal(input: TensorLike, other: TensorLike) -> Call:
    """Tell where ``input >= other``.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        Bool; false where an element is NaN.
    """
    return as_pair(input, other), {}


def _as_bools(input: TensorLike, other: TensorLike) -> tuple[Tensor, Tensor]:
    left, right = as_tensor(input), as_tensor(other)
    return as_bool(left), as_bool(right)


def as_bool(tensor: Tensor) -> Tensor:
    """Return the tensor as Bool: true where it is not zero."""
    return tensor if tensor.dtype is bool_ else not_equal(tensor, 0)


@op(
    infer=comparison("logical_and"),
    kernel=np.logical_and,
    lowering=Pointwise.of("and"),
    category="logic",
    method=True,
)
def logical_and(input: TensorLike, other: TensorLike) -> Call:
    """Tell where both elements are true (not zero).

    Parameters
    ----------
    input, other : Tensor
        Shapes that broadcast; converted to Bool.

    Returns
    -------
    Tensor
        Bool.
    """
    return _as_bools(input, other), {}


@op(
    infer=comparison("logical_or"),
    kernel=np.logical_or,
    lowering=Pointwise.of("or"),
    category="logic",
    method=True,
)
def logical_or(input: TensorLike, other: TensorLike) -> Call:
    """Tell where at least one element is true (not zero).

    Parameters
    ----------
    input, other : Tensor
        Shapes that broadcast; converted to Bool.

    Returns
    -------
    Tensor
        Bool.
    """
    return _as_bools(input, other), {}


def _truth(input: Aval) -> Aval:
    return Aval(input.shape, bool_)


@op(
    infer=_truth,
    kernel=np.logical_not,
    lowering=Pointwise.of("not"),
    category="logic",
    method=True,
)
def logical_not(input: TensorLike) -> Call:
    """Tell where the element is false (zero).

    Parameters
    ----------
    input : Tensor
        Any shape; converted to Bool.

    Returns
    -------
    Tensor
        Bool.
    """
    return (as_bool(as_tensor(input)),), {}


def _on_floats(name: str, otherwise: bool) -> Pointwise:
    def expr(b: Any, x: Any) -> Any:
        if x.dtype.kind == "f":
            return b.call(name, x)
        return b.call("eq" if otherwise else "ne", x, x)

    return Pointwise(expr)


@op(
    infer=_truth,
    kernel=np.isnan,
    lowering=_on_floats("isnan", False),
    category="logic",
    method=True,
)
def isnan(input: TensorLike) -> Call:
    """Tell where elements are NaN.

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
    infer=_truth,
    kernel=np.isinf,
    lowering=_on_floats("isinf", False),
    category="logic",
    method=True,
)
def isinf(input: TensorLike) -> Call:
    """Tell where elements are Inf or -Inf.

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
    infer=_truth,
    kernel=np.isfinite,
    lowering=_on_floats("isfinite", True),
    category="logic",
    method=True,
)
def isfinite(input: TensorLike) -> Call:
    """Tell where elements are neither NaN nor infinite.

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


def _select_rule(condition: Aval, input: Aval, other: Aval) -> Aval:
    if condition.dtype is not bool_:
        raise TypeError(f"select: condition must be Bool, it is {condition.dtype}.")
    dtype = require_same_dtype("select", input=input, other=other)
    return Aval(broadcast("select", condition=condition, input=input, other=other), dtype)


def _select_grad(ctx: GradContext) -> Grads:
    condition = ctx.inputs[0]
    zero = creation.zeros_like(ctx.dout)
    first = select(condition, ctx.dout, zero) if ctx.needs[1] else None
    second = select(condition, zero, ctx.dout) if ctx.needs[2] else None
    return unbroadcast.fit(ctx, None, first, second)


@op(
    infer=_select_rule,
    kernel=np.where,
    grad=_select_grad,
    lowering=Pointwise(lambda b, condition, x, y: b.select(condition, x, y)),
    category="logic",
)
def select(condition: TensorLike, input: TensorLike, other: TensorLike) -> Call:
    """Take ``input`` where ``condition`` is true, else ``other``.

    Parameters
    ----------
    condition : Tensor
        Bool.
    input, other : Tensor or number
        Shapes that broadcast with the condition's; the dtypes promote.

    Returns
    -------
    Tensor
        The chosen elements.
    """
    left, right = as_pair(input, other)
    return (as_bool(as_tensor(condition)), left, right), {}


where = select
"""MindSpore's other name of ``select``."""
