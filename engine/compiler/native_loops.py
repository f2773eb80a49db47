"""Loops whose body is one native run: all runs are one call, and no array is made in between.

What is carried lies in two buffers in turn, or, where a scan gives it for each step as well, in
the rows of one array, each run reading the row that the last one wrote.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...kernels.expressions import BOOL
from ...kernels.repeat import Moving, repeat
from ...kernels.runtime import Bound
from .access import natural_strides
from .runs import NativeRun, Plan, Reader, RunCheck, whole

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True, slots=True)
class NativeLoop:
    """A body's plan as one program, and in which slot of a call each of its results lies.

    Slots are the plan's inputs, its constants, and what it makes.
    """

    plan: Plan
    body: Bound
    carried: tuple[int, ...]
    elements: tuple[int, ...]
    checks: tuple[RunCheck, ...]

    def scan(
        self, arrays: Sequence[np.ndarray], scanned: int, length: int, backwards: bool
    ) -> Arrays:
        """Run once for each element of the scanned arrays: what is carried, then the elements."""
        call = _Call(length, backwards)
        given = [whole(array) for array in arrays]
        states = self._carry(given, call)
        ends = len(self.carried) + scanned
        for slot, array in enumerate(given[len(self.carried) : ends], len(self.carried)):
            call.along(slot, array)
        for slot, array in enumerate((*given[ends:], *self.plan.shared), ends):
            call.stay(slot, array)
        made = dict(zip(self.carried, states, strict=True))
        found = [
            self._element(number, given, ends, states, made, call)
            for number in range(len(self.elements))
        ]
        with self.plan.lock:
            repeat(self.body, call.ways(), length, checks=self._statuses())
            self._look()
        return (*(state.last(length) for state in states), *_apart(found))

    def run_while(self, test: NativeTest, arrays: Sequence[np.ndarray]) -> Arrays:
        """Run as long as the test says so; return what is carried."""
        call = _Call(0, False)
        given = [whole(array) for array in arrays]
        states = self._carry(given, call)
        for slot, array in enumerate((*given[len(states) :], *self.plan.shared), len(states)):
            call.stay(slot, array)
        first = len(call.moving)
        answer = np.zeros(1, np.bool_)
        for slot, array in enumerate((*test.plan.shared, answer), first):
            call.stay(slot, array)
        asked = (*range(len(given)), *range(first, len(call.moving)))
        with self.plan.lock, test.plan.lock:
            runs = repeat(
                self.body, call.ways(), None, test.body, asked, _address(answer), self._statuses()
            )
            self._look()
        return tuple(state.last(runs) for state in states)

    def _statuses(self) -> list[int]:
        """Return where the body writes what it found wrong; until it runs, that is nothing."""
        found = [check.status for check in self.checks if check.status is not None]
        for status in found:
            status[0] = -1
        return [_address(status) for status in found]

    def _look(self) -> None:
        """Raise the error if something was wrong in the last run."""
        for check in self.checks:
            check()

    def _carry(self, given: Sequence[np.ndarray], call: _Call) -> list[_State]:
        """Lay out what is carried."""
        states: list[_State] = []
        for slot, after in enumerate(self.carried):
            if after == slot:
                states.append(_Constant(given[slot], call))
                call.stay(slot, given[slot])
                continue
            stacked = slot in self.elements or after in self.elements
            state = (_Stacked if stacked else _Swapped)(given[slot], call)
            call.moving[slot], call.moving[after] = state.reading, state.writing
            states.append(state)
        return states

    def _element(
        self,
        number: int,
        given: Sequence[np.ndarray],
        ends: int,
        states: Sequence[_State],
        made: dict[int, _State],
        call: _Call,
    ) -> np.ndarray:
        """Return the array of one of a scan's elements; what the body makes goes there."""
        slot, length = self.elements[number], call.length
        shape = self.plan.results[len(self.carried) + number].shape
        if slot < len(states):
            return states[slot].before()
        if slot < len(given):
            return given[slot].copy() if slot < ends else _repeated(given[slot], length)
        if slot < len(given) + len(self.plan.shared):
            return _repeated(self.plan.shared[slot - len(given)], length)
        if slot in made:
            return made[slot].after().reshape(length, *shape)
        _, dtype = self.plan.made[slot - len(given) - len(self.plan.shared)]
        array = np.empty((length, *shape), dtype)
        call.along(slot, array)
        return array


@dataclass(frozen=True, slots=True)
class NativeTest:
    """A while loop's test as one program, which makes one truth value."""

    plan: Plan
    body: Bound


def native_loop(plan: Plan, carried: int) -> NativeLoop | None:
    """Return a loop over the plan, or None where its runs have to be made one by one.

    That is so where the plan has host steps, or carries on what it took in another place.
    """
    run = _only_run(plan)
    if run is None or plan.in_place:
        return None
    first = len(plan.inputs) + len(plan.shared)
    slots = [_slot(plan, read, first) for read in plan.results]
    after, elements = slots[:carried], slots[carried:]
    own = [slot for number, slot in enumerate(after) if slot != number]
    fresh = [slot for slot in elements if slot >= first and slot not in own]
    distinct = len({*own, *fresh}) == len(own) + len(fresh)
    if min(slots, default=0) < 0 or min(own, default=first) < first or not distinct:
        return None
    if len(own) + len(fresh) < len(plan.made):
        return None
    return NativeLoop(plan, run.bound, tuple(after), tuple(elements), run.checks)


