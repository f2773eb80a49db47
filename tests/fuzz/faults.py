"""Seeded faults: small wrong changes of the compiler, each of which the fuzzer has to notice."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

from .session import Kind, machine_code_apart, trouble_of

Changes = Callable[[], list[Any]]
"""Returns the patches (``unittest.mock.patch.object``) that make a fault."""


@dataclass(frozen=True)
class Fault:
    """A fault, which kind of case shows it, and the seed of one that did, if it is pinned."""

    name: str
    kind: Kind
    changes: Changes
    seed: int | None


FAULTS: list[Fault] = []


def fault(kind: Kind, seed: int | None = None) -> Callable[[Changes], Changes]:
    """Add a fault, named by its function's docstring."""

    def add(changes: Changes) -> Changes:
        FAULTS.append(Fault((changes.__doc__ or "").rstrip("."), kind, changes, seed))
        return changes

    return add


def swap(owner: Any, name: str, make: Callable[[Any], Any]) -> Any:
    """Return the patch that puts ``make(what is there)`` in the place of a function."""
    there = owner.__dict__[name]
    plain = there.__func__ if isinstance(there, staticmethod | classmethod) else there
    made = make(plain)
    return mock.patch.object(
        owner, name, staticmethod(made) if isinstance(there, staticmethod) else made
    )


@contextlib.contextmanager
def seeded(chosen: Fault) -> Iterator[None]:
    """Have a fault in the compiler in the body."""
    with machine_code_apart(), contextlib.ExitStack() as stack:
        for patch in chosen.changes():
            stack.enter_context(patch)
        yield


def cases_until_caught(chosen: Fault, budget: int, start: int | None = None) -> int | None:
    """Return the seed at which the fault is noticed, among ``budget`` from ``start`` on.

    What fails without the fault does not count. Machine code is kept from case to case, but a case
    that fails has to do so on its own.
    """
    first = (chosen.seed or 0) if start is None else start
    end = first + budget
    while first < end:
        with seeded(chosen):
            seeds = (seed for seed in range(first, end) if trouble_of(chosen.kind, seed))
            noticed = next(seeds, end)
        if noticed == first and not trouble_of(chosen.kind, first):
            return first
        first += max(noticed - first, 1)
    return None
