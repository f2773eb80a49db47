"""Learning rates as Cells of the step's number, which optimizers ask at each step."""

from __future__ import annotations

import math

from .. import ops
from ..dtype import float32
from ..tensor import Tensor
from .cell import Cell


class LearningRateSchedule(Cell):
    """The base of learning rates that change with the step.

    A subclass computes the rate, a float32 scalar, in ``construct(global_step)``. Inside ``jit``
    the step's number is data: no step is compiled anew.
    """

    def construct(self, global_step: Tensor) -> Tensor:
        """Return the rate of a step, the first being number 0."""
        raise NotImplementedError(f"{type(self).__name__} must define construct(global_step).")


class ExponentialDecayLR(LearningRateSchedule):
    """A rate that falls by a factor each `decay_steps` steps.

    Parameters
    ----------
    learning_rate : float
        The first rate.
    decay_rate : float
        The factor.
    decay_steps : int
        Steps in which the rate falls by the factor.
    is_stair : bool
        Whether it falls only at whole multiples of `decay_steps`.

    Raises
    ------
    ValueError
        If a number is not positive.

    Notes
    -----
    ``learning_rate * decay_rate ** (step / decay_steps)``
    """

    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ) -> None:
        super().__init__()
        require_positive(self, learning_rate=learning_rate, decay_rate=decay_rate,
                         decay_steps=decay_steps)  # fmt: skip
        self.learning_rate, self.decay_rate = float(learning_rate), float(decay_rate)
        self.decay_steps, self.is_stair = int(decay_steps), bool(is_stair)

    def construct(self, global_step: Tensor) -> Tensor:
        """Return the rate of a step."""
        passed = ops.cast(global_step, float32) / self.decay_steps
        if self.is_stair:
            passed = ops.floor(passed)
        return self.learning_rate * ops.exp(passed * math.log(self.decay_rate))


class NaturalExpDecayLR(LearningRateSchedule):
    """A rate that falls by a power of e.

    Parameters
    ----------
    learning_rate : float
        The first rate.
    decay_rate : float
        By how much the exponent falls in a step.
    decay_steps : int
        Steps between two falls, where `is_stair`.
    is_stair : bool
        Whether the rate falls only at whole multiples of `decay_steps`.

    Raises
    ------
    ValueError
        If a number is not positive.

    Notes
    -----
    ``learning_rate * exp(-decay_rate * step)``
    """

    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ) -> None:
        super().__init__()
        require_positive(self, learning_rate=learning_rate, decay_rate=decay_rate,
                         decay_steps=decay_steps)  # fmt: skip
        self.learning_rate, self.decay_rate = float(learning_rate), float(decay_rate)
        self.decay_steps, self.is_stair = int(decay_steps), bool(is_stair)

    def construct(self, global_step: Tensor) -> Tensor:
        """Return the rate of a step."""
        passed = ops.cast(global_step, float32)
        if self.is_stair:
            passed = ops.floor(passed / self.decay_steps) * self.decay_steps
        return self.learning_rate * ops.exp(passed * -self.decay_rate)


class InverseDecayLR(LearningRateSchedule):
    """A rate that falls as one over the time passed.

    Parameters
    ----------
    learning_rate : float
        The first rate.
    decay_rate : float
        What the divisor grows by in `decay_steps` steps.
    decay_steps : int
        Steps in which the divisor grows by `decay_rate`.
    is_stair : bool
        Whether the rate falls only at whole multiples of `decay_steps`.

    Raises
    ------
    ValueError
        If a number is not positive.

    Notes
    -----
    ``learning_rate / (1 + decay_rate * step / decay_steps)``
    """

    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ) -> None:
        super().__init__()
        require_positive(self, learning_rate=learning_rate, decay_rate=decay_rate,
                         decay_steps=decay_steps)  # fmt: skip
        self.learning_rate, self.decay_rate = float(learning_rate), float(decay_rate)
        self.decay_steps, self.is_stair = int(decay_steps), bool(is_stair)

    def construct(self, global_step: Tensor) -> Tensor:
        """Return the rate of a step."""
        passed = ops.cast(global_step, float32) / self.decay_steps
        if self.is_stair:
            passed = ops.floor(passed)
        return self.learning_rate / (1.0 + self.decay_rate * passed)


