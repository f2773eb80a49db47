"""Arithmetic of sizes and addresses as LLVM text, folded where it is constant."""

from __future__ import annotations

from .control import is_constant
from .emitter import Emitter, Value, literal
from .expressions import INT64, DType


class Addressing:
    """Prints where elements of a dtype lie; sizes and offsets count elements."""

    def __init__(self, emit: Emitter, dtype: DType) -> None:
        self.emit, self.dtype = emit, dtype

    def times(self, x: Value, y: Value | int) -> Value:
        """Multiply integers."""
        y = literal(y, INT64) if isinstance(y, int) else y
        if is_constant(x) and is_constant(y):
            return literal(int(x.text) * int(y.text), INT64)
        return x if y.text == "1" else y if x.text == "1" else self.emit.mul(x, y)

    def plus(self, x: Value, y: Value | int) -> Value:
        """Add integers."""
        y = literal(y, INT64) if isinstance(y, int) else y
        if is_constant(x) and is_constant(y):
            return literal(int(x.text) + int(y.text), INT64)
        return x if y.text == "0" else y if x.text == "0" else self.emit.add(x, y)

    def at(self, pointer: str, offset: Value | int, dtype: DType | None = None) -> str:
        """Return the address `offset` elements further, of another dtype if one is given."""
        offset = literal(offset, INT64) if isinstance(offset, int) else offset
        if offset.text == "0":
            return pointer
        return self.emit.address(pointer, dtype or self.dtype, offset).text
