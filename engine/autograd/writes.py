"""Writes into tensors under a record: values keep their meaning, or the gradient is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ops.registry import Entry, active_trace
from ..parameter import Parameter
from ..tensor import Tensor, wrap
from .backward import needed_entries
from .record import Record, Write

Handles = Callable[[Sequence[Tensor]], list[Tensor]]


def settle_writes(
    record: Record, outputs: Sequence[Tensor], wrt: Sequence[Tensor]
) -> tuple[list[Entry], Handles]:
    """Return the record's entries with each state of a written tensor as a tensor of its own.

    Also returned: a function that maps tensors derived by to the handle of their first state.

    Raises
    ------
    RuntimeError
        If another tensor shares the memory and was made before but used after the write, or if a
        value that gradients need was overwritten without a copy; also if a trained Parameter that
        is derived by was written to after it was read: by which of its values is not clear.
    """
    trained = {id(t): t for t in wrt if isinstance(t, Parameter) and t.requires_grad}
    tracer = active_trace()
    if tracer is not None:
        tracer.check_derived(trained)
    if not record.writes:
        return record.entries, list
    writes = [w._replace(before=None) if id(w.tensor) in trained else w for w in record.writes]
    entries = list(record.entries)
    first: dict[int, Tensor] = {}
    for write in writes:
        if write.before is not None:
            _part(entries, write, first)
            _part_views(entries, write, {id(t) for t in (*outputs, *wrt)})
    _check(writes, entries, outputs, wrt, first)

    def handles(tensors: Sequence[Tensor]) -> list[Tensor]:
        known = {id(tensor) for entry in entries for tensor in entry.outputs}
        return [t if id(t) in known else first.get(id(t), t) for t in tensors]

    return entries, handles


def _part(entries: list[Entry], write: Write, first: dict[int, Tensor]) -> None:
    """Give the tensor's state before a write a handle of its own in all earlier entries."""
    assert write.before is not None
    old = wrap(write.before)
    first.setdefault(id(write.tensor), old)

    def renamed(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple([old if tensor is write.tensor else tensor for tensor in tensors])

    for position in range(min(write.position, len(entries))):
        entry = entries[position]
        entries[position] = entry._replace(
            inputs=renamed(entry.inputs), outputs=renamed(entry.outputs)
        )
    if write.position < len(entries):
        entry = entries[write.position]
        if any(tensor is write.tensor for tensor in entry.outputs):  # the write itself, logged
            entries[write.position] = entry._replace(inputs=renamed(entry.inputs))


def _part_views(entries: list[Entry], write: Write, held: set[int]) -> None:
    """Let views of what is overwritten keep what they showed, where nothing reads them later.

    So ``y[0] += 1`` can be derived: the sum read a view of what it then replaced.
    """
    base = write.tensor.data
    later = {id(tensor) for entry in entries[write.position :] for tensor in entry.inputs} | held
    olds: dict[int, Tensor] = {}
    for entry in entries[: write.position]:
        for tensor in (*entry.inputs, *entry.outputs):
            if tensor is write.tensor or id(tensor) in later or id(tensor) in olds:
                continue
            if _overlaps(tensor, write.memory) and _lies_in(tensor.data, base):
                olds[id(tensor)] = wrap(_view_of_copy(tensor.data, base, write.before))

    def renamed(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple([olds.get(id(tensor), tensor) for tensor in tensors])

    if olds:
        for position in range(write.position):
            entry = entries[position]
            entries[position] = entry._replace(
                inputs=renamed(entry.inputs), outputs=renamed(entry.outputs)
            )


def _lies_in(view: np.ndarray, base: np.ndarray) -> bool:
    if not base.flags.c_contiguous or view.dtype != base.dtype:
        return False
    (low, high), (first, last) = (np.lib.array_utils.byte_bounds(a) for a in (view, base))
    return first <= low and high <= last


def _view_of_copy(view: np.ndarray, base: np.ndarray, copy: Any) -> np.ndarray:
    """Return the view of a contiguous copy of ``base`` that ``view`` is of ``base`` itself."""
    addresses = [array.__array_interface__["data"][0] for array in (view, base)]
    offset = (addresses[0] - addresses[1]) // view.itemsize
    flat = copy.reshape(-1)[offset:]
    return np.lib.stride_tricks.as_strided(flat, view.shape, view.strides, writeable=False)


def _check(
    writes: Sequence[Write],
    entries: list[Entry],
    outputs: Sequence[Tensor],
    wrt: Sequence[Tensor],
    first: dict[int, Tensor],
) -> None:
    needed = needed_entries(entries, outputs, [first.get(id(t), t) for t in wrt])
    kept = {id(entry) for entry, _ in needed}
    for write in writes:
        stale: dict[int, Tensor] = {}
        for position, entry in enumerate(entries):
            if position < write.position:
                for tensor in (*entry.inputs, *entry.outputs):
                    if tensor is not write.tensor and _overlaps(tensor, write.memory):
                        stale[id(tensor)] = tensor
                if write.before is None and id(entry) in kept:
                    stale.update({id(t): t for t in entry.inputs if t is write.tensor})
            elif id(entry) in kept and any(id(t) in stale for t in entry.inputs):
                _refuse(entry.op.name)
        read = {id(t) for entry, _ in needed for t in (*entry.inputs, *entry.outputs)}
        if read & set(stale):
            _refuse(next(e.op.name for e, _ in needed for t in e.inputs if id(t) in stale))


def _overlaps(tensor: Tensor, memory: np.ndarray) -> bool:
    data: Any = tensor.data
    try:
        return data is memory or np.shares_memory(
            data,
            memory,
            max_work=1000,  # pyright: ignore[reportArgumentType] - a bound is allowed
        )
    except np.exceptions.TooHardError:
        return True


def _refuse(op_name: str) -> None:
    raise RuntimeError(
        f"the memory of a tensor that {op_name!r} read was written to afterwards, so its gradient"
        " would be wrong; write to a copy (x.copy()) or write after the gradient is taken."
    )
