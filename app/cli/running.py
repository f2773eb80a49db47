"""`cellwire run FILE`: runs the graph once and prints each node."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..session.messages import LoadWeights, NodeFailed, NodeFinished, Run, RunFinished, SetMode
from .driver import Driver
from .exits import CliError, Exit
from .output import Output, duration, number, table


def add(commands: argparse._SubParsersAction, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("run", parents=[shared], help="run the graph once")
    parser.add_argument("file", type=Path)
    parser.add_argument("--weights", type=Path, help="a .safetensors file to read weights from")
    parser.add_argument(
        "--training", action="store_true", help="run as in training (dropout, batch statistics)"
    )
    parser.set_defaults(carry_out=carry_out)


def prepare(driver: Driver, options: argparse.Namespace) -> None:
    """Load the document and weights that the options name."""
    driver.open(options.file)
    if options.weights is not None:
        driver.ask(LoadWeights(str(options.weights)), code=Exit.USAGE)
    driver.ask(SetMode(getattr(options, "training", False)))


def carry_out(options: argparse.Namespace, output: Output) -> int:
    """Run the graph from start to end, over the document's breakpoints."""
    with Driver(output) as driver:
        prepare(driver, options)
        rows: list[tuple[str, str, str]] = []
        for event in driver.stream(Run(breakpoints=False)):
            match event:
                case NodeFinished(node, milliseconds, avals):
                    name = driver.name(node)
                    output.record("node", node=name, milliseconds=milliseconds, outputs=avals)
                    shapes = ", ".join(avals.values())
                    rows.append((name, shapes, duration(milliseconds / 1e3)))
                case NodeFailed():
                    raise driver.failure(event)
                case RunFinished(milliseconds, loss):
                    output.record("finished", milliseconds=milliseconds, loss=loss)
                    output.say(table(("node", "output", "time>"), rows))
                    ending = "" if loss is None else f", loss {number(loss)}"
                    output.say(f"finished in {duration(milliseconds / 1e3)}{ending}")
                    return Exit.OK
    raise CliError("The run stopped before its end.")
