"""Windows of convolutions and pools: paddings, output sizes, and where each window reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..call import Call


@dataclass(frozen=True)
class Windows:
    """Windows over the spatial axes: one entry an axis."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    outputs: tuple[int, ...]

    def places(self, axis: int) -> np.ndarray:
        """Return ``[outputs, kernel]``: the position in the input that each window reads."""
        starts = np.arange(self.outputs[axis]) * self.strides[axis] - self.before[axis]
        return starts[:, None] + np.arange(self.kernel[axis]) * self.dilations[axis]


def windows_of(call: Call, sizes: Sequence[int], kernel: Sequence[int]) -> Windows:
    """Return the windows that a node's attributes describe over axes of these sizes."""
    rank = len(sizes)
    strides = tuple(call.attr("strides") or [1] * rank)
    dilations = tuple(call.attr("dilations") or [1] * rank)
    pads = call.attr("pads") or [0] * (2 * rank)
    before, after = list(pads[:rank]), list(pads[rank:])
    ceil, mode = bool(call.attr("ceil_mode", 0)), call.attr("auto_pad", "NOTSET")
    outputs: list[int] = []
    for i, size in enumerate(sizes):
        reach = (kernel[i] - 1) * dilations[i] + 1
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            outputs.append(-(-size // strides[i]))
            total = max((outputs[i] - 1) * strides[i] + reach - size, 0)
            low = total // 2 if mode == "SAME_UPPER" else total - total // 2
            before[i], after[i] = low, total - low
            continue
        if mode == "VALID":
            before[i] = after[i] = 0
        free = size + before[i] + after[i] - reach
        count = -(-free // strides[i]) if ceil else free // strides[i]
        # A window must begin inside the input or the padding before it.
        if ceil and count * strides[i] >= size + before[i]:
            count -= 1
        outputs.append(count + 1)
    return Windows(tuple(kernel), strides, dilations, tuple(before), tuple(after), tuple(outputs))
