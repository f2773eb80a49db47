"""Scaled dot-product attention."""

from __future__ import annotations

import math as numbers
from typing import Any

from .. import random as streams
from ..dtype import bool_
from ..shape import Aval, ShapeError, broadcast_shapes, shape_text
from ..tensor import Tensor
from . import arithmetic, array, creation, linalg, logic, math, reduce
from .cast import TensorLike, as_float, as_tensor, cast_to
from .conv import float_operands
from .expansion import expanded
from .random import masked_dropout
from .registry import Call, Composite, GradContext, Grads, checked, op
from .rules import require_float, require_same_dtype
from .softmax import softmax
from .unbroadcast import fit

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


def _scores(
    query: Tensor, key: Tensor, rest: tuple[Tensor, ...], scale: float, causal: bool, masked: bool
) -> Tensor:
    """Return the scores, -inf where a query may not look."""
    # Scaling the query first costs less than scaling all scores, and overflows later.
    scores = linalg.matmul(arithmetic.mul(query, scale), linalg.transposed(key))
    if masked and rest[0].dtype is bool_:
        scores = logic.select(rest[0], scores, _NOTHING)
    elif masked:
        scores = arithmetic.add(scores, rest[0])
    if causal:
        scores = logic.select(_causal(*scores.shape[-2:]), scores, _NOTHING)
    return scores


# ---- attention with the sums of its rows -----------------------------------------------------


def _block_rule(
    query: Aval, key: Aval, value: Aval, *rest: Aval, p: float, masked: bool, **_: Any
) -> tuple[Aval, Aval]:
    out = _rule(query, key, value, *rest, p=p, groups=1, masked=masked)
    return out, Aval(out.shape[:-1], out.dtype)


def _expand_block(
    query: Tensor, key: Tensor, value: Tensor, *rest: Tensor, scale: float, causal: bool, p: float,
    masked: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    scores = _scores(query, key, rest, scale, causal, masked)
    weights = attention_weights(scores) if masked else softmax(scores, -1)
    kept = masked_dropout(weights, rest[-1], p) if p else weights
    return linalg.matmul(kept, value), _log_sums(scores, masked)


def _log_sums(scores: Tensor, masked: bool) -> Tensor:
    """Return the logarithm of each row's sum of math; 0 for a row that is masked."""
    top = reduce.amax(scores, -1, keepdims=True)
    if masked:
        top = logic.select(logic.equal(top, _NOTHING), 0.0, top)
    sums = reduce.sum(math.exp(arithmetic.sub(scores, top)), -1, keepdims=True)
    norm = arithmetic.add(top, math.log(sums))
    norm = logic.select(logic.equal(sums, 0), 0.0, norm) if masked else norm
    return array.squeeze(norm, -1)


def _block_grad(ctx: GradContext) -> Grads:
    if any(ctx.needs[3:]) or ctx.douts[1] is not None:
        return NotImplemented
    found = attention_block_grad(*ctx.inputs, *ctx.outputs, ctx.douts[0], **ctx.attrs)
    return fit(ctx, *found, *([None] * (len(ctx.inputs) - 3)))


@op(
    infer=_block_rule,
    kernel=expanded(_expand_block),
    grad=_block_grad,
    lowering=Composite(_expand_block),
    category="gradient",
    inputs=("query", "key", "value", "mask", "random"),
)
def attention_block(query: Tensor, key: Tensor, value: Tensor, *rest: Tensor, **attrs: Any) -> Call:
    """Return attention and the logarithm of the sums by which its weights were divided.

    Parameters
    ----------
    query, key, value : Tensor
        As of ``scaled_dot_product_attention``.
    *rest : Tensor
        The mask, if ``masked``, and the random key, if ``p`` is not zero.
    **attrs
        ``scale``, ``causal``, ``p`` and ``masked``.

    Returns
    -------
    tuple of Tensor
        The output, and one number for each query.
    """
    return (query, key, value, *rest), attrs


def _expand_block_grad(
    query: Tensor, key: Tensor, value: Tensor, *rest: Tensor, scale: float, causal: bool, p: float,
    masked: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    *rest_, out, lse, dout = rest
    scores = _scores(query, key, tuple(rest_), scale, causal, masked)
    weights = math.exp(arithmetic.sub(scores, array.expand_dims(lse, -1)))
    dweights = linalg.matmul(dout, linalg.transposed(value))
    kept = weights
    if p:
        kept = masked_dropout(weights, rest_[-1], p)
        dweights = masked_dropout(dweights, rest_[-1], p)
    mean = reduce.sum(arithmetic.mul(dout, out), -1, keepdims=True)
    dscores = arithmetic.mul(weights, arithmetic.sub(dweights, mean))
    dquery = arithmetic.mul(linalg.matmul(dscores, key), scale)
    dkey = linalg.matmul(linalg.transposed(dscores), arithmetic.mul(query, scale))
    return dquery, dkey, linalg.matmul(linalg.transposed(kept), dout)


def _block_grad_rule(
    query: Aval, key: Aval, value: Aval, *rest: Aval, **_: Any
) -> tuple[Aval, Aval, Aval]:
    lead = rest[-1].shape[:-2]
    dquery, dkey, dvalue = (
        Aval((*lead, *aval.shape[-2:]), aval.dtype) for aval in (query, key, value)
    )
    return dquery, dkey, dvalue


@op(
    infer=_block_grad_rule,
    kernel=expanded(_expand_block_grad),
    lowering=Composite(_expand_block_grad),
    category="gradient",
    inputs=("query", "key", "value", "mask", "random", "out", "lse", "dout"),
)
def attention_block_grad(
    query: Tensor, key: Tensor, value: Tensor, *rest: Tensor, **attrs: Any
) -> Call:
    """Return the gradients of ``attention_block`` to query, key and value.

    Parameters
    ----------
    query, key, value : Tensor
        Its inputs.
    *rest : Tensor
        Its mask and random key, its outputs, and the gradient of the first.
    **attrs
        Its attributes.

    Returns
    -------
    tuple of Tensor
        The gradients, whose leading axes are those of the output.

    References
    ----------
    Dao et al., FlashAttention, 2022, section 3.1: the scores are computed a second time.
    """
    return (query, key, value, *rest), attrs


# ---- the op ----------------------------------------------------------------------------------


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
        if masked and len(rest[0].shape) > 2:
            rest = (_split_mask(rest[0], groups), *rest[1:])
    out, _ = attention_block(
        query, key, value, *rest, scale=scale, causal=causal, p=p, masked=masked
    )
    return array.reshape(out, shape) if groups > 1 else out


def _split_mask(mask: Tensor, groups: int) -> Tensor:
    """Put the heads of a mask in groups as well, if it has any of its own."""
    if mask.shape[-3] == 1:
        return array.expand_dims(mask, -3)
    return array.reshape(mask, _split_heads(mask, groups))


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
