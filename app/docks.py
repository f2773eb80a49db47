"""Docks: a slim title, no frame; what is in them belongs to the panels."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QHBoxLayout, QLabel, QWidget

from . import theme

Area = Literal["left", "right", "bottom"]
AREAS: dict[Area, Qt.DockWidgetArea] = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}
SIZES: dict[Area, int] = {"left": 196, "right": 280, "bottom": 236}


class Dock(QDockWidget):
    """A panel's dock; at the bottom its tab is its title, elsewhere a heading of 30 pixels.

    The heading follows `setWindowTitle`, so a panel may say what it shows.
    """

    def __init__(self, title: str, widget: QWidget, area: Area, parent: QWidget) -> None:
        super().__init__(title, parent)
        self.setObjectName(f"dock_{title.lower().replace(' ', '_')}")
        self.setFeatures(
            QDockWidget.DockWidgetFeature.DockWidgetMovable
            | QDockWidget.DockWidgetFeature.DockWidgetClosable
            | QDockWidget.DockWidgetFeature.DockWidgetFloatable
        )
        self.setWidget(widget)
        self._heading = _Heading(self)
        self._hidden = _NoHeading(self)
        self.dockLocationChanged.connect(self._moved)
        self.topLevelChanged.connect(lambda _: self._moved(None))
        self._show_heading(area != "bottom")

    def _moved(self, area: Qt.DockWidgetArea | None) -> None:
        bottom = area == Qt.DockWidgetArea.BottomDockWidgetArea
        self._show_heading(self.isFloating() or not bottom)

    def _show_heading(self, visible: bool) -> None:
        wanted = self._heading if visible else self._hidden
        if self.titleBarWidget() is not wanted:
            self.setTitleBarWidget(wanted)
            other = self._hidden if visible else self._heading
            other.hide()
            wanted.show()


class _Heading(QWidget):
    """The dock's title: capitals, muted, semibold, 11 pixels."""

    def __init__(self, dock: QDockWidget) -> None:
        super().__init__(dock)
        self._label = QLabel(dock.windowTitle().upper())
        self._label.setFont(theme.font(theme.SMALL, 600))
        self._label.setProperty("role", "heading")
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 14, 8, 7)
        row.addWidget(self._label)
        row.addStretch(1)
        dock.windowTitleChanged.connect(lambda title: self._label.setText(title.upper()))


class _NoHeading(QWidget):
    """No heading at all: the tab says it."""

    def __init__(self, dock: QDockWidget) -> None:
        super().__init__(dock)
        self.setFixedHeight(0)
