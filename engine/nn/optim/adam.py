"""Adam and its kin: steps scaled by running moments of the gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...parameter import Parameter
from ...tensor import Tensor
from ..cell import Cell
from .base import Optimizer
from .groups import Rate


class WithPowers(Optimizer):
    """An optimizer that corrects its moments' bias by the powers of their decays.

    Parameters
    ----------
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    params : iterable of Parameter, or list of dict
        What is trained.
    weight_decay : float or Cell
        Times the weights is added to the gradients.
    loss_scale : float
        What the loss was multiplied by.
    beta1, beta2 : float
        Decay of the first and second moment, in 0..1.
    eps : float
        What keeps quotients finite.
    """

    def __init__(
        self,
        learning_rate: Rate,
        params: Any,
        weight_decay: float | Cell,
        loss_scale: float,
        beta1: float,
        beta2: float,
        eps: float,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_decays(type(self).__name__, beta1, beta2, eps)
        self.beta1, self.beta2, self.eps = float(beta1), float(beta2), float(eps)
        self.beta1_power = Parameter(np.float32(1), "beta1_power", requires_grad=False)
        self.beta2_power = Parameter(np.float32(1), "beta2_power", requires_grad=False)
        self.moment1 = tuple(self.moments("moment1"))
        self.moment2 = tuple(self.moments("moment2"))

    def start_step(self) -> None:
        """Move the powers of the decays that correct the moments' bias."""
        self.beta1_power.set_data(ops.mul(self.beta1_power, self.beta1))
        self.beta2_power.set_data(ops.mul(self.beta2_power, self.beta2))

    def moved(self, at: int, grad: Tensor) -> tuple[Tensor, Tensor]:
        """Write both moments of parameter number `at` and return them."""
        m = self.moment1[at] * self.beta1 + grad * (1.0 - self.beta1)
        v = self.moment2[at] * self.beta2 + ops.square(grad) * (1.0 - self.beta2)
        self.moment1[at].set_data(m)
        self.moment2[at].set_data(v)
        return m, v


class Adam(WithPowers):
    """Adam: steps scaled by running moments of the gradients.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    beta1, beta2 : float
        Decay of the first and second moment, in 0..1.
    eps : float
        Added to the root of the second moment.
    use_locking : bool
        Taken for MindSpore's scripts; updates are never run side by side.
    use_nesterov : bool
        Whether to look one step ahead.
    weight_decay : float or Cell
        Times the weights is added to the gradients.
    loss_scale : float
        What the loss was multiplied by.
    use_amsgrad : bool
        Whether the largest second moment so far takes the place of the moment.
    use_lazy, use_offload : bool
        Taken for MindSpore's scripts: gradients are dense, and memory is the host's.

    Raises
    ------
    ValueError
        If a decay is not in 0..1, or `eps` not positive, or both variants are asked for.

    References
    ----------
    Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014. Reddi et al., On the
    Convergence of Adam and Beyond, 2018.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
        use_lazy: bool = False,
        use_offload: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale, beta1, beta2, eps)
        if use_amsgrad and use_nesterov:
            raise ValueError("Adam: use_amsgrad and use_nesterov exclude each other.")
        self.use_nesterov, self.use_amsgrad = bool(use_nesterov), bool(use_amsgrad)
        self.vhat = tuple(self.moments("vhat")) if use_amsgrad else ()

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step along the corrected moments."""
        if self.vhat:
            self._update_amsgrad(at, param, grad, rate)
            return
        m, v = self.moment1[at], self.moment2[at]
        new, new_m, new_v = ops.adam_update(
            param, m, v, grad, rate, self.beta1_power, self.beta2_power, self.beta1, self.beta2,
            self.eps, 0.0, self.use_nesterov,
        )  # fmt: skip
        param.set_data(new)
        m.set_data(new_m)
        v.set_data(new_v)

    def _update_amsgrad(self, at: int, param: Parameter, grad: Tensor, rate: Tensor) -> None:
        m, v = self.moved(at, grad)
        largest = ops.maximum(self.vhat[at], v)
        self.vhat[at].set_data(largest)
        rate = rate * ops.sqrt(1.0 - self.beta2_power) / (1.0 - self.beta1_power)
        param.set_data(param - m * rate / (ops.sqrt(largest) + self.eps))


