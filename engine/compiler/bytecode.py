"""The byte code of a function as one form of instructions for all versions of Python."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

RENAMED = {
    "LOAD_FAST_BORROW": "LOAD_FAST",
    "LOAD_FAST_CHECK": "LOAD_FAST",
    "LOAD_SMALL_INT": "LOAD_CONST",
}
PAIRS = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
QUIET = {
    "RESUME", "CACHE", "PRECALL", "PUSH_NULL", "NOP", "COPY_FREE_VARS", "MAKE_CELL",
    "EXTENDED_ARG", "KW_NAMES",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Instruction:
    """One byte code instruction in the spelling of Python 3.11."""

    name: str
    value: Any
    line: int
    offset: int = -1


@lru_cache(maxsize=1024)
def instructions_of(code: types.CodeType) -> tuple[Instruction, ...]:
    """Return a function's instructions, those of later Pythons taken apart and renamed."""
    return tuple(_instructions(code))


def _instructions(code: types.CodeType) -> Iterator[Instruction]:
    for found in dis.get_instructions(code):
        line = (found.positions.lineno if found.positions else None) or 0
        name, value = found.opname, found.argval
        if name in QUIET:
            continue
        if name in PAIRS and isinstance(value, tuple):
            for part, item in zip(PAIRS[name], value, strict=True):
                yield Instruction(part, item, line, found.offset)
        elif name == "BINARY_OP" and found.argrepr == "[]":
            yield Instruction("BINARY_SUBSCR", None, line, found.offset)
        else:
            yield Instruction(RENAMED.get(name, name), value, line, found.offset)
