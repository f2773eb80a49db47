"""Determinants, their logarithms and their slopes, through LAPACK."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..shape import Aval
from ..tensor import Tensor
from . import arithmetic, array, logic, reduce
from .cast import TensorLike, as_float
from .declarations import composite
from .inversion import LAPACK, inverse, require_square, square_rule, told
from .linalg import matmul, transposed
from .registry import Call, GradContext, Grads, op
from .rules import require_float


def _numbers_rule(name: str) -> Callable[..., Aval]:
    def infer(input: Aval) -> Aval:
        require_float(name, "input", input)
        require_square(name, input)
        return Aval(input.shape[:-2], input.dtype)

    return infer


def as_matrices(numbers: Tensor) -> Tensor:
    """Return one number a matrix with two axes more, ready to broadcast beside matrices."""
    return array.reshape(numbers, (*numbers.shape, 1, 1))


def _cofactors_kernel(input: np.ndarray) -> np.ndarray:
    u, s, v = np.linalg.svd(input)
    others = (
        np.stack([np.prod(np.delete(s, i, -1), -1) for i in range(s.shape[-1])], -1)
        if s.shape[-1]
        else s
    )
    turns = np.linalg.det(u) * np.linalg.det(v)
    return (turns[..., None, None] * (u * others[..., None, :]) @ v).astype(input.dtype)


def _cofactors_grad(ctx: GradContext) -> Grads:
    found, back = ctx.outputs[0], transposed(inverse(ctx.inputs[0]))
    total = reduce.sum(arithmetic.mul(ctx.dout, found), (-2, -1), True)
    turned = matmul(matmul(found, transposed(ctx.dout)), back)
    return (arithmetic.sub(arithmetic.mul(back, total), turned),)


@op(
    infer=square_rule("cofactors"),
    kernel=told("cofactors", _cofactors_kernel),
    grad=_cofactors_grad,
    lowering=LAPACK,
    category="gradient",
)
def cofactors(input: Tensor) -> Call:
    """Return the slopes of determinants: ``det(input) * inverse(input).T``, if singular too.

    Parameters
    ----------
    input : Tensor
        ``[..., n, n]``, a float type.

    Returns
    -------
    Tensor
        The shape of the input; its own gradient needs an inverse.
    """
    return (input,), {}


def _det_grad(ctx: GradContext) -> Grads:
    return (arithmetic.mul(cofactors(ctx.inputs[0]), as_matrices(ctx.dout)),)


@op(
    infer=_numbers_rule("det"),
    kernel=told("det", np.linalg.det),
    grad=_det_grad,
    lowering=LAPACK,
    category="linalg",
    primitive="MatrixDeterminant",
    method=True,
)
def det(input: TensorLike) -> Call:
    """Return determinants.

    Parameters
    ----------
    input : Tensor
        ``[..., n, n]``; integers are cast to float32.

    Returns
    -------
    Tensor
        One number a matrix; only second derivatives need the inverse.

    Raises
    ------
    ValueError
        If a matrix is not square.

    References
    ----------
    Giles, Collected Matrix Derivative Results, 2008, 2.2.4 (gradient).
    """
    tensor = as_float(input)
    require_square("det", tensor.aval)
    return (tensor,), {}


def _slogdet_rule(input: Aval) -> tuple[Aval, Aval]:
    one = _numbers_rule("slogdet")(input)
    return one, one


def _slogdet_kernel(input: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sign, size = np.linalg.slogdet(input)
    return np.asarray(sign), np.asarray(size)


def _slogdet_grad(ctx: GradContext) -> Grads:
    if ctx.douts[1] is None:
        return (None,)
    return (arithmetic.mul(transposed(inverse(ctx.inputs[0])), as_matrices(ctx.douts[1])),)


@op(
    infer=_slogdet_rule,
    kernel=told("slogdet", _slogdet_kernel),
    grad=_slogdet_grad,
    lowering=LAPACK,
    category="linalg",
    primitive="LogMatrixDeterminant",
    method=True,
)
def slogdet(input: TensorLike) -> Call:
    """Return sign and logarithm of the size of determinants.

    Parameters
    ----------
    input : Tensor
        ``[..., n, n]``; integers are cast to float32.

    Returns
    -------
    tuple of Tensor
        Signs (-1, 0 or 1), and logarithms (of zero -Inf).

    Raises
    ------
    ValueError
        If a matrix is not square.

    References
    ----------
    Giles, Collected Matrix Derivative Results, 2008, 2.2.4 (gradient).
    """
    tensor = as_float(input)
    require_square("slogdet", tensor.aval)
    return (tensor,), {}


def _expand_logdet(input: Tensor) -> Tensor:
    sign, size = slogdet(input)
    return logic.select(logic.less(sign, 0), float("nan"), size)


@composite(_expand_logdet, category="linalg", method=True)
def logdet(input: TensorLike) -> Call:
    """Return logarithms of determinants; of negative ones NaN.

    Parameters
    ----------
    input : Tensor
        ``[..., n, n]``; integers are cast to float32.

    Returns
    -------
    Tensor
        One number a matrix.

    Raises
    ------
    ValueError
        If a matrix is not square.
    """
    tensor = as_float(input)
    require_square("logdet", tensor.aval)
    return (tensor,), {}
