"""The engine session: takes commands, works a slice at a time, and tells what happens."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

from ...engine.array_file import SUFFIX, ArrayFileError, read_arrays
from ...engine.run.events import Failed
from ...engine.run.executor import Execution
from ...engine.run.graph import Graph
from ...engine.run.settings import TrainingError
from ...engine.run.training import TrainingRun
from ...engine.run.units import Feeds
from ...engine.run.weights import Weights
from ...nodes.build import training_settings
from ...nodes.document import Document
from ...nodes.export.python import export_python
from ...nodes.infer import Inference
from . import messages as m
from .batches import Batches
from .fitting import Fitting, Limits
from .groups import Groups, report
from .inspection import inspect
from .model import Model
from .overfit import Overfit
from .running import Motion, Running, SessionError


class Session:
    """One document being run, debugged, compiled and trained.

    Parameters
    ----------
    emit : callable
        Takes every event, the answers to commands among them.
    renew_groups : bool
        When there is nothing else to do, compile groups again that an edit or a training has
        left without code that fits; otherwise they are compiled when they next run.

    Notes
    -----
    `handle` answers a command at once. What it starts is done by calling `work` until that
    returns False. Nothing happens between the calls, and there is no thread: the caller decides.
    """

    def __init__(self, emit: Callable[[m.Event], None], *, renew_groups: bool = False) -> None:
        self._emit = emit
        self._renew_groups = renew_groups
        self._model = Model()
        self._batches = Batches()
        self._running = Running(emit)
        self._fitting = Fitting(
            emit, self._running.say, self._show_watched, self._running.breakpoints
        )
        self._overfit: Overfit | None = None
        self._groups = Groups(emit)
        self._extra: tuple[m.Breakpoint, ...] = ()

    @property
    def document(self) -> Document:
        """The session's copy of the document; only Patch changes it."""
        return self._model.document

    @property
    def graph(self) -> Graph:
        """The graph that runs; SessionError while the document's problems keep it from running."""
        return self._running.graph

    @property
    def revision(self) -> int:
        """The revision of the document."""
        return self._model.revision

    @property
    def inference(self) -> Inference:
        """Shapes, parameters and problems of the document as it is."""
        return self._model.inference

    def name(self, id: str) -> str:
        """The name of a node or group, by id."""
        document = self.document
        item = document.nodes.get(id) or document.groups.get(id)
        return item.name if item is not None else id

    def announce(self) -> None:
        """Say that the session is up."""
        self._emit(m.Ready(os.getpid(), "CPU", os.cpu_count() or 1))

    def close(self) -> None:
        """Forget everything, temporary files too."""
        self._overfit = None
        self._fitting.forget()
        self._running.forget()

    def handle(self, command: m.AnyCommand) -> None:
        """Carry out a command and answer it; an error is an answer, never raised."""
        try:
            answer = self._carry_out(command)
        except Exception as error:
            self._emit(failure_of(type(command).__name__, command.request, error))
        else:
            self._emit(answer or m.CommandDone(command.request, type(command).__name__))

    def work(self) -> bool:
        """Do one slice of the work at hand: a node, or a training step. True if more is to do.

        An error that no node or step is to blame for ends the work, and is told as the failure
        of a command without number.
        """
        try:
            return self._slice()
        except Exception as error:
            self._overfit = None
            self._fitting.forget()
            self._emit(failure_of("work", 0, error))
            self._running.stop()
            return False

    def _slice(self) -> bool:
        if self._overfit is not None:
            if not self._overfit.slice():
                self._overfit = None
                self._running.stop()
            return self._overfit is not None or self._idle_work
        if self._fitting.moving:
            more = self._fitting.slice()
            if not more:
                self._running.attach(self._fitting.execution)
                self._groups.renew()
            return more or self._idle_work
        more = self._running.slice()
        self._groups.tell()
        if not more and self._idle_work:
            self._groups.refresh(self.graph, self._feeds(), self._running.training)
        return more or self._idle_work

    @property
    def _idle_work(self) -> bool:
        """Whether a group is to be compiled again, and nothing stands that it would disturb."""
        free = self._model.graph is not None and self._fitting.execution is None
        return self._renew_groups and free and bool(self._groups.due)

    def _carry_out(self, command: m.AnyCommand) -> m.Event | None:
        match command:
            case m.LoadDocument() | m.Patch():
                return self._take_document(command)
            case m.Inspect():
                return self._inspect(command)
            case m.Train() | m.ResumeTraining() | m.OverfitOneBatch():
                self._train(command)
            case m.PauseTraining() | m.StopTraining():
                self._halt_training(command)
            case m.SaveWeights(path):
                self._save(path)
            case m.LoadWeights(path):
                self._load(path)
            case m.Export(path):
                return self._export(command.request, path)
            case m.CompileGroup(group):
                self._model.check_group(group)
                made = self._groups.compile(
                    self.graph, group, self._feeds(), self._running.training
                )
                return report(command.request, made)
            case m.DiscardGroup(group):
                self._groups.discard(group)
            case m.SetMode(training):
                self._running.set_training(training)
            case m.PinBatch(on):
                self._batches.pin(on)
            case m.SetBreakpoints(breakpoints):
                self._extra = breakpoints
                self._place_marks()
            case m.Shutdown():
                self.close()
            case _:
                self._run(command)
        return None

    def _take_document(self, command: m.LoadDocument | m.Patch) -> m.Event:
        """A new document, or a change of the one that is here."""
        if isinstance(command, m.LoadDocument):
            self._load_document(command)
        elif (unchanged := self._model.patch(command)) is not None:
            self._take_graph(unchanged)
        self._place_marks()
        return self._model.loaded(command.request)

    def _load_document(self, command: m.LoadDocument) -> None:
        """Take a document; one of another file comes with the weights that lie beside it."""
        other = self._model.load(command)
        self._overfit = None
        if other:
            self._fitting.forget()
            self._groups.forget()
            self._extra = ()
        self._take_graph()
        saved = self._model.own_weights
        if other and saved is not None and saved.exists() and self._model.graph is not None:
            try:
                self._read_weights(saved)
            except (ArrayFileError, TrainingError) as error:
                self._emit(m.Log("warning", f"The weights in {saved.name} do not fit: {error}"))

    def _take_graph(self, unchanged: Iterable[str] = ()) -> None:
        """Run, compile and train the graph as it is drawn now, keeping the unchanged's values."""
        graph = self._model.graph
        self._groups.take(graph)
        self._fitting.take(graph)
        self._running.take(graph, unchanged, self._groups.active)
        if self._fitting.moving:
            self._running.say("training")

    def _place_marks(self) -> None:
        """Give the run the breakpoints and watches that there are now."""
        self._running.set_breakpoints([*self._model.breakpoints(), *self._extra])
        self._running.place_watches(self._model.watches())

    def _run(self, command: m.AnyCommand) -> None:
        """The commands of running and debugging."""
        self._need_rest()
        running = self._running
        match command:
            case m.Run(breakpoints):
                self._start(Motion(), stops=breakpoints)
            case m.Step() if running.execution is None or running.state == "finished":
                self._start(Motion(single=True))
            case m.Step():
                running.move(Motion(single=True))
            case m.RunTo(node) if running.execution is None or running.state == "finished":
                self._start(Motion(until=self._known(node)))
            case m.RunTo(node):
                running.move(Motion(until=self._known(node)))
            case m.Continue():
                running.move(Motion())
            case m.StepBack():
                running.step_back()
            case m.RerunFrom(node):
                running.rerun_from(self._known(node))
            case m.Backward():
                running.backward(self._model.inference.loss, self.document.training.learning_rate)
            case m.Pause():
                running.pause()
            case m.Stop():
                running.stop()
            case _:
                raise TypeError(f"{type(command).__name__} is no command of this version")

    def _start(self, motion: Motion, *, stops: bool = True) -> None:
        self._batches.advance()
        self._running.start(self._feeds(), motion, self._groups.active, stops=stops)

    def _feeds(self) -> Feeds:
        return self._batches.feeds(self.graph, training_settings(self.document))

    def _train(self, command: m.Train | m.ResumeTraining | m.OverfitOneBatch) -> None:
        """Begin a training, or go on with one."""
        settings = training_settings(self.document)
        match command:
            case m.Train(steps, seconds, save):
                self._fitting.check(self.graph, settings)
                self._fitting.forget()
                self._model.fresh_weights()
                self._take_graph()
                self._fitting.begin(self.graph, settings, Limits(steps, seconds, save))
            case m.ResumeTraining("", steps, seconds, save):
                self._running.attach(None)
                self._fitting.resume(Limits(steps, seconds, save))
            case m.ResumeTraining(path, steps, seconds, save):
                self._running.forget()
                limits = Limits(steps, seconds, save)
                self._fitting.restore(self.graph, settings, path, limits)
            case m.OverfitOneBatch(steps):
                self._need_rest()
                graph = self._model.fresh_graph()
                self._overfit = Overfit(self._emit, graph, settings, steps)
                self._running.say("training")

    def _halt_training(self, command: m.PauseTraining | m.StopTraining) -> None:
        if self._overfit is not None:
            self._overfit = None
            self._running.stop()
        elif isinstance(command, m.PauseTraining):
            self._fitting.pause()
        else:
            self._fitting.stop()
            self._running.attach(None)

    def _need_rest(self) -> None:
        if self._fitting.moving or self._overfit is not None:
            raise SessionError("A training is going on.", "Pause or stop it first.")

    def _show_watched(self, run: TrainingRun) -> None:
        """Tell what the training's next batch gives on the watched wires now."""
        watched = sorted(self._running.watches.edges)
        if not watched:
            return
        with Execution(run.graph, run.batch()) as execution:
            execution.watch(edge for edge, _ in watched)
            if isinstance(execution.advance("end"), Failed):
                return  # the training's next step tells this failure
            if any(way == "gradient" for _, way in watched):
                execution.backward(run.objective.loss.node)
                execution.advance("end")
            for edge, way in watched:
                self._running.show(execution, edge, way, run.done)

    def _save(self, path: str) -> None:
        fix = "Make room or choose another place."
        if not Path(path).name:
            raise SessionError("The weights need the name of a file.", fix)
        try:
            self._fitting.save(self.graph, path)
        except OSError as error:
            raise SessionError(f"{path} cannot be written: {error}.", fix) from error

    def _load(self, path: str) -> None:
        """Take weights from a file; a training that waits is over, since it had others."""
        self._need_rest()
        self._read_weights(Path(path))
        self._fitting.forget()
        self._running.stop()

    def _read_weights(self, path: Path) -> None:
        Weights(self.graph).load(read_arrays(path)[0])

    def _export(self, request: int, path: str) -> m.Event:
        target = Path(path)
        weights, own = target.with_suffix(SUFFIX), self._model.own_weights
        if own is not None and weights.resolve() == own.resolve():
            raise SessionError(
                f"{weights.name} beside {target.name} would replace the drawing's own weights.",
                "Give the Python file another name than the drawing's.",
            )
        made = export_python(
            self.document,
            self.graph,
            target,
            base=self._model.base,
            inference=self._model.inference,
        )
        files = [str(file) for file in (made.source, made.weights) if file is not None]
        return m.Exported(request, tuple(files))

    def _known(self, node: str) -> str:
        return self.graph.node(node).id

    def _inspect(self, command: m.Inspect) -> m.Event:
        key = (command.edge, "gradient" if command.gradient else "forward")
        history = self._running.watches.history.get(key, ())
        array = self._running.value(command.edge, gradient=command.gradient)
        return inspect(command, array, history)


def failure_of(command: str, request: int, error: Exception) -> m.CommandFailed:
    """The answer to a command that raised; a traceback only where the error was not foreseen."""
    foreseen = isinstance(error, ValueError)
    message = str(error) or type(error).__name__
    nodes = getattr(error, "nodes", ())
    return m.CommandFailed(
        request,
        command,
        message if foreseen else f"{type(error).__name__}: {message}",
        getattr(error, "fix", ""),
        getattr(error, "node", None) or (nodes[0] if nodes else None),
        "" if foreseen else "".join(traceback.format_exception(error)),
    )
