"""Profilers: ``Profiler`` from start to stop, ``profile`` with steps and a schedule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .events import Profile, Tally, ranking
from .observer import Observer, now
from .options import ExperimentalConfig, ProfilerAction, ProfilerActivity, ProfilerLevel, Schedule
from .writing import write_profile

_active: list[_Session] = []
"""The profiler that is on; there is one at most."""


class _Session:
    """What all profilers share: on and off, steps, results, files."""

    def __init__(self, output_path: str | Path, memory: bool, shapes: bool = True) -> None:
        self.output_path = Path(output_path)
        self.result = Profile()
        self.metadata: dict[str, str] = {}
        self.files: list[Path] = []
        self._memory, self._shapes = bool(memory), shapes
        self._observer: Observer | None = None
        self._step_began = 0
        self._steps = 0

    @property
    def is_on(self) -> bool:
        """Whether it watches now."""
        return self._observer is not None

    def _begin(self, paused: bool = False) -> None:
        if _active:
            raise RuntimeError("a profiler is on already; stop it before another one starts.")
        self.result = Profile(started=now())
        self._observer = Observer(self.result, self._memory, self._shapes)
        self._observer.paused = paused
        self._observer.step = self._steps
        self._sample()
        _active.append(self)
        self._observer.install()
        self._step_began = now()

    def _end(self) -> None:
        assert self._observer is not None
        self._end_step()
        self._observer.remove()
        _active.remove(self)
        self._observer = None
        self.result.ended = now()
        self._sample()

    def _end_step(self) -> None:
        assert self._observer is not None
        if not self._observer.paused:
            self.result.steps.append((self._steps, self._step_began, now()))
            self._sample()
        self._step_began = now()

    def _sample(self) -> None:
        self.result.resident.append((now(), resident_bytes()))

    def write(self) -> list[Path]:
        """Write the files of what was seen, and return their paths."""
        self.files = write_profile(self.output_path, self.result, self.metadata)
        return self.files

    def add_metadata(self, key: str, value: str) -> None:
        """Keep a word with the trace."""
        self.metadata[str(key)] = str(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Keep a JSON text with the trace."""
        self.metadata[str(key)] = str(value)

    def op_ranking(self) -> list[Tally]:
        """The ops of a finished profile, what took longest first."""
        return ranking(self.result.of("op"))

    def summary(self, rows: int = 15) -> str:
        """The longest ops and calls as a table to be printed."""
        lines = [
            f"{'':12} {'name':24} {'count':>7} {'total µs':>10} {'host µs':>10} {'kernel µs':>10}"
        ]
        for kind in ("op", "jit", "gradient", "update", "plan", "cell"):
            for tally in ranking(self.result.of(kind))[:rows]:
                times = (tally.total, tally.host, tally.kernel)
                shown = " ".join(f"{value / 1e3:10.1f}" for value in times)
                lines.append(f"{kind:12} {tally.name[:24]:24} {tally.count:7} {shown}")
        lines.append(f"syncs {self.result.syncs}, steps {len(self.result.steps)}")
        return "\n".join(lines)


