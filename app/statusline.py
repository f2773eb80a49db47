"""The line at the bottom: session, device, size of the graph, what is going on, memory, zoom."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QStatusBar, QWidget

from . import theme
from .state import EditorState, LogLine, Run, SessionInfo

NEWS_MS = 6000
NEWS_ROLES = {"done": "ok", "warning": "warn", "error": "stop"}
SESSION_WORDS = {
    "starting": ("muted", "session starting"),
    "ready": ("ok", "session ready"),
    "lost": ("stop", "session lost"),
}


class StatusLine(QStatusBar):
    """Tells at a glance what the program is doing."""

    def __init__(self, state: EditorState) -> None:
        super().__init__()
        self._state = state
        self.setSizeGripEnabled(False)
        self.setFixedHeight(26)
        names = ("session", "device", "graph", "activity")
        self.labels = {name: QLabel() for name in names}
        self.memory = QLabel()
        self.zoom = QPushButton("100 %")
        self.zoom.setProperty("role", "flat")
        self.zoom.setToolTip("Back to 100 %")
        for label in (*self.labels.values(), self.memory, self.zoom):
            label.setFont(theme.font(theme.SMALL))
        self.zoom.setObjectName("zoom")
        for name in ("device", "graph"):
            self.labels[name].setProperty("role", "small")
        self.memory.setProperty("role", "small")
        self._lay_out()
        state.session_changed.connect(self._show_session)
        state.run_changed.connect(self._show_run)
        state.training_changed.connect(self._show_run)
        state.document_changed.connect(self._show_graph)
        state.document_replaced.connect(self._show_graph)
        state.logged.connect(self._show_news)
        self._news_over = QTimer(self)
        self._news_over.setSingleShot(True)
        self._news_over.timeout.connect(self._show_run)
        self._show_session(state.session)
        self._show_run()

    def _lay_out(self) -> None:
        row = QWidget()
        layout = QHBoxLayout(row)
        layout.setContentsMargins(12, 0, 8, 0)
        layout.setSpacing(18)
        for label in self.labels.values():
            layout.addWidget(label)
        layout.addStretch(1)
        layout.addWidget(self.memory)
        layout.addWidget(self.zoom)
        self.addWidget(row, 1)

    def show_zoom(self, zoom: float) -> None:
        """Show the canvas's zoom."""
        self.zoom.setText(f"{zoom * 100:.0f} %")

    def _show_session(self, info: SessionInfo) -> None:
        role, words = SESSION_WORDS[info.state]
        _say(self.labels["session"], f"● {words}", role)
        threads = f"{info.threads} thread{'s' if info.threads != 1 else ''}"
        self.labels["device"].setText(f"{info.device} · {threads}" if info.device else "")
        megabytes = info.memory_bytes / 2**20
        self.memory.setText(f"{megabytes:,.0f} MB" if info.memory_bytes else "")
        self.memory.setToolTip(f"{info.value_bytes / 2**20:,.1f} MB of values kept on wires")
        self._show_graph()

    def _show_graph(self, _: object = None) -> None:
        count = len(self._state.document.nodes)
        text = f"{count:,} node{'s' if count != 1 else ''}"
        if self._state.session.parameters:
            text += f" · {self._state.session.parameters:,} parameters"
        self.labels["graph"].setText(text)

    def _show_news(self, line: LogLine) -> None:
        """Say what was asked for and is done, a warning or an error for some seconds.

        The history keeps it.
        """
        if line.level not in NEWS_ROLES:
            return
        label = self.labels["activity"]
        text = line.message.splitlines()[0] if line.message else ""
        room = max(200, self.width() - 640)
        short = label.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room)
        _say(label, short, NEWS_ROLES[line.level])
        label.setToolTip(line.message)
        self._news_over.start(NEWS_MS)

    def _show_run(self, _: object = None) -> None:
        if self._news_over.isActive() and _ is not None:
            return
        self.labels["activity"].setToolTip("")
        words, role = activity(self._state)
        _say(self.labels["activity"], words, role)


def activity(state: EditorState) -> tuple[str, str]:
    """What is going on, in words, and the role of their colour."""
    run = state.run
    if run.failed is not None:
        return f"stopped at an error in {_name(state, run.failed.node)}", "stop"
    if run.paused is not None:
        return f"paused {_place(state, run)}", "stop"
    if run.state == "training" and state.training.progress is not None:
        progress = state.training.progress
        return f"training · epoch {progress.epoch} of {progress.epochs}", "ok"
    words = {
        "running": "running",
        "training": "training",
        "training paused": "training paused",
        "finished": "run finished",
        "paused": f"next is {_name(state, run.next_node)}",
    }
    return words.get(run.state, ""), "small"


def _place(state: EditorState, run: Run) -> str:
    paused = run.paused
    assert paused is not None
    if paused.edge is not None:
        edge = state.document.edges.get((paused.edge.node, paused.edge.port))
        if edge is not None:
            arrow = "→" if paused.direction == "forward" else "←"
            return f"at {_name(state, edge.source)} {arrow} {_name(state, edge.target)}"
    return f"before {_name(state, paused.node)}" if paused.node else "at the end"


def _name(state: EditorState, id: str | None) -> str:
    document = state.document
    found = document.nodes.get(id or "") or document.groups.get(id or "")
    return found.name if found else "the end"


def _say(label: QLabel, text: str, role: str) -> None:
    label.setText(text)
    if label.property("role") != role:
        label.setProperty("role", role)
        label.style().unpolish(label)
        label.style().polish(label)
