"""Samples of random ops with seeds of their own; tests/test_random.py looks at the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.ops.distributions import require_chances
from cellwire.engine.ops.dropout import channel_dropout
from cellwire.engine.ops.random_numbers import random_order
from cellwire.engine.tensor import Tensor

from op_samples.sample import N, Sample, normal, positive

X = normal(N, 4)
KEY = np.array([3, 1], np.int64)


def _drawn(name: str, *args: Any, **attrs: Any) -> Sample:
    return Sample(name, lambda: getattr(ops, name)(*args, seed=5, **attrs), (),
                  differentiable=False)  # fmt: skip


def _made() -> list[Sample]:
    return [
        _drawn("rand", 2, 3), _drawn("randn", (2, 3)), _drawn("standard_normal", (2, 3)),
        _drawn("standard_laplace", (2, 3)), _drawn("randint", -2, 3, (2, 3)),
        _drawn("randperm", 7), _drawn("randint", 0, 9, (4,), dtype="int32"),
    ]  # fmt: skip


def _of_tensors() -> list[Sample]:
    no = {"differentiable": False}
    weights = positive(N, 4)
    chances = 1 / (1 + weights)
    return [
        Sample("rand_like", lambda x: ops.rand_like(x, 5), (X,), **no),
        Sample("randn_like", lambda x: ops.randn_like(x, 5), (X,), **no),
        Sample("randint_like", lambda x: ops.randint_like(x, 0, 9, 5), (X,), **no),
        Sample("shuffle", lambda x: ops.shuffle(x, 5), (X,)),
        Sample("random_order", random_order, (KEY, X), **no),
        Sample("uniform", lambda a, b: ops.uniform((3, 4), a, b, 5, a.dtype),
               (normal(4), positive(4) + 4)),
        Sample("normal", lambda m, s: ops.normal((3, 4), m, s, 5), (normal(4), positive(4)), **no),
        Sample("laplace", lambda m, s: ops.laplace((3, 4), m, s, 5),
               (normal(4), positive(4)), **no),
        Sample("random_gamma", lambda a: ops.random_gamma((2,), a, 5), (weights,), **no),
        Sample("gamma", lambda a, b: ops.gamma((2,), a, b, 5), (weights, positive(4)), **no),
        Sample("random_poisson", lambda r: ops.random_poisson((2,), r, 5), (weights,), **no),
        Sample("poisson", lambda r: ops.poisson(r, 5), (weights,), **no),
        Sample("bernoulli", lambda x: ops.bernoulli(x, 0.3, 5), (X,), **no),
        Sample("require_chances", require_chances, (chances,), lambda p: p, **no),
        Sample("multinomial", lambda w: ops.multinomial(w, 2, False, 5), (weights,), **no),
        Sample("multinomial_with_replacement",
               lambda w: ops.multinomial_with_replacement(w, 5, 2, 3), (weights,), **no),
        Sample("random_categorical", lambda x: ops.random_categorical(x, 3, 5), (X,), **no),
        Sample("channel_dropout",
               lambda x: channel_dropout(x, Tensor(KEY), 0.4, 2), (normal(N, 4, 2),)),
    ]  # fmt: skip


SAMPLES = [*_made(), *_of_tensors()]
