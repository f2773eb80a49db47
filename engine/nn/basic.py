"""Basic layers without weights: reshaping, rolling, one-hot vectors, clipping."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..dtype import DType, dtype_of, float32
from ..tensor import Tensor
from .cell import Cell


class Unflatten(Cell):
    """Splits one axis into several.

    Parameters
    ----------
    axis : int
        The axis to split.
    unflattened_size : tuple of int
        The new sizes; one may be -1 and is worked out.
    input : Tensor
        Any shape that has the axis.
    """

    def __init__(self, axis: int, unflattened_size: tuple[int, ...]) -> None:
        super().__init__()
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, input: Tensor) -> Tensor:
        """Split the axis."""
        return ops.unflatten(input, self.axis, self.unflattened_size)

    def extend_repr(self) -> str:
        """Axis and sizes."""
        return f"axis={self.axis}, unflattened_size={self.unflattened_size}"


class OneHot(Cell):
    """One-hot vectors: each integer becomes a row with one number set.

    Parameters
    ----------
    axis : int
        Where the new axis stands.
    depth : int
        Length of the rows.
    on_value, off_value : float
        Value at the position, and elsewhere.
    dtype : DType
        Element type of the result.
    indices : Tensor
        Integers of any shape; those outside ``0..depth-1`` set nothing.
    """

    def __init__(
        self,
        axis: int = -1,
        depth: int = 1,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.axis, self.depth = axis, depth
        self.on_value, self.off_value, self.dtype = on_value, off_value, dtype_of(dtype)

    def construct(self, indices: Tensor) -> Tensor:
        """Write the rows."""
        return ops.one_hot(
            indices, self.depth, self.on_value, self.off_value, self.axis, self.dtype
        )

    def extend_repr(self) -> str:
        """Axis and depth."""
        return f"axis={self.axis}, depth={self.depth}"


class Roll(Cell):
    """Moves elements along axes; those that leave at the end come in at the front.

    Parameters
    ----------
    shift : int or tuple of int
        By how many places.
    axis : int or tuple of int
        The axis of each shift.
    input_x : Tensor
        Any shape that has the axes.
    """

    def __init__(self, shift: int | tuple[int, ...], axis: int | tuple[int, ...]) -> None:
        super().__init__()
        self.shift, self.axis = shift, axis

    def construct(self, input_x: Tensor) -> Tensor:
        """Move the elements."""
        return ops.roll(input_x, self.shift, self.axis)

    def extend_repr(self) -> str:
        """Shift and axis."""
        return f"shift={self.shift}, axis={self.axis}"


class ClipByNorm(Cell):
    """Scales a tensor down where its Euclidean length is above a limit.

    Parameters
    ----------
    axis : int or tuple of int, optional
        The axes over which lengths are taken; by default all.

    Notes
    -----
    ``x * clip_norm / max(length, clip_norm)``.
    """

    def __init__(self, axis: int | tuple[int, ...] | None = None) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor, clip_norm: Tensor) -> Tensor:
        """Scale down.

        Parameters
        ----------
        x : Tensor
            Any shape, a float type.
        clip_norm : Tensor
            The limit, positive; broadcasts with ``x``.

        Returns
        -------
        Tensor
            The shape of ``x``.
        """
        squares = ops.sum(x * x, self.axis, keepdims=True)
        # The root of zero has no slope; a length of zero is not above any limit.
        some = ops.where(squares > 0, squares, ops.ones_like(squares))
        length = ops.where(squares > 0, ops.sqrt(some), squares)
        limit: Any = clip_norm
        return x * limit / ops.maximum(length, limit)

    def extend_repr(self) -> str:
        """The axes."""
        return f"axis={self.axis}"


class Flatten(Cell):
    """Joins axes into one.

    Parameters
    ----------
    start_dim, end_dim : int
        The first and the last axis to join.
    x : Tensor
        ``[n, ...]``; by default all axes but the first are joined.
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Tensor) -> Tensor:
        """Flatten."""
        return ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Identity(Cell):
    """The input as it is; of a tuple or list too.

    Parameters
    ----------
    x : Tensor
        Any shape.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Give it back."""
        return x if isinstance(x, tuple | list) else ops.identity(x)
