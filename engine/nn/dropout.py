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


class ChannelDropout(Cell):
    """What dropout of whole channels shares over any number of axes."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            owner = type(self).__name__
            raise ValueError(f"{owner}: the probability of zero must be in 0..1, it is {p}.")
        self.p = p

    def extend_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"


class Dropout1d(ChannelDropout):
    """Sets whole channels of sequences to zero at random while training, and scales the others up.

    Parameters
    ----------
    p : float
        Probability of zero.
    x : Tensor
        ``[n, c, length]`` or ``[c, length]``.

    Raises
    ------
    ValueError
        If the probability is not in 0..1.

    References
    ----------
    Tompson et al., Efficient Object Localization Using Convolutional Networks, 2015.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Drop channels in training; give the input back otherwise."""
        return ops.dropout1d(x, self.p, self.training)


class Dropout2d(ChannelDropout):
    """Sets whole channels of images to zero at random while training, and scales the others up.

    Parameters
    ----------
    p : float
        Probability of zero.
    x : Tensor
        ``[n, c, h, w]`` or ``[c, h, w]``.

    Raises
    ------
    ValueError
        If the probability is not in 0..1.

    References
    ----------
    Tompson et al., Efficient Object Localization Using Convolutional Networks, 2015.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Drop channels in training; give the input back otherwise."""
        return ops.dropout2d(x, self.p, self.training)


class Dropout3d(ChannelDropout):
    """Sets whole channels of volumes to zero at random while training, and scales the others up.

    Parameters
    ----------
    p : float
        Probability of zero.
    x : Tensor
        ``[n, c, d, h, w]`` or ``[c, d, h, w]``.

    Raises
    ------
    ValueError
        If the probability is not in 0..1.

    References
    ----------
    Tompson et al., Efficient Object Localization Using Convolutional Networks, 2015.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Drop channels in training; give the input back otherwise."""
        return ops.dropout3d(x, self.p, self.training)
