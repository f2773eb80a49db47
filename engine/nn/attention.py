"""Multi-head attention."""

from __future__ import annotations

from .. import ops
from ..dtype import DType, bool_, dtype_of, float32
from ..ops.attention import attention_weights
from ..parameter import Parameter
from ..tensor import Tensor
from .cell import Cell
from .initializer import XavierNormal, XavierUniform, initializer
from .layers import Dense, positive

_NOTHING = float("-inf")


class MultiheadAttention(Cell):
    """Attention of several heads, each on its own projection of queries, keys and values.

    Parameters
    ----------
    embed_dim : int
        Features of query and output.
    num_heads : int
        Heads; each has ``embed_dim / num_heads`` features.
    dropout : float
        Probability with which a weight is set to zero in training.
    has_bias : bool
        Whether the projections have biases.
    add_bias_kv : bool
        Whether a trained key and value are put after the given ones.
    add_zero_attn : bool
        Whether a key and value of zeros are put after the given ones.
    kdim, vdim : int, optional
        Features of key and value; by default `embed_dim`.
    batch_first : bool
        Whether inputs and output are ``[n, length, ...]``; else ``[length, n, ...]``.
    dtype : DType
        Type of the parameters.

    Raises
    ------
    ValueError
        If a size does not fit.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, section 3.2.2.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        has_bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        owner = "MultiheadAttention"
        self.embed_dim = positive(owner, "embed_dim", embed_dim)
        self.num_heads = positive(owner, "num_heads", num_heads)
        if embed_dim % num_heads:
            raise ValueError(
                f"{owner}: embed_dim {embed_dim} must be a multiple of num_heads {num_heads}."
            )
        if not 0 <= dropout < 1:
            raise ValueError(f"{owner}: dropout must be in 0..1 and less than 1, it is {dropout}.")
        self.dropout, self.has_bias = float(dropout), bool(has_bias)
        self.add_zero_attn, self.batch_first = bool(add_zero_attn), bool(batch_first)
        self.kdim = embed_dim if kdim is None else positive(owner, "kdim", kdim)
        self.vdim = embed_dim if vdim is None else positive(owner, "vdim", vdim)
        self._make_parameters(dtype_of(dtype), bool(add_bias_kv))

    def _make_parameters(self, dtype: DType, add_bias_kv: bool) -> None:
        size = self.embed_dim
        self.joined = self.kdim == self.vdim == size
        widths = {"q_proj_weight": size, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        if self.joined:
            weight = initializer(XavierUniform(), (3 * size, size), dtype)
            self.in_proj_weight = Parameter(weight)
        else:
            for name, width in widths.items():
                weight = initializer(XavierUniform(), (size, width), dtype)
                self.insert_param_to_cell(name, Parameter(weight))
        self.in_proj_bias: Parameter | None = None
        if self.has_bias:
            self.in_proj_bias = Parameter(initializer("zeros", (3 * size,), dtype))
        self.out_proj = Dense(size, size, bias_init="zeros", has_bias=self.has_bias, dtype=dtype)
        self.bias_k: Parameter | None = None
        self.bias_v: Parameter | None = None
        if add_bias_kv:
            self.bias_k = Parameter(initializer(XavierNormal(), (1, 1, size), dtype))
            self.bias_v = Parameter(initializer(XavierNormal(), (1, 1, size), dtype))

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        size, bias = self.embed_dim, self.in_proj_bias
        if self.joined and query is key and key is value:
            both = ops.dense(query, self.in_proj_weight, bias)
            return both[..., :size], both[..., size : 2 * size], both[..., 2 * size :]
        if self.joined:
            weight = self.in_proj_weight
            weights = (weight[:size], weight[size : 2 * size], weight[2 * size :])
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = (None,) * 3
        if bias is not None:
            biases = (bias[:size], bias[size : 2 * size], bias[2 * size :])
        given = zip((query, key, value), weights, biases, strict=True)
        return tuple(ops.dense(x, weight, bias) for x, weight, bias in given)

    def _heads(self, x: Tensor) -> Tensor:
        """``[n, length, embed_dim]`` as ``[n, heads, length, width]``."""
        batch, length, size = x.shape
        split = ops.reshape(x, (batch, length, self.num_heads, size // self.num_heads))
        return ops.transpose(split, (0, 2, 1, 3))

    def _with_more_keys(
        self, k: Tensor, v: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Put the trained and the zero key and value, which no mask hides, after the others."""
        batch, size = k.shape[0], self.embed_dim
        more: list[tuple[Tensor, Tensor]] = []
        if self.bias_k is not None and self.bias_v is not None:
            row = (batch, 1, size)
            trained = (ops.broadcast_to(self.bias_k, row), ops.broadcast_to(self.bias_v, row))
            more.append(trained)
        if self.add_zero_attn:
            zeros = ops.zeros((batch, 1, size), k.dtype)
            more.append((zeros, zeros))
        for another_k, another_v in more:
            k, v = ops.concat((k, another_k), 1), ops.concat((v, another_v), 1)
            if mask is not None:
                open_ = mask[..., :1]
                open_ = ops.ones_like(open_) if mask.dtype is bool_ else ops.zeros_like(open_)
                mask = ops.concat((mask, open_), -1)
        return k, v, mask

    def _mask(
        self, q: Tensor, k: Tensor, attn_mask: Tensor | None, padding: Tensor | None
    ) -> Tensor | None:
        """Both masks as one: True where a query may look, or numbers to add to the scores."""
        batch, length, keys = q.shape[0], q.shape[1], k.shape[1]
        masks: list[Tensor] = []
        if attn_mask is not None:
            shape = tuple(attn_mask.shape)
            each = (batch * self.num_heads, length, keys)
            if shape not in ((length, keys), each):
                raise ValueError(
                    f"MultiheadAttention: attn_mask must have the shape {[length, keys]} or"
                    f" {list(each)}, it has {list(shape)}."
                )
            whole = attn_mask
            if len(shape) == 3:
                whole = ops.reshape(attn_mask, (batch, self.num_heads, length, keys))
            masks.append(whole)
        if padding is not None:
            if tuple(padding.shape) != (batch, keys):
                raise ValueError(
                    f"MultiheadAttention: key_padding_mask must have the shape {[batch, keys]}, it"
                    f" has {list(padding.shape)}."
                )
            masks.append(ops.reshape(padding, (batch, 1, 1, keys)))
        if not masks:
            return None
        if all(mask.dtype is bool_ for mask in masks):
            hidden = masks[0] if len(masks) == 1 else ops.logical_or(*masks)
            return ops.logical_not(hidden)
        numbers = [
            ops.where(mask, _NOTHING, ops.zeros((), q.dtype)) if mask.dtype is bool_ else mask
            for mask in masks
        ]
        return numbers[0] if len(numbers) == 1 else ops.add(*numbers)

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The output of each head, and the weights that it comes from."""
        scale = (self.embed_dim // self.num_heads) ** -0.5
        scores = ops.matmul(ops.mul(q, scale), ops.swapaxes(k, -1, -2))
        if mask is not None and mask.dtype is bool_:
            scores = ops.where(mask, scores, _NOTHING)
        elif mask is not None:
            scores = ops.add(scores, mask)
        weights = attention_weights(scores)
        kept = ops.dropout(weights, self.dropout, self.training) if self.dropout else weights
        return ops.matmul(kept, v), weights

    def construct(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend.

        Parameters
        ----------
        query : Tensor
            ``[length, n, embed_dim]``, or ``[length, embed_dim]`` of one sequence.
        key, value : Tensor
            ``[keys, n, kdim]`` and ``[keys, n, vdim]``.
        key_padding_mask : Tensor, optional
            ``[n, keys]``. Bool: which keys are hidden; numbers: added to the scores.
        need_weights : bool
            Whether the weights are wanted; without them it is faster.
        attn_mask : Tensor, optional
            ``[length, keys]`` or ``[n * heads, length, keys]``, as `key_padding_mask`.
        average_attn_weights : bool
            Whether the weights are the mean over the heads.

        Returns
        -------
        tuple
            The output, of the query's shape, and the weights before dropout,
            ``[n, length, keys]`` (``[n, heads, length, keys]`` without the mean) or None.
        """
        single = len(query.shape) == 2
        same = query is key and key is value
        batch = 0 if self.batch_first else 1
        if single:
            query = ops.expand_dims(query, batch)
            key = query if same else ops.expand_dims(key, batch)
            value = query if same else ops.expand_dims(value, batch)
            if key_padding_mask is not None:
                key_padding_mask = ops.expand_dims(key_padding_mask, 0)
        self._check(query, key, value)
        q, k, v = self._project(query, key, value)
        if not self.batch_first:
            q, k, v = (ops.transpose(x, (1, 0, 2)) for x in (q, k, v))
        mask = self._mask(q, k, attn_mask, key_padding_mask)
        k, v, mask = self._with_more_keys(k, v, mask)
        q_heads, k_heads, v_heads = self._heads(q), self._heads(k), self._heads(v)
        weights: Tensor | None = None
        if need_weights:
            out, weights = self._attend(q_heads, k_heads, v_heads, mask)
            weights = ops.mean(weights, 1) if average_attn_weights else weights
        else:
            dropped = self.dropout if self.training else 0.0
            out = ops.scaled_dot_product_attention(q_heads, k_heads, v_heads, mask, dropped)
        out = ops.reshape(ops.transpose(out, (0, 2, 1, 3)), q.shape)
        out = self.out_proj(out if self.batch_first else ops.transpose(out, (1, 0, 2)))
        if single:
            out = ops.squeeze(out, batch)
            weights = None if weights is None else ops.squeeze(weights, 0)
        return out, weights

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        wanted = {"query": self.embed_dim, "key": self.kdim, "value": self.vdim}
        for (name, width), x in zip(wanted.items(), (query, key, value), strict=True):
            if len(x.shape) != 3 or x.shape[-1] != width:
                raise ValueError(
                    f"MultiheadAttention: {name} must have three axes (or two, for one sequence)"
                    f" and {width} features, its shape is {list(x.shape)}."
                )

    def extend_repr(self) -> str:
        """Sizes and choices."""
        return (
            f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, dropout={self.dropout},"
            f" has_bias={self.has_bias}, kdim={self.kdim}, vdim={self.vdim},"
            f" batch_first={self.batch_first}"
        )
