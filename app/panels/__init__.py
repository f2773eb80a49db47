"""The window's panels: one file each, all fed by `EditorState`, all docked by `add_panels`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QScrollArea, QWidget

from ..docks import Area
from .breakpoints import BreakpointList, BreakpointsPanel
from .code import CodePanel
from .history import HistoryPanel
from .inspector import InspectorPanel
from .problems import ProblemsPanel
from .profile import ProfilePanel
from .tensor import TensorPanel
from .training import TrainingPanel

if TYPE_CHECKING:
    from ..window import MainWindow

PANELS: tuple[tuple[Area, str, type], ...] = (
    ("right", "Tensor", TensorPanel),
    ("right", "Inspector", InspectorPanel),
    ("right", "Breakpoint list", BreakpointList),
    ("bottom", "Training", TrainingPanel),
    ("bottom", "Code", CodePanel),
    ("bottom", "Profile", ProfilePanel),
    ("bottom", "Breakpoints", BreakpointsPanel),
    ("bottom", "Problems", ProblemsPanel),
    ("bottom", "History", HistoryPanel),
)
SCROLLED = ("Inspector", "Training")
"""Panels that scroll where the window is too small for them."""
RIGHT_SHARES = {"Tensor": 460, "Inspector": 340, "Breakpoint list": 120}
"""How the right side's height is shared at first."""


def add_panels(window: MainWindow) -> dict[str, QWidget]:
    """Put every panel into the window; returns them by title."""
    made: dict[str, QWidget] = {}
    docks: dict[str, QDockWidget] = {}
    for area, title, kind in PANELS:
        panel = kind(window.state, window.link)
        made[title] = panel
        dock = window.add_panel(area, title, _scrolled(panel) if title in SCROLLED else panel)
        docks[title] = dock
        if isinstance(panel, ProblemsPanel):
            panel.counted.connect(partial(_show_count, dock, title))
            _show_count(dock, title, panel.list.count())
    docks["Breakpoint list"].setWindowTitle("Breakpoints")
    window.resizeDocks(
        [docks[title] for title in RIGHT_SHARES],
        list(RIGHT_SHARES.values()),
        Qt.Orientation.Vertical,
    )
    return made


def _show_count(dock: QDockWidget, title: str, number: int) -> None:
    dock.setWindowTitle(f"{title} {number}" if number else title)


def _scrolled(panel: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setWidget(panel)
    return area
