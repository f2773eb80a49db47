"""History: what happened, line by line, and the steps that can be undone."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QListWidget, QListWidgetItem, QUndoView, QWidget

from .. import theme
from ..link import SessionLink
from ..state import EditorState, LogLine, Selection
from .rows import column, label

ICONS = {
    "info": ("info", "muted"),
    "warning": ("warning", "warn"),
    "error": ("warning-circle", "stop"),
}


class HistoryPanel(QWidget):
    """The session's log on the left, the undo steps on the right."""

    def __init__(
        self, state: EditorState, link: SessionLink, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("history")
        self._state = state
        self.list = QListWidget()
        self.list.setWordWrap(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setIconSize(QSize(14, 14))
        self.list.itemActivated.connect(self._choose)
        self.undo = QUndoView(state.undo_stack)
        self.undo.setEmptyLabel("as opened")
        self.undo.setMaximumWidth(260)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(16)
        layout.addLayout(column(label("What happened", "small"), self.list, margin=0), 3)
        layout.addLayout(column(label("Undo steps", "small"), self.undo, margin=0), 1)
        for entry in state.log:
            self._add(entry)
        state.logged.connect(self._add)

    def _add(self, entry: LogLine) -> None:
        name, token = ICONS.get(entry.level, ICONS["info"])
        item = QListWidgetItem(theme.icon(name, token), entry.message)
        item.setData(Qt.ItemDataRole.UserRole, entry.node)
        self.list.addItem(item)
        while self.list.count() > len(self._state.log):
            self.list.takeItem(0)
        self.list.scrollToBottom()

    def _choose(self, item: QListWidgetItem) -> None:
        node = item.data(Qt.ItemDataRole.UserRole)
        if node in self._state.document.nodes:
            self._state.select(Selection(nodes=frozenset({node})))
