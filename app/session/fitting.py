"""Training in a session: one step each time it is asked, told about ten times a second."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...engine.array_file import SUFFIX, write_arrays
from ...engine.run.breakpoints import Breakpoints
from ...engine.run.events import Failed
from ...engine.run.events import Paused as StoodStill
from ...engine.run.executor import Execution
from ...engine.run.graph import Graph
from ...engine.run.history import EpochResult, Evaluation, StepResult
from ...engine.run.nonfinite import NotFinite
from ...engine.run.settings import TrainingData, TrainingError, TrainingSettings
from ...engine.run.state import weights_path
from ...engine.run.training import TrainingRun
from ...engine.run.weights import Weights
from ...nodes.build import data_sources
from . import messages as m
from .running import SessionError, failure, pause

INTERVAL = 0.1  # seconds between two messages of progress


@dataclass(frozen=True)
class Limits:
    """When a training ends before its last epoch, and where it is saved."""

    steps: int | None = None
    seconds: float | None = None
    save: str = ""


@dataclass
class Stretch:
    """The training since it was last started or resumed."""

    limits: Limits
    began: float
    first: int
    step: int

    def over(self) -> bool:
        """Whether a limit is reached."""
        steps, seconds = self.limits.steps, self.limits.seconds
        if steps is not None and self.step - self.first >= steps:
            return True
        return seconds is not None and time.monotonic() - self.began >= seconds


class Fitting:
    """The training of the session's graph.

    Parameters
    ----------
    emit : callable
        Takes the events of the training.
    say : callable
        Takes each state that the session comes to by training.
    show : callable
        Called when the watched wires of the training are to be told.
    breakpoints : Breakpoints
        Those of the session; while one is enabled, steps run node by node.
    """

    def __init__(
        self,
        emit: Callable[[m.Event], None],
        say: Callable[[m.State], None],
        show: Callable[[TrainingRun], None],
        breakpoints: Breakpoints,
    ) -> None:
        self._emit = emit
        self._say = say
        self._show = show
        self._breakpoints = breakpoints
        self.run: TrainingRun | None = None
        self.moving = False
        self._graph: Graph | None = None
        self._stretch = Stretch(Limits(), 0.0, 0, 0)
        self._told = 0.0
        self._last: StepResult | None = None
        self._losses: list[tuple[int, float]] = []
        self._pace = 0.0

    @property
    def execution(self) -> Execution | None:
        """The step that stands at a breakpoint or an error."""
        paused = None if self.run is None else self.run.paused
        return None if paused is None else paused.execution

    def forget(self) -> None:
        """Drop the training."""
        if self.run is not None:
            self.run.stop()
        self.run, self.moving = None, False

    def check(self, graph: Graph, settings: TrainingSettings) -> None:
        """Raise TrainingError where this graph cannot be trained."""
        TrainingRun(graph, training_data(graph), settings)

    def begin(self, graph: Graph, settings: TrainingSettings, limits: Limits) -> None:
        """Train this graph from its first step."""
        self.forget()
        self.run = self._new(graph, settings)
        self._go(limits)

    def restore(self, graph: Graph, settings: TrainingSettings, path: str, limits: Limits) -> None:
        """Go on with a training that was saved."""
        run = self._new(graph, settings)
        run.restore(base_of(path))
        if run.finished:
            raise SessionError(
                f"The saved training has done all of its {run.steps} steps.",
                "Give it more epochs to go on.",
            )
        self.forget()
        self.run = run
        self._go(limits)

    def resume(self, limits: Limits) -> None:
        """Go on after a pause."""
        if self.run is None or self.moving:
            raise SessionError("No training waits to go on.", "Train, or name saved weights.")
        kept = self._stretch.limits.save
        self._go(limits if limits.save else Limits(limits.steps, limits.seconds, kept))

    def pause(self) -> None:
        """Rest at this step boundary."""
        run = self._need()
        self._rest(m.TrainingPaused("user", run.done))

    def stop(self) -> None:
        """End here; a step that stands at a breakpoint is discarded."""
        run = self._need()
        run.stop()
        self._finish(run, stopped=True)

    def save(self, graph: Graph, path: str) -> None:
        """Write the graph's weights, and beside them the state of their training if it is here."""
        now = Weights(graph)
        if self.run is not None and now.named == self.run.weights.named:
            self.run.save(base_of(path))
        else:
            write_arrays(weights_path(base_of(path)), now.arrays())

    def take(self, graph: Graph | None) -> None:
        """Train this graph from the next step on, whose nodes keep their weights."""
        self._graph = graph

    def slice(self) -> bool:
        """Do one step; whether there are more to do."""
        run = self._renewed()
        if run is None:
            return False
        event = run.step()
        match event:
            case StepResult():
                self._note(run, event)
            case NotFinite(step, node, _, _, message, fix):
                self._rest(m.TrainingPaused("nan", step, node, message, fix))
            case StoodStill():
                self._emit(pause(event))
                self._rest(m.TrainingPaused("breakpoint", run.done, event.node))
            case Failed():
                self._emit(failure(event))
                self._rest(
                    m.TrainingPaused("error", run.done, event.node, event.message, event.fix)
                )
        return self.moving

    def _need(self) -> TrainingRun:
        if self.run is None:
            raise SessionError("There is no training.", "Train first.")
        return self.run

    def _new(self, graph: Graph, settings: TrainingSettings) -> TrainingRun:
        self._graph = graph
        return TrainingRun(graph, training_data(graph), settings, breakpoints=self._breakpoints)

    def _go(self, limits: Limits) -> None:
        run = self._need()
        self._stretch = Stretch(limits, time.monotonic(), run.done, run.done)
        self._told = 0.0
        self.moving = True
        self._say("training")

    def _rest(self, event: m.TrainingPaused) -> None:
        self._tell_progress()
        self.moving = False
        self._emit(event)
        self._say("training paused")

    def _renewed(self) -> TrainingRun | None:
        """The training, taken over to the graph as it is drawn now if that has changed."""
        run = self._need()
        if self._graph is run.graph:
            return run
        if self._graph is None:
            message = "The drawing cannot run as it is now."
            self._rest(m.TrainingPaused("error", run.done, None, message, "Mend its problems."))
            return None
        run.stop()
        try:
            with tempfile.TemporaryDirectory() as folder:
                run.save(Path(folder) / "kept")
                new = self._new(self._graph, run.settings)
                new.restore(Path(folder) / "kept")
        except TrainingError:
            message = "The drawing has changed so that the training's state no longer fits it."
            fix = "Set the change back, or train anew."
            self._rest(m.TrainingPaused("error", run.done, None, message, fix))
            return None
        self.run = new
        return new

    def _note(self, run: TrainingRun, result: StepResult) -> None:
        """Tell what is due after a step, and end where the training ends."""
        if result.step == self._stretch.first + 1 and run.path == "eager":
            self._emit(m.Log("warning", f"The steps of this training run eagerly: {run.reason}."))
        self._last = result
        self._losses.append((result.step, result.loss))
        self._stretch.step = result.step
        milliseconds = 1e3 * result.seconds
        settling = self._stretch.step - self._stretch.first <= 2  # the first step compiles
        self._pace = milliseconds if settling else 0.95 * self._pace + 0.05 * milliseconds
        now = time.monotonic()
        if now - self._told >= INTERVAL:
            self._told = now
            self._tell_progress()
            self._show(run)
        ratios = {
            node: rows[-1][1]
            for node, rows in run.history.update_ratios.items()
            if rows[-1][0] == result.step
        }
        if ratios:
            self._emit(m.UpdateRatios(ratios, result.step))
        if result.epoch_end is not None:
            self._end_epoch(run, result.epoch_end)
        if self.moving and (run.finished or self._stretch.over()):
            self._finish(run, stopped=not run.finished)

    def _tell_progress(self) -> None:
        """The last step, with the losses of all since the message before."""
        result = self._last
        if result is None or not self._losses:
            return
        losses, self._losses = tuple(self._losses), []
        left = (result.steps - result.step) * self._pace / 1e3
        self._emit(
            m.TrainingProgress(
                result.step,
                result.steps,
                result.epoch,
                result.epochs,
                result.loss,
                result.accuracy,
                self._pace,
                left,
                losses,
            )
        )

    def _end_epoch(self, run: TrainingRun, end: EpochResult) -> None:
        held = end.held_out or Evaluation(float("nan"), None, 0)
        self._emit(
            m.EpochFinished(
                end.epoch,
                run.settings.epochs,
                end.step,
                end.loss,
                end.accuracy,
                held.loss if held.examples else None,
                held.accuracy,
                end.seconds,
            )
        )
        self._save(run)

    def _finish(self, run: TrainingRun, *, stopped: bool) -> None:
        self._tell_progress()
        if not self._save(run):
            return
        self.moving = False
        held = run.evaluate()
        losses = run.history.losses
        self._emit(
            m.TrainingFinished(
                run.done,
                len(run.history.epochs),
                losses[-1] if losses else None,
                held.loss if held else None,
                held.accuracy if held else None,
                time.monotonic() - self._stretch.began,
                stopped,
            )
        )
        self._say("ready")

    def _save(self, run: TrainingRun) -> bool:
        """Write what the training has come to; where that fails it pauses, with all it has."""
        path = self._stretch.limits.save
        if not path or not run.done:
            return True
        try:
            run.save(base_of(path))
        except OSError as error:
            message = f"{path} cannot be written: {error}"
            fix = "Make room or choose another place, then resume."
            self._rest(m.TrainingPaused("error", run.done, None, message, fix))
            return False
        return True


def training_data(graph: Graph) -> TrainingData:
    """All rows of the graph's data nodes, for training and held out."""
    sources = data_sources(graph)
    return TrainingData(
        {id: source.take(source.train) for id, source in sources.items()},
        {id: source.take(source.held_out) for id, source in sources.items()},
    )


def base_of(path: str) -> str:
    """The name that a training's two files share: a path without `.safetensors`."""
    return path.removesuffix(SUFFIX)
