"""Conditions, loops and scans over sub-graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....engine import ops
from .....engine.tensor import wrap
from ..call import Call
from ..registry import operator


@operator("If", reads=(0,))
def if_(call: Call, *_: Any) -> Any:
    """Run one of two sub-graphs."""
    branch = call.attr("then_branch" if call.number(0) else "else_branch")
    return tuple(call.run_graph(branch, []))


@operator("Loop", reads=(0, 1))
def loop(call: Call, *inputs: Any) -> Any:
    """Run a sub-graph until its condition or the count ends it; values are carried, others kept."""
    body = call.attr("body")
    limit, going = call.number(0), bool(call.number(1, True))
    carried = list(inputs[2:])
    kept: list[list[Any]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    step = 0
    while going and (limit is None or step < limit):
        given = [wrap(np.asarray(step, np.int64)), wrap(np.asarray(going)), *carried]
        condition, *found = call.run_graph(body, given)
        going = bool(condition.asnumpy())
        carried, new = found[: len(carried)], found[len(carried) :]
        for row, value in zip(kept, new, strict=True):
            row.append(value)
        step += 1
    return (*carried, *(_stacked(row, 0) for row in kept))


def _stacked(row: list[Any], axis: int) -> Any:
    return ops.stack(row, axis) if row else wrap(np.zeros((0,), np.float32))


@operator("Scan")
def scan(call: Call, *inputs: Any) -> Any:
    """Run a sub-graph over slices of inputs, carrying states; its other results are stacked."""
    if call.version < 9:
        return _scan_batches(call, *inputs)
    body, count = call.attr("body"), call.attr("num_scan_inputs")
    states, sequences = list(inputs[:-count]), inputs[-count:]
    axes = call.attr("scan_input_axes") or [0] * count
    backward = call.attr("scan_input_directions") or [0] * count
    outputs = len(body.output) - len(states)
    out_axes = call.attr("scan_output_axes") or [0] * outputs
    out_backward = call.attr("scan_output_directions") or [0] * outputs
    steps = sequences[0].shape[axes[0]]
    kept: list[list[Any]] = [[] for _ in range(outputs)]
    for step in range(steps):
        slices = [
            _slice(x, axis, steps - 1 - step if back else step)
            for x, axis, back in zip(sequences, axes, backward, strict=True)
        ]
        found = call.run_graph(body, [*states, *slices])
        states = found[: len(states)]
        for row, value in zip(kept, found[len(states) :], strict=True):
            row.append(value)
    ordered = [row[::-1] if back else row for row, back in zip(kept, out_backward, strict=True)]
    return (*states, *(_stacked(row, axis) for row, axis in zip(ordered, out_axes, strict=True)))


def _scan_batches(call: Call, lengths: Any, *inputs: Any) -> Any:
    """Scan as version 8 did: over axis 1 of each example of a batch, which axis 0 counts."""
    body, count = call.attr("body"), call.attr("num_scan_inputs")
    states, sequences = inputs[:-count], inputs[-count:]
    results: list[list[Any]] = []
    for example in range(sequences[0].shape[0]):
        own = [state[example] for state in states]
        kept: list[list[Any]] = [[] for _ in range(len(body.output) - len(own))]
        for step in range(sequences[0].shape[1]):
            found = call.run_graph(body, [*own, *(x[example, step] for x in sequences)])
            own = found[: len(own)]
            for row, value in zip(kept, found[len(own) :], strict=True):
                row.append(value)
        results.append([*own, *(_stacked(row, 0) for row in kept)])
    return tuple(ops.stack(list(column), 0) for column in zip(*results, strict=True))


def _slice(x: Any, axis: int, position: int) -> Any:
    return x[(*[slice(None)] * (axis % x.ndim), position)]
