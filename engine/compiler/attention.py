"""Attention and its gradient as native steps of a plan.

A family of `native_families.py`; the kernels are those of `kernels/attention.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...kernels.attention import KEY_BLOCK, QUERY_BLOCK, Attention, AttentionKernel, Strides
from ...kernels.attention_loops import Mask
from ...kernels.naming import kernel_name
from ...kernels.runtime import Rows
from ..dtype import bool_
from ..shape import Aval
from .access import Access, natural_strides
from .graph import Node, Value
from .native_ops import KernelStep, NativeOp, Setting, is_whole
from .parameters import Parameters, alike

FORWARD, GRADIENT = "attention_block", "attention_block_grad"
FEWEST_SCORES = 1024
"""Scores of a head up to which products with fused softmax are faster: little memory is saved."""


def _operands(node: Node) -> dict[str, Value]:
    """Return a node's inputs by the names that its kernel has for them."""
    attrs: dict[str, Any] = node.attributes
    names = ["query", "key", "value"]
    names += ["mask"] if attrs["masked"] else []
    names += ["random"] if attrs["p"] else []
    if node.op.name == GRADIENT:
        names += ["out", "lse", "dout"]
    return dict(zip(names, node.inputs, strict=True))


def _attends(node: Node) -> bool:
    dtype = node.inputs[0].aval.dtype
    if dtype.numpy.kind != "f" or dtype.itemsize not in (4, 8):
        return False
    if any(0 in value.sizes for value in node.inputs):
        return False
    scores = node.inputs[0].sizes[-2] * node.inputs[1].sizes[-2]
    if isinstance(scores, int) and scores <= FEWEST_SCORES:  # with open lengths one plan for all
        return False
    mask = _operands(node).get("mask")
    return mask is None or mask.aval.dtype in (dtype, bool_)


def _reads(node: Node, value: Value, access: Access) -> bool:
    """Return whether the kernel reads an input where it lies: rows may lie anywhere."""
    for name, operand in _operands(node).items():
        if operand is value and name in ("out", "lse", "random") and not is_whole(access, value):
            return False
        gaps = access.strides[-1] != 1 and value.sizes[-1] != 1
        if operand is value and name in ("query", "key", "value", "dout") and gaps:
            return False
    return True


def _products(node: Node) -> float:
    found = _operands(node)
    query, key, value = (found[name].sizes for name in ("query", "key", "value"))
    scores = math.prod(_lead(found)) * query[-2] * key[-2]
    count = 2 if node.op.name == FORWARD else 5
    return scores * (count * (query[-1] + value[-1]) / 2 + 16)


def _lead(found: dict[str, Value]) -> tuple[int, ...]:
    """Return the leading axes of all operands together."""
    leads = [found[name].sizes[:-2] for name in ("query", "key", "value")]
    rank = max(map(len, leads))
    padded = [(1,) * (rank - len(lead)) + lead for lead in leads]
    return tuple(max(sizes) for sizes in zip(*padded, strict=True))


def _strides(value: Value, access: Access, lead: tuple[int, ...]) -> list[int]:
    """Return an operand's strides along the leading axes: 0 where it is spread along one."""
    sizes, strides = value.sizes[:-2], access.strides[: len(value.sizes[:-2])]
    own = [0 if size == 1 else stride for size, stride in zip(sizes, strides, strict=True)]
    return [0] * (len(lead) - len(own)) + own


