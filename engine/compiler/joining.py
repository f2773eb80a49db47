"""Joining arrays, and putting a piece into zeros, as native steps of a plan."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from typing import Any

from ...kernels import copies
from ...kernels.loops import DTYPES, Function
from ...kernels.runtime import Rows
from .graph import Node, Value
from .native_ops import KernelStep, NativeOp, Setting


def _copies(node: Node) -> bool:
    values = (*node.inputs, *node.outputs)
    return node.outputs[0].aval.dtype.numpy in DTYPES and all(0 not in v.sizes for v in values)


def _elements(node: Node) -> float:
    return math.prod(node.outputs[0].sizes)


def _named(function: Function) -> Function:
    digest = hashlib.sha256(function.text.encode()).hexdigest()[:16]
    return replace(function, name=f"{function.name}_{digest}")


def _join(node: Node, setting: Setting) -> list[KernelStep]:
    output, axis = node.outputs[0], node.attributes["axis"]
    assert isinstance(axis, int)
    kernel = _named(copies.join("join", len(node.inputs), output.aval.dtype.numpy))
    widths = [math.prod(v.sizes[axis:]) for v in node.inputs]
    places = [sum(widths[:i]) for i in range(len(widths))]
    width, item = sum(widths), output.aval.dtype.itemsize
    buffers = (*(setting.base(v) for v in node.inputs), output)
    rows = Rows(0, tuple(size * item for size in (*widths, width)))
    ints = (math.prod(output.sizes[:axis]), width, *widths, *places)
    return [KernelStep(kernel, buffers, ints, (output,), rows)]


def _ranges(node: Node) -> tuple[list[tuple[int, int]], int] | None:
    """Return how many elements a piece has along its axes and how far these lie apart, and where
    the first one lies; axes that follow each other in memory count as one.
    """
    attrs: dict[str, Any] = node.attributes
    found: list[tuple[int, int]] = []
    start, apart = 0, 1
    ranges = zip(attrs["begin"], attrs["end"], attrs["strides"], strict=True)
    for size, bounds in zip(reversed(node.outputs[0].sizes), reversed([*ranges]), strict=True):
        cut = range(size)[slice(*bounds)]
        if cut.step < 0:
            return None
        start += cut.start * apart
        count, wide = len(cut), cut.step * apart
        if found and wide == found[-1][0] * found[-1][1]:
            found[-1] = (found[-1][0] * count, found[-1][1])
        elif count > 1 or not found:
            found.append((count, wide))
        apart *= size
    return found[::-1], start


def _places(node: Node) -> bool:
    sizes: tuple[Any, ...] = (*node.outputs[0].sizes, *node.inputs[0].sizes)
    known = all(isinstance(size, int) for size in sizes)
    return known and _copies(node) and _ranges(node) is not None


def _place(node: Node, setting: Setting) -> list[KernelStep]:
    output, ranges = node.outputs[0], _ranges(node)
    assert ranges is not None
    axes, start = ranges
    dtype, item = output.aval.dtype.numpy, output.aval.dtype.itemsize
    counts, wides = [count for count, _ in axes], [wide for _, wide in axes]
    kernel = _named(copies.place("place", len(axes), wides[-1], dtype))
    ints = (*counts, *wides[:-1], start)
    rows = Rows(0, (math.prod(counts[1:]) * item, wides[0] * item))
    buffers = (setting.base(node.inputs[0]), output)
    zeros = _zeros(output)
    return [zeros, KernelStep(kernel, buffers, ints, (output,), rows)]


def _zeros(output: Value) -> KernelStep:
    kernel = _named(copies.clear("clear", output.aval.dtype.numpy))
    rows = Rows(0, (output.aval.dtype.itemsize,))
    return KernelStep(kernel, (output,), (math.prod(output.sizes),), (output,), rows)


OPS = {
    "concat": NativeOp(_copies, _join, _elements),
    "unslice": NativeOp(_places, _place, _elements),
}
