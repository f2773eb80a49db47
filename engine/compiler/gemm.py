"""Contractions: matmul, bmm and dense as gemm kernels with the epilogue fused after them.

What the planner calls for a group with a product; `kernels/gemm.py` has the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...kernels.gemm import (
    EPILOGUE_INTS,
    SMALL_BYTES,
    BlasGemm,
    Gemm,
    PackedGemm,
    Product,
    StreamGemm,
    blas_address,
)
from ...kernels.gemm_packed import BLOCK_BYTES
from ...kernels.naming import kernel_name
from ...kernels.runtime import Rows
from ..shape import Aval
from .access import Access, access_of, natural_strides
from .debug import show
from .graph import Node, Value
from .loop_kernel import COLUMNS_APART, LoopKernel
from .lower import lower_epilogue
from .native_ops import KernelStep, Setting
from .parameters import alike
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


class Taken(NamedTuple):
    """A buffer that a gemm kernel takes beside A and B, and how it moves in bytes."""

    buffer: Value | int
    advance: int
    """From one row, or column, to the next."""
    apart: int = 0
    """From one thread's share to the next."""


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
        if all(alike(found, wanted) or size == 1 for found, wanted, size in pairs):
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
        access = access_of(value, accesses)
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
) -> KernelStep | None:
    """Lower a contraction; None where it has to stay with NumPy.

    ``epilogue`` is what follows the product.
    """
    shape, operands = gemm_shape(node), _operands(node, accesses)
    if shape is None or operands is None:
        return None
    bases, flags = operands
    output = node.outputs[0]
    form = choose_form(shape, flags[1], output.aval.dtype.itemsize, epilogue)
    lowered = None if epilogue is None else epilogue.lower(form)
    product = _product(shape, flags, output, form, lowered)
    kernel = form.kind(kernel_name("gemm", form.kind.__name__, product.text), product)
    taken = _results(shape, output, form, lowered)
    if isinstance(kernel, PackedGemm | StreamGemm):
        taken.append(_workspace(kernel, shape, output, setting))
    if isinstance(kernel, BlasGemm):
        taken.append(Taken(blas_address(product.dtype), 0))
    rows = None
    if lowered is None or lowered.advance is not None:
        rows = _rows(shape, product, kernel.ints, taken)
    sizes = {"m": shape.m, "n": shape.n, "k": shape.k, "batch": shape.batch, "lda": shape.m}
    if lowered is not None:  # sizes that its epilogue does not know
        sizes |= zip(lowered.function.ints[len(EPILOGUE_INTS) :], lowered.ints, strict=False)
    buffers = (*bases, *(each.buffer for each in taken))
    stored = (output,) if epilogue is None else tuple(epilogue.stored)
    return KernelStep(kernel, buffers, tuple(sizes[i] for i in kernel.ints), stored, rows)


def _product(
    shape: Contraction, flags: Sequence[bool], output: Value, form: Form, lowered: LoopKernel | None
) -> Product:
    """Return the sizes of a product, those that calls give as names, and how it lies."""
    transpose_a, transpose_b = flags
    batched = shape.batch > 1
    runtime_k = transpose_a and not batched
    return Product(
        output.aval.dtype.numpy,
        shape.m if batched and isinstance(shape.m, int) else "m",
        "n" if form.columns or not isinstance(shape.n, int) else shape.n,
        "k" if runtime_k or not isinstance(shape.k, int) else shape.k,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        batch="batch" if batched else 1,
        share_a=shape.share_a,
        share_b=shape.share_b,
        lda="lda" if runtime_k else "",
        width=shape.n if form.columns else 0,
        local=form.local,
        whole=form.whole,
        epilogue=None if lowered is None else lowered.function,
    )


def _results(
    shape: Contraction, output: Value, form: Form, lowered: LoopKernel | None
) -> list[Taken]:
    """Return C, if it is kept, and what the epilogue reads and writes."""
    taken: list[Taken] = []
    if not form.local:
        itemsize = output.aval.dtype.itemsize
        target = output if lowered is None else lowered.buffers[0]
        taken.append(Taken(target, itemsize if form.columns else shape.n * itemsize))
    if lowered is not None:
        advance = lowered.advance or (0,) * len(lowered.buffers)
        taken += map(Taken, lowered.buffers[1:], advance[1:])
    return taken


def _workspace(
    kernel: PackedGemm | StreamGemm, shape: Contraction, output: Value, setting: Setting
) -> Taken:
    """Return the memory in which each thread packs parts of the operands.

    It is as large as for the largest size alike: how far parts are apart is in the plan's code.
    """
    dtype, deepest = output.aval.dtype, shape.k
    if kernel.product.whole and isinstance(kernel.product.k, str):
        deepest = WHOLE_BYTES // (shape.n * dtype.itemsize)
    across = shape.n if isinstance(kernel, PackedGemm) else FEW_ROWS
    size = kernel.workspace(across, deepest)
    held = setting.temporary(Aval((setting.threads * size,), dtype))
    return Taken(held, 0, size * dtype.itemsize)


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
    if not isinstance(shape.n, int):
        return Form(BlasGemm)
    few = isinstance(shape.k, int) and shape.m <= FEW_ROWS
    columns = few and (epilogue is None or epilogue.pointwise)
    if few and transposed_b:
        return Form(StreamGemm, columns=columns)
    fits = shape.n * itemsize * FEWEST_LOCAL <= BLOCK_BYTES
    local = epilogue is not None and not epilogue.over and not columns and fits
    whole = not columns and shape.n * shape.k * itemsize <= WHOLE_BYTES
    return Form(PackedGemm, columns=columns, local=local, whole=whole)


def _rows(
    shape: Contraction, product: Product, ints: tuple[str, ...], taken: Sequence[Taken]
) -> Rows:
    """Return how a product is cut: by rows or columns of C, or by matrices of a batch."""
    width = product.dtype.itemsize
    advance = [each.advance for each in taken]
    apart = (0, 0, *(each.apart for each in taken))
    if shape.batch > 1:
        first = 0 if shape.share_a else shape.m * shape.k * width
        second = 0 if shape.share_b else shape.k * shape.n * width
        each = [first, second, *(step * shape.m for step in advance)]
        return Rows(ints.index("batch"), tuple(each), apart)
    if product.width:
        column = shape.k * width if product.transpose_b else width
        return Rows(ints.index("n"), (0, column, *advance), apart, grain=COLUMNS_APART)
    row = width if product.transpose_a else shape.k * width
    return Rows(ints.index("m"), (row, 0, *advance), apart)
