"""Training a drawn graph: one step each time it is asked, with a state that can be resumed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from ..autograd.gradgraph import compiling_at_once
from ..parameter import Parameter
from .breakpoints import Breakpoints
from .debugstep import DebugStep
from .events import Failed, Paused
from .graph import Graph
from .groups import CompiledGroup
from .history import EpochResult, Evaluation, History, StepResult
from .nonfinite import NotFinite, find_non_finite
from .objective import objective_of, optimizer_of
from .ratios import changes, largest_per_node
from .settings import (
    Columns,
    TrainingData,
    TrainingError,
    TrainingSettings,
    batch_rows,
    count,
    epoch_order,
    rate_at,
    steps_per_epoch,
    take,
)
from .state import read_pair, write_pair
from .steps import CompiledStep, EagerStep, Outcome, Pending, Stepper, accuracy_of, compare
from .units import Clock, Feeds
from .weights import Weights

EVALUATION_BATCH = 256
TrainingEvent = StepResult | NotFinite | Paused | Failed
_RESUMED = ("optimizer", "learning_rate", "momentum", "weight_decay", "schedule", "batch_size",
            "seed", "shuffle", "overfit_one_batch")  # fmt: skip


Route = Literal["compiled", "groups", "eager", ""]
"""How steps run: as one plan, as compiled groups and the rest eagerly, or all eagerly."""


class _Counters(msgspec.Struct):
    settings: TrainingSettings
    examples: int
    done: int
    path: Route
    reason: str


class TrainingRun:
    """A training that moves on by one step each time `step` is called; there is no thread.

    Nothing is selected on the held-out part: it is only evaluated after each epoch.

    Parameters
    ----------
    graph : Graph
        With a node of kind `loss`, whose first input is the logits and whose second the labels.
    data : TrainingData
    settings : TrainingSettings
    breakpoints : Breakpoints, optional
        While any is enabled, steps run node by node and can stop on it.
    groups : iterable of CompiledGroup
        Run compiled, forward and backward, where the whole step is not.

    Raises
    ------
    TrainingError
        There is no loss, more than one, or nothing to train.
    """

    def __init__(
        self,
        graph: Graph,
        data: TrainingData,
        settings: TrainingSettings | None = None,
        *,
        breakpoints: Breakpoints | None = None,
        groups: Iterable[CompiledGroup] = (),
    ) -> None:
        self.graph = graph
        self.data = data
        self.settings = settings or TrainingSettings()
        self.breakpoints = breakpoints or Breakpoints()
        self.examples = count(data.train)
        self.weights = Weights(graph)
        self.history = History()
        self.done = 0
        self.path: Route = ""
        self.reason = ""
        self._trained = self.weights.trained
        if not self._trained:
            raise TrainingError("the graph has no Cell with weights, so there is nothing to train")
        self.objective = objective_of(graph, data.train, self.settings, groups)
        self.optimizer = optimizer_of(self.settings, list(self._trained.values()))
        self._stepper: Stepper | None = None
        self._debug: DebugStep | None = None
        self._epoch_seconds = 0.0
        self._order: tuple[int, np.ndarray] | None = None

    @property
    def per_epoch(self) -> int:
        """Steps in an epoch."""
        return steps_per_epoch(self.settings, self.examples)

    @property
    def steps(self) -> int:
        """Steps in the whole training."""
        return self.per_epoch * self.settings.epochs

    @property
    def finished(self) -> bool:
        """Whether every step is done."""
        return self.done >= self.steps

    @property
    def paused(self) -> DebugStep | None:
        """The step that stands at a breakpoint; its `execution` can be inspected and stepped."""
        return self._debug

    @property
    def clock(self) -> Clock:
        """Seed and number of the next step."""
        return Clock(self.settings.seed, self.done + 1)

    def batch(self) -> Feeds:
        """The batch of the next step."""
        epoch, position = divmod(self.done, self.per_epoch)
        if self._order is None or self._order[0] != epoch:
            self._order = (epoch, epoch_order(self.settings, self.examples, epoch))
        return take(self.data.train, batch_rows(self.settings, self._order[1], position))

    def step(self) -> TrainingEvent:
        """Do one step, or go on with the one that stands at a breakpoint.

        Returns
        -------
        StepResult
            The step is done and written.
        Paused, Failed
            It stands at a breakpoint, or on a node's error; `step` goes on, `stop` discards it.
        NotFinite
            Its loss or a gradient is NaN or Inf; the step was discarded.
        """
        if self.finished:
            raise TrainingError("the training is over; give it more epochs to go on")
        started = time.perf_counter()
        feeds = self.batch()
        self._set_rate()
        stepper, outcome = self._compute(feeds)
        if not isinstance(outcome, Outcome):
            return outcome
        self._debug = None
        if not outcome.finite:
            stepper.discard()
            return find_non_finite(self.graph, feeds, self.objective.loss, self.clock)
        self._commit(stepper, outcome)
        return self._result(outcome, time.perf_counter() - started)

    def stop(self) -> None:
        """Discard the step that stands at a breakpoint."""
        if self._debug is not None:
            self._debug.discard()
            self._debug = None

    def _compute(self, feeds: Feeds) -> tuple[Pending, Outcome | Paused | Failed]:
        watched = self.breakpoints.watched() or self.breakpoints.watched("gradient")
        if self._debug is None and watched:
            self._debug = self._debug_step(feeds, self.breakpoints)
        if self._debug is not None:
            return self._debug, self._debug.advance()
        try:
            stepper = self._stepper or self._choose(feeds)
            return stepper, stepper.compute(feeds, self.clock)
        except TrainingError:
            raise
        except Exception:
            # The walk node by node finds the node to which the error belongs.
            if self._stepper is not None:
                self._stepper.discard()
            self._debug = self._debug_step(feeds, Breakpoints())
            found = self._debug.advance()
            if isinstance(found, Failed):
                return self._debug, found
            self.stop()
            raise

    def _debug_step(self, feeds: Feeds, breakpoints: Breakpoints) -> DebugStep:
        trained = list(self._trained.values())
        return DebugStep(self.objective, self.optimizer, trained, feeds, breakpoints, self.clock)

    def _choose(self, feeds: Feeds) -> Stepper:
        """The whole step compiled if it may be, can be, and agrees with eager on this batch."""
        trained = list(self._trained.values())
        eager = EagerStep(self.objective, self.optimizer, trained)
        compiled = CompiledStep(self.objective, self.optimizer, trained)
        wanted = self.settings.compile_step
        reason = ""
        if wanted is False:
            reason = "compiling the step is switched off"
        elif self.path in ("eager", "groups"):
            reason = self.reason
        elif self.path == "":
            reason = self._why_not(eager, compiled, feeds)
            if reason and wanted:
                raise TrainingError(f"the step cannot be compiled: {reason}")
        self.reason = reason
        if reason:
            self.path = "groups" if self.objective.groups else "eager"
        else:
            self.path = "compiled"
        self._stepper = eager if reason else compiled
        return self._stepper

    def _why_not(self, eager: EagerStep, compiled: CompiledStep, feeds: Feeds) -> str:
        expected = eager.compute(feeds, self.clock)
        eager.discard()
        try:
            parity = compare(expected, compiled.compute(feeds, self.clock))
        except Exception as error:  # any reason not to compile is reported, none ends the training
            return f"{type(error).__name__}: {error}"
        compiled.discard()
        if parity.good or not expected.finite:
            return ""
        return (
            f"the compiled step differs from the eager one by {parity.loss:.1e} in its loss and "
            f"{parity.gradient:.1e} in its gradients"
        )

    def _set_rate(self) -> None:
        rate = rate_at(self.settings, self.done, self.steps)
        self.optimizer.learning_rate.set_data(np.float32(rate))

    def _commit(self, stepper: Pending, outcome: Outcome) -> None:
        every = self.settings.watch_every
        sampled = every > 0 and self.done % every == 0
        before = {key: p.data.copy() for key, p in self._trained.items()} if sampled else {}
        stepper.commit()
        self.done += 1
        self.history.add(outcome.loss, outcome.accuracy)
        if sampled:
            norms = dict(zip(self._trained, np.sqrt(outcome.squares).tolist(), strict=True))
            ratios = changes(before, self._trained)
            self.history.sample(
                self.done,
                largest_per_node(self.weights, ratios),
                largest_per_node(self.weights, norms),
            )

    def _result(self, outcome: Outcome, seconds: float) -> StepResult:
        self._epoch_seconds += seconds
        end: EpochResult | None = None
        if self.done % self.per_epoch == 0:
            end = self.history.close_epoch(self.per_epoch, self.evaluate(), self._epoch_seconds)
            self._epoch_seconds = 0.0
        return StepResult(
            self.done,
            self.steps,
            (self.done - 1) // self.per_epoch + 1,
            self.settings.epochs,
            outcome.loss,
            outcome.accuracy,
            rate_at(self.settings, self.done - 1, self.steps),
            seconds,
            end,
        )

    def evaluate(self, columns: Columns | None = None) -> Evaluation | None:
        """Loss and accuracy in evaluation mode, by default on the held-out part; None if empty."""
        columns = self.data.held_out if columns is None else columns
        examples = count(columns)
        if examples == 0:
            return None
        losses = right = 0.0
        judged = self.objective.logits is not None
        for start in range(0, examples, EVALUATION_BATCH):
            stop = min(start + EVALUATION_BATCH, examples)
            batch = take(columns, slice(start, stop))
            with compiling_at_once():
                values = [value.data for value in self.objective(batch, self.clock, training=False)]
            losses += float(values[0].reshape(())) * (stop - start)
            right += accuracy_of(values[1], values[2]) * (stop - start) if judged else 0.0
        return Evaluation(losses / examples, right / examples if judged else None, examples)

    def save(self, base: str | Path) -> None:
        """Write `NAME.safetensors` and `NAME.state.safetensors`; a step at a breakpoint is not in.

        Raises
        ------
        TrainingError
            A step stands at a breakpoint: finish or stop it first.
        """
        if self._debug is not None:
            raise TrainingError("a step stands at a breakpoint; finish it or stop it, then save")
        counters = _Counters(self.settings, self.examples, self.done, self.path, self.reason)
        metadata = {
            "training": msgspec.json.encode(counters).decode(),
            "history": self.history.text(),
        }
        state = {**self._moments(), **self.history.arrays()}
        write_pair(base, self.weights.arrays(), state, metadata)

    def restore(self, base: str | Path) -> None:
        """Take up a saved training; it goes on bit for bit as if it had never stopped.

        Raises
        ------
        TrainingError
            The files are missing, damaged, or of another graph, dataset or settings.
        """
        weights, state, metadata = read_pair(base)
        counters = _counters(base, metadata)
        self._check(counters)
        moments = self._moments()
        if any(key not in state or state[key].shape != m.shape for key, m in moments.items()):
            raise TrainingError(f"the moments saved at {base} belong to another graph")
        self.stop()
        self.weights.load(weights)
        for key, parameter in self._moment_parameters().items():
            parameter.set_data(state[key])
        self.history.restore(state, metadata["history"])
        self.done, self.path, self.reason = counters.done, counters.path, counters.reason
        self._stepper = None

    def _check(self, saved: _Counters) -> None:
        fields: list[str] = list(_RESUMED)
        if self.settings.schedule != "constant":
            fields.append("epochs")
        changed = [
            f"{name} was {getattr(saved.settings, name)}, is {getattr(self.settings, name)}"
            for name in fields
            if getattr(saved.settings, name) != getattr(self.settings, name)
        ]
        if saved.examples != self.examples:
            changed.append(f"the dataset had {saved.examples} examples, has {self.examples}")
        if changed:
            raise TrainingError(
                f"the saved training cannot go on: {'; '.join(changed)}; set them back, or train "
                "anew"
            )

    def _moments(self) -> dict[str, np.ndarray]:
        return {key: parameter.data for key, parameter in self._moment_parameters().items()}

    def _moment_parameters(self) -> dict[str, Parameter]:
        """The optimizer's own state: what it holds besides the weights and the rate."""
        weights = {id(parameter) for parameter in self._trained.values()}
        own = [p for p in self.optimizer.get_parameters() if id(p) not in weights]
        return {f"optimizer.{at}.{p.name}": p for at, p in enumerate(own)}


def _counters(base: str | Path, metadata: Mapping[str, str]) -> _Counters:
    try:
        return msgspec.json.decode(metadata["training"], type=_Counters)
    except (KeyError, msgspec.DecodeError) as error:
        raise TrainingError(
            f"the state at {base} is not one that this version of training has saved ({error}); "
            "load the weights alone, or train anew"
        ) from error
