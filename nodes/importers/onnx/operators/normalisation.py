"""Normalisation over batches, channels, groups and neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....engine import ops
from .....engine.tensor import Tensor
from ..call import Call
from ..registry import operator


def _channels(values: Tensor, x: Tensor) -> Tensor:
    """Lay one number a channel beside the tensor, whose axis 1 has the channels."""
    return ops.reshape(values, (1, -1, *[1] * (x.ndim - 2)))


@operator("BatchNormalization")
def batch_normalization(
    call: Call, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor
) -> Any:
    """Normalise each channel, by running statistics or in training by the batch's own."""
    eps, momentum = call.attr("epsilon", 1e-5), call.attr("momentum", 0.9)
    if not call.attr("training_mode", 0):
        return _shifted(x, mean, var, scale, bias, eps)
    axes = (0, *range(2, x.ndim))
    own_mean = ops.mean(x, axes)
    own_var = ops.mean(ops.square(x - _channels(own_mean, x)), axes)
    out = _shifted(x, own_mean, own_var, scale, bias, eps)
    new_mean = mean * momentum + own_mean * (1.0 - momentum)
    new_var = var * momentum + own_var * (1.0 - momentum)
    return out, new_mean, new_var


def _shifted(
    x: Tensor, mean: Tensor, var: Tensor, scale: Tensor, bias: Tensor, eps: float
) -> Tensor:
    factor = _channels(ops.cast(scale, x.dtype) * ops.rsqrt(ops.cast(var, x.dtype) + eps), x)
    return (x - _channels(ops.cast(mean, x.dtype), x)) * factor + _channels(
        ops.cast(bias, x.dtype), x
    )


@operator("InstanceNormalization")
def instance_normalization(call: Call, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    """Normalise each channel of each example."""
    axes = tuple(range(2, x.ndim))
    centred = x - ops.mean(x, axes, True)
    var = ops.mean(ops.square(centred), axes, True)
    normal = centred * ops.rsqrt(var + call.attr("epsilon", 1e-5))
    return normal * _channels(scale, x) + _channels(bias, x)


@operator("LayerNormalization")
def layer_normalization(call: Call, x: Tensor, scale: Tensor, bias: Any = None) -> Any:
    """Normalise over the axes from ``axis`` on."""
    axis = call.attr("axis", -1) % x.ndim
    axes = tuple(range(axis, x.ndim))
    numbers = ops.cast(x, "float32") if x.dtype.itemsize < 4 else x
    mean = ops.mean(numbers, axes, True)
    centred = numbers - mean
    inverse = ops.rsqrt(ops.mean(ops.square(centred), axes, True) + call.attr("epsilon", 1e-5))
    out = ops.cast(centred * inverse, x.dtype) * scale
    out = out if bias is None else out + bias
    return (out, mean, inverse) if len(call.node.output) > 1 else out


@operator("RMSNormalization")
def rms_normalization(call: Call, x: Tensor, scale: Tensor) -> Tensor:
    """Divide by the root of the mean square over the axes from ``axis`` on."""
    axes = tuple(range(call.attr("axis", -1) % x.ndim, x.ndim))
    numbers = ops.cast(x, "float32") if x.dtype.itemsize < 4 else x
    inverse = ops.rsqrt(ops.mean(ops.square(numbers), axes, True) + call.attr("epsilon", 1e-5))
    return ops.cast(numbers * inverse, x.dtype) * scale


@operator("LpNormalization")
def lp_normalization(call: Call, x: Tensor) -> Tensor:
    """Divide by the 1- or 2-norm along an axis; zero rows stay zero."""
    axis = (call.attr("axis", -1),)
    if call.attr("p", 2) == 1:
        norm = ops.sum(ops.abs(x), axis, True)
    else:
        norm = ops.sqrt(ops.sum(x * x, axis, True))
    return ops.where(ops.equal(norm, 0), ops.zeros_like(x), x / norm)


@operator("LRN")
def lrn(call: Call, x: Tensor) -> Tensor:
    """Divide by a power of the sum of squares over neighbouring channels."""
    size, channels = call.attr("size"), x.shape[1]
    alpha, beta, bias = call.attr("alpha", 1e-4), call.attr("beta", 0.75), call.attr("bias", 1.0)
    squares, below = x * x, (size - 1) // 2
    sums = []
    for channel in range(channels):
        start, end = max(channel - below, 0), min(channel + size - below, channels)
        sums.append(ops.sum(squares[:, start:end], 1, True))
    total = ops.concat(sums, 1)
    return x / ops.pow(total * (alpha / size) + bias, beta)


@operator("MeanVarianceNormalization")
def mean_variance_normalization(call: Call, x: Tensor) -> Tensor:
    """Make mean zero and variance one over axes."""
    axes = tuple(call.attr("axes", [0, 2, 3]))
    centred = x - ops.mean(x, axes, True)
    deviation = ops.sqrt(ops.mean(ops.square(centred), axes, True))
    return centred / (deviation + float(np.float32(1e-9)))
