"""Matrix products by BLAS, through a pointer that is an argument of the kernel."""

from __future__ import annotations

from typing import Final

import numpy as np

from .emitter import Value, literal, type_text
from .expressions import INT32
from .gemm_code import PANEL_ROWS, ProductPrinter

_BYTE: Final = np.dtype(np.uint8)


class BlasPrinter(ProductPrinter):
    """One BLAS call a panel. BLAS counts by columns, so it is asked for C' = B' A'."""

    def panel_rows(self) -> int:
        """Rows of C between two calls of the epilogue: a call of BLAS costs more to begin."""
        return 4 * PANEL_ROWS

    def multiply(self, a: str, b: str, c: str, rows: Value, more: Value | None) -> None:
        """Call BLAS; `more` says that C holds a sum to be added to."""
        emit, product = self.emit, self.product
        ldb = self.k if product.transpose_b else self.n
        numbers = [self.n, rows, self.k, ldb, self.lda, self.n]
        m, n, k, ld_b, ld_a, ld_c = (
            self.slot(f"size{i}", emit.cast(v, INT32)) for i, v in enumerate(numbers)
        )
        one, zero = literal(1.0, self.dtype), literal(0.0, self.dtype)
        beta = self.slot("beta", zero if more is None else emit.select(more, one, zero))
        alpha = self.slot("alpha", one)
        flag_a, flag_b = (
            self.slot(f"flag{name}", literal(ord("T" if flag else "N"), _BYTE))
            for name, flag in (("a", product.transpose_a), ("b", product.transpose_b))
        )
        args = [flag_b, flag_a, m, n, k, alpha, b, ld_b, a, ld_a, beta, c, ld_c]
        emit.line(f"call void %matrix.blas({', '.join(f'ptr {x}' for x in args)})")

    def slot(self, name: str, value: Value) -> str:
        """Put a number where BLAS can read it."""
        line = f"  %{name} = alloca {type_text(value.dtype, 0)}, align 8"
        if line not in self.emit.entry:
            self.emit.entry.append(line)
        self.emit.store(value, Value(f"%{name}", value.dtype))
        return f"%{name}"
