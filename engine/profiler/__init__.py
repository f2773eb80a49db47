"""Profiling: which ops, compiled calls and syncs took how long, on the CPU."""

from . import mstx
from .dynamic import DynamicProfilerMonitor
from .events import Event, Profile, Tally
from .options import (
    AicoreMetrics,
    ExperimentalConfig,
    ExportType,
    HostSystem,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    schedule,
)
from .session import Profiler, analyse, profile, tensorboard_trace_handler

_ExperimentalConfig = ExperimentalConfig  # MindSpore's name of it

__all__ = [
    "AicoreMetrics",
    "DynamicProfilerMonitor",
    "Event",
    "ExperimentalConfig",
    "ExportType",
    "HostSystem",
    "Profile",
    "Profiler",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "Tally",
    "analyse",
    "mstx",
    "profile",
    "schedule",
    "tensorboard_trace_handler",
]
