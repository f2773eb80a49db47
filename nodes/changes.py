"""Changes of a document: one struct each. Undo, session patches and change events are these."""

from typing import Any

import msgspec

from .items import (
    Breakpoint,
    Direction,
    Edge,
    Frame,
    Group,
    NodeItem,
    Note,
    Point,
    Training,
    Watch,
)


class ChangeBase(msgspec.Struct, frozen=True, tag=True):
    """What all changes share: a tag naming the change in messages."""


class AddNode(ChangeBase, frozen=True):
    """Add a node; its id and its name must be free."""

    node: NodeItem


class RemoveNode(ChangeBase, frozen=True):
    """Remove a node with its wires, breakpoints, watches and group membership."""

    id: str


class MoveNodes(ChangeBase, frozen=True):
    """Put nodes at new positions, by id."""

    positions: dict[str, Point]


class SetParameters(ChangeBase, frozen=True):
    """Set parameters of a node by name, and take others back to their defaults."""

    id: str
    values: dict[str, Any] = {}
    unset: tuple[str, ...] = ()


class RenameNode(ChangeBase, frozen=True):
    """Give a node another name, unique in the document."""

    id: str
    name: str


class Connect(ChangeBase, frozen=True):
    """Put a wire on an input port, replacing the wire that is there."""

    edge: Edge


class Disconnect(ChangeBase, frozen=True):
    """Take the wire off an input port, with its breakpoints and watches."""

    target: str
    input: str


class SetBreakpoint(ChangeBase, frozen=True):
    """Set a breakpoint on an edge, or change the one that is there."""

    breakpoint: Breakpoint


class RemoveBreakpoint(ChangeBase, frozen=True):
    """Remove the breakpoint of an edge and direction."""

    target: str
    input: str
    direction: Direction = "forward"


class SetWatch(ChangeBase, frozen=True):
    """Watch an edge."""

    watch: Watch


class RemoveWatch(ChangeBase, frozen=True):
    """Stop watching an edge."""

    target: str
    input: str
    direction: Direction = "forward"


class AddGroup(ChangeBase, frozen=True):
    """Make a compile group of nodes that are in no other group."""

    group: Group


class SetGroup(ChangeBase, frozen=True):
    """Change the name or the nodes of a compile group."""

    group: Group


class RemoveGroup(ChangeBase, frozen=True):
    """Remove a compile group; its nodes stay."""

    id: str


class AddFrame(ChangeBase, frozen=True):
    """Add a frame."""

    frame: Frame


class SetFrame(ChangeBase, frozen=True):
    """Change the title or the rectangle of a frame."""

    frame: Frame


class RemoveFrame(ChangeBase, frozen=True):
    """Remove a frame; what it surrounds stays."""

    id: str


class AddNote(ChangeBase, frozen=True):
    """Add a text note."""

    note: Note


class SetNote(ChangeBase, frozen=True):
    """Change the text or the rectangle of a note."""

    note: Note


class RemoveNote(ChangeBase, frozen=True):
    """Remove a note."""

    id: str


class SetTraining(ChangeBase, frozen=True):
    """Change the training settings."""

    training: Training


class SetTitle(ChangeBase, frozen=True):
    """Change the document's title."""

    title: str


class Compound(ChangeBase, frozen=True):
    """Several changes that are one user action; applied whole or not at all."""

    name: str
    changes: tuple["Change", ...]


Change = (
    AddNode
    | RemoveNode
    | MoveNodes
    | SetParameters
    | RenameNode
    | Connect
    | Disconnect
    | SetBreakpoint
    | RemoveBreakpoint
    | SetWatch
    | RemoveWatch
    | AddGroup
    | SetGroup
    | RemoveGroup
    | AddFrame
    | SetFrame
    | RemoveFrame
    | AddNote
    | SetNote
    | RemoveNote
    | SetTraining
    | SetTitle
    | Compound
)
