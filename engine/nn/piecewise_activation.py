"""Activations made of straight pieces, as Cells."""

from __future__ import annotations

from .. import ops
from ..dtype import float32
from ..parameter import Parameter
from ..tensor import Tensor
from .cell import Cell
from .initializer import initializer


class ReLU6(Cell):
    """``min(max(x, 0), 6)``.

    Parameters
    ----------
    x : Tensor
        Any shape.

    References
    ----------
    Krizhevsky, Convolutional Deep Belief Networks on CIFAR-10, 2010.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.relu6(x)


class Hardtanh(Cell):
    """``x`` limited to ``min_val..max_val``.

    Parameters
    ----------
    min_val : float
        The lower limit.
    max_val : float
        The upper limit.
    x : Tensor
        Any shape.
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        self.min_val = min_val
        self.max_val = max_val

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.hardtanh(x, self.min_val, self.max_val)

    def extend_repr(self) -> str:
        """The parameters."""
        return f"min_val={self.min_val}, max_val={self.max_val}"


class HSigmoid(Cell):
    """``x / 6 + 1 / 2``, limited to 0..1.

    Parameters
    ----------
    x : Tensor
        Any shape.

    References
    ----------
    Howard et al., Searching for MobileNetV3, 2019.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.hardsigmoid(x)


class HSwish(Cell):
    """``x * relu6(x + 3) / 6``.

    Parameters
    ----------
    x : Tensor
        Any shape.

    References
    ----------
    Howard et al., Searching for MobileNetV3, 2019.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.hardswish(x)


class HShrink(Cell):
    """``x`` outside of ``-lambd..lambd``, else zero.

    Parameters
    ----------
    lambd : float
        The threshold.
    x : Tensor
        Any shape.
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.hardshrink(x, self.lambd)

    def extend_repr(self) -> str:
        """The parameters."""
        return f"lambd={self.lambd}"


class SoftShrink(Cell):
    """``x`` moved toward zero by ``lambd``, zero where it would pass.

    Parameters
    ----------
    lambd : float
        How far it moves, not negative.
    x : Tensor
        Any shape.
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.softshrink(x, self.lambd)

    def extend_repr(self) -> str:
        """The parameters."""
        return f"lambd={self.lambd}"


class Threshold(Cell):
    """``x`` above a threshold, else another number.

    Parameters
    ----------
    threshold : float
        The threshold.
    value : float
        What stands for elements at or below it.
    x : Tensor
        Any shape.
    """

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.threshold(x, self.threshold, self.value)

    def extend_repr(self) -> str:
        """The parameters."""
        return f"threshold={self.threshold}, value={self.value}"


class RReLU(Cell):
    """``x`` where positive, else times a slope drawn for each element.

    Parameters
    ----------
    lower : float
        Least slope.
    upper : float
        Largest slope.
    x : Tensor
        Any shape.

    References
    ----------
    Xu et al., Empirical Evaluation of Rectified Activations in Convolutional Network, 2015.
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.rrelu(x, self.lower, self.upper)

    def extend_repr(self) -> str:
        """The parameters."""
        return f"lower={self.lower}, upper={self.upper}"


class PReLU(Cell):
    """``x`` where positive, else ``w * x`` with a slope that is learned.

    Parameters
    ----------
    channel : int
        Number of slopes: 1, or that of the channels (axis 1).
    w : float
        Their initial value.
    x : Tensor
        ``[n, c, ...]``.

    Raises
    ------
    ValueError
        If `channel` is not positive.

    References
    ----------
    He et al., Delving Deep into Rectifiers, 2015.
    """

    def __init__(self, channel: int = 1, w: float = 0.25) -> None:
        super().__init__()
        if channel < 1:
            raise ValueError(f"PReLU: channel must be positive, it is {channel}.")
        self.channel = channel
        self.w = Parameter(initializer(float(w), [channel], float32))

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.prelu(x, self.w)

    def extend_repr(self) -> str:
        """The number of slopes."""
        return f"channel={self.channel}"
