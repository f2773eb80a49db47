"""Look at values and gradients on their way: MindSpore's tutorial ``custom_program/hook_program``.

``HookBackward``, and a Cell's four kinds of hooks: before and after it runs, before and after its
gradient. What they return takes the place of what they were given; ``remove`` ends them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cellwire as ms
import numpy as np
from cellwire import Tensor, nn, ops

ONE = Tensor(np.ones([1]).astype(np.float32))


class Sum(nn.Cell):
    """Adds two tensors and runs the sum through a Cell that is watched."""

    def __init__(self) -> None:
        super().__init__()
        self.relu = nn.ReLU()

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return self.relu(x + y)


class Normed(nn.Cell):
    """A convolution whose output's normalisation is watched."""

    def __init__(self, register: Callable[[nn.Cell], Any]) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, kernel_size=2, weight_init="ones", pad_mode="valid")
        self.norm = nn.BatchNorm2d(2, momentum=0.99, eps=1e-5, gamma_init="ones")
        self.handle = register(self.norm)
        self.relu = nn.ReLU()

    def construct(self, x: Tensor) -> Tensor:
        return self.relu(self.norm(self.conv(x)))


def numbers(grads: tuple[Tensor, ...]) -> list[float]:
    return [round(float(grad.sum()), 4) for grad in grads]


def gradient_operator() -> None:
    """An operator that only looks at the gradient, or changes it."""
    seen: list[Any] = []
    watch = ops.HookBackward(seen.append)
    halve = ops.HookBackward(lambda grads: (grads[0] / 2,))

    def function(x: Tensor, y: Tensor) -> Tensor:
        return halve(watch(x * y)) * y

    grads = ms.grad(function, grad_position=(0, 1))(Tensor(3.0), Tensor(2.0))
    assert isinstance(seen[0], tuple)
    assert numbers(seen[0]) == [1]
    assert numbers(grads) == [2, 9]  # half of what goes through the product, and the rest of y


def before_and_after() -> None:
    """Hooks that change what goes into a Cell and what comes out."""
    net = Sum()
    derive = ms.grad(net, grad_position=(0, 1))
    seen = []

    def before(cell: nn.Cell, inputs: tuple[Tensor, ...]) -> Tensor:
        seen.append((type(cell), numbers(inputs)))
        return inputs[0] * 3

    def after(cell: nn.Cell, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        seen.append((numbers(inputs), float(output)))
        return output + output

    first = net.relu.register_forward_pre_hook(before)
    second = net.relu.register_forward_hook(after)
    assert net(ONE, ONE).tolist() == [12]
    assert seen == [(nn.ReLU, [2]), ([6], 6)]
    assert numbers(derive(ONE, ONE)) == [6, 6]  # what hooks compute is derived, too
    first.remove()
    assert numbers(derive(ONE, ONE)) == [2, 2]
    second.remove()
    assert numbers(derive(ONE, ONE)) == [1, 1]
    second.remove()  # once more does no harm

    fresh = net.relu.register_forward_pre_hook(lambda cell, inputs: Tensor([1.0]))
    assert numbers(derive(ONE, ONE)) == [0, 0]  # a new tensor knows nothing of the inputs
    fresh.remove()


def gradients_of_a_cell() -> None:
    """Hooks that see the gradient of a Cell's output, and of its input."""
    seen: list[Any] = []
    image = Tensor(np.ones([1, 1, 2, 2]).astype(np.float32))

    def before(cell: nn.Cell, grad_output: tuple[Tensor, ...]) -> None:
        seen.append((type(cell), grad_output[0].shape, numbers(grad_output)))

    def after(
        cell: nn.Cell, grad_input: tuple[Tensor, ...], grad_output: tuple[Tensor, ...]
    ) -> None:
        seen.append((numbers(grad_input), numbers(grad_output)))

    watched = Normed(lambda cell: cell.register_backward_pre_hook(before))
    derive = ms.grad(watched)
    expected = derive(image).asnumpy()
    assert seen == [(nn.BatchNorm2d, (1, 2, 1, 1), [2])]
    assert np.allclose(expected, 2, rtol=1e-4)
    watched.handle.remove()
    assert np.array_equal(derive(image).asnumpy(), expected)
    assert len(seen) == 1

    watched = Normed(lambda cell: cell.register_backward_hook(after))
    ms.grad(watched)(image)
    assert seen[1] == ([2], [2])

    changed = Normed(
        lambda cell: cell.register_backward_hook(lambda cell, given, got: (given[0] * 10,))
    )
    assert np.allclose(ms.grad(changed)(image).asnumpy(), 10 * expected)
    changed = Normed(lambda cell: cell.register_backward_pre_hook(lambda cell, got: (got[0] * 5,)))
    assert np.allclose(ms.grad(changed)(image).asnumpy(), 5 * expected)


def all_together() -> None:
    """Backward hooks see the Cell itself, not what forward hooks compute around it."""
    net = Sum()
    told: list[Any] = []
    net.relu.register_forward_pre_hook(lambda cell, inputs: told.append("before") or inputs[0])
    net.relu.register_forward_hook(lambda cell, inputs, output: output * 4)
    net.relu.register_backward_pre_hook(lambda cell, grads: told.append(numbers(grads)))
    net.relu.register_backward_hook(
        lambda cell, given, got: told.append((numbers(given), numbers(got)))
    )
    assert numbers(ms.grad(net, grad_position=(0, 1))(ONE, ONE)) == [4, 4]
    assert told == ["before", [4], ([4], [4])]


def main(folder: Path) -> None:
    gradient_operator()
    before_and_after()
    gradients_of_a_cell()
    all_together()
