"""The window's line to the engine session: commands out, events in on the GUI thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from PySide6.QtCore import QObject, Qt, Signal

from ..nodes import changes as c
from ..nodes.files import dumps
from . import news
from .session import messages as m
from .session.client import COMMAND, Client
from .state import EditorState

Answer = Callable[[m.Event], None]


class SessionLink(QObject):
    """Keeps one session in step with the document; nothing here waits for it.

    Every change of the document goes to the session as a patch. Events arrive on the GUI
    thread, bring the state up to date, and are then emitted as `arrived`.
    """

    arrived = Signal(object)
    """Every event of the session, after the state has taken it."""
    _incoming = Signal(object, int)

    def __init__(
        self,
        state: EditorState,
        parent: QObject | None = None,
        *,
        command: Sequence[str] = COMMAND,
    ) -> None:
        super().__init__(parent)
        self.state = state
        self._command = command
        self._client: Client | None = None
        self._life = 0
        self._answers: dict[int, Answer] = {}
        self._incoming.connect(self._take, Qt.ConnectionType.QueuedConnection)
        state.document_changed.connect(self._patch)
        state.document_replaced.connect(self._replaced)

    @property
    def alive(self) -> bool:
        """Whether the session's process runs."""
        return self._client is not None and self._client.alive

    def start(self) -> None:
        """Start the session and give it the document."""
        self._life += 1
        life = self._life
        self._client = Client(lambda event: self._incoming.emit(event, life), command=self._command)
        try:
            self._client.start()
        except OSError as error:
            self._client = None
            message = f"The engine session could not be started: {error}."
            self._incoming.emit(m.SessionLost(None, message), life)
            return
        self.load()

    def restart(self) -> None:
        """End the session at once, however busy it is, and start one with the same drawing."""
        client, self._client = self._client, None
        self._answers.clear()
        if client is not None:
            client.kill()
        news.forget_session(self.state)
        self.start()

    def close(self) -> None:
        """End the session's process and its threads."""
        self._life += 1
        client, self._client = self._client, None
        self._answers.clear()
        if client is not None:
            client.close()

    def send(self, command: m.AnyCommand, then: Answer | None = None) -> None:
        """Send a command; `then` is called with its answer, on the GUI thread."""
        if self._client is None:
            self.state.add_log("error", "There is no engine session; restart it and try again.")
            return
        revision = self.state.document.revision
        request = self._client.send(msgspec.structs.replace(command, revision=revision))
        if then is not None:
            self._answers[request] = then

    def load(self) -> None:
        """Give the session the whole document."""
        path = self.state.path
        self.send(m.LoadDocument(text=dumps(self.state.document), path=str(path or "")))

    def _patch(self, change: c.Change) -> None:
        if self._client is not None:
            self.send(m.Patch(change=change), self._patched)

    def _patched(self, answer: m.Event) -> None:
        if isinstance(answer, m.CommandFailed) and self.alive:
            self.load()

    def _replaced(self, _: object) -> None:
        if self._client is not None:
            self.load()

    def _take(self, event: m.Event, life: int) -> None:
        """An event on the GUI thread; one of a session that was given up says nothing any more."""
        if life != self._life:
            return
        news.take(self.state, event)
        if isinstance(event, m.SessionLost):
            self._answers.clear()
        answer = self._answers.pop(getattr(event, "request", 0), None)
        if answer is not None:
            answer(event)
        self.arrived.emit(event)
