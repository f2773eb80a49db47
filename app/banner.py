"""A line above the canvas: the session is gone, and one click brings it back."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from . import theme
from .link import SessionLink
from .state import SessionInfo


class Banner(QWidget):
    """Shown while the session is lost; the drawing is safe, and says so."""

    def __init__(self, link: SessionLink) -> None:
        super().__init__()
        self._text = QLabel()
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.restart = QPushButton("Restart the session")
        self.restart.setProperty("role", "primary")
        self.restart.clicked.connect(link.restart)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 6, 14, 6)
        row.addWidget(self._text, 1)
        row.addWidget(self.restart)
        self.setVisible(False)
        link.state.session_changed.connect(self._show_session)

    def _show_session(self, info: SessionInfo) -> None:
        lost = info.state == "lost"
        if lost:
            self._text.setText(f"{info.message} The drawing is safe.")
        self.setVisible(lost)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A hint of red over the panel's colour, with a red line below."""
        colors = theme.current()
        painter = QPainter(self)
        painter.fillRect(self.rect(), colors.color("panel"))
        painter.fillRect(self.rect(), colors.color("stop", 0.10))
        painter.fillRect(0, self.height() - 1, self.width(), 1, colors.color("stop", 0.6))
        painter.end()
