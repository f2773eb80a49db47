"""Contractions: matmul, bmm and dense as gemm kernels with the epilogue fused after them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from ...kernels.gemm import BlasGemm, Gemm, Product, blas_address, choose_gemm
from ...kernels.runtime import Rows
from .access import Access, natural_strides
from .graph import Node, Value
from .loop_kernel import LoopKernel


@dataclass(frozen=True, slots=True)
class Operand:
    """A matrix, or a batch of them, as it lies in memory."""

    transposed: bool
    batch: tuple[int, ...]
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class GemmKernel:
    """A gemm kernel, its buffers in order (an address stands for BLAS), its runtime sizes."""

    kernel: Gemm | BlasGemm
    buffers: tuple[Value | int, ...]
    ints: tuple[int, ...]
    rows: Rows | None = None


@dataclass(frozen=True, slots=True)
class Contraction:
    """Sizes of one matmul-like node: C (m by n) from A (m by k) and B (k by n), ``batch`` times."""

    m: int
    n: int
    k: int
    batch: int
    share_a: bool
    share_b: bool


def operand(value: Value, access: Access) -> Operand | None:
    """Return how a gemm reads a value in place, or None if it must be copied first."""
    shape = value.sizes
    if len(shape) < 2 or access.offset:
        return None
    *batch, rows, columns = shape
    for transposed, stored in ((False, shape), (True, (*batch, columns, rows))):
        strides = list(natural_strides(stored))
        if transposed:
            strides[-2:] = strides[:-3:-1]
        pairs = zip(access.strides, strides, shape, strict=True)
        if all(found == wanted or size == 1 for found, wanted, size in pairs):
            return Operand(transposed, tuple(batch), rows, columns)
    return None


def gemm_shape(node: Node) -> Contraction | None:
    """Return the sizes of a contraction, or None where it is not one native gemm."""
    dtype = node.outputs[0].aval.dtype.numpy
    shapes = [v.sizes for v in node.inputs]
    if dtype.kind != "f" or dtype.itemsize not in (4, 8) or len(shapes) != 2:
        return None
    a, b = shapes
    if node.op.name == "dense":
        return Contraction(math.prod(a[:-1]), b[0], b[1], 1, False, False) if len(a) > 1 else None
    if len(a) < 2 or len(b) < 2:
        return None
    m, k, n = a[-2], a[-1], b[-1]
    if len(b) == 2:
        return Contraction(math.prod(a[:-1]), n, k, 1, False, False)
    if a[:-2] == b[:-2]:
        return Contraction(m, n, k, math.prod(a[:-2]), False, False)
    if len(a) == 2:
        return Contraction(m, n, k, math.prod(b[:-2]), True, False)
    return None


def _operands(node: Node, accesses: dict[Value, Access]) -> tuple[list[Value], list[bool]] | None:
    """Return where the operands lie and which are transposed; None if one lies otherwise."""
    bases: list[Value] = []
    flags: list[bool] = []
    for value in node.inputs:
        access = accesses.get(value, Access(value, natural_strides(value.sizes)))
        found = operand(value, access)
        folded = found is not None and found.transposed and len(found.batch) > 0
        if found is None or (folded and len(node.inputs[1].aval.shape) == 2):
            return None
        bases.append(access.base)
        flags.append(found.transposed)
    if node.op.name == "dense":
        flags[1] = not flags[1]
    return bases, flags


def lower_gemm(
    node: Node, accesses: dict[Value, Access], epilogue: LoopKernel | None
) -> GemmKernel | None:
    """Lower a contraction; None where it has to stay with NumPy."""
    shape = gemm_shape(node)
    if shape is None:
        return None
    operands = _operands(node, accesses)
    if operands is None:
        return None
    bases, flags = operands
    runtime_k = flags[0] and shape.batch == 1
    product = Product(
        node.outputs[0].aval.dtype.numpy,
        shape.m if shape.batch > 1 else "m",
        shape.n,
        "k" if runtime_k else shape.k,
        transpose_a=flags[0],
        transpose_b=flags[1],
        batch="batch" if shape.batch > 1 else 1,
        share_a=shape.share_a,
        share_b=shape.share_b,
        lda="lda" if runtime_k else "",
        epilogue=None if epilogue is None else epilogue.function,
    )
    sizes = {"m": shape.m, "k": shape.k, "batch": shape.batch, "lda": shape.m}
    kernel = choose_gemm(f"gemm_{hashlib.sha256(product.text.encode()).hexdigest()[:16]}", product)
    others: tuple[Value | int, ...] = ()
    target: Value = node.outputs[0]
    if epilogue is not None:
        target, *rest = epilogue.buffers
        others = tuple(rest)
    if isinstance(kernel, BlasGemm):
        others = (*others, blas_address(product.dtype))
    ints = tuple(sizes[name] for name in kernel.ints)
    rows = _rows(shape, product, kernel.ints, epilogue, len(others))
    return GemmKernel(kernel, (*bases, target, *others), ints, rows)


def _rows(
    shape: Contraction,
    product: Product,
    ints: tuple[str, ...],
    epilogue: LoopKernel | None,
    others: int,
) -> Rows | None:
    """Return how a product is cut: by rows of C, or by matrices of a batch."""
    width = product.dtype.itemsize
    if shape.batch > 1:
        first = 0 if shape.share_a else shape.m * shape.k * width
        second = 0 if shape.share_b else shape.k * shape.n * width
        advance, each = [first, second, shape.m * shape.n * width], shape.m
    else:
        row = width if product.transpose_a else shape.k * width
        advance, each = [row, 0, shape.n * width], 1
    if epilogue is not None:
        if epilogue.advance is None:
            return None
        advance += [step * each for step in epilogue.advance[1:]]
    advance += [0] * (3 + others - len(advance))
    return Rows(ints.index("batch" if shape.batch > 1 else "m"), tuple(advance))
