"""Problems: what keeps the drawing from running, each with its node and what to do."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from .. import theme
from ..link import SessionLink
from ..session import messages as m
from ..state import EditorState, Selection, sentences
from .rows import column, label

NONE = "No problems: the drawing can run."


class ProblemsPanel(QWidget):
    """A list of problems; choosing one selects its node."""

    counted = Signal(int)
    """How many problems there are, for the tab's title."""

    def __init__(
        self, state: EditorState, link: SessionLink, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("problems")
        self._state = state
        self._found: list[tuple[str, str]] | None = None
        self.list = QListWidget()
        self.list.setWordWrap(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setIconSize(QSize(14, 14))
        self.list.itemActivated.connect(self._choose)
        self.list.itemClicked.connect(self._choose)
        self.message = label(NONE, "small")
        self.message.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.setLayout(column(self.message, self.list, margin=8))
        state.problems_changed.connect(self._show)
        state.run_changed.connect(self._show)
        state.training_changed.connect(self._show)
        self._show()

    def _show(self, _: object = None) -> None:
        nodes = self._state.document.nodes
        found = [(p.node, _sentence(p)) for p in self._state.problems]
        failed = self._state.run.failed
        if failed is not None:
            found.insert(0, (failed.node, sentences(failed.message, failed.fix)))
        halted = self._state.halted
        if halted is not None:
            found.insert(0, (halted.node or "", sentences(halted.message, halted.fix)))
        found = [(id, f"{nodes[id].name}: {text}" if id in nodes else text) for id, text in found]
        if found == self._found:
            return
        self._found = found
        self.list.clear()
        for node, text in found:
            row = QListWidgetItem(theme.icon("warning-circle", "stop"), text)
            row.setData(Qt.ItemDataRole.UserRole, node)
            self.list.addItem(row)
        self.list.setVisible(bool(found))
        self.message.setVisible(not found)
        self.counted.emit(len(found))

    def _choose(self, item: QListWidgetItem) -> None:
        node = item.data(Qt.ItemDataRole.UserRole)
        if node in self._state.document.nodes:
            self._state.select(Selection(nodes=frozenset({node})))


def _sentence(problem: m.Problem) -> str:
    named = not problem.port or problem.message.startswith(f"{problem.port} ")
    where = "" if named else f"{problem.port}: "
    return where + sentences(problem.message, problem.fix)
