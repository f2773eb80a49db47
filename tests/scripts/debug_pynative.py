"""Look for mistakes in eager mode: what MindSpore's tutorial ``debug/pynative`` calls.

Errors where they are made, values in the middle of a function, and gradients in the middle of
the way back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cellwire as ms
import numpy as np
from cellwire import Tensor, nn, ops

TWO = Tensor(2, ms.float32)
THREE = Tensor(3, ms.float32)


class Net(nn.Cell):
    """A Cell whose gradients are watched."""

    def __init__(self, seen: list[Any]) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.handle = self.relu.register_backward_hook(
            lambda cell, given, got: seen.append((given[0].tolist(), got[0].tolist()))
        )

    def construct(self, x: Tensor) -> Tensor:
        return self.relu(x + x)


def main(folder: Path) -> None:
    ms.runtime.launch_blocking()
    try:
        nn.Dense(3, 2)(ops.ones((2, 4), ms.float32))
    except ValueError as error:
        print(f"as it should be: {error}")
    else:
        raise AssertionError("a layer of three inputs took four")

    seen: list[Any] = []

    def function(x: Tensor, y: Tensor) -> Tensor:
        z = x * y
        seen.append(float(z))  # a breakpoint here sees the same number
        z.register_hook(lambda grad: grad * 2)
        return z * y

    value, grads = ms.value_and_grad(function, grad_position=(0, 1))(TWO, THREE)
    assert (seen, float(value)) == ([6], 18)
    assert [float(grad) for grad in grads] == [18, 18]

    got: list[Any] = []
    hook = ops.HookBackward(got.append)

    def watched(x: Tensor, y: Tensor) -> Tensor:
        return hook(x * y) * y

    value, grads = ms.value_and_grad(watched, grad_position=(0, 1))(TWO, THREE)
    assert float(got[0][0]) == 3
    assert [float(grad) for grad in grads] == [9, 12]

    both: list[Any] = []
    net = Net(both)
    value, grad = ms.value_and_grad(net, grad_position=(0,))(Tensor(np.ones([1], np.float32)))
    assert (value.tolist(), grad[0].tolist()) == ([2], [2])
    assert both == [([1], [1])]
