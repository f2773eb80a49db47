"""Attributes of what a function or property has just given, read with no name between.

No chain of names leads there, as in ``model.config.rate`` where ``config`` is a property.
"""

from __future__ import annotations

import types
from functools import lru_cache
from typing import Any

from ..tensor import Tensor
from .bytecode import instructions_of
from .chains import MISSING, runs_code
from .guards import Reads
from .host_numbers import HostNumber
from .stores import guard_read

READS = ("LOAD_ATTR", "LOAD_METHOD")


def check_given_back(caller: types.FrameType, value: Any, reads: Reads) -> None:
    """Guard the attributes that the caller reads of ``value``, which it is given now."""
    where = f"{caller.f_code.co_filename}:{caller.f_lineno}"
    for name in _names_after(caller.f_code, caller.f_lasti):
        if value is MISSING or type(value) is HostNumber or isinstance(value, Tensor):
            return
        if runs_code(value, name):
            return  # what that gives is looked at when it returns
        guard_read(value, name, reads, where)
        value = getattr(value, name, MISSING)


@lru_cache(1024)
def _names_after(code: types.CodeType, offset: int) -> tuple[str, ...]:
    """Return the attributes that the instructions after one read of its result."""
    names: list[str] = []
    for instruction in instructions_of(code):
        if instruction.offset > offset:
            if instruction.name not in READS:
                break
            names.append(str(instruction.value))
    return tuple(names)
