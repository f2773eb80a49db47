"""Gradients added up over several batches before the weights move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import ops
from ..compiler import in_place
from ..dtype import int32
from ..nn.cell import Cell
from ..nn.optim import Optimizer
from ..parameter import Parameter
from ..tensor import Tensor


class GradientAccumulator(Cell):
    """Adds up gradients and lets an optimizer step with their mean every few calls.

    It is called with gradients in the optimizer's place, in eager mode or inside ``jit``: a batch
    of ``accumulate_step`` times the size fits so into the memory of one.

    Parameters
    ----------
    optimizer : Optimizer
        Steps with the mean of the gradients.
    accumulate_step : int
        How many calls make a step.

    Raises
    ------
    TypeError
        If `optimizer` is no Optimizer.
    ValueError
        If `accumulate_step` is below 1.

    Examples
    --------
    >>> accumulate = train.GradientAccumulator(optimizer, accumulate_step=4)
    >>> for data, label in dataset:
    ...     loss, grads = grad_fn(data, label)
    ...     accumulate(grads)
    """

    def __init__(self, optimizer: Optimizer, accumulate_step: int) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"GradientAccumulator takes an Optimizer, not {optimizer!r}.")
        if accumulate_step < 1:
            raise ValueError(
                f"GradientAccumulator: accumulate_step must be 1 or more, it is {accumulate_step}."
            )
        self.optimizer = optimizer
        self.accumulate_step = int(accumulate_step)
        self._plans, self._clears = in_place.InPlace(), in_place.InPlace()
        self.counter = Parameter(np.zeros((), np.int32), "counter", requires_grad=False)
        self.sums = tuple(self._sum_of(param) for param in optimizer.parameters)

    def _sum_of(self, param: Parameter) -> Parameter:
        zeros = np.zeros(param.shape, param.dtype.numpy)
        made = Parameter(zeros, f"accumulated.{param.name}", requires_grad=False)
        self.insert_param_to_cell(made.name, made, check_name_contain_dot=False)
        return made

    def construct(self, gradients: Sequence[Tensor]) -> bool:
        """Add the gradients, and step if it is time; return True."""
        share = Tensor(np.float32(1.0 / self.accumulate_step))
        in_place.write_in_place(self._plans, self._add, [share, *gradients])
        if self.counter >= self.accumulate_step:
            self.optimizer(self.sums)
            self.clear()
        return True

    def _add(self, share: Tensor, *gradients: Tensor) -> None:
        for kept, grad in zip(self.sums, gradients, strict=True):
            kept.set_data(kept + grad * share)
        self.counter.set_data(ops.cast(self.counter + 1, int32))

    def clear(self) -> None:
        """Forget what was added."""
        in_place.write_in_place(self._clears, self._clear, [])

    def _clear(self) -> None:
        for kept in (*self.sums, self.counter):
            kept.set_data(ops.zeros_like(kept))