class CosineDecayLR(LearningRateSchedule):
    """A rate that falls along half a cosine.

    Parameters
    ----------
    min_lr, max_lr : float
        The last rate and the first.
    decay_steps : int
        Steps after which the last rate is reached.

    Raises
    ------
    ValueError
        If `min_lr` is negative, `max_lr` not above it, or `decay_steps` not positive.

    References
    ----------
    Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2016.
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        require_positive(self, decay_steps=decay_steps)
        if min_lr < 0 or max_lr <= min_lr:
            raise ValueError(
                f"CosineDecayLR: min_lr {min_lr} must not be negative and max_lr {max_lr} above it."
            )
        self.min_lr, self.max_lr = float(min_lr), float(max_lr)
        self.decay_steps = int(decay_steps)

    def construct(self, global_step: Tensor) -> Tensor:
        """Return the rate of a step."""
        passed = ops.minimum(ops.cast(global_step, float32), float(self.decay_steps))
        wave = 1.0 + ops.cos(passed * (math.pi / self.decay_steps))
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * wave


class PolynomialDecayLR(LearningRateSchedule):
    """A rate that falls along a power of the time left.

    Parameters
    ----------
    learning_rate, end_learning_rate : float
        The first rate and the last.
    decay_steps : int
        Steps after which the last rate is reached.
    power : float
        The power.
    update_decay_steps : bool
        Whether, when they have passed, the fall goes on over a whole multiple of `decay_steps`.

    Raises
    ------
    ValueError
        If a number is not positive (`end_learning_rate` may be zero).
    """

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ) -> None:
        super().__init__()
        require_positive(self, learning_rate=learning_rate, decay_steps=decay_steps, power=power)
        if end_learning_rate < 0:
            raise ValueError(
                f"PolynomialDecayLR: end_learning_rate must not be negative: {end_learning_rate}."
            )
        self.learning_rate, self.end_learning_rate = float(learning_rate), float(end_learning_rate)
        self.decay_steps, self.power = int(decay_steps), float(power)
        self.update_decay_steps = bool(update_decay_steps)

    def construct(self, global_step: Tensor) -> Tensor:
        """Return the rate of a step."""
        step = ops.cast(global_step, float32)
        share = step / self.decay_steps
        if self.update_decay_steps:
            share = share / ops.maximum(ops.ceil(share), 1.0)
        left = 1.0 - ops.minimum(share, 1.0)
        fall = self.learning_rate - self.end_learning_rate
        return fall * ops.pow(left, self.power) + self.end_learning_rate


class WarmUpLR(LearningRateSchedule):
    """A rate that rises evenly from zero.

    Parameters
    ----------
    learning_rate : float
        The rate that is reached.
    warmup_steps : int
        Steps after which it is reached.

    Raises
    ------
    ValueError
        If a number is not positive.
    """

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        require_positive(self, learning_rate=learning_rate, warmup_steps=warmup_steps)
        self.learning_rate, self.warmup_steps = float(learning_rate), int(warmup_steps)

    def construct(self, global_step: Tensor) -> Tensor:
        """Return the rate of a step."""
        passed = ops.minimum(ops.cast(global_step, float32), float(self.warmup_steps))
        return passed * (self.learning_rate / self.warmup_steps)


def require_positive(cell: Cell, **values: float) -> None:
    """Refuse constructor arguments that are not positive numbers."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(
                f"{type(cell).__name__}: {name} must be a number, not {type(value).__name__}."
            )
        if value <= 0:
            raise ValueError(f"{type(cell).__name__}: {name} must be positive, it is {value}.")
