"""Undo: one command an action, holding a change and its inverse (ids and values, never items)."""

from __future__ import annotations

import re

from PySide6.QtGui import QUndoCommand

from ..nodes import changes as c
from ..nodes.document import Document

_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


class ChangeCommand(QUndoCommand):
    """A change that has been applied already: the first redo, on being pushed, does nothing."""

    def __init__(
        self, document: Document, change: c.Change, inverse: c.Change, text: str, merge: str
    ) -> None:
        super().__init__(text or describe(change))
        self._document = document
        self._changes, self._inverses = [change], [inverse]
        self._merge = merge
        self._applied = True

    def redo(self) -> None:
        """Apply the changes again."""
        if not self._applied:
            for change in self._changes:
                self._document.apply(change)
        self._applied = True

    def undo(self) -> None:
        """Apply the inverses, last first."""
        for inverse in reversed(self._inverses):
            self._document.apply(inverse)
        self._applied = False

    def id(self) -> int:
        """One number for all commands that may merge; -1 for one that never does."""
        return 1 if self._merge else -1

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Take in the next command of the same merge key, so that both are one step."""
        if not isinstance(other, ChangeCommand) or other._merge != self._merge:
            return False
        self._changes += other._changes
        self._inverses += other._inverses
        return True


def describe(change: c.Change) -> str:
    """A change in words for the Edit menu: `Add node`, `Connect`, or a compound's own name."""
    if isinstance(change, c.Compound):
        return change.name
    words = _WORDS.split(type(change).__name__)
    return " ".join([words[0], *(word.lower() for word in words[1:])])
