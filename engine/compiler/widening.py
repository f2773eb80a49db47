"""Half precision: ops that add up many numbers become float32 ops between casts.

Single steps on float16 and bfloat16 are computed in float32 by the kernels themselves and rounded
to what is stored. Sums, products, layers and whole composites would lose digits if every step were
rounded; eager mode computes them in float32 and rounds once, and so do plans.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..dtype import bfloat16, float16, float32
from ..ops.cast import cast_to
from ..ops.registry import OPS, Composite, Gemm, Reduce
from ..tensor import Tensor
from .graph import Node
from .native_families import NATIVE_OPS
from .trace import Trace

HALVES = (float16, bfloat16)


def widens(node: Node) -> bool:
    """Return whether a node computes in float32 what it reads in half precision."""
    if node.op.name not in OPS or not any(v.aval.dtype in HALVES for v in node.inputs):
        return False
    lowering, name = node.op.lowering, node.op.name
    if isinstance(lowering, Composite) and name not in NATIVE_OPS:
        return not _rounds_every_step(node, lowering)
    return isinstance(lowering, Gemm | Reduce) or name in NATIVE_OPS


def _rounds_every_step(node: Node, composite: Composite) -> bool:
    """Return whether eager mode runs a composite op by op, each rounded to float16."""
    narrow = any(v.aval.dtype is bfloat16 for v in node.inputs)
    return not narrow and getattr(node.op.kernel, "__wrapped__", None) is composite.fn


def widened(builder: Trace, node: Node, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Record a node on float32 tensors; return its results in the dtypes that it has."""
    wide = tuple(cast_to(t, float32) if t.dtype in HALVES else t for t in tensors)
    found = builder.emit(node.op, wide, node.attributes)
    results = found if isinstance(found, tuple) else (found,)
    dtypes = [value.aval.dtype for value in node.outputs]
    return tuple(cast_to(t, dtype) for t, dtype in zip(results, dtypes, strict=True))
