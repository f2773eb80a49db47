"""A training step that breakpoints can stop: forward and backward node by node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..nn.optim import Optimizer
from ..parameter import Parameter
from .breakpoints import Breakpoints
from .events import Failed, NodeDone, Paused
from .executor import Execution
from .objective import Objective
from .steps import Outcome, outcome_of, square
from .units import Clock, Feeds


class DebugStep:
    """One step over an `Execution`; nothing but running statistics changes before `commit`."""

    def __init__(
        self,
        objective: Objective,
        optimizer: Optimizer,
        trained: Sequence[Parameter],
        feeds: Feeds,
        breakpoints: Breakpoints,
        clock: Clock,
    ) -> None:
        self.objective = objective
        self.optimizer = optimizer
        self.trained = tuple(trained)
        self.execution = Execution(
            objective.graph,
            feeds,
            breakpoints=breakpoints,
            training=True,
            groups=objective.groups,
            clock=clock,
        )

    def advance(self) -> Paused | Failed | Outcome:
        """Go on to the next breakpoint, the first error, or the end of the backward pass."""
        while True:
            event = self.execution.advance()
            if isinstance(event, Paused | Failed):
                return event
            if isinstance(event, NodeDone):
                continue
            if event.direction == "gradient":
                return self._outcome()
            self.execution.backward(self.objective.loss.node)

    def _outcome(self) -> Outcome:
        objective = self.objective
        sources = [s for s in (objective.loss, objective.logits, objective.labels) if s]
        arrays = [self.execution.value(source) for source in sources]
        gradients = self.execution.gradients_of(self.trained)
        return outcome_of(arrays, np.array([square(g.data) for g in gradients]))

    def commit(self) -> None:
        """Apply the optimizer."""
        self.optimizer(self.execution.gradients_of(self.trained))
        self.execution.close()

    def discard(self) -> None:
        """Put the running statistics back and forget the step."""
        self.execution.discard()
        self.execution.close()
