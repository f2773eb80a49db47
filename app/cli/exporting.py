"""`cellwire export FILE -o MODEL.py`: writes the graph as a Python file with its weights."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..session.messages import Export, Exported, LoadWeights
from .driver import Driver
from .exits import CliError, Exit
from .output import Output


def add(commands: argparse._SubParsersAction, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "export", parents=[shared], help="write the graph as a Python file with its weights"
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("-o", "--out", type=Path, help="the Python file (default: NAME_model.py)")
    parser.add_argument(
        "--weights",
        type=Path,
        help="the weights to take (default: FILE's own, where it has been trained)",
    )
    parser.set_defaults(carry_out=carry_out)


def carry_out(options: argparse.Namespace, output: Output) -> int:
    """Export and name the files."""
    target = options.out or options.file.with_name(f"{options.file.stem}_model.py")
    if target.suffix != ".py":
        raise CliError(
            f"{target.name} is no name of a Python file.", "End it in .py.", code=Exit.USAGE
        )
    with Driver(output) as driver:
        driver.open(options.file)
        if options.weights is not None:
            driver.ask(LoadWeights(str(options.weights.resolve())), code=Exit.USAGE)
        _make_folder(target.resolve().parent)
        answer = driver.ask(Export(str(target.resolve())), code=Exit.USAGE)
        if isinstance(answer, Exported):
            output.record("exported", files=answer.files)
            for file in answer.files:
                output.say(f"wrote {file}")
    return Exit.OK


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CliError(f"The folder {folder} cannot be made: {error.strerror}.") from error
    if not os.access(folder, os.W_OK):
        raise CliError(f"Nothing may be written in {folder}.", "Name another place with -o.")
