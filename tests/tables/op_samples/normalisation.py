"""Samples of normalisation over groups and neighbours, of attention and of bilinear layers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.autograd import grad
from cellwire.engine.ops.attention import attention_block

from op_samples.sample import N, Sample, bools, normal

IMAGES = normal(N, 4, 2, 3)
W, B = normal(4, seed=1), normal(4, seed=2)
BLOCK = partial(attention_block, scale=0.5, causal=False, p=0.0, masked=False)
"""Attention over four features, whose root is two."""


def _grouped(x: np.ndarray, w: Any = 1.0, b: Any = 0.0, groups: int = 2) -> np.ndarray:
    parts = x.reshape(N, groups, -1)
    centred = parts - parts.mean(-1, keepdims=True)
    out = (centred / np.sqrt(parts.var(-1, keepdims=True) + 1e-5)).reshape(x.shape)
    return out * np.reshape(w, (-1, 1, 1)) + np.reshape(b, (-1, 1, 1))


def _rms(x: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = 1 / np.sqrt(np.square(x).mean(-1, keepdims=True) + 1e-6)
    return x * scale * gamma, scale


def _lrn(x: np.ndarray) -> np.ndarray:
    squares = np.square(x)
    sums = np.stack([squares[:, max(c - 1, 0) : c + 2].sum(1) for c in range(x.shape[1])], 1)
    return x / (2.0 + 0.3 * sums) ** 0.75


def _attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: Any = 0.0) -> np.ndarray:
    added = np.where(mask, 0.0, -np.inf) if np.asarray(mask).dtype == bool else mask
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + added
    weights = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e300))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


def _log_sums(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    return np.log(np.exp(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])).sum(-1))


def _attention_slopes(*tensors: Any) -> Any:
    return grad(lambda *t: ops.sum(ops.sin(BLOCK(*t)[0])), (0, 1, 2))(*tensors)


def _attentions() -> list[Sample]:
    name, attend = "scaled_dot_product_attention", ops.scaled_dot_product_attention
    q, k, v = normal(N, 2, 3, 4), normal(N, 2, 6, 4, seed=1), normal(N, 2, 6, 2, seed=2)
    one = (q, k[:, :1], v[:, :1])
    mask = bools(3, 6)
    mask[1] = False
    causal = np.tri(3, 6, dtype=bool)
    return [
        Sample(name, attend, (q, k, v), _attention),
        Sample(name, attend, (q, k, v, mask), _attention),
        Sample(name, attend, (*one, normal(N, 1, 3, 6, seed=3)),
               _attention),
        Sample(name, lambda q, k, v: attend(q, k, v, is_causal=True), (q, k, v),
               lambda q, k, v: _attention(q, k, v, causal)),
        Sample(name, lambda q, k, v: attend(q, k, v, enable_gqa=True), one, _attention),
        Sample("attention_block", BLOCK, (q, k, v),
               lambda q, k, v: (_attention(q, k, v), _log_sums(q, k))),
        Sample("attention_block_grad", _attention_slopes, (q, k, v), symbolic=False),
    ]  # fmt: skip


SAMPLES: list[Sample] = [
    Sample("group_norm", lambda x, w, b: ops.group_norm(x, 2, w, b), (IMAGES, W, B), _grouped),
    Sample("group_norm", lambda x: ops.group_norm(x, 1), (normal(N, 3),),
           lambda x: _grouped(x[..., None, None], groups=1)[..., 0, 0]),
    Sample("instance_norm", ops.instance_norm, (IMAGES, W, B),
           lambda x, w, b: _grouped(x, w, b, 4)),
    Sample("instance_norm", ops.instance_norm, (IMAGES,),
           lambda x: _grouped(x, groups=4)),
    Sample("rms_norm", ops.rms_norm, (IMAGES, normal(3)), _rms),
    Sample("lrn", lambda x: ops.lrn(x, 1, 2.0, 0.3, 0.75), (IMAGES,), _lrn),
    *_attentions(),
    Sample("bidense", ops.bidense, (normal(N, 2, 3), normal(N, 2, 4, seed=1),
                                    normal(2, 3, 4, seed=2), normal(2)),
           lambda x, y, w, b: np.einsum("nki,oij,nkj->nko", x, w, y) + b),
    Sample("bidense", ops.bidense, (normal(N, 3), normal(N, 4, seed=1), normal(2, 3, 4, seed=2)),
           lambda x, y, w: np.einsum("ni,oij,nj->no", x, w, y)),
]  # fmt: skip
