"""Samples of ops that read elements by their positions."""

from __future__ import annotations

import numpy as np
from cellwire.engine import ops
from cellwire.engine.ops import indexed_put

from op_samples.sample import N, Sample, integers, normal

X, CUBE = normal(N, 4), normal(N, 3, 4)


def _ints(array: np.ndarray) -> np.ndarray:
    return array.astype(np.int64)


def _gather_elements(x: np.ndarray, i: np.ndarray) -> np.ndarray:
    return np.take_along_axis(x, _ints(i), 1)


def _embedding(i: np.ndarray, w: np.ndarray) -> np.ndarray:
    return w[_ints(i)]


SAMPLES = [
    Sample("gather_elements", lambda x, i: ops.gather_elements(x, 1, i),
           (X, integers(N, 6, low=-4, high=4)), _gather_elements),
    Sample("take_along_dim", lambda x, i: ops.take_along_dim(x, i, 1),
           (X, integers(1, 6, high=4)), lambda x, i: np.take_along_axis(x, _ints(i), 1)),
    Sample("take_along_dim", ops.take_along_dim, (normal(3, 4), integers(2, high=12)),
           lambda x, i: x.ravel()[_ints(i)]),
    Sample("gather_nd", ops.gather_nd, (CUBE, integers(7, 2)),
           lambda x, i: x[_ints(i)[:, 0], _ints(i)[:, 1]]),
    Sample("gather_nd", ops.gather_nd, (X, integers(2, 3, 1)), lambda x, i: x[_ints(i)[..., 0]]),
    Sample("take", lambda x, i: ops.take(x, i, 1), (X, integers(2, 3, low=-9, high=9)),
           lambda x, i: np.take(x, _ints(i), 1, mode="clip")),
    Sample("take", lambda x, i: ops.take(x, i, mode="wrap"),
           (normal(3, 4), integers(3, low=-19, high=19)),
           lambda x, i: np.take(x, _ints(i), mode="wrap")),
    Sample("index_select", lambda x, i: ops.index_select(x, 1, i), (X, integers(7, high=4)),
           lambda x, i: x[:, _ints(i)]),
    Sample("select_ext", lambda x: ops.select_ext(x, 1, -1), (X,), lambda x: x[:, -1]),
    Sample("embedding", ops.embedding, (integers(N, 2, high=7), normal(7, 3)), _embedding),
    Sample("repeat_interleave", lambda x: ops.repeat_interleave(x, 2, 1), (X,),
           lambda x: np.repeat(x, 2, 1)),
    Sample("repeat_interleave", lambda x: ops.repeat_interleave(x, (0, 2, 1, 3), 1), (X,),
           lambda x: np.repeat(x, (0, 2, 1, 3), 1)),
    Sample("repeat_interleave", lambda x: ops.repeat_interleave(x, 3), (X,),
           lambda x: np.repeat(x, 3)),
    Sample("count_along", lambda x: indexed_put.count_along(x, 0), (X,),
           lambda x: np.arange(N)[:, None], differentiable=False),
]  # fmt: skip
