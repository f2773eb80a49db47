"""Chains of casts: a cast through a dtype that holds every value is one cast.

Rules of `algebra.py`, which `simplify.py` tries on casts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..dtype import DType
from .graph import Node, Value

if TYPE_CHECKING:
    from .simplify import Rewriter


def shorter_cast(walk: Rewriter, node: Node) -> Value | None:
    """Return what a cast to the same dtype, or through one that holds every value, equals."""
    source, output = node.inputs[0], node.outputs[0]
    if source.aval == output.aval:
        return source
    inner = walk.producer(source, "cast")
    if inner is None:
        return None
    start, middle, end = (v.aval.dtype for v in (inner.inputs[0], source, output))
    if not holds(middle, start) or not _same_way(start, middle, end):
        return None
    return walk.emit(node.op, inner.inputs, node, **node.attributes)


def holds(wide: DType, narrow: DType) -> bool:
    """Return whether every value of a dtype is one of another."""
    return np.can_cast(narrow.numpy, wide.numpy, "safe")


def _same_way(start: DType, middle: DType, end: DType) -> bool:
    """Return whether numbers are rounded or wrapped in the same way without the dtype between.

    What lies outside an integer's range wraps among integers, and otherwise from floats.
    """
    kinds = start.numpy.kind, middle.numpy.kind
    if start is end or start.numpy.kind == "b" or end.numpy.kind == "b":
        return True
    if end.is_float:
        return kinds[0] == "f" or holds(end, start)
    return kinds[0] != "f" and (kinds[1] != "f" or holds(end, start))
