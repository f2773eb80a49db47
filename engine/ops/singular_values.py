"""Singular values, and what they tell of matrices: norms, condition, rank."""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import int64
from ..shape import Aval, ShapeError
from ..tensor import Tensor
from . import (
    arithmetic,
    array,
    composite_reductions,
    determinants,
    inversion,
    math,
    reduce,
    triangles,
)
from .cast import TensorLike, as_float, as_float_of
from .declarations import composite
from .decomposition import singular_decomposition
from .inversion import LAPACK, require_square, told
from .registry import Call, op
from .rules import normalize_axis

Axis = int | Sequence[int] | None


def _expand_svd(input: Tensor, full_matrices: bool, compute_uv: bool) -> Any:
    found = singular_decomposition(input, full_matrices)
    return found if compute_uv else found[0]


@composite(_expand_svd, category="linalg", inputs=("input",), method=True)
def svd(input: TensorLike, full_matrices: bool = False, compute_uv: bool = True) -> Call:
    """Return the singular value decomposition of matrices.

    Parameters
    ----------
    input : Tensor
        ``[..., m, n]``; integers are cast to float32.
    full_matrices : bool
        Whether the bases are complete: ``[m, m]`` and ``[n, n]``. Then there is no gradient.
    compute_uv : bool
        Whether vectors are returned beside the values.

    Returns
    -------
    tuple of Tensor
        Falling values ``s`` ``[..., k]``, left vectors ``u`` and right vectors ``v`` as columns,
        so that ``u * s @ v.T`` is the input; or the values alone.

    Raises
    ------
    ValueError
        If the input has fewer than two axes.

    References
    ----------
    Townsend, Differentiating the Singular Value Decomposition, 2016 (gradient, for distinct
    values).
    """
    tensor = as_float(input)
    triangles.require_matrices("svd", tensor)
    return (tensor,), {"full_matrices": bool(full_matrices), "compute_uv": bool(compute_uv)}


@composite(lambda input: singular_decomposition(input, False)[0], category="linalg")
def svdvals(input: TensorLike) -> Call:
    """Return the singular values of matrices, the largest first.

    Parameters
    ----------
    input : Tensor
        ``[..., m, n]``; integers are cast to float32.

    Returns
    -------
    Tensor
        ``[..., min(m, n)]``.

    Raises
    ------
    ValueError
        If the input has fewer than two axes.
    """
    tensor = as_float(input)
    triangles.require_matrices("svdvals", tensor)
    return (tensor,), {}


def _matrix_length(matrix: Tensor, ord: float | str, keepdims: bool) -> Tensor:
    """Return norms of matrices on the last two axes."""
    if ord in (2, -2, "nuc"):
        values = singular_decomposition(matrix, False)[0]
        if ord == "nuc":
            found = reduce.sum(values, -1)
        else:
            found = reduce.amax(values, -1) if ord == 2 else reduce.amin(values, -1)
        return determinants.as_matrices(found) if keepdims else found
    if ord == "fro":
        return composite_reductions.root_of_squares(matrix, (-2, -1), keepdims)
    assert not isinstance(ord, str)
    along = -2 if abs(ord) == 1 else -1
    sums = reduce.sum(math.abs(matrix), along, keepdims=True)
    find = reduce.amax if ord > 0 else reduce.amin
    return find(sums, (-2, -1), keepdims)


_ORDERS = (2, -2, 1, -1, numbers.inf, -numbers.inf)


def _expand_matrix_norm(
    matrix: Tensor,
    ord: float | str,
    axis: tuple[int, int],
    keepdims: bool,
) -> Tensor:
    count = len(matrix.shape)
    rest = [at for at in range(count) if at not in axis]
    found = _matrix_length(array.transpose(matrix, (*rest, *axis)), ord, keepdims)
    if not keepdims:
        return found
    order = list(range(count - 2))
    for at, source in sorted(zip(axis, (count - 2, count - 1), strict=True)):
        order.insert(at, source)
    return array.transpose(found, tuple(order))


def _plane(name: str, tensor: Tensor, axis: Sequence[int]) -> tuple[int, int]:
    if len(tuple(axis)) != 2:
        raise ShapeError(f"{name}: axis must name two axes, it is {tuple(axis)}.")
    first, second = (normalize_axis(name, int(at), len(tensor.shape)) for at in axis)
    if first == second:
        raise ShapeError(f"{name}: axis {tuple(axis)} names an axis twice.")
    return first, second


@composite(_expand_matrix_norm, category="linalg", inputs=("A",))
def matrix_norm(
    A: TensorLike,  # noqa: N803 - MindSpore's name
    ord: float | str = "fro",
    axis: Sequence[int] = (-2, -1),
    keepdims: bool = False,
    *,
    dtype: Any = None,
) -> Call:
    """Return norms of matrices.

    Parameters
    ----------
    A : Tensor
        Two axes or more; integers are cast to float32.
    ord : {"fro", "nuc", 2, -2, 1, -1, inf, -inf}
        Root of squares; sum of singular values, their largest, their smallest; largest and
        smallest sum of sizes of a column, of a row.
    axis : tuple of int
        The axes of rows and of columns.
    keepdims : bool
        Whether the axes stay, with size 1.
    dtype : DType, optional
        Type to compute in; by default the input's.

    Returns
    -------
    Tensor
        The norms.

    Raises
    ------
    ValueError
        If ``ord`` is something else, or ``axis`` names not two axes.
    """
    if ord not in ("fro", "nuc", *_ORDERS):
        raise ValueError(
            f"matrix_norm: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, it is {ord!r}."
        )
    tensor = as_float_of(A, dtype)
    order = ord if isinstance(ord, str) else float(ord)
    plane = _plane("matrix_norm", tensor, axis)
    return (tensor,), {"ord": order, "axis": plane, "keepdims": bool(keepdims)}


