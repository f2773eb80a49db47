"""Random numbers as native steps of a plan, the bits that NumPy draws from the same key.

A family of `native_families.py`. Uniform numbers are computed each from its own
counter (`kernels/philox.py`); others are drawn one after another (`kernels/streams.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from ...kernels import streams
from ...kernels.loops import DTYPES, FLOAT32, FLOAT64, HALVES
from ...kernels.moves import converted
from ...kernels.naming import kernel_name
from ...kernels.native import Kernel
from ...kernels.philox import COUNTS, WIDTHS, Draw, threshold
from ...kernels.runtime import Rows
from ..dtype import DType, float32, float64, int64
from ..shape import Aval, SymDim
from .graph import Node, Value
from .native_ops import KernelStep, NativeOp, Setting

KEPT, UNIFORM = "random_kept", "uniform_by_key"
KINDS = ("kept", "float32", "float64")
BLOCK_PRODUCTS = 200
"""What a block costs, counted in multiplications."""


def _kind(node: Node) -> str:
    return "kept" if node.op.name == KEPT else node.outputs[0].aval.dtype.numpy.name


def _draws(node: Node) -> bool:
    return _kind(node) in KINDS and 0 not in node.outputs[0].sizes


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


# ---- numbers drawn one after another ---------------------------------------------------------


class Drawing(NamedTuple):
    """How numbers of a kind are drawn."""

    function: str
    """NumPy's."""
    dtype: DType
    """In which it draws."""
    kernel: Kernel
    ints: tuple[int, ...] = ()
    """The kernel's, after the count."""


def _normal(node: Node) -> Drawing:
    drawn = float64 if node.outputs[0].aval.dtype is float64 else float32
    dtype = FLOAT64 if drawn is float64 else FLOAT32
    kernel = streams.Normal(kernel_name("normal", dtype), dtype)
    return Drawing(streams.NORMALS[dtype], drawn, kernel)


def _integers(node: Node) -> Drawing:
    low, high = _bounds(node)
    span = high - 1 - low
    ints = (low, span - (1 << 64) if span >> 63 else span)  # the same bits as a signed number
    kernel = streams.Integers(kernel_name("integers"))
    return Drawing("random_bounded_uint64_fill", int64, kernel, ints)


def _bounds(node: Node) -> tuple[int, int]:
    attrs: dict[str, Any] = node.attributes
    return attrs["low"], attrs["high"]


def _permutation(node: Node) -> Drawing:
    attrs: dict[str, Any] = node.attributes
    kernel = streams.Permutation(kernel_name("permutation"))
    return Drawing("random_interval", int64, kernel, (attrs.get("offset", 0),))


def _laplace(_: Node) -> Drawing:
    return Drawing("random_laplace", float64, streams.Laplace(kernel_name("laplace")))


DRAWINGS: dict[str, Callable[[Node], Drawing]] = {
    "normal_by_key": _normal,
    "randint": _integers,
    "randint_like": _integers,
    "randperm": _permutation,
    "random_order": _permutation,
    "standard_laplace": _laplace,
}
DRAWN_PRODUCTS = 50
"""What such a number costs, counted in multiplications."""


def _is_drawn(node: Node) -> bool:
    output = node.outputs[0]
    dtype = output.aval.dtype.numpy
    if dtype not in DTYPES or 0 in output.sizes:
        return False
    if node.op.name in ("randint", "randint_like"):
        low, high = _bounds(node)
        if low < -(1 << 63) or high > 1 << 63:
            return False  # which NumPy refuses
    if DRAWINGS[node.op.name] is _permutation and not streams.swaps_as_numpy():
        return False
    drawing = DRAWINGS[node.op.name](node)
    # Only float32 is rounded to two bytes in one go.
    once = dtype not in HALVES or drawing.dtype is float32
    return once and streams.function_address(drawing.function) != 0


def _lower_drawn(node: Node, setting: Setting) -> list[KernelStep]:
    function, drawn, kernel, ints = DRAWINGS[node.op.name](node)
    output, key = node.outputs[0], setting.base(node.inputs[0])
    count = math.prod(output.sizes)
    same = output.aval.dtype is drawn
    made = output if same else setting.temporary(Aval(output.aval.shape, drawn))
    buffers = (key, made, streams.function_address(function))
    steps = [KernelStep(kernel, buffers, (count, *ints), (made,))]
    if not same:
        source, dtype = drawn.numpy, output.aval.dtype.numpy
        rows = Rows(0, (source.itemsize, dtype.itemsize))
        cast = converted(source, dtype).named("converted")
        steps.append(KernelStep(cast, (made, output), (count,), (output,), rows))
    return steps


def _drawn_products(node: Node) -> float:
    return math.prod(node.outputs[0].sizes) * DRAWN_PRODUCTS


OPS = {
    **dict.fromkeys((KEPT, UNIFORM), NativeOp(_draws, _lower, _products)),
    **dict.fromkeys(DRAWINGS, NativeOp(_is_drawn, _lower_drawn, _drawn_products)),
}
