"""Scaled dot-product attention."""

from __future__ import annotations

import math as numbers
from typing import Any

from .. import random as streams
from ..dtype import bool_
from ..shape import Aval, ShapeError, broadcast_shapes, shape_text
from ..tensor import Tensor
from . import arithmetic, array, creation, linalg, logic, reduce
from .cast import TensorLike, as_float, as_tensor, cast_to
from .conv import float_operands
from .expansion import expanded
from .random import masked_dropout
from .registry import Call, Composite, checked, op
from .rules import require_float, require_same_dtype
from .softmax import softmax

_NOTHING = float("-inf")


def _split_heads(aval: Any, groups: int) -> tuple[Any, ...]:
    """Return a query's shape with its heads in groups, one for each head of keys."""
    *lead, heads, length, width = aval.shape
    return (*lead, heads // groups, groups, length, width)


def _rule(
    query: Aval, key: Aval, value: Aval, *rest: Aval, p: float, groups: int, masked: bool,
    **_: Any,
) -> Aval:  # fmt: skip
    name = "scaled_dot_product_attention"
    require_float(name, "query", query)
    dtype = require_same_dtype(name, query=query, key=key, value=value)
    shapes = (
        f"query {shape_text(query.shape)}, key {shape_text(key.shape)} and value"
        f" {shape_text(value.shape)}"
    )
    if min(query.ndim, key.ndim, value.ndim) < 2 or query.shape[-1] != key.shape[-1]:
        raise ShapeError(
            f"{name}: {shapes} must end with [length, width], query's and key's alike."
        )
    if key.shape[-2] != value.shape[-2]:
        raise ShapeError(f"{name}: {shapes}: there must be one value for each key.")
    heads = query.shape[:-2]
    others: list[Any] = [aval.shape[:-2] for aval in (key, value)]
    if groups > 1:
        others = [(*shape[:-1], shape[-1] * groups) for shape in others]
    try:
        lead = broadcast_shapes(heads, *others)
        if masked:
            scores = (*lead, query.shape[-2], key.shape[-2])
            if broadcast_shapes(scores, rest[0].shape) != scores:
                raise ShapeError(f"the mask would widen {shape_text(scores)}")
    except ShapeError as error:
        mask = f" and attn_mask {shape_text(rest[0].shape)}" if masked else ""
        raise ShapeError(f"{name}: {shapes}{mask} do not broadcast; {error}") from error
    return Aval((*lead, query.shape[-2], value.shape[-1]), dtype)


def _causal(rows: Any, columns: Any) -> Tensor:
    """Return where a query may look: at keys that do not come after it."""
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise ShapeError(
            f"scaled_dot_product_attention: is_causal needs known lengths, they are {rows} and"
            f" {columns}; pass an attn_mask."
        )
    queries = array.reshape(creation.arange(rows), (rows, 1))
    return logic.greater_equal(queries, array.reshape(creation.arange(columns), (1, columns)))


def attention_weights(scores: Tensor) -> Tensor:
    """Return the softmax of scores; a row that is all -inf becomes zeros, not NaN."""
    dead = logic.equal(reduce.amax(scores, -1, keepdims=True), _NOTHING)
    weights = softmax(logic.select(dead, 0.0, scores), -1)
    return logic.select(dead, 0.0, weights)


def _expand(
    query: Tensor, key: Tensor, value: Tensor, *rest: Tensor, scale: float, causal: bool, p: float,
    groups: int, masked: bool,
) -> Tensor:  # fmt: skip
    shape = _rule(
        query.aval, key.aval, value.aval, *(t.aval for t in rest), p=p, groups=groups, masked=masked
    ).shape
    if groups > 1:
        query = array.reshape(query, _split_heads(query, groups))
        key, value = array.expand_dims(key, -3), array.expand_dims(value, -3)
    # Scaling the query first costs less than scaling all scores, and overflows later.
    scores = linalg.matmul(arithmetic.mul(query, scale), linalg.transposed(key))
    if groups > 1:
        scores = array.reshape(scores, (*shape[:-1], scores.shape[-1]))
    if masked and rest[0].dtype is bool_:
        scores = logic.select(rest[0], scores, _NOTHING)
    elif masked:
        scores = arithmetic.add(scores, rest[0])
    if causal:
        scores = logic.select(_causal(*scores.shape[-2:]), scores, _NOTHING)
    weights = attention_weights(scores) if masked else softmax(scores, -1)
    if p:
        weights = masked_dropout(weights, rest[-1], p)
    if groups > 1:
        weights = array.reshape(weights, _split_heads(weights, groups))
    out = linalg.matmul(weights, value)
    return array.reshape(out, shape) if groups > 1 else out


@op(
    infer=_rule,
    kernel=expanded(_expand),
    lowering=Composite(_expand),
    category="nn",
    inputs=("query", "key", "value", "attn_mask"),
    primitive="ScaledDotProductAttention",
)
def scaled_dot_product_attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    attn_mask: TensorLike | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Call:
    """Return attention: for each query the values' mean, weighted by softmax over the keys.

    Parameters
    ----------
    query : Tensor
        ``[..., heads, length, width]``; integers are cast to float32.
    key : Tensor
        ``[..., heads, keys, width]``; axes before the last two broadcast.
    value : Tensor
        ``[..., heads, keys, width']``.
    attn_mask : Tensor, optional
        Broadcasts to ``[..., heads, length, keys]``. Bool: where a query may look; numbers: added
        to the scores.
    dropout_p : float
        Probability with which a weight is set to zero, the others scaled up.
    is_causal : bool
        Whether query ``i`` looks at the keys ``0..i`` alone.
    scale : float, optional
        What products of query and key are multiplied by; by default ``1 / sqrt(width)``.
    enable_gqa : bool
        Whether keys and values have fewer heads, each of which serves a group of query heads.

    Returns
    -------
    Tensor
        ``[..., heads, length, width']``. A query that may look at nothing gives zeros, and no
        gradient.

    Raises
    ------
    ValueError
        If shapes do not fit, or ``dropout_p`` is not in 0..1.

    Notes
    -----
    ``softmax(query @ key.T * scale + mask) @ value``, the largest score being subtracted before
    the exponential.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, section 3.2; Ainslie et al., GQA, 2023.
    """
    name = "scaled_dot_product_attention"
    if not 0 <= dropout_p <= 1:
        raise ValueError(f"{name}: dropout_p must be in 0..1, it is {dropout_p}.")
    inputs = list(float_operands(query, key, value))
    q, k = inputs[0], inputs[1]
    groups = _groups(q.aval, k.aval) if enable_gqa else 1
    if scale is None:
        width = q.shape[-1]
        if not isinstance(width, int):
            raise ShapeError(f"{name}: width {width} of query is not known; give scale.")
        scale = 1.0 / numbers.sqrt(max(width, 1))
    if attn_mask is not None:
        mask = as_tensor(attn_mask)
        inputs.append(mask if mask.dtype is bool_ else cast_to(as_float(mask), q.dtype))
    if dropout_p:
        inputs.append(streams.next_key())
    attrs = {
        "scale": float(scale), "causal": bool(is_causal), "p": float(dropout_p), "groups": groups,
        "masked": attn_mask is not None,
    }  # fmt: skip
    return checked(_rule, tuple(inputs), attrs)


def _groups(query: Aval, key: Aval) -> int:
    """Return how many heads of the query each head of the keys serves."""
    if min(query.ndim, key.ndim) < 3:
        raise ShapeError(
            "scaled_dot_product_attention: enable_gqa needs an axis of heads: [..., heads, length,"
            " width]."
        )
    heads, served = query.shape[-3], key.shape[-3]
    if not isinstance(heads, int) or not isinstance(served, int) or heads % served:
        raise ShapeError(
            f"scaled_dot_product_attention: {heads} heads of query do not divide into the {served}"
            " of key."
        )
    return heads // served
