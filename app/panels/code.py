"""Code: the drawing as Python, as the exporter would write it, always up to date."""

from __future__ import annotations

import functools

from pygments import lexers
from pygments.token import Token, _TokenType
from PySide6.QtCore import QTimer
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextDocument,
)
from PySide6.QtWidgets import QPlainTextEdit, QPushButton, QWidget

from ...nodes.export.python import ExportError, python_source
from .. import theme
from ..link import SessionLink
from ..state import EditorState
from .rows import column, label, row

REFRESH_MS = 200
COLORS: tuple[tuple[_TokenType, str], ...] = (
    (Token.Comment, "muted"),
    (Token.Literal.String, "ok_text"),
    (Token.Literal.Number, "control"),
    (Token.Keyword, "ops"),
    (Token.Name.Function, "accent_text"),
    (Token.Name.Class, "accent_text"),
    (Token.Name.Decorator, "data"),
    (Token.Name.Builtin, "data"),
)


class CodePanel(QWidget):
    """The exported file's text, read-only, with a button that copies it."""

    def __init__(
        self, state: EditorState, link: SessionLink, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("code")
        self._state = state
        self.message = label("", "small", wrap=True)
        self.copy = QPushButton("Copy")
        self.copy.setToolTip("Copy the code")
        self.copy.clicked.connect(self._copy)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(theme.font(12, mono=True))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._highlighter = highlight(self.text.document(), "python")
        head = row(self.message, self.copy)
        head.setStretch(0, 1)
        self.setLayout(column(head, self.text, margin=8))
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        state.inference_changed.connect(self._later)
        self.refresh()

    def _later(self, _: object) -> None:
        if self.isVisible():
            self._timer.start()

    def showEvent(self, event: object) -> None:
        """Bring the code up to date when the tab is shown."""
        self.refresh()

    def refresh(self) -> None:
        """Write the code of the drawing as it is now, or say why there is none."""
        if self._state.inference_pending:
            return  # once it is done, this is asked again
        try:
            text = python_source(self._state.document, inference=self._state.inference)
        except ExportError as error:
            self.message.setText(str(error))
            return
        self.message.setText("Exported, this is the file; its weights lie beside it.")
        if text != self.text.toPlainText():
            self._highlighter.read(text)
            self.text.setPlainText(text)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())


class Highlighter(QSyntaxHighlighter):
    """Colours code with Pygments, in the theme's colours."""

    def __init__(self, document: QTextDocument, language: str) -> None:
        super().__init__(document)
        self._language = language
        self._spans: dict[int, list[_Span]] = {}
        theme.switch.changed.connect(self._recolor)

    def read(self, text: str) -> None:
        """Take the text that the document is going to show; call it before showing it."""
        self._spans = _spans(text, self._language)

    def _recolor(self, _: object) -> None:
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        """Colour one line, as what it is in the whole text."""
        for at, length, token in self._spans.get(self.currentBlock().blockNumber(), ()):
            form = QTextCharFormat()
            form.setForeground(QColor(getattr(theme.current(), token)))
            self.setFormat(at, length, form)


_Span = tuple[int, int, str]
"""A part of a line: where it begins, how long it is, and the token of its colour."""


def _spans(text: str, language: str) -> dict[int, list[_Span]]:
    """The coloured parts of a text, by line."""
    found: dict[int, list[_Span]] = {}
    line = at = 0
    for kind, part in _lexer(language).get_tokens(text):
        token = next((name for token, name in COLORS if kind in token), None)
        for number, piece in enumerate(part.split("\n")):
            if number:
                line, at = line + 1, 0
            if token is not None and piece:
                found.setdefault(line, []).append((at, len(piece), token))
            at += len(piece)
    return found


@functools.cache
def _lexer(language: str) -> lexers.Lexer:
    return lexers.get_lexer_by_name(language, stripnl=False)


def highlight(document: QTextDocument, language: str) -> Highlighter:
    """Colour a text document as this language (a Pygments name) as long as it lives."""
    return Highlighter(document, language)
