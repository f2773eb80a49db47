"""One training step: forward, gradients, update; run eagerly or as one compiled plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .. import ops
from ..autograd.gradgraph import compiling_at_once
from ..autograd.transforms import value_and_grad
from ..compiler.report import Report
from ..nn.optim import Optimizer
from ..parameter import Parameter
from ..tensor import Tensor
from .compiled import Plans, compile_call, write
from .objective import Objective
from .units import CellState, Clock, Feeds, as_tensor


@dataclass(frozen=True)
class Outcome:
    """What a step computed before anything was written: loss, accuracy, squared gradient norms."""

    loss: float
    accuracy: float | None
    squares: np.ndarray

    @property
    def finite(self) -> bool:
        """Whether the loss and all gradients are numbers."""
        return bool(np.isfinite(self.loss) and np.isfinite(self.squares).all())


class Pending(Protocol):
    """A step that is computed and not yet written."""

    def commit(self) -> None:
        """Update parameters, moments and statistics."""
        ...

    def discard(self) -> None:
        """Leave everything as it was before `compute`."""
        ...


class Stepper(Pending, Protocol):
    """Computes steps, and writes what it computed only when asked to."""

    def compute(self, feeds: Feeds, clock: Clock) -> Outcome:
        """Run forward and backward."""
        ...


def accuracy_of(logits: np.ndarray, labels: np.ndarray) -> float:
    """The share of examples whose largest logit, along axis 1, is the label's."""
    return float((logits.argmax(axis=1) == labels).mean())


def outcome_of(arrays: list[np.ndarray], squares: np.ndarray) -> Outcome:
    """The outcome of a step from its loss, or loss, logits and labels."""
    accuracy = accuracy_of(arrays[1], arrays[2]) if len(arrays) == 3 else None
    return Outcome(float(arrays[0].reshape(())), accuracy, squares)


class EagerStep:
    """The step as it is drawn: op by op, and compiled groups as one op each."""

    def __init__(self, objective: Objective, optimizer: Optimizer, trained: Sequence[Parameter]):
        self.objective = objective
        self.optimizer = optimizer
        self.trained = tuple(trained)
        self._gradients: tuple[Tensor, ...] = ()
        self._states: list[CellState] = []

    def compute(self, feeds: Feeds, clock: Clock) -> Outcome:
        """Run forward and backward; running statistics change here, `discard` puts them back."""
        self.objective.set_training(True)
        self._states = [CellState(node) for node in self.objective.graph.nodes.values()]
        # A resumed run must compute as the first one did, whatever was compiled before it.
        with compiling_at_once():
            values, self._gradients = gradients_of(self.objective, feeds, clock, self.trained)
        squares = np.array([square(g.data) for g in self._gradients])
        return outcome_of([value.data for value in values], squares)

    def commit(self) -> None:
        """Apply the optimizer."""
        with compiling_at_once():
            self.optimizer(self._gradients)
        self._forget()

    def discard(self) -> None:
        """Put the running statistics back."""
        for state in self._states:
            state.restore()
        self._forget()

    def _forget(self) -> None:
        self._gradients = ()
        self._states = []


def gradients_of(
    objective: Objective, feeds: Feeds, clock: Clock, trained: tuple[Parameter, ...]
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Loss (then logits and labels), and the loss's gradients to the parameters."""
    has_aux = objective.logits is not None and objective.labels is not None

    def forward() -> Tensor | tuple[Tensor, ...]:
        values = objective(feeds, clock, training=True)
        return values if has_aux else values[0]

    derived: Any = value_and_grad(forward, None, trained, has_aux)
    value, gradients = derived()
    return value if has_aux else (value,), gradients


def square(array: np.ndarray) -> float:
    """The sum of squares, in float64."""
    flat = array.reshape(-1).astype(np.float64)
    return float(flat @ flat)


class CompiledStep:
    """The step as one plan a batch shape: forward, backward and update fused."""

    def __init__(self, objective: Objective, optimizer: Optimizer, trained: Sequence[Parameter]):
        self.objective = objective.without_groups()
        self.optimizer = optimizer
        self.trained = tuple(trained)
        self._plans = Plans()
        self._writes: list[tuple[Tensor, np.ndarray]] = []

    @property
    def reports(self) -> list[Report]:
        """The accounts of the plans made so far."""
        return [compiled.plan.report for compiled in self._plans]

    def compute(self, feeds: Feeds, clock: Clock) -> Outcome:
        """Run the plan for this batch shape, made when the shape is new; nothing is written."""
        names = [(node, port) for node, ports in feeds.items() for port in ports]
        batch = [as_tensor(feeds[node][port]) for node, port in names]
        key = tuple(tensor.aval for tensor in batch)
        compiled = self._plans.get(key)
        if compiled is None:
            compiled = compile_call(lambda *t: self._step(names, t), batch, "training step")
            self._plans.put(key, compiled)
        arrays = compiled.run(batch, clock)
        results = compiled.call.results - 1
        self._writes = list(zip(compiled.call.writes, arrays[results + 1 :], strict=True))
        return outcome_of(arrays[:results], arrays[results])

    def commit(self) -> None:
        """Write what the plan computed."""
        for tensor, array in self._writes:
            write(tensor, array)
        self._writes = []

    def discard(self) -> None:
        """Drop what the plan computed."""
        self._writes = []

    def _step(self, names: list[tuple[str, str]], tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        feeds: dict[str, dict[str, Tensor]] = {}
        for (node, port), tensor in zip(names, tensors, strict=True):
            feeds.setdefault(node, {})[port] = tensor
        values, gradients = gradients_of(self.objective, feeds, Clock(), self.trained)
        squares = ops.stack([ops.sum(ops.square(gradient)) for gradient in gradients])
        self.optimizer(gradients)
        return (*values, squares)


@dataclass(frozen=True)
class Parity:
    """How far a compiled step is from the eager one on the same batch."""

    loss: float
    gradient: float

    @property
    def good(self) -> bool:
        """Within what the order of float32 sums explains."""
        return self.loss <= 1e-4 and self.gradient <= 1e-2


def compare(eager: Outcome, compiled: Outcome) -> Parity:
    """Relative deviations of the loss and of the gradients' norms."""
    loss = abs(eager.loss - compiled.loss) / max(abs(eager.loss), 1.0)
    ours, theirs = np.sqrt(compiled.squares), np.sqrt(eager.squares)
    scale = max(float(theirs.max(initial=0.0)), 1e-12)
    return Parity(loss, float(np.abs(ours - theirs).max(initial=0.0)) / scale)
