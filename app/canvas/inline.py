"""A line edit on the canvas, there only while a name, a title or a condition is being edited."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from .. import theme

LEAST_WIDTH = 120


class InlineEdit(QLineEdit):
    """Enter or leaving it commits, Escape gives up; `commit` says what is wrong, or ""."""

    def __init__(
        self, parent: QWidget, text: str, place: QRect, commit: Callable[[str], str]
    ) -> None:
        super().__init__(text, parent)
        self.setObjectName("inline_edit")
        self._commit, self._before, self._done = commit, text, False
        self.setFont(theme.font(theme.TITLE, 600))
        self.setGeometry(place.x(), place.y(), max(LEAST_WIDTH, place.width()), 28)
        self.selectAll()
        self.show()
        self.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter commits, Escape gives up."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._finish()
        elif event.key() == Qt.Key.Key_Escape:
            self._close()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Commit what can be committed, and go."""
        super().focusOutEvent(event)
        if not self._done:
            if self.text() != self._before:
                self._commit(self.text())
            self._close()

    def _finish(self) -> None:
        problem = self._commit(self.text()) if self.text() != self._before else ""
        if problem:
            self.setProperty("invalid", True)
            self.style().unpolish(self)
            self.style().polish(self)
            self.setToolTip(problem)
            return
        self._close()

    def _close(self) -> None:
        if not self._done:
            self._done = True
            parent = self.parentWidget()
            self.hide()
            self.deleteLater()
            if parent is not None:
                parent.setFocus()
