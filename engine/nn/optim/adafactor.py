"""Adafactor: second moments kept as the sums of rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...parameter import Parameter
from ...tensor import Tensor
from ..cell import Cell
from .base import Optimizer
from .groups import Rate

LARGEST_STEP = 1e-2
"""The relative step's size while the number of steps is small."""
WARMUP_STEP = 1e-6
"""How the relative step grows with each step under ``warmup_init``."""


class AdaFactor(Optimizer):
    """Adam with little memory: of a matrix of second moments only row and column sums are kept.

    Parameters
    ----------
    params : iterable of Parameter, or list of dict
        What is trained.
    learning_rate : float, sequence of float, LearningRateSchedule or callable, optional
        Size of a step, where `relative_step` is off.
    eps : tuple of float
        Added to squared gradients; the least size of weights that a step is taken relative to.
    clip_threshold : float
        Largest root mean square of a step.
    decay_rate : float
        Power by which the decay of the second moments comes near to 1.
    beta1 : float
        Decay of the first moment; 0 keeps none.
    weight_decay : float or Cell
        Times the weights and the rate is taken from the weights.
    scale_parameter : bool
        Whether steps are relative to the size of the weights.
    relative_step : bool
        Whether the step's size comes from the number of steps.
    warmup_init : bool
        Whether relative steps begin small.
    compression : bool
        Taken for MindSpore's scripts; state has the parameter's type.
    loss_scale : float
        What the loss was multiplied by.

    Raises
    ------
    ValueError
        If a learning rate is given with `relative_step`, or none without it, or `warmup_init`
        without `relative_step`.

    References
    ----------
    Shazeer and Stern, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, 2018.
    """

    decays_itself = True

    def __init__(
        self,
        params: Any,
        learning_rate: Rate | None = None,
        eps: tuple[float, float] = (1e-30, 1e-3),
        clip_threshold: float = 1.0,
        decay_rate: float = 0.8,
        beta1: float = 0.9,
        weight_decay: float | Cell = 0.0,
        scale_parameter: bool = True,
        relative_step: bool = True,
        warmup_init: bool = False,
        compression: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        if relative_step is not (learning_rate is None):
            raise ValueError("AdaFactor: give a learning_rate, or take relative_step, not both.")
        if warmup_init and not relative_step:
            raise ValueError("AdaFactor: warmup_init needs relative_step.")
        super().__init__(learning_rate or 0.0, params, weight_decay, loss_scale)
        self.eps, self.clip_threshold = (float(eps[0]), float(eps[1])), float(clip_threshold)
        self.decay_rate, self.beta1 = float(decay_rate), float(beta1)
        self.scale_parameter, self.relative_step = bool(scale_parameter), bool(relative_step)
        self.warmup_init = bool(warmup_init)
        self.exp_avg = tuple(self.moments("exp_avg")) if beta1 else ()
        shapes = [param.shape for param in self.parameters]
        matrices = [len(shape) >= 2 for shape in shapes]
        rows = [s[:-1] if m else (1,) for s, m in zip(shapes, matrices, strict=True)]
        columns = [(*s[:-2], s[-1]) if m else s for s, m in zip(shapes, matrices, strict=True)]
        self.rows = self._sums("exp_avg_sq_row", rows)
        self.columns = self._sums("exp_avg_sq_col", columns)

    def _sums(self, name: str, shapes: list[tuple[int, ...]]) -> tuple[Parameter, ...]:
        made: list[Parameter] = []
        for number, (param, shape) in enumerate(zip(self.parameters, shapes, strict=True)):
            zeros = np.zeros(shape, param.dtype.numpy)
            sums = Parameter(zeros, f"{name}.{param.name}", requires_grad=False)
            self.insert_param_to_cell(f"{name}.{number}", sums, check_name_contain_dot=False)
            made.append(sums)
        return tuple(made)

    def update(self, at: int, param: Parameter, grad: Tensor, rate: Tensor, decay: Any) -> None:
        """Step by the gradient over the root of what rows and columns tell of its square."""
        count = ops.cast(self.global_step, param.dtype) + 1.0
        if self.relative_step:
            largest = count * WARMUP_STEP if self.warmup_init else LARGEST_STEP
            rate = ops.minimum(1.0 / ops.sqrt(count), largest)
        if self.scale_parameter:
            rate = rate * ops.maximum(root_mean_square(param), self.eps[1])
        step = grad * self._inverse_root(at, grad, 1.0 - ops.pow(count, -self.decay_rate))
        step = step / ops.maximum(root_mean_square(step) / self.clip_threshold, 1.0) * rate
        if self.exp_avg:
            step = self.exp_avg[at] * self.beta1 + step * (1.0 - self.beta1)
            self.exp_avg[at].set_data(step)
        param.set_data(param - param * (rate * decay) - step)

    def _inverse_root(self, at: int, grad: Tensor, kept: Tensor) -> Tensor:
        """Move the sums of squares and return one over their root."""
        square = ops.square(grad) + self.eps[0]
        if len(grad.shape) < 2:
            sums = self.columns[at] * kept + square * (1.0 - kept)
            self.columns[at].set_data(sums)
            return ops.rsqrt(sums)
        rows = self.rows[at] * kept + ops.mean(square, -1) * (1.0 - kept)
        columns = self.columns[at] * kept + ops.mean(square, -2) * (1.0 - kept)
        self.rows[at].set_data(rows)
        self.columns[at].set_data(columns)
        share = ops.rsqrt(rows / ops.mean(rows, -1, True))
        return ops.expand_dims(share, -1) * ops.expand_dims(ops.rsqrt(columns), -2)


def root_mean_square(tensor: Tensor) -> Tensor:
    """Return the root of the mean of squares, a scalar."""
    return ops.sqrt(ops.mean(ops.square(tensor)))
