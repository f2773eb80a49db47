"""Gradient descent, with momentum or without."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...parameter import Parameter
from ...tensor import Tensor
from ..cell import Cell
from .base import Optimizer
from .groups import Rate


class SGD(Optimizer):
    """Stochastic gradient descent.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    momentum, dampening : float
        Share of the old accumulation kept; share of the gradient left out of it.
    weight_decay : float or Cell
        Times the weights is added to the gradients.
    nesterov : bool
        Whether to look one step ahead.
    loss_scale : float
        What the loss was multiplied by.

    Raises
    ------
    ValueError
        If `nesterov` is asked for without momentum, or with dampening.

    References
    ----------
    Sutskever et al., On the importance of initialization and momentum in deep learning, 2013.
    """

    decays_all = True

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float | Cell = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("SGD: nesterov needs momentum above 0 and dampening 0.")
        if momentum < 0:
            raise ValueError(f"SGD: momentum must not be negative, it is {momentum}.")
        self.momentum, self.dampening, self.nesterov = momentum, dampening, bool(nesterov)
        self.accum = tuple(self.moments("accum")) if momentum else ()

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step against the gradient."""
        accum = self.accum[at] if self.accum else grad
        if self.accum and self.dampening:
            # The first step is not dampened.
            grad = grad * ops.where(self.global_step == 0, 1.0, 1.0 - self.dampening)
        new, moved = ops.sgd_update(
            param, accum, grad, rate, self.momentum, 0.0, 0.0, self.nesterov
        )
        param.set_data(new)
        if self.accum:
            self.accum[at].set_data(moved)


class Momentum(Optimizer):
    """Gradient descent with momentum.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    momentum : float
        Share of the old accumulation that is kept.
    weight_decay : float or Cell
        Times the weights is added to the gradients.
    loss_scale : float
        What the loss was multiplied by.
    use_nesterov : bool
        Whether to look one step ahead.

    Raises
    ------
    ValueError
        If `momentum` is negative.

    References
    ----------
    Sutskever et al., On the importance of initialization and momentum in deep learning, 2013.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Rate,
        momentum: float,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if momentum < 0:
            raise ValueError(f"Momentum: momentum must not be negative, it is {momentum}.")
        self.momentum, self.use_nesterov = momentum, bool(use_nesterov)
        self.accum = tuple(self.moments("accum"))

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step along the accumulation."""
        new, moved = ops.momentum_update(
            param, self.accum[at], grad, rate, self.momentum, 0.0, self.use_nesterov
        )
        param.set_data(new)
        self.accum[at].set_data(moved)


class ASGD(Optimizer):
    """Averaged stochastic gradient descent: the mean of the weights is kept beside them.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained; the means are in ``averages``.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    lambd : float
        Decay of the weights.
    alpha : float
        Power by which the step's size falls.
    t0 : float
        Step at which averaging begins.
    weight_decay : float or Cell
        Times the weights is added to the gradients.

    References
    ----------
    Polyak and Juditsky, Acceleration of stochastic approximation by averaging, 1992.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 0.1,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.lambd, self.alpha, self.t0 = float(lambd), float(alpha), float(t0)
        self.averages = tuple(self.moments("ax"))

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step against the gradient and move the mean."""
        step = ops.cast(self.global_step, rate.dtype)
        eta = rate / ops.pow(1.0 + self.lambd * rate * step, self.alpha)
        new = param * (1.0 - self.lambd * eta) - grad * eta
        share = 1.0 / ops.maximum(step - self.t0, 1.0)
        average = self.averages[at]
        average.set_data(average + (new - average) * share)
        param.set_data(new)


class Rprop(Optimizer):
    """Resilient propagation: a step size for each weight, by the gradients' signs alone.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        The first step's size.
    etas : tuple of float
        Factors of a weight's step where the sign changes (below 1) and where it stays (above 1).
    step_sizes : tuple of float
        The least and the largest step.
    weight_decay : float or Cell
        Times the weights is added to the gradients.

    Raises
    ------
    ValueError
        If the factors are not on both sides of 1, or the sizes not in order.

    References
    ----------
    Riedmiller and Braun, A direct adaptive method for faster backpropagation learning: the RPROP
    algorithm, 1993.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 0.1,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        if not 0 < etas[0] < 1 < etas[1] or not 0 < step_sizes[0] <= step_sizes[1]:
            raise ValueError(
                f"Rprop: etas {etas} must lie below and above 1, step_sizes {step_sizes} rise."
            )
        self.etas, self.step_sizes = tuple(etas), tuple(step_sizes)
        self.prev = tuple(self.moments("prev"))
        self.sizes = tuple(self.moments("step_size"))

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step by the sign, a longer step where it stayed."""
        size = ops.where(self.global_step == 0, rate, self.sizes[at])
        agreement = grad * self.prev[at]
        down, up = self.etas
        factor = ops.where(agreement > 0, up, ops.where(agreement < 0, down, 1.0))
        low, high = self.step_sizes
        size = ops.minimum(ops.maximum(size * factor, low), high)
        grad = ops.where(agreement < 0, 0.0, grad)
        param.set_data(param - ops.sign(grad) * size)
        self.prev[at].set_data(grad)
        self.sizes[at].set_data(size)
