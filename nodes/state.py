"""What a document holds, as plain keyed tables, and the errors of changing them."""

import math
from dataclasses import dataclass, field

from .items import (
    Breakpoint,
    Edge,
    EdgeKey,
    Frame,
    Group,
    MarkKey,
    NodeItem,
    Note,
    Training,
    View,
    Watch,
)

NAME_LENGTH = 64
NAME_FORBIDS = frozenset("./\\<>")


class DocumentError(ValueError):
    """A change that does not fit the document, or a file that cannot be read as one."""


@dataclass
class State:
    """The tables of a document; only `apply` and `files` write them.

    `loose` keeps what a file held but nothing can own: wires and marks of missing nodes. They are
    written back, listed as problems, and never changed.
    """

    title: str = "Untitled"
    nodes: dict[str, NodeItem] = field(default_factory=dict)
    edges: dict[EdgeKey, Edge] = field(default_factory=dict)
    breakpoints: dict[MarkKey, Breakpoint] = field(default_factory=dict)
    watches: dict[MarkKey, Watch] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    frames: dict[str, Frame] = field(default_factory=dict)
    notes: dict[str, Note] = field(default_factory=dict)
    training: Training = field(default_factory=Training)
    view: View = field(default_factory=View)
    loose: list[Edge | Breakpoint | Watch | Group] = field(default_factory=list)
    extra: dict[str, object] = field(default_factory=dict)


def check_name(name: str) -> None:
    """Raise `DocumentError` unless `name` can name a node."""
    if not name or name != name.strip() or len(name) > NAME_LENGTH:
        raise DocumentError(
            f"{name!r} cannot name a node: a name has 1 to {NAME_LENGTH} characters and no space "
            "at either end."
        )
    if bad := sorted({ch for ch in name if ch in NAME_FORBIDS or not ch.isprintable()}):
        raise DocumentError(f"{name!r} cannot name a node: leave out {' '.join(map(repr, bad))}.")


def plain(value: object, where: str) -> object:
    """`value` as JSON-like data (tuples become lists), or `DocumentError` saying `where` it is."""
    match value:
        case None | bool() | int():
            return value
        case str() if not any("\ud800" <= ch <= "\udfff" for ch in value):
            return value
        case float() if math.isfinite(value):
            return value
        case list() | tuple():
            return [plain(item, where) for item in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {key: plain(item, where) for key, item in value.items()}
    raise DocumentError(
        f"{where} cannot be {value!r}: give a finite number, whole text, true, false or a list "
        "of these."
    )
