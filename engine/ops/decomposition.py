"""Decompositions of matrices: triangular, orthogonal, by eigenvalues and singular values."""

from __future__ import annotations

import numpy as np

from ..shape import Aval, Dim
from ..tensor import Tensor
from . import arithmetic, array, creation, math, triangles
from .cast import TensorLike, as_float, as_float_pair
from .declarations import composite
from .inversion import LAPACK, require_square, solve_triangular, square_rule, told
from .linalg import matmul, transposed
from .registry import Call, GradContext, Grads, op
from .rules import require_float


def unit_like(matrix: Tensor) -> Tensor:
    """Return the unit matrix of the size of square matrices."""
    size = triangles.known("a unit matrix", matrix.shape[-1])
    return creation.eye(size, size, matrix.dtype)


def halved(matrix: Tensor) -> Tensor:
    """Return the lower triangle with half of its diagonal."""
    half = arithmetic.mul(unit_like(matrix), 0.5)
    return arithmetic.mul(triangles.tril(matrix), arithmetic.sub(1.0, half))


def symmetric(matrix: Tensor) -> Tensor:
    """Return the mean of matrices and their transposes."""
    return arithmetic.mul(arithmetic.add(matrix, transposed(matrix)), 0.5)


# ---- Cholesky --------------------------------------------------------------------------------


def _cholesky_kernel(input_x: np.ndarray, upper: bool) -> np.ndarray:
    lower = np.linalg.cholesky(input_x)
    return np.ascontiguousarray(np.swapaxes(lower, -1, -2)) if upper else lower


def _cholesky_grad(ctx: GradContext) -> Grads:
    upper = ctx.attrs["upper"]
    factor = transposed(ctx.outputs[0]) if upper else ctx.outputs[0]
    dout = transposed(ctx.dout) if upper else ctx.dout
    inner = halved(matmul(transposed(factor), dout))
    left = solve_triangular(factor, inner, 1, lower=True)
    both = transposed(solve_triangular(factor, transposed(left), 1, lower=True))
    return (symmetric(both),)


@op(
    infer=square_rule("cholesky"),
    kernel=told("cholesky", _cholesky_kernel),
    grad=_cholesky_grad,
    lowering=LAPACK,
    category="linalg",
    inputs=("input_x",),
    method=True,
)
def cholesky(input_x: TensorLike, upper: bool = False) -> Call:
    """Return the Cholesky decomposition: triangles whose product with their transpose is the input.

    Parameters
    ----------
    input_x : Tensor
        ``[..., n, n]``, symmetric and positive definite; integers are cast to float32.
    upper : bool
        Whether the upper triangle is returned.

    Returns
    -------
    Tensor
        Triangles in the shape of the input; the gradient is symmetric.

    Raises
    ------
    ValueError
        If a matrix is not square or not positive definite.

    References
    ----------
    Murray, Differentiation of the Cholesky decomposition, 2016 (gradient).
    """
    tensor = as_float(input_x)
    require_square("cholesky", tensor.aval)
    return (tensor,), {"upper": bool(upper)}


def _expand_cholesky_solve(input: Tensor, input2: Tensor, upper: bool) -> Tensor:
    first, second = (1, 0) if upper else (0, 1)
    half = solve_triangular(input2, input, first, lower=not upper)
    return solve_triangular(input2, half, second, lower=not upper)


