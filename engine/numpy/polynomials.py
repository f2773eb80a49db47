"""Polynomials by their coefficients, the highest power first, and straight lines between points."""

from __future__ import annotations

import numpy as np

from .. import ops
from ..ops.cast import TensorLike, as_float, as_tensor
from ..tensor import Tensor
from .arrangement import ravel
from .products import convolve


def _aligned(a1: TensorLike, a2: TensorLike) -> list[Tensor]:
    """Return coefficients with zeros in front, so that both are as many."""
    both = [ravel(a1), ravel(a2)]
    size = max(int(tensor.shape[0]) for tensor in both)
    return [
        ops.concat([ops.zeros((size - int(tensor.shape[0]),), tensor.dtype), tensor])
        for tensor in both
    ]


def polyadd(a1: TensorLike, a2: TensorLike) -> Tensor:
    """Add polynomials.

    Parameters
    ----------
    a1, a2 : array_like
        Coefficients, one axis each.

    Returns
    -------
    Tensor
        Coefficients of the sum.
    """
    left, right = _aligned(a1, a2)
    return left + right


def polysub(a1: TensorLike, a2: TensorLike) -> Tensor:
    """Subtract polynomials.

    Parameters
    ----------
    a1, a2 : array_like
        Coefficients, one axis each.

    Returns
    -------
    Tensor
        Coefficients of the difference.
    """
    left, right = _aligned(a1, a2)
    return left - right


def polymul(a1: TensorLike, a2: TensorLike) -> Tensor:
    """Multiply polynomials.

    Parameters
    ----------
    a1, a2 : array_like
        Coefficients, one axis each.

    Returns
    -------
    Tensor
        Coefficients of the product.
    """
    return convolve(a1, a2)


def polyval(p: TensorLike, x: TensorLike) -> Tensor:
    """Return the values of a polynomial, by Horner's rule.

    Parameters
    ----------
    p : array_like
        Coefficients, one axis.
    x : array_like
        Where, any shape.

    Returns
    -------
    Tensor
        The values.
    """
    coefficients, at = ravel(p), as_tensor(x)
    value = ops.zeros_like(at) + coefficients[0]
    for number in range(1, int(coefficients.shape[0])):
        value = value * at + coefficients[number]
    return value


def polyder(p: TensorLike, m: int = 1) -> Tensor:
    """Return the derivative of a polynomial.

    Parameters
    ----------
    p : array_like
        Coefficients, one axis.
    m : int
        How many times.

    Returns
    -------
    Tensor
        Coefficients of the derivative.
    """
    tensor = ravel(p)
    for _ in range(m):
        powers = as_tensor(np.arange(int(tensor.shape[0]) - 1, 0, -1).astype(tensor.dtype.numpy))
        tensor = tensor[:-1] * powers
    return tensor


def polyint(p: TensorLike, m: int = 1, k: float = 0.0) -> Tensor:
    """Return the integral of a polynomial.

    Parameters
    ----------
    p : array_like
        Coefficients, one axis.
    m : int
        How many times.
    k : float
        The constant that each integration adds.

    Returns
    -------
    Tensor
        Coefficients of the integral.
    """
    tensor = as_float(ravel(p))
    for _ in range(m):
        powers = as_tensor(np.arange(int(tensor.shape[0]), 0, -1).astype(tensor.dtype.numpy))
        tensor = ops.concat([tensor / powers, ops.full((1,), k, tensor.dtype)])
    return tensor


def interp(
    x: TensorLike, xp: TensorLike, fp: TensorLike, left: float | None = None,
    right: float | None = None,
) -> Tensor:  # fmt: skip
    """Return values on straight lines between points.

    Parameters
    ----------
    x : array_like
        Where, any shape.
    xp, fp : array_like
        The points: rising positions and their values, one axis each.
    left, right : float, optional
        Values before the first and behind the last point; by default those of the points.

    Returns
    -------
    Tensor
        The values.
    """
    at, places, values = as_float(x), as_float(xp), as_float(fp)
    count = int(places.shape[0])
    number = ops.clamp(ops.searchsorted(places, at, right=True), 1, count - 1)
    x0, x1 = ops.gather(places, number - 1, 0), ops.gather(places, number, 0)
    y0, y1 = ops.gather(values, number - 1, 0), ops.gather(values, number, 0)
    found = y0 + (y1 - y0) * (at - x0) / (x1 - x0)
    found = ops.where(at < places[0], values[0] if left is None else left, found)
    return ops.where(at > places[-1], values[-1] if right is None else right, found)


def unwrap(p: TensorLike, discont: float = np.pi, axis: int = -1) -> Tensor:
    """Take jumps out of angles by adding whole turns.

    Parameters
    ----------
    p : array_like
        Angles in radians.
    discont : float
        The least jump that counts as one.
    axis : int
        Along which axis.

    Returns
    -------
    Tensor
        Angles whose neighbours differ by at most half a turn.
    """
    angles = ops.moveaxis(as_float(p), axis, -1)
    step = ops.diff(angles)
    turned = ops.mod(step + np.pi, 2 * np.pi) - np.pi
    turned = ops.where(ops.logical_and(turned == -np.pi, step > 0), np.pi, turned)
    change = ops.where(ops.abs(step) < discont, 0.0, turned - step)
    return ops.moveaxis(
        ops.concat([angles[..., :1], angles[..., 1:] + ops.cumsum(change, -1)], -1), -1, axis
    )
