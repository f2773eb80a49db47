"""Dropout: elements or whole channels set to zero at random while training."""

from __future__ import annotations

from .. import ops
from ..tensor import Tensor
from .cell import Cell


class Dropout(Cell):
    """Sets elements to zero at random while training, and scales the others up.

    Parameters
    ----------
    keep_prob : float
        Probability of keeping an element; used when `p` is not given.
    p : float, optional
        Probability of zero.
    x : Tensor
        Any shape.

    Raises
    ------
    ValueError
        If a probability is not in 0..1.

    References
    ----------
    Srivastava et al., Dropout, 2014.
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None) -> None:
        super().__init__()
        dropped = 1.0 - keep_prob if p is None else p
        if not 0 <= dropped < 1:
            raise ValueError(f"Dropout: the probability of zero must be in 0..1, it is {dropped}.")
        self.p = dropped

    def construct(self, x: Tensor) -> Tensor:
        """Drop elements in training; give the input back otherwise."""
        return ops.dropout(x, self.p, self.training)

    def extend_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"
