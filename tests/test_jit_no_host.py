"""Training steps of usual networks become machine code as a whole: no step runs in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler.jit import explain

nn, ops = cw.nn, cw.ops
RNG = np.random.default_rng(17)


def numbers(*shape: int) -> cw.Tensor:
    return cw.Tensor(RNG.standard_normal(shape).astype(np.float32))


class Classifier(nn.Cell):
    """Words looked up, dropped at random, averaged and classified."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 8, padding_idx=0)
        self.drop = nn.Dropout(p=0.2)
        self.out = nn.Dense(8, 5)

    def construct(self, words: cw.Tensor) -> cw.Tensor:
        return self.out(ops.mean(self.drop(self.table(words)), 1))


class Residual(nn.Cell):
    """Two convolutions beside a shorter way."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, pad_mode="pad", padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, pad_mode="pad", padding=1)
        self.short = nn.Conv2d(3, 8, 1, stride=2)
        self.pool = nn.MaxPool2d(2, 2)
        self.out = nn.Dense(32, 5)

    def construct(self, x: cw.Tensor) -> cw.Tensor:
        inner = self.second(ops.relu(self.norm(self.first(x))))
        return self.out(ops.flatten(self.pool(ops.relu(inner + self.short(x)))))


class Forked(nn.Cell):
    """Down, up again, and both joined, as in a U-Net."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 4, 3, pad_mode="pad", padding=1)
        self.deep = nn.Conv2d(4, 8, 3, pad_mode="pad", padding=1)
        self.up = nn.Conv2d(12, 3, 3, pad_mode="pad", padding=1)
        self.pool = nn.MaxPool2d(2, 2)

    def construct(self, x: cw.Tensor) -> cw.Tensor:
        fine = ops.relu(self.down(x))
        coarse = ops.relu(self.deep(self.pool(fine)))
        wide = ops.repeat_interleave(ops.repeat_interleave(coarse, 2, 2), 2, 3)
        return self.up(ops.concat((fine, wide), 1))


def transformer() -> nn.Cell:
    return nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True, norm_first=True)


LABELS = cw.Tensor(np.array([0, 4, 2], np.int32))
Loss = Callable[[cw.Tensor, cw.Tensor], cw.Tensor]
STEPS: dict[str, tuple[Callable[[], nn.Cell], Loss, cw.Tensor, cw.Tensor]] = {
    "transformer": (transformer, ops.mse_loss, numbers(2, 40, 16), numbers(2, 40, 16)),
    "words": (
        Classifier, ops.cross_entropy,
        cw.Tensor(RNG.integers(0, 20, (3, 7)).astype(np.int32)), LABELS,
    ),
    "residual": (Residual, ops.cross_entropy, numbers(3, 3, 8, 8), LABELS),
    "forked": (Forked, ops.mse_loss, numbers(2, 3, 8, 8), numbers(2, 3, 8, 8)),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_a_training_step_is_machine_code_and_equals_eager(name: str) -> None:
    make, loss, given, target = STEPS[name]

    def trained(compiled: bool) -> list[np.ndarray]:
        cw.set_seed(3)
        net = make()
        net.set_train()
        optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
        derive = cw.value_and_grad(lambda x, t: loss(net(x), t), None, optimizer.parameters)

        def step(x: cw.Tensor, t: cw.Tensor) -> Any:
            value, grads = derive(x, t)
            optimizer(grads)
            return value

        run = cw.jit(step, fullgraph=True) if compiled else step
        losses = [run(given, target).asnumpy() for _ in range(3)]
        if compiled:
            report = str(explain(step)(given, target))
            assert [line for line in report.splitlines() if "host" in line] == []
        return [*losses, *(p.asnumpy() for p in net.trainable_params())]

    for found, wanted in zip(trained(True), trained(False), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)
