"""What a document consists of: nodes, edges, marks on edges, groups, frames, notes, settings."""

import secrets
from typing import Annotated, Any, Literal

import msgspec

Direction = Literal["forward", "gradient"]
EdgeKey = tuple[str, str]
MarkKey = tuple[str, str, Direction]
Point = tuple[float, float]
Rect = tuple[float, float, float, float]
Count = Annotated[int, msgspec.Meta(ge=1)]
Rate = Annotated[float, msgspec.Meta(ge=0, le=3e38)]  # what float32 can hold
Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


def new_id() -> str:
    """Mint a random id; undo keeps it, a copy gets a new one."""
    return secrets.token_hex(5)


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a document; `extra` holds fields of the file that this version does not know."""

    extra: dict[str, Any] = {}


class NodeItem(Item, frozen=True, kw_only=True):
    """A node: its type in the library, its name (unique), parameters by name, and position."""

    id: str
    type: str
    name: str
    params: dict[str, Any] = {}
    position: Point = (0.0, 0.0)


class Edge(msgspec.Struct, frozen=True, array_like=True):
    """A wire from an output port to an input port; an input takes one wire."""

    source: str
    output: str
    target: str
    input: str

    @property
    def key(self) -> EdgeKey:
        """What the edge is known by: target node and input port."""
        return (self.target, self.input)


class Breakpoint(Item, frozen=True, kw_only=True):
    """A stop on the edge into `target.input`; an empty condition always holds."""

    target: str
    input: str
    direction: Direction = "forward"
    condition: str = ""
    action: Literal["stop", "log", "snapshot"] = "stop"
    enabled: bool = True

    @property
    def key(self) -> MarkKey:
        """What the breakpoint is known by: edge and direction."""
        return (self.target, self.input, self.direction)


class Watch(Item, frozen=True, kw_only=True):
    """An edge whose statistics are kept over training steps."""

    target: str
    input: str
    direction: Direction = "forward"

    @property
    def key(self) -> MarkKey:
        """What the watch is known by: edge and direction."""
        return (self.target, self.input, self.direction)


class Group(Item, frozen=True, kw_only=True):
    """A compile group: nodes that run as one fused subgraph."""

    id: str
    name: str
    nodes: tuple[str, ...]


class Frame(Item, frozen=True, kw_only=True):
    """A titled rectangle behind nodes; `rect` is x, y, width, height in scene units."""

    id: str
    title: str = ""
    rect: Rect = (0.0, 0.0, 320.0, 240.0)


class Note(Item, frozen=True, kw_only=True):
    """A text note on the canvas; `rect` is x, y, width, height in scene units."""

    id: str
    text: str = ""
    rect: Rect = (0.0, 0.0, 240.0, 120.0)


class Training(Item, frozen=True, kw_only=True):
    """How the document is trained; node ids left null are found in the graph."""

    optimizer: Literal["SGD", "Momentum", "Adam"] = "Adam"
    learning_rate: Rate = 0.001
    momentum: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.9
    weight_decay: Rate = 0.0
    schedule: Literal["constant", "cosine", "step"] = "constant"
    batch_size: Count = 32
    epochs: Count = 10
    seed: Seed = 0
    shuffle: bool = True
    loss: str | None = None
    metric: Literal["auto", "accuracy", "none"] = "auto"


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Where the canvas looks: its centre in scene units and zoom; never undone."""

    center: Point = (0.0, 0.0)
    zoom: Annotated[float, msgspec.Meta(gt=0)] = 1.0
