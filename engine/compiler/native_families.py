"""The ops with kernels of their own, family by family: what passes ask about a node.

The one place to add a family; each is a file with a table ``OPS``, as `native_ops.py` explains.
"""

from __future__ import annotations

from typing import Final

from . import (
    attention,
    drawing,
    indexed,
    moving,
    ordering,
    pooling,
    recurrent,
    resampling,
    running,
    windowed,
)
from .access import Access
from .graph import Node, Value
from .native_ops import NativeOp, is_whole

FAMILIES: Final = (
    windowed, pooling, recurrent, attention, moving, drawing, indexed, running, resampling,
    ordering,
)  # fmt: skip
NATIVE_OPS: Final[dict[str, NativeOp]] = {
    name: op for family in FAMILIES for name, op in family.OPS.items()
}


def native_op(node: Node) -> NativeOp | None:
    """Return how a node runs by kernels of its own, or None if it does not."""
    found = NATIVE_OPS.get(node.op.name)
    return found if found is not None and found.accepts(node) else None


def reads_in_place(node: Node, value: Value, access: Access) -> bool:
    """Return whether a node's kernels, if it has any, read an input that lies like that."""
    found = native_op(node)
    if found is None or found.reads is None:
        return found is None or is_whole(access, value)
    return found.reads(node, value, access)
