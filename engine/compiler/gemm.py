"""Contractions: matmul, bmm and dense as gemm kernels with the epilogue fused after them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from ...kernels.gemm import (
    SMALL_BYTES,
    BlasGemm,
    Gemm,
    PackedGemm,
    Product,
    StreamGemm,
    blas_address,
)
from ...kernels.gemm_packed import BLOCK_BYTES
from ...kernels.runtime import Rows
from ..shape import Aval
from .access import Access, natural_strides
from .debug import show
from .graph import Node, Value
from .loop_kernel import COLUMNS_APART, LoopKernel
from .lower import lower_epilogue
from .native_ops import Setting
from .space import Space, column_advance

FEW_ROWS = 64
"""Up to so many rows B is what takes time to read: threads then share out its columns."""
FEWEST_LOCAL = 12
"""Rows of a block of C that must fit in the cache if it is not to be kept."""
WHOLE_BYTES = 256 * 1024
"""Up to this size all of B is packed at once, and stays in the cache for all rows."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A matrix, or a batch of them, as it lies in memory."""

    transposed: bool
    batch: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GemmKernel:
    """A gemm kernel, its buffers in order (an address stands for BLAS), its runtime sizes."""

    kernel: Gemm | BlasGemm | PackedGemm | StreamGemm
    buffers: tuple[Value | int, ...]
    ints: tuple[int, ...]
    rows: Rows | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """Which kernel computes a product: cut by columns, without keeping C, with B packed whole."""

    kind: type[Gemm | BlasGemm | PackedGemm | StreamGemm]
    columns: bool = False
    local: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What follows a product in its kernel, and what it stores; with ``over`` its only result may
    go over the product.
    """

    space: Space
    stored: list[Value]
    product: Value
    over: bool

    @property
    def pointwise(self) -> bool:
        """Whether it can be done for some columns alone."""
        return not self.space.inner and (
            column_advance(self.space, (*self.stored, self.product)) is not None
        )

    def lower(self, form: Form) -> LoopKernel:
        """Return it as the chosen kernel calls it."""
        place = "local" if form.local else "over" if self.over else "apart"
        lowered = lower_epilogue(self.space, self.stored, self.product, place, columns=form.columns)
        show("loops", lowered.function)
        return lowered


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
            return Operand(transposed, tuple(batch))
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
    node: Node, accesses: dict[Value, Access], epilogue: Epilogue | None, setting: Setting
) -> GemmKernel | None:
    """Lower a contraction; None where it has to stay with NumPy.

    ``epilogue`` is what follows the product.
    """
    shape = gemm_shape(node)
    if shape is None:
        return None
    operands = _operands(node, accesses)
    if operands is None:
        return None
    bases, flags = operands
    dtype = node.outputs[0].aval.dtype
    form = choose_form(shape, flags[1], dtype.itemsize, epilogue)
    lowered = None if epilogue is None else epilogue.lower(form)
    runtime_k = flags[0] and shape.batch == 1
    product = Product(
        dtype.numpy,
        shape.m if shape.batch > 1 else "m",
        "n" if form.columns else shape.n,
        "k" if runtime_k else shape.k,
        transpose_a=flags[0],
        transpose_b=flags[1],
        batch="batch" if shape.batch > 1 else 1,
        share_a=shape.share_a,
        share_b=shape.share_b,
        lda="lda" if runtime_k else "",
        width=shape.n if form.columns else 0,
        local=form.local,
        whole=form.whole,
        epilogue=None if lowered is None else lowered.function,
    )
    sizes = {"m": shape.m, "n": shape.n, "k": shape.k, "batch": shape.batch, "lda": shape.m}
    name = f"gemm_{hashlib.sha256(product.text.encode()).hexdigest()[:16]}"
    kernel = form.kind(name, product)
    # What the kernel takes beside A and B: its buffers, and how each moves by rows or columns.
    taken: list[tuple[Value | int, int, int]] = []
    if not form.local:
        target = node.outputs[0] if lowered is None else lowered.buffers[0]
        taken.append((target, dtype.itemsize if form.columns else shape.n * dtype.itemsize, 0))
    if lowered is not None:
        advance = lowered.advance or (0,) * len(lowered.buffers)
        taken += [(v, by, 0) for v, by in zip(lowered.buffers[1:], advance[1:], strict=True)]
    if isinstance(kernel, PackedGemm | StreamGemm):
        # As large as for the largest size alike: how far parts are apart is in the plan's code.
        deepest = shape.k
        if form.whole and runtime_k:
            deepest = WHOLE_BYTES // (shape.n * dtype.itemsize)
        across = shape.n if isinstance(kernel, PackedGemm) else FEW_ROWS
        size = kernel.workspace(across, deepest)
        held = setting.temporary(Aval((setting.threads * size,), dtype))
        taken.append((held, 0, size * dtype.itemsize))
    if isinstance(kernel, BlasGemm):
        taken.append((blas_address(product.dtype), 0, 0))
    rows = None
    if lowered is None or lowered.advance is not None:
        rows = _rows(shape, product, kernel.ints, [t[1] for t in taken], [t[2] for t in taken])
    buffers = (*bases, *(t[0] for t in taken))
    return GemmKernel(kernel, buffers, tuple(sizes[i] for i in kernel.ints), rows)


def choose_form(
    shape: Contraction, transposed_b: bool, itemsize: int, epilogue: Epilogue | None
) -> Form:
    """Choose the kernel for a product, and what it is cut by."""
    small = shape.n * shape.k * itemsize <= SMALL_BYTES
    if shape.batch > 1:
        return Form(Gemm if small else BlasGemm)
    kept = epilogue is None or epilogue.over or shape.m * shape.n * itemsize <= SMALL_BYTES
    if small and kept:
        return Form(Gemm)
    few = shape.m <= FEW_ROWS
    columns = few and (epilogue is None or epilogue.pointwise)
    if few and transposed_b:
        return Form(StreamGemm, columns=columns)
    fits = shape.n * itemsize * FEWEST_LOCAL <= BLOCK_BYTES
    local = epilogue is not None and not epilogue.over and not columns and fits
    whole = not columns and shape.n * shape.k * itemsize <= WHOLE_BYTES
    return Form(PackedGemm, columns=columns, local=local, whole=whole)


def _rows(
    shape: Contraction,
    product: Product,
    ints: tuple[str, ...],
    advance: list[int],
    apart: list[int],
) -> Rows:
    """Return how a product is cut: by rows or columns of C, or by matrices of a batch."""
    width = product.dtype.itemsize
    if shape.batch > 1:
        first = 0 if shape.share_a else shape.m * shape.k * width
        second = 0 if shape.share_b else shape.k * shape.n * width
        each = [first, second, *(step * shape.m for step in advance)]
        return Rows(ints.index("batch"), tuple(each), (0, 0, *apart))
    if product.width:
        column = shape.k * width if product.transpose_b else width
        return Rows(ints.index("n"), (0, column, *advance), (0, 0, *apart), grain=COLUMNS_APART)
    row = width if product.transpose_a else shape.k * width
    return Rows(ints.index("m"), (row, 0, *advance), (0, 0, *apart))
