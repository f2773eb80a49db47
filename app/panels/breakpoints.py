"""Breakpoints: where the run stops, on what condition, how often each was hit."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from ...engine.run.conditions import GRAMMAR, ConditionError, parse_condition
from ...nodes import changes as c
from ...nodes.document import Document
from ...nodes.items import Breakpoint, MarkKey
from .. import theme
from ..link import SessionLink
from ..state import EditorState
from .rows import column, label, row

HEADS = ("", "wire", "condition", "action", "hits", "")
WHERE, CONDITION, ACTION, HITS, REMOVE = 1, 2, 3, 4, 5
EMPTY = "Click a wire to stop before the value enters its node."


def ordered(document: Document) -> list[Breakpoint]:
    """The document's breakpoints by the names of their wires."""
    return sorted(document.breakpoints.values(), key=lambda mark: (where(document, mark), mark.key))


def where(document: Document, mark: Breakpoint) -> str:
    """The wire of a breakpoint in words; the arrow shows which way the value goes."""
    edge = document.edges.get((mark.target, mark.input))
    source = document.nodes[edge.source].name if edge else "?"
    arrow = "→" if mark.direction == "forward" else "←"
    return f"{source} {arrow} {document.nodes[mark.target].name}"


class BreakpointsPanel(QWidget):
    """A table of all breakpoints; conditions and actions are edited in place."""

    def __init__(
        self, state: EditorState, link: SessionLink, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("breakpoints")
        self._state = state
        self._rows: list[MarkKey] = []
        self.table = _table()
        self.table.itemChanged.connect(self._toggled)
        self.table.cellClicked.connect(self._clicked)
        self.message = label("", "small", wrap=True)
        self.message.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.setLayout(column(self.table, self.message, margin=8))
        state.document_changed.connect(self._rebuild)
        state.document_replaced.connect(self._rebuild)
        state.run_changed.connect(self._show_hits)
        self._rebuild()

    def _show_hits(self, _: object = None) -> None:
        for at, key in enumerate(self._rows):
            item = self.table.item(at, HITS)
            if item is not None:
                item.setText(str(self._state.run.hits.get(key, 0)))

    def _rebuild(self, _: object = None) -> None:
        marks = ordered(self._state.document)
        keys = [mark.key for mark in marks]
        self.table.blockSignals(True)
        self._rows = keys
        self.table.setRowCount(len(marks))
        for at, mark in enumerate(marks):
            self._fill(at, mark)
        self.table.blockSignals(False)
        self.message.setText("" if marks else EMPTY)
        self.table.setVisible(bool(marks))
        self._show_hits()

    def _fill(self, at: int, mark: Breakpoint) -> None:
        check = QTableWidgetItem()
        check.setFlags(Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsEnabled)
        state = Qt.CheckState.Checked if mark.enabled else Qt.CheckState.Unchecked
        check.setCheckState(state)
        check.setToolTip("Stop here" if mark.enabled else "Off")
        self.table.setItem(at, 0, check)
        for place, text in ((WHERE, where(self._state.document, mark)), (HITS, "0")):
            item = QTableWidgetItem(text)
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
            self.table.setItem(at, place, item)
        self.table.setCellWidget(at, CONDITION, self._condition(mark))
        self.table.setCellWidget(at, ACTION, self._action(mark))
        remove = QPushButton()
        remove.setIcon(theme.icon("x"))
        remove.setProperty("role", "flat")
        remove.setToolTip("Remove this breakpoint")
        remove.clicked.connect(lambda: self._remove(mark.key))
        self.table.setCellWidget(at, REMOVE, remove)

    def _condition(self, mark: Breakpoint) -> QLineEdit:
        edit = QLineEdit(mark.condition)
        edit.setFont(theme.font(theme.SMALL, mono=True))
        edit.setPlaceholderText("always")
        edit.setToolTip(f"When to stop: {GRAMMAR}")
        edit.editingFinished.connect(lambda: self._set_condition(mark, edit.text().strip()))
        return edit

    def _action(self, mark: Breakpoint) -> QComboBox:
        choice = QComboBox()
        choice.addItems(["stop", "log", "snapshot"])
        choice.setCurrentText(mark.action)
        choice.activated.connect(lambda: self._set(mark, action=choice.currentText()))
        return choice

    def _set_condition(self, mark: Breakpoint, text: str) -> None:
        if text == mark.condition:
            return
        try:
            if text:
                parse_condition(text)
        except ConditionError as error:
            self.message.setText(str(error))
            return
        self._set(mark, condition=text)

    def _remove(self, key: MarkKey) -> None:
        if key in self._state.document.breakpoints:
            self._state.perform(c.RemoveBreakpoint(*key), "Remove breakpoint")

    def _set(self, mark: Breakpoint, **values: object) -> None:
        """Change a breakpoint, unless it went while it was being edited."""
        if mark.key not in self._state.document.breakpoints:
            return
        change = c.SetBreakpoint(msgspec.structs.replace(mark, **values))
        self._state.perform(change, "Change breakpoint")

    def _toggled(self, item: QTableWidgetItem) -> None:
        if item.column() != 0:
            return
        mark = self._state.document.breakpoints[self._rows[item.row()]]
        self._set(mark, enabled=item.checkState() == Qt.CheckState.Checked)

    def _clicked(self, at: int, place: int) -> None:
        if place in (WHERE, HITS):
            target, port, _ = self._rows[at]
            self._state.set_focus((target, port))


class BreakpointList(QWidget):
    """The same breakpoints in a narrow list: a dot, the wire, the condition and the hits."""

    def __init__(
        self, state: EditorState, link: SessionLink, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("breakpoint-list")
        self._state = state
        self._lines = column(margin=0, spacing=6)
        layout = column(self._lines)
        layout.addStretch(1)
        self.setLayout(layout)
        state.document_changed.connect(self._rebuild)
        state.document_replaced.connect(self._rebuild)
        state.run_changed.connect(self._rebuild)
        self._rebuild()

    def _rebuild(self, _: object = None) -> None:
        while (item := self._lines.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        document, hits = self._state.document, self._state.run.hits
        for mark in ordered(document):
            self._lines.addWidget(_line(where(document, mark), mark, hits.get(mark.key, 0)))
        if not document.breakpoints:
            self._lines.addWidget(label(EMPTY, "small", wrap=True))


def _line(where: str, mark: Breakpoint, hits: int) -> QWidget:
    dot = label("●" if mark.enabled else "○", "stop" if mark.enabled else "muted")
    tail = f"{mark.condition or 'always'} · {hits}" if mark.enabled else "off"
    made = QWidget()
    made.setLayout(row(dot, label(where, "" if mark.enabled else "muted"), None,
                       label(tail, "small"), spacing=6))  # fmt: skip
    return made


def _table() -> QTableWidget:
    table = QTableWidget(0, len(HEADS))
    table.setHorizontalHeaderLabels(list(HEADS))
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(32)
    table.setShowGrid(False)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
    head = table.horizontalHeader()
    head.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    head.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    head.setSectionResizeMode(CONDITION, QHeaderView.ResizeMode.Stretch)
    for place, width in ((0, 32), (WHERE, 200), (ACTION, 104), (HITS, 56), (REMOVE, 40)):
        table.setColumnWidth(place, width)
    return table
