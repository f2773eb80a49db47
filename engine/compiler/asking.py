"""Open sizes and those of one call: what is asked of a size is answered, and taken down.

Traces share it (`open_sizes.py`) with passes over graphs that have symbols (`open_plans.py`).
"""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..shape import Aval, Dim, ShapeError, SymDim, deciders, evaluate, substitute
from .traced import PACKAGE_NAME, TraceBreak, in_package

Sizes = dict[str, int]
Question = tuple[str, Dim, float]
RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
}  # fmt: skip


def answer(question: Question, sizes: Sizes) -> bool:
    """Return whether a relation of sizes holds; sizes of other symbols are equal if spelt alike."""
    relation, left, right = question
    pair = evaluate(left, sizes), evaluate(right, sizes) if isinstance(right, SymDim) else right
    if any(isinstance(dim, SymDim) for dim in pair):
        return relation == "==" and _spelt(pair[0]) == _spelt(pair[1])
    return RELATIONS[relation](*pair)


class Asked:
    """Answers what is asked of open sizes, with those of one call, and keeps the answers."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.answers: dict[tuple[object, ...], tuple[Question, bool]] = {}
        self._thread = threading.get_ident()

    def decide(self, relation: str, left: Dim, right: float) -> bool:
        """Answer with this call's sizes; structurally for another thread."""
        if self._is_foreign():
            return False
        found = answer((relation, left, right), self.sizes)
        key = (relation, _spelt(left), _spelt(right))
        self.answers.setdefault(key, ((relation, left, right), found))
        return found

    def number(self, dim: SymDim) -> int:
        """Refuse: a graph would keep the number."""
        if self._is_foreign():
            raise TypeError("the size of an axis is not known yet; it is no number.")
        raise TraceBreak(f"the size {dim.text} is used as a number", "", _asker())

    def reveal(self, dim: SymDim) -> None:
        """Refuse where the user's code looks a size up."""
        frame = sys._getframe(2)
        if not self._is_foreign() and not _is_own(frame):
            raise TraceBreak(f"the size {dim.text} is looked up or printed", "", _asker())

    spell = reveal

    def fail(self, error: ShapeError) -> None:
        """Give the trace up, also where the user's code catches the error."""
        if not self._is_foreign():
            TraceBreak(str(error), "", _asker())  # traces note it as it is made

    def _is_foreign(self) -> bool:
        """Whether another thread asks, of sizes of its own."""
        return self._thread != threading.get_ident()

    @property
    def questions(self) -> list[tuple[Question, bool]]:
        """What was asked, and what was answered."""
        return list(self.answers.values())


def _spelt(dim: Any) -> object:
    return dim.terms if isinstance(dim, SymDim) else dim


def _is_own(frame: types.FrameType) -> bool:
    code = frame.f_code
    if code.co_filename == "<string>":  # what dataclasses write
        return frame.f_globals.get("__name__", "").startswith(f"{PACKAGE_NAME}.")
    return in_package(code.co_filename)


def _asker() -> str | None:
    """Return file and line of the innermost frame of the user's code."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and _is_own(frame):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else None


@contextmanager
def asking(asked: Asked) -> Iterator[None]:
    """Let questions about open sizes be answered in the body."""
    deciders.append(asked)
    try:
        yield
    finally:
        deciders.remove(asked)


def put_in(attr: Any, sizes: Sizes) -> Any:
    """Return an attribute with numbers for its symbols."""
    if isinstance(attr, SymDim):
        return evaluate(attr, sizes)
    if type(attr) is tuple:
        return tuple(put_in(part, sizes) for part in attr)
    return substitute(attr, sizes) if isinstance(attr, Aval) else attr
