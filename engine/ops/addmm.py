"""Products added to a tensor: ``beta * input + alpha * product``."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import arithmetic, linalg, reduce
from .cast import TensorLike
from .declarations import composite
from .products import outer_product, sized
from .registry import Call
from .weighted_sums import together

Numbers = float | int


def _scaled(tensor: Tensor, factor: Numbers) -> Tensor:
    return tensor if factor == 1 else arithmetic.mul(tensor, factor)


def _expand_add(product: Any) -> Any:
    def expand(
        input: Tensor, first: Tensor, second: Tensor, beta: Numbers, alpha: Numbers
    ) -> Tensor:
        found = _scaled(product(first, second), alpha)
        return found if beta == 0 else arithmetic.add(_scaled(input, beta), found)

    return expand


def _prepare_add(name: str, tensors: tuple[Any, Any, Any], ndims: tuple[int, int],
                 beta: Numbers, alpha: Numbers, names: tuple[str, str]) -> Call:  # fmt: skip
    input, first, second = together(*tensors)
    sized(name, **{names[0]: (first, ndims[0]), names[1]: (second, ndims[1])})
    return (input, first, second), {"beta": beta, "alpha": alpha}


@composite(
    _expand_add(linalg.matmul), category="linalg", inputs=("input", "mat1", "mat2"), method=True
)
def addmm(
    input: TensorLike, mat1: TensorLike, mat2: TensorLike, *, beta: float = 1, alpha: float = 1
) -> Call:
    """Return ``beta * input + alpha * mat1 @ mat2``.

    Parameters
    ----------
    input : Tensor
        A shape that broadcasts to ``[n, m]``; with ``beta`` zero it is not read.
    mat1 : Tensor
        ``[n, k]``.
    mat2 : Tensor
        ``[k, m]``; the dtypes promote.
    beta, alpha : float
        Factors of the input and of the product.

    Returns
    -------
    Tensor
        ``[n, m]``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    return _prepare_add("addmm", (input, mat1, mat2), (2, 2), beta, alpha, ("mat1", "mat2"))


@composite(
    _expand_add(linalg.matmul), category="linalg", inputs=("input", "mat", "vec"), method=True
)
def addmv(
    input: TensorLike, mat: TensorLike, vec: TensorLike, *, beta: float = 1, alpha: float = 1
) -> Call:
    """Return ``beta * input + alpha * mat @ vec``.

    Parameters
    ----------
    input : Tensor
        A shape that broadcasts to ``[n]``; with ``beta`` zero it is not read.
    mat : Tensor
        ``[n, k]``.
    vec : Tensor
        ``[k]``; the dtypes promote.
    beta, alpha : float
        Factors of the input and of the product.

    Returns
    -------
    Tensor
        ``[n]``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    return _prepare_add("addmv", (input, mat, vec), (2, 1), beta, alpha, ("mat", "vec"))


@composite(_expand_add(outer_product), category="linalg", inputs=("x", "vec1", "vec2"), method=True)
def addr(
    x: TensorLike, vec1: TensorLike, vec2: TensorLike, *, beta: float = 1, alpha: float = 1
) -> Call:
    """Return ``beta * x + alpha * outer(vec1, vec2)``.

    Parameters
    ----------
    x : Tensor
        A shape that broadcasts to ``[n, m]``; with ``beta`` zero it is not read.
    vec1 : Tensor
        ``[n]``.
    vec2 : Tensor
        ``[m]``; the dtypes promote.
    beta, alpha : float
        Factors of ``x`` and of the product.

    Returns
    -------
    Tensor
        ``[n, m]``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    return _prepare_add("addr", (x, vec1, vec2), (1, 1), beta, alpha, ("vec1", "vec2"))


@composite(
    _expand_add(linalg.matmul), category="linalg", inputs=("input", "batch1", "batch2"),
    method=True,
)  # fmt: skip
def baddbmm(
    input: TensorLike, batch1: TensorLike, batch2: TensorLike, beta: float = 1, alpha: float = 1
) -> Call:
    """Return ``beta * input + alpha * batch1 @ batch2``, matrix by matrix.

    Parameters
    ----------
    input : Tensor
        A shape that broadcasts to ``[b, n, m]``; with ``beta`` zero it is not read.
    batch1 : Tensor
        ``[b, n, k]``.
    batch2 : Tensor
        ``[b, k, m]``; the dtypes promote.
    beta, alpha : float
        Factors of the input and of the products.

    Returns
    -------
    Tensor
        ``[b, n, m]``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    names = ("batch1", "batch2")
    return _prepare_add("baddbmm", (input, batch1, batch2), (3, 3), beta, alpha, names)


def _summed_product(first: Tensor, second: Tensor) -> Tensor:
    return reduce.sum(linalg.matmul(first, second), 0)


@composite(
    _expand_add(_summed_product), category="linalg", inputs=("input", "batch1", "batch2"),
    method=True,
)  # fmt: skip
def addbmm(
    input: TensorLike, batch1: TensorLike, batch2: TensorLike, *, beta: float = 1,
    alpha: float = 1,
) -> Call:  # fmt: skip
    """Return ``beta * input + alpha * sum(batch1 @ batch2)``, summed over the batch.

    Parameters
    ----------
    input : Tensor
        A shape that broadcasts to ``[n, m]``; with ``beta`` zero it is not read.
    batch1 : Tensor
        ``[b, n, k]``.
    batch2 : Tensor
        ``[b, k, m]``; the dtypes promote.
    beta, alpha : float
        Factors of the input and of the sum.

    Returns
    -------
    Tensor
        ``[n, m]``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    names = ("batch1", "batch2")
    return _prepare_add("addbmm", (input, batch1, batch2), (3, 3), beta, alpha, names)
