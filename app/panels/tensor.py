"""The tensor on the selected or paused wire: statistics, pictures, a table, its history."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QLineEdit,
    QPushButton,
    QStackedWidget,
    QTabBar,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from ...engine.run.graph import Edge as EdgeName
from ...engine.run.inspect import Statistics, Table
from .. import theme
from ..link import SessionLink
from ..session import messages as m
from ..state import EditorState, key_of, sentences
from .curves import Plot
from .pictures import HistogramView, Picture
from .rows import Facts, column, figure, label, row

VIEWS: tuple[tuple[str, m.What], ...] = (
    ("Map", "heat_map"),
    ("Images", "images"),
    ("Table", "table"),
    ("History", "history"),
)
REFRESH_MS = 80
NO_WIRE = "Click a wire to look at the tensor on it."


class TensorPanel(QWidget):
    """Shows one wire's value, or the gradient that flows back over it."""

    def __init__(
        self, state: EditorState, link: SessionLink, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("tensor")
        self._state, self._link = state, link
        self._gradient = False
        self._build()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self._request)
        state.focus_changed.connect(self._refocus)
        state.run_changed.connect(self._run_changed)
        state.node_ran.connect(self._node_ran)
        state.inference_changed.connect(self._title)
        state.training_changed.connect(self._trained)
        self._refocus(state.focus)

    def _build(self) -> None:
        self.title = label()
        self.title.setFont(theme.font(theme.TITLE, 600))
        self.badge = label("● paused", "stop")
        self.which = QPushButton("gradient")
        self.which.setCheckable(True)
        self.which.setToolTip("Show the gradient that flowed back over this wire")
        self.which.toggled.connect(self._set_gradient)
        self.facts = Facts("tensor", "mean · std", "min · max", "zeros · NaN · Inf")
        self.tabs = QTabBar()
        self.tabs.setExpanding(False)
        for title, _ in VIEWS:
            self.tabs.addTab(title)
        self.tabs.currentChanged.connect(self._view_changed)
        self.picture = Picture()
        self.table = _table_widget()
        self.history, self.curve = _history_plot()
        self.views = QStackedWidget()
        for view in (self.picture, self.table, self.history):
            self.views.addWidget(view)
        self.slice = QLineEdit()
        self.slice.setPlaceholderText("0, :, 3")
        self.slice.setToolTip("Which part of the tensor to show: numbers, ':', 'start:stop', '...'")
        self.slice.setFont(theme.font(theme.SMALL, mono=True))
        self.slice.editingFinished.connect(self._request)
        self.note = label("", "small", wrap=True)
        self.histogram = HistogramView()
        self.body = QWidget()
        body = column(
            self.facts,
            self.tabs,
            self.views,
            row(label("slice", "small"), self.slice),
            self.histogram,
            margin=0,
        )
        body.setStretch(2, 1)
        self.body.setLayout(body)
        layout = column(row(self.title, self.badge, None, self.which), self.note, self.body)
        layout.addStretch(0)
        self.setLayout(layout)

    @property
    def view(self) -> m.What:
        """The form that the current tab shows."""
        return VIEWS[self.tabs.currentIndex()][1]

    # what to show

    def _refocus(self, _: object) -> None:
        self.slice.clear()
        self._title()
        self._clear()
        self._timer.start()

    def _title(self, _: object = None) -> None:
        state, key = self._state, self._state.focus
        edge = state.document.edges.get(key) if key else None
        for part in (self.title, self.which):
            part.setVisible(edge is not None)
        if edge is None:
            self.badge.hide()
            return
        nodes = state.document.nodes
        arrow = "←" if self._gradient else "→"
        self.title.setText(f"{nodes[edge.source].name} {arrow} {nodes[edge.target].name}")
        paused = state.run.paused
        here = paused is not None and paused.edge is not None and key_of(paused.edge) == key
        self.badge.setVisible(here)

    def _run_changed(self, run: object) -> None:
        paused = self._state.run.paused
        if paused is not None and paused.edge is not None:
            gradient = paused.direction == "gradient"
            if gradient != self.which.isChecked():
                self.which.setChecked(gradient)
        self._title()
        if not self._state.run.busy:
            self._timer.start()

    def _node_ran(self, node: str) -> None:
        edge = self._state.document.edges.get(self._state.focus) if self._state.focus else None
        if edge is not None and node in (edge.source, edge.target) and not self._timer.isActive():
            self._timer.start()

    def _trained(self, _: object) -> None:
        if self.view == "history" and not self._timer.isActive():
            self._timer.start()

    def _set_gradient(self, on: bool) -> None:
        self._gradient = on
        self._title()
        self._request()

    def _view_changed(self, index: int) -> None:
        self.views.setCurrentIndex(max(0, index - 1))
        self.slice.setEnabled(self.view != "history")
        self._request()

    # asking and answering

    def _request(self) -> None:
        key = self._state.focus
        if key is None or not self._link.alive:
            self._clear()
            return
        edge = EdgeName(*key)
        for what in ("histogram", self.view):
            text = "" if what in ("histogram", "history") else self.slice.text()
            command = m.Inspect(edge=edge, what=what, slice=text, gradient=self._gradient)
            self._link.send(command, self._answered)

    def _answered(self, answer: m.Event) -> None:
        if isinstance(answer, m.CommandFailed):
            self._failed(answer)
            return
        if not isinstance(answer, m.InspectionResult) or key_of(answer.edge) != self._state.focus:
            return
        self.body.show()
        self.note.hide()
        self._show_facts(answer.stats)
        if answer.histogram is not None:
            self.histogram.show_histogram(answer.histogram)
        if answer.heat_map is not None:
            self.picture.show_heat(answer.heat_map)
        if answer.images is not None:
            self.picture.show_grid(answer.images)
        if answer.table is not None:
            self._show_table(answer.table)
        if answer.history is not None:
            self._show_history(answer.history)

    def _failed(self, answer: m.CommandFailed) -> None:
        self._clear()
        if self._has_run():
            self.note.setText(sentences(answer.message, answer.fix))

    def _has_run(self) -> bool:
        run = self._state.run
        return self._state.focus in (run.ran_backward if self._gradient else run.ran)

    def _clear(self) -> None:
        key = self._state.focus
        self.picture.clear()
        self.histogram.show_histogram(None)
        self.body.setVisible(False)
        self.note.show()
        if key is None:
            self.note.setText(NO_WIRE)
            return
        expected = self._state.inference.edges.get(key)
        shape = f"Will carry {expected}. " if expected is not None else ""
        how = "Run backward to see its gradient." if self._gradient else "Run to see its value."
        self.note.setText(shape + how)

    def _show_facts(self, stats: Statistics) -> None:
        shape = "×".join(map(str, stats.shape)) or "scalar"
        self.facts.show_fact("tensor", f"{shape} {stats.dtype}")
        self.facts.show_fact("mean · std", f"{figure(stats.mean)} · {figure(stats.std)}")
        paused = self._state.run.paused
        hit = False
        if paused is not None and paused.edge is not None:
            hit = bool(paused.condition) and key_of(paused.edge) == self._state.focus
        self.facts.show_fact("min · max", f"{figure(stats.min)} · {figure(stats.max)}", alarm=hit)
        self.facts.show_fact(
            "zeros · NaN · Inf",
            f"{stats.zeros:.3g} % · {stats.nan:,} · {stats.inf:,}",
            alarm=bool(stats.nan or stats.inf),
        )

    def _show_table(self, page: Table) -> None:
        table = self.table
        table.setRowCount(len(page.cells))
        table.setColumnCount(len(page.cells[0]) if page.cells else 0)
        table.setVerticalHeaderLabels(page.row_labels)
        width = table.columnCount()
        table.setHorizontalHeaderLabels([str(page.column + at) for at in range(width)])
        for at, cells in enumerate(page.cells):
            for place, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                table.setItem(at, place, item)
        table.resizeColumnsToContents()

    def _show_history(self, points: tuple[m.HistoryPoint, ...]) -> None:
        known = [p for p in points if p.stats.absmax is not None]
        self.history.show_axes(bool(known))
        self.curve.setData([p.step for p in known], [p.stats.absmax or 0.0 for p in known])
        if not known:
            self.note.setText("Watch this wire (right-click it), then train, to see its history.")
            self.note.show()


def _table_widget() -> QTableWidget:
    table = QTableWidget()
    table.setFont(theme.font(theme.SMALL, mono=True))
    table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
    table.verticalHeader().setDefaultSectionSize(20)
    table.verticalHeader().setSectionsClickable(False)
    return table


def _history_plot() -> tuple[Plot, pg.PlotDataItem]:
    plot = Plot("largest magnitude over training steps")
    return plot, plot.add_curve("accent")
