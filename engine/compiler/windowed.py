"""Convolution and pooling as native steps of a plan."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ...kernels import pool_native
from ...kernels.conv_native import ConvKernel
from ...kernels.gemm import blas_address
from ...kernels.loops import Buffer, Function, Loop, Store, affine, const
from ...kernels.native import Kernel
from ...kernels.runtime import Rows
from ...kernels.windows import Window
from ..shape import Aval
from .access import Access, natural_strides
from .graph import Node, Value

KINDS = {
    "conv2d": "forward",
    "conv2d_input_grad": "input_grad",
    "conv2d_weight_grad": "weight_grad",
}
POOLS = ("max_pool2d", "max_pool2d_grad")


@dataclass(frozen=True, slots=True)
class WindowStep:
    """One kernel call: the kernel, its buffers in order, its sizes and what it writes."""

    kernel: Kernel
    buffers: tuple[Value | int, ...]
    ints: tuple[int, ...]
    writes: tuple[Value, ...]
    rows: Rows | None = None


def is_windowed(node: Node) -> bool:
    """Return whether a node is a convolution or pooling with a native kernel."""
    dtype = node.outputs[0].aval.dtype.numpy
    if dtype.kind != "f" or dtype.itemsize not in (4, 8) or 0 in node.outputs[0].sizes:
        return False
    attrs: dict[str, Any] = node.attributes
    if node.op.name in KINDS:
        same = all(v.aval.dtype.numpy == dtype for v in node.inputs)
        return same and len(node.inputs) == 2 and attrs["groups"] == 1
    if node.op.name not in POOLS or any(attrs["padding"]):
        return False
    rows, columns = attrs["kernel"]
    return rows * columns <= pool_native.MOST_TAPS


def reads_in_place(access: Access, value: Value) -> bool:
    """Return whether a value lies in memory as these kernels read it."""
    return access.offset == 0 and access.strides == natural_strides(value.sizes)


def lower_windowed(
    node: Node,
    base: Callable[[Value], Value],
    temporary: Callable[[Aval], Value],
    parts: int,
) -> list[WindowStep]:
    """Lower a convolution or pooling for ``parts`` threads.

    ``temporary`` makes a value that lives for the step.
    """
    if node.op.name in KINDS:
        return [_convolution(node, base, temporary, parts)]
    return _pooling(node, base)


def _convolution(
    node: Node,
    base: Callable[[Value], Value],
    temporary: Callable[[Aval], Value],
    parts: int,
) -> WindowStep:
    kind, output = KINDS[node.op.name], node.outputs[0]
    first, second = (node.inputs[0], node.inputs[1])
    image, weight, out = {
        "forward": (first, second, output),
        "input_grad": (output, second, first),
        "weight_grad": (second, output, first),
    }[kind]
    window = _window(node.attributes, image, weight.sizes[2:])
    dtype = output.aval.dtype
    sizes = (window, image.sizes[1], weight.sizes[0], dtype.numpy)
    kernel = ConvKernel(_named("conv", kind, *sizes), kind, *sizes)
    places: list[Value | int] = [v if v is output else base(v) for v in (image, weight, out)]
    places.append(temporary(Aval((parts * kernel.workspace,), dtype)))
    if kernel.needs_blas:
        places.append(blas_address(dtype.numpy))
    rows = None
    if kind != "weight_grad":  # which sums over the images
        pad = (0,) * (len(places) - 4)
        advance = (_row_bytes(image), 0, _row_bytes(out), 0, *pad)
        rows = Rows(0, advance, (0, 0, 0, kernel.workspace * dtype.itemsize, *pad))
    return WindowStep(kernel, tuple(places), (image.sizes[0],), (output,), rows)


def _row_bytes(value: Value, axes: int = 1) -> int:
    """Return the bytes from one to the next along the first axes."""
    return math.prod(value.sizes[axes:]) * value.aval.dtype.itemsize


def _pooling(node: Node, base: Callable[[Value], Value]) -> list[WindowStep]:
    output = node.outputs[0]
    forward = node.op.name == POOLS[0]
    image = node.inputs[0] if forward else output
    window = _window(node.attributes, image, node.attributes["kernel"])
    make = pool_native.max_pool if forward else pool_native.max_pool_grad
    function = make(window, output.aval.dtype.numpy)
    function = replace(function, name=_named("pool", function.fingerprint))
    buffers = (*(base(v) for v in node.inputs), *node.outputs)
    planes = (image.sizes[0] * image.sizes[1],)
    rows = Rows(0, tuple(_row_bytes(v, 2) for v in (*node.inputs, *node.outputs)))
    step = WindowStep(function, buffers, planes, node.outputs, rows)
    if forward:
        return [step]
    count = planes[0] * image.sizes[2] * image.sizes[3]
    cleared = Rows(0, (output.aval.dtype.itemsize,))
    return [WindowStep(_clear(output), (output,), (count,), (output,), cleared), step]


def _clear(value: Value) -> Function:
    """Return a kernel that fills ``n`` elements with zeros."""
    dtype = value.aval.dtype.numpy
    zero = Store("out", affine("i"), const(0, dtype))
    loop = Loop("i", "n", (zero,), vector=True)
    function = Function("clear", (Buffer("out", dtype),), ("n",), (loop,))
    return replace(function, name=_named("clear", function.fingerprint))


def _window(attrs: dict[str, Any], image: Value, kernel: Any) -> Window:
    height, width = image.sizes[2:]
    steps = (tuple(attrs[name]) for name in ("stride", "padding", "dilation"))
    return Window(height, width, tuple(kernel), *steps)


def _named(prefix: str, *parts: object) -> str:
    return f"{prefix}_{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"
