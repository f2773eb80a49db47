"""``jit(background=True)``: eager until the plan is ready, counted, told, and never stale."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler import background


class Gate:
    """Holds the worker's compilations until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = threading.Event()
        self.threads: set[str] = set()
        self.fails: Exception | None = None
        compiling = background.compile_call

        def held(*args: Any) -> Any:
            assert self.open.wait(30)
            self.threads.add(threading.current_thread().name)
            if self.fails is not None:
                raise self.fails
            return compiling(*args)

        monkeypatch.setattr(background, "compile_call", held)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(monkeypatch)
    yield made
    made.open.set()


@contextmanager
def entered(function: Any) -> Iterator[list[int]]:
    """Count how often the function's own code runs."""
    found: list[int] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is function.__code__:
            found.append(frame.f_lineno)

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


def test_calls_run_eagerly_until_the_plan_is_ready(gate: Gate) -> None:
    def double(x: Any) -> Any:
        return x * 2 + 1

    run = cw.jit(double, background=True, fullgraph=True)
    x = cw.Tensor(np.arange(3, dtype=np.float32))
    run(x)
    with entered(double) as calls:
        for _ in range(2):
            np.testing.assert_array_equal(run(x).asnumpy(), [1, 3, 5])
    assert len(calls) == 2
    assert not run.wait(0)
    assert "compiling in the background, 3 calls ran eagerly" in str(run.explain(x))
    gate.open.set()
    assert run.wait(30)
    with entered(double) as calls:
        np.testing.assert_array_equal(run(x).asnumpy(), [1, 3, 5])
    assert not calls
    assert gate.threads == {"cellwire-compile"}
    (situation,) = run.situations.values()
    report = situation.paths[0].plan.report
    assert report.eager_calls == 3
    assert "compiled in the background, 3 calls ran eagerly" in str(report)
    assert "compiled in the background, 3 calls ran eagerly" in str(run.explain(x))


def test_a_value_that_changes_meanwhile_is_compiled_anew(gate: Gate) -> None:
    class Config:
        factor = 2.0

    run = cw.jit(lambda x: x * Config.factor, background=True, fullgraph=True)
    x = cw.Tensor(np.ones(2, np.float32))
    gate.open.set()
    assert run(x).asnumpy().tolist() == [2, 2]
    assert run.wait(30)
    Config.factor = 3.0
    assert run(x).asnumpy().tolist() == [3, 3]
    assert run.wait(30)
    assert run(x).asnumpy().tolist() == [3, 3]
    Config.factor = 2.0
    assert run(x).asnumpy().tolist() == [2, 2]
    run.wait(30)


def test_training_goes_on_from_eager_to_compiled_steps(gate: Gate) -> None:
    def losses(**options: Any) -> list[float]:
        cw.set_seed(3)
        net = cw.nn.SequentialCell(cw.nn.Dense(4, 8), cw.nn.Dropout(p=0.5), cw.nn.Dense(8, 1))
        net.set_train()
        optimizer = cw.nn.Adam(net.trainable_params(), 0.05)
        derive = cw.value_and_grad(lambda x: net(x).square().mean(), None, optimizer.parameters)

        def step(x: Any) -> Any:
            loss, grads = derive(x)
            optimizer(grads)
            return loss

        run = cw.jit(step, fullgraph=True, **options)
        x = cw.Tensor(np.linspace(-1, 1, 24, dtype=np.float32).reshape(6, 4))
        found = []
        for number in range(6):
            if number == 3 and options:
                gate.open.set()
                assert run.wait(30)
            found.append(float(run(x)))
        return found

    np.testing.assert_allclose(losses(background=True), losses(), rtol=1e-5)


def test_an_error_of_the_worker_is_raised_by_the_next_call(gate: Gate) -> None:
    gate.fails = RuntimeError("the worker failed")
    run = cw.jit(lambda x: x + 1, background=True)
    x = cw.Tensor(np.ones(2, np.float32))
    assert run(x).asnumpy().tolist() == [2, 2]
    gate.open.set()
    assert run.wait(30)
    with pytest.raises(RuntimeError, match="the worker failed"):
        run(x)


def test_reasons_not_to_compile_are_told_as_ever() -> None:
    def printing(x: Any) -> Any:
        return x + np.random.rand()

    run = cw.jit(printing, background=True, fullgraph=True)
    with pytest.raises(RuntimeError, match="another value at every call"):
        run(cw.Tensor(np.ones(2, np.float32)))
    with pytest.raises(TypeError, match="background must be True or False"):
        cw.jit(printing, background=1)


def test_the_default_waits() -> None:
    run = cw.jit(lambda x: x + 1, fullgraph=True)
    run(cw.Tensor(np.ones(2, np.float32)))
    assert run.wait()
    assert [s for s in run.situations.values() if s.paths]


def test_no_thread_is_left(gate: Gate) -> None:
    gate.open.set()
    run = cw.jit(lambda x: x - 1, background=True)
    run(cw.Tensor(np.ones(2, np.float32)))
    assert run.wait(30)
    for thread in threading.enumerate():
        if thread.name == "cellwire-compile":
            thread.join(30)
    assert not [t for t in threading.enumerate() if t.name == "cellwire-compile"]
