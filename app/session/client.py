"""The editor's end of a session: starts its process, sends commands, notices when it is lost."""

from __future__ import annotations

import collections
import contextlib
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import BinaryIO, cast

import msgspec

from .framing import FramingError, read_frame, write_frame
from .messages import AnyCommand, CommandFailed, Event, SessionLost, Shutdown, decode_event, encode

COMMAND = (sys.executable, "-m", "cellwire.app.session.process")
LAST_LINES = 200
GONE = "The engine session is gone."
RESTART = "Restart the session; the drawing is safe in the editor."


class Client:
    """A session in its own process.

    Parameters
    ----------
    receive : callable
        Called with every event, on a thread of the client: pass events on to your own thread.
    command : sequence of str
        How the process is started.

    Notes
    -----
    Every command that `send` takes is answered by an event of its request number, by
    `CommandFailed` if the process dies before. After `SessionLost`, `restart` starts a new one, to
    which the document must be sent again.
    """

    def __init__(
        self, receive: Callable[[Event], None], *, command: Sequence[str] = COMMAND
    ) -> None:
        self._receive = receive
        self._command = tuple(command)
        self._requests = 0
        self._connection: _Connection | None = None

    def start(self) -> None:
        """Start the process; its first event is `Ready`. Raises OSError when it cannot start."""
        if self.alive:
            raise RuntimeError("this session runs already; use restart() for a new process")
        self.close()
        self._connection = _Connection(self._command, self._receive)

    def send(self, command: AnyCommand) -> int:
        """Send a command without waiting; the number that its answer will carry."""
        self._requests += 1
        numbered = msgspec.structs.replace(command, request=self._requests)
        if self._connection is None or not self._connection.send(numbered):
            self._receive(_failure(self._requests, type(command).__name__))
        return self._requests

    def restart(self) -> None:
        """End the process, however busy it is, and start a new one."""
        self.kill()
        self.start()

    def kill(self) -> None:
        """End the process at once, as for a node that hangs; no `SessionLost` is sent."""
        self.close(patience=0.0)

    def close(self, patience: float = 2.0) -> None:
        """End the process, at once when it takes longer than `patience` seconds; leaves nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close(patience)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._connection is not None and self._connection.process.poll() is None

    @property
    def pid(self) -> int | None:
        """The process's id, or None when none was started."""
        return None if self._connection is None else self._connection.process.pid

    def __enter__(self) -> Client:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _failure(request: int, command: str) -> CommandFailed:
    return CommandFailed(request, command, GONE, RESTART)


class _Connection:
    """One process with the three threads that keep its pipes moving."""

    def __init__(self, command: Sequence[str], receive: Callable[[Event], None]) -> None:
        self._receive = receive
        self._lock = threading.Lock()
        self._open = True
        self._closing = False
        self._waiting: dict[int, str] = {}
        self._outbox: queue.SimpleQueue[AnyCommand | None] = queue.SimpleQueue()
        self._words: collections.deque[str] = collections.deque(maxlen=LAST_LINES)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._threads = [
            threading.Thread(target=work, name=f"session {name}", daemon=True)
            for name, work in (
                ("commands", self._write),
                ("words", self._listen),
                ("events", self._read),
            )
        ]
        for thread in self._threads:
            thread.start()

    def send(self, command: AnyCommand) -> bool:
        """Queue a command; False when the process is gone."""
        with self._lock:
            if not self._open:
                return False
            self._waiting[command.request] = type(command).__name__
        self._outbox.put(command)
        return True

    def _write(self) -> None:
        stream = cast(BinaryIO, self.process.stdin)
        try:
            while (command := self._outbox.get()) is not None:
                write_frame(stream, encode(command))
        except (BrokenPipeError, ConnectionError):
            pass  # the reader of events reports the loss
        finally:
            _close(stream)

    def _listen(self) -> None:
        with cast(BinaryIO, self.process.stderr) as stream:
            for line in stream:
                self._words.append(line.decode(errors="replace").rstrip("\n"))

    def _read(self) -> None:
        problem = ""
        with cast(BinaryIO, self.process.stdout) as stream:
            try:
                while (data := read_frame(stream)) is not None:
                    self._deliver(decode_event(data))
            except (FramingError, msgspec.DecodeError, msgspec.ValidationError) as error:
                problem = f"It sent what is no event of this version: {error}"
                self.process.kill()
        self._end(problem)

    def _deliver(self, event: Event) -> None:
        with self._lock:
            self._waiting.pop(getattr(event, "request", 0), None)
            closing = self._closing
        if not closing:
            self._receive(event)

    def _end(self, problem: str) -> None:
        """The process is ending: say so, and fail what it did not answer."""
        with self._lock:
            self._open = False
            waiting, self._waiting = self._waiting, {}
            closing = self._closing
        self._outbox.put(None)
        code = self.process.wait()
        self._threads[1].join()
        if closing:
            return
        for request, name in waiting.items():
            self._receive(_failure(request, name))
        message = " ".join(part for part in (describe_exit(code), problem) if part)
        self._receive(SessionLost(code, message, "\n".join(self._words)))

    def close(self, patience: float) -> None:
        """End the process and its threads, and close its pipes."""
        with self._lock:
            self._closing = True
        if patience > 0 and self.process.poll() is None:
            self._outbox.put(Shutdown())
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                self.process.kill()
        else:
            self.process.kill()
        self._outbox.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        self.process.wait()


def _close(stream: BinaryIO) -> None:
    with contextlib.suppress(BrokenPipeError):  # what was not flushed has no reader any more
        stream.close()


def describe_exit(code: int) -> str:
    """What an exit code says, for people."""
    if code >= 0:
        return f"The engine session ended with exit code {code}."
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " The system may have run out of memory." if name == "SIGKILL" else ""
    return f"The engine session was ended by {name}.{hint}"
