"""What editor and session say to each other: one struct a command, one an event, in msgpack.

Every command carries a `request` number. The session answers each with exactly one event of that
number: the command's own answer (`DocumentLoaded`, `InspectionResult`, `GroupReport`, `Exported`),
else `CommandDone` (for a command that starts work: when the work has begun), or `CommandFailed`.
What happens later (`NodeFinished`, `Paused`, `TrainingProgress`, …) comes as events without one.
"""

from __future__ import annotations

import msgspec

from ...engine.run.breakpoints import Breakpoint, Direction
from ...engine.run.graph import Edge
from ...engine.run.inspect import Statistics
from .commands import (
    Backward,
    Command,
    CompileGroup,
    Continue,
    DiscardGroup,
    Export,
    Inspect,
    LoadDocument,
    LoadWeights,
    OverfitOneBatch,
    Patch,
    Pause,
    PauseTraining,
    PinBatch,
    RerunFrom,
    ResumeTraining,
    Run,
    RunTo,
    SaveWeights,
    SetBreakpoints,
    SetMode,
    Shutdown,
    Step,
    StepBack,
    Stop,
    StopTraining,
    Train,
    What,
)
from .events import (
    BreakpointNoted,
    CommandDone,
    CommandFailed,
    DocumentLoaded,
    EdgeValue,
    EpochFinished,
    Exported,
    GroupChanged,
    GroupReport,
    GroupState,
    HaltReason,
    HistoryPoint,
    HostStep,
    InspectionResult,
    KernelLine,
    Log,
    Memory,
    NodeFailed,
    NodeFinished,
    NodeStarted,
    OverfitFinished,
    Paused,
    PauseReason,
    Problem,
    Ready,
    RunFinished,
    SessionLost,
    State,
    StateChanged,
    TrainingFinished,
    TrainingPaused,
    TrainingProgress,
    UpdateRatios,
)

AnyCommand = (
    LoadDocument
    | Patch
    | Run
    | Step
    | StepBack
    | Continue
    | Pause
    | Stop
    | RunTo
    | RerunFrom
    | Backward
    | SetMode
    | PinBatch
    | SetBreakpoints
    | Inspect
    | CompileGroup
    | DiscardGroup
    | Train
    | ResumeTraining
    | PauseTraining
    | StopTraining
    | OverfitOneBatch
    | Export
    | SaveWeights
    | LoadWeights
    | Shutdown
)
Event = (
    Ready
    | CommandDone
    | CommandFailed
    | DocumentLoaded
    | StateChanged
    | NodeStarted
    | NodeFinished
    | EdgeValue
    | Paused
    | BreakpointNoted
    | RunFinished
    | NodeFailed
    | UpdateRatios
    | GroupChanged
    | GroupReport
    | TrainingProgress
    | EpochFinished
    | TrainingPaused
    | TrainingFinished
    | OverfitFinished
    | InspectionResult
    | Exported
    | Log
    | Memory
    | SessionLost
)

_encoder = msgspec.msgpack.Encoder()
_commands = msgspec.msgpack.Decoder(AnyCommand)
_events = msgspec.msgpack.Decoder(Event)


def encode(message: AnyCommand | Event) -> bytes:
    """The message as msgpack."""
    return _encoder.encode(message)


def decode_command(data: bytes) -> AnyCommand:
    """The command in these bytes; raises `msgspec.DecodeError` or `ValidationError`."""
    return _commands.decode(data)


def decode_event(data: bytes) -> Event:
    """The event in these bytes; raises `msgspec.DecodeError` or `ValidationError`."""
    return _events.decode(data)


__all__ = [
    "AnyCommand",
    "Backward",
    "Breakpoint",
    "BreakpointNoted",
    "Command",
    "CommandDone",
    "CommandFailed",
    "CompileGroup",
    "Continue",
    "Direction",
    "DiscardGroup",
    "DocumentLoaded",
    "Edge",
    "EdgeValue",
    "EpochFinished",
    "Event",
    "Export",
    "Exported",
    "GroupChanged",
    "GroupReport",
    "GroupState",
    "HaltReason",
    "HistoryPoint",
    "HostStep",
    "Inspect",
    "InspectionResult",
    "KernelLine",
    "LoadDocument",
    "LoadWeights",
    "Log",
    "Memory",
    "NodeFailed",
    "NodeFinished",
    "NodeStarted",
    "OverfitFinished",
    "OverfitOneBatch",
    "Patch",
    "Pause",
    "PauseReason",
    "PauseTraining",
    "Paused",
    "PinBatch",
    "Problem",
    "Ready",
    "RerunFrom",
    "ResumeTraining",
    "Run",
    "RunFinished",
    "RunTo",
    "SaveWeights",
    "SessionLost",
    "SetBreakpoints",
    "SetMode",
    "Shutdown",
    "State",
    "StateChanged",
    "Statistics",
    "Step",
    "StepBack",
    "Stop",
    "StopTraining",
    "Train",
    "TrainingFinished",
    "TrainingPaused",
    "TrainingProgress",
    "UpdateRatios",
    "What",
    "decode_command",
    "decode_event",
    "encode",
]
