"""Build a network from Cells: what MindSpore's tutorial ``beginner/model`` calls.

A Cell with ``construct``, how it prints, layers one by one, initial weights by name, and the
names of parameters.
"""

from __future__ import annotations

from pathlib import Path

import cellwire as ms
import numpy as np
from cellwire import Tensor, nn, ops


class Classifier(nn.Cell):
    """Five classes from 6×6 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.SequentialCell(
            nn.Dense(36, 8, weight_init="normal", bias_init="zeros"),
            nn.ReLU(),
            nn.Dense(8, 5, weight_init="normal", bias_init="zeros"),
        )

    def construct(self, x: Tensor) -> Tensor:
        return self.layers(self.flatten(x))


PRINTED = """\
Classifier<
  (flatten): Flatten<>
  (layers): SequentialCell<
    (0): Dense<input_channels=36, output_channels=8, has_bias=True>
    (1): ReLU<>
    (2): Dense<input_channels=8, output_channels=5, has_bias=True>
    >
  >"""


def main(folder: Path) -> None:
    net = Classifier()
    assert str(net) == PRINTED
    scores = net(ops.ones((1, 6, 6), ms.float32))
    print(scores)
    chances = nn.Softmax(axis=1)(scores)
    assert np.isclose(float(chances.sum()), 1)
    assert chances.argmax(1).shape == (1,)

    images = ops.ones((3, 6, 6), ms.float32)
    flatten = nn.Flatten()
    flat = flatten(images)
    dense = nn.Dense(in_channels=36, out_channels=4)
    hidden = dense(flat)
    assert (flat.shape, hidden.shape) == ((3, 36), (3, 4))
    assert np.array_equal(nn.ReLU()(hidden).asnumpy(), np.maximum(hidden.asnumpy(), 0))
    chain = nn.SequentialCell(flatten, dense, nn.ReLU(), nn.Dense(4, 5))
    assert chain(images).shape == (3, 5)

    for name, parameter in net.parameters_and_names():
        print(f"{name}: {parameter.shape}, begins with {parameter[:2]}")
    sizes = {name: parameter.shape for name, parameter in net.parameters_and_names()}
    assert sizes == {
        "layers.0.weight": (8, 36),
        "layers.0.bias": (8,),
        "layers.2.weight": (5, 8),
        "layers.2.bias": (5,),
    }
    assert not net.layers[0].bias.asnumpy().any()
