"""New, open, save: whatever happens, the drawing is not lost."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QSettings
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from ..nodes.document import Document
from ..nodes.files import load, save
from ..nodes.items import View
from ..nodes.state import DocumentError
from . import recovery
from .state import EditorState

EXAMPLES = Path(__file__).parent.parent / "assets" / "examples"
FIRST_EXAMPLE = EXAMPLES / "digits_mlp.cellwire"
KINDS = "Cellwire drawings (*.cellwire)"
RECENT = 8


class FileControl(QObject):
    """The document's file, with the questions that guard it."""

    def __init__(self, state: EditorState, window: QWidget) -> None:
        super().__init__(window)
        self._state, self._window = state, window
        self.recovery = recovery.Recovery(state, self)

    def new(self) -> None:
        """Start an empty drawing."""
        if self.may_discard():
            self._show(Document())

    def open(self) -> None:
        """Ask for a file and open it."""
        if not self.may_discard():
            return
        folder = str(self._state.path.parent if self._state.path else Path.home())
        path, _ = QFileDialog.getOpenFileName(self._window, "Open", folder, KINDS)
        if path:
            self.open_path(Path(path), ask=False)

    def open_path(self, path: Path, *, ask: bool = True) -> bool:
        """Open a file; on an error the present drawing stays, and a dialog says why."""
        if ask and not self.may_discard():
            return False
        try:
            document = load(path)
        except DocumentError as error:
            self.complain(f"{path.name} cannot be opened", str(error))
            return False
        self._show(document, path)
        remember(path)
        return True

    def open_example(self, path: Path) -> bool:
        """Open an example as a drawing without a file, so that saving never changes the example."""
        if not self.may_discard():
            return False
        try:
            document = load(path)
        except DocumentError as error:
            self.complain(f"The example {path.stem} cannot be opened", str(error))
            return False
        document.view = View()  # shown whole, whatever the window's size
        self._show(document, suggested=path.name)
        return True

    def save(self) -> bool:
        """Save to the document's file, or ask for one."""
        if self._state.path is None:
            return self.save_as()
        return self.save_to(self._state.path)

    def save_as(self) -> bool:
        """Ask for a file and save to it."""
        folder = self._state.path.parent if self._state.path else Path.home()
        path, _ = QFileDialog.getSaveFileName(
            self._window, "Save as", str(folder / self._state.name), KINDS
        )
        if not path:
            return False
        chosen = Path(path)
        return self.save_to(chosen if chosen.suffix else chosen.with_suffix(".cellwire"))

    def save_to(self, path: Path) -> bool:
        """Save to this file; on an error nothing is lost, and a dialog says why."""
        try:
            save(self._state.document, path)
        except DocumentError as error:
            self.complain("The drawing could not be saved", f"{error}\nIt is still open here.")
            return False
        self._state.saved(path)
        remember(path)
        return True

    def may_discard(self) -> bool:
        """Whether the present drawing may go: it is saved, or the user has said so."""
        if not self._state.dirty:
            return True
        button = QMessageBox.StandardButton
        box = QMessageBox(self._window)
        box.setIcon(QMessageBox.Icon.NoIcon)
        box.setWindowTitle("Unsaved changes")
        box.setText(f"Save the changes to {self._state.name}?")
        box.setInformativeText("They are lost otherwise.")
        box.setStandardButtons(button.Save | button.Discard | button.Cancel)
        box.setDefaultButton(button.Save)
        answer = box.exec()
        box.deleteLater()
        if answer == button.Save:
            return self.save()
        return answer == button.Discard

    def offer_recovery(self) -> bool:
        """Offer the newest drawing that a program which died left unsaved; True if taken."""
        for found in recovery.find():
            button = QMessageBox.StandardButton
            name = found.path.name if found.path else found.document.title
            answer = QMessageBox.question(
                self._window,
                "Recover a drawing",
                f"Cellwire ended before {name} was saved. Open it as it was?",
                button.Open | button.Discard | button.Cancel,
                button.Open,
            )
            if answer == button.Cancel:
                return False
            found.file.unlink(missing_ok=True)
            if answer == button.Open:
                self._state.replace_document(found.document, found.path, unsaved=True)
                self.recovery.keep()
                return True
        return False

    def complain(self, title: str, message: str) -> None:
        """Say in a dialog what went wrong."""
        box = QMessageBox(self._window)
        box.setIcon(QMessageBox.Icon.NoIcon)
        box.setWindowTitle("Cellwire")
        box.setText(title)
        box.setInformativeText(message)
        box.exec()
        box.deleteLater()

    def _show(self, document: Document, path: Path | None = None, suggested: str = "") -> None:
        self.recovery.forget()
        self._state.replace_document(document, path, suggested=suggested)


def remember(path: Path) -> None:
    """Put a file on top of the list of those opened recently."""
    paths = [str(path.resolve()), *(p for p in recent() if p != str(path.resolve()))]
    QSettings().setValue("recent", paths[:RECENT])


def recent() -> list[str]:
    """The files opened recently, the last one first."""
    value = QSettings().value("recent", [])
    if isinstance(value, str):
        return [value]
    return [str(path) for path in value] if isinstance(value, list) else []
