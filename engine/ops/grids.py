"""Tensors made from sizes alone: identities, positions of triangles, evenly spaced numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtype import DType, dtype_of, float32, int64
from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, logic
from .array import expand_dims
from .axes import movedim
from .cast import TensorLike, as_float_pair, as_tensor, cast_to
from .creation import full, zeros_like
from .declarations import composite
from .literals import constant
from .registry import Call, GradContext, Grads, Host, op
from .rules import normalize_axis, same

ONCE = Host("made once, in NumPy")


@op(
    infer=lambda n, m, dtype: Aval((n, m), dtype),
    kernel=lambda n, m, dtype: np.eye(n, m, dtype=dtype.numpy),
    lowering=ONCE,
    category="array",
    inputs=(),
)
def eye(n: int, m: int | None = None, dtype: Any = None) -> Call:
    """Return ones on the diagonal and zeros elsewhere.

    Parameters
    ----------
    n : int
        Number of rows.
    m : int, optional
        Number of columns; by default as many.
    dtype : DType, optional
        Element type; by default ``Float32``.

    Returns
    -------
    Tensor
        ``[n, m]``.

    Raises
    ------
    ValueError
        If a size is negative.
    """
    columns = n if m is None else m
    if n < 0 or columns < 0:
        raise ValueError(f"eye: n and m must not be negative, they are {n} and {columns}.")
    return (), {"n": int(n), "m": int(columns), "dtype": dtype_of(dtype or float32)}


def _triangle(find: Callable[..., Any]) -> dict[str, Any]:
    def kernel(row: int, col: int, offset: int, dtype: DType) -> np.ndarray:
        return np.stack(find(row, offset, col)).astype(dtype.numpy)

    return {
        "infer": lambda **attrs: Aval(kernel(**attrs).shape, attrs["dtype"]),
        "kernel": kernel, "lowering": ONCE, "category": "array", "inputs": (),
    }  # fmt: skip


@op(**_triangle(np.tril_indices))
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64) -> Call:
    """Return the positions on and below a diagonal.

    Parameters
    ----------
    row, col : int
        Size of the matrix.
    offset : int
        Which diagonal; positive ones lie above the main one.
    dtype : DType
        An integer type.

    Returns
    -------
    Tensor
        ``[2, count]``: row numbers, then column numbers.
    """
    return (), {"row": row, "col": col, "offset": offset, "dtype": dtype_of(dtype)}


@op(**_triangle(np.triu_indices))
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64) -> Call:
    """Return the positions on and above a diagonal.

    Parameters
    ----------
    row, col : int
        Size of the matrix.
    offset : int
        Which diagonal; positive ones lie above the main one.
    dtype : DType
        An integer type.

    Returns
    -------
    Tensor
        ``[2, count]``: row numbers, then column numbers.
    """
    return (), {"row": row, "col": col, "offset": offset, "dtype": dtype_of(dtype)}


def _linspace(start: Tensor, end: Tensor, steps: int) -> Tensor:
    share = np.linspace(0.0, 1.0, steps)
    kind = start.dtype.numpy
    left, right = constant((1.0 - share).astype(kind)), constant(share.astype(kind))
    return arithmetic.add(arithmetic.mul(start, left), arithmetic.mul(end, right))


def _ends(name: str, start: TensorLike, end: TensorLike, steps: int) -> tuple[Tensor, Tensor]:
    if steps < 1:
        raise ValueError(f"{name}: steps must be positive, it is {steps}.")
    first, last = as_float_pair(as_tensor(start), as_tensor(end))
    for label, tensor in (("start", first), ("end", last)):
        if tensor.shape:
            raise ShapeError(f"{name}: {label} {shape_text(tensor.shape)} must have no axes.")
    return first, last


@composite(_linspace, category="array", inputs=("start", "end"), primitive="LinSpace")
def linspace(start: TensorLike, end: TensorLike, steps: int) -> Call:
    """Return evenly spaced numbers from ``start`` to ``end``, both included.

    Parameters
    ----------
    start, end : number or Tensor
        The first and the last number; tensors have no axes.
    steps : int
        How many numbers.

    Returns
    -------
    Tensor
        ``[steps]``, ``Float32`` for Python numbers.

    Raises
    ------
    ValueError
        If ``steps`` is not positive.
    """
    return _ends("linspace", start, end, steps), {"steps": int(steps)}


def _logspace(start: Tensor, end: Tensor, steps: int, base: float, dtype: DType) -> Tensor:
    exponents = _linspace(start, end, steps)
    powers = arithmetic.pow(full((), base, exponents.dtype), exponents)
    return cast_to(powers, dtype)


@composite(_logspace, category="array", inputs=("start", "end"), primitive="LogSpace")
def logspace(
    start: TensorLike, end: TensorLike, steps: int, base: float = 10, *, dtype: Any = float32
) -> Call:
    """Return powers of ``base`` with evenly spaced exponents from ``start`` to ``end``.

    Parameters
    ----------
    start, end : number or Tensor
        The first and the last exponent; tensors have no axes.
    steps : int
        How many numbers.
    base : number
        The base.
    dtype : DType
        Element type of the result.

    Returns
    -------
    Tensor
        ``[steps]``.

    Raises
    ------
    ValueError
        If ``steps`` is not positive.
    """
    attrs = {"steps": int(steps), "base": float(base), "dtype": dtype_of(dtype)}
    return _ends("logspace", start, end, steps), attrs


def _fill_diagonal_kernel(input: np.ndarray, fill_value: float, wrap: bool) -> np.ndarray:
    out = input.copy()
    np.fill_diagonal(out, fill_value, wrap)
    return out


def _fill_diagonal_grad(ctx: GradContext) -> Grads:
    return (fill_diagonal(ctx.dout, 0, ctx.attrs["wrap"]),)


@op(
    infer=same,
    kernel=_fill_diagonal_kernel,
    grad=_fill_diagonal_grad,
    lowering=Host("writes a diagonal"),
    category="array",
    inputs=("input",),
    method=True,
)
def fill_diagonal(input: TensorLike, fill_value: float, wrap: bool = False) -> Call:
    """Write one number on the main diagonal.

    Parameters
    ----------
    input : Tensor
        At least two axes; of more than two all must have one size.
    fill_value : number
        The number.
    wrap : bool
        Whether the diagonal begins anew, after an empty row, below a tall matrix's end.

    Returns
    -------
    Tensor
        The changed copy.

    Raises
    ------
    ValueError
        If the input has less than two axes, or more with different sizes.
    """
    tensor = as_tensor(input)
    if len(tensor.shape) < 2 or (len(tensor.shape) > 2 and len({*tensor.shape}) > 1):
        raise ShapeError(
            f"fill_diagonal: input {shape_text(tensor.shape)} must have two axes, or more of one"
            " size."
        )
    return (tensor,), {"fill_value": fill_value, "wrap": bool(wrap)}


def _diag_embed(input: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    from .padding import pad

    size = input.shape[-1]
    assert isinstance(size, int)
    side = size + abs(offset)
    padded = pad(input, (0, side - size)) if offset else input
    mask = constant(np.eye(side, side, offset, dtype=np.bool_))
    spread = expand_dims(padded, -1 if offset >= 0 else -2)
    whole = logic.select(mask, spread, zeros_like(spread))
    ndim = len(whole.shape)
    return whole if (dim1, dim2) == (ndim - 2, ndim - 1) else movedim(whole, (-2, -1), (dim1, dim2))


@composite(_diag_embed, category="array", inputs=("input",), method=True)
def diag_embed(input: TensorLike, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Call:
    """Put the last axis on the diagonal of a plane of zeros.

    Parameters
    ----------
    input : Tensor
        At least one axis.
    offset : int
        Which diagonal; positive ones lie above the main one.
    dim1, dim2 : int
        Where the plane's two axes stand in the result.

    Returns
    -------
    Tensor
        One axis more than the input.

    Raises
    ------
    ValueError
        If ``dim1`` and ``dim2`` are the same axis.
    """
    tensor = as_tensor(input)
    ndim = len(tensor.shape) + 1
    if ndim < 2 or not isinstance(tensor.shape[-1], int):
        raise ShapeError(
            f"diag_embed: input {shape_text(tensor.shape)} must end with an axis of a known size."
        )
    first, second = (normalize_axis("diag_embed", axis, ndim) for axis in (dim1, dim2))
    if first == second:
        raise ShapeError(f"diag_embed: dim1 {dim1} and dim2 {dim2} must be two axes.")
    return (tensor,), {"offset": int(offset), "dim1": first, "dim2": second}
