"""Faults in what Python code is taken for: guards, branches, arguments, writes, random keys."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

from cellwire.engine.compiler import (
    branches,
    guards,
    jitted,
    looping,
    open_sizes,
    quick_calls,
    traced,
)
from cellwire.engine.compiler.guards import Reads
from cellwire.engine.compiler.jitted import Jitted
from cellwire.engine.compiler.specialisation import Specialisation

from .faults import fault, swap

tracing: Any = sys.modules["cellwire.engine.compiler.trace"]  # the package's name is the function


def _unguarded(skipped: Callable[[Any], bool]) -> list[Any]:
    """Leave out the guards on some chains."""

    def make(add: Callable[..., Any]) -> Callable[..., Any]:
        def fewer(self: Any, chain: Any, value: Any) -> None:
            if not skipped(chain):
                add(self, chain, value)

        return fewer

    return [swap(Reads, "add", make)]


@fault("programs", 21)
def _globals() -> list[Any]:
    """Numbers in globals are not guarded."""
    return _unguarded(lambda chain: chain.kind == "global" and not chain.path)


@fault("programs", 80)
def _closures() -> list[Any]:
    """Closures are not guarded."""
    return _unguarded(lambda chain: chain.kind == "closure")


@fault("programs", 14)
def _attributes() -> list[Any]:
    """Attributes of objects that globals lead to are not guarded."""
    return _unguarded(lambda c: c.kind == "global" and c.path[-1:] and c.path[-1][0] == "attr")


@fault("programs", 88)
def _items() -> list[Any]:
    """Lists and dictionaries are guarded by their identity alone."""

    def make(snapshot: Callable[..., Any]) -> Callable[..., Any]:
        def loose(value: Any, *rest: Any) -> Any:
            return type(value) if isinstance(value, list | dict) else snapshot(value, *rest)

        return loose

    return [swap(guards, "snapshot", make)]


@fault("programs", 89)
def _hooks() -> list[Any]:
    """Hooks of Cells are not guarded."""
    state = tuple(path for path in guards.CELL_STATE if path[0] != ("attr", "hooks"))
    return [mock.patch.object(guards, "CELL_STATE", state)]


@fault("programs", 38)
def _defaults() -> list[Any]:
    """Defaults and code of functions are not guarded."""
    return [swap(Reads, "_add_function", lambda _: lambda self, function: None)]


@fault("programs", 62)
def _trained() -> list[Any]:
    """Which Parameters are trained is not guarded."""
    return [swap(guards, "same_training", lambda _: lambda tensors: lambda: True)]


@fault("programs", 13)
def _branch() -> list[Any]:
    """Branches on values are taken to go the same way always."""
    return [swap(Specialisation, "matches", lambda _: lambda self, values: True)]


@fault("programs", 49)
def _numbers() -> list[Any]:
    """Whole numbers given as arguments are not told apart."""

    def make(key: Callable[..., Any]) -> Callable[..., Any]:
        def blind(self: Any, leaves: Any, structure: Any) -> Any:
            return key(self, [0 if type(x) is int else x for x in leaves], structure)

        return blind

    return [swap(Jitted, "_key", make)]


@fault("programs", 419)
def _structure() -> list[Any]:
    """The keys of dictionaries and keywords given as arguments are not told apart."""
    return [swap(jitted, "frozen", lambda _: lambda structure: "any")]


@fault("programs", 49)
def _quick_numbers() -> list[Any]:
    """The short way of a call does not look at plain arguments."""

    def make(test: Callable[..., Any]) -> Callable[..., Any]:
        def blind(self: Any, text: str) -> None:
            if " != e" not in text:
                test(self, text)

        return blind

    return [swap(quick_calls.Writer, "test", make)]


@fault("programs", 38)
def _quick_guards() -> list[Any]:
    """The short way of a call does not look whether the guards hold."""

    def make(test: Callable[..., Any]) -> Callable[..., Any]:
        def blind(self: Any, text: str) -> None:
            if "hold()" not in text:
                test(self, text)

        return blind

    return [swap(quick_calls.Writer, "test", make)]


@fault("programs", 6)
def _same_key() -> list[Any]:
    """A random key is used by the next call again."""

    def make(take: Callable[..., Any]) -> Callable[..., Any]:
        def again(self: Any) -> Any:
            return getattr(self, "_drawn", None) or traced.RandomKey._key(self)

        assert take
        return again

    return [swap(traced.RandomKey, "take", make)]


@fault("programs", 6)
def _drawn_twice() -> list[Any]:
    """Each call draws a key too many."""

    def make(take: Callable[..., Any]) -> Callable[..., Any]:
        def more(self: Any) -> Any:
            take(self)
            return take(self)

        return more

    return [swap(traced.RandomKey, "take", make)]


@fault("programs", 19)
def _lost_last_write() -> list[Any]:
    """The last write of a function is forgotten."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def fewer(
            graph: Any, held: Any, structure: Any, results: int, writes: Any, *rest: Any
        ) -> Any:
            if len(writes) > 1:
                graph, writes = replace(graph, outputs=graph.outputs[:-1]), writes[:-1]
            return call(graph, held, structure, results, writes, *rest)

        return fewer

    return [swap(tracing, "TracedCall", make)]


@fault("programs", 42)
def _stale_view() -> list[Any]:
    """A view that is used after its tensor was written to shows the old values."""
    return [mock.patch.object(tracing, "views_of", return_value=())]


@fault("programs", 322)
def _shared_memory() -> list[Any]:
    """An argument that shares memory with what the function writes is taken for another tensor."""
    return [swap(Specialisation, "check_apart", lambda _: lambda self, array: None)]


@fault("programs", 663)
def _unasked_sizes() -> list[Any]:
    """What code asked of open sizes is taken to be answered alike for all sizes."""
    return [swap(open_sizes, "answer", lambda _: lambda question, sizes: mock.ANY)]


@fault("programs", 181)
def _wrong_branch() -> list[Any]:
    """A branch in the graph runs the other function."""

    def make(run: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, chosen, *arrays: run(self, ~chosen.astype(bool), *arrays)

    return [swap(branches.Branches, "_run", make)]


@fault("programs", 41)
def _scan_backwards() -> list[Any]:
    """A scan gives the states in the reverse order."""

    def make(run: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, *arrays: tuple(a[::-1] if a.ndim else a for a in run(self, *arrays))

    return [swap(looping.Scan, "_run", make)]


@fault("programs", 3)
def _stale_capture() -> list[Any]:
    """A tensor from outside keeps the value that it had at the first call."""

    seen: dict[int, tuple[Any, list[Any]]] = {}

    def make(captured: Callable[..., Any]) -> Callable[..., Any]:
        def first(self: Any) -> Any:
            found = captured(self)
            if found is None or self.draws or self.call.writes:
                return found
            return seen.setdefault(id(self), (self, [a.copy() for a in found]))[1]

        return first

    return [swap(Specialisation, "captured", make)]
