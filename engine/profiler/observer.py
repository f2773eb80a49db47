"""Watching the engine: nothing of this is in its way while no profiler is on.

Ops are told of by a record, as gradients are made from one, so that the quick ways of ops stay
quick. What is timed as a whole (compiled calls, gradients, updates, plans, Cells) has its function
replaced while a profiler is on; inside of it the record is put aside.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import tensor as tensors
from ..autograd import products, transforms
from ..compiler import in_place
from ..compiler.graph_op import GraphOp
from ..compiler.in_place import WritePlan
from ..compiler.jitted import Jitted
from ..compiler.runs import Plan
from ..compiler.traced import user_location
from ..nn.cell import Cell
from ..ops import registry
from ..ops.registry import OPS, Entry
from .events import Event, Profile

now = time.perf_counter_ns
REPEATS = 2
"""How often a kernel runs again at its first sight, to learn how much of the time is its own."""


class _Entries(list[Any]):
    """The entries of a record that keeps none and tells of each."""

    def __init__(self, tell: Callable[[Entry], None]) -> None:
        super().__init__()
        self.append = tell  # pyright: ignore[reportAttributeAccessIssue]


class Observer:
    """Takes down what one thread does, between ``install`` and ``remove``.

    Parameters
    ----------
    profile : Profile
        Where it is taken down.
    memory : bool
        Whether the memory of ops' results is followed.
    shapes : bool
        Whether events tell shapes and element types.
    """

    def __init__(self, profile: Profile, memory: bool = False, shapes: bool = True) -> None:
        self.profile = profile
        self.step = 0
        self.paused = False
        self.shapes = shapes
        self.entries: list[Any] = _Entries(self._op_ran)
        self._last = 0
        self._kernels: dict[Any, int] = {}
        self._swapped: list[tuple[Any, str, Any]] = []
        self._alive = 0
        self._memory = memory
        self._held: dict[int, weakref.ref[np.ndarray]] = {}
        self._plans: dict[int, tuple[str, Any]] = {}
        self._thread = threading.get_ident()

    # what a record is asked for

    def note_write(self, tensor: Any, before: Any = None, part: Any = None) -> None:
        """Writes take no part in a profile."""

    def _op_ran(self, entry: Entry) -> None:
        end = now()
        if not self.paused:
            kernel = self._kernel_time(entry)
            name = entry.op.name
            self._add(Event("op", name, self._last, end, min(kernel, end - self._last), self.step,
                            self._detail(entry)))  # fmt: skip
            if self._memory:
                self._follow(entry)
        self._last = now()

    def _detail(self, entry: Entry) -> tuple[tuple[str, str], ...]:
        if not self.shapes:
            return ()
        sides = (("inputs", entry.inputs), ("outputs", entry.outputs))
        return tuple((side, ", ".join(str(t.aval) for t in given)) for side, given in sides)

    def _kernel_time(self, entry: Entry) -> int:
        """The time of the op's arithmetic on arrays like these, measured at their first sight."""
        op = entry.op
        if OPS.get(op.name) is not op:
            return 0
        arrays = tuple(t.data for t in entry.inputs)
        key = (op, tuple([(a.shape, a.dtype) for a in arrays]), tuple(entry.attrs.items()))
        known = self._kernels.get(key)
        if known is None:
            known = self._kernels[key] = self._measured(entry, arrays)
        return known

    @staticmethod
    def _measured(entry: Entry, arrays: tuple[np.ndarray, ...]) -> int:
        run = registry.find_kernel(entry.op, entry.inputs, entry.attrs)
        best = -1
        for _ in range(1 + REPEATS):  # the first one may have to compile
            started = now()
            if run is None:
                registry.run_kernel(entry.op, arrays, entry.attrs)
            else:
                run(arrays)
            took = now() - started
            best = took if best < 0 else min(best, took)
        return best

    def _follow(self, entry: Entry) -> None:
        """Count the bytes of the op's results until they are freed."""
        for output in entry.outputs:
            array = output.data
            number = id(array)
            if array.base is not None or number in self._held:
                continue
            size = array.nbytes
            self._alive += size
            self._held[number] = weakref.ref(array, lambda _, n=number, s=size: self._freed(n, s))
        self.profile.memory.append((now(), self._alive))

    def _freed(self, number: int, size: int) -> None:
        self._held.pop(number, None)
        self._alive -= size

    def _add(self, event: Event) -> None:
        self.profile.events.append(event)

    # what is timed as a whole

    def mark(self, kind: str, name: str, start: int, detail: str = "", first: int = -1) -> None:
        """Take down something that began at `start` and ends now.

        Its kernel time is that of the ops and plans from the event number `first` on.
        """
        end = now()
        if self.paused:
            return
        extra = (("detail", detail),) if detail else ()
        inner = self.profile.events[first:] if first >= 0 else []
        kernel = sum(event.kernel for event in inner if event.kind in ("op", "plan"))
        self._add(Event(kind, name, start, end, min(kernel, end - start), self.step, extra))

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Run the body without being told of ops, which run as they do without a profiler."""
        if self not in registry.active_records():
            yield
            return
        registry.end_record(self)
        try:
            yield
        finally:
            registry.start_record(self)
            self._last = now()

    def _timed(self, kind: str, name: Callable[..., str], function: Any) -> Any:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if self not in registry.active_records():  # another thread, or inside of such a call
                return function(*args, **kwargs)
            start, first = now(), len(self.profile.events)
            with self._aside():
                try:
                    return function(*args, **kwargs)
                finally:
                    self.mark(kind, name(*args), start, "", first)

        return timed

    def _timed_cell(self, function: Any) -> Any:
        def timed(cell: Any, *args: Any, **kwargs: Any) -> Any:
            if self not in registry.active_records():
                return function(cell, *args, **kwargs)
            start, first = now(), len(self.profile.events)
            try:
                return function(cell, *args, **kwargs)
            finally:
                self.mark("cell", type(cell).__name__, start, "", first)

        return timed

    def _timed_plan(self, function: Any) -> Any:
        def timed(plan: Any, *args: Any) -> Any:
            start = now()
            result = function(plan, *args)
            end = now()
            if not self.paused and threading.get_ident() == self._thread:
                name = self._plan_name(plan)
                detail = f"{len(plan.report.kernels)} kernels"
                self._add(
                    Event("plan", name, start, end, end - start, self.step, (("detail", detail),))
                )
            return result

        return timed

    def _plan_name(self, plan: Any) -> str:
        found = self._plans.get(id(plan))
        if found is None:
            name = f"plan{len(self._plans)}"
            found = self._plans[id(plan)] = (name, plan)  # held, so that its number stays its own
            self.profile.reports[name] = str(plan.report)
        return found[0]

    # on and off

    def install(self) -> None:
        """Begin to watch this thread."""
        self._swap(Jitted, "__call__", self._timed("jit", _jit_name, Jitted.__call__))
        gradients = self._timed("gradient", lambda *_: "gradients", transforms.gradients)
        for module in (transforms, products):
            self._swap(module, "gradients", gradients)
        update = self._timed("update", _update_name, in_place.write_in_place)
        self._swap(in_place, "write_in_place", update)
        self._swap(
            GraphOp, "__call__", self._timed("jit", lambda op, *_: op.name, GraphOp.__call__)
        )
        self._swap(Plan, "run", self._timed_plan(Plan.run))
        self._swap(WritePlan, "run_native", self._timed_plan(WritePlan.run_native))
        self._swap(Cell, "__call__", self._timed_cell(Cell.__call__))
        self._swap(tensors, "syncs", _WatchedSyncs(tensors.syncs, self))
        registry.start_record(self)
        self._last = now()

    def remove(self) -> None:
        """Cease to watch; everything is as it was."""
        if self in registry.active_records():
            registry.end_record(self)
        for owner, name, before in reversed(self._swapped):
            setattr(owner, name, before)
        self._swapped.clear()

    def _swap(self, owner: Any, name: str, instead: Any) -> None:
        self._swapped.append((owner, name, getattr(owner, name)))
        setattr(owner, name, instead)


class _WatchedSyncs:
    """Counts synchronisations where they are counted, and takes down each."""

    def __init__(self, counter: Any, observer: Observer) -> None:
        self._counter, self._observer = counter, observer

    @property
    def count(self) -> int:
        """How many there were."""
        return self._counter.count

    @count.setter
    def count(self, value: int) -> None:
        self._counter.count = value
        if self._observer in registry.active_records():
            self._observer.mark("sync", "read back", now(), user_location())


def _jit_name(compiled: Any, *_: Any) -> str:
    function = compiled.function
    return getattr(function, "__name__", type(function).__name__)


def _update_name(plans: Any, function: Any, given: Any) -> str:
    owner = getattr(function, "__self__", None)
    return "optimizer" if owner is None else type(owner).__name__