def _only_run(plan: Plan) -> NativeRun | None:
    """Return the run that a plan is, if it takes all arrays of a call as they stand."""
    only = plan.parts[0] if len(plan.parts) == 1 else None
    if not isinstance(only, NativeRun):
        return None
    count = len(plan.inputs) + len(plan.shared) + len(plan.made)
    return only if only.slots == tuple(range(count)) else None


def native_test(plan: Plan) -> NativeTest | None:
    """Return a test by the plan, or None where it does not make just one truth value."""
    if plan.direct is None or plan.in_place or [dtype for _, dtype in plan.made] != [BOOL]:
        return None
    first = len(plan.inputs) + len(plan.shared)
    return NativeTest(plan, plan.direct) if plan.results[0].slot == first else None


def _slot(plan: Plan, read: Reader, first: int) -> int:
    """Return the slot whose memory is a result as it stands, or -1."""
    if read.strides is None:
        return read.slot
    if read.slot < first or read.offset or read.strides != natural_strides(read.shape):
        return -1
    return read.slot if math.prod(plan.made[read.slot - first][0]) == math.prod(read.shape) else -1


# ---- where things lie --------------------------------------------------------------------------


@dataclass(slots=True)
class _Call:
    """How the pointer of each slot moves in one call of a loop."""

    length: int
    backwards: bool
    moving: dict[int, Moving] = field(default_factory=dict)

    def stay(self, slot: int, array: np.ndarray) -> None:
        """Read the same array each time."""
        self.moving[slot] = Moving(_address(array))

    def along(self, slot: int, array: np.ndarray) -> None:
        """Go along the first axis of an array."""
        self.moving[slot] = self.rows(array, 0, self.length)

    def rows(self, array: np.ndarray, first: int, count: int) -> Moving:
        """Return the way along rows: from the ``first`` one met on, among ``count``."""
        size = array.nbytes // len(array)
        row = count - 1 - first if self.backwards else first
        return Moving.by(_address(array) + row * size, -size if self.backwards else size)

    def ways(self) -> list[Moving]:
        """Return the ways, by slot."""
        return [self.moving[slot] for slot in range(len(self.moving))]


class _State:
    """One carried value: how its pointers move while it is read and written."""

    reading: Moving
    writing: Moving

    def __init__(self, start: np.ndarray, call: _Call) -> None:
        self.start, self.call = start, call

    def last(self, runs: int) -> np.ndarray:
        """Return the value after so many runs."""
        raise NotImplementedError

    def before(self) -> np.ndarray:
        """Return the values that the runs of a scan began with."""
        raise NotImplementedError

    def after(self) -> np.ndarray:
        """Return the values that the runs of a scan ended with."""
        raise NotImplementedError


class _Constant(_State):
    """A value that is carried on as it is."""

    def last(self, runs: int) -> np.ndarray:
        return self.start.copy()

    def before(self) -> np.ndarray:
        return _repeated(self.start, self.call.length)


class _Swapped(_State):
    """A value in two buffers in turn."""

    def __init__(self, start: np.ndarray, call: _Call) -> None:
        super().__init__(start, call)
        self.buffers = np.empty_like(start), np.empty_like(start)
        at, one, two = map(_address, (start, *self.buffers))
        self.reading = Moving(at, one - at, two - one, one - two)
        self.writing = Moving(one, two - one, one - two, two - one)

    def last(self, runs: int) -> np.ndarray:
        return self.buffers[1 - runs % 2] if runs else self.start.copy()


class _Stacked(_State):
    """A value that a scan gives for each of its steps."""

    def __init__(self, start: np.ndarray, call: _Call) -> None:
        super().__init__(start, call)
        rows = call.length + 1
        self.memory = np.empty((rows, *start.shape), start.dtype)
        self.memory[rows - 1 if call.backwards else 0] = start
        self.reading = call.rows(self.memory, 0, rows)
        self.writing = call.rows(self.memory, 1, rows)

    def last(self, runs: int) -> np.ndarray:
        return self.memory[0 if self.call.backwards else runs].copy()

    def before(self) -> np.ndarray:
        return self._part(1 if self.call.backwards else 0)

    def after(self) -> np.ndarray:
        return self._part(0 if self.call.backwards else 1)

    def _part(self, first: int) -> np.ndarray:
        return self.memory[first : first + self.call.length]


def _apart(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the arrays, those copied that share memory with one before."""
    found: list[np.ndarray] = []
    for array in arrays:
        shared = any(np.may_share_memory(array, other) for other in found)
        found.append(array.copy() if shared else array)
    return found


def _repeated(array: np.ndarray, count: int) -> np.ndarray:
    return np.repeat(array[None], count, axis=0)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]
