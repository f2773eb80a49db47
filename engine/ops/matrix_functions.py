"""Pseudo-inverses, least squares and exponentials of matrices."""

from __future__ import annotations

import numpy as np
from scipy import linalg as lapack

from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, array, joining, math, triangles
from .cast import TensorLike, as_float, as_float_pair
from .cumulative import part
from .declarations import composite, widened
from .decomposition import qr
from .inversion import LAPACK, require_square, solve_triangular, square_rule, told
from .linalg import matmul, transposed
from .registry import Call, GradContext, Grads, Host, op


def _pinv_rule(x: Aval, rtol: float) -> Aval:
    return Aval((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)


def _pinv_grad(ctx: GradContext) -> Grads:
    x, found, dout = ctx.inputs[0], ctx.outputs[0], ctx.dout
    back, turned = transposed(found), transposed(dout)
    total = math.neg(matmul(matmul(back, dout), back))
    first = matmul(turned, matmul(found, back))
    first = arithmetic.sub(first, matmul(x, matmul(found, first)))
    second = matmul(matmul(back, found), turned)
    second = arithmetic.sub(second, matmul(matmul(second, found), x))
    return (arithmetic.add(total, arithmetic.add(first, second)),)


@op(
    infer=_pinv_rule,
    kernel=told("pinv", lambda x, rtol: np.linalg.pinv(x, rcond=rtol)),
    grad=_pinv_grad,
    lowering=LAPACK,
    category="linalg",
    inputs=("x",),
    method=True,
)
def pinv(x: TensorLike, rtol: float | None = None) -> Call:
    """Return the Moore-Penrose pseudo-inverses of matrices.

    Parameters
    ----------
    x : Tensor
        ``[..., m, n]``; integers are cast to float32.
    rtol : float, optional
        Singular values below it times the largest count as zero; by default the rounding error
        times the larger size.

    Returns
    -------
    Tensor
        ``[..., n, m]``; the gradient is that at constant rank.

    Raises
    ------
    ValueError
        If the input has fewer than two axes.

    References
    ----------
    Golub and Pereyra, The Differentiation of Pseudo-Inverses, 1973 (gradient).
    """
    tensor = as_float(x)
    triangles.require_matrices("pinv", tensor)
    if rtol is None:
        sides = [size for size in tensor.shape[-2:] if isinstance(size, int)]
        rtol = float(tensor.dtype.limits.eps) * max(sides, default=1)
    return (tensor,), {"rtol": float(rtol)}


def _exp_grad(ctx: GradContext) -> Grads:
    # The exponential of [[A', G], [0, A']] holds the gradient in its upper right corner.
    turned = transposed(ctx.inputs[0])
    size = triangles.known("matrix_exp", turned.shape[-1])
    above = joining.concat((turned, ctx.dout), -1)
    below = joining.concat((arithmetic.mul(turned, 0.0), turned), -1)
    whole = matrix_exp(joining.concat((above, below), -2))
    last = len(whole.shape) - 1
    return (part(part(whole, last - 1, None, size), last, size, None),)


@op(
    infer=square_rule("matrix_exp"),
    kernel=widened(lapack.expm),
    grad=_exp_grad,
    lowering=Host("scaling and squaring in SciPy"),
    category="linalg",
    method=True,
)
def matrix_exp(input: TensorLike) -> Call:
    """Return the exponentials of square matrices: the sum of ``input**k / k!``.

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
        If a matrix is not square.

    References
    ----------
    Mathias, A Chain Rule for Matrix Functions and Applications, 1996 (gradient).
    """
    tensor = as_float(input)
    require_square("matrix_exp", tensor.aval)
    return (tensor,), {}


def _expand_lstsq(input: Tensor, other: Tensor) -> Tensor:
    right = array.expand_dims(other, -1) if len(other.shape) == 1 else other
    rows, columns = (triangles.known("lstsq", size) for size in input.shape)
    if rows >= columns:
        q, r = qr(input)
        found = solve_triangular(r, matmul(transposed(q), right))
    else:
        q, r = qr(transposed(input))
        found = matmul(q, solve_triangular(r, right, 1))
    return array.squeeze(found, -1) if len(other.shape) == 1 else found


@composite(_expand_lstsq, category="linalg")
def lstsq(input: TensorLike, A: TensorLike) -> Call:  # noqa: N803 - MindSpore's name
    """Return the ``x`` for which ``input @ x`` is closest to ``A``.

    Parameters
    ----------
    input : Tensor
        ``[m, n]`` of full rank; integers are cast to float32.
    A : Tensor
        ``[m]`` or ``[m, k]``.

    Returns
    -------
    Tensor
        ``[n]`` or ``[n, k]``; with fewer rows than columns the shortest one.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    References
    ----------
    Golub and Van Loan, Matrix Computations, 5.3 and 5.6.
    """
    matrix, right = as_float_pair(input, A)
    if (
        len(matrix.shape) != 2
        or len(right.shape) not in (1, 2)
        or (right.shape[0] != matrix.shape[0])
    ):
        raise ShapeError(
            f"lstsq: input {shape_text(matrix.shape)} must be a matrix and A"
            f" {shape_text(right.shape)} have as many rows, in one axis or two."
        )
    return (matrix, right), {}
