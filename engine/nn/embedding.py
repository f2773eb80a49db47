"""Tables of vectors that are looked up by number."""

from __future__ import annotations

from .. import ops
from ..dtype import DType, float32
from ..parameter import Parameter
from ..tensor import Tensor
from .cell import Cell
from .initializer import initializer
from .layers import Init, positive


class Embedding(Cell):
    """A table of vectors, looked up by number.

    Parameters
    ----------
    vocab_size : int
        How many vectors.
    embedding_size : int
        Their length.
    use_one_hot : bool
        Whether to look up by a product with one-hot rows; the result is the same.
    embedding_table : Tensor, str, Initializer or number
        Initial values.
    dtype : DType
        Type of the table.
    padding_idx : int, optional
        A number whose vector starts as zeros.
    x : Tensor
        Integers of any shape; the output has one axis more, of `embedding_size`.

    Raises
    ------
    TypeError, ValueError
        If a size is no positive int, or `padding_idx` is outside the table.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Init = "normal",
        dtype: DType = float32,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        self.vocab_size = positive("Embedding", "vocab_size", vocab_size)
        self.embedding_size = positive("Embedding", "embedding_size", embedding_size)
        self.use_one_hot = bool(use_one_hot)
        if padding_idx is not None and not 0 <= padding_idx < vocab_size:
            raise ValueError(
                f"Embedding: padding_idx {padding_idx} is outside 0..{vocab_size - 1}."
            )
        self.padding_idx = padding_idx
        chosen = "normal" if embedding_table is None else embedding_table
        table = Parameter(initializer(chosen, (vocab_size, embedding_size), dtype))
        if padding_idx is not None:
            table.data[padding_idx] = 0
        self.embedding_table = table

    def construct(self, x: Tensor) -> Tensor:
        """Look the vectors up."""
        if self.use_one_hot:
            rows = ops.one_hot(x, self.vocab_size, 1.0, 0.0)
            return ops.matmul(rows, self.embedding_table)
        return ops.gather(self.embedding_table, x, 0)

    def extend_repr(self) -> str:
        """Sizes."""
        return f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}"


class EmbeddingLookup(Cell):
    """A table of vectors, looked up by number and kept short.

    Parameters
    ----------
    vocab_size : int
        How many vectors.
    embedding_size : int
        Their length.
    param_init : Tensor, str, Initializer or number
        Initial values.
    max_norm : float, optional
        Looked up vectors of a larger Euclidean norm are scaled down to it; the table stays.
    dtype : DType
        Type of the table.
    x : Tensor
        Integers of any shape; the output has one axis more, of `embedding_size`.

    Raises
    ------
    TypeError, ValueError
        If a size is no positive int, or the norm is not positive.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: Init = "normal",
        *,
        max_norm: float | None = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.vocab_size = positive("EmbeddingLookup", "vocab_size", vocab_size)
        self.embedding_size = positive("EmbeddingLookup", "embedding_size", embedding_size)
        if max_norm is not None and max_norm <= 0:
            raise ValueError(f"EmbeddingLookup: max_norm must be positive, it is {max_norm}.")
        self.max_norm = max_norm
        chosen = "normal" if param_init is None else param_init
        shape = (vocab_size, embedding_size)
        self.embedding_table = Parameter(initializer(chosen, shape, dtype))

    def construct(self, x: Tensor) -> Tensor:
        """Look the vectors up."""
        rows = ops.gather(self.embedding_table, x, 0)
        if self.max_norm is None:
            return rows
        squares = ops.sum(ops.square(rows), -1, keepdims=True)
        limit = float(self.max_norm)
        return rows * (ops.rsqrt(ops.clamp(squares, min=limit**2)) * limit)

    def extend_repr(self) -> str:
        """Sizes and norm."""
        return (
            f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size},"
            f" max_norm={self.max_norm}"
        )
