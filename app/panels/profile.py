"""Profile: how long each node took, and what compile groups gained."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QScrollArea, QWidget

from .. import theme
from ..link import SessionLink
from ..session import messages as m
from ..state import EditorState
from .code import highlight
from .rows import column, label

ROW_HEIGHT, NAME_WIDTH, TIME_WIDTH = 22, 120, 76
NONE = "Run the drawing to see how long each node takes."
NO_REPORT = "Select nodes and press Compile: what they became appears here."


class ProfilePanel(QWidget):
    """Bars of the nodes' times on the left, the report of a compile group on the right."""

    def __init__(
        self, state: EditorState, link: SessionLink, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("profile")
        self._state = state
        self.message = label(NONE, "small")
        self.bars = TimeBars()
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(self.bars)
        self.report = QPlainTextEdit()
        self.report.setReadOnly(True)
        self.report.setFont(theme.font(theme.SMALL, mono=True))
        self.report.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._highlighter = highlight(self.report.document(), "llvm")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(16)
        layout.addLayout(column(self.message, scroll, margin=0), 2)
        layout.addLayout(column(label("Compiled groups", "small"), self.report, margin=0), 3)
        state.run_changed.connect(self._show)
        state.document_replaced.connect(self._show)
        state.group_changed.connect(self._show_reports)
        self._show()

    def _show(self, _: object = None) -> None:
        nodes, groups = self._state.document.nodes, self._state.document.groups
        times = [
            (nodes[key].name if key in nodes else f"⚡ {groups[key].name}", time)
            for key, time in self._state.run.milliseconds.items()
            if key in nodes or key in groups
        ]
        self.message.setVisible(not times)
        self.bars.show_times(sorted(times, key=lambda pair: -pair[1]))
        self._show_reports()

    def _show_reports(self, _: object = None) -> None:
        names = {key: node.name for key, node in self._state.document.nodes.items()}
        reports = self._state.reports.values()
        text = "\n\n".join(report_text(report, names) for report in reports) or NO_REPORT
        if text != self.report.toPlainText():
            self._highlighter.read(text)
            self.report.setPlainText(text)


def report_text(report: m.GroupReport, names: dict[str, str]) -> str:
    """A compile report as text: the summary, each kernel with its nodes, then the code."""
    speed = report.eager_microseconds / max(report.compiled_microseconds, 1e-9)
    lines = [
        f"; {report.name}: {len(report.nodes)} nodes → {len(report.kernels)} kernels"
        f" and {len(report.host_steps)} host steps",
        f"; eager {report.eager_microseconds:,.1f} µs, compiled {report.compiled_microseconds:,.1f}"
        f" µs ({speed:.2f}×), parity {report.parity:.2g}, compiled in"
        f" {report.compile_milliseconds:,.0f} ms, arena {report.arena_bytes:,} bytes",
    ]
    for kernel in report.kernels:
        members = ", ".join(names.get(node, node) for node in kernel.nodes)
        lines.append(f"; kernel {kernel.name}: {members}")
    for step in report.host_steps:
        members = ", ".join(names.get(node, node) for node in step.nodes)
        lines.append(f"; host {step.op} ({members}): {step.reason}")
    return "\n".join([*lines, "", report.code]).rstrip()


class TimeBars(QWidget):
    """A bar a node, longest first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times: list[tuple[str, float]] = []
        self.setMinimumWidth(260)

    def show_times(self, times: list[tuple[str, float]]) -> None:
        """Show these names and milliseconds, in this order."""
        self._times = times
        self.setMinimumHeight(ROW_HEIGHT * len(times))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw name, bar and time of each node."""
        if not self._times:
            return
        colors, painter = theme.current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        longest = max(self._times[0][1], 1e-9)
        room = self.width() - NAME_WIDTH - TIME_WIDTH
        middle = Qt.AlignmentFlag.AlignVCenter
        for at, (name, time) in enumerate(self._times):
            top = at * ROW_HEIGHT
            painter.setPen(colors.color("text"))
            painter.setFont(theme.font(theme.BODY))
            text = painter.fontMetrics().elidedText(
                name, Qt.TextElideMode.ElideRight, NAME_WIDTH - 8
            )
            painter.drawText(QRectF(0, top, NAME_WIDTH, ROW_HEIGHT), middle, text)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colors.color("accent", 0.75))
            bar = QRectF(NAME_WIDTH, top + 7, max(2.0, room * time / longest), 8)
            painter.drawRoundedRect(bar, 2, 2)
            painter.setPen(colors.color("muted"))
            painter.setFont(theme.font(theme.SMALL, mono=True))
            place = QRectF(self.width() - TIME_WIDTH, top, TIME_WIDTH, ROW_HEIGHT)
            painter.drawText(place, middle | Qt.AlignmentFlag.AlignRight, f"{time:.3f} ms")
        painter.end()