def _expand_norm(matrix: Tensor, ord: Any, dim: Any, keepdim: bool) -> Tensor:
    if ord is not None and len(dim) == 2:
        return _expand_matrix_norm(matrix, ord, dim, keepdim)
    return composite_reductions.vector_length(matrix, 2.0 if ord is None else ord, dim, keepdim)


@composite(_expand_norm, category="linalg", inputs=("A",), method=True)
def norm(
    A: TensorLike,  # noqa: N803 - MindSpore's name
    ord: float | str | None = None,
    dim: Axis = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Call:
    """Return the norm of vectors or matrices.

    Parameters
    ----------
    A : Tensor
        Any shape; integers are cast to float32.
    ord : float or {"fro", "nuc"}, optional
        Order; None is the root of the sum of squares.
    dim : int or tuple of int, optional
        One axis of vectors or two of matrices; None takes all, which with an ``ord`` must be one
        or two.
    keepdim : bool
        Whether the axes stay, with size 1.
    dtype : DType, optional
        Type to compute in; by default the input's.

    Returns
    -------
    Tensor
        The norms.

    Raises
    ------
    ValueError
        If ``ord`` does not fit the number of axes.
    """
    tensor = as_float_of(A, dtype)
    count = len(tensor.shape)
    axes = tuple(range(count)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    axes = tuple(normalize_axis("norm", int(axis), count) for axis in axes)
    if (isinstance(ord, str) and len(axes) != 2) or (ord is not None and len(axes) > 2):
        raise ShapeError(
            f"norm: ord {ord!r} does not fit {len(axes)} axes; give dim as one axis (a number for"
            " ord) or two."
        )
    if ord is not None and len(axes) == 2 and ord not in ("fro", "nuc", *_ORDERS):
        raise ValueError(
            f"norm: ord of matrices must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, it is {ord!r}."
        )
    order = ord if ord is None or isinstance(ord, str) else float(ord)
    return (tensor,), {"ord": order, "dim": axes, "keepdim": bool(keepdim)}


def _expand_cond(matrix: Tensor, p: Any) -> Tensor:
    if p in (2.0, -2.0):
        values = singular_decomposition(matrix, False)[0]
        ratio = arithmetic.div(reduce.amax(values, -1), reduce.amin(values, -1))
        return ratio if p == 2 else math.reciprocal(ratio)
    return arithmetic.mul(
        _matrix_length(matrix, p, False), _matrix_length(inversion.inverse(matrix), p, False)
    )


@composite(_expand_cond, category="linalg", inputs=("A",))
def matrix_cond(
    A: TensorLike,  # noqa: N803 - MindSpore's name
    p: float | str | None = None,
) -> Call:
    """Return condition numbers of matrices: their norm times that of their inverse.

    Parameters
    ----------
    A : Tensor
        ``[..., m, n]``, square unless ``p`` is 2 or -2; integers are cast to float32.
    p : {None, 2, -2, 1, -1, inf, -inf, "fro", "nuc"}
        Order of the norm; None is 2.

    Returns
    -------
    Tensor
        One number a matrix.

    Raises
    ------
    ValueError
        If ``p`` is something else or a matrix is not square.
    """
    tensor = as_float(A)
    order = 2.0 if p is None else p if isinstance(p, str) else float(p)
    if order not in ("fro", "nuc", *_ORDERS):
        raise ValueError(
            f"matrix_cond: p must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, it is {p!r}."
        )
    triangles.require_matrices("matrix_cond", tensor)
    if order not in (2.0, -2.0):
        require_square("matrix_cond", tensor.aval)
    return (tensor,), {"p": order}


def _rank_rule(matrix: Aval, tol: float | None, hermitian: bool) -> Aval:
    return Aval(matrix.shape[:-2], int64)


def _rank_kernel(matrix: np.ndarray, tol: float | None, hermitian: bool) -> np.ndarray:
    found = np.linalg.matrix_rank(matrix, tol, hermitian)
    return np.asarray(found).astype(np.int64)


@op(
    infer=_rank_rule, kernel=told("matrix_rank", _rank_kernel), lowering=LAPACK,
    category="linalg", inputs=("A",),
)  # fmt: skip
def matrix_rank(
    A: TensorLike,  # noqa: N803 - MindSpore's name
    tol: float | None = None,
    hermitian: bool = False,
) -> Call:
    """Count the singular values of matrices that are not zero.

    Parameters
    ----------
    A : Tensor
        ``[..., m, n]``; integers are cast to float32.
    tol : float, optional
        What counts as zero; by default the largest value times the rounding error times the size.
    hermitian : bool
        Whether the matrices are symmetric.

    Returns
    -------
    Tensor
        Int64, one number a matrix.

    Raises
    ------
    ValueError
        If the input has fewer than two axes.
    """
    tensor = as_float(A)
    triangles.require_matrices("matrix_rank", tensor)
    return (tensor,), {"tol": None if tol is None else float(tol), "hermitian": bool(hermitian)}
