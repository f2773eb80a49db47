"""One Cell for many sizes: what MindSpore's page ``compile/dynamic_shape`` calls.

``set_inputs`` with a tensor whose sizes are symbols, in graph mode.
"""

from __future__ import annotations

from pathlib import Path

import cellwire as ms
import numpy as np
from cellwire import Symbol, Tensor, nn


class Doubled(nn.Cell):
    """Adds a matrix of any size to itself."""

    def construct(self, x: Tensor) -> Tensor:
        return x + x


def main(folder: Path) -> None:
    ms.context.set_context(mode=ms.context.GRAPH_MODE)
    net = Doubled()
    height, width = Symbol(max=8), Symbol(divisor=2)
    net.set_inputs(Tensor(shape=(height, width), dtype=ms.float32))
    for shape in ((2, 4), (5, 6), (8, 2)):
        matrix = Tensor(np.random.randn(*shape), dtype=ms.float32)
        assert np.allclose(net(matrix).asnumpy(), 2 * matrix.asnumpy())
    for shape in ((9, 2), (2, 3)):
        try:
            net(Tensor(np.zeros(shape), dtype=ms.float32))
        except ValueError as error:
            print(error)
        else:
            raise AssertionError(f"a matrix of {shape} was taken")
