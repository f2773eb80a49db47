"""Resizing, and means of areas of different sizes, as native steps of a plan.

A family of `native_families.py`; the kernels are those of `kernels/taps.py`. Each axis is a step,
whose table of positions is a constant of the plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels import taps
from ...kernels.loops import FLOAT32, FLOAT64
from ...kernels.runtime import Rows
from ..ops.adaptive_pool import areas
from ..ops.resampling import table
from ..shape import Aval
from .graph import Node, Value
from .native_ops import KernelStep, NativeOp, Setting


@dataclass(frozen=True, slots=True)
class Axis:
    """What becomes of one axis: its table, and what goes with it."""

    axis: int
    outputs: int
    positions: np.ndarray
    numbers: np.ndarray
    kind: str
    plus_zero: bool = False


def turned(positions: np.ndarray, numbers: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the table that gives to the ``size`` elements what the outputs were read from them.

    What goes to one element is in the order of taps, and of outputs within each.
    """
    count, outputs = positions.shape
    given = positions >= 0
    targets, sources = positions[given], np.tile(np.arange(outputs), (count, 1))[given]
    order = np.argsort(targets, kind="stable")
    targets, sources, values = targets[order], sources[order], numbers[given][order]
    starts = np.searchsorted(targets, np.arange(size))
    ranks = np.arange(len(targets)) - starts[targets]
    shape = (int(ranks.max(initial=0)) + 1, size)
    found, numbered = np.full(shape, -1, np.int64), np.ones(shape)
    found[ranks, targets], numbered[ranks, targets] = sources, values
    return found, numbered


def _resampled(node: Node) -> Iterator[Axis]:
    attrs: dict[str, Any] = node.attributes
    axis, outputs = attrs["axis"], attrs["outputs"]
    back = "size" in attrs
    size = int(attrs["size"] if back else node.inputs[0].sizes[axis])
    positions, weights = table(size, outputs, attrs["kind"], attrs["how"], attrs["scale"])
    if attrs["kind"] == "area":
        positions = np.where(weights == 0, -1, positions)
    if not back:
        yield Axis(axis, outputs, positions, weights, taps.WEIGHTS)
        return
    positions, weights = turned(positions, weights, size)
    yield Axis(axis, size, positions, weights, taps.WEIGHTS, True)


def _means(node: Node) -> Iterator[Axis]:
    attrs: dict[str, Any] = node.attributes
    back = "size" in attrs
    wanted = attrs["size" if back else "output_size"]
    source = node.inputs[0].sizes
    first = len(source) - len(wanted)
    for axis, target in enumerate(map(int, wanted), first):
        size, count = (target, int(source[axis])) if back else (int(source[axis]), target)
        positions, counts = _area_table(size, count)
        if not back:
            yield Axis(axis, count, positions, counts, taps.MEANS)
            continue
        shares = np.broadcast_to(counts, positions.shape)
        yield Axis(axis, size, *turned(positions, shares, size), taps.SHARES, True)


def _area_table(size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions in each area, and how many they are."""
    parts = [*areas(size, count)]
    counts = np.array([part.stop - part.start for part in parts])
    within = np.arange(counts.max())[:, None]
    starts = np.array([part.start for part in parts])
    return np.where(within < counts, starts + within, -1), counts


AXES = {
    "resample": _resampled,
    "resample_sum": _resampled,
    "adaptive_mean": _means,
    "adaptive_mean_grad": _means,
}


def _accepts(node: Node) -> bool:
    output = node.outputs[0]
    wide = output.aval.dtype.numpy in (FLOAT32, FLOAT64)
    return wide and not any(0 in value.sizes for value in (*node.inputs, output))


def _lower(node: Node, setting: Setting) -> list[KernelStep]:
    axes = [*AXES[node.op.name](node)]
    steps: list[KernelStep] = []
    value, sizes = setting.base(node.inputs[0]), list(node.inputs[0].sizes)
    for number, part in enumerate(axes):
        before, sizes[part.axis] = tuple(sizes), part.outputs
        last = number == len(axes) - 1
        made = (
            node.outputs[0]
            if last
            else setting.temporary(Aval(tuple(sizes), node.outputs[0].aval.dtype))
        )
        steps.append(_step(part, value, before, made, setting))
        value = made
    return steps


def _step(
    part: Axis, source: Value, sizes: tuple[int, ...], made: Value, setting: Setting
) -> KernelStep:
    dtype = made.aval.dtype.numpy
    lead, tail = math.prod(sizes[: part.axis]), math.prod(sizes[part.axis + 1 :])
    inner = (sizes[part.axis], part.outputs, tail)
    function = taps.taps(dtype, inner, len(part.positions), part.kind, part.plus_zero)
    positions = setting.constant(part.positions.astype(np.int64))
    numbers = setting.constant(part.numbers.astype(dtype))
    row = tail * dtype.itemsize
    rows = Rows(0, (sizes[part.axis] * row, 0, 0, part.outputs * row))
    buffers = (source, positions, numbers, made)
    return KernelStep(function.named("taps"), buffers, (lead,), (made,), rows)


def _products(node: Node) -> float:
    return float(math.prod(node.inputs[0].sizes) + math.prod(node.outputs[0].sizes))


OPS = dict.fromkeys(AXES, NativeOp(_accepts, _lower, _products))
