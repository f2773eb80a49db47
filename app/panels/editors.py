"""Editors of parameters: one widget a kind, all with `value`, `show_value` and `edited`."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QLineEdit, QPushButton, QWidget

from ...nodes.spec import ParamSpec
from .. import theme


class ParameterError(ValueError):
    """Text that is no value of a parameter; says what is allowed."""


def parse(spec: ParamSpec, text: str) -> object:
    """The value that `text` means for this parameter; empty text is null where that is allowed.

    Raises
    ------
    ParameterError
        The text cannot be read, or the value is out of bounds.
    """
    text = text.strip()
    value: object = None
    if text or spec.kind in ("str", "path"):
        value = _read(spec, text)
    problem = spec.problem(value)
    if problem is not None:
        raise ParameterError(problem)
    return value


def _read(spec: ParamSpec, text: str) -> object:
    try:
        if spec.kind == "int":
            return int(text)
        if spec.kind == "float":
            return _ratio(text)
        if spec.kind == "shape":
            parts = [int(part) for part in text.replace("×", ",").strip("()[]").split(",") if part]
            return parts[0] if len(parts) == 1 else parts
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"{text!r} is not {spec.allowed}.") from None
    return text


def _ratio(text: str) -> float:
    """A number, or a ratio of two such as `1/16`."""
    above, slash, below = text.partition("/")
    return float(above) / float(below) if slash else float(text)


def show(spec: ParamSpec, value: object) -> str:
    """The value as text that `parse` reads."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)


class Editor(QWidget):
    """Edits one parameter; emits `edited` with a valid new value, `refused` with what is wrong."""

    edited = Signal(object)
    refused = Signal(str)

    def __init__(self, spec: ParamSpec, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.spec = spec
        self.box = QHBoxLayout(self)
        self.box.setContentsMargins(0, 0, 0, 0)
        self.box.setSpacing(4)

    def show_value(self, value: object, resolved: object = None) -> None:
        """Show a value; `resolved` is what an `auto` one became."""
        raise NotImplementedError


class TextEditor(Editor):
    """A line for numbers, shapes, text and paths; arrow keys step whole numbers."""

    def __init__(self, spec: ParamSpec, parent: QWidget | None = None) -> None:
        super().__init__(spec, parent)
        self._shown = ""
        self.line = QLineEdit()
        self.line.setFont(theme.font(12, mono=True))
        self.line.setObjectName(f"param-{spec.name}")
        if spec.kind not in ("str", "path"):
            self.line.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.line.setToolTip(f"{spec.doc}\n{spec.allowed}".strip())
        self.line.editingFinished.connect(self._finish)
        self.line.textEdited.connect(self._check)
        self.box.addWidget(self.line)
        if spec.kind == "path":
            self._add_browse()

    def show_value(self, value: object, resolved: object = None) -> None:
        """Show the value; an automatic one as a placeholder."""
        self._shown = show(self.spec, value)
        if self.line.hasFocus() and self.line.isModified():
            return
        self.line.setText(self._shown)
        self._mark(valid=True)
        if self.spec.auto:
            found = show(self.spec, resolved)
            self.line.setPlaceholderText(f"auto · {found}" if found else "auto")
        elif self.spec.optional:
            self.line.setPlaceholderText("none")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step a whole number with the up and down keys; Escape takes the edit back."""
        steps = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}
        if self.spec.kind == "int" and event.key() in steps and self.line.text().strip():
            self._step(steps[Qt.Key(event.key())])
        elif event.key() == Qt.Key.Key_Escape:
            self.line.setText(self._shown)
            self._mark(valid=True)
        else:
            super().keyPressEvent(event)

    def _step(self, by: int) -> None:
        try:
            value = parse(self.spec, str(int(self.line.text()) + by))
        except ValueError:
            return
        self.line.setText(show(self.spec, value))
        self.line.setModified(True)
        self._finish()

    def _check(self, text: str) -> None:
        try:
            parse(self.spec, text)
        except ParameterError:
            self._mark(valid=False)
        else:
            self._mark(valid=True)

    def _finish(self) -> None:
        text = self.line.text()
        if text == self._shown:
            self.line.setModified(False)
            return
        try:
            value = parse(self.spec, text)
        except ParameterError as error:
            self._mark(valid=False)
            self.refused.emit(str(error))
            return
        self.line.setModified(False)
        self.edited.emit(value)

    def _mark(self, *, valid: bool) -> None:
        if bool(self.line.property("invalid")) != valid:
            return
        self.line.setProperty("invalid", not valid)
        self.line.style().unpolish(self.line)
        self.line.style().polish(self.line)

    def _add_browse(self) -> None:
        button = QPushButton("…")
        button.setFixedWidth(28)
        button.setToolTip("Choose a file")
        button.clicked.connect(self._browse)
        self.box.addWidget(button)

    def _browse(self) -> None:
        start = str(Path(self.line.text() or ".").parent)
        path, _ = QFileDialog.getOpenFileName(self, f"Choose {self.spec.name}", start)
        if path:
            self.line.setText(path)
            self._finish()


class ChoiceEditor(Editor):
    """A list for choices and for true/false."""

    def __init__(self, spec: ParamSpec, parent: QWidget | None = None) -> None:
        super().__init__(spec, parent)
        self.list = QComboBox()
        self.list.setObjectName(f"param-{spec.name}")
        self.list.setFont(theme.font(12, mono=True))
        self.list.setToolTip(spec.doc)
        if spec.optional or spec.auto:
            self.list.addItem("none" if spec.optional else "auto", None)
        for choice in ("true", "false") if spec.kind == "bool" else spec.choices:
            self.list.addItem(choice, choice == "true" if spec.kind == "bool" else choice)
        self.list.activated.connect(lambda at: self.edited.emit(self.list.itemData(at)))
        self.box.addWidget(self.list)

    def show_value(self, value: object, resolved: object = None) -> None:
        """Show the value."""
        self.list.setCurrentIndex(self.list.findData(value))


def editor(spec: ParamSpec) -> Editor:
    """The editor for a parameter's kind."""
    return ChoiceEditor(spec) if spec.kind in ("bool", "choice") else TextEditor(spec)
