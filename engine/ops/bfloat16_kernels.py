"""BFloat16 in NumPy's kernels: computed in Float32, and rounded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtype import bfloat16, dtype_of
from ..shape import Aval

NARROW = bfloat16.numpy
_WIDE = np.dtype(np.float32)


def run_widened(
    kernel: Callable[..., Any],
    infer: Callable[..., Any],
    arrays: Sequence[np.ndarray],
    attrs: dict[str, Any],
) -> Any:
    """Run a kernel with Float32 in the place of BFloat16; its rule says what the results are."""
    avals = [Aval(array.shape, dtype_of(array.dtype)) for array in arrays]
    inferred = infer(*avals, **attrs)
    found = kernel(*[a.astype(_WIDE) if a.dtype == NARROW else a for a in arrays], **attrs)
    if not isinstance(inferred, tuple):
        return np.asarray(found).astype(inferred.dtype.numpy, copy=False)
    return tuple(
        np.asarray(array).astype(aval.dtype.numpy, copy=False)
        for array, aval in zip(found, inferred, strict=True)
    )
