"""Bits of integers, and exclusive or."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..shape import Aval
from ..tensor import Tensor
from . import logic
from .cast import TensorLike, as_pair, as_tensor
from .declarations import Declare, in_dtype
from .registry import Call, Pointwise, op
from .rules import broadcast, comparison, require_int, require_same_dtype


def _require_bits(name: str, argument: str, aval: Aval) -> None:
    if aval.dtype.is_float:
        raise TypeError(
            f"{name}: {argument} must be of an integer type or bool, it is {aval.dtype};"
            " cast it to int32."
        )


def _bits(
    name: str, kernel: Callable[..., Any], word: str, *, bools: bool = True, method: bool = True
) -> Declare:
    """Declare an op on the bits of two tensors."""

    def infer(input: Aval, other: Aval) -> Aval:
        check = _require_bits if bools else require_int
        check(name, "input", input)
        dtype = require_same_dtype(name, input=input, other=other)
        return Aval(broadcast(name, input=input, other=other), dtype)

    return op(
        infer=infer, kernel=in_dtype(kernel), lowering=Pointwise.of(word), category="math",
        method=method,
    )  # fmt: skip


def _integers(name: str, input: TensorLike, other: TensorLike) -> Call:
    left, right = as_pair(input, other)
    _require_bits(name, "input", left.aval)
    return (left, right), {}


@_bits("bitwise_and", np.bitwise_and, "and")
def bitwise_and(input: TensorLike, other: TensorLike) -> Call:
    """Return the bits set in both operands.

    Parameters
    ----------
    input, other : Tensor or int
        Integers or Bool, shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        ``input & other``.

    Raises
    ------
    TypeError
        If an operand is of a float type.
    """
    return _integers("bitwise_and", input, other)


@_bits("bitwise_or", np.bitwise_or, "or")
def bitwise_or(input: TensorLike, other: TensorLike) -> Call:
    """Return the bits set in one operand or both.

    Parameters
    ----------
    input, other : Tensor or int
        Integers or Bool, shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        ``input | other``.

    Raises
    ------
    TypeError
        If an operand is of a float type.
    """
    return _integers("bitwise_or", input, other)


@_bits("bitwise_xor", np.bitwise_xor, "xor")
def bitwise_xor(input: TensorLike, other: TensorLike) -> Call:
    """Return the bits set in exactly one operand.

    Parameters
    ----------
    input, other : Tensor or int
        Integers or Bool, shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        ``input ^ other``.

    Raises
    ------
    TypeError
        If an operand is of a float type.
    """
    return _integers("bitwise_xor", input, other)


def _shifted(name: str, input: TensorLike, other: TensorLike) -> Call:
    left, right = as_pair(input, other)
    require_int(name, "input", left.aval)
    return (left, right), {}


@_bits("bitwise_left_shift", np.left_shift, "shl", bools=False)
def bitwise_left_shift(input: TensorLike, other: TensorLike) -> Call:
    """Return ``input`` with its bits moved up by ``other`` places.

    Parameters
    ----------
    input, other : Tensor or int
        Integers, shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        ``input << other``; beyond the width zero.

    Raises
    ------
    TypeError
        If an operand is no integer.
    """
    return _shifted("bitwise_left_shift", input, other)


@_bits("bitwise_right_shift", np.right_shift, "shr", bools=False)
def bitwise_right_shift(input: TensorLike, other: TensorLike) -> Call:
    """Return ``input`` with its bits moved down by ``other`` places.

    Parameters
    ----------
    input, other : Tensor or int
        Integers, shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        ``input >> other``, rounded down.

    Raises
    ------
    TypeError
        If an operand is no integer.
    """
    return _shifted("bitwise_right_shift", input, other)


def _invert_rule(x: Aval) -> Aval:
    _require_bits("bitwise_not", "x", x)
    return x


@op(
    infer=_invert_rule,
    kernel=np.invert,
    lowering=Pointwise.of("not"),
    category="math",
    primitive="Invert",
    method=True,
)
def bitwise_not(x: TensorLike) -> Call:
    """Invert every bit of the elements; Bool is negated.

    Parameters
    ----------
    x : Tensor
        Integers or Bool of any shape.

    Returns
    -------
    Tensor
        ``~x``.

    Raises
    ------
    TypeError
        If the elements are floats.
    """
    tensor = as_tensor(x)
    _invert_rule(tensor.aval)
    return (tensor,), {}


invert = bitwise_not
"""MindSpore's name of ``bitwise_not``."""


def _truths(input: TensorLike, other: TensorLike) -> tuple[Tensor, Tensor]:
    return logic.as_bool(as_tensor(input)), logic.as_bool(as_tensor(other))


@op(
    infer=comparison("logical_xor"),
    kernel=np.logical_xor,
    lowering=Pointwise.of("xor"),
    category="logic",
    method=True,
)
def logical_xor(input: TensorLike, other: TensorLike) -> Call:
    """Tell where exactly one of two elements is true (not zero).

    Parameters
    ----------
    input, other : Tensor
        Shapes that broadcast; converted to Bool.

    Returns
    -------
    Tensor
        Bool.
    """
    return _truths(input, other), {}
