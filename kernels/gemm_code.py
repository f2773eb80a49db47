"""What generated and BLAS products share: the batch, the row panels and the epilogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .addressing import Addressing
from .control import Carried, is_constant, repeat
from .emitter import Emitter, Value, literal
from .expressions import BOOL, INT64
from .llvm import print_function
from .loops import Extent
from .target import Target

if TYPE_CHECKING:
    from .gemm import Product

COLUMNS: Final = "columns"
"""The integer parameter of an epilogue that is told how many columns it is to finish."""

PANEL_ROWS: Final = 64
"""Rows of C that are finished, epilogue and all, before the next are begun."""


def print_gemm(
    name: str,
    product: Product,
    extra: tuple[str, ...],
    printer: type[ProductPrinter],
    target: Target,
    declarations: dict[str, str],
) -> str:
    """Print a product, and the epilogue that it calls, as LLVM functions."""
    params = [f"ptr %matrix.{matrix}" for matrix in ("ab" if product.local else "abc")]
    params += [f"ptr %arg.{other}" for other in product.others]
    params += [f"ptr %matrix.{other}" for other in extra]
    params += [f"i64 %arg.{size}" for size in product.ints]
    emit = Emitter(declarations)
    printer(emit, product, target, f"{name}.epilogue").run()
    parts = [emit.define(name, params)]
    if product.epilogue is not None:
        text = print_function(product.epilogue, target, declarations)
        own = f"define void @{product.epilogue.name}("
        parts.append(text.replace(own, f"define internal void @{name}.epilogue(", 1))
    return "\n\n".join(parts)


class ProductPrinter(Addressing):
    """What both kinds share: the batch, the row panels and the epilogue."""

    def __init__(self, emit: Emitter, product: Product, target: Target, epilogue: str) -> None:
        super().__init__(emit, product.dtype)
        self.product, self.target, self.epilogue = product, target, epilogue
        self.lanes = target.lanes(self.dtype)
        self.m, self.n, self.k = (self.size(s) for s in (product.m, product.n, product.k))
        self.kept = literal(True, BOOL) if product.accumulate else None
        own = self.m if product.transpose_a else self.k
        self.lda = self.size(product.lda) if product.lda else own
        self.ldc = self.size(product.width) if product.width else self.n
        self.ldb = self.k if product.transpose_b else self.ldc
        self.local = ""

    def size(self, extent: Extent) -> Value:
        """Return a size: a constant, or an argument of the kernel."""
        if isinstance(extent, int):
            return literal(extent, INT64)
        return Value(f"%arg.{extent}", INT64)

    def quotient(self, x: Value, divisor: int) -> Value:
        """Divide a size, folding constants."""
        if is_constant(x):
            return literal(int(x.text) // divisor, INT64)
        return self.emit.binary("udiv", x, divisor)

    def run(self) -> None:
        """Print the loop over the batch."""
        product = self.product

        def one(index: Value, state: Carried) -> Carried:
            a_size, b_size = self.times(self.m, self.k), self.times(self.k, self.n)
            a = "%matrix.a" if product.share_a else self.at("%matrix.a", self.times(index, a_size))
            b = "%matrix.b" if product.share_b else self.at("%matrix.b", self.times(index, b_size))
            self.prepare(b)
            if product.sum_batch:
                more = None if product.batch == 1 else self.emit.compare("gt", index, 0)
                self.multiply(a, b, "%matrix.c", self.m, self.kept or more)
            else:
                self.panels(a, b, index)
            return state

        repeat(self.emit, self.size(product.batch), 1, {}, one)

    def panels(self, a: str, b: str, index: Value) -> None:
        """Multiply one matrix of the batch; with an epilogue, in panels of rows."""
        height = self.panel_rows()
        if self.product.start:
            index = self.plus(index, self.size(self.product.start))
        first = self.times(index, self.m)
        c = self.local or self.at("%matrix.c", self.times(first, self.ldc))
        if not self.in_panels or (is_constant(self.m) and int(self.m.text) <= height):
            self.multiply(a, b, c, self.m, self.kept)
            self.finish(first, literal(0, INT64), self.m)
            return
        step = literal(1, INT64) if self.product.transpose_a else self.k
        if is_constant(self.m):
            count = literal(-(-int(self.m.text) // height), INT64)
        else:
            count = self.emit.binary("sdiv", self.plus(self.m, height - 1), height)

        def panel(number: Value, state: Carried) -> Carried:
            row = self.times(number, literal(height, INT64))
            rows = self.emit.sub(self.m, row)
            rows = self.emit.minimum(rows, height)
            at_c = self.local or self.at(c, self.times(row, self.ldc))
            self.multiply(self.at(a, self.times(row, step)), b, at_c, rows, self.kept)
            self.finish(self.plus(first, row), row, rows)
            return state

        repeat(self.emit, count, 1, {}, panel)

    def finish(self, first: Value, row: Value, rows: Value) -> None:
        """Call the epilogue."""
        product = self.product
        if product.epilogue is None:
            return
        args = [
            f"ptr {self.local or '%matrix.c'}",
            *(f"ptr %arg.{name}" for name in product.others),
        ]
        given = {"first": first, "row": row, "rows": rows, COLUMNS: self.n}
        args += [
            f"i64 {given[name].text if name in given else f'%arg.{name}'}"
            for name in product.epilogue.ints
        ]
        self.emit.line(f"call void @{self.epilogue}({', '.join(args)})")

    def prepare(self, b: str) -> None:
        """Do what B needs once, before its products with some rows of A."""

    @property
    def in_panels(self) -> bool:
        """Whether rows are done in panels: where an epilogue is to find them in the cache."""
        return self.product.epilogue is not None

    def panel_rows(self) -> int:
        """Rows of C between two calls of the epilogue."""
        return PANEL_ROWS

    def multiply(self, a: str, b: str, c: str, rows: Value, more: Value | None) -> None:
        """Multiply some rows of A with B; `more` says that C holds a sum to be added to."""
        raise NotImplementedError
