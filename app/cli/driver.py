"""Drives a session in this very process: commands in, answers and events out, Ctrl-C minded."""

from __future__ import annotations

import contextlib
import signal
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import msgspec

from ...nodes.changes import Change
from ..session.messages import (
    AnyCommand,
    CommandFailed,
    DocumentLoaded,
    Event,
    LoadDocument,
    Log,
    NodeFailed,
    Patch,
)
from ..session.server import Session
from .exits import CliError, Exit
from .output import Output


class Driver:
    """A session for one command of the command line."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.session = Session(self._receive)
        self._events: deque[Event] = deque()
        self._requests = 0
        self._interrupts = 0

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()

    def _receive(self, event: Event) -> None:
        if not isinstance(event, Log):
            self._events.append(event)
        elif event.level != "info":
            self.output.warn(event.message)

    def open(self, path: Path, *, runnable: bool = True) -> DocumentLoaded:
        """Load the document of a file; with `runnable`, its problems end the command.

        Raises
        ------
        CliError
            The file is missing or damaged, or its graph cannot run.
        """
        try:
            text = path.read_bytes().decode()
        except FileNotFoundError:
            raise CliError(
                f"There is no file {path}.", "Check the path.", code=Exit.USAGE
            ) from None
        except UnicodeDecodeError as error:
            raise CliError(
                f"{path} is no Cellwire document: it is not UTF-8 text.",
                "Choose a .cellwire file.",
                code=Exit.USAGE,
            ) from error
        except OSError as error:
            raise CliError(f"{path} cannot be read: {error.strerror}.", code=Exit.USAGE) from error
        loaded = self.ask(LoadDocument(text, str(path.resolve())), code=Exit.USAGE)
        if not isinstance(loaded, DocumentLoaded):
            raise TypeError(f"{type(loaded).__name__} is no answer to LoadDocument")
        if runnable and not loaded.nodes:
            raise CliError(
                f"{path} has no nodes.", "Draw a model first: cellwire open", code=Exit.USAGE
            )
        errors = [problem for problem in loaded.problems if problem.severity == "error"]
        if runnable and errors:
            first, *others = errors
            for problem in others:
                self.output.warn(f"{self.name(problem.node)}: {problem.message}")
            raise CliError(first.message, first.fix, node=self.name(first.node), code=Exit.USAGE)
        return loaded

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed in `stream`."""
        return self._interrupts > 0

    def name(self, node: str | None) -> str:
        """The name of a node or group, by id."""
        return self.session.name(node) if node else ""

    def ask(self, command: AnyCommand, *, code: Exit = Exit.FAILED) -> Event:
        """Carry out a command and return its answer; `CliError` with `code` when it fails."""
        self._requests += 1
        numbered = msgspec.structs.replace(command, request=self._requests)
        self.session.handle(numbered)
        while True:
            for event in self._events:
                if getattr(event, "request", 0) == self._requests:
                    self._events.remove(event)
                    return self._checked(event, code)
            if not self.session.work():
                raise RuntimeError(f"the session did not answer {type(command).__name__}")

    def patch(self, change: Change) -> None:
        """Change the session's document; the file stays as it is."""
        self.ask(Patch(change, revision=self.session.revision + 1), code=Exit.USAGE)

    def _checked(self, event: Event, code: Exit) -> Event:
        if isinstance(event, CommandFailed):
            raise CliError(
                event.message,
                event.fix,
                node=self.name(event.node),
                code=code,
                trace=event.traceback,
            )
        return event

    def stream(
        self,
        command: AnyCommand,
        *,
        interrupt: AnyCommand | None = None,
        code: Exit = Exit.FAILED,
    ) -> Iterator[Event]:
        """Carry out a command and yield the events of the work that it starts, until it rests.

        A command that is refused ends with `code`. With `interrupt`, the first Ctrl-C sends that
        command instead of ending the program.
        """
        with self._minding(interrupt):
            self.ask(command, code=code)
            more = True
            while more or self._events:
                while self._events:
                    yield self._checked(self._events.popleft(), Exit.FAILED)
                if self._interrupts and interrupt is not None:
                    self.session.handle(interrupt)
                    interrupt = None
                more = self.session.work()

    @contextlib.contextmanager
    def _minding(self, interrupt: AnyCommand | None) -> Iterator[None]:
        """Note the first Ctrl-C; the second one ends the program as usual."""
        if interrupt is None:
            yield
            return

        def note(number: int, frame: FrameType | None) -> None:
            self._interrupts += 1
            if self._interrupts > 1:
                raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def failure(self, event: NodeFailed) -> CliError:
        """The error for a node that failed."""
        return CliError(
            event.message,
            event.fix,
            node=self.name(event.node),
            code=Exit.FAILED,
            trace=event.traceback,
        )
