"""What fusion costs: work that one kernel would do more often than two.

What `fuse.py` asks last, when one kernel could do it all.
"""

from __future__ import annotations

import math

from .space import Space

EXPENSIVE = frozenset(
    ("div", "sqrt", "rsqrt", "reciprocal", "exp", "log", "log1p", "expm1", "pow", "tanh", "erf",
     "sigmoid", "sin", "cos", "softplus", "silu", "mish", "logsigmoid")
)  # fmt: skip
"""Ops that take as long as several others."""
MOST_REPEATED = 4
"""The share of a kernel's elements, one in so many, for which such an op may not be repeated."""


def repeats_much(space: Space) -> bool:
    """Return whether expensive work on few elements would be done anew for most of all elements.

    A value is computed in the innermost of its loops, once for each turn of those around it.
    """
    order = (*space.outer, *space.inner)
    total = math.prod(space.extents.values())
    for node in space.nodes:
        output = node.outputs[0]
        if node.op.name in EXPENSIVE and output not in space.tail:
            classes = space.classes(output)
            depth = max((order.index(c) + 1 for c in classes), default=0)
            turns = math.prod(space.extents[c] for c in order[:depth])
            own = math.prod(space.extents[c] for c in classes)
            if turns > own and turns * MOST_REPEATED >= total:
                return True
    return False
