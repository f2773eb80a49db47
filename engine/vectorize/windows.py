"""Batching rules of windows over images: examples join the batch, or the channels as groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..ops import array, registry
from ..ops.registry import Op
from ..tensor import Tensor

if TYPE_CHECKING:
    from .batched import BatchTrace

Attrs = dict[str, Any]


def _joined(trace: BatchTrace, tensor: Tensor) -> Tensor:
    """Return all examples' images as one batch."""
    size, n, *rest = trace.whole(tensor).shape
    return array.reshape(trace.whole(tensor), (size * n, *rest))


def _parted(trace: BatchTrace, found: Any) -> Any:
    """Undo `_joined`, of one output or of several."""
    if isinstance(found, tuple):
        return tuple(_parted(trace, part) for part in found)
    count, *rest = found.shape
    return array.reshape(found, (trace.size, count // trace.size, *rest))


def _by_image(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    """Ops that treat each image of a batch alone."""
    joined = tuple(_joined(trace, tensor) for tensor in inputs)
    return _parted(trace, registry.apply(op, joined, attrs))


def _as_groups(trace: BatchTrace, tensor: Tensor) -> Tensor:
    """Return all examples' images with their channels side by side."""
    whole = trace.whole(tensor)
    size, n, channels, *rest = whole.shape
    order = (1, 0, *range(2, len(whole.shape)))
    return array.reshape(array.transpose(whole, order), (n, size * channels, *rest))


def _convolution(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    """A convolution or its gradient to the images, by one weight or by one an example."""
    images, *weights = inputs
    if not any(trace.is_batched(weight) for weight in weights):
        found = registry.apply(op, (_joined(trace, images), *weights), attrs)
        return _parted(trace, found)
    grouped = {**attrs, "groups": attrs["groups"] * trace.size}
    rows = tuple(_joined(trace, weight) for weight in weights)
    found = registry.apply(op, (_as_groups(trace, images), *rows), grouped)
    n, channels, *rest = found.shape
    parts = array.reshape(found, (n, trace.size, channels // trace.size, *rest))
    return array.transpose(parts, (1, 0, *range(2, len(parts.shape))))


def _weight_grad(trace: BatchTrace, op: Op, inputs: tuple[Tensor, ...], attrs: Attrs) -> Any:
    """A convolution's gradient to its weight, one an example."""
    grouped = {**attrs, "groups": attrs["groups"] * trace.size}
    both = tuple(_as_groups(trace, tensor) for tensor in inputs)
    return _parted(trace, registry.apply(op, both, grouped))


WINDOW_RULES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(
        ("max_pool2d", "max_pool2d_grad", "pool_pick", "pool_indices", "avg_pool2d",
         "avg_pool2d_grad", "frame_windows", "frame_windows_sum", "adaptive_mean",
         "adaptive_mean_grad", "adaptive_maximum", "fractional_maximum", "plane_pick", "plane_add",
         "plane_put"), _by_image,
    ),
    "conv2d": _convolution, "conv2d_input_grad": _convolution, "conv2d_weight_grad": _weight_grad,
}  # fmt: skip
"""Rules by the names of ops."""
