"""Steps scaled by the squares of past gradients: Adagrad, Adadelta, RMSProp and proximal kin."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...parameter import Parameter
from ...tensor import Tensor
from ..cell import Cell
from .base import Optimizer
from .groups import Rate


class Adagrad(Optimizer):
    """Adagrad: steps divided by the root of the sum of all squared gradients.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    accum : float
        What the sums begin with.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    update_slots : bool
        Whether the sums grow.
    loss_scale : float
        What the loss was multiplied by.
    weight_decay : float or Cell
        Times the weights is added to the gradients.

    Raises
    ------
    ValueError
        If `accum` is negative.

    References
    ----------
    Duchi et al., Adaptive Subgradient Methods for Online Learning and Stochastic Optimization,
    2011.
    """

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Rate = 0.001,
        update_slots: bool = True,
        loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check_accumulator("Adagrad", accum)
        self.update_slots = bool(update_slots)
        self.accum = tuple(self.moments("accum", accum))

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step, and add to the sum."""
        accum: Tensor = self.accum[at]
        if self.update_slots:
            accum = accum + ops.square(grad)
            self.accum[at].set_data(accum)
        param.set_data(param - grad * rate / ops.sqrt(accum))


class Adadelta(Optimizer):
    """Adadelta: steps in proportion to the root of past steps' squares over past gradients'.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Factor of a step.
    rho : float
        Share of the old means kept, in 0..1.
    epsilon : float
        Added to both means under their roots.
    loss_scale : float
        What the loss was multiplied by.
    weight_decay : float or Cell
        Times the weights is added to the gradients.

    Raises
    ------
    ValueError
        If `rho` is not in 0..1, or `epsilon` not positive.

    References
    ----------
    Zeiler, ADADELTA: An Adaptive Learning Rate Method, 2012.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if not 0 <= rho <= 1 or epsilon <= 0:
            raise ValueError(f"Adadelta: rho {rho} must be in 0..1, epsilon {epsilon} positive.")
        self.rho, self.epsilon = float(rho), float(epsilon)
        self.accum = tuple(self.moments("accum"))
        self.accum_update = tuple(self.moments("accum_update"))

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step, and move both means."""
        rest = 1.0 - self.rho
        accum = self.accum[at] * self.rho + ops.square(grad) * rest
        steps = self.accum_update[at]
        step = ops.sqrt(steps + self.epsilon) / ops.sqrt(accum + self.epsilon) * grad
        self.accum[at].set_data(accum)
        steps.set_data(steps * self.rho + ops.square(step) * rest)
        param.set_data(param - step * rate)


class RMSProp(Optimizer):
    """RMSProp: steps divided by the root of the running mean of squared gradients.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    decay : float
        Share of the old mean kept.
    momentum : float
        Share of the last step that is added to the next.
    epsilon : float
        Added to the mean under the root.
    use_locking : bool
        Taken for MindSpore's scripts; updates are never run side by side.
    centered : bool
        Whether the variance of the gradients takes the place of their mean square.
    loss_scale : float
        What the loss was multiplied by.
    weight_decay : float or Cell
        Times the weights is added to the gradients.

    Raises
    ------
    ValueError
        If `decay` or `momentum` is negative, or `epsilon` not positive.

    References
    ----------
    Tieleman and Hinton, Neural Networks for Machine Learning, lecture 6.5, 2012. Graves,
    Generating Sequences With Recurrent Neural Networks, 2013 (centered).
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 0.1,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if decay < 0 or momentum < 0 or epsilon <= 0:
            raise ValueError(
                f"RMSProp: decay {decay} and momentum {momentum} must not be negative, epsilon"
                f" {epsilon} must be positive."
            )
        self.decay, self.momentum, self.epsilon = float(decay), float(momentum), float(epsilon)
        self.ms = tuple(self.moments("mean_square"))
        self.moment = tuple(self.moments("moment")) if momentum else ()
        self.mg = tuple(self.moments("mean_grad")) if centered else ()

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step, and move the means."""
        rest = 1.0 - self.decay
        square = self.ms[at] * self.decay + ops.square(grad) * rest
        self.ms[at].set_data(square)
        if self.mg:
            mean = self.mg[at] * self.decay + grad * rest
            self.mg[at].set_data(mean)
            square = square - ops.square(mean)
        step = grad * rate / ops.sqrt(square + self.epsilon)
        if self.moment:
            step = self.moment[at] * self.momentum + step
            self.moment[at].set_data(step)
        param.set_data(param - step)


