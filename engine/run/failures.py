"""A node's error told in terms of its ports and shapes, with what to change."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence

from ..shape import ShapeError
from ..tensor import Tensor
from .breakpoints import Direction
from .events import Failed
from .graph import Edge, GraphError
from .units import Unit


def describe_failure(
    unit: Unit,
    inputs: Mapping[Edge, Tensor],
    error: Exception,
    direction: Direction = "forward",
) -> Failed:
    """The event for an exception that a unit raised while these values entered it."""
    ports = {_port(unit, edge): str(tensor.aval) for edge, tensor in inputs.items()}
    listed = ", ".join(f"{port}: {aval}" for port, aval in ports.items())
    given = f" given {listed}" if listed else ""
    lines = traceback.format_exception(error)
    return Failed(
        node=unit.id,
        error=type(error).__name__,
        message=f"{unit.name}{given}: {error}",
        inputs=ports,
        fix=_fix(error, list(ports)),
        trace="".join(lines),
        direction=direction,
    )


def _port(unit: Unit, edge: Edge) -> str:
    return edge.port if len(unit.nodes) == 1 else f"{edge.node}.{edge.port}"


def _fix(error: Exception, ports: Sequence[str]) -> str:
    wires = " or ".join(ports) or "its inputs"
    match error:
        case ShapeError():
            return f"change what feeds {wires}, or the node's own sizes, so that the shapes fit"
        case GraphError():
            return str(error)
        case MemoryError():
            return "use a smaller batch or smaller sizes"
        case TypeError():
            return f"put a node that casts the dtype before {wires}, or correct its parameters"
        case _:
            return f"look at the values on {wires} and at the node's parameters"
