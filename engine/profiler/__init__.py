"""Profiling: which ops, compiled calls and syncs took how long, on the CPU."""

from . import mstx
from .events import Event, Profile, Tally
from .options import (
    AicoreMetrics,
    ExperimentalConfig,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    schedule,
)
from .session import Profiler, profile, tensorboard_trace_handler

_ExperimentalConfig = ExperimentalConfig  # MindSpore's name of it

__all__ = [
    "AicoreMetrics",
    "Event",
    "ExperimentalConfig",
    "Profile",
    "Profiler",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "Tally",
    "mstx",
    "profile",
    "schedule",
    "tensorboard_trace_handler",
]
