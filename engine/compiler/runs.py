"""Plans as they run: native runs and host calls over the arrays of one call.

What all stages end in: the planner makes a `Plan`, or `kept_plans.py` finds it on disk.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from ...kernels.runtime import Bound
from .graph import Graph, Node, Value, run_node
from .memory import aligned_start
from .report import Report

_locks: Final[weakref.WeakSet[threading.Lock]] = weakref.WeakSet()


def _new_lock() -> threading.Lock:
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def _release_locks() -> None:
    """In a forked child none of the threads lives on that ran a plan in the parent."""
    for lock in list(_locks):
        if lock.locked():
            lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_locks)


ERRORS: Final[dict[str, type[Exception]]] = {"IndexError": IndexError, "ValueError": ValueError}


@dataclass(frozen=True, slots=True)
class RunCheck:
    """Two whole numbers in the arena, ``offset`` bytes from where it is aligned.

    The first is negative unless something is wrong; the second is what ``text`` names.
    """

    offset: int
    error: str
    text: str
    status: np.ndarray | None = None

    def of(self, arena: np.ndarray) -> RunCheck:
        """Return the check of a plan with that arena."""
        start = aligned_start(arena) + self.offset
        return replace(self, status=arena[start : start + 16].view(np.int64))

    def __call__(self) -> None:
        """Raise the error if something is wrong."""
        assert self.status is not None
        if self.status[0] >= 0:
            raise ERRORS[self.error](self.text.format(self.status[1]))


def checks_in(arena: np.ndarray, found: Sequence[tuple[int, str, str]]) -> tuple[RunCheck, ...]:
    """Return the checks whose numbers lie so many bytes from an arena's start."""
    start = aligned_start(arena)
    return tuple(RunCheck(at - start, error, text).of(arena) for at, error, text in found)


@dataclass(slots=True)
class NativeRun:
    """Native steps in a row: one call of machine code with these arrays of the call.

    What its kernels found out is looked at before anything else runs.
    """

    bound: Bound
    slots: tuple[int, ...]
    checks: tuple[RunCheck, ...] = ()


@dataclass(slots=True)
class HostCall:
    """One op run by its NumPy kernel."""

    node: Node
    reads: tuple[Reader, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reader:
    """How an array is taken from the call's list: as it is, or as a strided view of it."""

    slot: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    offset: int = 0

    def __call__(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        array = arrays[self.slot]
        if self.strides is None:
            return array
        flat = array.reshape(-1)[self.offset :]
        strides = tuple(s * array.itemsize for s in self.strides)
        return np.lib.stride_tricks.as_strided(flat, self.shape, strides)


@dataclass(slots=True)
class Tap:
    """After which part of the plan a tapped value is ready, and how to read it."""

    value: Value
    after: int
    read: Reader


@dataclass(slots=True)
class Plan:
    """A compiled graph: ``plan(*arrays)`` returns the outputs as a tuple of new arrays.

    One plan runs one call at a time; a second thread waits.
    """

    graph: Graph
    report: Report
    parts: list[NativeRun | HostCall]
    inputs: tuple[tuple[tuple[int, ...], np.dtype], ...]
    made: tuple[tuple[tuple[int, ...], np.dtype], ...]
    shared: list[np.ndarray]
    results: tuple[Reader, ...]
    copies: frozenset[int]
    taps: tuple[Tap, ...] = ()
    in_place: dict[int, int] = field(default_factory=dict)
    """Which of ``made`` share their memory with which inputs."""
    settled: frozenset[int] = frozenset()
    """Outputs that lie in the memory of the input that they are written to."""
    direct: Bound | None = None
    lock: threading.Lock = field(default_factory=_new_lock)
    arena: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint8), repr=False)
    """The memory that the values in between share."""

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.run(self._checked(arrays))

    def run(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Run on arrays known to be C-contiguous, of the plan's shapes and dtypes."""
        slots = self._start(arrays)
        with self.lock:
            if self.direct is not None:
                self.direct(*slots)
            else:
                for part in self.parts:
                    _run(part, slots)
        return self._finish(slots)

    def segments(self, *arrays: np.ndarray) -> Iterator[tuple[Value, np.ndarray]]:
        """Run up to each tapped value in turn and yield it before anything reads it.

        The generator's return value (``StopIteration.value``) is the tuple of outputs.
        """
        slots = self._start(self._checked(arrays))
        waiting = list(self.taps)
        for position in range(-1, len(self.parts)):
            if position >= 0:
                _run(self.parts[position], slots)
            for tap in waiting:
                if tap.after == position:
                    yield tap.value, tap.read(slots)
        return self._finish(slots)

    def _checked(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        if len(arrays) != len(self.inputs):
            raise ValueError(f"the plan takes {len(self.inputs)} arrays, {len(arrays)} were given")
        checked = []
        for array, (shape, dtype) in zip(arrays, self.inputs, strict=True):
            if array.shape != shape or array.dtype != dtype:
                raise ValueError(
                    f"the plan takes an array {dtype}{list(shape)}, {array.dtype}"
                    f"{list(array.shape)} was given"
                )
            checked.append(whole(array))
        return checked

    def _start(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        slots = [*arrays, *self.shared]
        for position, (shape, dtype) in enumerate(self.made):
            target = self.in_place.get(position)
            slots.append(np.empty(shape, dtype) if target is None else slots[target])
        return slots

    def _finish(self, slots: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        if not self.copies:
            return tuple([read(slots) for read in self.results])
        return tuple(
            read(slots).copy() if i in self.copies else read(slots)
            for i, read in enumerate(self.results)
        )


def whole(array: np.ndarray) -> np.ndarray:
    """Return the array, copied if it is not C-contiguous."""
    return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)


def _run(part: NativeRun | HostCall, slots: list[np.ndarray]) -> None:
    if isinstance(part, NativeRun):
        part.bound(*[slots[i] for i in part.slots])
        for check in part.checks:
            check()
        return
    results = run_node(part.node, [read(slots) for read in part.reads])
    for slot, result in zip(part.results, results, strict=True):
        slots[slot] = np.ascontiguousarray(result).reshape(result.shape)
