"""Constant folding: what does not depend on the inputs is computed once, up to a size.

`simplify.py` asks it about every node before the rules of algebra.
"""

from __future__ import annotations

import math

import numpy as np

from ..ops.registry import Host, View
from ..shape import SymDim
from .graph import Node, Value, run_node

FOLD_ELEMENTS = 4096
"""Constants larger than this are computed when the plan runs."""
FILLS = {"zeros_like": 0, "ones_like": 1}


class Constants:
    """The constants of a graph, each once, and which values are one number all over."""

    def __init__(self) -> None:
        self.arrays: dict[Value, np.ndarray] = {}
        self.uniform: dict[Value, float | int | bool] = {}
        self._known: dict[object, Value] = {}

    def keep(self, value: Value, array: np.ndarray) -> Value:
        """Add a constant; return the value that stands for it, which may be an equal one."""
        key = (array.dtype.str, array.shape, array.tobytes())
        twin = self._known.setdefault(key, value)
        if twin is value:
            self.arrays[value] = array
            if array.size and (array.size == 1 or (array == array.flat[0]).all()):
                self.uniform[value] = array.flat[0].item()
        return twin

    def fold(self, node: Node) -> list[Value] | None:
        """Return the constants that a node gives, or None where it has to run."""
        lowering = node.op.lowering
        if isinstance(lowering, Host) and (node.inputs or node.op.category == "random"):
            return None
        self._note_uniform(node)
        if (
            any(value.is_open for value in node.outputs)
            or sum(math.prod(v.sizes) for v in node.outputs) > FOLD_ELEMENTS
        ):
            return None
        if node.op.name in FILLS:
            output = node.outputs[0]
            dtype = output.aval.dtype.numpy
            return [self.keep(output, np.full(output.sizes, FILLS[node.op.name], dtype))]
        if node.op.name == "broadcast_to" or not all(v in self.arrays for v in node.inputs):
            return None  # what is repeated is read in place, and kernels repeat it by themselves
        results = run_node(node, [self.arrays[v] for v in node.inputs])
        return [
            self.keep(value, np.ascontiguousarray(array).reshape(array.shape))
            for value, array in zip(node.outputs, results, strict=True)
        ]

    def _note_uniform(self, node: Node) -> None:
        name, output = node.op.name, node.outputs[0]
        if name == "full" and not isinstance(node.attributes["fill_value"], SymDim):
            self.uniform[output] = node.attributes["fill_value"]  # pyright: ignore[reportArgumentType]
        elif name in FILLS:
            self.uniform[output] = FILLS[name]
        elif isinstance(node.op.lowering, View) and node.inputs[0] in self.uniform:
            self.uniform[output] = self.uniform[node.inputs[0]]
