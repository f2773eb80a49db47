"""Samples of the ops behind square brackets."""

from __future__ import annotations

import numpy as np
from cellwire.engine.ops import getitem, setitem

from op_samples.sample import N, Sample, normal

X = normal(N, 4)
RANGES = ((None, None, 1), (None, None, 2))
TWICE = np.array([3, 1, 3])
"""A position that is written twice: the last element stays."""


def _put(x: np.ndarray, value: np.ndarray, at: np.ndarray) -> np.ndarray:
    out = x.copy()
    out[at] = value
    return out


SAMPLES = [
    Sample("subscript", lambda x: x[:, 1], (X,), lambda x: x[:, 1]),
    Sample("subscript", lambda x: x[:, None, ::-2], (X,), lambda x: x[:, None, ::-2]),
    Sample(
        "put_back", lambda d: getitem.put_back(d, (N, 4), RANGES), (normal(N, 2),), symbolic=False
    ),
    Sample(
        "put_part",
        lambda x, v, i: setitem.put_part(x, v, (i,), (("tensor", 0), (None, None, 1))),
        (X, normal(3, 4), TWICE),
        _put,
    ),
    Sample(
        "last_put",
        lambda d, i: setitem.last_put(d, (i,), (("tensor", 0), (None, None, 1))),
        (X, TWICE),
    ),
]
