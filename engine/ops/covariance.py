"""Covariance and correlation of variables."""

from __future__ import annotations

from ..shape import ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, array, clipping, linalg, math, reduce
from .cast import TensorLike, as_float, cast_to
from .declarations import composite
from .registry import Call


def _require_variables(name: str, tensor: Tensor) -> None:
    if len(tensor.shape) > 2:
        raise ShapeError(
            f"{name}: input {shape_text(tensor.shape)} must have two axes [variables, observations]"
            " or fewer."
        )


def _rows(input: Tensor) -> Tensor:
    return input if len(input.shape) == 2 else array.reshape(input, (1, -1))


def _expand_cov(input: Tensor, *weights: Tensor, correction: int, kinds: tuple[str, ...]) -> Tensor:
    x = _rows(input)
    ones = array.reshape(reduce.mean(arithmetic.add(arithmetic.mul(x, 0.0), 1.0), 0), (-1,))
    share, by_count = ones, ones
    for kind, weight in zip(kinds, weights, strict=True):
        share = arithmetic.mul(share, weight)
        by_count = arithmetic.mul(by_count, weight) if kind == "a" else by_count
    total = reduce.sum(share)
    mean = arithmetic.div(reduce.sum(arithmetic.mul(x, share), 1, keepdims=True), total)
    centred = arithmetic.sub(x, mean)
    # Observations of reliability a count less than their number: NumPy's cov has this divisor.
    lost = arithmetic.div(reduce.sum(arithmetic.mul(share, by_count)), total)
    divisor = arithmetic.sub(total, arithmetic.mul(lost, float(correction)))
    found = linalg.matmul(arithmetic.mul(centred, share), linalg.transposed(centred))
    found = arithmetic.div(found, arithmetic.maximum(divisor, 0.0))
    return found if len(input.shape) == 2 else array.reshape(found, ())


@composite(_expand_cov, category="reduce", inputs=("input", "fweights", "aweights"), method=True)
def cov(
    input: TensorLike,
    *,
    correction: int = 1,
    fweights: TensorLike | None = None,
    aweights: TensorLike | None = None,
) -> Call:
    """Return the covariance matrix of variables.

    Parameters
    ----------
    input : Tensor
        ``[variables, observations]``, or one variable; integers are cast to float32.
    correction : int
        Subtracted from the number of observations in the divisor.
    fweights : Tensor, optional
        ``[observations]``, how often each was made.
    aweights : Tensor, optional
        ``[observations]``, how much each counts.

    Returns
    -------
    Tensor
        ``[variables, variables]``, or one variance.

    Raises
    ------
    ValueError
        If the input has more than two axes.
    """
    tensor = as_float(input)
    _require_variables("cov", tensor)
    given = [(k, w) for k, w in (("f", fweights), ("a", aweights)) if w is not None]
    weights = tuple(cast_to(as_float(weight), tensor.dtype) for _, weight in given)
    attrs = {"correction": int(correction), "kinds": tuple(kind for kind, _ in given)}
    return (tensor, *weights), attrs


def _expand_corrcoef(input: Tensor) -> Tensor:
    x = _rows(input)
    centred = arithmetic.sub(x, reduce.mean(x, 1, keepdims=True))
    found = linalg.matmul(centred, linalg.transposed(centred))
    lengths = math.sqrt(reduce.sum(math.square(centred), 1))
    across = arithmetic.mul(array.expand_dims(lengths, 1), array.expand_dims(lengths, 0))
    found = clipping.clamp(arithmetic.div(found, across), -1.0, 1.0)
    return found if len(input.shape) == 2 else array.reshape(found, ())


@composite(_expand_corrcoef, category="reduce", method=True)
def corrcoef(input: TensorLike) -> Call:
    """Return Pearson's correlation coefficients of variables.

    Parameters
    ----------
    input : Tensor
        ``[variables, observations]``, or one variable; integers are cast to float32.

    Returns
    -------
    Tensor
        ``[variables, variables]`` in -1..1.

    Raises
    ------
    ValueError
        If the input has more than two axes.
    """
    tensor = as_float(input)
    _require_variables("corrcoef", tensor)
    return (tensor,), {}
