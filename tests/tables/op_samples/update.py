"""Samples of what optimizers are made of."""

from __future__ import annotations

import numpy as np
from cellwire import ops

from op_samples.sample import Sample, normal

SAMPLES = [
    Sample("all_finite", lambda *t: ops.all_finite(t), (normal(5, 2), normal(3)),
           lambda *t: all(np.isfinite(a).all() for a in t), differentiable=False),
    Sample("all_finite", lambda *t: ops.all_finite(t), (normal(5), np.array([1.0, np.inf])),
           lambda *t: False, differentiable=False),
]  # fmt: skip
