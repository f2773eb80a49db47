"""Sorting as native steps of a plan: positions in sorted order, and those of the largest alone.

A family of `native_families.py`; the kernels are those of `kernels/order.py`.
"""

from __future__ import annotations

import math
from typing import Any

from ...kernels import order
from ...kernels.loops import DTYPES, HALVES
from ...kernels.runtime import Rows
from .graph import Node
from .native_ops import KernelStep, NativeOp, Setting

SORTED_PRODUCTS = 20
"""What an element costs, counted in multiplications."""


def _sorts(node: Node) -> bool:
    value = node.inputs[0]
    dtype = value.aval.dtype.numpy
    return bool(value.sizes) and 0 not in value.sizes and dtype in DTYPES - HALVES


def _lower_sort(node: Node, setting: Setting) -> list[KernelStep]:
    attrs: dict[str, Any] = node.attributes
    value, output = node.inputs[0], node.outputs[0]
    lead, sizes, dtype = _rows(node)
    buffers = (setting.base(value), output)
    if sizes[0] <= order.COMPARED:
        function = order.compared(dtype, sizes, attrs["descending"])
    else:
        function = order.by_digits(dtype, sizes, attrs["descending"])
        buffers = (setting.base(value), setting.temporary(output.aval), output)
    row = math.prod(sizes)
    steps = (row * dtype.itemsize, *(row * 8 for _ in buffers[1:]))
    return [KernelStep(function.named(function.name), buffers, (lead,), (output,), Rows(0, steps))]


def _rows(node: Node) -> tuple[int, tuple[int, int], Any]:
    """Return how many rows there are, their sizes, and the dtype."""
    attrs: dict[str, Any] = node.attributes
    value, axis = node.inputs[0], attrs["axis"]
    sizes = (value.sizes[axis], math.prod(value.sizes[axis + 1 :]))
    return math.prod(value.sizes[:axis]), sizes, value.aval.dtype.numpy


def _sort_products(node: Node) -> float:
    return math.prod(node.inputs[0].sizes) * SORTED_PRODUCTS


def _picks(node: Node) -> bool:
    attrs: dict[str, Any] = node.attributes
    if not _sorts(node) or node.inputs[0].aval.dtype.itemsize > 4:
        return False
    size = node.inputs[0].sizes[attrs["axis"]]
    return 0 < attrs["k"] <= order.PICKED and size <= order.LONGEST


def _lower_pick(node: Node, setting: Setting) -> list[KernelStep]:
    attrs: dict[str, Any] = node.attributes
    lead, sizes, dtype = _rows(node)
    function = order.picked(dtype, sizes, attrs["k"], attrs["largest"])
    output = node.outputs[0]
    steps = (math.prod(sizes) * dtype.itemsize, attrs["k"] * sizes[1] * 8)
    buffers = (setting.base(node.inputs[0]), output)
    return [KernelStep(function.named("picked"), buffers, (lead,), (output,), Rows(0, steps))]


def _pick_products(node: Node) -> float:
    k: Any = node.attributes["k"]
    return float(math.prod(node.inputs[0].sizes) * (k + 1))


OPS = {
    "argsort": NativeOp(_sorts, _lower_sort, _sort_products),
    "top_positions": NativeOp(_picks, _lower_pick, _pick_products),
}
