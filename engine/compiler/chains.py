"""Chains of names: where code reads from outside itself, and what must stay equal there.

`walker.py` finds them while code is traced; `guards.py` checks them at each call.
"""

from __future__ import annotations

import collections
import functools
import math
import types
from typing import Any, NamedTuple

import numpy as np

SCALARS = (bool, int, float, complex, str, bytes, type(None))
CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
CHANGEABLE = (*CONTAINERS, np.ndarray, functools.partial, bytearray)
"""What the same object may hold something else in, as far as ``snapshot`` looks into objects."""
MISSING = object()

Step = tuple[str, object]


class Chain(NamedTuple):
    """A chain of names: where it starts and the attributes and items it follows."""

    root: object
    kind: str  # "global" | "closure" | "object" | "absent": whether there is such a global
    name: str
    path: tuple[Step, ...] = ()

    def start(self) -> Any:
        """Return the value the chain starts from."""
        if self.kind == "global":
            root: Any = self.root
            builtins = root.get("__builtins__", {})
            spare = builtins if isinstance(builtins, dict) else vars(builtins)
            return root.get(self.name, spare.get(self.name, MISSING))
        if self.kind == "absent":
            return self.name not in self.root  # pyright: ignore[reportOperatorIssue]
        if self.kind == "closure":
            cell: Any = self.root
            try:
                return cell.cell_contents
            except ValueError:  # nothing assigned yet
                return MISSING
        return self.root

    def value(self) -> Any:
        """Evaluate the chain; ``MISSING`` where it breaks off."""
        value = self.start()
        for kind, name in self.path:
            if value is MISSING:
                return MISSING
            value = follow(value, kind, name)
        return value

    def __str__(self) -> str:
        parts = [f".{n}" if k == "attr" else f"[{n!r}]" for k, n in self.path]
        return self.name + "".join(parts)


def follow(value: Any, kind: str, name: Any) -> Any:
    """Take one step of a chain."""
    try:
        return getattr(value, name) if kind == "attr" else value[name]
    except (AttributeError, KeyError, IndexError, TypeError):
        return MISSING


def of_class(kind: type, name: str) -> Any:
    """Return what a class or one of its bases has by a name, None if nothing; runs no code."""
    for base in kind.__mro__:
        found = vars(base).get(name, MISSING)
        if found is not MISSING:
            return found
    return None


def runs_code(value: Any, name: str) -> bool:
    """Return whether reading an attribute runs Python code, which is watched when it runs."""
    found = of_class(type(value), name)
    if isinstance(found, functools.cached_property):
        return name not in getattr(value, "__dict__", ())
    return isinstance(found, property) or isinstance(
        getattr(type(found), "__get__", None), types.FunctionType
    )


MAX_DEPTH = 8
"""Containers within containers that are watched."""
MAX_ITEMS = 1024
"""Items of one container that are watched: looking at more would cost more than it saves."""


class TooLargeError(Exception):
    """A container has too many items, or is nested too deeply, to be watched."""


def snapshot(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return what must stay equal for ``value`` to count as unchanged.

    Raises
    ------
    TooLargeError
        If it is a container that cannot be watched as a whole.
    """
    if isinstance(value, float) and (not value or math.isnan(value)):
        return (float, str(value))  # 0.0 equals -0.0, and NaN not itself
    if isinstance(value, SCALARS):
        return (type(value), value)
    if isinstance(value, CONTAINERS):
        return Held(value) if _is_long_and_lasting(value) else _snapshot_items(value, depth)
    if isinstance(value, np.generic):
        return (type(value), value.tobytes())
    if isinstance(value, np.ndarray):
        return (np.ndarray, value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, types.MethodType):
        return (types.MethodType, Held(value.__func__), Held(value.__self__))
    if isinstance(value, functools.partial):
        parts = (value.func, value.args, value.keywords)
        return (functools.partial, *[snapshot(part, depth) for part in parts])
    if isinstance(value, bytearray):
        return (bytearray, bytes(value))
    return Held(value)


def _snapshot_items(value: Any, depth: int) -> Any:
    if not depth or len(value) > MAX_ITEMS:
        raise TooLargeError
    if isinstance(value, dict):
        pairs = [(snapshot(k, depth - 1), snapshot(v, depth - 1)) for k, v in value.items()]
        return (type(value), tuple(pairs))
    parts = [snapshot(item, depth - 1) for item in value]
    kind = frozenset if isinstance(value, set | frozenset) else tuple
    return (type(value), kind(parts))


def _is_long_and_lasting(value: object) -> bool:
    """Return whether this is a tuple that always holds the same, with many items to look at."""
    if not isinstance(value, tuple) or len(value) <= MAX_ITEMS:
        return False
    return not any(isinstance(item, CHANGEABLE) for item in value)


class Held:
    """An object compared by identity and kept alive meanwhile."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)
