"""Primitives of normalisation, which return the statistics too."""

from __future__ import annotations

from ..shape import ShapeError, shape_text
from ..tensor import Tensor
from . import array, math, reduce
from .arithmetic import add, mul, sub
from .batch_norm import batch_norm
from .cast import as_float, cast_to
from .layer_norm import normalized
from .primitives import OwnCall
from .registry import OPS
from .rules import normalize_axis


class BatchNorm(OwnCall):
    """Normalises channels: ``BatchNorm(is_training, ...)(x, scale, bias, mean, variance)``.

    Parameters
    ----------
    is_training : bool
        Whether the batch's own statistics are used.
    epsilon : float
        What is added to the variance.
    momentum : float
        The share of the new statistics in the running ones.
    data_format : str
        The order of the axes: channels first.
    """

    op = OPS["batch_norm"]

    def __init__(
        self,
        is_training: bool = False,
        epsilon: float = 1e-5,
        momentum: float = 0.1,
        data_format: str = "NCHW",
    ) -> None:
        if data_format != "NCHW":
            raise ValueError(f"BatchNorm: data_format must be 'NCHW', it is {data_format!r}.")
        if not 0 < epsilon <= 1 or not 0 <= momentum <= 1:
            raise ValueError(
                f"BatchNorm: epsilon must be in 0..1 and not 0, momentum in 0..1; they are"
                f" {epsilon} and {momentum}."
            )
        self.attrs = {
            "is_training": bool(is_training), "epsilon": float(epsilon),
            "momentum": float(momentum),
        }  # fmt: skip

    def __call__(
        self, input_x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return the output, the statistics that it used, and twice those for a gradient."""
        a = self.attrs
        if a["is_training"]:
            x = as_float(input_x)
            out, _, _ = batch_norm(
                x, mean, variance, scale, bias, True, a["momentum"], a["epsilon"]
            )
            axes = tuple(axis for axis in range(len(x.shape)) if axis != 1)
            mean = reduce.mean(x, axes)
            along = (1, -1) + (1,) * (len(x.shape) - 2)
            variance = reduce.mean(math.square(sub(x, array.reshape(mean, along))), axes)
        else:
            out = batch_norm(input_x, mean, variance, scale, bias, eps=a["epsilon"])
        return out, mean, variance, mean, variance


class LayerNorm(OwnCall):
    """Normalises the axes from one on: ``LayerNorm(begin_norm_axis, ...)(x, gamma, beta)``.

    Parameters
    ----------
    begin_norm_axis : int
        The first axis that is normalised over.
    begin_params_axis : int
        The first axis of scale and shift.
    epsilon : float
        What is added to the variance.
    """

    op = OPS["layer_norm"]

    def __init__(
        self, begin_norm_axis: int = 1, begin_params_axis: int = 1, epsilon: float = 1e-7
    ) -> None:
        for name, axis in (
            ("begin_norm_axis", begin_norm_axis), ("begin_params_axis", begin_params_axis),
        ):  # fmt: skip
            if isinstance(axis, bool) or not isinstance(axis, int):
                raise TypeError(f"LayerNorm: {name} must be an int, it is {axis!r}.")
        if epsilon < 0:
            raise ValueError(f"LayerNorm: epsilon must not be negative, it is {epsilon}.")
        self.attrs = {
            "begin_norm_axis": begin_norm_axis, "begin_params_axis": begin_params_axis,
            "epsilon": float(epsilon),
        }  # fmt: skip

    def __call__(
        self, input_x: Tensor, gamma: Tensor, beta: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the output, and mean and variance with size 1 on the normalised axes."""
        x, a = as_float(input_x), self.attrs
        ndim = len(x.shape)
        first = normalize_axis("LayerNorm: begin_norm_axis", a["begin_norm_axis"], ndim)
        own = normalize_axis("LayerNorm: begin_params_axis", a["begin_params_axis"], ndim)
        scale, shift = (cast_to(as_float(item), x.dtype) for item in (gamma, beta))
        for name, item in (("gamma", scale), ("beta", shift)):
            if item.shape != x.shape[own:]:
                raise ShapeError(
                    f"LayerNorm: {name} {shape_text(item.shape)} must have the shape"
                    f" {shape_text(x.shape[own:])}, that of the axes from {own} on."
                )
        axes = tuple(range(first, ndim))
        out, _ = normalized(x, axes, a["epsilon"])
        mean = reduce.mean(x, axes, keepdims=True)
        variance = reduce.mean(math.square(sub(x, mean)), axes, keepdims=True)
        return add(mul(out, scale), shift), mean, variance
