"""Samples of activations."""

from __future__ import annotations

from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.ops import candidate_sampling, random_activation
from scipy import special

from op_samples.sample import N, Sample, normal

X, WIDE = normal(N, 4), normal(N, 4) * 5
KEY = np.array([3, 1], np.int64)


def _softshrink(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.maximum(abs(x) - 0.5, 0)


def _selu(x: np.ndarray) -> np.ndarray:
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))


def _unary(name: str, reference: Any, x: np.ndarray = X) -> Sample:
    return Sample(name, getattr(ops, name), (x,), reference)


SAMPLES: list[Sample] = [
    _unary("relu6", lambda x: x.clip(0, 6), WIDE),
    _unary("hardsigmoid", lambda x: (x / 6 + 0.5).clip(0, 1), WIDE),
    _unary("hardswish", lambda x: x * (x + 3).clip(0, 6) / 6, WIDE),
    _unary("hardshrink", lambda x: np.where(abs(x) > 0.5, x, 0)),
    _unary("softshrink", _softshrink), _unary("tanhshrink", lambda x: x - np.tanh(x)),
    Sample("threshold", lambda x: ops.threshold(x, 0.3, 7.0), (X,),
           lambda x: np.where(x > 0.3, x, 7.0)),
    Sample("prelu", ops.prelu, (X, normal(4, seed=1)), lambda x, w: np.where(x > 0, x, w * x)),
    Sample("prelu", ops.prelu, (normal(N, 2, 3), normal(2, seed=1)),
           lambda x, w: np.where(x > 0, x, w[:, None] * x)),
    Sample("prelu", ops.prelu, (X, normal(1, seed=1)), lambda x, w: np.where(x > 0, x, w * x)),
    _unary("selu", _selu), _unary("celu", lambda x: np.where(x > 0, x, np.expm1(x))),
    Sample("celu", lambda x: ops.celu(x, 2.0), (X,),
           lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2))),
    _unary("mish", lambda x: x * np.tanh(np.logaddexp(x, 0))),
    _unary("softsign", lambda x: x / (1 + abs(x))),
    _unary("logsigmoid", special.log_expit, WIDE),
    _unary("fast_gelu", lambda x: x * special.expit(1.702 * x)),
    _unary("glu", lambda x: x[:, :2] * special.expit(x[:, 2:])),
    _unary("softmin", lambda x: special.softmax(-x, -1)),
    Sample("gumbel_by_key",
           lambda x: random_activation.gumbel_by_key(x, ops.cast(KEY, "int64"), 0.5, False, -1),
           (X,)),
    Sample("gumbel_by_key",
           lambda x: random_activation.gumbel_by_key(x, ops.cast(KEY, "int64"), 0.5, True, -1),
           (X,), differentiable=False),
    Sample("rrelu_by_key",
           lambda x: random_activation.rrelu_by_key(x, ops.cast(KEY, "int64"), 0.1, 0.3), (X,)),
    Sample("candidates_by_key",
           lambda c: candidate_sampling.candidates_by_key(ops.cast(KEY, "int64"), c, 3, True, 9),
           (np.array([[1]] * N),), differentiable=False),
]  # fmt: skip
