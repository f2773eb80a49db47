"""The session's own process: commands from standard input, events to standard output.

Started as `python -m cellwire.app.session.process`. It works a slice at a time between commands,
so Pause and Stop are answered between nodes and steps. It ends at Shutdown, and when its editor is
gone. What user code prints goes to standard error.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from typing import BinaryIO

import msgspec

from .framing import FramingError, read_frame, write_frame
from .messages import CommandFailed, Event, Shutdown, decode_command, encode
from .server import Session

PATIENCE = 5.0  # seconds that a node may go on computing after the editor is gone


def take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The command and event streams, kept from prints and reads of user code."""
    commands = os.fdopen(os.dup(0), "rb")
    events = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return commands, events


class Inbox:
    """Commands as they arrive, read by a thread of its own; None when the editor is gone."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        threading.Thread(target=self._read, name="commands", daemon=True).start()

    def _read(self) -> None:
        data: bytes | None = b""
        while data is not None:
            try:
                data = read_frame(self._stream)
            except (OSError, FramingError) as error:
                print(f"the session's commands cannot be read: {error}", file=sys.stderr)
                data = None
            self._frames.put(data)
        if not self._ended.wait(PATIENCE):
            os._exit(1)

    def next(self, wait: bool) -> bytes | None:
        """The next frame; raises `queue.Empty` when there is none and `wait` is false."""
        return self._frames.get(block=wait)

    def end(self) -> None:
        """The main loop is over: the reader need not end the process."""
        self._ended.set()


def serve(commands: BinaryIO, events: BinaryIO) -> None:
    """Answer commands and work between them until Shutdown or the end of `commands`."""

    def emit(event: Event) -> None:
        write_frame(events, encode(event))

    inbox = Inbox(commands)
    session = Session(emit, renew_groups=True)
    session.announce()
    more = False
    try:
        while True:
            try:
                data = inbox.next(wait=not more)
            except queue.Empty:
                more = session.work()
                continue
            if data is None or not _answer(session, data, emit):
                break
            more = True
    except BrokenPipeError:
        pass  # the editor is gone, and nobody is left to tell
    finally:
        session.close()
        inbox.end()


def _answer(session: Session, data: bytes, emit) -> bool:
    """Handle one command; whether the session goes on."""
    try:
        command = decode_command(data)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        emit(CommandFailed(0, "?", f"a message is no command of this version: {error}"))
        return True
    session.handle(command)
    return not isinstance(command, Shutdown)


def main() -> None:
    """Run a session on this process's standard input and output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is the editor's to answer
    commands, events = take_pipes()
    serve(commands, events)


if __name__ == "__main__":
    main()
