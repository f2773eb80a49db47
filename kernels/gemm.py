"""Matrix products C = A @ B in row-major order, with an epilogue on rows still in cache.

`Gemm` is a kernel of generated code for small and medium sizes: tiles of C stay in vector registers
while a row of B's panel and single elements of A stream by. `BlasGemm` has the same interface and
calls BLAS through a pointer it is given. Both call the epilogue, a loop function, panel by panel.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Final

from .expressions import FLOAT32, DType
from .gemm_code import COLUMNS
from .gemm_packed import PackedPrinter, Sizes
from .gemm_stream import Dim, StreamPrinter, stream_workspace
from .loops import Extent, Function, LoopError
from .target import Target, host

EPILOGUE_INTS: Final = ("first", "row", "rows")
"""The integer parameters every epilogue begins with."""

SMALL_BYTES: Final = 256 * 1024
"""Up to this size of B, generated code beats BLAS, which packs B first."""


@dataclass(frozen=True)
class Product:
    """What a gemm computes: C (m by n) = A (m by k) @ B (k by n), `batch` times.

    Sizes are numbers or names of integer parameters. A transposed operand is stored the other way
    round. In a batch, C's matrices follow each other; A's and B's do too, or one is shared by all.
    With `sum_batch` C is a single matrix, the sum of the batch's products; with `accumulate` the
    products are added to what C holds. `start` names an integer parameter: how many of C's matrices
    to leave out at its beginning. `lda` names one too: how long the rows of a transposed A are,
    where C has only some of its rows, and m is not the number of all. `width` is how long the
    rows of C, and of B if it is not transposed, are in memory where n is only some of their
    columns. With `local` C is not kept: the epilogue finds it as a block of the rows it is called
    for. With `whole` all of B is packed before the first row is multiplied.

    The epilogue is a loop function with buffers (C, others...) and ints ("first", "row", "rows",
    others...). It finishes `rows` rows of C in place: the first of them is row `row` of its matrix
    and row `first` counted over the whole batch, so that C's element is (first + i) * n + j; in a
    local block it is i * n + j. An int "columns" is told how many columns there are.
    """

    dtype: DType
    m: Extent
    n: Extent
    k: Extent
    transpose_a: bool = False
    transpose_b: bool = False
    batch: Extent = 1
    share_a: bool = False
    share_b: bool = False
    sum_batch: bool = False
    accumulate: bool = False
    start: str = ""
    lda: str = ""
    width: int = 0
    local: bool = False
    whole: bool = False
    epilogue: Function | None = None

    def __post_init__(self) -> None:
        if self.dtype.kind != "f" or self.dtype.itemsize not in (4, 8):
            raise LoopError(f"a gemm computes in float32 or float64, got {self.dtype}")
        if self.epilogue is not None:
            if self.epilogue.ints[:3] != EPILOGUE_INTS or not self.epilogue.buffers:
                raise LoopError(
                    f"epilogue {self.epilogue.name} must take C as its first buffer and begin its "
                    f"ints with {EPILOGUE_INTS}, got {self.epilogue.ints}"
                )
            if self.sum_batch:
                raise LoopError("a product summed over its batch takes no epilogue")
        if self.local and not (self.epilogue is not None and isinstance(self.n, int)):
            raise LoopError("only a product with an epilogue and a constant n can be local")

    @property
    def ints(self) -> tuple[str, ...]:
        """Integer parameters of the kernel: the symbolic sizes, then the epilogue's own."""
        extents = (self.m, self.n, self.k, self.batch, self.start, self.lda)
        sizes = [s for s in extents if isinstance(s, str)]
        own = self.epilogue.ints[3:] if self.epilogue else ()
        own = tuple(name for name in own if name != COLUMNS)
        return tuple(dict.fromkeys(name for name in (*sizes, *own) if name))

    @property
    def others(self) -> tuple[str, ...]:
        """Names of the epilogue's buffers after C."""
        return tuple(b.name for b in self.epilogue.buffers[1:]) if self.epilogue else ()

    @property
    def text(self) -> str:
        """A canonical description."""
        a = "ka" if self.transpose_a else "ak"
        b = "bk" if self.transpose_b else "kb"
        flags = f"{self.share_a:d}{self.share_b:d}{self.sum_batch:d}{self.accumulate:d}"
        flags += f" width {self.width} {self.local:d}{self.whole:d}"
        sizes = f"{self.m}x{self.n}x{self.k} lda {self.lda} batch {self.batch}+{self.start} {flags}"
        head = f"{self.dtype} {a}@{b} {sizes} ints {self.ints}\n"
        return head + (self.epilogue.text if self.epilogue else "")

    @property
    def account(self) -> str:
        """What it computes, for people."""
        a = f"a[{self.k}×{self.m}]ᵀ" if self.transpose_a else f"a[{self.m}×{self.k}]"
        b = f"b[{self.n}×{self.k}]ᵀ" if self.transpose_b else f"b[{self.k}×{self.n}]"
        sums = "+=" if self.accumulate or self.sum_batch else "="
        batch = "" if self.batch == 1 else f", {self.batch} times"
        head = f"{self.dtype} c[{self.m}×{self.n}] {sums} {a} · {b}{batch}\n"
        return head + (self.epilogue.text if self.epilogue else "")


