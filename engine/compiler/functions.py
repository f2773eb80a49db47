"""Function objects behind running frames, needed for the cells of their closures.

`walker.py` asks for the cells, `guards.py` guards the code and defaults of all it knows.
"""

from __future__ import annotations

import functools
import gc
import types
from typing import Any

from .chains import MISSING


class Functions:
    """Function objects by code, found where names lead to them: a frame does not tell its own."""

    def __init__(self) -> None:
        self.of: dict[types.CodeType, list[types.FunctionType]] = {}
        self._seen: set[int] = set()

    def learn(self, value: Any, depth: int = 4) -> None:
        """Keep a function, and those in its closure."""
        if not callable(value):
            return
        value = getattr(value, "function", value) if _is_jitted(value) else value
        value = getattr(value, "func", value) if isinstance(value, functools.partial) else value
        value = value.__func__ if isinstance(value, types.MethodType) else value
        if not isinstance(value, types.FunctionType) or not depth or id(value) in self._seen:
            return
        self._seen.add(id(value))
        self.of.setdefault(value.__code__, []).append(value)
        for cell in value.__closure__ or ():
            self.learn(_content(cell), depth - 1)

    def running(self, frame: types.FrameType) -> types.FunctionType | None:
        """Return the function that ``frame`` runs, matched by what its closure holds."""
        for function in self.of.get(frame.f_code, ()):
            if _same_closure(function, frame):
                return function
        for found in gc.get_referrers(frame.f_code):
            if isinstance(found, types.FunctionType) and _same_closure(found, frame):
                self.learn(found)
                return found
        return None


def _is_jitted(value: Any) -> bool:
    return type(value).__name__ == "Jitted" and "situations" in getattr(value, "__dict__", ())


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return MISSING


def _same_closure(function: types.FunctionType, frame: types.FrameType) -> bool:
    names = frame.f_code.co_freevars
    cells = function.__closure__ or ()
    return len(cells) == len(names) and all(
        frame.f_locals.get(name, MISSING) is _content(cell)
        for name, cell in zip(names, cells, strict=True)
    )
