"""Derive functions: what MindSpore's tutorial ``beginner/autograd`` calls.

``grad`` and ``value_and_grad`` over positions and weights, parameters as arguments, several
outputs, ``stop_gradient``, auxiliary results, and ``GradOperation`` of older scripts.
"""

from __future__ import annotations

from pathlib import Path

import cellwire as ms
import numpy as np
from cellwire import Parameter, ParameterTuple, Tensor, nn, ops

X = ops.ones(4, ms.float32)
TARGET = ops.zeros(2, ms.float32)


def cost(x: Tensor, target: Tensor, w: Tensor, b: Tensor) -> Tensor:
    z = ops.matmul(x, w) + b
    return ops.binary_cross_entropy_with_logits(z, target, ops.ones_like(z), ops.ones_like(z))


def cost_and_scores(x: Tensor, target: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return cost(x, target, w, b), ops.matmul(x, w) + b


def cost_and_stopped(x: Tensor, target: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    loss, z = cost_and_scores(x, target, w, b)
    return loss, ops.stop_gradient(z)


class Linear(nn.Cell):
    """One layer of given weights."""

    def __init__(self, w: Parameter, b: Parameter) -> None:
        super().__init__()
        self.w = w
        self.b = b

    def construct(self, x: Tensor) -> Tensor:
        return ops.matmul(x, self.w) + self.b


class Derived(nn.Cell):
    """The gradients of another Cell's weights, as older scripts write it."""

    def __init__(self, net: nn.Cell) -> None:
        super().__init__()
        self.net = net
        self.weights = ParameterTuple(net.trainable_params())
        self.derive = ops.GradOperation(get_by_list=True, sens_param=True)

    def construct(self, x: Tensor, sens: Tensor) -> tuple[Tensor, ...]:
        return self.derive(self.net, self.weights)(x, sens)


def main(folder: Path) -> None:
    w = Parameter(Tensor(np.random.randn(4, 2), ms.float32), name="w")
    b = Parameter(Tensor(np.random.randn(2), ms.float32), name="b")
    z = (X.asnumpy() @ w.asnumpy()) + b.asnumpy()
    expected = 1 / (1 + np.exp(-z)) / 2  # the derivative by z of the mean over two outputs

    assert np.isclose(float(cost(X, TARGET, w, b)), np.log1p(np.exp(z)).mean(), rtol=1e-5)
    by_w, by_b = ms.grad(cost, (2, 3))(X, TARGET, w, b)
    assert np.allclose(by_b.asnumpy(), expected, rtol=1e-4)
    assert np.allclose(by_w.asnumpy(), np.tile(expected, (4, 1)), rtol=1e-4)

    # outputs add up, unless one of them is stopped or auxiliary
    _, summed = ms.grad(cost_and_scores, (2, 3))(X, TARGET, w, b)
    assert np.allclose(summed.asnumpy(), expected + 1, rtol=1e-4)
    _, stopped = ms.grad(cost_and_stopped, (2, 3))(X, TARGET, w, b)
    assert np.allclose(stopped.asnumpy(), expected, rtol=1e-4)
    grads, (scores,) = ms.grad(cost_and_scores, (2, 3), has_aux=True)(X, TARGET, w, b)
    assert np.allclose(grads[1].asnumpy(), expected, rtol=1e-4)
    assert np.allclose(scores.asnumpy(), z, rtol=1e-4)

    net = Linear(w, b)
    loss_fn = nn.BCEWithLogitsLoss()

    def forward(x: Tensor, target: Tensor) -> Tensor:
        return loss_fn(net(x), target)

    loss, grads = ms.value_and_grad(forward, None, weights=net.trainable_params())(X, TARGET)
    print(loss, grads)
    assert len(grads) == 2
    assert np.allclose(grads[0].asnumpy(), by_w.asnumpy(), rtol=1e-4)

    b.requires_grad = False
    only = Derived(net)(X, Tensor([0.5, 1.0], ms.float32))
    assert len(only) == 1
    assert np.allclose(only[0].asnumpy(), [[0.5, 1.0]] * 4)