class Profiler(_Session):
    """Takes down what runs between its start and its stop, and writes it to files.

    The files are ``op_statistic.csv``, ``kernel_details.csv``, ``step_trace_time.csv``,
    ``api_statistic.csv`` and ``trace_view.json``, which Chrome's and Perfetto's viewers show. It
    watches the thread that starts it.

    Parameters
    ----------
    output_path : str or Path
        The folder of the files.
    profiler_level : ProfilerLevel, optional
        Taken for MindSpore's scripts; everything is taken down.
    activities : list of ProfilerActivity, optional
        Taken for MindSpore's scripts; the CPU is watched.
    start_profile : bool
        Whether it starts at once.
    profile_memory : bool
        Whether the memory of ops' results is followed.
    **options
        MindSpore's further options, which concern devices that are not here.

    Raises
    ------
    RuntimeError
        If another profiler is on.

    Examples
    --------
    >>> profiler = cw.Profiler(output_path="profile")
    >>> train(net)
    >>> profiler.stop()
    """

    def __init__(
        self,
        output_path: str | Path = "./data",
        profiler_level: ProfilerLevel | None = None,
        activities: list[ProfilerActivity] | None = None,
        start_profile: bool = True,
        profile_memory: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(output_path, profile_memory)
        self.options = {"profiler_level": profiler_level, "activities": activities, **options}
        if start_profile:
            self.start()

    def start(self) -> None:
        """Begin to watch.

        Raises
        ------
        RuntimeError
            If a profiler is on already.
        """
        self._begin()

    def stop(self) -> None:
        """Cease to watch, and write the files.

        Raises
        ------
        RuntimeError
            If it is not on.
        """
        if not self.is_on:
            raise RuntimeError("the profiler is not on; start() it before it is stopped.")
        self._end()
        self.write()

    def analyse(self, **options: Any) -> None:
        """Write the files; a profiler that is still on is stopped first."""
        if self.is_on:
            self._end()
        self.write()

    def step(self) -> None:
        """Say that a step is done and the next one begins."""
        if self._observer is not None:
            self._end_step()
            self._steps += 1
            self._observer.step = self._steps

    def __enter__(self) -> Self:
        if not self.is_on:
            self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.is_on:
            self.stop()


class profile(_Session):  # noqa: N801 - MindSpore's name of it
    """Takes down steps of a program by a schedule, and hands each round to a function.

    Parameters
    ----------
    activities : list of ProfilerActivity, optional
        Taken for MindSpore's scripts; the CPU is watched.
    with_stack : bool
        Taken for MindSpore's scripts; syncs tell the line they come from.
    profile_memory : bool
        Whether the memory of ops' results is followed.
    data_process, parallel_strategy, hbm_ddr, pcie : bool
        Taken for MindSpore's scripts.
    start_profile : bool
        Whether it starts at once; in a ``with`` statement it starts there.
    sync_enable : bool
        Taken for MindSpore's scripts; ops are done when they return.
    schedule : callable, optional
        Gives the action of a step's number; see ``schedule``. By default all steps are taken down.
    on_trace_ready : callable, optional
        Called with this object when a round is done; by default its files are written.
    experimental_config : _ExperimentalConfig, optional
        Taken for MindSpore's scripts.
    output_path : str or Path
        The folder of the files.

    Raises
    ------
    RuntimeError
        If another profiler is on.
    """

    def __init__(
        self,
        *,
        activities: list[ProfilerActivity] | None = None,
        with_stack: bool = False,
        profile_memory: bool = False,
        data_process: bool = False,
        parallel_strategy: bool = False,
        start_profile: bool = False,
        hbm_ddr: bool = False,
        pcie: bool = False,
        sync_enable: bool = True,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        experimental_config: ExperimentalConfig | None = None,
        output_path: str | Path = "./data",
    ) -> None:
        super().__init__(output_path, profile_memory)
        self.schedule = schedule
        self.on_trace_ready = on_trace_ready
        if start_profile:
            self.start()

    def start(self) -> None:
        """Begin, as the schedule says.

        Raises
        ------
        RuntimeError
            If a profiler is on already.
        """
        action = self._action(self._steps)
        if action is not ProfilerAction.NONE:
            self._begin(action is ProfilerAction.WARM_UP)

    def step(self) -> None:
        """Say that a step is done and the next one begins."""
        before, self_on = self._action(self._steps), self._observer
        if self_on is not None:
            self._end_step()
        self._steps += 1
        if before is ProfilerAction.RECORD_AND_SAVE and self._observer is not None:
            self._finish()
        after = self._action(self._steps)
        if after is ProfilerAction.NONE:
            return
        if self._observer is None:
            self._begin(after is ProfilerAction.WARM_UP)
        self._observer_now().paused = after is ProfilerAction.WARM_UP
        self._observer_now().step = self._steps

    def stop(self) -> None:
        """End, and hand over what was taken down since the last round."""
        if self._observer is not None:
            whole = self.schedule is None or self.result.events
            self._end()
            if whole:
                self._hand_over()

    def analyse(self) -> None:
        """Write the files of the last round."""
        self.write()

    def _finish(self) -> None:
        observer = self._observer_now()
        observer.paused = True  # the step is counted already
        self._end()
        self._hand_over()

    def _hand_over(self) -> None:
        if self.on_trace_ready is None:
            self.write()
        else:
            self.on_trace_ready(self)

    def _observer_now(self) -> Observer:
        assert self._observer is not None
        return self._observer

    def _action(self, step: int) -> ProfilerAction:
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(step)

    def __enter__(self) -> Self:
        if not self.is_on:
            self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def tensorboard_trace_handler(
    dir_name: str | Path | None = None,
    worker_name: str | None = None,
    analyse_flag: bool = True,
    async_mode: bool = False,
) -> Callable[[profile], None]:
    """Return a function for ``on_trace_ready`` that writes each round into a folder of its own.

    Parameters
    ----------
    dir_name : str or Path, optional
        The folder of the rounds' folders, by default the profiler's.
    worker_name : str, optional
        How the rounds' folders begin.
    analyse_flag, async_mode : bool
        Taken for MindSpore's scripts: files are written, and at once.

    Returns
    -------
    callable
        Writes the files of a profiler.
    """
    rounds = [0]

    def write(profiler: profile) -> None:
        base = profiler.output_path if dir_name is None else Path(dir_name)
        folder = base / f"{worker_name or 'cellwire'}_{rounds[0]}"
        rounds[0] += 1
        profiler.files = write_profile(folder, profiler.result, profiler.metadata)

    return write


def analyse(
    profiler_path: str | Path,
    max_process_number: int | None = None,
    pretty: bool = False,
    step_list: list[int] | None = None,
    data_simplification: bool = True,
) -> None:
    """Make sure that a profile's files are there; they are written when the profiler stops.

    Parameters
    ----------
    profiler_path : str or Path
        The folder of a profile, or of several.
    max_process_number : int, optional
        Taken for MindSpore's scripts.
    step_list : list of int, optional
        Taken for MindSpore's scripts.
    pretty, data_simplification : bool
        Taken for MindSpore's scripts, whose files are worked out afterwards.

    Raises
    ------
    FileNotFoundError
        If no profile is in the folder.
    """
    if not any(Path(profiler_path).rglob("trace_view.json")):
        raise FileNotFoundError(
            f"analyse: there is no profile in {profiler_path}; a profiler that was stopped leaves"
            " trace_view.json there."
        )


def active_observer() -> Observer | None:
    """Return what watches now, or None."""
    return _active[-1]._observer if _active else None


def resident_bytes() -> int:
    """Return the bytes of memory that the process holds; 0 where the system does not tell."""
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        return 0
    import os

    return int(statistics.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
