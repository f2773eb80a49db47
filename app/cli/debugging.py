"""`cellwire debug FILE`: runs with breakpoints on wires and prints what it stops on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from rich.console import RenderableType

from ...engine.run.breakpoints import Breakpoint, Direction
from ...engine.run.conditions import ConditionError, parse_condition
from ...engine.run.graph import Edge, GraphError
from ...engine.run.inspect import Table as Page
from ..session.messages import (
    AnyCommand,
    Backward,
    Continue,
    Event,
    Inspect,
    InspectionResult,
    NodeFailed,
    NodeFinished,
    Paused,
    Run,
    RunFinished,
    SetBreakpoints,
    Step,
    StepBack,
)
from .driver import Driver
from .exits import CliError, Exit
from .output import STATISTICS, Output, duration, number, statistics_row, table
from .running import prepare

HELP = """\
step           run one node                  (s)
continue       go on to the next stop        (c, next, n)
back           step back by one node         (b)
print EDGE     the tensor on a wire          (p)  such as: p conv1->relu1 [0, :]
gradient EDGE  the gradient on a wire, after backward
backward       run the gradients of the loss
edges          list the wires
quit           end                           (q)"""
SHOWN_ROWS = 16
SHORT = {"s": "step", "c": "continue", "n": "continue", "next": "continue", "b": "back"} | {
    "p": "print",
    "q": "quit",
    "h": "help",
    "?": "help",
}


def add(commands: argparse._SubParsersAction, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "debug",
        parents=[shared],
        help="run with breakpoints on wires",
        description="Runs the graph and stops where a breakpoint on a wire is hit. On a terminal "
        "it then takes commands; otherwise it prints each stop and goes on.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--break",
        dest="breaks",
        action="append",
        default=[],
        metavar="EDGE [if CONDITION]",
        help='such as "conv2->relu2 if absmax > 100"; names may carry ports: "a.out->b.x"',
    )
    parser.add_argument(
        "--break-gradient",
        dest="gradients",
        action="append",
        default=[],
        metavar="EDGE [if CONDITION]",
        help="stop when the gradient flows back over the wire (implies --backward)",
    )
    parser.add_argument("--backward", action="store_true", help="run the gradients afterwards")
    parser.add_argument("--weights", type=Path, help="a .safetensors file to read weights from")
    parser.add_argument(
        "--training", action="store_true", help="run as in training (dropout, batch statistics)"
    )
    parser.set_defaults(carry_out=carry_out)


def carry_out(options: argparse.Namespace, output: Output) -> int:
    """Run to the end with stops on the way."""
    with Driver(output) as driver:
        prepare(driver, options)
        wanted = [
            *(breakpoint_of(driver, text, "forward") for text in options.breaks),
            *(breakpoint_of(driver, text, "gradient") for text in options.gradients),
        ]
        driver.ask(SetBreakpoints(tuple(wanted)))
        debugger = _Debugger(driver, output)
        if sys.stdin.isatty() and output.terminal:
            return debugger.converse()
        return debugger.pass_by(backward=bool(options.backward or options.gradients))


def breakpoint_of(driver: Driver, text: str, direction: Direction) -> Breakpoint:
    """The breakpoint that `EDGE [if CONDITION]` describes."""
    wire, _, condition = text.partition(" if ")
    edge = find_edge(driver, wire)
    try:
        parse_condition(condition)
    except ConditionError as error:
        raise CliError(f"The breakpoint {text!r}: {error}", code=Exit.USAGE) from error
    return Breakpoint(edge, condition.strip(), direction=direction)


def find_edge(driver: Driver, text: str) -> Edge:
    """The wire that the text names."""
    try:
        return driver.session.graph.edge(text.strip())
    except GraphError as error:
        raise CliError(str(error), code=Exit.USAGE) from error


class _Debugger:
    """Shows what a run stops on, with or without somebody to talk to."""

    def __init__(self, driver: Driver, output: Output) -> None:
        self.driver = driver
        self.output = output
        self.stops = 0

    def pass_by(self, *, backward: bool) -> int:
        """Print every stop and go on."""
        commands: list[AnyCommand] = [Run(), *([Backward()] if backward else [])]
        for command in commands:
            event = self._go(command)
            while isinstance(event, Paused):
                event = self._go(Continue())
            if isinstance(event, NodeFailed):
                raise self.driver.failure(event)
        self.output.record("end", stops=self.stops)
        self.output.say(f"finished with {self.stops} stop{'' if self.stops == 1 else 's'}")
        return Exit.OK

    def _go(self, command: AnyCommand) -> Event | None:
        """Let the session work; print what happens; the last event that says how it rests."""
        rest: Event | None = None
        for event in self.driver.stream(command):
            if isinstance(event, (Paused, NodeFailed, RunFinished)):
                rest = event
            if isinstance(event, Paused):
                self._show_pause(event)
            elif isinstance(event, RunFinished):
                self._show_end(event)
            elif isinstance(event, NodeFinished) and isinstance(command, Step):
                outputs = ", ".join(event.avals.values())
                self.output.say(f"ran {self.driver.name(event.node)}: {outputs}")
        return rest

    def _show_pause(self, event: Paused) -> None:
        name = self.driver.name(event.node)
        if event.edge is None or event.stats is None:
            self.output.say(f"before {name}" if name else "at the end")
            return
        self.stops += 1
        wire = self.driver.session.graph.edge_text(event.edge)
        self.output.record(
            "stop",
            edge=wire,
            node=name,
            condition=event.condition,
            hit=event.hit,
            direction=event.direction,
            statistics=event.stats,
        )
        why = f" if {event.condition}" if event.condition else ""
        way = "gradient of " if event.direction == "gradient" else ""
        self.output.say(
            f"stopped at {way}{wire}{why} (hit {event.hit})",
            table(STATISTICS, [statistics_row(event.stats)]),
        )

    def _show_end(self, event: RunFinished) -> None:
        loss = "" if event.loss is None else f", loss {number(event.loss)}"
        self.output.record(
            "finished", direction=event.direction, milliseconds=event.milliseconds, loss=event.loss
        )
        self.output.say(
            f"{event.direction} pass finished in {duration(event.milliseconds / 1e3)}{loss}"
        )

    def converse(self) -> int:
        """Take commands at a prompt until `quit` or the end of input."""
        failed = isinstance(self._report(partial(self._go, Run())), NodeFailed)
        while (line := self._ask()) is not None:
            word, _, rest = line.strip().partition(" ")
            word = SHORT.get(word, word)
            if word == "quit":
                break
            event = self._report(partial(self._obey, word, rest.strip()))
            failed = isinstance(event, NodeFailed) or (failed and event is None)
        return Exit.FAILED if failed else Exit.OK

    def _ask(self) -> str | None:
        try:
            return input("(cellwire) ")
        except EOFError:
            return None

    def _report(self, action: Callable[[], Event | None]) -> Event | None:
        """Carry out; an error is printed, and the conversation goes on."""
        try:
            event = action()
        except CliError as error:
            self.output.fail(error)
            return None
        if isinstance(event, NodeFailed):
            self.output.fail(self.driver.failure(event))
        return event

    def _obey(self, word: str, rest: str) -> Event | None:
        moves: dict[str, AnyCommand] = {
            "step": Step(),
            "continue": Continue(),
            "back": StepBack(),
            "backward": Backward(),
        }
        if word in moves:
            return self._go(moves[word])
        if word in ("print", "gradient"):
            self._print(rest, gradient=word == "gradient")
        elif word == "edges":
            graph = self.driver.session.graph
            self._lines(graph.edge_text(edge) for edge in graph.edges())
        elif word:
            self._lines([HELP])
        return None

    def _lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.output.say(line)

    def _print(self, text: str, *, gradient: bool) -> None:
        """The statistics of the tensor on a wire, and as much of it as fits."""
        wire, _, slice = text.partition("[")
        edge = find_edge(self.driver, wire)
        asked = Inspect(edge, "table", slice.rstrip("] "), gradient=gradient)
        answer = self.driver.ask(asked)
        if isinstance(answer, InspectionResult) and answer.table is not None:
            self.output.say(table(STATISTICS, [statistics_row(answer.stats)]))
            self.output.say(*_page(answer.table, self.output.console.width))


def _page(page: Page, width: int) -> list[RenderableType]:
    """The first rows and columns of a table that fit, and where to find the others."""
    cell = 2 + max((len(text) for row in page.cells for text in row), default=1)
    label = max((len(text) for text in page.row_labels), default=0)
    across = max(1, min(page.columns, (width - label) // cell))
    down = min(page.rows, SHOWN_ROWS)
    headings = ["", *(f"{at}>" for at in range(len(page.cells[0][:across]) if page.cells else 0))]
    rows = zip(page.row_labels[:down], page.cells[:down], strict=True)
    shown: list[RenderableType] = [table(headings, [(name, *row[:across]) for name, row in rows])]
    if across < page.columns or down < page.rows:
        shown.append(
            f"{down} of {page.rows} rows, {across} of {page.columns} columns; "
            "name others with a slice: print EDGE [0, 20:30]"
        )
    return shown
