"""What a session tells: one struct an event."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...engine.run.breakpoints import Breakpoint, Direction
from ...engine.run.graph import Edge
from ...engine.run.inspect import HeatMap, Histogram, ImageGrid, Statistics, Table
from .commands import What

State = Literal[
    "empty", "ready", "running", "paused", "failed", "finished", "training", "training paused"
]
PauseReason = Literal["breakpoint", "step", "reached", "user"]
HaltReason = Literal["user", "nan", "breakpoint", "error"]
GroupState = Literal["compiling", "compiled", "stale", "eager"]


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The session is up."""

    pid: int
    device: str
    threads: int


class CommandDone(msgspec.Struct, frozen=True, tag=True):
    """The command was carried out, or the work that it asks for has begun."""

    request: int
    command: str


class CommandFailed(msgspec.Struct, frozen=True, tag=True):
    """The command could not be carried out; nothing changed. `node` is where it lies, if known."""

    request: int
    command: str
    message: str
    fix: str = ""
    node: str | None = None
    traceback: str = ""


class Problem(msgspec.Struct, frozen=True):
    """Something wrong with a port, or (`port` "") a node; an error keeps the graph from running."""

    node: str
    port: str
    message: str
    fix: str = ""
    severity: Literal["error", "warning"] = "error"


class DocumentLoaded(msgspec.Struct, frozen=True, tag=True):
    """The session now has this revision; with errors among the problems, it cannot run yet."""

    request: int
    revision: int
    nodes: int
    parameters: int
    problems: tuple[Problem, ...] = ()


class StateChanged(msgspec.Struct, frozen=True, tag=True):
    """What the session is doing now; `node` is the next to run, `back` how far it can step back."""

    state: State
    node: str | None = None
    back: int = 0


class NodeStarted(msgspec.Struct, frozen=True, tag=True):
    """A node is about to run (sent when the session steps, or the node is slow to come back)."""

    node: str
    direction: Direction = "forward"


class NodeFinished(msgspec.Struct, frozen=True, tag=True):
    """A node, or a whole compiled group, has run; `avals` has port → shape and dtype as text."""

    node: str
    milliseconds: float
    avals: dict[str, str]
    direction: Direction = "forward"


class EdgeValue(msgspec.Struct, frozen=True, tag=True):
    """What is on a watched wire now; `step` counts training steps."""

    edge: Edge
    summary: str
    stats: Statistics
    direction: Direction = "forward"
    step: int = 0


class Paused(msgspec.Struct, frozen=True, tag=True):
    """The run waits before `node`; at a breakpoint, `edge` holds the value that hit it."""

    node: str | None
    reason: PauseReason
    edge: Edge | None = None
    condition: str = ""
    hit: int = 0
    stats: Statistics | None = None
    direction: Direction = "forward"


class BreakpointNoted(msgspec.Struct, frozen=True, tag=True):
    """A breakpoint whose action is `log` or `snapshot` was hit; the run went on."""

    breakpoint: Breakpoint
    hit: int
    stats: Statistics


class RunFinished(msgspec.Struct, frozen=True, tag=True):
    """All nodes have run; `loss` is the value of the graph's last loss, if it is one number."""

    milliseconds: float
    loss: float | None = None
    direction: Direction = "forward"


class NodeFailed(msgspec.Struct, frozen=True, tag=True):
    """A node raised; its inputs can be inspected. `inputs` has port → shape and dtype as text."""

    node: str
    port: str | None
    message: str
    fix: str = ""
    traceback: str = ""
    inputs: dict[str, str] = {}
    direction: Direction = "forward"


class UpdateRatios(msgspec.Struct, frozen=True, tag=True):
    """By node, the largest ratio of the norm of an update to that of the parameter, at `step`.

    After Backward the update is that of plain gradient descent at the document's learning rate.
    """

    ratios: dict[str, float]
    step: int = 0


