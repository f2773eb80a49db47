"""What the window shows, in one object: panels read it, listen to its signals, and change the
drawing only through `perform`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QUndoStack

from ..engine.run.graph import Edge as EdgeName
from ..nodes import changes as c
from ..nodes.document import Document
from ..nodes.infer import Inference, infer
from ..nodes.items import EdgeKey, MarkKey
from ..nodes.library import LIBRARY
from ..nodes.spec import NodeSpec
from .commands import ChangeCommand
from .session import messages as m

INFER_DELAY_MS, INFER_DELAY_LARGE_MS = 15, 300
LARGE = 500
"""Inference waits for a pause in drawings of more nodes than this."""
LOG_LINES = 2000


@dataclass(frozen=True)
class Selection:
    """What is selected: nodes, wires, and boxes (groups, frames and notes) by id."""

    nodes: frozenset[str] = frozenset()
    edges: frozenset[EdgeKey] = frozenset()
    boxes: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.edges or self.boxes)


@dataclass
class Run:
    """The run as far as it came: which wires carried a value, how long nodes took, where it is."""

    state: m.State = "empty"
    next_node: str | None = None
    back: int = 0
    ran: set[EdgeKey] = field(default_factory=set)
    ran_backward: set[EdgeKey] = field(default_factory=set)
    milliseconds: dict[str, float] = field(default_factory=dict)
    avals: dict[tuple[str, str], str] = field(default_factory=dict)
    hits: dict[MarkKey, int] = field(default_factory=dict)
    paused: m.Paused | None = None
    failed: m.NodeFailed | None = None
    finished: m.RunFinished | None = None

    @property
    def waits_for(self) -> str | None:
        """The node, or compile group, that a pause is before; None if nothing is paused."""
        at_mark = self.state == "training paused" and self.paused is not None
        if self.state != "paused" and not at_mark:
            return None
        edge = self.paused.edge if self.paused is not None else None
        return edge.node if edge is not None else self.next_node

    @property
    def busy(self) -> bool:
        """Whether the session is computing right now."""
        return self.state in ("running", "training")


@dataclass
class Training:
    """What a training told so far, for curves and figures."""

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    epochs: list[m.EpochFinished] = field(default_factory=list)
    progress: m.TrainingProgress | None = None
    paused: m.TrainingPaused | None = None
    finished: m.TrainingFinished | None = None
    overfit: m.OverfitFinished | None = None
    ratios: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SessionInfo:
    """The engine session: `starting`, `ready` or `lost`, and what it runs on."""

    state: str = "starting"
    device: str = ""
    threads: int = 0
    pid: int = 0
    parameters: int = 0
    memory_bytes: int = 0
    value_bytes: int = 0
    message: str = ""


@dataclass(frozen=True)
class LogLine:
    """A line of the history: what happened, how grave it is, and where."""

    level: str
    message: str
    node: str | None = None


class EditorState(QObject):
    """The document and everything the window knows about it; every signal carries its news."""

    document_replaced = Signal(object)
    """Document: another one was opened; rebuild everything."""
    document_changed = Signal(object)
    """Change: it has been applied."""
    title_changed = Signal()
    """The file's name, or whether it has unsaved changes."""
    selection_changed = Signal(object)
    """Selection."""
    focus_changed = Signal(object)
    """EdgeKey or None: the wire whose tensor is to be shown."""
    inference_changed = Signal(object)
    """Inference: shapes, summaries and problems of the document as it is now."""
    session_changed = Signal(object)
    """SessionInfo."""
    run_changed = Signal(object)
    """Run: its state, a pause, an end."""
    node_ran = Signal(str)
    """Id of a node that has just run; `run` has its time and its wires."""
    edge_value = Signal(object)
    """EdgeValue: what a watched wire carries."""
    training_changed = Signal(object)
    """Training."""
    group_changed = Signal(str)
    """Id of a compile group whose state or report is new."""
    problems_changed = Signal(object)
    """Tuple of Problem: what inference and the session have to say."""
    inspected = Signal(object)
    """InspectionResult."""
    logged = Signal(object)
    """LogLine."""

    def __init__(self, document: Document | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.library = LIBRARY
        self.undo_stack = QUndoStack(self)
        self.undo_stack.cleanChanged.connect(self._tell_title)
        self.path: Path | None = None
        self._suggested = ""
        self.document = document or Document()
        self.selection = Selection()
        self.focus: EdgeKey | None = None
        self.inference: Inference = infer(self.document, self.folder)
        self.session = SessionInfo()
        self.run = Run()
        self.training = Training()
        self.group_states: dict[str, m.GroupChanged] = {}
        self.reports: dict[str, m.GroupReport] = {}
        self.log: list[LogLine] = []
        self._session_problems: tuple[m.Problem, ...] = ()
        self._unsubscribe = self.document.subscribe(self._document_changed)
        self._infer_timer = QTimer(self)
        self._infer_timer.setSingleShot(True)
        self._infer_timer.setInterval(INFER_DELAY_MS)
        self._infer_timer.timeout.connect(self.infer_now)
        self._recovered = False

    # the document

    @property
    def name(self) -> str:
        """The file's name, or the title of a drawing that has none."""
        return self.path.name if self.path else self._suggested or f"{self.document.title}.cellwire"

    @property
    def folder(self) -> Path | None:
        """Where the paths of data files start: the folder of the document's file."""
        return self.path.parent if self.path else None

    @property
    def weights_file(self) -> str:
        """Where a training keeps its weights, with its state beside; "" where there is no file."""
        return str(self.path.with_suffix(".safetensors")) if self.path else ""

    @property
    def dirty(self) -> bool:
        """Whether there are changes that no file has."""
        return self._recovered or not self.undo_stack.isClean()

    def replace_document(
        self,
        document: Document,
        path: Path | None = None,
        *,
        unsaved: bool = False,
        suggested: str = "",
    ) -> None:
        """Show another document.

        `unsaved` marks one that was recovered; `suggested` is a file name for one without a file.
        """
        self._unsubscribe()
        self._suggested = suggested
        self.document, self.path = document, path
        self._recovered = unsaved
        self._unsubscribe = document.subscribe(self._document_changed)
        self.undo_stack.clear()
        self.selection, self.focus = Selection(), None
        self.run, self.training = Run(), Training()
        self.group_states, self.reports = {}, {}
        self._session_problems = ()
        self.inference = infer(document, self.folder)
        self.document_replaced.emit(document)
        self.selection_changed.emit(self.selection)
        self.focus_changed.emit(None)
        self.inference_changed.emit(self.inference)
        self.problems_changed.emit(self.problems)
        self.run_changed.emit(self.run)
        self.training_changed.emit(self.training)
        self._tell_title()

    def saved(self, path: Path) -> None:
        """Note that the document, as it is, is in `path`."""
        self.path, self._recovered = path, False
        self.undo_stack.setClean()
        self._tell_title()

    def perform(self, change: c.Change, text: str = "", merge: str = "") -> None:
        """Apply a change as one step of undo; raises DocumentError if it does not fit.

        `text` names it in the Edit menu; steps of the same `merge` key become one.
        """
        inverse = self.document.apply(change)
        self.undo_stack.push(ChangeCommand(self.document, change, inverse, text, merge))

    def spec(self, node: str) -> NodeSpec | None:
        """The spec of a node, or None if the library does not know its type."""
        return self.library.get(self.document.nodes[node].type)

    @property
    def inference_pending(self) -> bool:
        """Whether the document has changed since `inference` was made."""
        return self._infer_timer.isActive()

    def infer_now(self) -> None:
        """Infer shapes and problems at once."""
        self._infer_timer.stop()
        self.inference = infer(self.document, self.folder)
        self.inference_changed.emit(self.inference)
        self.problems_changed.emit(self.problems)

    def _document_changed(self, change: c.Change) -> None:
        self._prune()
        self.document_changed.emit(change)
        large = len(self.document.nodes) > LARGE
        self._infer_timer.start(INFER_DELAY_LARGE_MS if large else INFER_DELAY_MS)

    def _prune(self) -> None:
        """Drop from selection and focus what the document no longer has."""
        self.select(self.selection)
        if self.focus is not None and self.focus not in self.document.edges:
            self.set_focus(None)

    def _known(self, selection: Selection) -> Selection:
        """A selection without what the document does not have."""
        document = self.document
        boxes = document.groups.keys() | document.frames.keys() | document.notes.keys()
        return Selection(
            selection.nodes & document.nodes.keys(),
            selection.edges & document.edges.keys(),
            selection.boxes & boxes,
        )

    def _tell_title(self) -> None:
        self.title_changed.emit()

    # what is looked at

    def select(self, selection: Selection) -> None:
        """Select this and nothing else; a single wire also becomes the focus.

        What the document does not have is left out.
        """
        selection = self._known(selection)
        if selection == self.selection:
            return
        self.selection = selection
        self.selection_changed.emit(selection)
        if len(selection.edges) == 1 and not selection.nodes:
            self.set_focus(next(iter(selection.edges)))

    def set_focus(self, edge: EdgeKey | None) -> None:
        """Look at the tensor on this wire."""
        if edge != self.focus:
            self.focus = edge
            self.focus_changed.emit(edge)

    @property
    def problems(self) -> tuple[m.Problem, ...]:
        """What keeps the drawing from running: inference's findings, then the session's."""
        found = tuple(
            m.Problem(p.node or "", p.port or "", p.message, p.fix) for p in self.inference.problems
        )
        known = {(problem.node, problem.message) for problem in found}
        return found + tuple(p for p in self._session_problems if (p.node, p.message) not in known)

    @property
    def halted(self) -> m.TrainingPaused | None:
        """The pause of a training that something wrong caused, while it lasts."""
        paused = self.training.paused if self.run.state == "training paused" else None
        return paused if paused is not None and paused.reason in ("nan", "error") else None

    # what the session tells

    def set_session(self, info: SessionInfo) -> None:
        """Take news of the session's process."""
        if info != self.session:
            self.session = info
            self.session_changed.emit(info)

    def set_session_problems(self, problems: tuple[m.Problem, ...]) -> None:
        """Take the problems that the session found when it built the graph."""
        if problems != self._session_problems:
            self._session_problems = problems
            self.problems_changed.emit(self.problems)

    def add_log(self, level: str, message: str, node: str | None = None) -> None:
        """Add a line to the history."""
        line = LogLine(level, message, node)
        self.log.append(line)
        del self.log[:-LOG_LINES]
        self.logged.emit(line)

    def close(self) -> None:
        """Stop listening to the document, and forget the undo steps."""
        self._infer_timer.stop()
        self._unsubscribe()
        self.undo_stack.clear()


def sentences(message: str, fix: str) -> str:
    """What is wrong and what to do, as two sentences."""
    parts = filter(None, (message.strip(), fix[:1].upper() + fix[1:].strip()))
    return " ".join(part if part.endswith((".", "?", "!")) else f"{part}." for part in parts)


def key_of(edge: EdgeName) -> EdgeKey:
    """The document's key of a wire that the session named."""
    return (edge.node, edge.port)
