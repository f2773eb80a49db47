"""Random numbers as native steps of a plan, the bits that NumPy draws from the same key.

A family of `native_families.py`; the kernels are those of `kernels/philox.py`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ...kernels.naming import kernel_name
from ...kernels.philox import COUNTS, WIDTHS, Draw, threshold
from ...kernels.runtime import Rows
from ..shape import SymDim
from .graph import Node, Value
from .native_ops import KernelStep, NativeOp, Setting

KEPT, UNIFORM = "random_kept", "uniform_by_key"
BLOCK_PRODUCTS = 200
"""What a block costs, counted in multiplications."""


def _kind(node: Node) -> str:
    return "kept" if node.op.name == KEPT else node.outputs[0].aval.dtype.numpy.name


def _draws(node: Node) -> bool:
    return _kind(node) in COUNTS and 0 not in node.outputs[0].sizes


def _lower(node: Node, setting: Setting) -> list[KernelStep]:
    kind, output, key = _kind(node), node.outputs[0], setting.base(node.inputs[0])
    attrs: dict[str, Any] = node.attributes
    limit = threshold(attrs["p"]) if kind == "kept" else 0
    count: Any = math.prod(output.sizes)
    blocks, rest = count // COUNTS[kind], count % COUNTS[kind]
    steps = []
    if blocks:
        rows = Rows(0, (0, COUNTS[kind] * WIDTHS[kind], 0))
        steps.append(_step(Draw("", kind), key, output, (blocks, limit), rows))
    if isinstance(rest, SymDim):
        steps.append(_step(Draw("", kind, "rest"), key, output, (blocks, limit, rest), None))
    elif rest:
        steps.append(_step(Draw("", kind, rest), key, output, (blocks, limit), None))
    return steps


def _step(
    draw: Draw, key: Value, output: Value, ints: tuple[Any, ...], rows: Rows | None
) -> KernelStep:
    kernel = replace(draw, name=kernel_name("draw", draw.kind, draw.rest))
    return KernelStep(kernel, (key, output, output), ints, (output,), rows)


def _products(node: Node) -> float:
    return math.prod(node.outputs[0].sizes) / COUNTS[_kind(node)] * BLOCK_PRODUCTS


OPS = dict.fromkeys((KEPT, UNIFORM), NativeOp(_draws, _lower, _products))
