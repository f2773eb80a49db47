"""`cellwire train FILE`: trains the drawn model, with a progress bar, and saves its weights."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ...engine.array_file import SUFFIX
from ...nodes.changes import SetTraining
from ..session.messages import (
    EpochFinished,
    Event,
    NodeFailed,
    OverfitFinished,
    OverfitOneBatch,
    ResumeTraining,
    StopTraining,
    Train,
    TrainingFinished,
    TrainingPaused,
    TrainingProgress,
)
from .driver import Driver
from .exits import CliError, Exit
from .output import Output, duration, number, percent


def add(commands: argparse._SubParsersAction, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "train",
        parents=[shared],
        help="train the model and save its weights",
        description="Trains by the document's settings, which the options override, and saves "
        "weights and state beside the document. Ctrl-C stops after the step, and saves too.",
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, help="the weights' file (default: FILE's name)")
    parser.add_argument(
        "--resume", action="store_true", help="go on from what was saved at --out, bit for bit"
    )
    parser.add_argument("--epochs", type=_positive(int), help="how often to go over the data")
    parser.add_argument("--batch-size", type=_positive(int))
    parser.add_argument("--learning-rate", type=_positive(float))
    parser.add_argument("--seed", type=_positive(int, least=0))
    parser.add_argument("--steps", type=_positive(int), help="stop after so many steps more")
    parser.add_argument("--seconds", type=_positive(float), help="stop after so much time")
    parser.add_argument(
        "--overfit-one-batch",
        action="store_true",
        help="check only whether the model can learn one batch by heart; saves nothing",
    )
    parser.set_defaults(carry_out=carry_out)


N = TypeVar("N", int, float)


def _positive(kind: type[N], least: float = 1e-300) -> Callable[[str], N]:
    """A reader of numbers for argparse that refuses those below `least`."""

    def read(text: str) -> N:
        value = kind(text)
        if not value >= least:
            raise argparse.ArgumentTypeError(f"{text} is too small")
        return value

    read.__name__ = kind.__name__  # argparse names the type in its message
    return read


def carry_out(options: argparse.Namespace, output: Output) -> int:
    """Train, save, and say what the held-out part gives."""
    with Driver(output) as driver:
        driver.open(options.file)
        _override(driver, options)
        if options.overfit_one_batch:
            return _overfit(driver, output)
        weights = _weights_file(options)
        limits = {"steps": options.steps, "seconds": options.seconds, "save": str(weights)}
        command = ResumeTraining(str(weights), **limits) if options.resume else Train(**limits)
        with _Watch(output) as watch:
            for event in driver.stream(command, interrupt=StopTraining(), code=Exit.USAGE):
                watch.show(event)
        if watch.error is not None:
            raise watch.error(driver)
        return _end(driver, output, watch, weights)


def _weights_file(options: argparse.Namespace) -> Path:
    """Where the weights go: `--out`, which may leave off its ending, or beside the document."""
    given = options.out or options.file.with_suffix(SUFFIX)
    if given.is_dir():
        raise CliError(
            f"{given} is a folder.", f"Name a file: {given / 'weights'}{SUFFIX}", code=Exit.USAGE
        )
    ended = given if given.suffix == SUFFIX else given.with_name(given.name + SUFFIX)
    weights = ended.resolve()
    if not weights.parent.is_dir():
        raise CliError(f"There is no folder {weights.parent}.", "Make it first.", code=Exit.USAGE)
    return weights


def _override(driver: Driver, options: argparse.Namespace) -> None:
    """Change the training settings of the session's document, not of the file."""
    names = ("epochs", "batch_size", "learning_rate", "seed")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if given:
        training = msgspec.structs.replace(driver.session.document.training, **given)
        driver.patch(SetTraining(training))


def _end(driver: Driver, output: Output, watch: _Watch, weights: Path) -> int:
    finished = watch.finished
    if finished is None:
        raise CliError("The training ended without a result.")
    output.record(
        "finished",
        steps=finished.step,
        epochs=finished.epoch,
        loss=finished.loss,
        held_out_loss=finished.held_out_loss,
        held_out_accuracy=finished.held_out_accuracy,
        seconds=finished.seconds,
        stopped=finished.stopped,
        weights=str(weights),
    )
    word = "stopped" if finished.stopped else "finished"
    output.say(
        f"{word} after {finished.step} steps in {duration(finished.seconds)}: "
        f"loss {number(finished.loss)}, held-out loss {number(finished.held_out_loss)}, "
        f"held-out accuracy {percent(finished.held_out_accuracy)}"
    )
    output.say(f"weights saved in {weights}")
    return Exit.INTERRUPTED if driver.interrupted else Exit.OK


def _overfit(driver: Driver, output: Output) -> int:
    """The sanity check: can the model learn one batch by heart?"""
    result: OverfitFinished | None = None
    with _Watch(output) as watch:
        for event in driver.stream(OverfitOneBatch(), interrupt=StopTraining(), code=Exit.USAGE):
            watch.show(event)
            if isinstance(event, OverfitFinished):
                result = event
    if watch.error is not None:
        raise watch.error(driver)
    if driver.interrupted or result is None:
        raise KeyboardInterrupt
    output.record("overfit", **msgspec.structs.asdict(result))
    output.say(result.message)
    return Exit.OK if result.passed else Exit.FAILED


@dataclass
class _Halt:
    """Why a training stopped: it becomes the command's error."""

    event: TrainingPaused | NodeFailed

    def __call__(self, driver: Driver) -> CliError:
        if isinstance(self.event, NodeFailed):
            return driver.failure(self.event)
        code = Exit.NAN if self.event.reason == "nan" else Exit.FAILED
        return CliError(
            self.event.message, self.event.fix, node=driver.name(self.event.node), code=code
        )


class _Watch:
    """Shows a training while it goes on: a bar on a terminal, else a line an epoch."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.finished: TrainingFinished | None = None
        self.error: _Halt | None = None
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=output.console,
            transient=True,
            disable=not output.terminal,
        )
        self._task = self._bar.add_task("training", total=None)

    def __enter__(self) -> _Watch:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case TrainingProgress():
                self._bar.update(
                    self._task,
                    completed=event.step,
                    total=event.steps,
                    description=f"loss {number(event.loss)}",
                )
            case EpochFinished():
                self._show_epoch(event)
            case TrainingFinished():
                self.finished = event
            case NodeFailed():
                self.error = _Halt(event)
            case TrainingPaused() if self.error is None:
                self.error = _Halt(event)

    def _show_epoch(self, event: EpochFinished) -> None:
        fields = msgspec.structs.asdict(event)
        self.output.record("epoch", **fields)
        self.output.say(
            f"epoch {event.epoch}/{event.epochs}: loss {number(event.loss)}, "
            f"accuracy {percent(event.accuracy)}, "
            f"held-out {percent(event.held_out_accuracy)} ({duration(event.seconds)})"
        )
