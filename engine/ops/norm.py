"""Normalisation over batches and over the last axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtype import promote
from ..shape import Aval, ShapeError, SymDim, element_count, shape_text
from ..tensor import Tensor
from . import arithmetic, array, creation, fast, math, reduce
from .cast import TensorLike, as_float, cast_to
from .registry import Call, Composite, GradContext, Grads, Op, apply, checked, op
from .rules import as_shape, require_float, require_same_dtype

# ---- layer norm ------------------------------------------------------------------------------


def _layer_rule(
    input: Aval,
    weight: Aval | None = None,
    bias: Aval | None = None,
    *,
    normalized_shape: tuple[int, ...],
    eps: float,
) -> Aval:
    require_float("layer_norm", "input", input)
    count = len(normalized_shape)
    if not 0 < count <= input.ndim or input.shape[input.ndim - count :] != normalized_shape:
        raise ShapeError(
            f"layer_norm: input {shape_text(input.shape)} must end with normalized_shape"
            f" {shape_text(normalized_shape)}."
        )
    for name, aval in (("weight", weight), ("bias", bias)):
        if aval is None:
            continue
        require_same_dtype("layer_norm", input=input, **{name: aval})
        if aval.shape != normalized_shape:
            raise ShapeError(
                f"layer_norm: {name} {shape_text(aval.shape)} must have the shape"
                f" {shape_text(normalized_shape)}."
            )
    return input


def _last_axes(tensor: Any, normalized_shape: tuple[int, ...]) -> tuple[int, ...]:
    ndim = len(tensor.shape)
    return tuple(range(ndim - len(normalized_shape), ndim))


def _layer_kernel(
    input: np.ndarray,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    *,
    normalized_shape: tuple[int, ...],
    eps: float,
) -> np.ndarray:
    axes = _last_axes(input, normalized_shape)
    out = input - input.mean(axes, keepdims=True)
    variance = np.square(out).mean(axes, keepdims=True)
    out /= np.sqrt(variance + input.dtype.type(eps))
    if weight is not None:
        out *= weight
    if bias is not None:
        out += bias
    return out


def _normalized(x: Tensor, axes: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """Return ``(x - mean) * scale`` and ``scale``, one over the deviation."""
    centred = arithmetic.sub(x, reduce.mean(x, axes, keepdims=True))
    variance = reduce.mean(math.square(centred), axes, keepdims=True)
    scale = math.rsqrt(arithmetic.add(variance, eps))
    return arithmetic.mul(centred, scale), scale


def _expand_layer_norm(
    input: Tensor, *affine: Tensor, normalized_shape: tuple[int, ...], eps: float
) -> Tensor:
    out, _ = _normalized(input, _last_axes(input, normalized_shape), eps)
    if affine:
        out = arithmetic.mul(out, affine[0])
    return arithmetic.add(out, affine[1]) if len(affine) == 2 else out


def _layer_grad(ctx: GradContext) -> Grads:
    x, *affine = ctx.inputs
    shape, eps = ctx.attrs["normalized_shape"], ctx.attrs["eps"]
    outer = tuple(range(len(x.shape) - len(shape)))
    grads: list[Tensor | None] = [None]
    if ctx.needs[0]:
        grads[0] = layer_norm_input_grad(ctx.dout, x, *affine[:1], len(shape), eps)
    if affine:
        hat, _ = _normalized(x, _last_axes(x, shape), eps)
        scaled = arithmetic.mul(ctx.dout, hat)
        grads.append(reduce.sum(scaled, outer) if outer else scaled)
    if len(affine) == 2:
        grads.append(reduce.sum(ctx.dout, outer) if outer else ctx.dout)
    return tuple(grads)


def _fast_layer_norm(entry: Op, prepare: Callable[..., Call]) -> Callable[..., Any]:
    common = fast.Affine(entry)

    def call(
        input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
    ) -> Any:
        extra = normalized_shape, eps
        result = common(input, weight, bias, extra)
        if result is None:
            inputs, attrs = prepare(input, normalized_shape, weight, bias, eps)
            result = apply(entry, inputs, attrs)
            if isinstance(normalized_shape, int | tuple):
                common.learn(inputs, attrs, extra)
        return result

    return call


@op(
    infer=_layer_rule,
    kernel=_layer_kernel,
    grad=_layer_grad,
    lowering=Composite(_expand_layer_norm),
    category="nn",
    inputs=("input", "weight", "bias"),
    primitive="LayerNorm",
    fast=_fast_layer_norm,
)
def layer_norm(
    input: TensorLike,
    normalized_shape: Any,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    eps: float = 1e-5,
) -> Call:
    """Bring the last axes of each sample to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    input : Tensor
        Any shape that ends with ``normalized_shape``; integers are cast to float32.
    normalized_shape : int or tuple of int
        Sizes of the axes that are normalised together.
    weight, bias : Tensor, optional
        Scale and shift of the shape ``normalized_shape``.
    eps : float
        Added to the variance.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If shapes do not fit.

    References
    ----------
    Ba, Kiros and Hinton, Layer Normalization, 2016.
    """
    shape = as_shape(normalized_shape)
    x = as_float(input)
    if weight is None and bias is not None:
        weight = creation.ones_like(bias)
    affine = [cast_to(as_float(item), x.dtype) for item in (weight, bias) if item is not None]
    attrs = {"normalized_shape": shape, "eps": float(eps)}
    return checked(_layer_rule, (x, *affine), attrs)


def _expand_layer_input_grad(
    dout: Tensor, input: Tensor, *weight: Tensor, count: int, eps: float
) -> Tensor:
    ndim = len(input.shape)
    axes = tuple(range(ndim - count, ndim))
    hat, scale = _normalized(input, axes, eps)
    slope = arithmetic.mul(dout, weight[0]) if weight else dout
    mean = reduce.mean(slope, axes, keepdims=True)
    along = reduce.mean(arithmetic.mul(slope, hat), axes, keepdims=True)
    return arithmetic.mul(
        scale, arithmetic.sub(arithmetic.sub(slope, mean), arithmetic.mul(hat, along))
    )


def _layer_input_grad_kernel(
    dout: np.ndarray, input: np.ndarray, *weight: np.ndarray, count: int, eps: float
) -> np.ndarray:
    axes = tuple(range(input.ndim - count, input.ndim))
    hat = input - input.mean(axes, keepdims=True)
    deviation = np.sqrt(np.square(hat).mean(axes, keepdims=True) + input.dtype.type(eps))
    hat /= deviation
    slope = dout * weight[0] if weight else dout
    along = (slope * hat).mean(axes, keepdims=True)
    hat *= along
    out = slope - slope.mean(axes, keepdims=True)
    out -= hat
    out /= deviation
    return out


@op(
    infer=lambda dout, input, *weight, count, eps: input,
    kernel=_layer_input_grad_kernel,
    lowering=Composite(_expand_layer_input_grad),
    category="gradient",
    inputs=("dout", "input", "weight"),
    primitive="LayerNormGrad",
)
def layer_norm_input_grad(dout: Tensor, input: Tensor, *rest: Any) -> Call:
    """Return the gradient of ``layer_norm`` to its input.

    Parameters
    ----------
    dout, input : Tensor
        The output's gradient and the input.
    *rest
        The scale if there is one, then the number of normalised axes and ``eps``.

    Returns
    -------
    Tensor
        The shape of the input.
    """
    *weight, count, eps = rest
    return (dout, input, *weight), {"count": count, "eps": eps}


# ---- batch norm ------------------------------------------------------------------------------


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


def _along_channels(value: Tensor, like: Tensor) -> Tensor:
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
        centred = arithmetic.sub(input, _along_channels(mean, input))
        variance = reduce.mean(math.square(centred), axes)
    # One scale and one shift a channel, then a single pass over the images.
    scale = arithmetic.mul(weight, math.rsqrt(arithmetic.add(cast_to(variance, input.dtype), eps)))
    shift = arithmetic.sub(bias, arithmetic.mul(cast_to(mean, input.dtype), scale))
    out = arithmetic.add(
        arithmetic.mul(input, _along_channels(scale, input)), _along_channels(shift, input)
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
        variance = reduce.mean(math.square(arithmetic.sub(x, _along_channels(mean, x))), axes)
    scale = math.rsqrt(arithmetic.add(cast_to(variance, x.dtype), attrs["eps"]))
    centred = arithmetic.sub(x, _along_channels(cast_to(mean, x.dtype), x))
    hat = arithmetic.mul(centred, _along_channels(scale, x))
    dbias = reduce.sum(dout, axes)
    dweight = reduce.sum(arithmetic.mul(dout, hat), axes)
    dx = None
    if ctx.needs[0]:
        steep = _along_channels(arithmetic.mul(weight, scale), x)
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
    """Bring each channel to mean 0 and variance 1, then scale and shift.

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