class KernelLine(msgspec.Struct, frozen=True):
    """One kernel of a compiled group: the nodes that it computes, its kind, and its ops."""

    name: str
    nodes: tuple[str, ...]
    kind: str = ""
    ops: tuple[str, ...] = ()


class HostStep(msgspec.Struct, frozen=True):
    """An op that a compiled group runs in NumPy, and why."""

    op: str
    nodes: tuple[str, ...]
    reason: str


class GroupChanged(msgspec.Struct, frozen=True, tag=True):
    """The state of a compile group; `reason` says why it is stale or eager."""

    group: str
    state: GroupState
    reason: str = ""


class GroupReport(msgspec.Struct, frozen=True, tag=True):
    """What a compiled group became.

    Times are medians of a call; `parity` is the largest deviation from eager on the present
    batch, over the largest magnitude of the output.
    """

    request: int
    group: str
    name: str
    nodes: tuple[str, ...]
    kernels: tuple[KernelLine, ...]
    host_steps: tuple[HostStep, ...]
    compile_milliseconds: float
    eager_microseconds: float
    compiled_microseconds: float
    parity: float
    arena_bytes: int
    code: str = ""


class TrainingProgress(msgspec.Struct, frozen=True, tag=True):
    """The last step of a training, at most ten times a second; losses since the last message."""

    step: int
    steps: int
    epoch: int
    epochs: int
    loss: float
    accuracy: float | None
    milliseconds: float
    seconds_left: float
    losses: tuple[tuple[int, float], ...] = ()


class EpochFinished(msgspec.Struct, frozen=True, tag=True):
    """An epoch's means on the training part, and what the held-out part gives now."""

    epoch: int
    epochs: int
    step: int
    loss: float
    accuracy: float | None
    held_out_loss: float | None
    held_out_accuracy: float | None
    seconds: float


class TrainingPaused(msgspec.Struct, frozen=True, tag=True):
    """The training waits at a step boundary, or (reason `nan`, `error`) because `node` failed."""

    reason: HaltReason
    step: int
    node: str | None = None
    message: str = ""
    fix: str = ""


class TrainingFinished(msgspec.Struct, frozen=True, tag=True):
    """The training is over; `stopped` when it ended before its last epoch."""

    step: int
    epoch: int
    loss: float | None
    held_out_loss: float | None
    held_out_accuracy: float | None
    seconds: float
    stopped: bool = False


class OverfitFinished(msgspec.Struct, frozen=True, tag=True):
    """The check on one batch: `passed` when the loss fell as it does for a sound model."""

    steps: int
    first_loss: float
    last_loss: float
    accuracy: float | None
    passed: bool
    message: str


class HistoryPoint(msgspec.Struct, frozen=True, array_like=True):
    """What was on a watched wire at a training step."""

    step: int
    stats: Statistics


class InspectionResult(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The value on a wire in the form that was asked for; the other forms are None."""

    request: int
    edge: Edge
    what: What
    gradient: bool = False
    stats: Statistics
    histogram: Histogram | None = None
    heat_map: HeatMap | None = None
    images: ImageGrid | None = None
    table: Table | None = None
    history: tuple[HistoryPoint, ...] | None = None


class Exported(msgspec.Struct, frozen=True, tag=True):
    """The files that an export wrote."""

    request: int
    files: tuple[str, ...]


class Log(msgspec.Struct, frozen=True, tag=True):
    """A line for the log: a reported fallback, a swap to compiled code, what a node printed."""

    level: Literal["info", "warning", "error"]
    message: str
    node: str | None = None


class Memory(msgspec.Struct, frozen=True, tag=True):
    """Bytes of the values kept on wires, and of the whole process where the system says."""

    values: int
    process: int | None


class SessionLost(msgspec.Struct, frozen=True, tag=True):
    """The session's process ended unasked (made by the client); `exit_code` < 0 is a signal."""

    exit_code: int | None
    message: str
    last_words: str = ""
