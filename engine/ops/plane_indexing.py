"""Elements of planes by their places: what pooling by indices and its gradients are made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..shape import Aval, Dim
from ..tensor import Tensor
from .registry import Call, GradContext, Grads, Host, op

_REASON = "reads and writes by index in NumPy"


def _places(indices: np.ndarray, count: int) -> np.ndarray:
    """Return indices into all planes one after another.

    Raises
    ------
    IndexError
        If one is outside its plane.
    """
    if indices.size and not 0 <= indices.min() <= indices.max() < count:
        raise IndexError(
            f"indices must be from 0 to {count - 1}, the places of a plane; they reach from"
            f" {indices.min()} to {indices.max()}."
        )
    planes = math.prod(indices.shape[:2])
    starts = np.arange(planes, dtype=np.int64) * count
    places = indices.reshape(planes, math.prod(indices.shape[2:]))
    return (places + starts[:, None]).ravel()


def _pick_kernel(input: np.ndarray, indices: np.ndarray) -> np.ndarray:
    at = _places(indices, math.prod(input.shape[2:]))
    return input.reshape(-1)[at].reshape(indices.shape)


def _pick_grad(ctx: GradContext) -> Grads:
    return plane_add(ctx.dout, ctx.inputs[1], tuple(ctx.inputs[0].shape[2:])), None


@op(
    infer=lambda input, indices: Aval(indices.shape, input.dtype),
    kernel=_pick_kernel,
    grad=_pick_grad,
    lowering=Host(_REASON),
    category="gradient",
)
def plane_pick(input: Tensor, indices: Tensor) -> Call:
    """Return the elements of planes that stand at places.

    Parameters
    ----------
    input : Tensor
        ``[n, c, *sizes]``.
    indices : Tensor
        Integers ``[n, c, ...]``, places in the plane.

    Returns
    -------
    Tensor
        The shape of the indices.
    """
    return (input, indices), {}


def _add_kernel(dout: np.ndarray, indices: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    count = math.prod(size)
    at = _places(indices, count)
    total = np.bincount(at, dout.ravel(), math.prod(dout.shape[:2]) * count)
    return total.reshape(*dout.shape[:2], *size).astype(dout.dtype)


def _add_grad(ctx: GradContext) -> Grads:
    return plane_pick(ctx.dout, ctx.inputs[1]), None


def _sized(first: Aval, indices: Aval, size: tuple[Dim, ...]) -> Aval:
    return Aval((*first.shape[:2], *size), first.dtype)


@op(
    infer=_sized,
    kernel=_add_kernel,
    grad=_add_grad,
    lowering=Host(_REASON),
    category="gradient",
    inputs=("dout", "indices"),
)
def plane_add(dout: Tensor, indices: Tensor, size: Any) -> Call:
    """Add elements up at their places in planes of zeros.

    Parameters
    ----------
    dout : Tensor
        ``[n, c, ...]``.
    indices : Tensor
        Integers of that shape, places in the plane.
    size : tuple of int
        Sizes of the planes.

    Returns
    -------
    Tensor
        ``[n, c, *size]``.
    """
    return (dout, indices), {"size": size}


def _put_kernel(x: np.ndarray, indices: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    out = np.zeros((*x.shape[:2], *size), x.dtype)
    out.reshape(-1)[_places(indices, math.prod(size))] = x.ravel()
    return out


def _put_grad(ctx: GradContext) -> Grads:
    return plane_pick(ctx.dout, ctx.inputs[1]), None


@op(
    infer=_sized,
    kernel=_put_kernel,
    grad=_put_grad,
    lowering=Host(_REASON),
    category="gradient",
    inputs=("x", "indices"),
)
def plane_put(x: Tensor, indices: Tensor, size: Any) -> Call:
    """Write elements to their places in planes of zeros; of two for one place the last stays.

    Parameters
    ----------
    x : Tensor
        ``[n, c, ...]``.
    indices : Tensor
        Integers of that shape, places in the plane.
    size : tuple of int
        Sizes of the planes.

    Returns
    -------
    Tensor
        ``[n, c, *size]``.
    """
    return (x, indices), {"size": size}
