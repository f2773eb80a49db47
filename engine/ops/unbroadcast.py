"""Bringing a gradient back from a broadcast shape to the operand's own."""

from __future__ import annotations

from ..shape import Shape
from ..tensor import Tensor
from . import array, reduce
from .registry import GradContext, Grads


def sum_to(grad: Tensor, shape: Shape) -> Tensor:
    """Sum ``grad`` over the axes along which an operand of ``shape`` was broadcast."""
    if tuple(grad.shape) == tuple(shape):
        return grad
    lead = len(grad.shape) - len(shape)
    axes = tuple(range(lead)) + tuple(
        axis + lead for axis, size in enumerate(shape) if size == 1 and grad.shape[axis + lead] != 1
    )
    summed = reduce.sum(grad, axes, keepdims=False) if axes else grad
    return summed if tuple(summed.shape) == tuple(shape) else array.reshape(summed, shape)


def fit(ctx: GradContext, *grads: Tensor | None) -> Grads:
    """Return each wanted gradient summed to its input's shape, None for the others."""
    return tuple(
        sum_to(grad, tensor.shape) if need and grad is not None else None
        for grad, tensor, need in zip(grads, ctx.inputs, ctx.needs, strict=True)
    )