@dataclass(frozen=True)
class _ProductKernel:
    """A kernel that computes one product."""

    name: str
    product: Product

    word = ""
    """What kind of kernel it is."""

    @property
    def text(self) -> str:
        """A canonical description."""
        return f"{self.word} {self.name} {self.product.text}"

    @property
    def account(self) -> str:
        """What it does, for people."""
        return f"{self.name}: {self.word}, {self.product.account}"

    @property
    def ints(self) -> tuple[str, ...]:
        """Names of the integer parameters."""
        return self.product.ints


class Gemm(_ProductKernel):
    """Generated code: `void name(a, b, c, epilogue's others..., ints...)`."""

    word = "gemm"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        from .gemm_code import print_gemm
        from .gemm_tile import TilePrinter

        return print_gemm(self.name, self.product, (), TilePrinter, target, declarations)


class BlasGemm(_ProductKernel):
    """A call of BLAS: `void name(a, b, c, epilogue's others..., blas, ints...)`.

    `blas` is the address that `blas_address` returns.
    """

    word = "blas"

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        from .gemm_blas import BlasPrinter
        from .gemm_code import print_gemm

        return print_gemm(self.name, self.product, ("blas",), BlasPrinter, target, declarations)


class PackedGemm(_ProductKernel):
    """Generated code over packed operands: `void name(a, b, c, others..., workspace, ints...)`.

    There is no `c` where the product is local. Each thread has a workspace of its own.
    """

    word = "packed gemm"

    def workspace(self, n: int, k: Dim) -> Dim:
        """Return the elements of a thread's workspace for sizes n and k, on this machine."""
        return Sizes.of(self.product.dtype, host()).workspace(self.product, n, k)

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        from .gemm_code import print_gemm

        return print_gemm(
            self.name, self.product, ("workspace",), PackedPrinter, target, declarations
        )


@dataclass(frozen=True)
class StreamGemm(_ProductKernel):
    """Few rows with a transposed B: `void name(a, b, c, others..., workspace, ints...)`."""

    def __post_init__(self) -> None:
        product = self.product
        if not product.transpose_b or product.local or product.accumulate or product.sum_batch:
            raise LoopError("this kernel takes a transposed B, and C is what it alone computes")

    word = "stream gemm"

    def workspace(self, m: int, k: Dim) -> Dim:
        """Return the elements of a thread's workspace for sizes m and k, on this machine."""
        return stream_workspace(host().lanes(self.product.dtype), m, k)

    def llvm(self, target: Target, declarations: dict[str, str]) -> str:
        """Return the LLVM definition."""
        from .gemm_code import print_gemm

        return print_gemm(
            self.name, self.product, ("workspace",), StreamPrinter, target, declarations
        )


def choose_gemm(name: str, product: Product) -> Gemm | BlasGemm:
    """Choose generated code where B is small, else BLAS; runtime sizes count as small."""
    n, k = (size if isinstance(size, int) else 64 for size in (product.n, product.k))
    small = n * k * product.dtype.itemsize <= SMALL_BYTES
    return Gemm(name, product) if small else BlasGemm(name, product)


@cache
def blas_address(dtype: DType) -> int:
    """Return the address of SciPy's sgemm or dgemm, which takes 32-bit integers by reference."""
    capsule = import_module("scipy.linalg.cython_blas").__pyx_capi__[
        "sgemm" if dtype == FLOAT32 else "dgemm"
    ]
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, name(capsule))
