"""Binding: a run of native steps becomes one call of machine code with the addresses it works on.

The last stage before a plan runs: memory and regions are settled, only arrays of a call are open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...kernels.runtime import Program, Slot, Step, build_entry
from .cutting import Region
from .graph import Value
from .native_step import NativeStep
from .runs import NativeRun, checks_in


@dataclass(slots=True)
class Run:
    """Native steps in a row, in regions, and whether several threads run them."""

    regions: list[Region]
    shared: bool

    @property
    def steps(self) -> list[NativeStep]:
        """The steps in order."""
        return [step for region in self.regions for step in region.steps]


@dataclass(frozen=True, slots=True)
class PlanMemory:
    """Where the values of a plan are: in the arrays of a call, or in the plan's own arena."""

    slots: Mapping[Value, int]
    """Places in the list of a call's arrays."""
    arena: np.ndarray
    offsets: Mapping[Value, int]
    """Bytes from the arena's first byte."""
    whole: bool
    """Whether a run takes that list as it stands, so that no call has to pick arrays out."""


class _Buffers:
    """How the machine code of one run finds its buffers: by arrays it is given, or addresses."""

    def __init__(self, memory: PlanMemory) -> None:
        self.memory = memory
        self.start: int = memory.arena.__array_interface__["data"][0]
        self.slots: list[int] = list(range(len(memory.slots))) if memory.whole else []
        self.fixed: list[np.ndarray | int] = []
        self.places: dict[Value | int, Slot] = {}

    def place(self, buffer: Value | int) -> Slot:
        """Return where a buffer is found."""
        found = self.places.get(buffer)
        if found is None:
            found = self.places[buffer] = self._placed(buffer)
        return found

    def _placed(self, buffer: Value | int) -> Slot:
        memory = self.memory
        if isinstance(buffer, Value) and buffer in memory.slots:
            slot = memory.slots[buffer]
            if memory.whole:
                return Slot("array", slot)
            self.slots.append(slot)
            return Slot("array", len(self.slots) - 1)
        address = buffer if isinstance(buffer, int) else self.start + memory.offsets[buffer]
        self.fixed.append(address)
        return Slot("fixed", len(self.fixed) - 1)


def bind(run: Run, memory: PlanMemory, threads: int) -> NativeRun:
    """Return a run ready to be called; compile its machine code where it is not on disk."""
    buffers = _Buffers(memory)
    program: list[Step] = []
    ints: dict[str, int] = {}
    cut_steps = {id(s) for r in run.regions if run.shared and r.cut for s in r.steps}
    for step in run.steps:
        names = tuple(f"n{len(ints) + i}" for i in range(len(step.ints)))
        ints.update(zip(names, step.ints, strict=True))
        places = tuple(map(buffers.place, step.buffers))
        rows = step.rows if id(step) in cut_steps else None
        stop = None if step.check is None else buffers.place(step.check.status)
        program.append(Step(step.kernel.name, places, names, rows, stop))
    buffers.fixed.append(memory.arena)  # which lives as long as the machine code is bound to it
    kernels = {step.kernel.name: step.kernel for step in run.steps}
    entry = build_entry(
        Program(
            "plan", len(buffers.slots), len(buffers.fixed), tuple(ints), tuple(program),
            threads if run.shared else 1,
            tuple(len(region.steps) for region in run.regions) if run.shared else (),
        ),
        list(kernels.values()),
    )  # fmt: skip
    checks = [(memory.offsets[c.status], c.error, c.text) for s in run.steps if (c := s.check)]
    bound = entry.bind(buffers.fixed, ints)
    return NativeRun(bound, tuple(buffers.slots), checks_in(memory.arena, checks))
