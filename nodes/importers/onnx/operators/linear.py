"""Products of matrices."""

from __future__ import annotations

from typing import Any

from .....engine import ops
from .....engine.tensor import Tensor
from ..call import Call
from ..registry import operator


@operator("MatMul")
def matmul(_: Call, a: Tensor, b: Tensor) -> Tensor:
    """Multiply matrices or batches of them."""
    return ops.matmul(a, b)


@operator("Gemm")
def gemm(call: Call, a: Tensor, b: Tensor, c: Any = None) -> Tensor:
    """Return ``alpha * a @ b + beta * c``, the matrices transposed where told."""
    a = a.T if call.attr("transA", 0) else a
    b = b.T if call.attr("transB", 0) else b
    alpha, beta = call.attr("alpha", 1.0), call.attr("beta", 1.0)
    product = ops.matmul(a, b)
    product = product if alpha == 1.0 else product * alpha
    if c is None:
        return product
    return product + (c if beta == 1.0 else c * beta)


@operator("Einsum")
def einsum(call: Call, *inputs: Tensor) -> Tensor:
    """Contract by an equation."""
    contract: Any = ops.einsum  # which takes the equation first
    return contract(call.attr("equation"), *inputs)


@operator("Det")
def det(_: Call, x: Tensor) -> Tensor:
    """Return determinants."""
    return ops.det(x)


@operator("MatMulInteger")
def matmul_integer(_: Call, a: Tensor, b: Tensor, za: Any = None, zb: Any = None) -> Tensor:
    """Multiply 8-bit matrices in 32 bits, after taking off their shifts."""
    left, right = _shifted(a, za, rows=True), _shifted(b, zb, rows=False)
    return ops.cast(ops.matmul(left, right), "int32")


def _shifted(x: Tensor, zero: Any, rows: bool) -> Tensor:
    whole = ops.cast(x, "int32")
    if zero is None:
        return whole
    shift = ops.cast(zero, "int32")
    return whole - (ops.expand_dims(shift, -1) if rows and shift.ndim == 1 else shift)


@operator("QLinearMatMul")
def qlinear_matmul(
    _: Call, a: Tensor, sa: Tensor, za: Tensor, b: Tensor, sb: Tensor, zb: Tensor, sy: Tensor,
    zy: Tensor,
) -> Tensor:  # fmt: skip
    """Multiply quantized matrices and quantize the product."""
    product = ops.cast(ops.matmul(_shifted(a, za, True), _shifted(b, zb, False)), "float32")
    scale = ops.cast(sa, "float32") * ops.cast(sb, "float32") / ops.cast(sy, "float32")
    return requantized(product * scale, zy)


def requantized(numbers: Tensor, zero: Tensor) -> Tensor:
    """Round, shift and saturate to the shift's type."""
    import numpy as np

    info = np.iinfo(zero.dtype.numpy)
    shifted = ops.round(numbers) + ops.cast(zero, "float32")
    return ops.cast(ops.clamp(shifted, float(info.min), float(info.max)), zero.dtype)
