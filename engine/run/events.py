"""What an execution answers each time it is asked to go on: small plain data."""

from __future__ import annotations

from typing import Literal

import msgspec

from .breakpoints import Breakpoint, Direction
from .graph import Edge
from .inspect import Statistics

Stop = Literal["breakpoint", "node", "end"]
Reason = Literal["breakpoint", "reached"]


class NodeDone(msgspec.Struct, frozen=True, tag=True):
    """A node (or a whole compiled group) has run; `outputs` has port → shape and dtype as text."""

    node: str
    seconds: float
    outputs: dict[str, str]
    direction: Direction = "forward"


class Paused(msgspec.Struct, frozen=True, tag=True):
    """Stopped before `node`: at a breakpoint on `edge`, or because that node was to be reached."""

    node: str
    reason: Reason
    edge: Edge | None = None
    stats: Statistics | None = None
    breakpoint: Breakpoint | None = None
    count: int = 0
    direction: Direction = "forward"


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The node raised; its inputs can be inspected.

    `inputs` has port → shape and dtype as text, `message` speaks of ports and shapes, `fix` says
    what to change, `trace` is the Python traceback.
    """

    node: str
    error: str
    message: str
    inputs: dict[str, str]
    fix: str
    trace: str
    direction: Direction = "forward"


class Finished(msgspec.Struct, frozen=True, tag=True):
    """All nodes have run."""

    seconds: float
    direction: Direction = "forward"


class Noted(msgspec.Struct, frozen=True, tag=True):
    """A breakpoint with the action `log` or `snapshot` was hit; the run went on."""

    breakpoint: Breakpoint
    count: int
    stats: Statistics


Event = NodeDone | Paused | Failed | Finished
