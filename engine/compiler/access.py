"""How values that lie in memory are read: views without copies.

The fuser decides by it which views need no kernel; lowering turns strides into indices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..shape import SymDim
from .graph import GraphError, Node, Value


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


def access_of(value: Value, accesses: Mapping[Value, Access]) -> Access:
    """Return how a value is read: as a view, or from memory of its own."""
    found = accesses.get(value)
    return Access(value, natural_strides(value.sizes)) if found is None else found


def view_access(node: Node, source: Access) -> Access | None:
    """Return how a view node's output reads the memory of its input, or None if it copies."""
    if node.inputs[0].is_open or node.outputs[0].is_open:
        return open_view_access(node, source)
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


def open_view_access(node: Node, source: Access) -> Access | None:
    """Return the same where sizes are symbols: what NumPy would give for all of them."""
    value, output = node.inputs[0], node.outputs[0]
    attrs: dict[str, Any] = node.attributes
    if node.op.name == "transpose":
        order = [axis % len(value.sizes) for axis in attrs["axes"]]
        return Access(source.base, tuple(source.strides[axis] for axis in order), source.offset)
    if node.op.name == "broadcast_to":
        missing = len(output.sizes) - len(value.sizes)
        pairs = zip(output.sizes[missing:], value.sizes, source.strides, strict=True)
        strides = [stride if wide == size else 0 for wide, size, stride in pairs]
        return Access(source.base, (*([0] * missing), *strides), source.offset)
    if node.op.name == "strided_slice":
        return _open_slice(value, source, attrs)
    if node.op.name != "reshape":
        raise GraphError(f"{node.op.name} of sizes that are not known yet")
    if source.strides == natural_strides(value.sizes):
        return Access(source.base, natural_strides(output.sizes), source.offset)
    kept = [(n, s) for n, s in zip(value.sizes, source.strides, strict=True) if n != 1]
    if [n for n, _ in kept] != [n for n in output.sizes if n != 1]:
        return None
    rest = iter(stride for _, stride in kept)
    return Access(
        source.base, tuple(1 if n == 1 else next(rest) for n in output.sizes), source.offset
    )


def _open_slice(value: Value, source: Access, attrs: dict[str, Any]) -> Access:
    offset: Any = source.offset
    strides: list[int] = []
    cuts = zip(
        value.sizes, source.strides, attrs["begin"], attrs["end"], attrs["strides"], strict=True
    )
    for size, stride, begin, end, step in cuts:
        first = begin or 0
        known = isinstance(size, int) and not isinstance(end, SymDim)
        if known or step < 0 or first < 0 or first >= size:
            first, _, _ = slice(begin, end, step).indices(size)  # a symbol is refused here
        offset += first * stride
        strides.append(stride * step)
    return Access(source.base, tuple(strides), offset)
