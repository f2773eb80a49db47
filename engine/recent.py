"""A bounded memory for what is dear to make: what was not asked for lately is forgotten."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic, TypeVar

V = TypeVar("V")
_MISSING: Any = object()


class Recent(Generic[V]):
    """A dictionary of at most ``size`` entries.

    Entries live in two generations. When the young one is full it becomes the old one, whose
    entries are forgotten then unless they were asked for; those are young again. So a hit costs no
    more than in a dictionary, and what recurs stays however much else goes by.

    Parameters
    ----------
    size : int
        Most entries kept; at least half as many are.
    """

    __slots__ = ("old", "size", "young")

    def __init__(self, size: int) -> None:
        self.size = size
        self.young: dict[Hashable, V] = {}
        self.old: dict[Hashable, V] = {}

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return what is kept under ``key``, or ``default``."""
        found = self.young.get(key, _MISSING)
        if found is not _MISSING:
            return found
        found = self.old.pop(key, _MISSING)
        if found is _MISSING:
            return default
        self[key] = found
        return found

    def __setitem__(self, key: Hashable, value: V) -> None:
        if len(self.young) * 2 >= self.size and key not in self.young:
            self.old, self.young = self.young, {}
        self.young[key] = value

    def __contains__(self, key: Hashable) -> bool:
        return key in self.young or key in self.old

    def values(self) -> list[V]:
        """Return what is kept."""
        return [*self.old.values(), *self.young.values()]

    def __len__(self) -> int:
        return len(self.young) + len(self.old)

    def clear(self) -> None:
        """Forget everything."""
        self.young.clear()
        self.old.clear()
