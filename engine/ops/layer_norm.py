"""Normalisation over the last axes of each sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..shape import Aval, ShapeError, shape_text
from ..tensor import Tensor
from . import arithmetic, creation, fast, math, reduce
from .cast import TensorLike, as_float, cast_to
from .registry import Call, Composite, GradContext, Grads, Op, apply, checked, op
from .rules import as_shape, require_float, require_same_dtype


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


def normalized(x: Tensor, axes: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """Return ``(x - mean) * scale`` and ``scale``, one over the deviation."""
    centred = arithmetic.sub(x, reduce.mean(x, axes, keepdims=True))
    variance = reduce.mean(math.square(centred), axes, keepdims=True)
    scale = math.rsqrt(arithmetic.add(variance, eps))
    return arithmetic.mul(centred, scale), scale


def _expand_layer_norm(
    input: Tensor, *affine: Tensor, normalized_shape: tuple[int, ...], eps: float
) -> Tensor:
    out, _ = normalized(input, _last_axes(input, normalized_shape), eps)
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
        hat, _ = normalized(x, _last_axes(x, shape), eps)
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
    """Normalize the last axes of each sample to mean 0 and variance 1, then scale and shift.

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
    hat, scale = normalized(input, axes, eps)
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
