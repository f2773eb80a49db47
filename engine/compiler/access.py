"""How values that lie in memory are read: views without copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .graph import Node, Value


@dataclass(frozen=True, slots=True)
class Access:
    """How a value that lies in memory is read: its base buffer, element strides and offset."""

    base: Value
    strides: tuple[int, ...]
    offset: int = 0


def natural_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the element strides of a C-contiguous array."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def view_access(node: Node, source: Access) -> Access | None:
    """Return how a view node's output reads the memory of its input, or None if it copies."""
    dtype = node.inputs[0].aval.dtype.numpy
    shape = node.inputs[0].sizes
    if math.prod(shape) == 0:
        return None
    size = dtype.itemsize
    spans = [(n - 1) * s for n, s in zip(shape, source.strides, strict=True)]
    before = -sum(min(span, 0) for span in spans)  # reversed axes reach back from the first element
    after = sum(max(span, 0) for span in spans)
    dummy = np.lib.stride_tricks.as_strided(
        np.empty(before + after + 1, dtype)[before:],
        shape,
        [s * size for s in source.strides],
        writeable=False,
    )
    try:
        view = node.op.kernel(dummy, **node.attributes)
    except (ValueError, TypeError):
        return None
    start = dummy.__array_interface__["data"][0]
    offset = view.__array_interface__["data"][0] - start
    shared = view.base is not None and -before * size <= offset <= after * size
    if not shared or tuple(view.shape) != tuple(node.outputs[0].aval.shape):
        return None
    strides = tuple(s // size for s in view.strides)
    return Access(source.base, strides, source.offset + offset // size)
