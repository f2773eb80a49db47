"""How the command line ends: exit codes, and the error that carries one."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of `cellwire`; docs/cli.md lists them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NAN = 3
    INTERRUPTED = 130


class CliError(Exception):
    """What ends a command: the message, what to do, the node where it lies, the exit code."""

    def __init__(
        self,
        message: str,
        fix: str = "",
        *,
        node: str | None = None,
        code: Exit = Exit.FAILED,
        trace: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.node = node
        self.code = code
        self.trace = trace
