"""Layers with weights: Dense, Conv2d, Embedding."""

from __future__ import annotations

import math
from typing import Any, Literal

from .. import ops
from ..dtype import DType, dtype_of, float32
from ..parameter import Parameter
from ..tensor import Tensor
from .cell import Cell
from .initializer import HeUniform, Initializer, Uniform, initializer

Init = Tensor | str | Initializer | float | None
PadMode = Literal["same", "valid", "pad"]


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


def pair(owner: str, name: str, value: int | tuple[int, int]) -> tuple[int, int]:
    """A size for both axes of an image.

    Raises
    ------
    ValueError
        If it is neither a positive int nor two of them.
    """
    both = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(both) != 2:
        raise ValueError(f"{owner}: {name} must be one int or two, it is {value!r}.")
    return positive(owner, name, both[0]), positive(owner, name, both[1])


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


class Conv2d(Cell):
    """A convolution over images.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the input and of the output.
    kernel_size : int or tuple of int
        Height and width of the window.
    stride : int or tuple of int
        Steps of the window.
    pad_mode : {"same", "valid", "pad"}
        ``same`` pads so that the output is the input's size divided by the stride, ``valid`` not at
        all, ``pad`` by `padding`.
    padding : int or tuple of int
        Zeros around the image under ``pad``: one number, or top, bottom, left and right.
    dilation : int or tuple of int
        Distance of the window's taps.
    group : int
        How many groups the channels are split into.
    has_bias : bool
        Whether a bias is added to each channel.
    weight_init, bias_init : Tensor, str, Initializer or number, optional
        Initial values; by default uniform within ``sqrt(1 / fan_in)``.
    dtype : DType
        Type of the parameters.
    x : Tensor
        ``[n, in_channels, h, w]``.

    Raises
    ------
    TypeError, ValueError
        If a size does not fit.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        pad_mode: PadMode = "same",
        padding: int | tuple[int, int, int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Init = None,
        bias_init: Init = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.in_channels = positive("Conv2d", "in_channels", in_channels)
        self.out_channels = positive("Conv2d", "out_channels", out_channels)
        self.kernel_size = pair("Conv2d", "kernel_size", kernel_size)
        self.stride = pair("Conv2d", "stride", stride)
        self.pad_mode, self.padding = pad_mode, padding
        self.dilation = pair("Conv2d", "dilation", dilation)
        self.group = positive("Conv2d", "group", group)
        self.has_bias = bool(has_bias)
        if in_channels % group or out_channels % group:
            raise ValueError(
                f"Conv2d: in_channels {in_channels} and out_channels {out_channels} must be"
                f" multiples of group {group}."
            )
        if pad_mode != "pad" and padding not in (0, (0, 0, 0, 0)):
            raise ValueError(
                f"Conv2d: padding {padding!r} needs pad_mode 'pad', it is {pad_mode!r}."
            )
        kind = dtype_of(dtype)
        shape = (out_channels, in_channels // group, *self.kernel_size)
        self.weight = weight_of(weight_init, shape, kind)
        fan_in = math.prod(shape[1:])
        self.bias = bias_of(bias_init, out_channels, fan_in, kind) if has_bias else None

    def construct(self, x: Tensor) -> Tensor:
        """Convolve."""
        return ops.conv2d(
            x, self.weight, self.bias, self.stride, self.pad_mode, self.padding, self.dilation,
            self.group,
        )  # fmt: skip

    def extend_repr(self) -> str:
        """Sizes and padding."""
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels},"
            f" kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode},"
            f" padding={self.padding}, dilation={self.dilation}, group={self.group},"
            f" has_bias={self.has_bias}"
        )


class Embedding(Cell):
    """A table of vectors, looked up by number.

    Parameters
    ----------
    vocab_size : int
        How many vectors.
    embedding_size : int
        Their length.
    use_one_hot : bool
        Whether to look up by a product with one-hot rows; the result is the same.
    embedding_table : Tensor, str, Initializer or number
        Initial values.
    padding_idx : int, optional
        A number whose vector starts as zeros.
    dtype : DType
        Type of the table.
    x : Tensor
        Integers of any shape; the output has one axis more, of `embedding_size`.

    Raises
    ------
    TypeError, ValueError
        If a size is no positive int, or `padding_idx` is outside the table.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Init = "normal",
        padding_idx: int | None = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.vocab_size = positive("Embedding", "vocab_size", vocab_size)
        self.embedding_size = positive("Embedding", "embedding_size", embedding_size)
        self.use_one_hot = bool(use_one_hot)
        if padding_idx is not None and not 0 <= padding_idx < vocab_size:
            raise ValueError(
                f"Embedding: padding_idx {padding_idx} is outside 0..{vocab_size - 1}."
            )
        self.padding_idx = padding_idx
        chosen = "normal" if embedding_table is None else embedding_table
        table = Parameter(initializer(chosen, (vocab_size, embedding_size), dtype))
        if padding_idx is not None:
            table.data[padding_idx] = 0
        self.embedding_table = table

    def construct(self, x: Tensor) -> Tensor:
        """Look the vectors up."""
        if self.use_one_hot:
            rows = ops.one_hot(x, self.vocab_size, 1.0, 0.0)
            return ops.matmul(rows, self.embedding_table)
        return ops.gather(self.embedding_table, x, 0)

    def extend_repr(self) -> str:
        """Sizes."""
        return f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}"