class FTRL(Optimizer):
    """Follow the regularised leader: weights that an L1 penalty may hold at zero.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    initial_accum : float
        What the sums of squares begin with.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    lr_power : float
        Power of the sums by which steps fall, zero or below.
    l1, l2 : float
        Strength of the penalties on the weights' sizes and on their squares.
    use_locking : bool
        Taken for MindSpore's scripts; updates are never run side by side.
    loss_scale : float
        What the loss was multiplied by.
    weight_decay : float or Cell
        Times the weights is added to the gradients.

    Raises
    ------
    ValueError
        If `initial_accum` or a penalty is negative, or `lr_power` positive.

    References
    ----------
    McMahan et al., Ad Click Prediction: a View from the Trenches, 2013.
    """

    def __init__(
        self,
        params: Any,
        initial_accum: float = 0.1,
        learning_rate: Rate = 0.001,
        lr_power: float = -0.5,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check_accumulator("FTRL", initial_accum)
        if lr_power > 0 or l1 < 0 or l2 < 0:
            raise ValueError(
                f"FTRL: lr_power {lr_power} must not be positive, l1 {l1} and l2 {l2} not negative."
            )
        self.lr_power, self.l1, self.l2 = float(lr_power), float(l1), float(l2)
        self.accum = tuple(self.moments("moments", initial_accum))
        self.linear = tuple(self.moments("linear"))

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Solve for the weights that the gradients so far would have liked best."""
        accum, linear = self.accum[at], self.linear[at]
        grown = accum + ops.square(grad)
        power, before = ops.pow(grown, -self.lr_power), ops.pow(accum, -self.lr_power)
        moved = linear + grad - param * ((power - before) / rate)
        quadratic = power / rate + 2.0 * self.l2
        pulled = (ops.sign(moved) * self.l1 - moved) / quadratic
        param.set_data(ops.where(ops.abs(moved) > self.l1, pulled, 0.0))
        accum.set_data(grown)
        linear.set_data(moved)


class ProximalAdagrad(Optimizer):
    """Adagrad whose penalties are applied by their proximal operators.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    accum : float
        What the sums of squares begin with.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    l1, l2 : float
        Strength of the penalties on the weights' sizes and on their squares.
    use_locking : bool
        Taken for MindSpore's scripts; updates are never run side by side.
    loss_scale : float
        What the loss was multiplied by.
    weight_decay : float or Cell
        Times the weights is added to the gradients.

    Raises
    ------
    ValueError
        If `accum` or a penalty is negative.

    References
    ----------
    Duchi and Singer, Efficient Learning using Forward-Backward Splitting, 2009.
    """

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Rate = 0.001,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check_accumulator("ProximalAdagrad", accum)
        if l1 < 0 or l2 < 0:
            raise ValueError(f"ProximalAdagrad: l1 {l1} and l2 {l2} must not be negative.")
        self.l1, self.l2 = float(l1), float(l2)
        self.accum = tuple(self.moments("accum", accum))

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step, then shrink towards zero."""
        accum = self.accum[at] + ops.square(grad)
        self.accum[at].set_data(accum)
        own = rate / ops.sqrt(accum)
        moved = param - grad * own
        if self.l1:
            moved = ops.sign(moved) * ops.maximum(ops.abs(moved) - own * self.l1, 0.0)
        param.set_data(moved / (1.0 + own * self.l2))


def _check_accumulator(owner: str, value: float) -> None:
    if value < 0:
        raise ValueError(f"{owner}: the sums must begin with zero or more, not {value}.")
