"""Activations made of exponentials, and gates, as Cells."""

from __future__ import annotations

from .. import ops
from ..tensor import Tensor
from .cell import Cell


class SeLU(Cell):
    """The scaled exponential linear unit, which keeps mean and variance of what passes.

    Parameters
    ----------
    x : Tensor
        Any shape.

    References
    ----------
    Klambauer et al., Self-Normalizing Neural Networks, 2017.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.selu(x)


class CELU(Cell):
    """``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)``.

    Parameters
    ----------
    alpha : float
        What it tends to, negated, far below zero; not zero.
    x : Tensor
        Any shape.

    References
    ----------
    Barron, Continuously Differentiable Exponential Linear Units, 2017.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.celu(x, self.alpha)

    def extend_repr(self) -> str:
        """The parameters."""
        return f"alpha={self.alpha}"


class Mish(Cell):
    """``x * tanh(softplus(x))``.

    Parameters
    ----------
    x : Tensor
        Any shape.

    References
    ----------
    Misra, Mish: A Self Regularized Non-Monotonic Activation Function, 2019.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.mish(x)


class Softsign(Cell):
    """``x / (1 + |x|)``.

    Parameters
    ----------
    x : Tensor
        Any shape.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.softsign(x)


class LogSigmoid(Cell):
    """``log(sigmoid(x))``, computed without underflow.

    Parameters
    ----------
    x : Tensor
        Any shape.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.logsigmoid(x)


class Tanhshrink(Cell):
    """``x - tanh(x)``.

    Parameters
    ----------
    x : Tensor
        Any shape.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.tanhshrink(x)


class FastGelu(Cell):
    """``x * sigmoid(1.702 * x)``, an approximation of `GELU`.

    Parameters
    ----------
    x : Tensor
        Any shape.

    References
    ----------
    Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.fast_gelu(x)


class GLU(Cell):
    """The first half along an axis times the sigmoid of the second.

    Parameters
    ----------
    axis : int
        The axis that is halved.
    x : Tensor
        An even number of elements along the axis.

    References
    ----------
    Dauphin et al., Language Modeling with Gated Convolutional Networks, 2016.
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.glu(x, self.axis)

    def extend_repr(self) -> str:
        """The parameters."""
        return f"axis={self.axis}"


class Softmin(Cell):
    """``exp(-x)`` over its sum along an axis.

    Parameters
    ----------
    axis : int
        The axis along which the output sums to one.
    x : Tensor
        Any shape of at least one axis.
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.softmin(x, self.axis)

    def extend_repr(self) -> str:
        """The parameters."""
        return f"axis={self.axis}"


class Softmax2d(Cell):
    """`Softmax` over the channels at each place of images.

    Parameters
    ----------
    x : Tensor
        ``[n, c, h, w]`` or ``[c, h, w]``.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.softmax(x, -3)
