"""Normalisation of groups of channels, of single ones, by the mean square, and of neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..shape import Aval, ShapeError, element_count, shape_text
from ..tensor import Tensor
from . import arithmetic, array, creation, math, reduce
from .avg_pool import averaged
from .batch_norm import along_channels
from .cast import TensorLike, as_float, cast_to
from .expansion import expanded
from .layer_norm import normalized
from .registry import Call, Composite, checked, op
from .rules import require_float, require_same_dtype


def _affine(x: Tensor, weight: TensorLike | None, bias: TensorLike | None) -> tuple[Tensor, ...]:
    """Return scale and shift that are given, in the input's dtype; a shift alone gets ones."""
    if weight is None and bias is not None:
        weight = creation.ones_like(as_float(bias))
    return tuple(cast_to(as_float(item), x.dtype) for item in (weight, bias) if item is not None)


def _channel_rule(op_name: str) -> Callable[..., Aval]:
    def infer(input: Aval, *affine: Aval, num_groups: int = 1, eps: float = 0.0) -> Aval:
        require_float(op_name, "input", input)
        if input.ndim < 2:
            raise ShapeError(
                f"{op_name}: input {shape_text(input.shape)} needs two axes or more: [n, c, ...]."
            )
        channels = input.shape[1]
        if isinstance(channels, int) and channels % num_groups:
            raise ShapeError(
                f"{op_name}: the {channels} channels of input {shape_text(input.shape)} do not"
                f" divide into {num_groups} groups."
            )
        for name, aval in zip(("weight", "bias"), affine, strict=False):
            require_same_dtype(op_name, input=input, **{name: aval})
            if aval.shape != (channels,):
                raise ShapeError(
                    f"{op_name}: {name} {shape_text(aval.shape)} must have one element for each of"
                    f" the {channels} channels of input {shape_text(input.shape)}."
                )
        return input

    return infer


def _scaled(out: Tensor, affine: tuple[Tensor, ...]) -> Tensor:
    if affine:
        out = arithmetic.mul(out, along_channels(affine[0], out))
    return arithmetic.add(out, along_channels(affine[1], out)) if len(affine) == 2 else out


