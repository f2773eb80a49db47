"""The engine session: takes commands, works a slice at a time, and tells what happens."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path

from ...engine.run.graph import Graph, GraphError
from ...nodes.document import Document
from . import messages as m
from .fitting import Fitting
from .groups import Groups
from .inspection import inspect
from .model import Model
from .running import Motion, Running, SessionError

Handler = Callable[["Session", m.AnyCommand], m.Event | None]


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
        self._running = Running(emit)
        self._groups = Groups(emit)
        self._fitting = Fitting(emit, self._running.watches)
        self._extra: tuple[m.Breakpoint, ...] = ()
        self._pinned = True
        self._batch = 0

    @property
    def document(self) -> Document:
        """The session's copy of the document; only Patch changes it."""
        return self._model.document

    @property
    def graph(self) -> Graph:
        """The graph that runs; SessionError while the document's problems keep it from running."""
        return self._running.graph

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
        self._fitting.forget()
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
        if self._fitting.moving:
            return self._fitting.slice()
        return self._running.slice()

    def _carry_out(self, command: m.AnyCommand) -> m.Event | None:
        match command:
            case m.LoadDocument() | m.Patch():
                return self._change(command)
            case m.Inspect() | m.Export() | m.SaveWeights() | m.LoadWeights():
                return self._files_and_values(command)
            case m.CompileGroup() | m.DiscardGroup():
                return self._group(command)
            case (
                m.Train()
                | m.ResumeTraining()
                | m.PauseTraining()
                | m.StopTraining()
                | m.OverfitOneBatch()
            ):
                return self._train(command)
            case m.SetMode(training):
                self._running.set_training(training)
            case m.PinBatch(on):
                self._pinned = on
            case m.SetBreakpoints(breakpoints):
                self._extra = breakpoints
                self._place_breakpoints()
            case m.Shutdown():
                self.close()
            case _:
                return self._run(command)
        return None
