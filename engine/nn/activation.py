"""Activations as Cells."""

from __future__ import annotations

from collections.abc import Callable

from .. import ops
from ..tensor import Tensor
from .cell import Cell
from .piecewise_activation import (
    Hardtanh,
    HShrink,
    HSigmoid,
    HSwish,
    PReLU,
    ReLU6,
    RReLU,
    SoftShrink,
)
from .smooth_activation import (
    CELU,
    GLU,
    FastGelu,
    LogSigmoid,
    Mish,
    SeLU,
    Softmax2d,
    Softmin,
    Softsign,
    Tanhshrink,
)


class ReLU(Cell):
    """``max(x, 0)``.

    Parameters
    ----------
    x : Tensor
        Any shape.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.relu(x)


class LeakyReLU(Cell):
    """``x`` where positive, else ``alpha * x``.

    Parameters
    ----------
    alpha : float
        The slope below zero.
    x : Tensor
        Any shape.
    """

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.leaky_relu(x, self.alpha)

    def extend_repr(self) -> str:
        """The parameter."""
        return f"alpha={self.alpha}"


class ELU(Cell):
    """``x`` where positive, else ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    alpha : float
        What it tends to, negated, far below zero.
    x : Tensor
        Any shape.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.elu(x, self.alpha)

    def extend_repr(self) -> str:
        """The parameter."""
        return f"alpha={self.alpha}"


class GELU(Cell):
    """``x`` times the standard normal distribution function of ``x``.

    Parameters
    ----------
    approximate : bool
        Whether to use the approximation by ``tanh``.
    x : Tensor
        Any shape.

    References
    ----------
    Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
    """

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        self.approximate = bool(approximate)

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.gelu(x, "tanh" if self.approximate else "none")

    def extend_repr(self) -> str:
        """The parameter."""
        return f"approximate={self.approximate}"


class SiLU(Cell):
    """``x * sigmoid(x)``.

    Parameters
    ----------
    x : Tensor
        Any shape.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.silu(x)


class Sigmoid(Cell):
    """``1 / (1 + exp(-x))``.

    Parameters
    ----------
    x : Tensor
        Any shape.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.sigmoid(x)


class Tanh(Cell):
    """The hyperbolic tangent.

    Parameters
    ----------
    x : Tensor
        Any shape.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.tanh(x)


class Softplus(Cell):
    """``log(1 + exp(x))``.

    Parameters
    ----------
    x : Tensor
        Any shape.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.softplus(x)


class Softmax(Cell):
    """``exp(x)`` over its sum along an axis.

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
        return ops.softmax(x, self.axis)

    def extend_repr(self) -> str:
        """The parameter."""
        return f"axis={self.axis}"


class LogSoftmax(Cell):
    """The logarithm of `Softmax`, computed without overflow.

    Parameters
    ----------
    axis : int
        The axis along which the exponentials sum to one.
    x : Tensor
        Any shape of at least one axis.
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        """Apply it."""
        return ops.log_softmax(x, self.axis)

    def extend_repr(self) -> str:
        """The parameter."""
        return f"axis={self.axis}"


NAMED: dict[str, Callable[[], Cell]] = {
    "relu": ReLU, "relu6": ReLU6, "leakyrelu": LeakyReLU, "prelu": PReLU, "rrelu": RReLU,
    "elu": ELU, "selu": SeLU, "celu": CELU, "gelu": GELU, "fast_gelu": FastGelu, "silu": SiLU,
    "mish": Mish, "sigmoid": Sigmoid, "hsigmoid": HSigmoid, "logsigmoid": LogSigmoid,
    "hswish": HSwish, "tanh": Tanh, "hardtanh": Hardtanh, "tanhshrink": Tanhshrink,
    "hshrink": HShrink, "softshrink": SoftShrink, "softplus": Softplus, "softsign": Softsign,
    "softmax": Softmax, "softmax2d": Softmax2d, "softmin": Softmin, "logsoftmax": LogSoftmax,
    "glu": GLU,
}  # fmt: skip


def get_activation(name: str) -> Cell:
    """Return a new activation of that name.

    Parameters
    ----------
    name : str
        As ``"relu"`` or ``"gelu"``, in any case.

    Returns
    -------
    Cell
        The activation.

    Raises
    ------
    KeyError
        If there is none.
    """
    if name.lower() not in NAMED:
        raise KeyError(f"there is no activation {name!r}; use one of {', '.join(NAMED)}.")
    return NAMED[name.lower()]()
