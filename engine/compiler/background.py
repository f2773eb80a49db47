"""Compiling while eager code runs: ``jit(background=True)``.

A call whose code was traced runs eagerly until one worker thread has compiled the graph; the next
call is compiled. The worker ends when nothing is left to do; a program that ends waits for it.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from .making import Arguments, Made, compile_call
from .report import counted, ran_eagerly
from .specialisation import Specialisation

_LOG: Final = logging.getLogger("cellwire.jit")
MOST: Final = 64
"""Situations of one function that may be under way or ready and not asked for."""


class StillCompilingError(Exception):
    """The call runs eagerly, as its plan is not ready."""


class Pending:
    """One traced call whose plan is being made."""

    def __init__(self, made: Made, given: Arguments, name: str) -> None:
        self.made, self.given, self.name = made, given, name
        self.eager_calls = 0
        self.path: Specialisation | None = None
        self.error: Exception | None = None
        self.finished = threading.Event()

    def work(self) -> None:
        """Compile; an error is kept for the caller."""
        try:
            self.path = compile_call(self.made, self.given)
            self.path.plan.report.eager_calls = self.eager_calls
        except Exception as error:
            self.error = error
        finally:
            self.finished.set()

    def result(self) -> Specialisation:
        """Return what was compiled; an error of the worker is raised here, for the caller."""
        if self.error is not None:
            raise self.error
        assert self.path is not None
        self.path.plan.report.eager_calls = self.eager_calls
        _LOG.info("%s: %s", self.name, ran_eagerly(self.eager_calls))
        return self.path

    def __str__(self) -> str:
        return f"compiling in the background, {counted(self.eager_calls, 'call')} ran eagerly"


class Worker:
    """The one thread that compiles."""

    def __init__(self) -> None:
        self._waiting: deque[Pending] = deque()
        self._lock = threading.Lock()
        self._running = False

    def put(self, pending: Pending) -> None:
        """Compile something when what came before is done."""
        with self._lock:
            self._waiting.append(pending)
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._run, name="cellwire-compile").start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running = False
                    return
                pending = self._waiting.popleft()
            pending.work()


WORKER: Final = Worker()


class Background:
    """What one compiled function has under way, by situation."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pending: dict[object, Pending] = {}
        self.eager_calls = 0
        """Calls that ran eagerly while what is compiled by now was made."""

    def path(self, key: object, make: Callable[[], Made], given: Arguments) -> Specialisation:
        """Return the compiled path of a situation.

        Raises
        ------
        StillCompilingError
            While the worker is at it.
        """
        pending = self.pending.get(key)
        if pending is None:
            self._forget()
            pending = self.pending[key] = Pending(make(), given, self.name)
            _LOG.info("%s is being compiled in the background and runs eagerly", self.name)
            WORKER.put(pending)
        if not pending.finished.is_set():
            pending.eager_calls += 1
            raise StillCompilingError
        del self.pending[key]
        self.eager_calls += pending.eager_calls
        return pending.result()

    def _forget(self) -> None:
        """Drop what is ready and was not asked for since many others were."""
        if len(self.pending) >= MOST:
            ready = [key for key, pending in self.pending.items() if pending.finished.is_set()]
            for key in ready:
                self.pending.pop(key, None)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for all that is under way; return whether it is done."""
        return all(pending.finished.wait(timeout) for pending in [*self.pending.values()])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was and what is under way, for people."""
        done = (ran_eagerly(self.eager_calls),) if self.eager_calls else ()
        return (*done, *map(str, self.pending.values()))
