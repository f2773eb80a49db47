"""Profiling a training that runs already: a file says which steps, and may change meanwhile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .session import Profiler

FILE = "profiler_config.json"
DEFAULTS: dict[str, Any] = {
    "start_step": -1, "stop_step": -1, "aic_metrics": "AiCoreNone", "profiler_level": "Level0",
    "activities": ["CPU", "NPU"], "export_type": ["text"], "profile_memory": False,
    "mstx": False, "parallel_strategy": False, "with_stack": False, "data_simplification": True,
    "l2_cache": False, "analyse_mode": 0, "analyse": True, "record_shape": False,
    "prof_path": "./data", "mstx_domain_include": [], "mstx_domain_exclude": [], "host_sys": [],
    "sys_io": False, "sys_interconnection": False,
}  # fmt: skip
"""MindSpore's settings. ``start_step``, ``stop_step``, ``profile_memory`` and ``prof_path`` are
heeded; the others concern devices that are not here, or are always so."""


class DynamicProfilerMonitor:
    """Takes down the steps that a file names, whenever the file names others.

    The file is ``profiler_config.json``; one that names no steps is made where there is none. Each
    range of steps gets a folder ``rank0_start<first>_stop<last>``.

    Parameters
    ----------
    cfg_path : str or Path
        The folder of the file.
    output_path : str or Path, optional
        The folder of the ranges' folders; by default the ``prof_path`` of the file.
    poll_interval : int
        Taken for MindSpore's scripts; the file is looked at after each step.
    **kwargs
        MindSpore's further options, which concern devices that are not here.

    Raises
    ------
    ValueError
        If the file is no JSON object, or its steps are no integers.

    Examples
    --------
    >>> monitor = DynamicProfilerMonitor(cfg_path="settings", output_path="profiles")
    >>> for batch in batches:
    ...     train(batch)
    ...     monitor.step()
    """

    def __init__(
        self,
        cfg_path: str | Path,
        output_path: str | Path | None = None,
        poll_interval: int = 2,
        **kwargs: Any,
    ) -> None:
        self._file = Path(cfg_path) / FILE
        self._output = None if output_path is None else Path(output_path)
        self._seen: tuple[int, int] | None = None
        self._settings: Mapping[str, Any] = DEFAULTS
        self._profiler: Profiler | None = None
        self._stop = 0
        self._step = 1
        """The step that runs now; the first is 1."""
        if not self._file.exists():
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(DEFAULTS, indent=2), encoding="utf-8")
        self._look()
        self._begin_if_due()

    def step(self) -> None:
        """Say that a step is done and the next one begins."""
        if self._profiler is not None:
            if self._step < self._stop:
                self._profiler.step()
            else:
                self._profiler.stop()
                self._profiler = None
        self._step += 1
        self._look()
        self._begin_if_due()

    def _look(self) -> None:
        state = self._file.stat()
        now = (state.st_mtime_ns, state.st_size)
        if now != self._seen:
            self._seen = now
            self._settings = {**DEFAULTS, **read_settings(self._file)}

    def _begin_if_due(self) -> None:
        first, last = self._settings["start_step"], self._settings["stop_step"]
        if self._profiler is not None or first != self._step or last < first:
            return
        base = Path(self._settings["prof_path"]) if self._output is None else self._output
        self._stop = last
        self._profiler = Profiler(
            base / f"rank0_start{first}_stop{last}",
            profile_memory=bool(self._settings["profile_memory"]),
        )


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a file, checked as far as they are heeded."""
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    steps = ("start_step", "stop_step")
    if not isinstance(found, dict) or any(not isinstance(found.get(s, 0), int) for s in steps):
        raise ValueError(f"{path} must be an object whose start_step and stop_step are integers.")
    return found