class LazyAdam(Adam):
    """Adam under the name of MindSpore's variant for sparse gradients; gradients are dense here.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    beta1, beta2 : float
        Decay of the first and second moment, in 0..1.
    eps : float
        Added to the root of the second moment.
    use_locking : bool
        Taken for MindSpore's scripts; updates are never run side by side.
    use_nesterov : bool
        Whether to look one step ahead.
    weight_decay : float or Cell
        Times the weights is added to the gradients.
    loss_scale : float
        What the loss was multiplied by.

    References
    ----------
    Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(
            params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay,
            loss_scale,
        )  # fmt: skip


class AdamW(WithPowers):
    """Adam with decoupled weight decay.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    beta1, beta2 : float
        Decay of the first and second moment, in 0..1.
    eps : float
        Added to the root of the corrected second moment.
    weight_decay : float or Cell
        Times the weights and the rate is taken from the weights before the step.
    amsgrad : bool
        Whether the largest second moment so far takes the place of the moment.
    loss_scale : float
        What the loss was multiplied by.

    Raises
    ------
    ValueError
        If a decay is not in 0..1, or `eps` not positive.

    References
    ----------
    Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2017.
    """

    decays_all = True
    decays_itself = True

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float | Cell = 1e-2,
        amsgrad: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale, beta1, beta2, eps)
        self.vhat = tuple(self.moments("vhat")) if amsgrad else ()

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Shrink the weights and step along the corrected moments."""
        m, v = self.moved(at, grad)
        if self.vhat:
            v = ops.maximum(self.vhat[at], v)
            self.vhat[at].set_data(v)
        root = ops.sqrt(v) / ops.sqrt(1.0 - self.beta2_power) + self.eps
        step = m * (rate / (1.0 - self.beta1_power)) / root
        param.set_data(param * (1.0 - rate * decay) - step)


class AdamWeightDecay(Optimizer):
    """Adam without bias correction, whose weight decay does not pass through the moments.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    beta1, beta2 : float
        Decay of the first and second moment, in 0..1.
    eps : float
        Added to the root of the second moment.
    weight_decay : float or Cell
        Times the weights is added to the step, before the learning rate.

    Raises
    ------
    ValueError
        If a decay is not in 0..1, or `eps` not positive.

    References
    ----------
    Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2017.
    """

    decays_itself = True

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        check_decays("AdamWeightDecay", beta1, beta2, eps)
        self.beta1, self.beta2, self.eps = float(beta1), float(beta2), float(eps)
        self.adam_m = tuple(self.moments("adam_m"))
        self.adam_v = tuple(self.moments("adam_v"))

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step along the moments and towards zero."""
        m, v = self.adam_m[at], self.adam_v[at]
        new_m = m * self.beta1 + grad * (1.0 - self.beta1)
        new_v = v * self.beta2 + ops.square(grad) * (1.0 - self.beta2)
        step = new_m / (ops.sqrt(new_v) + self.eps)
        param.set_data(param - (step + param * decay) * rate)
        m.set_data(new_m)
        v.set_data(new_v)


class AdaMax(WithPowers):
    """AdaMax: Adam scaled by the running maximum of the gradients.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, LearningRateSchedule or callable
        Size of a step.
    beta1, beta2 : float
        Decay of the first moment and of the largest gradient, in 0..1.
    eps : float
        Added to the largest gradient.
    weight_decay : float or Cell
        Times the weights is added to the gradients.
    loss_scale : float
        What the loss was multiplied by.

    Raises
    ------
    ValueError
        If a decay is not in 0..1, or `eps` not positive.

    References
    ----------
    Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014, section 7.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Rate = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale, beta1, beta2, eps)

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step along the first moment."""
        m = self.moment1[at] * self.beta1 + grad * (1.0 - self.beta1)
        largest = ops.maximum(self.moment2[at] * self.beta2, ops.abs(grad))
        self.moment1[at].set_data(m)
        self.moment2[at].set_data(largest)
        rate = rate / (1.0 - self.beta1_power)
        param.set_data(param - m * rate / (largest + self.eps))


def check_decays(owner: str, beta1: float, beta2: float, eps: float) -> None:
    """Refuse decays outside of 0..1, and what would not keep a quotient finite."""
    if not (0 < beta1 < 1 and 0 < beta2 < 1) or eps <= 0:
        raise ValueError(
            f"{owner}: beta1 {beta1} and beta2 {beta2} must be in 0..1, eps {eps} positive."
        )
