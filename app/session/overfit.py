"""The check whether a model can learn one batch by heart."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from ...engine.run.events import Failed
from ...engine.run.graph import Graph
from ...engine.run.history import StepResult
from ...engine.run.nonfinite import NotFinite
from ...engine.run.settings import TrainingData, TrainingSettings
from ...engine.run.training import TrainingEvent, TrainingRun
from . import messages as m
from .fitting import INTERVAL, training_data
from .running import failure

FALL = 0.1  # a sound model's loss falls to this share of the first, or every label is right
FIX = (
    "Look at the loss's wires (logits and labels), at the scale of the data, and at the learning "
    "rate; a layer without a wire to the loss learns nothing."
)


class Overfit:
    """Trains a graph of its own on one batch, a step each time it is asked.

    Parameters
    ----------
    emit : callable
        Takes the events.
    graph : Graph
        With fresh weights that nobody else uses.
    settings : TrainingSettings
    steps : int
    """

    def __init__(
        self, emit: Callable[[m.Event], None], graph: Graph, settings: TrainingSettings, steps: int
    ) -> None:
        self._emit = emit
        once = msgspec.structs.replace(
            settings,
            overfit_one_batch=True,
            epochs=steps,
            schedule="constant",
            watch_every=0,
        )
        self._run = TrainingRun(graph, TrainingData(training_data(graph).train), once)
        self._told = 0.0

    def slice(self) -> bool:
        """Do one step; whether there are more to do."""
        event = self._run.step()
        if not isinstance(event, StepResult):
            self._tell_failure(event)
            return False
        now = time.monotonic()
        if now - self._told >= INTERVAL:
            self._told = now
            self._tell_progress(event)
        if self._run.finished:
            self._emit(self._result(event))
        return not self._run.finished

    def _tell_progress(self, step: StepResult) -> None:
        milliseconds = 1e3 * step.seconds
        left = (step.steps - step.step) * step.seconds
        self._emit(
            m.TrainingProgress(
                step.step,
                step.steps,
                step.epoch,
                step.epochs,
                step.loss,
                step.accuracy,
                milliseconds,
                left,
            )
        )

    def _result(self, last: StepResult) -> m.OverfitFinished:
        first = self._run.history.losses[0]
        passed = last.accuracy == 1.0 or last.loss <= FALL * first
        words = f"the loss went from {first:.4g} to {last.loss:.4g} in {last.steps} steps"
        message = (
            f"The model learns one batch by heart: {words}."
            if passed
            else f"The model does not learn even one batch: {words}. {FIX}"
        )
        return m.OverfitFinished(last.step, first, last.loss, last.accuracy, passed, message)

    def _tell_failure(self, event: TrainingEvent) -> None:
        if isinstance(event, NotFinite):
            self._emit(m.TrainingPaused("nan", event.step, event.node, event.message, event.fix))
        elif isinstance(event, Failed):
            self._run.stop()
            self._emit(failure(event))