def _expand_group_norm(input: Tensor, *affine: Tensor, num_groups: int, eps: float) -> Tensor:
    n, channels, *sizes = input.shape
    groups = array.reshape(input, (n, num_groups, channels // num_groups, *sizes))
    out, _ = normalized(groups, tuple(range(2, len(groups.shape))), eps)
    return _scaled(array.reshape(out, input.shape), affine)


@op(
    infer=_channel_rule("group_norm"),
    kernel=expanded(_expand_group_norm),
    lowering=Composite(_expand_group_norm),
    category="nn",
    inputs=("input", "weight", "bias"),
    primitive="GroupNorm",
)
def group_norm(
    input: TensorLike,
    num_groups: int,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    eps: float = 1e-5,
) -> Call:
    """Normalize groups of channels of each sample, then scale and shift each channel.

    Parameters
    ----------
    input : Tensor
        ``[n, c, ...]``; integers are cast to float32.
    num_groups : int
        How many groups the channels are split into.
    weight, bias : Tensor, optional
        ``[c]``, scale and shift.
    eps : float
        Added to the variance.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If the channels do not divide into the groups, or a shape does not fit.

    References
    ----------
    Wu and He, Group Normalization, 2018.
    """
    x = as_float(input)
    if isinstance(num_groups, bool) or not isinstance(num_groups, int) or num_groups < 1:
        raise ValueError(f"group_norm: num_groups must be a positive int, it is {num_groups!r}.")
    attrs = {"num_groups": num_groups, "eps": float(eps)}
    return checked(_channel_rule("group_norm"), (x, *_affine(x, weight, bias)), attrs)


def _instance_rule(input: Aval, *affine: Aval, eps: float) -> Aval:
    if input.ndim < 3:
        raise ShapeError(
            f"instance_norm: input {shape_text(input.shape)} needs three axes or more:"
            " [n, c, length, ...]."
        )
    return _channel_rule("instance_norm")(input, *affine)


def _expand_instance_norm(input: Tensor, *affine: Tensor, eps: float) -> Tensor:
    out, _ = normalized(input, tuple(range(2, len(input.shape))), eps)
    return _scaled(out, affine)


@op(
    infer=_instance_rule,
    kernel=expanded(_expand_instance_norm),
    lowering=Composite(_expand_instance_norm),
    category="nn",
    inputs=("input", "weight", "bias"),
    primitive="InstanceNorm",
)
def instance_norm(
    input: TensorLike,
    weight: TensorLike | None = None,
    bias: TensorLike | None = None,
    eps: float = 1e-5,
) -> Call:
    """Normalize each channel of each sample, then scale and shift it.

    Parameters
    ----------
    input : Tensor
        ``[n, c, length, ...]``; integers are cast to float32.
    weight, bias : Tensor, optional
        ``[c]``, scale and shift.
    eps : float
        Added to the variance.

    Returns
    -------
    Tensor
        The shape of the input.

    Raises
    ------
    ValueError
        If a shape does not fit.

    References
    ----------
    Ulyanov, Vedaldi and Lempitsky, Instance Normalization, 2016.
    """
    x = as_float(input)
    return checked(_instance_rule, (x, *_affine(x, weight, bias)), {"eps": float(eps)})


def _rms_rule(x: Aval, gamma: Aval, epsilon: float) -> tuple[Aval, Aval]:
    require_float("rms_norm", "x", x)
    require_same_dtype("rms_norm", x=x, gamma=gamma)
    first = x.ndim - gamma.ndim
    if not gamma.ndim or x.shape[max(first, 0) :] != gamma.shape:
        raise ShapeError(
            f"rms_norm: x {shape_text(x.shape)} must end with the shape of gamma"
            f" {shape_text(gamma.shape)}."
        )
    return x, Aval((*x.shape[:first], *(1,) * gamma.ndim), x.dtype)


def _expand_rms_norm(x: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    axes = tuple(range(len(x.shape) - len(gamma.shape), len(x.shape)))
    mean = reduce.mean(math.square(x), axes, keepdims=True)
    scale = math.rsqrt(arithmetic.add(mean, epsilon))
    return arithmetic.mul(arithmetic.mul(x, scale), gamma), scale


@op(
    infer=_rms_rule,
    kernel=expanded(_expand_rms_norm),
    lowering=Composite(_expand_rms_norm),
    category="nn",
    primitive="RmsNorm",
)
def rms_norm(x: TensorLike, gamma: TensorLike, epsilon: float = 1e-6) -> Call:
    """Divide the last axes of each sample by their root mean square, then scale.

    Parameters
    ----------
    x : Tensor
        Any shape that ends with that of ``gamma``; integers are cast to float32.
    gamma : Tensor
        Scale; its axes are those normalised together.
    epsilon : float
        Added to the mean square.

    Returns
    -------
    tuple of Tensor
        The scaled tensor, and one over the root, with size 1 on the normalised axes.

    Raises
    ------
    ValueError
        If shapes do not fit.

    References
    ----------
    Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.
    """
    tensor = as_float(x)
    inputs = (tensor, cast_to(as_float(gamma), tensor.dtype))
    return checked(_rms_rule, inputs, {"epsilon": float(epsilon)})


def _lrn_rule(x: Aval, **_: Any) -> Aval:
    require_float("lrn", "x", x)
    if x.ndim < 3:
        raise ShapeError(f"lrn: x {shape_text(x.shape)} needs three axes or more: [n, c, ...].")
    return x


def _expand_lrn(x: Tensor, depth_radius: int, bias: float, alpha: float, beta: float) -> Tensor:
    n, channels, *sizes = x.shape
    planes = array.reshape(math.square(x), (n, 1, channels, element_count(sizes)))
    # The sum over neighbouring channels is an average over rows whose divisor is 1.
    sums = averaged(planes, {
        "kernel": (2 * depth_radius + 1, 1), "stride": (1, 1),
        "padding": (depth_radius, depth_radius, 0, 0), "count_padding": True, "spill": (0, 0),
        "divisor": 1,
    })  # fmt: skip
    base = arithmetic.add(arithmetic.mul(array.reshape(sums, x.shape), alpha), bias)
    return arithmetic.mul(x, arithmetic.pow(base, -beta))


@op(
    infer=_lrn_rule,
    kernel=expanded(_expand_lrn),
    lowering=Composite(_expand_lrn),
    category="nn",
    inputs=("x",),
    primitive="LRN",
)
def lrn(
    x: TensorLike,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Call:
    """Apply local response normalization: divide by a power of neighbouring channels' squares.

    Parameters
    ----------
    x : Tensor
        ``[n, c, ...]``; integers are cast to float32.
    depth_radius : int
        How many channels on either side count.
    bias : float
        Added to the scaled sum of squares.
    alpha : float
        What the sum of squares is multiplied by.
    beta : float
        The power.
    norm_region : str
        ``"ACROSS_CHANNELS"`` is the one region.

    Returns
    -------
    Tensor
        ``x / (bias + alpha * sum) ** beta``, the shape of the input.

    Raises
    ------
    ValueError
        If the radius is negative or the region unknown.

    References
    ----------
    Krizhevsky, Sutskever and Hinton, ImageNet Classification, 2012, section 3.3.
    """
    if norm_region != "ACROSS_CHANNELS":
        raise ValueError(f"lrn: norm_region must be 'ACROSS_CHANNELS', it is {norm_region!r}.")
    if isinstance(depth_radius, bool) or not isinstance(depth_radius, int) or depth_radius < 0:
        raise ValueError(f"lrn: depth_radius must be an int from 0, it is {depth_radius!r}.")
    attrs = {
        "depth_radius": depth_radius, "bias": float(bias), "alpha": float(alpha),
        "beta": float(beta),
    }  # fmt: skip
    return checked(_lrn_rule, (as_float(x),), attrs)
