"""Steps scaled layer by layer: LAMB and LARS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import ops
from ...parameter import Parameter
from ...tensor import Tensor
from ..cell import Cell
from .adam import WithPowers
from .base import Optimizer
from .groups import Rate

LARGEST_RATIO = 10.0
"""What LAMB's ratio of weights to steps is held to."""


def norm(tensor: Tensor) -> Tensor:
    """Return the root of the sum of squares, a scalar."""
    return ops.sqrt(ops.sum(ops.square(tensor)))


class Lamb(WithPowers):
    """LAMB: Adam with steps in proportion to the norm of each layer's weights.

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
        Times the weights is added to the step before it is scaled.

    Raises
    ------
    ValueError
        If a decay is not in 0..1, or `eps` not positive.

    References
    ----------
    You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes, 2019.
    """

    decays_itself = True

    def __init__(
        self,
        params: Any,
        learning_rate: Rate,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, 1.0, beta1, beta2, eps)

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step along the corrected moments, as far as the weights are long."""
        m, v = self.moved(at, grad)
        root = ops.sqrt(v / (1.0 - self.beta2_power)) + self.eps
        step = m / (1.0 - self.beta1_power) / root + param * decay
        weights, length = norm(param), norm(step)
        known = ops.logical_and(weights > 0, length > 0)
        # a length of one where it is zero: the quotient is not taken then
        ratio = ops.where(known, weights / ops.where(known, length, 1.0), 1.0)
        param.set_data(param - step * (rate * ops.minimum(ratio, LARGEST_RATIO)))


def _is_scaled(param: Parameter) -> bool:
    return "LayerNorm" not in param.name and "bias" not in param.name


class LARS(Optimizer):
    """Layer-wise adaptive rate scaling around an optimizer: by norms of weights and gradients.

    Parameters
    ----------
    optimizer : Optimizer
        What takes the scaled gradients; its weight decay is taken over.
    epsilon : float
        Added to the divisor.
    coefficient : float
        How far a step goes, in norms of the weights.
    use_clip : bool
        Whether the scale is held to at most the wrapped optimizer's rate.
    lars_filter : callable
        Says of a Parameter whether it is scaled.

    Raises
    ------
    TypeError
        If `optimizer` is no Optimizer.

    References
    ----------
    You et al., Large Batch Training of Convolutional Networks, 2017.
    """

    decays_itself = True

    def __init__(
        self,
        optimizer: Optimizer,
        epsilon: float = 1e-5,
        coefficient: float = 0.001,
        use_clip: bool = False,
        lars_filter: Callable[[Parameter], bool] = _is_scaled,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"LARS wraps an Optimizer, not {type(optimizer).__name__}.")
        super().__init__(0.0, optimizer.parameters)
        self.epsilon, self.coefficient = float(epsilon), float(coefficient)
        self.use_clip = bool(use_clip)
        self.scaled_ones = tuple(bool(lars_filter(param)) for param in self.parameters)
        self.optimizer = optimizer
        optimizer.__dict__["_dependent"].append(self._updates)

    def get_lr(self) -> Any:
        """The wrapped optimizer's learning rate."""
        return self.optimizer.get_lr()

    def values_of_step(self) -> dict[str, Tensor]:
        """What the wrapped optimizer computes anew for each step."""
        return self.optimizer.values_of_step()

    def apply_gradients(self, grads: Sequence[Tensor], values: dict[str, Tensor]) -> None:
        """Scale the gradients and let the wrapped optimizer write."""
        inner = self.optimizer
        scaled = []
        for at, param in enumerate(self.parameters):
            decay = inner.decay_of(at, values)
            grad = inner.scaled(grads[at])
            if self.scaled_ones[at]:
                scaled.append(self._scaled(param, grad, inner.rate_of(at, values), decay))
            else:
                scaled.append(grad + param * decay)
        inner.write(scaled, values, False)
        self.global_step.set_data(inner.global_step)

    def _scaled(self, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> Tensor:
        weights, length = norm(param), norm(grad)
        trust = self.coefficient * weights / (length + weights * decay + self.epsilon)
        trust = ops.where(ops.logical_and(weights > 0, length > 0), trust, 1.0)
        if self.use_clip:
            trust = ops.minimum(trust / rate, 1.0)
        return (grad + param * decay) * trust
