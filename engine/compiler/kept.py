"""Compiled callables kept by the objects whose methods they are.

A method's ``jit`` is bound to an object once and goes when the object goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .jitted import Jitted


class Kept(dict[object, "Jitted"]):
    """What was compiled for one object, kept in its ``__dict__``: it goes when the object goes.

    A copy of the object starts without, a shallow one too: what is kept runs on its ``owner``.
    """

    def __init__(self, owner: object = None) -> None:
        super().__init__()
        self.owner = owner

    def __deepcopy__(self, memo: dict[int, Any]) -> Kept:
        return Kept()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Kept, ())


def kept_for(instance: Any, key: object, make: Callable[[], Jitted]) -> Jitted:
    """Return what was compiled for ``instance`` under ``key``, made by ``make`` the first time."""
    kept = instance.__dict__.get("_compiled")
    if kept is None or kept.owner is not instance:
        kept = instance.__dict__["_compiled"] = Kept(instance)
    found = kept.get(key)
    if found is None:
        found = kept[key] = make()
    return found
