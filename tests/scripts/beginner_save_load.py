"""Save and load networks: what MindSpore's tutorial ``beginner/save_load`` calls.

Checkpoints of parameters, and the whole network as a graph that runs without its class.
"""

from __future__ import annotations

from pathlib import Path

import cellwire as ms
import numpy as np
from cellwire import Tensor, nn


def network() -> nn.SequentialCell:
    return nn.SequentialCell(nn.Flatten(), nn.Dense(36, 8), nn.ReLU(), nn.Dense(8, 4))


def main(folder: Path) -> None:
    inputs = Tensor(np.random.randn(1, 1, 6, 6).astype(np.float32))
    net = network()
    expected = net(inputs).asnumpy()

    ms.save_checkpoint(net, str(folder / "net.ckpt"))
    again = network()
    weights = ms.load_checkpoint(str(folder / "net.ckpt"))
    assert set(weights) == {"1.weight", "1.bias", "3.weight", "3.bias"}
    missing, unknown = ms.load_param_into_net(again, weights)
    assert (missing, unknown) == ([], [])
    assert np.allclose(again(inputs).asnumpy(), expected, rtol=1e-5, atol=1e-6)

    ms.set_context(mode=ms.GRAPH_MODE, jit_syntax_level=ms.STRICT)
    ms.export(net, inputs, file_name=str(folder / "net"), file_format="MINDIR")
    graph = ms.load(str(folder / "net.mindir"))
    loaded = nn.GraphCell(graph)
    outputs = loaded(inputs)
    print(outputs.shape)
    assert np.allclose(outputs.asnumpy(), expected, rtol=1e-5, atol=1e-6)
