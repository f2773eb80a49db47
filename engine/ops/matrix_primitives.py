"""Primitives of matrix products, which can take either operand transposed."""

from __future__ import annotations

from ..shape import ShapeError, shape_text
from ..tensor import Tensor
from .linalg import bmm, matmul, transposed
from .primitives import OwnCall
from .registry import OPS


class _Product(OwnCall):
    """What both products share."""

    def __init__(self, transpose_a: bool = False, transpose_b: bool = False) -> None:
        for name, value in (("transpose_a", transpose_a), ("transpose_b", transpose_b)):
            if not isinstance(value, bool):
                raise TypeError(f"{type(self).__name__}: {name} must be a bool, it is {value!r}.")
        self.attrs = {"transpose_a": transpose_a, "transpose_b": transpose_b}

    def _operands(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        a = self.attrs
        return (
            transposed(first) if a["transpose_a"] else first,
            transposed(second) if a["transpose_b"] else second,
        )


class MatMul(_Product):
    """Multiplies two matrices: ``MatMul(transpose_a, transpose_b)(a, b)``.

    Parameters
    ----------
    transpose_a : bool
        Whether the first matrix is taken transposed.
    transpose_b : bool
        Whether the second matrix is taken transposed.
    """

    op = OPS["matmul"]

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """Multiply ``[n, k]`` with ``[k, m]``, each as it is after its transposition."""
        if len(a.shape) != 2 or len(b.shape) != 2:
            raise ShapeError(
                f"MatMul: a {shape_text(a.shape)} and b {shape_text(b.shape)} must have two axes"
                " each; BatchMatMul and ops.matmul take more."
            )
        return matmul(*self._operands(a, b))


class BatchMatMul(_Product):
    """Multiplies batches of matrices: ``BatchMatMul(transpose_a, transpose_b)(x, y)``.

    Parameters
    ----------
    transpose_a : bool
        Whether the matrices of the first batch are taken transposed.
    transpose_b : bool
        Whether the matrices of the second batch are taken transposed.
    """

    op = OPS["bmm"]

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        """Multiply ``[..., n, k]`` with ``[..., k, m]``, each as it is after its transposition."""
        return bmm(*self._operands(x, y))
