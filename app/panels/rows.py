"""The building blocks of every panel: headings, lines, and rows of a label and a value."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLayout,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

MARGIN = 12


def label(text: str = "", role: str = "", *, mono: bool = False, wrap: bool = False) -> QLabel:
    """A label that can be selected; `role` is a role of the style sheet (muted, heading, …)."""
    made = QLabel(text)
    set_role(made, role or ("mono" if mono else ""))
    made.setWordWrap(wrap)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made


def set_role(widget: QWidget, role: str) -> None:
    """Give a widget a role of the style sheet, and show it at once."""
    if widget.property("role") == role:
        return
    widget.setProperty("role", role)
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def line() -> QFrame:
    """A thin line between two parts of a panel."""
    made = QFrame()
    made.setProperty("role", "line")
    return made


def column(*parts: QWidget | QLayout | None, margin: int = MARGIN, spacing: int = 8) -> QVBoxLayout:
    """Parts below each other; None takes the room that is left."""
    layout = QVBoxLayout()
    layout.setContentsMargins(margin, margin, margin, margin)
    layout.setSpacing(spacing)
    _fill(layout, parts)
    return layout


def row(*parts: QWidget | QLayout | None, spacing: int = 8) -> QHBoxLayout:
    """Parts beside each other; None takes the room that is left."""
    layout = QHBoxLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(spacing)
    _fill(layout, parts)
    return layout


def _fill(layout: QVBoxLayout | QHBoxLayout, parts: tuple[QWidget | QLayout | None, ...]) -> None:
    for part in parts:
        if part is None:
            layout.addStretch(1)
        elif isinstance(part, QWidget):
            layout.addWidget(part)
        else:
            layout.addLayout(part)


class Facts(QWidget):
    """Rows of a muted name on the left and a figure on the right, set by name."""

    def __init__(self, *names: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        self._values: dict[str, QLabel] = {}
        self._names: dict[str, QLabel] = {}
        for index, name in enumerate(names):
            value = label(mono=True)
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            value.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            self._names[name] = label(name, "muted")
            grid.addWidget(self._names[name], index, 0)
            grid.addWidget(value, index, 1)
            self._values[name] = value

    def show_fact(self, name: str, text: str, *, alarm: bool = False) -> None:
        """Write the figure of a row; `alarm` shows it in the colour of what stops."""
        value = self._values[name]
        value.setText(text)
        value.setToolTip(text)
        set_role(value, "stop" if alarm else "mono")

    def fact(self, name: str) -> str:
        """The figure of a row, as it stands there."""
        return self._values[name].text()

    def set_row_visible(self, name: str, visible: bool) -> None:
        """Show or hide a row."""
        self._names[name].setVisible(visible)
        self._values[name].setVisible(visible)


def figure(value: float | None, digits: int = 4) -> str:
    """A number as a person reads it: a few significant digits, a true minus, `–` for none."""
    if value is None:
        return "–"
    text = f"{value:.{digits}g}"
    return text.replace("-", "−") if text[0] == "-" else text


def count(value: int) -> str:
    """A whole number with thousands apart, as in `18,496`."""
    return f"{value:,}"


def large(value: float) -> str:
    """A large number with its unit prefix, as in `2.36 M`."""
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}"
    return f"{value:g}"
