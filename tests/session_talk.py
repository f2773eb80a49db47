"""A session in this process that tests talk to."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from cellwire.app.session import messages as m
from cellwire.app.session.server import Session
from cellwire.engine.run.graph import Edge
from cellwire.nodes import changes as c
from cellwire.nodes.document import Document
from cellwire.nodes.files import dumps, load

E = TypeVar("E", bound=m.Event)


def small_net() -> Document:
    """The digits through three dense layers; two short epochs."""
    return load(Path(__file__).parent / "drawings" / "small_net.cellwire")


class Talk:
    """A session and what it has said since the last command."""

    def __init__(self, document: Document, *, renew_groups: bool = False) -> None:
        self.said: list[m.Event] = []
        self.session = Session(self.said.append, renew_groups=renew_groups)
        self.document = document
        self.request = 0
        self.load()

    def load(self, path: str = "") -> m.Event:
        """Send the whole document."""
        return self.ask(m.LoadDocument(dumps(self.document), path))

    def ask(self, command: m.AnyCommand, *, work: bool = True) -> m.Event:
        """Send a command, work until the session rests, and return the command's answer."""
        self.said.clear()
        self.request += 1
        revision = self.document.revision
        numbered = type(command)(
            **{name: getattr(command, name) for name in command.__struct_fields__}
            | {"request": self.request, "revision": revision}
        )
        self.session.handle(numbered)
        while work and self.session.work():
            pass
        (answer,) = [e for e in self.said if getattr(e, "request", 0) == self.request]
        return answer

    def change(self, change: c.Change) -> m.Event:
        """Change the document and send the change after it."""
        self.document.apply(change)
        return self.ask(m.Patch(change))

    def only(self, kind: type[E]) -> E:
        """The one event of that kind."""
        (event,) = self.all(kind)
        return event

    def all(self, kind: type[E]) -> list[E]:
        return [event for event in self.said if isinstance(event, kind)]

    def id(self, name: str) -> str:
        node = self.document.node_named(name)
        assert node is not None
        return node.id

    def edge(self, text: str) -> Edge:
        return self.session.graph.edge(text)