@composite(_expand_cholesky_solve, category="linalg", inputs=("input", "input2"), method=True)
def cholesky_solve(input: TensorLike, input2: TensorLike, upper: bool = False) -> Call:
    """Solve linear systems whose matrices are given by their Cholesky triangles.

    Parameters
    ----------
    input : Tensor
        Right sides ``[..., n, k]``; integers are cast to float32.
    input2 : Tensor
        Triangles ``[..., n, n]`` as `cholesky` gives them.
    upper : bool
        Whether they are upper triangles.

    Returns
    -------
    Tensor
        ``[..., n, k]``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    inputs = as_float_pair(input, input2)
    require_square("cholesky_solve", inputs[1].aval)
    return inputs, {"upper": bool(upper)}


def _expand_cholesky_inverse(input_x: Tensor, upper: bool) -> Tensor:
    return _expand_cholesky_solve(unit_like(input_x), input_x, upper)


@composite(_expand_cholesky_inverse, category="linalg", inputs=("input_x",), method=True)
def cholesky_inverse(input_x: TensorLike, upper: bool = False) -> Call:
    """Return the inverse of matrices that are given by their Cholesky triangles.

    Parameters
    ----------
    input_x : Tensor
        Triangles ``[..., n, n]`` as `cholesky` gives them; integers are cast to float32.
    upper : bool
        Whether they are upper triangles.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If a triangle is not square or has a zero on its diagonal.
    """
    tensor = as_float(input_x)
    require_square("cholesky_inverse", tensor.aval)
    return (tensor,), {"upper": bool(upper)}


# ---- orthogonal and triangular ---------------------------------------------------------------


def _smaller(rows: Dim, columns: Dim) -> Dim:
    return min(triangles.known("qr", rows), triangles.known("qr", columns))


def _qr_rule(input: Aval, mode: str) -> tuple[Aval, Aval]:
    require_float("qr", "input", input)
    triangles.require_matrices("qr", input)
    *lead, rows, columns = input.shape
    inner = rows if mode == "complete" else _smaller(rows, columns)
    return Aval((*lead, rows, inner), input.dtype), Aval((*lead, inner, columns), input.dtype)


def _qr_kernel(input: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray]:
    q, r = np.linalg.qr(input, mode)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return q, r


def _or_zeros(dout: Tensor | None, output: Tensor) -> Tensor:
    return creation.zeros_like(output) if dout is None else dout


def _qr_grad(ctx: GradContext) -> Grads:
    q, r = ctx.outputs
    if q.shape[-1] != r.shape[-1]:
        raise ValueError(
            f"qr: the gradient is defined for matrices with as many rows as columns or more in"
            f" mode 'reduced', not for {list(ctx.inputs[0].shape)} in mode {ctx.attrs['mode']!r}."
        )
    dq, dr = _or_zeros(ctx.douts[0], q), _or_zeros(ctx.douts[1], r)
    inner = arithmetic.sub(matmul(r, transposed(dr)), matmul(transposed(dq), q))
    below = triangles.tril(inner, -1)
    mirrored = arithmetic.add(triangles.tril(inner), transposed(below))
    whole = arithmetic.add(dq, matmul(q, mirrored))
    return (transposed(solve_triangular(r, transposed(whole))),)


@op(
    infer=_qr_rule,
    kernel=told("qr", _qr_kernel),
    grad=_qr_grad,
    lowering=LAPACK,
    category="linalg",
    inputs=("input",),
    method=True,
)
def qr(input: TensorLike, mode: str = "reduced") -> Call:
    """Return the QR decomposition of matrices: orthonormal columns and an upper triangle.

    Parameters
    ----------
    input : Tensor
        ``[..., m, n]``; integers are cast to float32.
    mode : {"reduced", "complete"}
        Whether there are ``min(m, n)`` columns or ``m``.

    Returns
    -------
    tuple of Tensor
        ``q`` ``[..., m, k]`` and ``r`` ``[..., k, n]``; the gradient needs full column rank.

    Raises
    ------
    ValueError
        If ``mode`` is another word or the input has fewer than two axes.

    References
    ----------
    Walter and Lehmann, Algorithmic Differentiation of Linear Algebra Functions, 2018 (gradient).
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode must be 'reduced' or 'complete', it is {mode!r}.")
    tensor = as_float(input)
    triangles.require_matrices("qr", tensor)
    return (tensor,), {"mode": mode}


# ---- eigenvalues -----------------------------------------------------------------------------


def _eigh_rule(input: Aval, lower: bool) -> tuple[Aval, Aval]:
    square_rule("eigh")(input)
    return Aval(input.shape[:-1], input.dtype), input


