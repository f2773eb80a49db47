"""TensorSpec and Symbol: what is known of a tensor before there is one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeGuard

from .dtype import DType, dtype_of, float32
from .shape import Aval, Dim, Shape, SymDim

_numbers = itertools.count(1)


class Symbol:
    """A size that is not known yet, and what is known of it.

    Parameters
    ----------
    max : int
        The largest size; 0 is no bound.
    min : int
        The smallest size.
    divisor : int
        Sizes are `remainder` more than a multiple of it.
    remainder : int
        What is left when a size is divided by `divisor`.
    unique : bool
        Whether all axes that are given this symbol have one size.
    **kwargs
        MindSpore's further options, which concern its compiler.

    Raises
    ------
    ValueError
        If no size is left.

    Examples
    --------
    >>> net.set_inputs(Tensor(shape=(Symbol(max=64), 3), dtype=float32))
    """

    __slots__ = ("divisor", "max", "min", "name", "remainder", "unique")

    def __init__(
        self,
        max: int = 0,
        min: int = 1,
        divisor: int = 1,
        remainder: int = 0,
        unique: bool = False,
        **kwargs: Any,
    ) -> None:
        if min < 1 or divisor < 1 or not 0 <= remainder < divisor or 0 < max < min:
            raise ValueError(
                f"Symbol: no size is from {min} to {max or 'any'} and {remainder} more than a"
                f" multiple of {divisor}; min and divisor must be positive, remainder less than"
                " divisor, max not less than min."
            )
        self.max, self.min = max, min
        self.divisor, self.remainder = divisor, remainder
        self.unique = bool(unique)
        self.name = f"s{next(_numbers)}"

    @property
    def dim(self) -> Dim:
        """The size of one more axis, in terms of a symbol."""
        name = self.name if self.unique else f"s{next(_numbers)}"
        return SymDim(name) * self.divisor + self.remainder

    def allows(self, size: int) -> bool:
        """Whether an axis may have this size."""
        bounded = self.min <= size and (not self.max or size <= self.max)
        return bounded and size % self.divisor == self.remainder

    def __repr__(self) -> str:
        parts = f"max={self.max}, min={self.min}, divisor={self.divisor}"
        return f"Symbol({parts}, remainder={self.remainder}, unique={self.unique})"


def has_open_size(shape: Any) -> TypeGuard[Sequence[int | Symbol | None]]:
    """Return whether a size of a shape is left open."""
    return isinstance(shape, tuple | list) and any(
        size is None or isinstance(size, Symbol) for size in shape
    )


class TensorSpec:
    """A tensor's shape and dtype alone.

    Parameters
    ----------
    shape : sequence of int, str, Symbol or None
        Sizes of the axes; None, a name or a symbol for those that are not known yet.
    dtype : DType
        Element type.
    """

    __slots__ = ("aval", "symbols")

    def __init__(self, shape: Sequence[Dim | str | Symbol | None], dtype: Any = float32) -> None:
        sizes: list[Dim] = []
        for axis, size in enumerate(shape):
            if size is None:
                sizes.append(SymDim("N" if axis == 0 else f"D{axis}"))
            elif isinstance(size, Symbol):
                sizes.append(size.dim)
            else:
                sizes.append(SymDim(size) if isinstance(size, str) else size)
        self.symbols = {axis: size for axis, size in enumerate(shape) if isinstance(size, Symbol)}
        self.aval = Aval(tuple(sizes), dtype_of(dtype))

    @property
    def shape(self) -> Shape:
        """Sizes of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"TensorSpec({self.aval})"
