"""What the command line prints: tables and bars for people, JSON lines for scripts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import msgspec
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ...engine.run.inspect import Statistics
from .exits import CliError

PIPE_WIDTH = 160  # columns where the output is no terminal, so that tables are not cut


class _Console(Console):
    """Rich's console, which leaves it to the command what a reader that is gone means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Output:
    """Standard output and standard error of one command.

    With `json`, standard output has nothing but JSON, one object a line.
    """

    def __init__(self, *, json: bool = False, traceback: bool = False) -> None:
        self.json = json
        self.traceback = traceback
        self.terminal = sys.stdout.isatty() and not json
        width = None if self.terminal else PIPE_WIDTH
        self.console = _Console(highlight=False, markup=False, emoji=False, width=width)
        self.errors = _Console(
            stderr=True,
            highlight=False,
            markup=False,
            emoji=False,
            width=None if sys.stderr.isatty() else PIPE_WIDTH,
        )

    def record(self, event: str, **fields: object) -> None:
        """One JSON object on standard output, if the command speaks JSON."""
        if self.json:
            sys.stdout.write(msgspec.json.encode({"event": event, **fields}).decode() + "\n")
            sys.stdout.flush()

    def say(self, *shown: RenderableType) -> None:
        """Text or a table for people."""
        if not self.json:
            for item in shown:
                self.console.print(item, soft_wrap=isinstance(item, str))

    def warn(self, message: str) -> None:
        """A line on standard error, in JSON mode too."""
        self.errors.print(Text.assemble(("warning: ", "yellow"), message), soft_wrap=True)

    def fail(self, error: CliError) -> None:
        """Say on standard error what ended the command; in JSON mode on standard output too."""
        where = f"{error.node}: " if error.node and error.node not in error.message else ""
        self.errors.print(
            Text.assemble(("error: ", "bold red"), where, error.message), soft_wrap=True
        )
        if error.fix:
            self.errors.print(Text.assemble(("  fix: ", "cyan"), error.fix), soft_wrap=True)
        if self.traceback and error.trace:
            self.errors.print(error.trace.rstrip(), soft_wrap=True)
        self.record(
            "error",
            message=error.message,
            fix=error.fix,
            node=error.node,
            exit=int(error.code),
        )


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> Table:
    """A plain table; a heading that ends in `>` is a right-aligned column."""
    made = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for heading in headings:
        right = heading.endswith(">")
        made.add_column(heading.rstrip(">"), justify="right" if right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


STATISTICS = (
    "shape",
    "dtype",
    "mean>",
    "std>",
    "min>",
    "max>",
    "absmax>",
    "zeros>",
    "nan>",
    "inf>",
)


def statistics_row(stats: Statistics) -> tuple[str, ...]:
    """The statistics of a tensor as the cells under `STATISTICS`."""
    numbers = (stats.mean, stats.std, stats.min, stats.max, stats.absmax)
    return (
        "×".join(map(str, stats.shape)) or "scalar",
        stats.dtype,
        *(number(value) for value in numbers),
        f"{stats.zeros:.1f} %",
        str(stats.nan),
        str(stats.inf),
    )


def number(value: float | None) -> str:
    """A number with five significant digits, or a dash."""
    return "–" if value is None else f"{value:.5g}"


def percent(value: float | None) -> str:
    """A share of one in percent, or a dash."""
    return "–" if value is None else f"{100 * value:.2f} %"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.2f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