def _eigh_kernel(input: np.ndarray, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(input, "L" if lower else "U")
    return values, vectors


def _gaps(values: Tensor) -> Tensor:
    """Return one over ``values[j] - values[i]`` as matrices, zero on the diagonal."""
    gaps = arithmetic.sub(array.expand_dims(values, -2), array.expand_dims(values, -1))
    unit = unit_like(gaps)
    inverse = arithmetic.div(1.0, arithmetic.add(gaps, unit))
    return arithmetic.mul(inverse, arithmetic.sub(1.0, unit))


def _on_diagonal(values: Tensor) -> Tensor:
    return triangles.diag_embed(values)


def _eigh_grad(ctx: GradContext) -> Grads:
    values, vectors = ctx.outputs
    inner = _on_diagonal(_or_zeros(ctx.douts[0], values))
    if ctx.douts[1] is not None:
        turn = matmul(transposed(vectors), ctx.douts[1])
        inner = arithmetic.add(inner, arithmetic.mul(_gaps(values), turn))
    return (symmetric(matmul(matmul(vectors, inner), transposed(vectors))),)


@op(
    infer=_eigh_rule,
    kernel=told("eigh", _eigh_kernel),
    grad=_eigh_grad,
    lowering=LAPACK,
    category="linalg",
    inputs=("input",),
)
def eigh(input: TensorLike, lower: bool = True) -> Call:
    """Return the eigenvalues and eigenvectors of symmetric matrices.

    Parameters
    ----------
    input : Tensor
        ``[..., n, n]``, of which one triangle is read; integers are cast to float32.
    lower : bool
        Whether the lower triangle is read.

    Returns
    -------
    tuple of Tensor
        Rising eigenvalues ``[..., n]``, and eigenvectors as columns ``[..., n, n]``. The gradient
        is symmetric; that of the vectors needs distinct eigenvalues.

    Raises
    ------
    ValueError
        If a matrix is not square.

    References
    ----------
    Giles, Collected Matrix Derivative Results, 2008, 3.1 (gradient).
    """
    tensor = as_float(input)
    require_square("eigh", tensor.aval)
    return (tensor,), {"lower": bool(lower)}


def _expand_eigvalsh(input: Tensor, lower: bool) -> Tensor:
    return eigh(input, lower)[0]


@composite(_expand_eigvalsh, category="linalg", inputs=("input",))
def eigvalsh(input: TensorLike, lower: bool = True) -> Call:
    """Return the eigenvalues of symmetric matrices.

    Parameters
    ----------
    input : Tensor
        ``[..., n, n]``, of which one triangle is read; integers are cast to float32.
    lower : bool
        Whether the lower triangle is read.

    Returns
    -------
    Tensor
        ``[..., n]``, rising.

    Raises
    ------
    ValueError
        If a matrix is not square.
    """
    tensor = as_float(input)
    require_square("eigvalsh", tensor.aval)
    return (tensor,), {"lower": bool(lower)}


# ---- singular values -------------------------------------------------------------------------


def _svd_rule(input: Aval, full_matrices: bool) -> tuple[Aval, Aval, Aval]:
    require_float("svd", "input", input)
    triangles.require_matrices("svd", input)
    *lead, rows, columns = input.shape
    inner = _smaller(rows, columns)
    left, right = (rows, columns) if full_matrices else (inner, inner)
    shapes = ((*lead, inner), (*lead, rows, left), (*lead, columns, right))
    return tuple(Aval(shape, input.dtype) for shape in shapes)  # pyright: ignore[reportReturnType]


def _svd_kernel(input: np.ndarray, full_matrices: bool) -> tuple[np.ndarray, ...]:
    u, s, vh = np.linalg.svd(input, full_matrices)
    return s, u, np.ascontiguousarray(np.swapaxes(vh, -1, -2))


def _beyond(basis: Tensor, dout: Tensor) -> Tensor:
    """Return what of ``dout`` lies outside of the space that ``basis`` spans."""
    return arithmetic.sub(dout, matmul(basis, matmul(transposed(basis), dout)))


def _skew(basis: Tensor, dout: Tensor) -> Tensor:
    turn = matmul(transposed(basis), dout)
    return arithmetic.sub(turn, transposed(turn))


def _svd_grad(ctx: GradContext) -> Grads:
    s, u, v = ctx.outputs
    if u.shape[-1] != v.shape[-1]:
        raise ValueError("svd: the gradient is defined with full_matrices=False alone.")
    across, down = array.expand_dims(s, -2), array.expand_dims(s, -1)
    gaps = None
    inner = _on_diagonal(_or_zeros(ctx.douts[0], s))
    rest: list[Tensor] = []
    for basis, dout, scale in ((u, ctx.douts[1], across), (v, ctx.douts[2], down)):
        if dout is None:
            continue
        gaps = _gaps(math.square(s)) if gaps is None else gaps
        turned = arithmetic.mul(arithmetic.mul(gaps, _skew(basis, dout)), scale)
        inner = arithmetic.add(inner, turned)
        beyond = arithmetic.div(_beyond(basis, dout), across)
        outward = matmul(beyond, transposed(v if basis is u else u))
        rest.append(outward if basis is u else transposed(outward))
    total = matmul(matmul(u, inner), transposed(v))
    for part in rest:
        total = arithmetic.add(total, part)
    return (total,)


@op(
    infer=_svd_rule,
    kernel=told("svd", _svd_kernel),
    grad=_svd_grad,
    lowering=LAPACK,
    category="gradient",
    inputs=("input",),
)
def singular_decomposition(input: TensorLike, full_matrices: bool) -> Call:
    """Return singular values and vectors.

    Parameters
    ----------
    input : Tensor
        ``[..., m, n]``.
    full_matrices : bool
        Whether the bases are complete.

    Returns
    -------
    tuple of Tensor
        Values, left vectors, right vectors.
    """
    return (as_float(input),), {"full_matrices": bool(full_matrices)}
