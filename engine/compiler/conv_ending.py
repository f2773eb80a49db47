"""What a convolution takes along: pointwise ops on its result become the ending of its kernel.

The fuser asks whether it can be, and `windowed.py` lowers the convolution with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...kernels.conv_ending import SUM, Ending, Reach, is_short
from ...kernels.loops import Expr, Var, cast
from ..ops.registry import Pointwise
from .access import Access, natural_strides
from .graph import Node, Value
from .pointwise import BUILDER, compute_dtype


@dataclass(frozen=True, slots=True)
class Ended:
    """An ending and the memory that its variables are read from, in order."""

    ending: Ending
    bases: tuple[Value, ...]


def ended(nodes: Sequence[Node], access: Callable[[Value], Access]) -> Ended | None:
    """Return the ending that the nodes after the first are; None where they are none.

    The last node's output is what is kept.
    """
    product = nodes[0].outputs[0]
    known: dict[Value, Expr] = {product: Var(SUM, product.aval.dtype.numpy)}
    reaches: list[Reach] = []
    bases: list[Value] = []
    for node in nodes[1:]:
        lowering, output = node.op.lowering, node.outputs[0]
        if not isinstance(lowering, Pointwise) or output.sizes != product.sizes:
            return None
        for value in node.inputs:
            if value in known:
                continue
            reach = _reach(value, product, access(value))
            if reach is None:
                return None
            known[value] = Var(f"x{len(bases)}", value.aval.dtype.numpy)
            reaches.append(reach)
            bases.append(access(value).base)
        expr = lowering.expr(BUILDER, *(known[v] for v in node.inputs), **node.attributes)
        known[output] = cast(expr, compute_dtype(output))
    last = nodes[-1].outputs[0]
    expr = known[last]
    if last.aval.dtype is not product.aval.dtype or not is_short(expr):
        return None
    return Ended(Ending(expr, tuple(reaches)), tuple(bases))


def _reach(value: Value, product: Value, access: Access) -> Reach | None:
    """Return how a value from outside lies beside the product."""
    sizes, rank = product.sizes, len(product.sizes)
    if value.aval.dtype is not product.aval.dtype or access.offset or len(value.sizes) > rank:
        return None
    missing = rank - len(value.sizes)
    own = ((1,) * missing + value.sizes, (0,) * missing + access.strides)
    steps = [0 if size == 1 else step for size, step in zip(*own, strict=True)]
    natural = [
        0 if size == 1 else step for size, step in zip(sizes, natural_strides(sizes), strict=True)
    ]
    by_filter = [0, 0 if sizes[1] == 1 else 1, *(0,) * (rank - 2)]
    if steps == natural:
        return "image"
    return "one" if not any(steps) else "filter" if steps == by_filter else None
