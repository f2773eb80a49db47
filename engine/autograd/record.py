"""Records: what ran, in order, so that gradients can be built from it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..ops.registry import Entry, active_records, end_record, only_records, start_record
from ..tensor import Tensor


class Write(NamedTuple):
    """A write into a tensor's memory: when, where, and what stood there before."""

    position: int
    tensor: Tensor
    memory: np.ndarray
    before: np.ndarray | None


class Record:
    """Logs every op while it is active; use it as a context manager.

    Entries keep the tensors alive that gradients need, so a record should not outlive its use;
    ``clear`` frees them.
    """

    __slots__ = ("__weakref__", "entries", "writes")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.writes: list[Write] = []

    def __enter__(self) -> Record:
        start_record(self)
        return self

    def __exit__(self, *exception: object) -> None:
        end_record(self)

    def note_write(
        self, tensor: Tensor, before: np.ndarray | None = None, part: np.ndarray | None = None
    ) -> None:
        """Remember that the tensor's memory changes after the entries logged so far."""
        memory = tensor.data if part is None else part
        self.writes.append(Write(len(self.entries), tensor, memory, before))

    def clear(self) -> None:
        """Free all entries."""
        self.entries.clear()
        self.writes.clear()


class _Suspensions(threading.local):
    """How many ``no_grad`` bodies this thread is in."""

    def __init__(self) -> None:
        self.depth = 0


_suspensions = _Suspensions()


def require_grad_allowed(name: str) -> None:
    """Raise RuntimeError inside ``no_grad``, where nothing can be derived."""
    if _suspensions.depth:
        raise RuntimeError(f"{name} was called inside no_grad; call it outside of it.")


@contextmanager
def no_grad() -> Iterator[None]:
    """Run the body outside every active record: its results are constants for gradients.

    Yields
    ------
    None
        For ``with no_grad():``; it decorates functions too.
    """
    _suspensions.depth += 1
    try:
        with only_records([]):
            yield
    finally:
        _suspensions.depth -= 1


def is_recording() -> bool:
    """Return whether a record logs what this thread runs."""
    return bool(active_records())


def tensors_in(value: Any) -> list[Tensor]:
    """Return the tensors in nested tuples, lists and dictionaries, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []
