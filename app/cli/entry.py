"""The entry of the command line: reads the arguments, carries out the command, ends with a code."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from . import compiling, debugging, desktop, exporting, information, running, training
from .exits import CliError, Exit
from .output import Output

EPILOG = (
    "exit codes: 0 done; 1 the graph failed while it ran; 2 wrong usage, a file that cannot be "
    "read, or a graph that cannot run; 3 training stopped on a loss that is not finite; "
    "130 interrupted"
)
COMMANDS = (running, debugging, training, compiling, exporting, information, desktop)


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    made = argparse.ArgumentParser(
        prog="cellwire",
        description="Build, debug, compile and train neural networks drawn as wired nodes.",
        epilog=EPILOG,
    )
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print JSON, one object a line")
    shared.add_argument(
        "--traceback", action="store_true", help="print Python tracebacks of errors too"
    )
    commands = made.add_subparsers(dest="command", metavar="command")
    for command in COMMANDS:
        command.add(commands, shared)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line (`sys.argv` if none is given) and return its exit code.

    Without a command the desktop program opens, where there is a display.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = parser().parse_args(given or ["open"])
    except SystemExit as ending:  # argparse ends the program after --help and wrong usage
        return ending.code if isinstance(ending.code, int) else Exit.USAGE
    if options.command is None:
        parser().print_usage(sys.stderr)
        return Exit.USAGE
    output = Output(json=options.json, traceback=options.traceback)
    try:
        return options.carry_out(options, output)
    except CliError as error:
        output.fail(error)
        return error.code
    except KeyboardInterrupt:
        output.fail(CliError("interrupted", code=Exit.INTERRUPTED))
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of standard output is gone, as in `cellwire info FILE | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except Exception as error:
        output.fail(_unexpected(error))
        return Exit.FAILED


def _unexpected(error: Exception) -> CliError:
    return CliError(
        f"Cellwire itself failed: {type(error).__name__}: {error}",
        "Please report it, with what --traceback prints.",
        trace="".join(traceback.format_exception(error)),
    )
