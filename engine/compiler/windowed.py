"""Convolution as native steps of a plan.

A family of `native_families.py`; `kernels/conv_calls.py` says which kernels, in which order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...kernels.conv_calls import Convolution, Role, conv_calls
from ...kernels.gemm import blas_address
from ...kernels.windows import Window
from ..shape import Aval
from .access import Access
from .conv_ending import ended
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
    return _has_kernel(node) and same and len(node.inputs) == 2


def _conv_products(node: Node) -> float:
    weight = min(node.inputs, key=lambda v: math.prod(v.sizes))
    large = max(math.prod(node.outputs[0].sizes), math.prod(node.inputs[0].sizes))
    return large * math.prod(weight.sizes[1:])


def _roles(node: Node) -> tuple[Value, Value, Value]:
    """Return which values are image, weight and output."""
    first, second = (node.inputs[0], node.inputs[1])
    return {
        "forward": (first, second, node.outputs[0]),
        "input_grad": (node.outputs[0], second, first),
        "weight_grad": (second, node.outputs[0], first),
    }[KINDS[node.op.name]]


def _convolution(node: Node, setting: Setting) -> list[KernelStep]:
    after = ended(setting.nodes, setting.access) if len(setting.nodes) > 1 else None
    found = conv_calls(_described(node), setting.threads, after.ending if after else None)
    output, last = node.outputs[0], (*setting.nodes, node)[len(setting.nodes) - 1].outputs[0]
    places: dict[Role, Value | int] = {
        role: last if v is output else setting.base(v)
        for role, v in zip(("image", "weight", "out"), _roles(node), strict=True)
    }
    places["blas"] = blas_address(output.aval.dtype.numpy)
    for role, size in found.temporaries.items():
        places[role] = setting.temporary(Aval((size,), output.aval.dtype))
    others = after.bases if after else ()
    return [
        KernelStep(
            call.kernel,
            (*(places[role] for role in call.buffers), *others[: call.others]),
            call.ints,
            tuple(v for v in (places[call.writes],) if isinstance(v, Value)),
            call.rows,
        )
        for call in found.calls
    ]


def _ends(nodes: Sequence[Node], access: Callable[[Value], Access]) -> bool:
    return ended(nodes, access) is not None


def _described(node: Node) -> Convolution:
    attrs: dict[str, Any] = node.attributes
    image, weight, _ = _roles(node)
    window = _window(attrs, image, weight.sizes[2:])
    sizes = (image.sizes[0], image.sizes[1], weight.sizes[0], attrs["groups"])
    return Convolution(KINDS[node.op.name], window, *sizes, node.outputs[0].aval.dtype.numpy)


def _window(attrs: dict[str, Any], image: Value, kernel: Any) -> Window:
    height, width = image.sizes[2:]
    steps = (tuple(attrs[name]) for name in ("stride", "padding", "dilation"))
    return Window(height, width, tuple(kernel), *steps)


OPS = {
    **dict.fromkeys(KINDS, NativeOp(_convolves, _convolution, _conv_products)),
    "conv2d": NativeOp(_convolves, _convolution, _conv_products, ends=_ends),
}
