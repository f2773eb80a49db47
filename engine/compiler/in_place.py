"""Functions that only write Parameters, run as one plan: how optimizers step in eager mode.

A plan's outputs go straight into the Parameters' buffers, and its list of arrays is kept from
call to call, so that a call costs little more than passing the addresses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...kernels.runtime import Bound
from ..autograd.gradgraph import compiles_at_once
from ..ops.registry import active_records, records, traces
from ..parameter import Parameter
from ..tensor import Tensor
from .plan import Plan, compile_graph, whole
from .report import Report
from .runs import NativeRun, Reader
from .specialisation import writes_in_place
from .trace import TracedCall, trace
from .traced import in_package

MAX_PLANS = 8
"""Kinds of arguments whose plans are kept; all are forgotten when there are more."""

Writer = Callable[..., object]


class InPlace:
    """The plans of one function that writes Parameters, by its arguments' shapes and dtypes.

    The first call with given arguments runs op by op; the second compiles (the first already in
    ``autograd.gradgraph.compiling_at_once``). A copy of it starts without plans.
    """

    __slots__ = ("last", "plans")

    def __init__(self) -> None:
        self.plans: dict[object, WritePlan | None] = {}
        self.last: WritePlan | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> InPlace:
        return InPlace()

    def __reduce__(self) -> tuple[Any, ...]:
        return (InPlace, ())

    def clear(self) -> None:
        """Forget all plans, since the function computes something else from now on."""
        self.plans.clear()
        self.last = None

    @property
    def reports(self) -> list[Report]:
        """The accounts of the plans made so far."""
        return [plan.report for plan in self.plans.values() if plan is not None]

    def run(self, function: Writer, tensors: Sequence[Tensor]) -> None:
        """Call ``function(*tensors)``, whose results are what it writes."""
        arrays = [tensor.data for tensor in tensors]
        last = self.last
        if last is not None and last.fits(arrays) and last.run(arrays):
            return
        plan = self._plan(function, tensors)
        if plan is None:
            function(*tensors)
        elif not plan.run(arrays):
            raise RuntimeError("a Parameter changed while the plan that writes it was made")

    def _plan(self, function: Writer, tensors: Sequence[Tensor]) -> WritePlan | None:
        key = tuple(tensor.aval for tensor in tensors)
        seen = key in self.plans
        found = self.plans.get(key)
        if found is None or not found.current():
            if len(self.plans) >= MAX_PLANS:
                self.plans.clear()
            made = seen or compiles_at_once()
            found = WritePlan(function, tensors) if made else None
            self.plans[key] = found
        self.last = found
        return found


class WritePlan:
    """One traced function as machine code that writes into Parameters."""

    __slots__ = ("_apart", "_bound", "_call", "_count", "_dtypes", "_held", "_ids", "_picks",
                 "_plan", "_shapes", "_slots")  # fmt: skip

    def __init__(self, function: Writer, tensors: Sequence[Tensor]) -> None:
        self._call: TracedCall = trace(function, [tensor.aval for tensor in tensors])
        self._count = len(tensors)
        writes = writes_in_place(self._call, self._count)
        self._plan: Plan = compile_graph(self._call.graph, writes=writes)
        specs = self._plan.inputs[: self._count]
        self._shapes = [shape for shape, _ in specs]
        self._dtypes = [dtype for _, dtype in specs]
        self._held = [(tensor, tensor.data) for tensor in self._call.captured]
        self._ids = {id(array) for _, array in self._held}
        self._bound, self._picks = self._machine_code()
        self._slots = self._standing_slots()
        self._apart = self._written_apart()

    @property
    def report(self) -> Report:
        """What became of the function."""
        return self._plan.report

    def _machine_code(self) -> tuple[Bound | None, tuple[int, ...]]:
        """The one native run that the plan is, and the slots it takes; None if it is more."""
        parts = self._plan.parts
        whole_arrays = all(array.flags.c_contiguous for _, array in self._held)
        if len(parts) != 1 or not isinstance(parts[0], NativeRun) or not whole_arrays:
            return None, ()
        if parts[0].checks:
            return None, ()
        return parts[0].bound, parts[0].slots

    def _standing_slots(self) -> list[np.ndarray]:
        """The arrays of every call, with places for the arguments."""
        held = [array for _, array in self._held]
        slots = [*([np.empty(0)] * self._count), *held, *self._plan.shared]
        for position, (shape, dtype) in enumerate(self._plan.made):
            target = self._plan.in_place.get(position)
            slots.append(np.empty(shape, dtype) if target is None else slots[target])
        return slots

    def _written_apart(self) -> list[tuple[Tensor, Reader]]:
        """The Parameters whose new values the plan leaves in other memory than theirs."""
        outputs = self._plan.results[self._call.results :]
        return [
            (tensor, read)
            for tensor, read in zip(self._call.writes, outputs, strict=True)
            if read.strides is not None or self._slots[read.slot] is not tensor.data
        ]

    def current(self) -> bool:
        """Whether the captured tensors still have the memory that the plan was made for."""
        return all(tensor.data is array for tensor, array in self._held)

    def fits(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether arguments have the shapes and dtypes of the plan."""
        if [array.shape for array in arrays] != self._shapes:
            return False
        return [array.dtype for array in arrays] == self._dtypes

    def run(self, arrays: Sequence[np.ndarray]) -> bool:
        """Run on arrays that fit and write the Parameters; not done where memory was replaced."""
        for tensor, array in self._held:
            if tensor.data is not array:
                return False
        given = [whole(array) for array in arrays]
        if not self._ids.isdisjoint(map(id, given)):
            given = [array.copy() if id(array) in self._ids else array for array in given]
        if self._bound is None:
            self._run_apart(given)
        else:
            self.run_native(self._bound, given)
        for tensor in self._call.writes:
            if tensor.__class__ is Parameter:
                tensor.version += 1  # pyright: ignore[reportAttributeAccessIssue]
        return True

    def run_native(self, bound: Bound, given: Sequence[np.ndarray]) -> None:
        """Run the machine code on arguments that may be passed as they stand."""
        slots, count = self._slots, self._count
        with self._plan.lock:
            slots[:count] = given
            if self._plan.direct is None:
                bound(*[slots[i] for i in self._picks])
            else:
                bound(*slots)
            if self._apart:
                end = count + len(self._held)
                self._write(
                    read(slots).copy() if read.slot < end else read(slots)
                    for _, read in self._apart
                )

    def _write(self, values: Iterable[np.ndarray]) -> None:
        for (tensor, _), value in zip(self._apart, [*values], strict=True):
            np.copyto(tensor.data, value)

    def _run_apart(self, given: Sequence[np.ndarray]) -> None:
        results = self._plan.run([*given, *[whole(array) for _, array in self._held]])
        for tensor, array in zip(self._call.writes, results[self._call.results :], strict=True):
            if tensor.data is not array:
                np.copyto(tensor.data, array)


