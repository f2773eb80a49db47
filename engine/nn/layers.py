"""Fully connected layers, and how layers get their weights and check their sizes."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..dtype import DType, dtype_of, float32
from ..parameter import Parameter
from ..tensor import Tensor
from .cell import Cell
from .initializer import HeUniform, Initializer, Uniform, initializer

Init = Tensor | str | Initializer | float | None


def weight_of(init: Init, shape: tuple[int, ...], dtype: DType) -> Parameter:
    """The weight of a layer; by default within ``sqrt(1 / fan_in)``, as He et al. for slope √5."""
    chosen = HeUniform(math.sqrt(5)) if init is None else init
    return Parameter(initializer(chosen, shape, dtype))


def bias_of(init: Init, size: int, fan_in: int, dtype: DType) -> Parameter:
    """The bias of a layer; by default uniform within ``sqrt(1 / fan_in)``."""
    chosen = Uniform(1.0 / math.sqrt(fan_in)) if init is None else init
    return Parameter(initializer(chosen, (size,), dtype))


def positive(owner: str, name: str, value: Any) -> int:
    """Check that a size is a whole number above zero.

    Raises
    ------
    TypeError, ValueError
        If it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{owner}: {name} must be an int, it is {value!r}.")
    if value < 1:
        raise ValueError(f"{owner}: {name} must be positive, it is {value}.")
    return value


def sizes(owner: str, name: str, value: int | tuple[int, ...], axes: int) -> Any:
    """A tuple of a size for each of so many axes, from one for all or one for each.

    Raises
    ------
    TypeError, ValueError
        If it is neither a positive int nor so many of them.
    """
    each = tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes
    each = each * axes if len(each) == 1 else each
    if len(each) != axes:
        raise ValueError(f"{owner}: {name} must be one int or {axes}, it is {value!r}.")
    return tuple(positive(owner, name, size) for size in each)


class Dense(Cell):
    """A fully connected layer: ``x @ weight.T + bias``.

    Parameters
    ----------
    in_channels : int
        Size of the input's last axis.
    out_channels : int
        Size of the output's last axis.
    weight_init, bias_init : Tensor, str, Initializer or number, optional
        Initial values; by default uniform within ``sqrt(1 / in_channels)``.
    has_bias : bool
        Whether a bias is added.
    activation : str or Cell, optional
        What follows, by name (``"relu"``) or as a Cell.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[..., in_channels]``; the output is ``[..., out_channels]``.

    Raises
    ------
    TypeError, ValueError
        If a size is no positive int.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Init = None,
        bias_init: Init = None,
        has_bias: bool = True,
        activation: str | Cell | None = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.in_channels = positive("Dense", "in_channels", in_channels)
        self.out_channels = positive("Dense", "out_channels", out_channels)
        self.has_bias = bool(has_bias)
        kind = dtype_of(dtype)
        self.weight = weight_of(weight_init, (out_channels, in_channels), kind)
        self.bias = bias_of(bias_init, out_channels, in_channels, kind) if has_bias else None
        self.activation = _activation(activation)

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer."""
        out = ops.dense(x, self.weight, self.bias)
        return out if self.activation is None else self.activation(out)

    def extend_repr(self) -> str:
        """Sizes and bias."""
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels},"
            f" has_bias={self.has_bias}"
        )


def _activation(chosen: str | Cell | None) -> Cell | None:
    if not isinstance(chosen, str):
        return chosen
    from .activation import get_activation

    return get_activation(chosen)


class BiDense(Cell):
    """A layer of products of two inputs' elements: ``x1 @ weight[o] @ x2 + bias[o]``.

    Parameters
    ----------
    in1_channels, in2_channels : int
        Sizes of the inputs' last axes.
    out_channels : int
        Size of the output's last axis.
    weight_init, bias_init : Tensor, str, Initializer or number, optional
        Initial values; by default uniform within ``sqrt(1 / in1_channels)``.
    has_bias : bool
        Whether a bias is added.
    dtype : DType
        Type of the parameters.
    input1 : Tensor
        ``[..., in1_channels]``.
    input2 : Tensor
        ``[..., in2_channels]``, with the same sizes before; the output is ``[..., out_channels]``.

    Raises
    ------
    TypeError, ValueError
        If a size is no positive int.
    """

    def __init__(
        self,
        in1_channels: int,
        in2_channels: int,
        out_channels: int,
        weight_init: Init = None,
        bias_init: Init = None,
        has_bias: bool = True,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.in1_channels = positive("BiDense", "in1_channels", in1_channels)
        self.in2_channels = positive("BiDense", "in2_channels", in2_channels)
        self.out_channels = positive("BiDense", "out_channels", out_channels)
        self.has_bias = bool(has_bias)
        kind = dtype_of(dtype)
        shape = (out_channels, in1_channels, in2_channels)
        chosen = Uniform(1.0 / math.sqrt(in1_channels)) if weight_init is None else weight_init
        self.weight = weight_of(chosen, shape, kind)
        self.bias = bias_of(bias_init, out_channels, in1_channels, kind) if has_bias else None

    def construct(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Apply the layer."""
        return ops.bidense(input1, input2, self.weight, self.bias)

    def extend_repr(self) -> str:
        """Sizes and bias."""
        return (
            f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels},"
            f" out_channels={self.out_channels}, has_bias={self.has_bias}"
        )
