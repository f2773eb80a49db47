"""One layer of a transformer's encoder and of its decoder."""

from __future__ import annotations

from collections.abc import Callable

from .. import ops
from ..dtype import DType, float32
from ..tensor import Tensor
from .attention import MultiheadAttention
from .cell import Cell
from .dropout import Dropout
from .layers import Dense, positive
from .sample_norm import LayerNorm

Activation = str | Cell | Callable[[Tensor], Tensor]

_NAMED: dict[str, Callable[[Tensor], Tensor]] = {"relu": ops.relu, "gelu": ops.gelu}


class _Layer(Cell):
    """What encoder and decoder layers share: self-attention and a feed-forward part."""

    attentions = 1

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        positive(owner, "dim_feedforward", dim_feedforward)
        self.norm_first = bool(norm_first)
        more = {"batch_first": batch_first, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, **more)
        if self.attentions == 2:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, **more)
        self.linear1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.linear2 = Dense(dim_feedforward, d_model, dtype=dtype)
        for number in range(1, self.attentions + 2):
            norm = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
            self.insert_child_to_cell(f"norm{number}", norm)
            self.insert_child_to_cell(f"dropout{number}", Dropout(p=dropout))
        if isinstance(activation, str) and activation not in _NAMED:
            raise ValueError(
                f"{owner}: activation must be 'relu', 'gelu' or a function, it is {activation!r}."
            )
        self.activation = _NAMED[activation] if isinstance(activation, str) else activation

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _attend_self(
        self, x: Tensor, mask: Tensor | None, key_padding_mask: Tensor | None
    ) -> Tensor:
        return self.self_attn(x, x, x, key_padding_mask, False, mask)[0]


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual connection and a norm.

    Parameters
    ----------
    d_model : int
        Features of input and output.
    nhead : int
        Heads of the attention.
    dim_feedforward : int
        Features inside the feed-forward part.
    dropout : float
        Probability of zero after each part, in training.
    activation : {"relu", "gelu"}, Cell or callable
        What stands inside the feed-forward part.
    layer_norm_eps : float
        Added to the norms' variances.
    batch_first : bool
        Whether input and output are ``[n, length, d_model]``; else ``[length, n, d_model]``.
    norm_first : bool
        Whether each norm stands before its part, instead of behind the sum.
    dtype : DType
        Type of the parameters.
    src : Tensor
        ``[length, n, d_model]``.
    src_mask : Tensor, optional
        ``[length, length]``. Bool: what is hidden; numbers: added to the scores.
    src_key_padding_mask : Tensor, optional
        ``[n, length]``, of the same kinds.

    Raises
    ------
    ValueError
        If a size does not fit.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017; norms before the parts: Xiong et al., On
    Layer Normalization in the Transformer Architecture, 2020.
    """

    def construct(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Run the layer."""
        x, masks = src, (src_mask, src_key_padding_mask)
        if self.norm_first:
            x = x + self.dropout1(self._attend_self(self.norm1(x), *masks))
            return x + self.dropout2(self._feed_forward(self.norm2(x)))
        x = self.norm1(x + self.dropout1(self._attend_self(x, *masks)))
        return self.norm2(x + self.dropout2(self._feed_forward(x)))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output and a feed-forward network.

    Each part has a way around it and a norm.

    Parameters
    ----------
    d_model : int
        Features of input and output.
    nhead : int
        Heads of the attentions.
    dim_feedforward : int
        Features inside the feed-forward part.
    dropout : float
        Probability of zero after each part, in training.
    activation : {"relu", "gelu"}, Cell or callable
        What stands inside the feed-forward part.
    layer_norm_eps : float
        Added to the norms' variances.
    batch_first : bool
        Whether inputs and output are ``[n, length, d_model]``; else ``[length, n, d_model]``.
    norm_first : bool
        Whether each norm stands before its part, instead of behind the sum.
    dtype : DType
        Type of the parameters.
    tgt : Tensor
        ``[length, n, d_model]``.
    memory : Tensor
        ``[keys, n, d_model]``, what the encoder gave.
    tgt_mask, memory_mask : Tensor, optional
        ``[length, length]`` and ``[length, keys]``. Bool: what is hidden; numbers: added to the
        scores.
    tgt_key_padding_mask, memory_key_padding_mask : Tensor, optional
        ``[n, length]`` and ``[n, keys]``, of the same kinds.

    Raises
    ------
    ValueError
        If a size does not fit.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017; norms before the parts: Xiong et al., On
    Layer Normalization in the Transformer Architecture, 2020.
    """

    attentions = 2

    def _attend(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, key_padding_mask: Tensor | None
    ) -> Tensor:
        return self.multihead_attn(x, memory, memory, key_padding_mask, False, mask)[0]

    def construct(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Run the layer."""
        x, own = tgt, (tgt_mask, tgt_key_padding_mask)
        other = (memory, memory_mask, memory_key_padding_mask)
        if self.norm_first:
            x = x + self.dropout1(self._attend_self(self.norm1(x), *own))
            x = x + self.dropout2(self._attend(self.norm2(x), *other))
            return x + self.dropout3(self._feed_forward(self.norm3(x)))
        x = self.norm1(x + self.dropout1(self._attend_self(x, *own)))
        x = self.norm2(x + self.dropout2(self._attend(x, *other)))
        return self.norm3(x + self.dropout3(self._feed_forward(x)))
