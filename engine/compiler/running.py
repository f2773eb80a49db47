"""Running sums, products and extremes, and numbers counted up, as native steps of a plan.

A family of `native_families.py`; the kernels are in `kernels/indexed.py`.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...kernels import indexed
from ...kernels.loops import DTYPES, HALVES
from ...kernels.runtime import Rows
from .graph import Node
from .native_ops import KernelStep, NativeOp, Setting

UNCOUNTED: Final = {np.dtype(np.float16), np.dtype(np.bool_)}
"""Dtypes in which nothing is counted up natively."""
FOLDS: Final = {"cumsum": "add", "cumprod": "mul"}
"""Scalar ops by the op that runs with them along an axis."""


def _folds(node: Node) -> bool:
    dtype = node.outputs[0].aval.dtype.numpy
    wide = dtype in DTYPES and dtype.kind in "fiu" and dtype.itemsize > 2
    return wide and 0 not in node.outputs[0].sizes


def _lower_folds(node: Node, setting: Setting) -> list[KernelStep]:
    attrs: dict[str, Any] = node.attributes
    output, axis = node.outputs[0], attrs["axis"]
    sizes = (output.sizes[axis], math.prod(output.sizes[axis + 1 :]))
    dtype = output.aval.dtype.numpy
    fold = FOLDS[node.op.name]
    function = indexed.running(dtype, sizes, attrs["exclusive"], attrs["reverse"], fold)
    row = math.prod(sizes) * dtype.itemsize
    buffers = (setting.base(node.inputs[0]), output)
    count = math.prod(output.sizes[:axis])
    return [
        KernelStep(function.named("running"), buffers, (count,), (output,), Rows(0, (row, row)))
    ]


def _records(node: Node) -> bool:
    dtype = node.inputs[0].aval.dtype.numpy
    return dtype in DTYPES - UNCOUNTED - HALVES and 0 not in node.outputs[0].sizes


def _lower_records(node: Node, setting: Setting) -> list[KernelStep]:
    attrs: dict[str, Any] = node.attributes
    value, output, axis = node.inputs[0], node.outputs[0], attrs["axis"]
    sizes = (value.sizes[axis], math.prod(value.sizes[axis + 1 :]))
    dtype = value.aval.dtype.numpy
    function = indexed.records(dtype, sizes, attrs["largest"]).named("records")
    rows = Rows(0, (math.prod(sizes) * dtype.itemsize, math.prod(sizes) * 8))
    buffers = (setting.base(value), output)
    return [KernelStep(function, buffers, (math.prod(value.sizes[:axis]),), (output,), rows)]


def _counts(node: Node) -> bool:
    attrs, output = node.attributes, node.outputs[0]
    whole = all(isinstance(attrs[name], int) for name in ("start", "step"))
    return whole and 0 not in output.sizes and output.aval.dtype.numpy in DTYPES - UNCOUNTED


def _lower_counts(node: Node, setting: Setting) -> list[KernelStep]:
    attrs: dict[str, Any] = node.attributes
    output = node.outputs[0]
    function = indexed.counted(output.aval.dtype.numpy, attrs["start"], attrs["step"])
    return [KernelStep(function.named("counted"), (output,), (output.sizes[0],), (output,))]


def _run_products(node: Node) -> float:
    return math.prod(node.outputs[0].sizes)


OPS = {
    **dict.fromkeys(FOLDS, NativeOp(_folds, _lower_folds, _run_products)),
    "record_positions": NativeOp(_records, _lower_records, _run_products),
    "arange": NativeOp(_counts, _lower_counts, lambda _: 0.0),
}
