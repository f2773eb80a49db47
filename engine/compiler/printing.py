"""Printing and logging in traced code: noted, and done at each call with the tensors' values.

The journal takes the notes while code is traced; `replay.py` prints when the plan has run.
"""

from __future__ import annotations

import builtins
import functools
import logging
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from .stack_flow import is_printed
from .traced import TraceBreak, in_package

if TYPE_CHECKING:
    from .journal import Journal

OPEN, CLOSE = "\ue0f0", "\ue0f1"
"""Private characters around the number of a value whose text is made at each call."""


class Piece(NamedTuple):
    """A value in a text that is made at each call."""

    value: Any
    spec: str


@contextmanager
def noting_prints(journal: Journal) -> Iterator[None]:
    """Note what this thread prints and logs in the body, instead of doing it."""
    notes = Notes(journal)
    before = builtins.print, logging.Logger._log, logging.Logger.isEnabledFor
    journal.text = notes.text_of
    builtins.print = notes.print
    logging.Logger._log = notes.log_method(before[1])
    logging.Logger.isEnabledFor = notes.enabled_method(before[2])
    try:
        yield
    finally:
        builtins.print = before[0]
        logging.Logger._log = before[1]
        logging.Logger.isEnabledFor = before[2]


class Notes:
    """Stands for ``print`` and for loggers' methods during one trace."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.thread = threading.get_ident()
        self.pieces: list[Piece] = []
        self.stdout = sys.stdout
        self.real = builtins.print

    def is_foreign(self) -> bool:
        """Return whether another thread asks than the one that traces."""
        return threading.get_ident() != self.thread

    def print(self, *values: Any, **options: Any) -> None:
        """Note a call of ``print``."""
        if self.is_foreign():
            self.real(*values, **options)
            return
        if sys.stdout is not self.stdout or options.get("file") is not None:
            raise TraceBreak(
                "print() into a file, or while sys.stdout is exchanged, acts outside the graph",
                "print to the standard output, or do it outside the compiled function",
            )
        self.journal.calls_later(print_texts, *map(self._pieced, values), **options)

    def _pieced(self, value: Any) -> Any:
        """Take a text apart into what is fixed and what is made of values at each call."""
        if not isinstance(value, str) or OPEN not in value:
            return value
        parts: list[Any] = []
        for part in value.split(OPEN):
            number, found, rest = part.rpartition(CLOSE)
            if found:
                parts.append(tuple(self.pieces[int(number)]))
            parts.append(rest)
        return {"text": parts}

    def text_of(self, value: Any, spec: str) -> str | None:
        """Return what stands for a value in a text that is printed or logged at once."""
        frame = sys._getframe(1)
        while frame is not None and in_package(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None or not is_printed(frame):
            return None
        self.pieces.append(Piece(value, spec))
        return f"{OPEN}{len(self.pieces) - 1}{CLOSE}"

    def log_method(self, real: Callable[..., None]) -> Callable[..., None]:
        """Return what stands for ``Logger._log``."""

        def _log(logger: logging.Logger, level: int, msg: Any, args: Any, **options: Any) -> None:
            if self.is_foreign() or not _asked_by_user():
                real(logger, level, msg, args, **options)
                return
            if options:
                raise TraceBreak(
                    f"a logger is called with {', '.join(options)}",
                    "log text and values only, or do it outside the compiled function",
                )
            frame = _user_frame()
            code = frame.f_code
            place = (code.co_filename, frame.f_lineno, code.co_name)
            self.journal.calls_later(
                functools.partial(log_record, logger, level, place), self._pieced(msg), args
            )

        return _log

    def enabled_method(self, real: Callable[..., bool]) -> Callable[..., bool]:
        """Return what stands for ``Logger.isEnabledFor``: whether it is, each call finds out."""

        def is_enabled_for(logger: logging.Logger, level: int) -> bool:
            if self.is_foreign() or not _asked_by_user():
                return real(logger, level)
            caller = sys._getframe(1).f_code.co_filename
            if caller != logging.__file__:
                raise TraceBreak(
                    "whether a logger is enabled is asked for",
                    "call the logger, which finds out itself",
                )
            return True

        return is_enabled_for


def _user_frame() -> types.FrameType:
    frame = sys._getframe(1)
    while frame.f_back is not None and (frame.f_code.co_filename in (logging.__file__, __file__)):
        frame = frame.f_back
    return frame


def _asked_by_user() -> bool:
    return not in_package(_user_frame().f_code.co_filename)


def print_texts(*values: Any, **options: Any) -> None:
    """Print values, texts made of their pieces first."""
    builtins.print(*map(_text, values), **options)


def _text(value: Any) -> Any:
    if isinstance(value, dict) and list(value) == ["text"]:
        return "".join([p if isinstance(p, str) else format(*p) for p in value["text"]])
    return value


def log_record(
    logger: logging.Logger, level: int, place: tuple[str, int, str], msg: Any, args: Any
) -> None:
    """Log as the traced line does."""
    if logger.isEnabledFor(level):
        file, line, function = place
        record = logger.makeRecord(logger.name, level, file, line, _text(msg), args, None, function)
        logger.handle(record)
