"""Hooks: functions that a Cell calls around its `construct` and its gradient."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

_ids = itertools.count()


class HookHandle:
    """Takes one hook off again; taking it off twice is no error."""

    def __init__(self, hooks: HookList, key: int) -> None:
        self._hooks: HookList | None = hooks
        self._key = key

    def remove(self) -> None:
        """Take the hook off."""
        if self._hooks is not None:
            self._hooks.discard(self._key)
            self._hooks = None


class HookList:
    """Hooks of one kind, called in the order in which they were registered."""

    def __init__(self) -> None:
        self._hooks: dict[int, tuple[Callable[..., Any], bool]] = {}
        self.version = 0

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def __iter__(self) -> Any:
        return iter(tuple(self._hooks.values()))

    def add(self, hook: Callable[..., Any], with_kwargs: bool = False) -> HookHandle:
        """Add a hook and return its handle.

        Raises
        ------
        TypeError
            If it cannot be called.
        """
        if not callable(hook):
            raise TypeError(f"a hook must be callable, this is {type(hook).__name__}.")
        key = next(_ids)
        self._hooks[key] = (hook, with_kwargs)
        self.version += 1
        return HookHandle(self, key)

    def discard(self, key: int) -> None:
        """Remove a hook by its key."""
        if self._hooks.pop(key, None) is not None:
            self.version += 1
