"""Writing outputs back: values that a kernel could not put over an input are copied there last.

The last steps of a plan, which the planner adds.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ...kernels.loops import Buffer, Function, Loop, Store, affine, load


@cache
def copy_kernel(itemsize: int) -> Function:
    """Return the kernel that copies ``n`` elements of this many bytes, bit for bit."""
    source, target = (Buffer(name, np.dtype(f"i{itemsize}")) for name in ("source", "target"))
    loop = Loop("i", "n", (Store("target", affine("i"), load(source, affine("i"))),), vector=True)
    return Function("copy", (source, target), ("n",), (loop,)).named("copy")
