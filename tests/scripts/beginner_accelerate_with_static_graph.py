"""Compile networks: what MindSpore's tutorial ``beginner/accelerate_with_static_graph`` calls.

``jit`` as a decorator of a function and of ``construct``, ``jit`` called on a function, and the
mode of the whole process.
"""

from __future__ import annotations

from pathlib import Path

import cellwire as ms
import numpy as np
from cellwire import Tensor, nn


class Network(nn.Cell):
    """Two layers over an image."""

    def __init__(self) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.SequentialCell(nn.Dense(36, 16), nn.ReLU(), nn.Dense(16, 10))

    def construct(self, x: Tensor) -> Tensor:
        return self.layers(self.flatten(x))


class Compiled(Network):
    """The same, compiled wherever it is called."""

    @ms.jit
    def construct(self, x: Tensor) -> Tensor:
        return self.layers(self.flatten(x))


def main(folder: Path) -> None:
    images = Tensor(np.random.randn(8, 1, 6, 6).astype(np.float32))
    net = Network()
    ms.set_context(mode=ms.PYNATIVE_MODE)
    expected = net(images).asnumpy()
    ms.set_context(mode=ms.GRAPH_MODE)
    assert np.allclose(net(images).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    ms.set_context(mode=ms.PYNATIVE_MODE)

    @ms.jit
    def run(x: Tensor) -> Tensor:
        return net(x)

    def plain(x: Tensor) -> Tensor:
        return net(x)

    def fresh(x: Tensor) -> Tensor:
        return Network()(x)

    run_too = ms.jit(plain)
    assert ms.jit(fresh)(images).shape == (8, 10)  # a network that is made at each call
    compiled = Compiled()
    ms.load_param_into_net(compiled, net.parameters_dict())
    for _ in range(2):  # the second call finds the graph of the first
        for function in (run, run_too, compiled):
            assert np.allclose(function(images).asnumpy(), expected, rtol=1e-4, atol=1e-5)
