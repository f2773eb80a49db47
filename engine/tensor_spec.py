"""TensorSpec: what is known of a tensor before there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .dtype import DType, dtype_of, float32
from .shape import Aval, Dim, Shape, SymDim


class TensorSpec:
    """A tensor's shape and dtype alone.

    Parameters
    ----------
    shape : sequence of int, str or None
        Sizes of the axes; None or a name for those that are not known yet.
    dtype : DType
        Element type.
    """

    __slots__ = ("aval",)

    def __init__(self, shape: Sequence[Dim | str | None], dtype: Any = float32) -> None:
        sizes: list[Dim] = []
        for axis, size in enumerate(shape):
            if size is None:
                sizes.append(SymDim("N" if axis == 0 else f"D{axis}"))
            else:
                sizes.append(SymDim(size) if isinstance(size, str) else size)
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
