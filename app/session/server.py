"""The engine session: takes commands, works a slice at a time, and tells what happens."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

from ...engine.run.graph import Graph
from ...nodes.build import training_settings
from ...nodes.document import Document
from ...nodes.infer import Inference
from . import messages as m
from .batches import Batches
from .inspection import inspect
from .model import Model
from .running import Motion, Running


class Session:
    """One document being run, debugged, compiled and trained.

    Parameters
    ----------
    emit : callable
        Takes every event, the answers to commands among them.

    Notes
    -----
    `handle` answers a command at once. What it starts is done by calling `work` until that
    returns False. Nothing happens between the calls, and there is no thread: the caller decides.
    """

    def __init__(self, emit: Callable[[m.Event], None]) -> None:
        self._emit = emit
        self._model = Model()
        self._batches = Batches()
        self._running = Running(emit)
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
        self._running.forget()

    def handle(self, command: m.AnyCommand) -> None:
        """Carry out a command and answer it; an error is an answer, never raised."""
        try:
            answer = self._carry_out(command)
        except Exception as error:
            self._emit(_failure(command, error))
        else:
            self._emit(answer or m.CommandDone(command.request, type(command).__name__))

    def work(self) -> bool:
        """Do one slice of the work at hand: a node, or a training step. True if more is to do."""
        return self._running.slice()

    def _carry_out(self, command: m.AnyCommand) -> m.Event | None:
        match command:
            case m.LoadDocument() | m.Patch():
                return self._take_document(command)
            case m.Inspect():
                return self._inspect(command)
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
            self._model.load(command)
            self._extra = ()
            self._running.take(self._model.graph)
        elif self._model.patch(command):
            self._running.take(self._model.graph)
        self._place_marks()
        return self._model.loaded(command.request)

    def _place_marks(self) -> None:
        """Give the run the breakpoints and watches that there are now."""
        self._running.set_breakpoints([*self._model.breakpoints(), *self._extra])
        self._running.watches.watch(self._model.watches())

    def _run(self, command: m.AnyCommand) -> None:
        """The commands of running and debugging."""
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
                running.backward(self._model.inference.loss)
            case m.Pause():
                running.pause()
            case m.Stop():
                running.stop()
            case _:
                raise TypeError(f"{type(command).__name__} is no command of this version")

    def _start(self, motion: Motion, *, stops: bool = True) -> None:
        feeds = self._batches.feeds(self.graph, training_settings(self.document))
        self._running.start(feeds, motion, stops=stops)

    def _known(self, node: str) -> str:
        return self.graph.node(node).id

    def _inspect(self, command: m.Inspect) -> m.Event:
        key = (command.edge, "gradient" if command.gradient else "forward")
        history = self._running.watches.history.get(key, ())
        array = self._running.value(command.edge, gradient=command.gradient)
        return inspect(command, array, history)


def _failure(command: m.AnyCommand, error: Exception) -> m.CommandFailed:
    """The answer to a command that raised; a traceback only where the error was not foreseen."""
    foreseen = isinstance(error, ValueError)
    message = str(error) or type(error).__name__
    nodes = getattr(error, "nodes", ())
    return m.CommandFailed(
        command.request,
        type(command).__name__,
        message if foreseen else f"{type(error).__name__}: {message}",
        getattr(error, "fix", ""),
        getattr(error, "node", None) or (nodes[0] if nodes else None),
        "" if foreseen else "".join(traceback.format_exception(error)),
    )
