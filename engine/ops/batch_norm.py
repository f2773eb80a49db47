"""Normalisation of channels over a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import promote
from ..shape import Aval, ShapeError, SymDim, element_count, shape_text
from ..tensor import Tensor
from . import arithmetic, array, creation, math, reduce
from .cast import TensorLike, as_float, cast_to
from .registry import Call, Composite, GradContext, Grads, checked, op
from .rules import require_float


def _batch_rule(
    input: Aval,
    running_mean: Aval,
    running_var: Aval,
    weight: Aval,
    bias: Aval,
    *,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    require_float("batch_norm", "input", input)
    if input.ndim < 2:
        raise ShapeError(
            f"batch_norm: input {shape_text(input.shape)} needs two axes or more: [n, c, ...]."
        )
    channels = input.shape[1]
    named = {
        "running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias,
    }  # fmt: skip
    for name, aval in named.items():
        if aval.shape != (channels,):
            raise ShapeError(
                f"batch_norm: {name} {shape_text(aval.shape)} must have one element for each of"
                f" the {channels} channels of input {shape_text(input.shape)}."
            )
    return (input, running_mean, running_var) if training else input


def _channel_axes(tensor: Any) -> tuple[int, ...]:
    return tuple(axis for axis in range(len(tensor.shape)) if axis != 1)


def along_channels(value: Tensor, like: Tensor) -> Tensor:
    """Shape one number a channel to broadcast beside ``like``."""
    return array.reshape(value, (1, -1) + (1,) * (len(like.shape) - 2))


def _unbiased(variance: Tensor, like: Tensor) -> Tensor:
    count = element_count([like.shape[axis] for axis in _channel_axes(like)])
    if isinstance(count, SymDim):
        ones = creation.ones_like(like)
        total = cast_to(reduce.sum(ones, _channel_axes(like)), variance.dtype)
        return arithmetic.mul(
            variance, arithmetic.div(total, arithmetic.maximum(arithmetic.sub(total, 1.0), 1.0))
        )
    return arithmetic.mul(variance, count / max(count - 1, 1))


def _expand_batch_norm(
    input: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor,
    bias: Tensor,
    *,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    axes = _channel_axes(input)
    mean, variance = running_mean, running_var
    if training:
        mean = reduce.mean(input, axes)
        centred = arithmetic.sub(input, along_channels(mean, input))
        variance = reduce.mean(math.square(centred), axes)
    # One scale and one shift a channel, then a single pass over the images.
    scale = arithmetic.mul(weight, math.rsqrt(arithmetic.add(cast_to(variance, input.dtype), eps)))
    shift = arithmetic.sub(bias, arithmetic.mul(cast_to(mean, input.dtype), scale))
    out = arithmetic.add(
        arithmetic.mul(input, along_channels(scale, input)), along_channels(shift, input)
    )
    if not training:
        return out
    new_mean = _moved(running_mean, cast_to(mean, running_mean.dtype), momentum)
    spread = cast_to(_unbiased(variance, input), running_var.dtype)
    return out, new_mean, _moved(running_var, spread, momentum)


def _moved(old: Tensor, new: Tensor, momentum: float) -> Tensor:
    return arithmetic.add(arithmetic.mul(old, 1.0 - momentum), arithmetic.mul(new, momentum))


def _batch_kernel(
    input: np.ndarray,
    running_mean: np.ndarray,
    running_var: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    *,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    axes = _channel_axes(input)
    shape = (1, -1) + (1,) * (input.ndim - 2)
    mean, variance = running_mean, running_var
    if training:
        mean = input.mean(axes)
        variance = np.square(input - mean.reshape(shape)).mean(axes)
    scale = weight / np.sqrt(variance.astype(input.dtype, copy=False) + input.dtype.type(eps))
    shift = bias - mean.astype(input.dtype, copy=False) * scale
    out = input * scale.reshape(shape)
    out += shift.reshape(shape)
    if not training:
        return out
    count = input.size // max(input.shape[1], 1)
    keep, take = running_mean.dtype.type(1 - momentum), running_mean.dtype.type(momentum)
    spread = variance * input.dtype.type(count / max(count - 1, 1))
    new_mean = running_mean * keep + mean.astype(running_mean.dtype, copy=False) * take
    new_var = running_var * keep + spread.astype(running_var.dtype, copy=False) * take
    return out, new_mean, new_var


def _batch_grad(ctx: GradContext) -> Grads:
    x, mean, variance, weight, _ = ctx.inputs
    dout, attrs = ctx.douts[0], ctx.attrs
    if dout is None:
        return (None,) * 5
    axes = _channel_axes(x)
    if attrs["training"]:
        mean = reduce.mean(x, axes)
        variance = reduce.mean(math.square(arithmetic.sub(x, along_channels(mean, x))), axes)
    scale = math.rsqrt(arithmetic.add(cast_to(variance, x.dtype), attrs["eps"]))
    centred = arithmetic.sub(x, along_channels(cast_to(mean, x.dtype), x))
    hat = arithmetic.mul(centred, along_channels(scale, x))
    dbias = reduce.sum(dout, axes)
    dweight = reduce.sum(arithmetic.mul(dout, hat), axes)
    dx = None
    if ctx.needs[0]:
        steep = along_channels(arithmetic.mul(weight, scale), x)
        slope = dout
        if attrs["training"]:
            mean_dout = reduce.mean(dout, axes, keepdims=True)
            along = reduce.mean(arithmetic.mul(dout, hat), axes, keepdims=True)
            slope = arithmetic.sub(arithmetic.sub(dout, mean_dout), arithmetic.mul(hat, along))
        dx = arithmetic.mul(slope, steep)
    return dx, None, None, dweight, dbias


@op(
    infer=_batch_rule,
    kernel=_batch_kernel,
    grad=_batch_grad,
    lowering=Composite(_expand_batch_norm),
    category="nn",
    inputs=("input_x", "running_mean", "running_var", "weight", "bias"),
    primitive="BatchNorm",
)
def batch_norm(
    input_x: TensorLike,
    running_mean: TensorLike,
    running_var: TensorLike,
    weight: TensorLike,
    bias: TensorLike,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Call:
    """Normalize each channel over the batch to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    input_x : Tensor
        ``[n, c, ...]``.
    running_mean, running_var : Tensor
        ``[c]``, the statistics used outside training.
    weight, bias : Tensor
        ``[c]``, scale and shift.
    training : bool
        Whether to use the batch's own statistics and move the running ones.
    momentum : float
        Share of the batch in the moved statistics.
    eps : float
        Added to the variance.

    Returns
    -------
    tuple of Tensor, or Tensor
        In training the output and the moved mean and (unbiased) variance; else the output.

    Raises
    ------
    ValueError
        If a statistic does not have one element a channel.

    References
    ----------
    Ioffe and Szegedy, Batch Normalization, 2015.
    """
    x = as_float(input_x)
    weight, bias = as_float(weight), as_float(bias)
    dtype = promote(x.dtype, weight.dtype) if training else x.dtype
    inputs = (
        cast_to(x, dtype), as_float(running_mean), as_float(running_var),
        cast_to(weight, dtype), cast_to(bias, dtype),
    )  # fmt: skip
    attrs = {"training": bool(training), "momentum": float(momentum), "eps": float(eps)}
    return checked(_batch_rule, inputs, attrs)
