"""Attributes that the user's ``__getattr__`` or ``__getattribute__`` gives, run by whoever reads.

Guards read them at each call too: that is right only where the method leaves all as it is.
"""

from __future__ import annotations

import inspect
import types
from functools import lru_cache
from typing import Any

from .bytecode import instructions_of
from .chains import MISSING, of_class
from .guards import MUTATORS
from .traced import TraceBreak, in_package

WRITES = {
    "STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "DELETE_ATTR", "DELETE_SUBSCR",
}  # fmt: skip
CHANGING = {"setattr", "__setattr__", "print"}.union(*MUTATORS.values())


def check_fallback(value: Any, name: str, where: str) -> None:
    """Refuse to read an attribute if that runs a method of the user's that changes something."""
    for hook in ("__getattribute__", "__getattr__"):
        found = of_class(type(value), hook)
        if not isinstance(found, types.FunctionType) or in_package(found.__code__.co_filename):
            continue
        missing = inspect.getattr_static(value, name, MISSING) is MISSING
        if (missing or hook == "__getattribute__") and _changes(found.__code__):
            raise TraceBreak(
                f"{name!r} of a {type(value).__name__} is given by {hook}, which changes something",
                "read it once outside and pass what it gives, or let the method only read",
                where,
            )


@lru_cache(1024)
def _changes(code: types.CodeType) -> bool:
    names = {instruction.name for instruction in instructions_of(code)}
    return not (names.isdisjoint(WRITES) and CHANGING.isdisjoint(code.co_names))
