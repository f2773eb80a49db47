"""Pooling as native steps of a plan: padding put around, windows pooled, padding taken off.

A family of `native_families.py`; the kernels are those of `kernels/pool_native.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...kernels import pool_native
from ...kernels.loops import Function
from ...kernels.pool_native import Counting
from ...kernels.runtime import Rows
from ...kernels.windows import Window
from ..shape import Aval
from .graph import Node, Value
from .native_ops import KernelStep, NativeOp, Setting

MAXIMA = {"max_pool2d": pool_native.max_pool, "max_pool2d_grad": pool_native.max_pool_grad}
MEANS = {"avg_pool2d": pool_native.avg_pool, "avg_pool2d_grad": pool_native.avg_pool_grad}
POOLS = ("max_pool2d", "avg_pool2d")


def _pools(node: Node) -> bool:
    dtype = node.outputs[0].aval.dtype.numpy
    return dtype.kind == "f" and dtype.itemsize in (4, 8) and 0 not in node.outputs[0].sizes


def _products(node: Node) -> float:
    rows, columns = node.attributes["kernel"]  # pyright: ignore[reportGeneralTypeIssues]
    pooled = node.outputs[0] if node.op.name in POOLS else node.inputs[0]
    return math.prod(pooled.sizes) * rows * columns


def _pooling(node: Node, setting: Setting) -> list[KernelStep]:
    if node.op.name in POOLS:
        return _forward(node, setting)
    return _gradient(node, setting)


def _forward(node: Node, setting: Setting) -> list[KernelStep]:
    image = node.inputs[0]
    window, x = _window(node, image), image
    lowest = -np.inf if node.op.name == "max_pool2d" else 0.0
    steps: list[KernelStep] = []
    if any(window.padding):
        x = setting.temporary(_padded(image, window))
        steps += _pad(image, x, window, lowest, setting)
    function, outputs = _function(node, window), node.outputs
    unread = len(outputs) > 1 and not setting.needs(outputs[1])
    if unread and pool_native.is_unrolled(window):
        outputs = outputs[:1]
        function = pool_native.max_pool(window, image.aval.dtype.numpy, with_taps=False)
    return [*steps, _step(function, (x, *outputs), outputs, setting)]


def _gradient(node: Node, setting: Setting) -> list[KernelStep]:
    output = node.outputs[0]
    window, target = _window(node, output), output
    if any(window.padding):
        target = setting.temporary(_padded(output, window))
    dtype = output.aval.dtype.numpy
    cleared = pool_native.fill(window.padded, dtype, 0.0)
    steps = [
        _step(cleared, (target,), (target,), setting),
        _step(_function(node, window), (*node.inputs, target), (target,), setting),
    ]
    if target is not output:
        size = (window.height, window.width)
        cropped = pool_native.crop(size, window.padding, dtype)
        steps.append(_step(cropped, (target, output), (output,), setting))
    return steps


def _pad(
    source: Value, padded: Value, window: Window, value: float, setting: Setting
) -> list[KernelStep]:
    dtype = source.aval.dtype.numpy
    placed = pool_native.place((window.height, window.width), window.padding, dtype)
    filled = pool_native.fill(window.padded, dtype, value)
    return [
        _step(filled, (padded,), (padded,), setting),
        _step(placed, (source, padded), (padded,), setting),
    ]


def _function(node: Node, window: Window) -> Function:
    dtype, attrs = node.outputs[0].aval.dtype.numpy, node.attributes
    if node.op.name in MAXIMA:
        return MAXIMA[node.op.name](window, dtype)
    spill: Any = attrs["spill"]
    divisor: Any = attrs["divisor"]
    counting = Counting(bool(attrs["count_padding"]), tuple(spill), divisor)
    return MEANS[node.op.name](window, dtype, counting)


def _step(
    function: Function, values: tuple[Value, ...], writes: tuple[Value, ...], setting: Setting
) -> KernelStep:
    """Return the call of a kernel over planes, which threads may share out."""
    function = function.named("pool")
    advance = tuple(math.prod(v.sizes[2:]) * v.aval.dtype.itemsize for v in values)
    planes = values[0].sizes[0] * values[0].sizes[1]
    buffers = tuple(setting.base(v) for v in values)
    return KernelStep(function, buffers, (planes,), writes, Rows(0, advance))


def _padded(image: Value, window: Window) -> Aval:
    return Aval((*image.sizes[:2], *window.padded), image.aval.dtype)


def _window(node: Node, image: Value) -> Window:
    attrs: dict[str, Any] = node.attributes
    kernel, stride, padding = (tuple(attrs[name]) for name in ("kernel", "stride", "padding"))
    height, width = image.sizes[2:]
    return Window(height, width, kernel, stride, padding, tuple(attrs.get("dilation", (1, 1))))


OPS = dict.fromkeys((*MAXIMA, *MEANS), NativeOp(_pools, _pooling, _products))
