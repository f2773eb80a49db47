"""Sums and products of three tensors and more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import promote
from ..tensor import Tensor
from . import arithmetic, math
from .cast import TensorLike, as_float, as_number, as_pair, as_tensor, cast_to
from .declarations import composite
from .registry import Call


def together(*values: TensorLike) -> tuple[Tensor, ...]:
    """Return values as tensors of the dtype in which all of them meet.

    Raises
    ------
    ValueError
        If there are none.
    """
    if not values:
        raise ValueError("there are no tensors to put together; give at least one.")
    dtype = None
    for value in values:
        if isinstance(value, Tensor):
            dtype = value.dtype if dtype is None else promote(dtype, value.dtype)
    tensors = [as_tensor(value, dtype) for value in values]
    for tensor in tensors:
        dtype = tensor.dtype if dtype is None else promote(dtype, tensor.dtype)
    assert dtype is not None
    return tuple(cast_to(tensor, dtype) for tensor in tensors)


def floats_together(*values: TensorLike) -> tuple[Tensor, ...]:
    """Return values as tensors of the float dtype in which all of them meet."""
    return tuple(as_float(tensor) for tensor in together(*values))


def _expand_lerp(input: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    return arithmetic.add(input, arithmetic.mul(weight, arithmetic.sub(end, input)))


@composite(_expand_lerp, category="math", method=True)
def lerp(input: TensorLike, end: TensorLike, weight: TensorLike) -> Call:
    """Return ``input + weight * (end - input)``.

    Parameters
    ----------
    input, end : Tensor
        Shapes that broadcast; integers are cast to float32.
    weight : Tensor or float
        0 gives ``input``, 1 gives ``end``.

    Returns
    -------
    Tensor
        Points on the line from ``input`` to ``end``.
    """
    first, second = floats_together(input, end)
    return (first, second, cast_to(as_tensor(weight, first.dtype), first.dtype)), {}


def _expand_addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: float) -> Tensor:
    product = arithmetic.mul(tensor1, tensor2)
    return arithmetic.add(input, product if value == 1 else arithmetic.mul(product, value))


def _expand_addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: float) -> Tensor:
    ratio = arithmetic.div(tensor1, tensor2)
    return arithmetic.add(input, ratio if value == 1 else arithmetic.mul(ratio, value))


def _scaled(tensor: TensorLike, value: TensorLike) -> tuple[Tensor, Any]:
    """Return the tensor with a factor given as a tensor in it, and the factor still to come."""
    if isinstance(value, Tensor):
        return arithmetic.mul(tensor, value), 1
    return as_tensor(tensor), value


@composite(_expand_addcmul, category="math", inputs=("input", "tensor1", "tensor2"), method=True)
def addcmul(input: TensorLike, tensor1: TensorLike, tensor2: TensorLike, value: float = 1) -> Call:
    """Return ``input + value * tensor1 * tensor2``.

    Parameters
    ----------
    input, tensor1, tensor2 : Tensor
        Shapes that broadcast; the dtypes promote.
    value : float
        Factor of the product.

    Returns
    -------
    Tensor
        The sums.
    """
    first, factor = _scaled(tensor1, value)
    return together(input, first, tensor2), {"value": factor}


@composite(_expand_addcdiv, category="math", inputs=("input", "tensor1", "tensor2"), method=True)
def addcdiv(input: TensorLike, tensor1: TensorLike, tensor2: TensorLike, value: float = 1) -> Call:
    """Return ``input + value * tensor1 / tensor2``.

    Parameters
    ----------
    input, tensor1, tensor2 : Tensor
        Shapes that broadcast; integers are cast to float32.
    value : float
        Factor of the quotient.

    Returns
    -------
    Tensor
        The sums.
    """
    first, factor = _scaled(tensor1, value)
    return floats_together(input, first, tensor2), {"value": factor}


def _expand_squared_difference(input: Tensor, other: Tensor) -> Tensor:
    return math.square(arithmetic.sub(input, other))


@composite(_expand_squared_difference, category="math", primitive="SquaredDifference")
def squared_difference(input: TensorLike, other: TensorLike) -> Call:
    """Return ``(input - other)**2``.

    Parameters
    ----------
    input, other : Tensor or number
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        The squares.
    """
    first, second = as_pair(input, other)
    return (as_number(first), as_number(second)), {}


def _expand_addn(*x: Tensor) -> Tensor:
    total = x[0]
    for tensor in x[1:]:
        total = arithmetic.add(total, tensor)
    return total if len(x) > 1 else arithmetic.add(total, 0)


def _addn_kernel(*x: np.ndarray) -> np.ndarray:
    total = x[0].copy()
    for array in x[1:]:
        total = total + array
    return total


@composite(_expand_addn, category="math", kernel=_addn_kernel, primitive="AddN", variadic=True)
def addn(x: Sequence[TensorLike]) -> Call:
    """Add up a sequence of tensors.

    Parameters
    ----------
    x : sequence of Tensor
        Shapes that broadcast; the dtypes promote.

    Returns
    -------
    Tensor
        The sum of all.

    Raises
    ------
    ValueError
        If the sequence is empty.
    """
    tensors = [x] if isinstance(x, Tensor) else list(x)
    if not tensors:
        raise ValueError("addn: give at least one tensor.")
    return tuple(as_number(tensor) for tensor in together(*tensors)), {}


accumulate_n = addn
"""MindSpore's other name of ``addn``."""
