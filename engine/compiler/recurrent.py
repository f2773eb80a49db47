"""Recurrent layers as native steps of a plan: the loop over time is inside of one kernel.

A family of `native_families.py`; the kernels are those of `kernels/recurrent_native.py`.
"""

from __future__ import annotations

from ...kernels.naming import kernel_name
from ...kernels.recurrent_native import RecurrentKernel, transposing
from ...kernels.runtime import Rows
from ..shape import Aval
from .graph import Node, Value
from .native_ops import KernelStep, NativeOp, Setting


def _has_kernel(node: Node) -> bool:
    dtype = node.outputs[0].aval.dtype.numpy
    filled = all(0 not in v.sizes for v in (*node.inputs, *node.outputs))
    return dtype.kind == "f" and dtype.itemsize in (4, 8) and filled


def _kind(node: Node) -> str:
    family = node.op.name.partition("_")[0]
    return f"rnn_{node.attributes['nonlinearity']}" if family == "rnn" else family


def _products(node: Node) -> float:
    steps, batch, size = (node.inputs if _is_backward(node) else node.outputs)[0].sizes
    return steps * batch * size * _weight(node).sizes[0]


def _is_backward(node: Node) -> bool:
    return node.op.name.endswith("_back")


def _weight(node: Node) -> Value:
    return node.inputs[node.op.inputs.index("weight")]


def _forward(node: Node, setting: Setting) -> list[KernelStep]:
    attrs = node.attributes
    output, weight = node.outputs[0], _weight(node)
    dtype, (wide, size) = output.aval.dtype, weight.sizes
    named = dict(zip(node.op.inputs, node.inputs, strict=False))
    made = _made("forward", node, "lengths" in named, bool(attrs["keep"]))
    reads = {
        "gates": "gates", "start": "state", "start_cell": "cell", "bias": "bias",
        "lengths": "lengths",
    }  # fmt: skip
    places = {b: setting.base(named[name]) for b, name in reads.items() if name in named}
    writes = [n for n in made.buffers if n in ("output", "state", "cell", "slopes", "before")]
    places |= dict(zip(writes, node.outputs, strict=True))
    places["across"] = setting.temporary(Aval((size, wide), dtype))
    places["sums"] = setting.temporary(Aval((output.sizes[1], wide), dtype))
    item = dtype.numpy.itemsize
    name = kernel_name("transposed", wide, size, dtype)
    turn = transposing(name, wide // size, size, dtype.numpy)
    buffers = (setting.base(weight), places["across"])
    turned = KernelStep(turn, buffers, (size,), buffers[1:], Rows(0, (item, wide * item)))
    return [turned, _loop(made, places, node, output)]


def _backward(node: Node, setting: Setting) -> list[KernelStep]:
    named = dict(zip(node.op.inputs, node.inputs, strict=False))
    made = _made("backward", node, "lengths" in named, False)
    reads = {
        "dout": "dout", "dlast": "dstate", "dlast_cell": "dcell", "weight": "weight",
        "slopes": "slopes", "lengths": "lengths",
    }  # fmt: skip
    places = {b: setting.base(named[name]) for b, name in reads.items() if name in named}
    writes = [n for n in made.buffers if n in ("dgates", "dhidden", "dstate", "dcell")]
    places |= dict(zip(writes, node.outputs, strict=True))
    return [_loop(made, places, node, node.inputs[0])]


def _made(way: str, node: Node, ragged: bool, keep: bool) -> RecurrentKernel:
    size, dtype = _weight(node).sizes[1], node.outputs[0].aval.dtype.numpy
    parts = (_kind(node), size, dtype, ragged, keep, way == "backward")
    return RecurrentKernel(kernel_name("recurrent", parts), *parts)


def _loop(kernel: RecurrentKernel, places: dict[str, Value], node: Node, rows: Value) -> KernelStep:
    steps, batch = rows.sizes[:2]
    buffers = tuple(places[name] for name in kernel.buffers)
    sizes = (batch, batch, steps, int(bool(node.attributes["reverse"])))
    writes = (*node.outputs, *([places["sums"]] if "sums" in places else []))
    return KernelStep(kernel, buffers, sizes, writes, Rows(0, kernel.advance))


_LAYERS = ("lstm_layer", "gru_layer", "rnn_layer")

OPS = {
    **dict.fromkeys(_LAYERS, NativeOp(_has_kernel, _forward, _products)),
    **dict.fromkeys((f"{n}_back" for n in _LAYERS), NativeOp(_has_kernel, _backward, _products)),
}
