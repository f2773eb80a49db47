"""Planning: groups become kernels, values get memory, and native steps are bound into runs.

The stage after fusion: `lower.py`, `gemm.py` and the native families make the kernels, `cutting.py`
regions for threads, `arena.py` the memory, `binding.py` the runs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...kernels.native import Kernel, account
from ...kernels.runtime import Bound, Rows
from ...kernels.workers import thread_count
from ..dtype import dtype_of
from ..ops.registry import Host
from ..shape import Aval
from .access import Access, access_of
from .arena import arena_offsets, overwrites
from .binding import PlanMemory, Run, bind
from .cutting import cut
from .debug import show
from .fuse import Fuser, Fusion, Group
from .gemm import Epilogue, lower_gemm
from .graph import Node, Value
from .lower import lower_space
from .memory import ALIGNMENT, aligned_start
from .native_families import native_op
from .native_ops import KernelStep, Setting
from .native_step import NativeStep
from .report import HostStep, KernelReport, Report
from .runs import HostCall, NativeRun, Plan, Reader, Tap
from .space import Space
from .write_back import copy_kernel

DIRECT_SLOTS = 1 << 14
"""Plans with more arrays than this pass only those that a run needs."""


class Planner:
    """Turns groups into a plan: lowers kernels, assigns memory, binds addresses."""

    def __init__(
        self,
        fusion: Fusion,
        fuser: Fuser,
        results: int,
        tapped: dict[Value, Value],
        writes: dict[int, int],
        given: frozenset[int],
    ) -> None:
        self.fusion = fusion
        self.fuser = fuser
        self.graph = fusion.graph
        self.result_count = results
        self.tapped = tapped
        self.writes = writes
        self.given = given
        self.slot: dict[Value, int] = {}
        self.made: list[Value] = []
        self.kernels: dict[str, Kernel] = {}
        self.report = Report()
        self.over: dict[int, int] = {}
        """Outputs (by position) that a step writes over an input (by position)."""
        self.backs: dict[int, int] = {}
        """Outputs that are copied over an input when all steps are done."""
        self.memory: dict[Value, Value] = {}
        """The inputs that values are written over."""
        self.steps: list[NativeStep | Group] = []
        """All steps, the last copies included."""
        self.alone = False
        """Whether the plan is one native run, which takes a call's arrays as they stand."""
        self.threads = thread_count()
        places = (self._base, self._access, self._temporary, self._constant)
        self.setting = Setting(*places, fuser.is_read, self.threads, {})

    def build(self) -> Plan:
        """Return the plan."""
        return self.plan(self.lowered())

    def lowered(self) -> list[NativeStep | Group]:
        """Return the steps in order; their kernels are noted."""
        return [step for group in self.fusion.groups for step in self._lower(group)]

    def plan(self, steps: list[NativeStep | Group]) -> Plan:
        """Return the plan of these steps: whose memory is where, and which run as one."""
        self._find_in_place(steps)
        self._assign_slots(steps)
        steps = [*steps, *self._write_backs()]
        self.steps = steps
        runs = self._runs(steps)
        arena, offsets = self._assign_arena(runs)
        hosts = any(isinstance(step, Group) for step in steps)
        self.alone = not hosts and not self.tapped and len(self.slot) <= DIRECT_SLOTS
        parts, ends = self._parts(runs, PlanMemory(self.slot, arena, offsets, self.alone))
        constants = list(self.graph.constants.values())
        self._fill_report(steps)
        self.report.native_runs = sum(isinstance(p, NativeRun) for p in parts)
        outputs = [self._result(i) for i in range(len(self.graph.outputs))]
        places = {value: place for place, value in enumerate(self.made)}
        shared = [np.ascontiguousarray(a).reshape(a.shape) for a in constants]
        first_made = len(self.graph.inputs) + len(shared)
        return Plan(
            self.graph,
            self.report,
            parts,
            tuple(_spec(v) for v in self.graph.inputs),
            tuple(_spec(v) for v in self.made),
            shared,
            tuple(outputs[: self.result_count]),
            self._copied(outputs[: self.result_count], first_made),
            tuple(
                Tap(original, self._ready(value, ends), self._reader(value))
                for original, value in self.tapped.items()
            ),
            in_place={places[self.graph.outputs[i]]: t for i, t in self.over.items()},
            settled=frozenset((*self.over, *self.backs)),
            direct=self._direct(parts),
            arena=arena,
        )

    def _direct(self, parts: Sequence[NativeRun | HostCall]) -> Bound | None:
        """Return the one run that a plan is, if nothing has to be looked at after it."""
        only = parts[0] if self.alone and len(parts) == 1 else None
        return only.bound if isinstance(only, NativeRun) and not only.checks else None

    # -- steps -------------------------------------------------------------------------------

    def _lower(self, group: Group) -> Sequence[NativeStep | Group]:
        if group.kind == "loop" and group.space is not None:
            made = [self._lower_loop(group, group.space)]
        elif group.kind == "gemm":
            product = self._lower_gemm(group)
            if product is None:
                group.kind = "host"
                group.reason = f"no native {group.nodes[0].op.name} for these shapes and dtypes"
                return [group]
            made = [product]
        elif (native := native_op(group.nodes[0])) is not None:
            made = native.lower(group.nodes[0], replace(self.setting, nodes=tuple(group.nodes)))
        else:
            return [group]
        for step in made:
            known = self.kernels.setdefault(step.kernel.name, step.kernel)
            if type(known) is not type(step.kernel):
                raise RuntimeError(f"two kernels are called {known.name}")
        return [NativeStep.of(step, group) for step in made]

    def _lower_loop(self, group: Group, space: Space) -> KernelStep:
        stored = self.fuser.stored(space)
        lowered = lower_space(space, stored)
        show("loops", lowered.function)
        buffers, writes = lowered.buffers, tuple(stored)
        return KernelStep(lowered.function, buffers, lowered.ints, writes, lowered.rows)

    def _temporary(self, aval: Aval) -> Value:
        """Return a value that lives in the arena for one step."""
        return Value(-1, aval)

    def _constant(self, array: np.ndarray) -> Value:
        """Return a constant of the plan; equal arrays are one."""
        key = ("constant", array.dtype.str, array.shape, array.tobytes())
        known = self.setting.shared.get(key)
        if known is None:
            known = Value(-1, Aval(array.shape, dtype_of(array.dtype)))
            self.setting.shared[key] = known
            self.graph.constants[known] = array
        return known

    def _lower_gemm(self, group: Group) -> KernelStep | None:
        product = group.nodes[0].outputs[0]
        epilogue, stored = None, [product]
        space = group.space
        if space is not None:
            stored = self.fuser.stored(space)
            over = len(stored) == 1 and stored[0].aval == product.aval
            over = over and not self._updates_what_it_reads(group, stored[0])
            epilogue = Epilogue(space, stored, product, over)
        return lower_gemm(group.nodes[0], self.fusion.accesses, epilogue, self.setting)

    def _updates_what_it_reads(self, group: Group, value: Value) -> bool:
        """Return whether ``value`` may go over an input that the group's epilogue still reads."""
        assert group.space is not None
        bases = {access.base for access in group.space.leaves.values()}
        return any(
            self.graph.outputs[output] is value and self.graph.inputs[target] in bases
            for output, target in self.writes.items()
        )

    def _assign_slots(self, steps: Sequence[NativeStep | Group]) -> None:
        """Give a place in the call's list to inputs, constants, outputs and what NumPy touches."""
        for value in (*self.graph.inputs, *self.graph.constants):
            self.slot[value] = len(self.slot)
        outputs = enumerate(self.graph.outputs)
        visible = {self._base(v) for i, v in outputs if i not in self.backs}
        for step in steps:
            if isinstance(step, Group):
                for node in step.nodes:
                    visible.update(self._base(v) for v in node.inputs)
                    visible.update(node.outputs)
        for step in steps:
            for value in _written(step):
                if value in visible and value not in self.slot:
                    self.slot[value] = len(self.slot)
                    self.made.append(value)

    def _base(self, value: Value) -> Value:
        access = self.fusion.accesses.get(value)
        return value if access is None else access.base

    def _access(self, value: Value) -> Access:
        return access_of(value, self.fusion.accesses)

    def _assign_arena(self, runs: Sequence[Run | Group]) -> tuple[np.ndarray, dict[Value, int]]:
        """Return memory that the plan keeps, and where intermediate values lie in it."""
        regions = [region for run in runs if isinstance(run, Run) for region in run.regions]
        offsets, total = arena_offsets(regions, self.slot)
        self.report.arena_bytes = total
        arena = np.empty(total + ALIGNMENT, np.uint8)
        start = aligned_start(arena)
        return arena, {value: start + offset for value, offset in offsets.items()}

    def _find_in_place(self, steps: Sequence[NativeStep | Group]) -> None:
        """Let outputs overwrite inputs: at once where nothing reads the old value afterwards."""
        makers = {value: i for i, step in reversed([*enumerate(steps)]) for value in _written(step)}
        reads: dict[Value, list[int]] = {}
        for i, step in enumerate(steps):
            for value in self._read(step):
                reads.setdefault(value, []).append(i)
        given = Counter(self.graph.outputs)
        borrowed = {self._base(value) for value in self.graph.outputs}
        # What is written before all is checked, by host steps too, would stay after an error.
        checks = [i for i, s in enumerate(steps) if isinstance(s, Group) or s.check]
        for output, target in self.writes.items():
            value, source = self.graph.outputs[output], self.graph.inputs[target]
            if value not in makers or source in borrowed:
                continue
            maker = makers[value]
            at_once = maker > max(checks, default=-1) and given[value] == 1
            at_once = at_once and not any(r > maker for r in reads.get(source, ()))
            if at_once and self._may_overwrite(steps[maker], value, source):
                self.over[output] = target
                self.memory[value] = source
            else:
                self.backs[output] = target

    def _may_overwrite(self, step: NativeStep | Group, value: Value, source: Value) -> bool:
        """Return whether a step may write ``value`` into the memory of ``source``."""
        if isinstance(step, Group) or step.group.space is None:
            return False
        if source in self._read(step) and not overwrites(step.group.space, value, source):
            return False
        return step.group.kind != "gemm" or not self._contracts(step.group, source)

    def _write_backs(self) -> list[NativeStep]:
        """Return the copies with which a plan ends."""
        made: list[NativeStep] = []
        for output, target in self.backs.items():
            value = self.graph.outputs[output]
            kernel = copy_kernel(value.aval.dtype.itemsize)
            self.kernels.setdefault(kernel.name, kernel)
            source, size = self.graph.inputs[target], value.aval.dtype.itemsize
            group, rows = Group("write back", [], 0), Rows(0, (size, size))
            count = (math.prod(value.sizes),)
            made.append(NativeStep(kernel, (value, source), count, (source,), group, rows))
        return made

    def _read(self, step: NativeStep | Group) -> set[Value]:
        if isinstance(step, NativeStep):
            return {v for v in step.buffers if isinstance(v, Value)} - set(step.writes)
        return {self._base(v) for node in step.nodes for v in node.inputs}

    def _contracts(self, group: Group, source: Value) -> bool:
        return any(self._base(v) is source for v in group.nodes[0].inputs)

    # -- parts -------------------------------------------------------------------------------

    def _runs(self, steps: Sequence[NativeStep | Group]) -> list[Run | Group]:
        """Gather native steps into runs, broken at host steps and after tapped values."""
        runs: list[Run | Group] = []
        pending: list[NativeStep] = []
        stops = {self._base(v) for v in self.tapped.values()}

        def close() -> None:
            if pending:
                regions, shared = cut(pending, self.threads, self._memory)
                runs.append(Run(regions, shared))
                pending.clear()

        for step in steps:
            if isinstance(step, Group):
                close()
                runs.append(step)
                continue
            pending.append(step)
            if stops.intersection(step.writes):
                close()
        close()
        return runs

    def _memory(self, value: Value) -> Value:
        """Return what stands for a value's memory: the input that it is written over, if any."""
        return self.memory.get(value, value)

    def _parts(
        self, runs: Sequence[Run | Group], memory: PlanMemory
    ) -> tuple[list[NativeRun | HostCall], list[int]]:
        """Bind the runs; also return for each step the part that it belongs to."""
        parts: list[NativeRun | HostCall] = []
        ends: list[int] = []
        for run in runs:
            if isinstance(run, Group):
                parts += map(self._host_call, run.nodes)
                ends.append(len(parts) - 1)
            else:
                ends += [len(parts)] * len(run.steps)
                bound = bind(run, memory, self.threads)
                self.report.compiled |= bound.bound.entry.compiled
                parts.append(bound)
        return parts, ends

    def _host_call(self, node: Node) -> HostCall:
        reads = tuple(self._reader(v) for v in node.inputs)
        return HostCall(node, reads, tuple(self.slot[v] for v in node.outputs))

    def _reader(self, value: Value) -> Reader:
        shape, _ = _spec(value)
        access = self.fusion.accesses.get(value)
        if access is None:
            return Reader(self.slot[value], shape)
        return Reader(self.slot[access.base], shape, access.strides, access.offset)

    def _result(self, output: int) -> Reader:
        """Return where an output is read: what was copied over an input is read there."""
        target = self.backs.get(output)
        value = self.graph.outputs[output] if target is None else self.graph.inputs[target]
        return self._reader(value)

    def _ready(self, value: Value, ends: Sequence[int]) -> int:
        base, ready = self._base(value), -1
        if base in self.graph.inputs:
            return ready
        for step, end in zip(self.steps, ends, strict=True):
            if base in _written(step):
                ready = end
        return ready

    def _copied(self, outputs: Sequence[Reader], first_made: int) -> frozenset[int]:
        """Return the outputs that must be copied: constants, and memory that others hold.

        An input that the caller asked for as it is comes back as it is.
        """
        copied: set[int] = set()
        seen: set[int] = set()
        inputs = len(self.graph.inputs)
        for position, read in enumerate(outputs):
            constant = inputs <= read.slot < first_made
            borrowed = read.slot < inputs and position not in self.given | self.backs.keys()
            if constant or borrowed or (read.slot in seen and read.slot >= first_made):
                copied.add(position)
            seen.add(read.slot)
        return frozenset(copied)

    # -- report ------------------------------------------------------------------------------

    def _fill_report(self, steps: Sequence[NativeStep | Group]) -> None:
        kernels: dict[str, KernelReport] = {}
        hosts: list[HostStep] = []
        for step in steps:
            if isinstance(step, Group):
                for node in step.nodes:
                    if _is_native(node):
                        kernels[node.op.name] = _repeated(node)
                    else:
                        hosts.append(HostStep(node.op.name, step.reason, node.origin))
                continue
            nodes = step.group.nodes
            known = kernels.get(step.kernel.name)
            origins = tuple(dict.fromkeys(n.origin for n in nodes if n.origin is not None))
            kernels[step.kernel.name] = KernelReport(
                step.kernel.name,
                step.group.kind,
                tuple(n.op.name for n in nodes),
                origins if known is None else tuple(dict.fromkeys((*known.origins, *origins))),
                1 if known is None else known.calls + 1,
            )
        self.report.kernels = tuple(kernels.values())
        self.report.host_steps = tuple(hosts)
        made = [*self.kernels.values()]
        self.report.text = lambda: "\n".join(map(account, made))


def _is_native(node: Node) -> bool:
    """Return whether what a node runs as a step of its own is machine code: a loop's runs are."""
    lowering = node.op.lowering
    return isinstance(lowering, Host) and lowering.is_native is not None and lowering.is_native()


def _repeated(node: Node) -> KernelReport:
    origins = () if node.origin is None else (node.origin,)
    return KernelReport("cellwire_repeat", "native", (node.op.primitive,), origins)


def _written(step: NativeStep | Group) -> tuple[Value, ...]:
    return step.writes if isinstance(step, NativeStep) else tuple(step.outputs)


def _spec(value: Value) -> tuple[tuple[int, ...], np.dtype]:
    return value.sizes, value.aval.dtype.numpy
