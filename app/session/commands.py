"""What the editor asks of a session: one struct a command."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...engine.run.breakpoints import Breakpoint
from ...engine.run.graph import Edge
from ...nodes.changes import Change

What = Literal["stats", "histogram", "heat_map", "images", "table", "history"]


class Command(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """What all commands share: the number of the answer, and the document's revision."""

    request: int = 0
    revision: int = 0


class LoadDocument(Command, frozen=True):
    """Take this document (the text of a `.cellwire` file); `path` is its file, if it has one.

    Data files and weights are looked for beside `path`. Answer: `DocumentLoaded`.
    """

    text: str
    path: str = ""


class Patch(Command, frozen=True):
    """Apply one change to the session's document; `revision` is the one after the change.

    A change of structure takes effect at the next step boundary. Answer: `DocumentLoaded`.
    """

    change: Change


class Run(Command, frozen=True):
    """Run the graph from its start to the next breakpoint (unless those are off) or its end."""

    breakpoints: bool = True


class Step(Command, frozen=True):
    """Run one node, then pause."""


class StepBack(Command, frozen=True):
    """Go back to before the last node that ran; fails when nothing is kept to go back to."""


class Continue(Command, frozen=True):
    """Go on after a pause, to the next breakpoint or the end."""


class Pause(Command, frozen=True):
    """Pause the run before its next node, or the training after its step."""


class Stop(Command, frozen=True):
    """End the run and forget its values; a training ends after its step."""


class RunTo(Command, frozen=True):
    """Run until this node is next."""

    node: str


class RerunFrom(Command, frozen=True):
    """Run this node and what lies downstream of it again; other values stay."""

    node: str


class Backward(Command, frozen=True):
    """Run the gradients of the last run's loss, node by node, with gradient breakpoints."""


class SetMode(Command, frozen=True):
    """Run as in training (dropout on, batch statistics) or as in evaluation."""

    training: bool


class PinBatch(Command, frozen=True):
    """Use the same batch in every run (`on`), or the next one each time."""

    on: bool


class SetBreakpoints(Command, frozen=True):
    """Stop at these too, besides the document's own breakpoints; replaces what was set before."""

    breakpoints: tuple[Breakpoint, ...]


class Inspect(Command, frozen=True):
    """Ask for the value on a wire (`gradient`: its gradient) in one form.

    `slice` is an index as in `0, :, 3` for heat maps, tables and images; `row` and `column` say
    where a table's page begins. Answer: `InspectionResult`.
    """

    edge: Edge
    what: What = "stats"
    slice: str = ""
    gradient: bool = False
    row: int = 0
    column: int = 0


class CompileGroup(Command, frozen=True):
    """Compile a group of the document, compare it with eager, and use it. Answer: `GroupReport`."""

    group: str


class DiscardGroup(Command, frozen=True):
    """Run the nodes of a compiled group eagerly again."""

    group: str


class Train(Command, frozen=True):
    """Train from fresh parameters by the document's settings.

    `steps` and `seconds` end it sooner, at a step boundary. With `save`, weights and state are
    written to that `.safetensors` file and the one beside it, after each epoch and at the end.
    """

    steps: int | None = None
    seconds: float | None = None
    save: str = ""


class ResumeTraining(Command, frozen=True):
    """Go on after `TrainingPaused`, or from the state that was saved beside the weights `path`."""

    path: str = ""
    steps: int | None = None
    seconds: float | None = None
    save: str = ""


class PauseTraining(Command, frozen=True):
    """Pause the training at the next step boundary; its state stays in the session."""


class StopTraining(Command, frozen=True):
    """End the training at the next step boundary; the weights stay."""


class OverfitOneBatch(Command, frozen=True):
    """Train fresh weights on one batch only: a sound model learns it by heart; nothing is kept."""

    steps: int = 200


class Export(Command, frozen=True):
    """Write the graph as a Python file, with its weights beside it. Answer: `Exported`."""

    path: str


class SaveWeights(Command, frozen=True):
    """Write the weights to `path`, and beside them the training's state where there is one."""

    path: str


class LoadWeights(Command, frozen=True):
    """Read weights from a `.safetensors` file."""

    path: str


class Shutdown(Command, frozen=True):
    """End the session's process."""
