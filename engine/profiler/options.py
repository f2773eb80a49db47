"""Settings of profilers under MindSpore's names, and when a profiler takes steps down."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any


class ProfilerLevel(Enum):
    """How much is taken down; every level takes all down here."""

    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class ProfilerActivity(Enum):
    """What is watched; the CPU is, other devices are not there."""

    CPU = "CPU"
    NPU = "NPU"
    GPU = "GPU"


class AicoreMetrics(Enum):
    """Counters of a device that is not there, for MindSpore's scripts."""

    AiCoreNone = -1
    PipeUtilization = 0
    ArithmeticUtilization = 1
    Memory = 2
    MemoryL0 = 3
    ResourceConflictRatio = 4
    MemoryUB = 5
    L2Cache = 6


class HostSystem(Enum):
    """Measures of the machine, for MindSpore's scripts; resident memory is always sampled."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


class ExportType(Enum):
    """Kinds of files, for MindSpore's scripts; tables are always text."""

    Text = "text"
    Db = "db"


class ProfilerAction(Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARM_UP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ExperimentalConfig:
    """Further settings, taken for MindSpore's scripts.

    Parameters
    ----------
    **settings
        Their names and values, kept as attributes.
    """

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)


Schedule = Callable[[int], ProfilerAction]


def schedule(
    *, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0
) -> Schedule:
    """Return when a profiler takes steps down: it waits, warms up and is active, again and again.

    Parameters
    ----------
    wait : int
        Steps of each round that are left out.
    active : int
        Steps that are taken down.
    warmup : int
        Steps that are watched and thrown away.
    repeat : int
        How many rounds there are; 0 is no end.
    skip_first : int
        Steps left out before the first round.

    Returns
    -------
    callable
        Gives the action of a step's number.

    Raises
    ------
    ValueError
        If a number is negative, or `active` not positive.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ValueError(
            f"schedule: wait {wait}, warmup {warmup}, repeat {repeat} and skip_first {skip_first}"
            f" must not be negative, active {active} must be positive."
        )

    def action(step: int) -> ProfilerAction:
        at = step - skip_first
        whole = wait + warmup + active
        if at < 0 or (repeat and at // whole >= repeat):
            return ProfilerAction.NONE
        place = at % whole
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARM_UP
        return ProfilerAction.RECORD_AND_SAVE if place == whole - 1 else ProfilerAction.RECORD

    return action