def write_in_place(plans: InPlace, function: Writer, tensors: Sequence[Tensor]) -> None:
    """Call a function that only writes Parameters: as one plan in eager mode, else op by op.

    All that changes from call to call must be among the tensors.
    """
    if traces or (records and active_records()):
        function(*tensors)
    else:
        plans.run(function, tensors)


STEP_METHODS = (
    "construct", "apply_gradients", "prepared", "write", "update", "start_step", "scaled",
    "rate_of", "decay_of",
)  # fmt: skip


@functools.cache
def _is_own(kind: type) -> bool:
    """Whether all that makes a step is Cellwire's: such code reads nothing from elsewhere."""
    codes = [getattr(kind, name).__code__ for name in STEP_METHODS]
    return all(in_package(code.co_filename, "engine/nn") for code in codes)


def take_step(optimizer: Any, plans: InPlace, grads: Sequence[Tensor]) -> None:
    """Let an optimizer write its parameters: as one plan in eager mode, else op by op.

    What its schedules give is computed before, so that a step of them is no other plan.
    """
    values = optimizer.values_of_step()
    wrapped = [type(cell) for cell in optimizer.cells() if hasattr(cell, "apply_gradients")]
    if not all(map(_is_own, (type(optimizer), *wrapped))):
        optimizer.apply_gradients(grads, values)
        return
    names, count = list(values), len(grads)

    def write(*tensors: Tensor) -> None:
        optimizer.apply_gradients(tensors[:count], dict(zip(names, tensors[count:], strict=True)))

    write_in_place(plans, write, [*grads, *values.values()])
