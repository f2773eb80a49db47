"""Weights averaged over a training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..compiler import in_place
from ..nn.cell import Cell
from ..parameter import Parameter
from ..tensor import Tensor
from .callback.base import Callback, RunContext


class ExponentialMovingAverage(Callback):
    """Keeps a running mean of a network's weights, which often does better than the last ones.

    Call ``update()`` after each step, or give the object to ``Model.train`` as a callback.

    Parameters
    ----------
    network : Cell
        The network whose trained parameters are averaged.
    decay : float
        Share of the old mean kept at a step, in 0..1.
    warm_up : bool
        Whether the first steps count more: the share is at most ``(1 + n) / (10 + n)`` at the
        n-th update.

    Raises
    ------
    ValueError
        If `decay` is not in 0..1.

    References
    ----------
    Polyak and Juditsky, Acceleration of stochastic approximation by averaging, 1992.
    """

    def __init__(self, network: Cell, decay: float = 0.999, warm_up: bool = False) -> None:
        if not 0 <= decay < 1:
            raise ValueError(f"ExponentialMovingAverage: decay must be in 0..1, it is {decay}.")
        self.decay, self.warm_up = float(decay), bool(warm_up)
        self.parameters = tuple(network.trainable_params())
        self.averages = tuple(
            Parameter(param.data, f"ema.{param.name}", requires_grad=False)
            for param in self.parameters
        )
        self.updates = 0
        self._plans = in_place.InPlace()

    def update(self) -> None:
        """Move the means towards the weights."""
        self.updates += 1
        share = self.decay
        if self.warm_up:
            share = min(share, (1 + self.updates) / (10 + self.updates))
        in_place.write_in_place(self._plans, self._move, [Tensor(np.float32(share))])

    def _move(self, share: Tensor) -> None:
        for average, param in zip(self.averages, self.parameters, strict=True):
            average.set_data(param + (average - param) * share)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Move the means after each step."""
        self.update()

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Put the means in the place of the weights while the body runs."""
        held = [np.array(param.data) for param in self.parameters]
        self.copy_to_network()
        try:
            yield
        finally:
            for param, array in zip(self.parameters, held, strict=True):
                param.set_data(array)

    def copy_to_network(self) -> None:
        """Write the means into the network, for good."""
        for param, average in zip(self.parameters, self.averages, strict=True):
            param.set_data(average)

    def state_dict(self) -> dict[str, Any]:
        """The means by name, as ``save_checkpoint`` takes them."""
        return {average.name: average for average in self.averages}
