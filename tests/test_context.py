"""Settings of the process, both modes, and MindSpore's marks for its compiler."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.context import KEPT, context

GRAPH, EAGER = cw.GRAPH_MODE, cw.PYNATIVE_MODE


@pytest.fixture(autouse=True)
def settings_as_they_were() -> Iterator[None]:
    saved = replace(context, kept=dict(context.kept), told=set(context.told))
    yield
    for name in ("mode", "device_target", "device_was_set", "jit", "kept", "told"):
        setattr(context, name, getattr(saved, name))


def values(seed: int, *shape: int) -> cw.Tensor:
    return cw.Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


# ---- settings --------------------------------------------------------------------------------


def test_row_01_mode_is_set_under_both_paths_and_checked() -> None:
    assert cw.get_context("mode") == EAGER
    cw.context.set_context(mode=cw.context.GRAPH_MODE)
    assert cw.get_context("mode") == cw.context.get_context("mode") == GRAPH
    for wrong in (2, "GRAPH", True, None):
        with pytest.raises(ValueError, match="mode must be GRAPH_MODE"):
            cw.set_context(mode=wrong)


def test_row_02_devices_that_are_not_here_give_way_to_the_cpu_with_one_warning() -> None:
    context.told.clear()
    for device in ("GPU", "Ascend"):
        with pytest.warns(RuntimeWarning, match=f"'{device}' is not available"):
            cw.set_context(device_target=device)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cw.set_context(device_target=device)
    cw.set_context(device_target="auto")
    assert cw.get_context("device_target") == "CPU"
    with pytest.raises(ValueError, match="must be one of CPU, GPU"):
        cw.set_context(device_target="TPU")


def test_set_device_refuses_another_one_later() -> None:
    cw.set_device("CPU", 1)
    cw.set_device("CPU")
    with pytest.raises(RuntimeError, match="already"):
        cw.set_device("auto")
    with pytest.raises(ValueError, match="device_id"):
        cw.set_device("CPU", -1)
    with pytest.raises(ValueError, match="must be one of"):
        cw.set_device("NPU")


def test_row_03_known_settings_are_kept_and_unknown_ones_refused() -> None:
    for name, value in KEPT.items():
        assert cw.get_context(name) == value
        cw.set_context(**{name: value})
    cw.set_context(save_graphs=2, jit_config={"jit_level": "O1"}, max_call_depth=10)
    assert cw.get_context("save_graphs") == 2
    assert cw.get_context("jit_config") == {"jit_level": "O1"}
    for call in (lambda: cw.set_context(mod=0), lambda: cw.get_context("mod")):
        with pytest.raises(ValueError, match="no setting 'mod'"):
            call()


def test_settings_are_taken_all_or_not_at_all() -> None:
    with pytest.raises(ValueError, match="no setting"):
        cw.set_context(mode=GRAPH, nonsense=1)
    assert cw.get_context("mode") == EAGER


def test_errors_are_raised_at_the_call() -> None:
    cw.runtime.launch_blocking()
    with pytest.raises(ValueError, match="matmul"):
        cw.ops.matmul(values(0, 2, 3), values(1, 2, 3))
    cw.runtime.synchronize()


# ---- modes -----------------------------------------------------------------------------------


class Net(cw.nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense = cw.nn.Dense(3, 2, weight_init=values(5, 2, 3), bias_init="zeros")
        self.scale = 1.0

    def construct(self, x: cw.Tensor) -> cw.Tensor:
        return cw.ops.relu(self.dense(x)) * self.scale


def test_switching_modes_leaves_nothing_stale() -> None:
    net, x = Net(), values(1, 4, 3)
    weight = net.dense.weight
    for step in range(6):
        net.scale = float(step)
        weight.set_data(weight + 0.5)
        net.set_train(step % 2 == 0)
        found = []
        for mode in (GRAPH, EAGER):
            cw.set_context(mode=mode)
            found.append(net(x).asnumpy())
        w, b = weight.asnumpy(), net.dense.bias.asnumpy()
        wanted = np.maximum(x.asnumpy() @ w.T + b, 0) * step
        for output in found:
            np.testing.assert_allclose(output, wanted, rtol=1e-5, atol=1e-6)
    net.dense = cw.nn.Dense(3, 2)
    cw.set_context(mode=GRAPH)
    in_graph = net(x).asnumpy()
    cw.set_context(mode=EAGER)
    np.testing.assert_allclose(in_graph, net(x).asnumpy(), rtol=1e-5, atol=1e-6)


def test_training_with_modes_in_turn_is_training_in_one() -> None:
    results = []
    for modes in ((EAGER,) * 4, (GRAPH, EAGER, EAGER, GRAPH)):
        net = Net()
        optimizer = cw.nn.Momentum(net.trainable_params(), 0.1, 0.9)
        step = cw.value_and_grad(lambda x: (net(x) ** 2).sum(), None, optimizer.parameters)  # noqa: B023
        for number, mode in enumerate(modes):
            cw.set_context(mode=mode)
            _, grads = step(values(number, 4, 3))
            optimizer(grads)
        results.append(net.dense.weight.asnumpy().copy())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-4, atol=1e-5)


def test_row_51_plain_functions_run_eagerly_in_graph_mode() -> None:
    seen: list[Any] = []

    def plain(x: cw.Tensor) -> cw.Tensor:
        seen.append(float(x.sum()))
        return x * 2

    cw.set_context(mode=GRAPH)
    for number in (1.0, 2.0):
        assert plain(cw.Tensor([number])).tolist() == [2 * number]
    assert seen == [1, 2]


def test_row_57_names_in_the_articles_are_importable() -> None:
    for name in ("MAELoss", "MSELoss", "Adam", "Momentum", "Dense", "ReLU", "CellList"):
        assert isinstance(getattr(cw.nn, name), type), name
    assert cw.nn.Adam(params=Net().trainable_params()).parameters
    for path, name in (
        ("numpy", "randn"), ("dataset", "GeneratorDataset"), ("profiler", "Profiler"),
        ("amp", "auto_mixed_precision"), ("context", "set_context"), ("ops", "stop_gradient"),
    ):  # fmt: skip
        assert hasattr(importlib.import_module(f"cellwire.{path}"), name), name


def test_jit_is_switched_off_by_the_context() -> None:
    context.jit = False
    seen: list[int] = []

    @cw.jit(fullgraph=True)
    def counted(x: cw.Tensor) -> cw.Tensor:
        seen.append(1)
        return x + 1

    for _ in range(3):
        assert counted(cw.Tensor([1.0])).tolist() == [2]
    assert len(seen) == 3
    cw.set_context(mode=GRAPH)
    net = Net()
    net(values(0, 1, 3))
    assert not any(kept.situations for kept in net.__dict__["_compiled"].values())


@pytest.mark.parametrize("name", ["CELLWIRE_JIT", "MS_JIT"])
def test_the_environment_switches_jit_off(name: str) -> None:
    code = "from cellwire.engine.context import context; print(context.jit)"
    run = [sys.executable, "-c", code]
    done = subprocess.run(
        run, env={**os.environ, name: "0"}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
    assert context.jit is True


# ---- marks -----------------------------------------------------------------------------------


def test_mutable_marks_data_and_checks_it() -> None:
    pair = (cw.Tensor([1.0]), {"a": [2, 3.0]})
    assert cw.mutable(pair) is pair
    assert cw.mutable([1, 2], dynamic_len=True) == [1, 2]
    total = cw.jit(lambda parts, by: parts[0] * by + parts[1], fullgraph=True)
    for number in (1.0, 2.0, 3.0):
        parts = cw.mutable((cw.Tensor([number]), cw.Tensor([1.0])))
        assert total(parts, cw.mutable(number)).tolist() == [number * number + 1]
    with pytest.raises(TypeError, match="not str"):
        cw.mutable("text")  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="dynamic_len"):
        cw.mutable(3, dynamic_len=True)


def test_jit_class_marks_classes_that_compiled_functions_use() -> None:
    @cw.jit_class
    class Scaler:
        factor = 3

        def times(self, x: cw.Tensor) -> cw.Tensor:
            return x * self.factor

    scaler = Scaler()
    run = cw.jit(lambda x: scaler.times(x) + Scaler.factor, fullgraph=True)
    assert run(cw.Tensor([1.0])).tolist() == [6]
    scaler.factor = 4
    assert run(cw.Tensor([1.0])).tolist() == [7]
    with pytest.raises(TypeError, match="is a Cell"):
        cw.jit_class(Net)
    with pytest.raises(TypeError, match="for classes"):
        cw.jit_class(lambda: None)  # pyright: ignore[reportArgumentType]


def test_lazy_inline_leaves_a_cell_as_it_is() -> None:
    class Block(cw.nn.Cell):
        @cw.lazy_inline
        def __init__(self) -> None:
            super().__init__()
            self.dense = cw.nn.Dense(3, 3)

        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return self.dense(x)

    cw.set_context(mode=GRAPH)
    assert Block()(values(0, 2, 3)).shape == (2, 3)
    assert cw.lazy_inline(attrs="a", policy="front")(len) is len
    with pytest.raises(ValueError, match="policy"):
        cw.lazy_inline(policy="back")
    cw.ms_memory_recycle()
