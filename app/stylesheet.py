"""Shapes that a palette cannot say (round corners, tabs, docks), written with the tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Template

SHEET = Template("""
QMainWindow, QDialog { background: $panel; }
QMainWindow::separator { background: $line; width: 1px; height: 1px; }
QToolTip { background: $node; color: $text; border: 1px solid $outline; padding: 4px 6px; }
QLabel[role="muted"] { color: $muted; }
QLabel[role="small"] { color: $muted; font-size: $small; }
QLabel[role="heading"] { color: $muted; font-size: $small; font-weight: 600; }
QLabel[role="display"] { font-size: $display; font-weight: 600; }
QLabel[role="ok"] { color: $ok_text; }
QLabel[role="warn"] { color: $warn_text; }
QLabel[role="stop"] { color: $stop_text; }
QLabel[role="legend-train"] { color: $accent_text; font-size: $small; }
QLabel[role="legend-held-out"] { color: $warn_text; font-size: $small; }
QLabel[role="mono"] { font-family: "JetBrains Mono"; }
QFrame[role="line"] { background: $line; border: none; max-height: 1px; min-height: 1px; }

QPushButton, QToolButton[role="button"] {
    background: $field; color: $text; border: 1px solid $line; border-radius: 6px;
    padding: 4px 11px; min-height: 16px;
}
QPushButton:hover, QToolButton[role="button"]:hover { border-color: $faint; }
QPushButton:pressed, QToolButton[role="button"]:pressed { background: $line; }
QPushButton:focus, QToolButton[role="button"]:focus { border-color: $accent; }
QPushButton:disabled, QToolButton[role="button"]:disabled { color: $faint; background: $panel; }
QPushButton[role="primary"] {
    background: $button; color: $button_text; border-color: $button; font-weight: 600;
}
QPushButton[role="primary"]:hover { border-color: $accent; }
QPushButton[role="primary"]:disabled { background: $field; color: $faint; border-color: $line; }
QPushButton:checked { border-color: $accent; color: $accent_text; }
QPushButton[role="stop"]:enabled { color: $stop_text; }
QPushButton[role="ok"]:enabled { color: $ok_text; border-color: $ok_edge; background: $ok_fill; }
QPushButton[role="flat"], QToolButton[role="flat"] {
    background: transparent; border: 1px solid transparent; border-radius: 6px; padding: 3px 6px;
}
QPushButton[role="flat"]:hover, QToolButton[role="flat"]:hover { background: $field; }
QPushButton::menu-indicator { image: none; width: 0; }
QToolButton::menu-indicator { image: none; width: 0; }

QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox, QPlainTextEdit, QTextEdit {
    background: $field; color: $text; border: 1px solid $line; border-radius: 6px;
    padding: 3px 8px; selection-background-color: $button; selection-color: $button_text;
}
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus,
QPlainTextEdit:focus, QTextEdit:focus { border-color: $accent; }
QLineEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled, QComboBox:disabled {
    color: $faint;
}
QLineEdit[invalid="true"], QSpinBox[invalid="true"] { border-color: $stop; }
QSpinBox::up-button, QSpinBox::down-button,
QDoubleSpinBox::up-button, QDoubleSpinBox::down-button { width: 0; border: none; }
QComboBox::drop-down { border: none; width: 18px; }
QComboBox::down-arrow { image: url($icons:caret.svg); width: 12px; height: 12px; }
QComboBox QAbstractItemView {
    background: $node; border: 1px solid $outline; selection-background-color: $button;
    selection-color: $button_text; outline: none;
}

QMenuBar { background: $panel; color: $muted; padding: 1px 8px; font-size: $small; }
QMenuBar::item { padding: 3px 8px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: $field; color: $text; }
QMenu { background: $node; border: 1px solid $outline; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 12px; border-radius: 4px; }
QMenu::item:selected { background: $button; color: $button_text; }
QMenu::item:disabled { color: $faint; }
QMenu::separator { height: 1px; background: $outline; margin: 4px 8px; }
QMenu::icon { padding-left: 8px; }

QDockWidget { color: $muted; font-size: $small; font-weight: 600; }
QDockWidget > QWidget { background: $panel; }
QTabBar { background: $panel; qproperty-drawBase: 0; }
QTabBar::tab {
    background: $panel; color: $muted; padding: 8px 9px 7px; margin: 0 2px; border: none;
    border-bottom: 2px solid transparent;
}
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; font-weight: 600; }
QTabBar::tab:hover:!selected { color: $text; }
QTabBar::tab:focus { color: $text; }
QTabWidget::pane { border: none; }

QAbstractItemView { background: $panel; border: none; outline: none; }
QTreeView::item, QListView::item { padding: 2px 4px; border-radius: 4px; border: none; }
QTreeView::item:hover, QListView::item:hover { background: $field; }
QTreeView::item:selected, QListView::item:selected { background: $button; color: $button_text; }
QTreeView::branch { background: transparent; }
QTableView { gridline-color: $line; }
QTableView::item { padding: 2px 8px; }
QTableView QLineEdit, QTableView QComboBox { margin: 2px 3px; }
QHeaderView::section {
    background: $panel; color: $muted; border: none; border-bottom: 1px solid $line;
    padding: 4px 8px; font-size: $small;
}
QTableCornerButton::section { background: $panel; border: none; }

QProgressBar {
    background: $field; border: none; border-radius: 3px; max-height: 6px; min-height: 6px;
}
QProgressBar::chunk { background: $accent; border-radius: 3px; }
QCheckBox::indicator {
    width: 14px; height: 14px; border: 1px solid $faint; border-radius: 4px;
}
QCheckBox::indicator:checked {
    background: $accent; border-color: $accent; image: url($icons:check.svg);
}
QCheckBox::indicator:focus { border-color: $accent; }
QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; border: none; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: $line; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: $faint; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QStatusBar { background: $panel; border-top: 1px solid $line; }
QStatusBar::item { border: none; }
QStatusBar QPushButton { color: $muted; font-size: $small; padding: 1px 6px; min-height: 12px; }
""")


def stylesheet(tokens: Mapping[str, object], points: Callable[[float], float], icons: str) -> str:
    """The sheet for a theme's tokens; `points` turns pixels into font points."""
    return SHEET.substitute(
        tokens,
        small=f"{points(11.0):.3f}pt",
        display=f"{points(24.0):.3f}pt",
        ok_fill=_fade(str(tokens["ok"]), 0.10),
        ok_edge=_fade(str(tokens["ok"]), 0.40),
        icons=icons,
    )


def _fade(color: str, alpha: float) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {alpha})"
