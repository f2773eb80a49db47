"""A profile as files: tables with commas, and a trace that Chrome and Perfetto show."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .events import Event, Profile, Tally, ranking

MICROSECOND = 1e3  # nanoseconds
ROWS = {"op": 1, "cell": 2, "jit": 3, "gradient": 3, "update": 3, "plan": 4, "sync": 5, "range": 6}
"""In which row of the trace events of a kind are drawn."""
ROW_NAMES = {1: "ops", 2: "Cells", 3: "compiled, gradients, updates", 4: "plans", 5: "syncs",
             6: "ranges"}  # fmt: skip


def write_profile(folder: Path, profile: Profile, metadata: dict[str, str]) -> list[Path]:
    """Write all files of a profile and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {
        "op_statistic.csv": _op_statistic(profile),
        "kernel_details.csv": _kernel_details(profile),
        "step_trace_time.csv": _step_times(profile),
        "api_statistic.csv": _api_statistic(profile),
    }
    if profile.memory:
        tables["memory_record.csv"] = _memory(profile)
    written = []
    for name, rows in tables.items():
        with open(folder / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
        written.append(folder / name)
    trace = folder / "trace_view.json"
    trace.write_text(json.dumps(chrome_trace(profile, metadata)), encoding="utf-8")
    return [*written, trace]


Rows = list[list[Any]]


def _micro(nanoseconds: float) -> float:
    return round(nanoseconds / MICROSECOND, 3)


def _op_statistic(profile: Profile) -> Rows:
    tallies = ranking(profile.of("op"))
    whole = sum(tally.total for tally in tallies) or 1
    rows: Rows = [
        ["Device_id", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)",
         "Avg Time(us)", "Max Time(us)", "Ratio(%)", "Host Time(us)", "Kernel Time(us)"]
    ]  # fmt: skip
    for tally in tallies:
        ratio = round(100 * tally.total / whole, 3)
        rows.append(["0", tally.name, "CPU", *_times(tally), ratio, _micro(tally.host),
                     _micro(tally.kernel)])  # fmt: skip
    return rows


def _times(tally: Tally) -> list[Any]:
    times = (tally.total, tally.least, tally.total / max(tally.count, 1), tally.most)
    return [tally.count, *map(_micro, times)]


def _kernel_details(profile: Profile) -> Rows:
    rows: Rows = [
        ["Step Id", "Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)",
         "Kernel Time(us)", "Inputs", "Outputs"]
    ]  # fmt: skip
    for event in profile.of("op", "plan"):
        detail = dict(event.detail)
        rows.append(
            [event.step, event.name, event.kind, "CPU", _micro(event.start - profile.started),
             _micro(event.duration), _micro(event.kernel),
             detail.get("inputs", detail.get("detail", "")), detail.get("outputs", "")]
        )  # fmt: skip
    return rows


def _api_statistic(profile: Profile) -> Rows:
    rows: Rows = [["Level", "API Name", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)",
                   "Max Time(us)"]]  # fmt: skip
    for kind in ("cell", "jit", "gradient", "update", "plan", "sync", "range"):
        rows += [[kind, tally.name, *_times(tally)] for tally in ranking(profile.of(kind))]
    return rows


def _step_times(profile: Profile) -> Rows:
    """Of each step: what was arithmetic, what the host did, and what nobody saw."""
    rows: Rows = [["Device_id", "Step", "Computing(us)", "Host(us)", "Free(us)", "Stage(us)",
                   "Syncs", "Ops", "Plans"]]  # fmt: skip
    for number, start, end in profile.steps:
        events = [event for event in profile.events if event.step == number]
        ops = [event for event in events if event.kind == "op"]
        plans = [event for event in events if event.kind == "plan"]
        wholes = [event for event in events if event.kind in ("jit", "gradient", "update")]
        computing = sum(event.kernel for event in (*ops, *plans))
        seen = covered([*ops, *plans, *wholes], start, end)
        rows.append(
            ["0", number, _micro(computing), _micro(max(seen - computing, 0)),
             _micro(max(end - start - seen, 0)), _micro(end - start),
             sum(event.kind == "sync" for event in events), len(ops), len(plans)]
        )  # fmt: skip
    return rows


def covered(events: Iterable[Event], start: int, end: int) -> int:
    """Return how many nanoseconds of a stretch lie in at least one event."""
    total, reached = 0, start
    for first, last in sorted((event.start, event.end) for event in events):
        total += max(0, min(last, end) - max(first, reached))
        reached = max(reached, last)
    return total


def _memory(profile: Profile) -> Rows:
    rows: Rows = [["Timestamp(us)", "Total Allocated(KB)"]]
    rows += [[_micro(at - profile.started), round(size / 1024, 3)] for at, size in profile.memory]
    return rows


def chrome_trace(profile: Profile, metadata: dict[str, str]) -> dict[str, Any]:
    """Return a profile in the Trace Event Format.

    References
    ----------
    Google, Trace Event Format, https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
    """
    process = os.getpid()
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": process, "tid": row, "args": {"name": name}}
        for row, name in ROW_NAMES.items()
    ]
    for event in profile.events:
        arguments: dict[str, Any] = {"step": event.step, **dict(event.detail)}
        if event.kind == "op":
            arguments["kernel_us"] = _micro(event.kernel)
        events.append(
            {"ph": "X", "name": event.name, "cat": event.kind, "pid": process,
             "tid": ROWS[event.kind], "ts": _micro(event.start - profile.started),
             "dur": _micro(event.duration), "args": arguments}
        )  # fmt: skip
    for name, counts in (("results", profile.memory), ("process", profile.resident)):
        events += [
            {"ph": "C", "name": f"memory of {name}", "pid": process,
             "ts": _micro(at - profile.started), "args": {"bytes": size}}
            for at, size in counts
        ]  # fmt: skip
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": dict(metadata)}
