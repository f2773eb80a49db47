"""The breadcrumbs at the top left of the canvas: whose drawing, and which level of it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from .. import theme
from ..state import EditorState


class Crumbs(QLabel):
    """`Digits MLP › main`."""

    def __init__(self, state: EditorState, parent: QWidget) -> None:
        super().__init__(parent)
        self._state = state
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(theme.font(theme.BODY))
        self.setProperty("role", "muted")
        for signal in (state.document_changed, state.document_replaced):
            signal.connect(self._show)
        self._show(None)

    def _show(self, _: object) -> None:
        self.setText(f"{self._state.document.title}  ›  main")
        self.adjustSize()