def _folded(
    lead: tuple[int, ...], strides: Sequence[list[int]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return the leading axes without those of size 1, neighbours joined where all allow it."""
    sizes: list[int] = []
    columns: list[list[int]] = []
    for axis, size in enumerate(lead):
        if size == 1:
            continue
        column = [own[axis] for own in strides]
        pairs = zip(columns[-1], column, strict=True) if columns else ()
        if columns and all(alike(outer, inner * size) for outer, inner in pairs):
            sizes[-1] *= size
            columns[-1] = column
        else:
            sizes.append(size)
            columns.append(column)
    if not sizes:
        sizes, columns = [1], [[0] * len(strides)]
    return tuple(sizes), [tuple(c[i] for c in columns) for i in range(len(strides))]


def _attention(node: Node, setting: Setting, named: Parameters) -> tuple[Attention, int]:
    """Return the sizes of a node's attention and of its first leading axis."""
    found, attrs = _operands(node), node.attributes
    spread = [name for name in ("query", "key", "value", "mask", "dout") if name in found]
    accesses = [setting.access(found[name]) for name in spread]
    lead = _lead(found)
    own = [_strides(found[n], a, lead) for n, a in zip(spread, accesses, strict=True)]
    sizes, leads = _folded(lead, own)
    strides: list[tuple[str, Strides]] = []
    mask = None
    for name, access, along in zip(spread, accesses, leads, strict=True):
        value = found[name]
        rows = value.sizes[-2] if len(value.sizes) > 1 else 1
        row = access.strides[-2] if rows > 1 else math.prod(value.sizes[-1:])
        if name == "mask":
            row = row if rows > 1 else 0
            column = access.strides[-1] if value.sizes[-1:] > (1,) else 0
            mask = Mask(value.aval.dtype.numpy, row, column)
        strides.append((name, Strides(along, row, access.offset)))
    query, key, value = (found[name].sizes for name in ("query", "key", "value"))
    scale, causal, p = (attrs[name] for name in ("scale", "causal", "p"))
    split = _split(node, sizes[0], setting.threads)
    if split:
        strides = _by_blocks(strides, sizes, (query[-2], value[-1]))
        sizes = (query[-2] // QUERY_BLOCK, *sizes)
    queries = QUERY_BLOCK if split else query[-2]
    if mask is not None:
        mask = replace(mask, row=named.of(mask.row), column=named.of(mask.column))
    attention = Attention(
        found["query"].aval.dtype.numpy, named.all(sizes[1:]), named.of(queries),
        named.of(key[-2]), query[-1], value[-1], float(scale), bool(causal), float(p),  # pyright: ignore[reportArgumentType]
        tuple((name, _named(named, own)) for name, own in strides), mask, split,
        key[-2] <= KEY_BLOCK,
    )  # fmt: skip
    return attention, sizes[0]


def _named(named: Parameters, own: Strides) -> Strides:
    """Return strides with names for the open ones."""
    return Strides(named.all(own.lead), named.of(own.row), named.of(own.offset))


def _split(node: Node, heads: int, threads: int) -> bool:
    """Return whether blocks of queries are shared out, since heads are too few for the threads."""
    queries = node.inputs[0].sizes[-2]
    if not isinstance(queries, int):
        return False
    blocks, rest = divmod(queries, QUERY_BLOCK)
    plain = node.op.name == FORWARD and not node.attributes["p"]
    return plain and not rest and heads < 2 * threads <= blocks


def _by_blocks(
    strides: Sequence[tuple[str, Strides]], sizes: tuple[int, ...], each: tuple[int, int]
) -> list[tuple[str, Strides]]:
    """Return the strides with one more axis in front, which counts blocks of queries."""
    queries, width = each
    heads = natural_strides(sizes)
    found = dict(strides)
    found["out"] = Strides(tuple(h * queries * width for h in heads), width)
    found["lse"] = Strides(tuple(h * queries for h in heads), 1)
    moved = ("query", "mask", "out", "lse")
    return [
        (name, replace(own, lead=(own.row * QUERY_BLOCK if name in moved else 0, *own.lead)))
        for name, own in found.items()
    ]


def _lower(node: Node, setting: Setting) -> list[KernelStep]:
    found = _operands(node)
    named, gradient = Parameters(), node.op.name == GRADIENT
    attention, count = _attention(node, setting, named)
    name = kernel_name("attention", attention, gradient)
    kernel = AttentionKernel(name, attention, gradient)
    dtype = found["query"].aval.dtype
    places: dict[str, Value] = {name: setting.base(value) for name, value in found.items()}
    made = ("dquery", "dkey", "dvalue") if gradient else ("out", "lse")
    places |= dict(zip(made, node.outputs, strict=True))
    room = kernel.workspace_size(named.known)
    places["workspace"] = setting.temporary(Aval((setting.threads * room,), dtype))
    if attention.p or attention.split:
        places["start"] = places["lse"]
    steps = {name: _advance(attention, named, count, name, places[name]) for name in kernel.buffers}
    apart = [room * dtype.itemsize if name == "workspace" else 0 for name in kernel.buffers]
    rows = Rows(0, tuple(steps.values()), tuple(apart))
    buffers = tuple(places[name] for name in kernel.buffers)
    ints: Any = (count, *named.sizes(attention.ints))
    return [KernelStep(kernel, buffers, ints, node.outputs, rows)]


def _advance(attention: Attention, named: Parameters, count: int, name: str, value: Value) -> int:
    """Return the bytes from one to the next along the first axis."""
    if name in ("random", "start", "workspace"):
        return 0
    strides = attention.stride(name)
    if strides is not None:
        first = strides.lead[0]
        stride: Any = named.known[first] if isinstance(first, str) else first
        return stride * value.aval.dtype.itemsize
    return math.prod(value.sizes) // count * value.aval.dtype.itemsize


OPS = dict.fromkeys((FORWARD, GRADIENT), NativeOp(_attends, _lower, _products, _reads))
