"""Inverses and linear systems, through LAPACK."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg as lapack

from ..shape import Aval, ShapeError, broadcast_shapes, shape_text
from ..tensor import Tensor
from . import array, math, triangles, unbroadcast
from .cast import TensorLike, as_float, as_float_pair
from .declarations import widened
from .linalg import matmul, transposed
from .registry import Call, GradContext, Grads, Host, op
from .rules import require_float, require_same_dtype

LAPACK = Host("a routine of LAPACK")


def require_square(name: str, aval: Aval) -> None:
    """Raise ShapeError unless the last two axes are of one size."""
    if aval.ndim < 2 or aval.shape[-1] != aval.shape[-2]:
        raise ShapeError(
            f"{name}: {shape_text(aval.shape)} must hold square matrices: [..., n, n]."
        )


def square_rule(name: str) -> Callable[..., Aval]:
    """Return the rule of an op that keeps the shape of square float matrices."""

    def infer(input: Aval, **_: Any) -> Aval:
        require_float(name, "input", input)
        require_square(name, input)
        return input

    return infer


def told(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel whose failures name the op and what is wrong with the matrix."""

    @functools.wraps(function)
    def kernel(*arrays: np.ndarray, **attrs: Any) -> Any:
        try:
            return function(*arrays, **attrs)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(
                f"{name}: {error}; look at the matrix for zeros, NaN or rows that repeat."
            ) from error

    return widened(kernel)


def _inverse_grad(ctx: GradContext) -> Grads:
    back = transposed(ctx.outputs[0])
    return (math.neg(matmul(matmul(back, ctx.dout), back)),)


@op(
    infer=square_rule("inverse"),
    kernel=told("inverse", np.linalg.inv),
    grad=_inverse_grad,
    lowering=LAPACK,
    category="linalg",
    primitive="MatrixInverse",
    method=True,
)
def inverse(input: TensorLike) -> Call:
    """Return inverse matrices.

    Parameters
    ----------
    input : Tensor
        ``[..., n, n]``; integers are cast to float32.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If a matrix is not square or singular.

    References
    ----------
    Giles, Collected Matrix Derivative Results, 2008, 2.2.3 (gradient).
    """
    tensor = as_float(input)
    require_square("inverse", tensor.aval)
    return (tensor,), {}


def _solve_rule(input: Aval, other: Aval) -> Aval:
    dtype = require_same_dtype("solve", input=input, other=other)
    require_float("solve", "input", input)
    require_square("solve", input)
    _require_rows("solve", input, other)
    if other.ndim == 1:
        return Aval(input.shape[:-1], dtype)
    lead = broadcast_shapes(input.shape[:-2], other.shape[:-2])
    return Aval((*lead, *other.shape[-2:]), dtype)


def _require_rows(name: str, matrix: Aval, other: Aval) -> None:
    rows = other.shape[0] if other.ndim == 1 else (other.shape[-2] if other.ndim else None)
    if rows != matrix.shape[-1]:
        raise ShapeError(
            f"{name}: the matrix {shape_text(matrix.shape)} and the right side"
            f" {shape_text(other.shape)} do not fit: it needs {matrix.shape[-1]} rows."
        )


def _solve_kernel(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    if other.ndim == 1:
        return np.linalg.solve(input, other[:, None])[..., 0]
    return np.linalg.solve(input, other)


def as_columns(vector: Tensor, like: Tensor) -> Tensor:
    """Return right sides that are vectors as matrices of one column."""
    return array.expand_dims(vector, -1) if len(like.shape) == 1 else vector


def _solve_grad(ctx: GradContext) -> Grads:
    matrix, right = ctx.inputs
    dout, found = as_columns(ctx.dout, right), as_columns(ctx.outputs[0], right)
    to_right = solve(transposed(matrix), dout)
    to_matrix = math.neg(matmul(to_right, transposed(found))) if ctx.needs[0] else None
    if len(right.shape) == 1:
        to_right = array.squeeze(to_right, -1)
    return unbroadcast.fit(ctx, to_matrix, to_right)


@op(
    infer=_solve_rule,
    kernel=told("solve", _solve_kernel),
    grad=_solve_grad,
    lowering=LAPACK,
    category="linalg",
    primitive="MatrixSolve",
    method=True,
)
def solve(input: TensorLike, other: TensorLike) -> Call:
    """Return the ``x`` with ``input @ x = other``.

    Parameters
    ----------
    input : Tensor
        ``[..., n, n]``; integers are cast to float32.
    other : Tensor
        ``[n]`` or ``[..., n, k]``; leading axes broadcast.

    Returns
    -------
    Tensor
        ``[..., n]`` or ``[..., n, k]``.

    Raises
    ------
    ValueError
        If a matrix is not square or singular, or the shapes do not fit.

    References
    ----------
    Giles, Collected Matrix Derivative Results, 2008, 2.3.1 (gradient).
    """
    inputs = as_float_pair(input, other)
    _solve_rule(*(tensor.aval for tensor in inputs))
    return inputs, {}


def _triangular_rule(a: Aval, b: Aval, trans: int, lower: bool, unit_diagonal: bool) -> Aval:
    dtype = require_same_dtype("solve_triangular", a=a, b=b)
    require_square("solve_triangular", a)
    _require_rows("solve_triangular", a, b)
    if b.ndim == 1:
        return Aval(a.shape[:-1], dtype)
    return Aval((*broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]), dtype)


