"""Products of many matrices, powers, and the cross product."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..shape import Dim, ShapeError, shape_text
from ..tensor import Tensor
from . import (
    arithmetic,
    array,
    creation,
    cumulative,
    inversion,
    joining,
    linalg,
    triangles,
)
from .cast import TensorLike, as_float, as_pair, as_tensor
from .declarations import composite
from .registry import Call
from .rules import broadcast, normalize_axis
from .weighted_sums import together

_UNKNOWN = 64
"""What an unknown size counts as when the order of products is chosen."""


@functools.lru_cache(maxsize=256)
def _best_order(sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return after which matrix each range of a chain is split at the least cost.

    Cormen, Leiserson, Rivest and Stein, Introduction to Algorithms, 15.2.
    """
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            choices = [
                (
                    cost[first][at] + cost[at + 1][last]
                    + sizes[first] * sizes[at + 1] * sizes[last + 1],
                    at,
                )
                for at in range(first, last)
            ]  # fmt: skip
            cost[first][last], split[first][last] = min(choices)
    return tuple(tuple(row) for row in split)


def _number(size: Dim) -> int:
    return size if isinstance(size, int) else _UNKNOWN


def _expand_multi_dot(*tensors: Tensor) -> Tensor:
    items = list(tensors)
    front, back = len(items[0].shape) == 1, len(items[-1].shape) == 1
    if front:
        items[0] = array.expand_dims(items[0], 0)
    if back:
        items[-1] = array.expand_dims(items[-1], 1)
    sizes = (*(_number(item.shape[0]) for item in items), _number(items[-1].shape[1]))
    split = _best_order(sizes)

    def product(first: int, last: int) -> Tensor:
        if first == last:
            return items[first]
        at = split[first][last]
        return linalg.matmul(product(first, at), product(at + 1, last))

    found = product(0, len(items) - 1)
    found = array.squeeze(found, 0) if front else found
    found = array.squeeze(found, -1) if back else found
    return found if len(items) > 1 else array.identity(found)


@composite(_expand_multi_dot, category="linalg", variadic=True)
def multi_dot(x: Sequence[TensorLike]) -> Call:
    """Multiply a chain of matrices in the cheapest order.

    Parameters
    ----------
    x : sequence of Tensor
        Matrices that fit one after the other; the first and the last may be vectors.

    Returns
    -------
    Tensor
        The product.

    Raises
    ------
    ValueError
        If the chain is empty or holds something else.

    References
    ----------
    Cormen, Leiserson, Rivest and Stein, Introduction to Algorithms, 15.2.
    """
    tensors = together(*x)
    for number, tensor in enumerate(tensors):
        end = number in (0, len(tensors) - 1)
        if len(tensor.shape) != 2 and not (end and len(tensor.shape) == 1):
            raise ShapeError(
                f"multi_dot: x[{number}] {shape_text(tensor.shape)} must be a matrix; vectors may"
                " stand at the ends alone."
            )
    return tensors, {}


chain_matmul = multi_dot
"""Another name of ``multi_dot``."""


def _expand_power(input: Tensor, n: int) -> Tensor:
    size = triangles.known("matrix_power", input.shape[-1])
    if n < 0:
        input, n = inversion.inverse(input), -n
    if n == 0:
        unit = creation.eye(size, size, input.dtype)
        return arithmetic.add(creation.zeros_like(input), unit)
    result, factor = None, input
    while n:
        if n & 1:
            result = factor if result is None else linalg.matmul(result, factor)
        n >>= 1
        factor = linalg.matmul(factor, factor) if n else factor
    assert result is not None
    return array.identity(result) if result is input else result


@composite(_expand_power, category="linalg", inputs=("input",), method=True)
def matrix_power(input: TensorLike, n: int) -> Call:
    """Return square matrices to a whole power.

    Parameters
    ----------
    input : Tensor
        ``[..., n, n]``.
    n : int
        The power; of negative ones the inverse is taken.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If the matrices are not square, or for a negative power singular.
    """
    tensor = as_tensor(input) if n >= 0 else as_float(input)
    inversion.require_square("matrix_power", tensor.aval)
    return (tensor,), {"n": int(n)}


def _expand_cross(input: Tensor, other: Tensor, dim: int) -> Tensor:
    def at(tensor: Tensor, place: int) -> Tensor:
        return cumulative.part(tensor, dim, place, place + 1)

    def component(first: int, second: int) -> Tensor:
        return arithmetic.sub(
            arithmetic.mul(at(input, first), at(other, second)),
            arithmetic.mul(at(input, second), at(other, first)),
        )

    return joining.concat((component(1, 2), component(2, 0), component(0, 1)), dim)


@composite(_expand_cross, category="linalg", inputs=("input", "other"), method=True)
def cross(input: TensorLike, other: TensorLike, dim: int | None = None) -> Call:
    """Return cross products of vectors in space.

    Parameters
    ----------
    input, other : Tensor
        Shapes that broadcast; the dtypes promote.
    dim : int, optional
        The axis of the three coordinates; by default the first of size 3.

    Returns
    -------
    Tensor
        The products, in the broadcast shape.

    Raises
    ------
    ValueError
        If the axis has not the size 3.
    """
    a, b = as_pair(input, other)
    shape = broadcast("cross", input=a.aval, other=b.aval)
    if dim is None:
        dim = next((axis for axis, size in enumerate(shape) if size == 3), 0)
    at = normalize_axis("cross", dim, len(shape))
    if shape[at] != 3:
        raise ShapeError(f"cross: axis {at} of {shape_text(shape)} must have the size 3.")
    a, b = array.broadcast_to(a, shape), array.broadcast_to(b, shape)
    return (a, b), {"dim": at}


def _expand_vander(x: Tensor, N: int, increasing: bool) -> Tensor:  # noqa: N803
    powers = range(N) if increasing else range(N - 1, -1, -1)
    columns = [arithmetic.pow(x, power) for power in powers]
    return joining.stack(columns, -1)


@composite(_expand_vander, category="linalg", inputs=("x",))
def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Call:  # noqa: N803
    """Return Vandermonde matrices: the powers of each element in a row.

    Parameters
    ----------
    x : Tensor
        ``[..., n]``.
    N : int, optional
        Number of powers; by default that of the elements.
    increasing : bool
        Whether the powers rise along the row; by default they fall to zero.

    Returns
    -------
    Tensor
        ``[..., n, N]``.

    Raises
    ------
    ValueError
        If there is no axis, or ``N`` is not positive.
    """
    tensor = as_tensor(x)
    if not tensor.shape:
        raise ShapeError("vander: x needs one axis or more.")
    count: Any = tensor.shape[-1] if N is None else N
    if triangles.known("vander", count) < 1:
        raise ValueError(f"vander: N must be positive, it is {count}.")
    return (tensor,), {"N": int(count), "increasing": bool(increasing)}
