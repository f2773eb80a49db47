"""Memory stays flat: other sizes at each step, steps that fail, bounded memories of what was made.

``python -m benchmarks.memory`` runs the same for ten thousand steps and prints what is used.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import cellwire.engine.compiler  # noqa: F401 - installs the eager compiler, as users have it
import numpy as np
import pytest
from cellwire.engine import nn, ops
from cellwire.engine.autograd import gradgraph, value_and_grad
from cellwire.engine.compiler import eager
from cellwire.engine.ops.registry import active_records, records
from cellwire.engine.recent import Recent
from cellwire.engine.tensor import Tensor


@pytest.fixture
def small_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is remembered by shapes be full after a few steps."""
    monkeypatch.setattr(gradgraph, "_graphs", Recent(4))
    monkeypatch.setattr(eager, "_runs", Recent(8))


def training_step(fails: bool = False) -> Callable[[int], None]:
    net = nn.SequentialCell(nn.Dense(2, 3, activation="tanh"), nn.Softmax(1)).set_train()
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)

    def forward(x: Tensor) -> Tensor:
        loss = (net(x) ** 2).mean()
        if fails:
            raise FloatingPointError
        return loss

    derived = value_and_grad(forward, None, optimizer.parameters)
    failed: list[int] = []

    def step(length: int) -> None:
        x = Tensor(np.ones((1, length, 2), np.float32))
        try:
            optimizer(derived(x)[1])
        except FloatingPointError:
            failed.append(length)

    return step


def objects() -> tuple[int, int]:
    """Return how many objects and how many tensors are alive."""
    gc.collect()
    alive = gc.get_objects()
    return len(alive), sum(issubclass(type(item), Tensor) for item in alive)


@pytest.mark.usefixtures("small_memories")
@pytest.mark.parametrize("fails", [False, True], ids=["steps", "exceptions"])
def test_complaint_05_other_lengths_leave_memory_flat(fails: bool) -> None:
    step = training_step(fails)
    for length in range(1, 21):
        step(length)
    grown: list[int] = []
    before, tensors = objects()
    for first in (21, 61):
        for length in range(first, first + 40):
            step(length)
        after, tensors_after = objects()
        assert tensors_after == tensors
        grown.append(after - before)
        before = after
    assert min(grown) < 40  # one object a step would be as many, in each part


def test_complaint_07_nothing_is_kept_of_a_pass_that_failed() -> None:
    alive: list[weakref.ref[Tensor]] = []

    class Failing(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x * 2

        def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> Any:
            raise ArithmeticError("backward")

    def forward(x: Tensor) -> Tensor:
        y = x * 3
        alive.append(weakref.ref(y))
        if float(x.sum()) < 0:
            raise ArithmeticError("forward")
        return Failing()(y).sum()

    for value in (-1.0, 1.0):
        with pytest.raises(ArithmeticError):
            value_and_grad(forward)(Tensor([value]))
    gc.collect()
    assert [ref() for ref in alive] == [None, None]
    assert not records
    assert not active_records()


def test_nothing_is_kept_of_a_pass_that_succeeded() -> None:
    alive: list[weakref.ref[Tensor]] = []

    def forward(x: Tensor) -> Tensor:
        y = ops.tanh(x * 3)
        alive.append(weakref.ref(y))
        return y.sum()

    derived = value_and_grad(forward)
    for _ in range(3):
        derived(Tensor([1.0]))
    assert [ref() for ref in alive] == [None] * 3


def test_what_recurs_stays_remembered_while_others_pass_by() -> None:
    memory: Recent[int] = Recent(8)
    memory["kept"] = 1
    for number in range(100):
        memory[number] = number
        assert memory.get("kept") == 1
        assert len(memory) <= 8
    assert memory.get(0) is None
    assert memory.get(0, 5) == 5
    assert 99 in memory
    assert set(memory.values()) >= {1, 99}
    memory.clear()
    assert len(memory) == 0
