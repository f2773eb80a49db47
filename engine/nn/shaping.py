"""Cells without weights that flatten, or pass through."""

from __future__ import annotations

from .. import ops
from ..tensor import Tensor
from .cell import Cell


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
    """The input as it is.

    Parameters
    ----------
    x : Tensor
        Any shape.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Give it back."""
        return ops.identity(x)