def _triangular_kernel(
    a: np.ndarray, b: np.ndarray, trans: int, lower: bool, unit_diagonal: bool
) -> np.ndarray:
    right = b[:, None] if b.ndim == 1 else b
    lead = np.broadcast_shapes(a.shape[:-2], right.shape[:-2])
    matrices = np.broadcast_to(a, lead + a.shape[-2:])
    sides = np.broadcast_to(right, lead + right.shape[-2:])
    found = np.empty(sides.shape, b.dtype)
    for at in np.ndindex(*lead):
        found[at] = lapack.solve_triangular(
            matrices[at], sides[at], trans, lower, unit_diagonal, check_finite=False
        )
    return found[..., 0] if b.ndim == 1 else found


def _triangular_grad(ctx: GradContext) -> Grads:
    matrix, right = ctx.inputs
    attrs = ctx.attrs
    dout, found = as_columns(ctx.dout, right), as_columns(ctx.outputs[0], right)
    options = {"lower": attrs["lower"], "unit_diagonal": attrs["unit_diagonal"]}
    to_right = solve_triangular(matrix, dout, 1 - attrs["trans"], **options)
    to_matrix = None
    if ctx.needs[0]:
        left, other = (found, to_right) if attrs["trans"] else (to_right, found)
        whole = math.neg(matmul(left, transposed(other)))
        edge = 1 if attrs["unit_diagonal"] else 0
        if attrs["lower"]:
            to_matrix = triangles.tril(whole, -edge)
        else:
            to_matrix = triangles.triu(whole, edge)
    if len(right.shape) == 1:
        to_right = array.squeeze(to_right, -1)
    return unbroadcast.fit(ctx, to_matrix, to_right)


@op(
    infer=_triangular_rule,
    kernel=told("solve_triangular", _triangular_kernel),
    grad=_triangular_grad,
    lowering=LAPACK,
    category="linalg",
    inputs=("a", "b"),
)
def solve_triangular(
    a: TensorLike,
    b: TensorLike,
    trans: int = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> Call:
    """Return the ``x`` with ``a @ x = b``, where ``a`` is a triangle.

    Parameters
    ----------
    a : Tensor
        ``[..., n, n]``, of which one triangle is read; integers are cast to float32.
    b : Tensor
        ``[n]`` or ``[..., n, k]``; leading axes broadcast.
    trans : {0, 1}
        1 solves with ``a`` transposed.
    lower : bool
        Whether the lower triangle is meant.
    unit_diagonal : bool
        Whether the diagonal counts as ones and is not read.

    Returns
    -------
    Tensor
        ``[..., n]`` or ``[..., n, k]``.

    Raises
    ------
    ValueError
        If ``trans`` is another number, a matrix is singular, or the shapes do not fit.

    References
    ----------
    Giles, Collected Matrix Derivative Results, 2008, 2.3.1 (gradient).
    """
    number = {"N": 0, "T": 1, "C": 1}.get(trans, trans) if isinstance(trans, str) else trans
    if number not in (0, 1):
        raise ValueError(f"solve_triangular: trans must be 0 or 1, it is {trans!r}.")
    inputs = as_float_pair(a, b)
    attrs = {
        "trans": int(number), "lower": bool(lower), "unit_diagonal": bool(unit_diagonal),
    }  # fmt: skip
    _triangular_rule(inputs[0].aval, inputs[1].aval, **attrs)
    return inputs, attrs
