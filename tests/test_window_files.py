"""Files of the window: saved, opened, asked about, remembered and recovered."""

from __future__ import annotations

from pathlib import Path

import pytest
from cellwire.app import filing, recovery
from cellwire.app.window import MainWindow
from cellwire.nodes import changes as c
from cellwire.nodes.files import save
from cellwire.nodes.items import Edge, NodeItem
from PySide6.QtCore import QLockFile
from PySide6.QtWidgets import QFileDialog, QMessageBox
from pytestqt.qtbot import QtBot

Button = QMessageBox.StandardButton


@pytest.fixture
def dialogs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words of every message box; each is answered with Cancel."""
    said: list[str] = []

    def answer(box: QMessageBox) -> Button:
        said.append(f"{box.text()} {box.informativeText()}")
        return Button.Cancel

    monkeypatch.setattr(QMessageBox, "exec", answer)
    return said


def add(window: MainWindow, id: str = "relu", type: str = "nn.ReLU") -> None:
    window.state.perform(c.AddNode(NodeItem(id=id, type=type, name=id)))


def test_save_and_open_round_trip(window: MainWindow, tmp_path: Path) -> None:
    add(window, "digits", "data.digits")
    add(window, "scale", "ops.scale")
    window.state.perform(c.Connect(Edge("digits", "images", "scale", "input")))
    path = tmp_path / "drawing.cellwire"
    assert window.state.dirty
    assert window.files.save_to(path)
    assert not window.state.dirty
    nodes, edges = dict(window.state.document.nodes), dict(window.state.document.edges)
    window.files.new()
    assert not window.state.document.nodes
    assert window.files.open_path(path)
    assert (dict(window.state.document.nodes), dict(window.state.document.edges)) == (nodes, edges)
    assert window.canvas.canvas.nodes.keys() == nodes.keys()
    assert window.windowTitle().startswith("drawing.cellwire")


def test_a_damaged_file_says_why_and_keeps_the_drawing(
    window: MainWindow, tmp_path: Path, dialogs: list[str]
) -> None:
    add(window)
    window.state.undo_stack.setClean()
    broken = tmp_path / "broken.cellwire"
    broken.write_text('{"format": "cellwire", ')
    assert not window.files.open_path(broken)
    assert "broken.cellwire cannot be opened" in dialogs[0]
    assert "line 1" in dialogs[0]
    assert "relu" in window.state.document.nodes


def test_a_file_that_is_missing_says_so(
    window: MainWindow, tmp_path: Path, dialogs: list[str]
) -> None:
    assert not window.files.open_path(tmp_path / "nowhere.cellwire")
    assert "There is no file" in dialogs[0]


def test_saving_where_one_cannot_keeps_the_drawing_dirty(
    window: MainWindow, tmp_path: Path, dialogs: list[str]
) -> None:
    add(window)
    assert not window.files.save_to(tmp_path / "no folder" / "x.cellwire")
    assert "could not be saved" in dialogs[0]
    assert window.state.dirty


@pytest.mark.parametrize(
    ("answer", "closes", "saves"),
    [(Button.Cancel, False, False), (Button.Discard, True, False), (Button.Save, True, True)],
)
def test_unsaved_changes_are_asked_about(
    desktop: object,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Button,
    closes: bool,
    saves: bool,
) -> None:
    window = MainWindow(start_session=False)
    window.show()
    path = tmp_path / "kept.cellwire"
    monkeypatch.setattr(QMessageBox, "exec", lambda box: answer)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    add(window)
    assert window.close() is closes
    assert path.exists() is saves
    if not closes:
        window.discard_and_close()


def test_an_example_is_opened_as_a_drawing_without_a_file(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = filing.EXAMPLES / "digits_mlp.cellwire"
    assert window.files.open_example(example)
    assert window.state.path is None
    assert window.state.name == "digits_mlp.cellwire"
    asked: list[str] = []
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda *args: (asked.append(args[2]), ("", ""))[1]
    )
    assert not window.files.save()
    assert asked[0].endswith("digits_mlp.cellwire")


def test_recent_files_are_remembered_once_each(window: MainWindow, tmp_path: Path) -> None:
    for name in ("a", "b", "a"):
        save(window.state.document, tmp_path / f"{name}.cellwire")
        window.files.open_path(tmp_path / f"{name}.cellwire")
    assert [Path(path).stem for path in filing.recent()] == ["a", "b"]


# recovery


def test_the_drawing_of_a_program_that_died_is_found(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(window)
    window.files.recovery.keep()
    assert recovery.find() == []  # its process lives
    (kept,) = recovery.folder().glob("*.json")
    dead = kept.with_name("dead.json")
    dead.write_bytes(kept.read_bytes())
    (found,) = recovery.find()
    assert "relu" in found.document.nodes
    monkeypatch.setattr(QMessageBox, "question", lambda *_: Button.Open)
    window.state.undo_stack.setClean()
    assert window.files.offer_recovery()
    assert window.state.dirty
    assert not dead.exists()


def test_saving_ends_the_recovery(window: MainWindow, tmp_path: Path) -> None:
    add(window)
    window.files.recovery.keep()
    window.files.save_to(tmp_path / "x.cellwire")
    assert list(recovery.folder().glob("*")) == []


def test_a_damaged_recovery_file_is_left_alone(window: MainWindow) -> None:
    recovery.folder().mkdir(parents=True, exist_ok=True)
    bad = recovery.folder() / "bad.json"
    bad.write_text("{")
    assert recovery.find() == []
    assert bad.exists()
    assert isinstance(QLockFile(str(bad)), QLockFile)
