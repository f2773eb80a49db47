"""`cellwire open FILE`, and `cellwire` alone: opens the desktop program."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .exits import CliError, Exit
from .output import Output


def add(commands: argparse._SubParsersAction, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("open", parents=[shared], help="open the desktop program")
    parser.add_argument("file", type=Path, nargs="?")
    parser.set_defaults(carry_out=carry_out)


def carry_out(options: argparse.Namespace, output: Output) -> int:
    """Open the window, if there is a display to open it on."""
    if not has_display():
        raise CliError(
            "There is no display to open the window on.",
            "Use a command without a window: cellwire run | debug | train | compile | export | "
            "info FILE, or set QT_QPA_PLATFORM=offscreen.",
            code=Exit.USAGE,
        )
    from ..main import main  # loads Qt, which no other command needs

    return main([] if options.file is None else [str(options.file)])


def has_display() -> bool:
    """Whether Qt could open a window here."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))
