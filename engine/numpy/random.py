"""Random tensors, drawn from the process's stream; `set_seed` starts it anew."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..dtype import dtype_of, float32, int32
from ..ops.cast import cast_to
from ..tensor import Tensor


def _shape(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        return tuple(sizes[0])
    return tuple(int(size) for size in sizes)


def rand(*shape: Any, dtype: Any = float32) -> Tensor:
    """Return numbers drawn evenly from 0..1.

    Parameters
    ----------
    *shape : int
        Sizes of the axes, or one tuple of them.
    dtype : DType
        A float type.

    Returns
    -------
    Tensor
        The numbers.
    """
    return ops.rand(*_shape(shape), dtype=dtype)


def randn(*shape: Any, dtype: Any = float32) -> Tensor:
    """Return numbers drawn from the standard normal distribution.

    Parameters
    ----------
    *shape : int
        Sizes of the axes, or one tuple of them.
    dtype : DType
        A float type.

    Returns
    -------
    Tensor
        The numbers.
    """
    return ops.randn(*_shape(shape), dtype=dtype)


def randint(minval: int, maxval: int | None = None, shape: Any = (), dtype: Any = int32) -> Tensor:
    """Return whole numbers drawn evenly.

    Parameters
    ----------
    minval, maxval : int
        The least number, and the one behind the largest; one number alone is the latter.
    shape : int or sequence of int
        Sizes of the axes.
    dtype : DType
        An integer type.

    Returns
    -------
    Tensor
        The numbers.

    Raises
    ------
    ValueError
        If there is no number between the two.
    """
    low, high = (0, minval) if maxval is None else (minval, maxval)
    if high <= low:
        raise ValueError(f"randint: there is no whole number from {low} up to below {high}.")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    drawn = ops.floor(ops.rand(*sizes, dtype="float64") * (high - low)) + low
    return cast_to(drawn, dtype_of(dtype))
