"""Recovery: unsaved drawings are kept in a file of their process, and offered once it is dead."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec
import platformdirs
from PySide6.QtCore import QLockFile, QObject, QTimer

from ..nodes.document import Document
from ..nodes.files import dumps, loads
from ..nodes.items import new_id
from ..nodes.state import DocumentError
from .state import EditorState

DELAY_MS = 2000


class Kept(msgspec.Struct):
    """A recovery file: the drawing's text, and the file that it belongs to."""

    path: str
    text: str


@dataclass(frozen=True)
class Recovered:
    """A drawing that a dead process left unsaved."""

    document: Document
    path: Path | None
    file: Path


def folder() -> Path:
    """Where recovery files lie."""
    base = os.environ.get("CELLWIRE_STATE_DIR") or platformdirs.user_state_dir("cellwire")
    return Path(base) / "recovery"


class Recovery(QObject):
    """Keeps the unsaved drawing of one window on disk, two seconds behind."""

    def __init__(self, state: EditorState, parent: QObject) -> None:
        super().__init__(parent)
        self._state = state
        self._file = folder() / f"{new_id()}.json"
        self._lock: QLockFile | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY_MS)
        self._timer.timeout.connect(self.keep)
        state.document_changed.connect(lambda _: self._timer.start())
        state.title_changed.connect(self._title_changed)

    def keep(self) -> None:
        """Write the drawing now, if it has changes that no file has."""
        if not self._state.dirty:
            return
        kept = Kept(str(self._state.path or ""), dumps(self._state.document))
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            if self._lock is None:
                self._lock = QLockFile(str(self._file.with_suffix(".lock")))
                self._lock.setStaleLockTime(0)
                self._lock.tryLock(0)
            partial = self._file.with_suffix(".partial")
            partial.write_bytes(msgspec.json.encode(kept))
            os.replace(partial, self._file)
        except OSError as error:
            message = f"The drawing cannot be kept for recovery in {self._file.parent}: {error}."
            self._state.add_log("warning", message)

    def forget(self) -> None:
        """Remove the recovery file: the drawing is saved, or was given up on purpose."""
        self._timer.stop()
        self._file.unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.unlock()
            self._lock = None

    def _title_changed(self) -> None:
        if not self._state.dirty:
            self.forget()


def find() -> list[Recovered]:
    """The drawings that processes which are dead now left unsaved."""
    found = []
    for file in sorted(folder().glob("*.json")):
        lock = QLockFile(str(file.with_suffix(".lock")))
        lock.setStaleLockTime(0)
        if not lock.tryLock(0):
            continue  # its process lives
        lock.unlock()
        try:
            kept = msgspec.json.decode(file.read_bytes(), type=Kept)
            document = loads(kept.text, file.name)
        except (OSError, msgspec.DecodeError, DocumentError):
            continue  # it stays on disk for someone to look at, but cannot be shown
        found.append(Recovered(document, Path(kept.path) if kept.path else None, file))
    return found
