"""Transformers: stacks of encoder and decoder layers, and both together."""

from __future__ import annotations

import copy

from ..dtype import DType, float32
from ..parameter import Parameter
from ..tensor import Tensor
from .cell import Cell
from .container import CellList
from .initializer import XavierUniform, initializer
from .layers import positive
from .sample_norm import LayerNorm
from .transformer_layers import Activation, TransformerDecoderLayer, TransformerEncoderLayer


def _copies(owner: str, layer: Cell, num_layers: int) -> CellList:
    if not isinstance(layer, Cell):
        raise TypeError(f"{owner}: the layer must be a Cell, not {type(layer).__name__}.")
    count = positive(owner, "num_layers", num_layers)
    return CellList([copy.deepcopy(layer) for _ in range(count)])


class TransformerEncoder(Cell):
    """Encoder layers, one after the other.

    Parameters
    ----------
    encoder_layer : Cell
        The layer; the stack holds copies of it, which begin with its values.
    num_layers : int
        How many.
    norm : Cell, optional
        What follows the last layer.
    src : Tensor
        ``[length, n, d_model]``.
    src_mask : Tensor, optional
        ``[length, length]``. Bool: what is hidden; numbers: added to the scores.
    src_key_padding_mask : Tensor, optional
        ``[n, length]``, of the same kinds.
    """

    def __init__(self, encoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.layers = _copies("TransformerEncoder", encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def construct(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Run all layers."""
        out = src
        for layer in self.layers:
            out = layer(out, src_mask, src_key_padding_mask)
        return out if self.norm is None else self.norm(out)


class TransformerDecoder(Cell):
    """Decoder layers, one after the other.

    Parameters
    ----------
    decoder_layer : Cell
        The layer; the stack holds copies of it, which begin with its values.
    num_layers : int
        How many.
    norm : Cell, optional
        What follows the last layer.
    tgt : Tensor
        ``[length, n, d_model]``.
    memory : Tensor
        ``[keys, n, d_model]``, what the encoder gave.
    tgt_mask, memory_mask : Tensor, optional
        ``[length, length]`` and ``[length, keys]``. Bool: what is hidden; numbers: added to the
        scores.
    tgt_key_padding_mask, memory_key_padding_mask : Tensor, optional
        ``[n, length]`` and ``[n, keys]``, of the same kinds.
    """

    def __init__(self, decoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.layers = _copies("TransformerDecoder", decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def construct(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Run all layers."""
        out = tgt
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        for layer in self.layers:
            out = layer(out, memory, *masks)
        return out if self.norm is None else self.norm(out)


class Transformer(Cell):
    """An encoder and a decoder that attends to what it gives.

    Parameters
    ----------
    d_model : int
        Features of inputs and output.
    nhead : int
        Heads of the attentions.
    num_encoder_layers, num_decoder_layers : int
        Layers of each stack.
    dim_feedforward : int
        Features inside the feed-forward parts.
    dropout : float
        Probability of zero after each part, in training.
    activation : {"relu", "gelu"}, Cell or callable
        What stands inside the feed-forward parts.
    custom_encoder, custom_decoder : Cell, optional
        What to use in place of the stacks.
    layer_norm_eps : float
        Added to the norms' variances.
    batch_first : bool
        Whether inputs and output are ``[n, length, d_model]``; else ``[length, n, d_model]``.
    norm_first : bool
        Whether each norm stands before its part, instead of behind the sum.
    dtype : DType
        Type of the parameters.
    src : Tensor
        ``[keys, n, d_model]``, what the encoder reads.
    tgt : Tensor
        ``[length, n, d_model]``, what the decoder reads.
    src_mask, tgt_mask, memory_mask : Tensor, optional
        ``[keys, keys]``, ``[length, length]`` and ``[length, keys]``. Bool: what is hidden;
        numbers: added to the scores.
    src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask : Tensor, optional
        ``[n, keys]``, ``[n, length]`` and ``[n, keys]``, of the same kinds.

    Raises
    ------
    ValueError
        If a size does not fit.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        custom_encoder: Cell | None = None,
        custom_decoder: Cell | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.d_model, self.batch_first = d_model, bool(batch_first)
        sizes = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)

        if custom_encoder is None:
            layer = TransformerEncoderLayer(*sizes)
            custom_encoder = _redrawn(TransformerEncoder(layer, num_encoder_layers, norm()))
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*sizes)
            custom_decoder = _redrawn(TransformerDecoder(layer, num_decoder_layers, norm()))
        self.encoder, self.decoder = custom_encoder, custom_decoder

    def construct(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Encode `src`, then decode `tgt` with it."""
        for name, x in (("src", src), ("tgt", tgt)):
            if x.shape[-1] != self.d_model:
                raise ValueError(
                    f"Transformer: {name} must have {self.d_model} features, its shape is"
                    f" {list(x.shape)}."
                )
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        )


def _redrawn(stack: Cell) -> Cell:
    """Give the weights of a stack's layers values of their own: uniform, as of Glorot."""
    for _, cell in stack.cells_and_names():
        for name, param in list(cell._params.items()):
            if len(param.shape) > 1:
                init = initializer(XavierUniform(), param.shape, param.dtype)
                cell.insert_param_to_cell(name, Parameter(init, param.name))
    return stack
