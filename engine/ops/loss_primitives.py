"""Primitives of losses and extrema that are called otherwise than functions."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import arithmetic, index, reduce, statistics
from .primitives import OwnCall
from .registry import OPS
from .softmax import log_softmax, softmax


class L2Loss(OwnCall):
    """Half the sum of squares: ``L2Loss()(x)``."""

    op = OPS["square"]

    def __init__(self) -> None:
        self.attrs = {}

    def __call__(self, input_x: Tensor) -> Tensor:
        """Return a tensor without axes."""
        return arithmetic.mul(reduce.sum(arithmetic.mul(input_x, input_x)), 0.5)


class SoftmaxCrossEntropyWithLogits(OwnCall):
    """Cross-entropy of rows and its gradient: ``SoftmaxCrossEntropyWithLogits()(logits, labels)``.

    Labels are probabilities, ``[n, c]`` as the logits.
    """

    op = OPS["softmax"]

    def __init__(self) -> None:
        self.attrs = {}

    def __call__(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss of each row, ``[n]``, and its gradient to the logits, ``[n, c]``."""
        loss = arithmetic.mul(reduce.sum(arithmetic.mul(log_softmax(logits), labels), 1), -1.0)
        return loss, arithmetic.sub(softmax(logits), labels)


class SparseSoftmaxCrossEntropyWithLogits(OwnCall):
    """Mean cross-entropy of rows, their labels numbers of classes.

    Parameters
    ----------
    is_grad : bool
        Whether the gradient to the logits is given instead of the loss.
    """

    op = OPS["cross_entropy"]

    def __init__(self, is_grad: bool = False) -> None:
        self.attrs: dict[str, Any] = {"is_grad": bool(is_grad)}

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of ``[n, c]`` logits and ``[n]`` labels, or its gradient ``[n, c]``."""
        if not self.attrs["is_grad"]:
            return OPS["cross_entropy"].function(logits, labels)
        rows, classes = logits.shape
        hits = index.one_hot(labels, classes, 1.0, 0.0)
        return arithmetic.mul(arithmetic.sub(softmax(logits), hits), 1.0 / rows)


class _WithValue(OwnCall):
    """What ``ArgMaxWithValue`` and ``ArgMinWithValue`` share.

    Parameters
    ----------
    axis : int
        The axis that is searched.
    keep_dims : bool
        Whether it stays, with size 1.
    """

    def __init__(self, axis: int = 0, keep_dims: bool = False) -> None:
        self.attrs = {"axis": axis, "keep_dims": bool(keep_dims)}


class ArgMaxWithValue(_WithValue):
    """Where the largest elements along an axis are, and they: ``ArgMaxWithValue(axis)(x)``.

    Parameters
    ----------
    axis : int
        The axis that is searched.
    keep_dims : bool
        Whether it stays, with size 1.
    """

    op = OPS["argmax"]

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the positions and the elements."""
        axis, keep = self.attrs["axis"], self.attrs["keep_dims"]
        return statistics.argmax(x, axis, keep), reduce.amax(x, axis, keep)


class ArgMinWithValue(_WithValue):
    """Where the smallest elements along an axis are, and they: ``ArgMinWithValue(axis)(x)``.

    Parameters
    ----------
    axis : int
        The axis that is searched.
    keep_dims : bool
        Whether it stays, with size 1.
    """

    op = OPS["argmin"]

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the positions and the elements."""
        axis, keep = self.attrs["axis"], self.attrs["keep_dims"]
        return statistics.argmin(x, axis, keep), reduce.amin(x, axis, keep)
