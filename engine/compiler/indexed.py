"""Reading, adding up and putting by positions as native steps of a plan.

Positions and labels out of range are errors: a `Check` tells of them when the kernel has run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...kernels import indexed
from ...kernels.loops import DTYPES, Function
from ...kernels.runtime import Rows
from ..dtype import int64
from ..ops.distributions import NO_CHANCE
from ..shape import Aval, broadcast_shapes
from .access import natural_strides
from .graph import Node, Value
from .native_ops import Check, KernelStep, NativeOp, Setting
from .parameters import Parameters

READS, ADDS = ("gather", "index"), ("scatter_sum", "index_sum")
MEETINGS = {
    "none": "",
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "max": "maximum",
    "min": "minimum",
}
"""Scalar ops by the reductions of ``put``."""


def _layout(node: Node) -> tuple[int, ...]:
    """Return for each axis of the table the number of the input that picks from it, or -1."""
    attrs: dict[str, Any] = node.attributes
    if "layout" in attrs:
        return attrs["layout"]
    rank = len(_table(node))
    return tuple(0 if axis == attrs["axis"] % rank else -1 for axis in range(rank))


def _table(node: Node) -> tuple[int, ...]:
    """Return the shape of what is picked from, or added up in."""
    return node.inputs[0].sizes if node.op.name in READS else node.outputs[0].sizes


def _picks(node: Node) -> bool:
    dtype = node.outputs[0].aval.dtype.numpy
    adds = node.op.name in ADDS
    if dtype not in DTYPES or any(0 in v.sizes for v in (*node.inputs, *node.outputs)):
        return False
    if (adds and dtype.kind not in "fiu") or (adds and dtype.itemsize == 2):
        return False
    axes = [axis for axis, number in enumerate(_layout(node)) if number >= 0]
    together = axes == list(range(axes[0], axes[-1] + 1))
    return together and all(v.aval.dtype.is_int for v in node.inputs[1:])


def _lower_picks(node: Node, setting: Setting) -> list[KernelStep]:
    steps: list[KernelStep] = []
    name = "index" if "layout" in node.attributes else "gather"
    sizes, places = _places(name, _table(node), _layout(node), node.inputs[1:], setting, steps)
    steps.append(_pick(node, setting.base(node.inputs[0]), places, sizes))
    return steps


def _places(
    name: str,
    shape: tuple[int, ...],
    layout: tuple[int, ...],
    indices: Sequence[Value],
    setting: Setting,
    steps: list[KernelStep],
) -> tuple[tuple[int, int, int, int], Value]:
    """Return the sizes of a table (leads, rows, places, tail) and the places in it."""
    axes = [axis for axis, number in enumerate(layout) if number >= 0]
    lead, tail = math.prod(shape[: axes[0]]), math.prod(shape[axes[-1] + 1 :])
    given = [indices[layout[axis]] for axis in axes]
    found = [
        _positions(value, name, axis, shape[axis], setting, steps)
        for value, axis in zip(given, axes, strict=True)
    ]
    spread: Any = broadcast_shapes(*(value.sizes for value in given))
    places = found[0]
    if len(axes) > 1:
        places = _joined(given, found, spread, [shape[axis] for axis in axes], setting, steps)
    rows = math.prod(shape[axes[0] : axes[-1] + 1])
    return (lead, rows, math.prod(spread), tail), places


def _pick(node: Node, source: Value, places: Value, sizes: tuple[int, int, int, int]) -> KernelStep:
    output, (lead, size, count, tail) = node.outputs[0], sizes
    dtype, reads = output.aval.dtype.numpy, node.op.name in READS
    named = Parameters()
    if reads:
        function = indexed.gather(dtype, *sizes)
    else:
        function = indexed.scatter(dtype, lead, size, count if lead > 1 else named.of(count), tail)
    row = tail * dtype.itemsize
    own, other = (size * row, count * row) if reads else (count * row, size * row)
    if lead > 1:
        count, rows = lead, Rows(0, (own, 0, other))
    elif reads:
        rows = Rows(0, (0, 8, row))
    else:  # columns: sums must be added up in one order
        count = tail
        rows = Rows(0, (dtype.itemsize, 0, dtype.itemsize)) if tail > 1 else None
    ints = (count, *named.sizes(function.ints[1:]))
    return KernelStep(_named(function), (source, places, output), ints, (output,), rows)


def _positions(
    value: Value, name: str, axis: int, size: int, setting: Setting, steps: list[KernelStep]
) -> Value:
    """Return positions from 0 on, looked at once in a plan."""
    key = ("positions", value, axis, size, name)
    known = setting.shared.get(key)
    if known is None:
        known = setting.shared[key] = setting.temporary(Aval(value.sizes, int64))
        text = (
            f"{name}: the indices hold position {{}}, axis {axis} has size {size}; use {-size} to"
            f" {size - 1}."
        )
        function = indexed.positions(value.aval.dtype.numpy)
        steps.append(_looked_at(function, value, known, (size,), "IndexError", text, setting))
    return known


def _looked_at(
    function: Function,
    value: Value,
    out: Value,
    ints: tuple[int, ...],
    error: str,
    text: str,
    setting: Setting,
) -> KernelStep:
    status = setting.temporary(Aval((2,), int64))
    buffers = (setting.base(value), out, status)
    count = math.prod(value.sizes)
    check = Check(status, error, text)
    return KernelStep(_named(function), buffers, (count, *ints), (out, status), check=check)


def _joined(
    given: Sequence[Value],
    found: Sequence[Value],
    spread: tuple[int, ...],
    sizes: Sequence[int],
    setting: Setting,
    steps: list[KernelStep],
) -> Value:
    """Return one position for those along several axes."""
    strides: list[tuple[int, ...]] = []
    for value in given:
        pairs = zip(value.sizes, natural_strides(value.sizes), strict=True)
        own = tuple(0 if size == 1 else stride for size, stride in pairs)
        strides.append((0,) * (len(spread) - len(own)) + own)
    rows = natural_strides(sizes)
    out = setting.temporary(Aval(spread, int64))
    function = _named(indexed.joined(spread, strides, rows))
    steps.append(KernelStep(function, (*found, out), (), (out,)))
    return out


def _pick_products(node: Node) -> float:
    return math.prod(node.outputs[0].sizes)


# ---- values put into a copy ------------------------------------------------------------------


def _puts(node: Node) -> bool:
    attrs: dict[str, Any] = node.attributes
    dtype = node.outputs[0].aval.dtype.numpy
    if dtype not in DTYPES or any(0 in v.sizes for v in node.inputs):
        return False
    if attrs["reduction"] != "none" and (dtype.kind not in "fiu" or dtype.itemsize == 2):
        return False
    axes = [axis for axis, number in enumerate(attrs["layout"]) if number >= 0]
    return attrs["reduction"] in MEETINGS and axes == list(range(axes[0], axes[-1] + 1))


def _lower_puts(node: Node, setting: Setting) -> list[KernelStep]:
    attrs: dict[str, Any] = node.attributes
    output = node.outputs[0]
    steps: list[KernelStep] = []
    sizes, places = _places(
        "scatter", output.sizes, attrs["layout"], node.inputs[2:], setting, steps
    )
    dtype = output.aval.dtype.numpy
    function = indexed.scatter(dtype, *sizes, MEETINGS[attrs["reduction"]])
    lead, size, count, tail = sizes
    row = tail * dtype.itemsize
    if lead > 1:
        n, rows = lead, Rows(0, (size * row, count * row, 0, size * row))
    else:
        width = dtype.itemsize
        n, rows = tail, Rows(0, (width, width, 0, width)) if tail > 1 else None
    buffers = (setting.base(node.inputs[0]), setting.base(node.inputs[1]), places, output)
    steps.append(KernelStep(_named(function), buffers, (n,), (output,), rows))
    return steps


# ---- labels and probabilities ----------------------------------------------------------------


def _labels(node: Node) -> bool:
    return 0 not in node.inputs[0].sizes


def _lower_labels(node: Node, setting: Setting) -> list[KernelStep]:
    attrs: dict[str, Any] = node.attributes
    value, out = node.inputs[0], node.outputs[0]
    ints = (attrs["classes"], attrs["ignored"])
    function = indexed.labels(value.aval.dtype.numpy)
    return [_looked_at(function, value, out, ints, "ValueError", attrs["text"], setting)]


def _chances(node: Node) -> bool:
    return 0 not in node.inputs[0].sizes


def _lower_chances(node: Node, setting: Setting) -> list[KernelStep]:
    value, out = node.inputs[0], node.outputs[0]
    function = indexed.chances(value.aval.dtype.numpy)
    return [_looked_at(function, value, out, (), "ValueError", NO_CHANCE, setting)]


def _named(function: Function) -> Function:
    return function.named(function.name)


OPS = {
    **dict.fromkeys((*READS, *ADDS), NativeOp(_picks, _lower_picks, _pick_products)),
    "put": NativeOp(_puts, _lower_puts, _pick_products),
    "require_labels": NativeOp(_labels, _lower_labels, lambda _: 0.0),
    "require_chances": NativeOp(_chances, _lower_chances, lambda _: 0.0),
}
