"""Decompositions into lower and upper triangles with exchanged rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg as lapack

from ..dtype import float32, int32
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, decomposition, triangles
from .cast import TensorLike, as_float, as_float_pair, as_tensor, cast_to
from .declarations import composite
from .inversion import LAPACK, require_square, solve_triangular, square_rule, told
from .linalg import matmul, transposed
from .registry import Call, GradContext, Grads, op
from .rules import require_int


def _factor_rule(matrix: Aval) -> tuple[Aval, Aval]:
    square_rule("lu_factor")(matrix)
    return matrix, Aval(matrix.shape[:-1], int32)


def _factor_kernel(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    both, pivots = np.empty_like(matrix), np.empty(matrix.shape[:-1], np.int32)
    for at in np.ndindex(*matrix.shape[:-2]):
        both[at], rows = lapack.lu_factor(matrix[at], check_finite=False)
        pivots[at] = rows + 1
    return both, pivots


def _factor_grad(ctx: GradContext) -> Grads:
    both, pivots = ctx.outputs
    exchange, lower, upper = lu_unpack(both, pivots)
    dout = ctx.douts[0]
    inner = triangles.tril(matmul(transposed(lower), triangles.tril(dout, -1)), -1)
    outer = triangles.triu(matmul(triangles.triu(dout), transposed(upper)))
    whole = arithmetic.add(inner, outer)
    left = solve_triangular(lower, whole, 1, lower=True, unit_diagonal=True)
    found = transposed(solve_triangular(upper, transposed(left)))
    return (matmul(exchange, found),)


@op(
    infer=_factor_rule,
    kernel=told("lu_factor", _factor_kernel),
    grad=_factor_grad,
    lowering=LAPACK,
    category="linalg",
)
def lu_factor(A: TensorLike) -> Call:  # noqa: N803
    """Return the LU decomposition of square matrices with exchanged rows, in one matrix each.

    Parameters
    ----------
    A : Tensor
        ``[..., n, n]``; integers are cast to float32.

    Returns
    -------
    tuple of Tensor
        Both triangles in one matrix (the ones on the lower one's diagonal left out), and Int32
        pivots: row ``i`` was exchanged with row ``pivots[i]``, counted from one.

    Raises
    ------
    ValueError
        If a matrix is not square.

    References
    ----------
    de Hoog, Anderssen and Lukas, Differentiation of Matrix Functionals Using Triangular
    Factorization, 2011 (gradient).
    """
    tensor = as_float(A)
    require_square("lu_factor", tensor.aval)
    return (tensor,), {}


def _exchange_rule(pivots: Aval, dtype: Any) -> Aval:
    return Aval((*pivots.shape, pivots.shape[-1]), dtype)


def _exchange_kernel(pivots: np.ndarray, dtype: Any) -> np.ndarray:
    size = pivots.shape[-1]
    found = np.zeros((*pivots.shape, size), dtype.numpy)
    for at in np.ndindex(*pivots.shape[:-1]):
        order = np.arange(size)
        for row, other in enumerate(pivots[at] - 1):
            order[[row, other]] = order[[other, row]]
        found[(*at, order, np.arange(size))] = 1
    return found


@op(
    infer=_exchange_rule,
    kernel=_exchange_kernel,
    lowering=LAPACK,
    category="gradient",
    inputs=("pivots",),
)
def exchange_matrix(pivots: TensorLike, dtype: Any = float32) -> Call:
    """Return the matrices that exchange rows as pivots say.

    Parameters
    ----------
    pivots : Tensor
        ``[..., n]`` integers, counted from one.
    dtype : DType
        Type of the matrices.

    Returns
    -------
    Tensor
        ``[..., n, n]``.
    """
    return (as_tensor(pivots),), {"dtype": dtype}


def _expand_unpack(LU_data: Tensor, LU_pivots: Tensor) -> tuple[Tensor, ...]:  # noqa: N803
    lower = arithmetic.add(triangles.tril(LU_data, -1), decomposition.unit_like(LU_data))
    return exchange_matrix(LU_pivots, LU_data.dtype), lower, triangles.triu(LU_data)


def _require_pivots(name: str, data: Tensor, pivots: Tensor) -> None:
    require_square(name, data.aval)
    require_int(name, "LU_pivots", pivots.aval)
    if tuple(pivots.shape) != tuple(data.shape[:-1]):
        raise ShapeError(
            f"{name}: LU_pivots {shape_text(pivots.shape)} must have the shape"
            f" {shape_text(data.shape[:-1])}: a number for each row."
        )


@composite(_expand_unpack, category="linalg")
def lu_unpack(LU_data: TensorLike, LU_pivots: TensorLike) -> Call:  # noqa: N803
    """Return exchange matrices and triangles from what `lu_factor` gives.

    Parameters
    ----------
    LU_data : Tensor
        ``[..., n, n]``, both triangles.
    LU_pivots : Tensor
        ``[..., n]`` integers, counted from one.

    Returns
    -------
    tuple of Tensor
        ``p``, ``l`` and ``u``, whose product is the matrix that was taken apart.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    data, pivots = as_float(LU_data), as_tensor(LU_pivots)
    _require_pivots("lu_unpack", data, pivots)
    return (data, pivots), {}


def _expand_lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:  # noqa: N803
    exchange, lower, upper = _expand_unpack(LU_data, LU_pivots)
    half = solve_triangular(lower, matmul(transposed(exchange), b), lower=True, unit_diagonal=True)
    return solve_triangular(upper, half)


@composite(_expand_lu_solve, category="linalg")
def lu_solve(b: TensorLike, LU_data: TensorLike, LU_pivots: TensorLike) -> Call:  # noqa: N803
    """Solve linear systems whose matrices were taken apart by `lu_factor`.

    Parameters
    ----------
    b : Tensor
        Right sides ``[n]`` or ``[..., n, k]``.
    LU_data : Tensor
        ``[..., n, n]``, both triangles.
    LU_pivots : Tensor
        ``[..., n]`` integers, counted from one.

    Returns
    -------
    Tensor
        The shape of ``b``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    right, data = as_float_pair(b, LU_data)
    pivots = as_tensor(LU_pivots)
    _require_pivots("lu_solve", data, pivots)
    return (right, cast_to(data, right.dtype), pivots), {}
