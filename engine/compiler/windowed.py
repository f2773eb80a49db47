"""Convolution as native steps of a plan."""

from __future__ import annotations

import hashlib
import math
from typing import Any

from ...kernels.conv_native import ConvKernel
from ...kernels.gemm import blas_address
from ...kernels.runtime import Rows
from ...kernels.windows import Window
from ..shape import Aval
from .graph import Node, Value
from .native_ops import KernelStep, NativeOp, Setting

KINDS = {
    "conv2d": "forward",
    "conv2d_input_grad": "input_grad",
    "conv2d_weight_grad": "weight_grad",
}


def _has_kernel(node: Node) -> bool:
    dtype = node.outputs[0].aval.dtype.numpy
    return dtype.kind == "f" and dtype.itemsize in (4, 8) and 0 not in node.outputs[0].sizes


def _convolves(node: Node) -> bool:
    dtype = node.outputs[0].aval.dtype
    same = all(v.aval.dtype is dtype for v in node.inputs)
    return _has_kernel(node) and same and len(node.inputs) == 2 and node.attributes["groups"] == 1


def _conv_products(node: Node) -> float:
    weight = min(node.inputs, key=lambda v: math.prod(v.sizes))
    large = max(math.prod(node.outputs[0].sizes), math.prod(node.inputs[0].sizes))
    return large * math.prod(weight.sizes[1:])


def _convolution(node: Node, setting: Setting) -> list[KernelStep]:
    kind, output, base = KINDS[node.op.name], node.outputs[0], setting.base
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
    places.append(setting.temporary(Aval((setting.threads * kernel.workspace,), dtype)))
    if kernel.needs_blas:
        places.append(blas_address(dtype.numpy))
    rows = None
    if kind != "weight_grad":  # which sums over the images
        pad = (0,) * (len(places) - 4)
        advance = (_row_bytes(image), 0, _row_bytes(out), 0, *pad)
        rows = Rows(0, advance, (0, 0, 0, kernel.workspace * dtype.itemsize, *pad))
    return [KernelStep(kernel, tuple(places), (image.sizes[0],), (output,), rows)]


def _row_bytes(value: Value, axes: int = 1) -> int:
    """Return the bytes from one to the next along the first axes."""
    return math.prod(value.sizes[axes:]) * value.aval.dtype.itemsize


def _window(attrs: dict[str, Any], image: Value, kernel: Any) -> Window:
    height, width = image.sizes[2:]
    steps = (tuple(attrs[name]) for name in ("stride", "padding", "dilation"))
    return Window(height, width, tuple(kernel), *steps)


def _named(prefix: str, *parts: object) -> str:
    return f"{prefix}_{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"


OPS = {
    **dict.fromkeys(KINDS, NativeOp(_convolves, _convolution, _conv_products)),
}
