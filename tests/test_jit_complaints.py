"""What people complain of in compilers, and whole programs of the articles, compiled."""

from __future__ import annotations

import gc
import logging
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler import JitError, JitWarning, making
from cellwire.engine.compiler.jit import Jitted
from cellwire.kernels import object_cache

F32 = np.float32
Traces = list[Any]


def ones(*shape: int) -> cw.Tensor:
    return cw.Tensor(np.ones(shape, F32))


def drawn(*shape: int, seed: int = 0) -> cw.Tensor:
    return cw.Tensor(np.random.default_rng(seed).normal(size=shape).astype(F32))


def close(a: Any, b: Any, rtol: float = 1e-4) -> None:
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=rtol, atol=1e-5)


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Traces:
    """One item for each time that code is traced."""
    found: Traces = []
    plain = making.trace

    def counted(*args: Any, **kwargs: Any) -> Any:
        found.append(args)
        return plain(*args, **kwargs)

    monkeypatch.setattr(making, "trace", counted)
    return found


@pytest.fixture
def graph_mode() -> Iterator[None]:
    cw.set_context(mode=cw.GRAPH_MODE)
    yield
    cw.set_context(mode=cw.PYNATIVE_MODE)


# ---- complaints ------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["jit", "graph mode"])
def test_complaint_01_class_attributes_are_never_stale(how: str) -> None:
    class Plain:
        factor = 2.0

    class Scaled(nn.Cell):
        offset = 1.0

        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return x * Plain.factor + self.offset

    net = Scaled()
    run: Any = cw.jit(net, fullgraph=True) if how == "jit" else net
    cw.set_context(mode=cw.PYNATIVE_MODE if how == "jit" else cw.GRAPH_MODE)
    try:
        assert run(ones(1)).item() == 3
        Plain.factor = 5.0
        assert run(ones(1)).item() == 6
        Scaled.offset = 0.0
        assert run(ones(1)).item() == 5
        net.offset = 7.0
        assert run(ones(1)).item() == 12
    finally:
        cw.set_context(mode=cw.PYNATIVE_MODE)


def test_complaint_02_sequence_lengths_are_generalised_and_the_reason_is_logged(
    traces: Traces, caplog: pytest.LogCaptureFixture
) -> None:
    embed, mix = nn.Embedding(10, 4), nn.Dense(4, 3)

    def fn(tokens: cw.Tensor) -> cw.Tensor:
        return ops.softmax(mix(ops.relu(embed(tokens)))).sum(1)

    run = cw.jit(fn, fullgraph=True)
    with caplog.at_level(logging.INFO, "cellwire.jit"):
        for length in (5, 6, 7, 9, 12, 6, 33):
            tokens = cw.Tensor((np.arange(2 * length) % 10).reshape(2, length).astype(np.int32))
            close(run(tokens), fn(tokens))
    assert len(traces) == 2
    assert "fn: axis 1 of input 0 was 5, now 6: it is open from here on" in caplog.text
    assert run.explain(tokens).notes == tuple(r.message.partition(": ")[2] for r in caplog.records)


def test_complaint_02_code_that_needs_each_size_says_so(
    traces: Traces, caplog: pytest.LogCaptureFixture
) -> None:
    run = cw.jit(lambda x: sum([x[i] * i for i in range(x.shape[0])]), fullgraph=True)
    with caplog.at_level(logging.INFO, "cellwire.jit"):
        for size in (3, 4, 5):
            assert run(ones(size)).item() == sum(range(size))
    assert len(traces) == 4
    assert "each size is traced by itself: " in caplog.text
    assert "test_jit_complaints.py" in caplog.text
    assert "the size N is used as a number" in caplog.text


def test_complaint_04_bound_methods_are_compiled_once_and_kept_by_nobody(traces: Traces) -> None:
    class Model:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        def plain(self, x: cw.Tensor) -> cw.Tensor:
            return x * self.factor

        @cw.jit(fullgraph=True)
        def decorated(self, x: cw.Tensor) -> cw.Tensor:
            return x + self.factor

    model, other = Model(2.0), Model(3.0)
    for _ in range(3):
        assert cw.jit(model.plain, fullgraph=True)(ones(1)).item() == 2
        assert model.decorated(ones(1)).item() == 3
        assert other.decorated(ones(1)).item() == 4
    assert len(traces) == 3
    refs = weakref.ref(model), weakref.ref(other)
    del model, other
    traces.clear()
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


def test_complaint_05_plans_of_many_sizes_are_bounded() -> None:
    run = cw.jit(lambda x: x * 2)
    held = [run(ones(size)) for size in range(2, 100)]
    assert held[-1].shape == (99,)
    assert len(run.situations) <= 64
    (family,) = run.families.values()
    assert len(family.traces) == 1


def test_complaint_08_hooks_registered_late_fire_in_graph_mode(graph_mode: None) -> None:
    net = nn.SequentialCell(nn.Dense(2, 2), nn.ReLU())
    before = net(ones(1, 2)).asnumpy().copy()
    handle = net[1].register_forward_hook(lambda cell, args, out: out + 1.0)
    np.testing.assert_allclose(net(ones(1, 2)).asnumpy(), before + 1)
    handle.remove()
    np.testing.assert_allclose(net(ones(1, 2)).asnumpy(), before)


def test_complaint_09_what_was_compiled_can_be_read() -> None:
    told = cw.jit.explain(lambda x: ops.softmax(x) * 2)(ones(2, 3))
    assert "exp" in str(told)
    assert "1 kernel " in str(told)
    assert [node.op.name for node in told.graph.nodes][-1] == "mul"
    reason = cw.jit.explain(lambda x: float(np.sum(x.asnumpy())))(ones(2))
    assert reason.report is None
    assert f"{Path(__file__).name}:" in reason.reason
    assert "use Cellwire ops on the tensor" in str(reason)


def test_complaint_09_why_something_is_compiled_again_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = types.SimpleNamespace(factor=2.0)
    run = cw.jit(lambda x: x * settings.factor if x.sum() > 0 else x, fullgraph=True)
    with caplog.at_level(logging.INFO, "cellwire.jit"):
        run(ones(1))
        settings.factor = 3.0
        run(ones(1))
        run(ones(1) * -1)
    changed, branch = [record.message for record in caplog.records]
    assert changed == "<lambda>: settings.factor has changed: it is compiled once more"
    assert "a branch went another way, at" in branch
    assert f"{Path(__file__).name}:" in branch
    assert len(run.explain(ones(1)).notes) == 2


def test_complaint_10_a_call_that_comes_again_is_not_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = types.SimpleNamespace(factor=2.0)
    weight = cw.Parameter([1.0, 1.0])

    def fn(x: cw.Tensor, rate: float, name: str) -> tuple[cw.Tensor, cw.Tensor]:
        weight.set_data(weight - x * rate)
        return weight * settings.factor, x + len(name)

    run = cw.jit(fn, fullgraph=True)
    for _ in range(3):
        run(ones(2), 0.5, "ab")
    looked_up: list[Any] = []
    plain = Jitted._look_up

    def counted(self: Jitted, args: Any, kwargs: Any) -> Any:
        looked_up.append(args)
        return plain(self, args, kwargs)

    monkeypatch.setattr(Jitted, "_look_up", counted)
    version = weight.version
    first, second = run(ones(2), 0.5, "ab")
    assert (first.tolist(), second.tolist()) == ([-2, -2], [3, 3])
    assert weight.tolist() == [-1, -1]
    assert weight.version == version + 1
    assert looked_up == []

    settings.factor = 3.0
    assert run(ones(2), 0.5, "ab")[0].tolist() == [-4.5, -4.5]
    assert run(ones(2), 0.25, "abc")[1].tolist() == [4, 4]
    view = cw.Tensor(np.ones((2, 2), F32))[:, 0]
    assert run(view, 0.5, "ab")[1].tolist() == [3, 3]
    assert len(looked_up) == 3
    weight.set_data([0.0, 0.0])
    assert run(ones(2), 0.5, "ab")[0].tolist() == [-1.5, -1.5]


def test_a_call_that_comes_again_has_results_of_its_own() -> None:
    inner = cw.jit(lambda x: (x + 1, x * 2), fullgraph=True)
    results = [inner(cw.Tensor([float(n)])) for n in range(6)]
    assert [(a.item(), b.item()) for a, b in results] == [(n + 1, 2 * n) for n in range(6)]
    outer = cw.jit(lambda x: inner(x)[0] * 2, fullgraph=True)
    assert outer(cw.Tensor([1.0])).item() == 4
    assert inner(cw.Tensor([1], cw.int32))[0].dtype is cw.int32
    assert inner(ones(3))[1].tolist() == [2, 2, 2]


def test_captured_memory_that_is_not_in_rows_is_read_anew() -> None:
    array = np.zeros((2, 3), F32)
    held = cw.Tensor.from_numpy(array.T)
    run = cw.jit(lambda x: x + held, fullgraph=True)
    for value in range(5):
        array[:] = value
        assert run(ones(3, 2)).asnumpy()[0, 0] == value + 1


def test_complaint_13_no_mutation_is_dropped() -> None:
    kept: list[float] = []
    table = {"n": 0}
    outside = cw.Tensor([0.0, 0.0])

    def fn(x: cw.Tensor) -> cw.Tensor:
        kept.append(1.0)
        table["n"] += 1
        x[0] = 5.0
        outside[1] = x[0]
        return x * 2

    run = cw.jit(fn)
    with pytest.warns(JitWarning, match="outside"):
        run(ones(2))
    for n in range(2, 4):
        x = ones(2)
        assert run(x).tolist() == [10, 2]
        assert x.tolist() == [5, 1]
        assert (len(kept), table["n"]) == (n, n)
    assert outside.tolist() == [0, 5]
    with pytest.raises(JitError, match="outside"):
        cw.jit(fn, fullgraph=True)(ones(2))


# ---- rows ------------------------------------------------------------------------------------


def test_row_47_machine_code_is_kept_by_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CELLWIRE_CACHE_DIR", raising=False)
    monkeypatch.setenv("MS_COMPILER_CACHE_PATH", str(tmp_path))
    assert object_cache.cache_folder() == tmp_path

    def fn(x: cw.Tensor) -> cw.Tensor:
        return ops.tanh(x) * 0.123456

    first, second = (cw.jit.explain(fn)(ones(4)).report for _ in range(2))
    assert first.compiled
    assert not second.compiled
    assert list(tmp_path.rglob("*.o"))


def test_row_47_a_redefinition_never_reuses() -> None:
    def make(text: str) -> Callable[..., Any]:
        scope: dict[str, Any] = {"__name__": "net"}
        exec(compile(f"def step(x): return x {text}", "net.py", "exec"), scope)
        return cw.jit(scope["step"], fullgraph=True)

    assert [make(text)(ones(1)).item() for text in ("+ 1", "* 5", "+ 1")] == [2, 5, 2]

    class Net(nn.Cell):
        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return x + 1

    def tripled(self: nn.Cell, x: cw.Tensor) -> cw.Tensor:
        return x * 3

    net = Net()
    run = cw.jit(net, fullgraph=True)
    assert run(ones(1)).item() == 2
    Net.construct = tripled
    assert run(ones(1)).item() == 3
    net.construct = lambda x: x * 7
    assert run(ones(1)).item() == 7
    del net.construct
    assert run(ones(1)).item() == 3


@pytest.mark.parametrize("how", ["jit", "graph mode"])
def test_row_48_ints_divide_as_in_python(how: str) -> None:
    class Halves(nn.Cell):
        def construct(self, x: cw.Tensor, n: int) -> cw.Tensor:
            return x * (n / 2) + n // 2

    net = Halves()
    cw.set_context(mode=cw.PYNATIVE_MODE if how == "jit" else cw.GRAPH_MODE)
    try:
        run: Any = cw.jit(net, fullgraph=True) if how == "jit" else net
        assert [run(ones(1), n).item() for n in (3, 5)] == [2.5, 4.5]
    finally:
        cw.set_context(mode=cw.PYNATIVE_MODE)


class Network(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.SequentialCell(nn.Dense(16, 8), nn.ReLU(), nn.Dense(8, 4))

    def construct(self, x: cw.Tensor) -> cw.Tensor:
        return self.layers(self.flatten(x))


def test_row_52_a_whole_training_step_is_one_compilation(traces: Traces) -> None:
    net = Network()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = nn.Adam(net.trainable_params(), 0.01)

    def forward_fn(data: cw.Tensor, label: cw.Tensor) -> tuple[cw.Tensor, cw.Tensor]:
        logits = net(data)
        return loss_fn(logits, label), logits

    grad_fn = cw.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)

    @cw.jit
    def train_step(data: cw.Tensor, label: cw.Tensor) -> cw.Tensor:
        (loss, _), grads = grad_fn(data, label)
        optimizer(grads)
        return loss

    net.set_train()
    label = cw.Tensor((np.arange(8) % 4).astype(np.int32))
    losses = [train_step(drawn(8, 4, 4), label).item() for _ in range(100)]
    assert losses[-1] < 0.5 * losses[0]
    assert len(traces) == 1
    (situation,) = train_step.situations.values()
    assert situation.paths[0].plan.report.native_runs == 1


def test_row_53_modules_compile_apart(traces: Traces) -> None:
    class Part(nn.Cell):
        def __init__(self, factor: float) -> None:
            super().__init__()
            self.factor = factor
            self.dense = nn.Dense(4, 4)

        @cw.jit(fullgraph=True)
        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return self.dense(x) * self.factor

    class Whole(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Part(1.0), Part(2.0)

        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return self.second(ops.relu(self.first(x)))

    net = Whole()
    x = drawn(2, 4)

    def wanted() -> cw.Tensor:
        hidden = ops.relu(net.first.dense(x) * net.first.factor)
        return net.second.dense(hidden) * net.second.factor

    for _ in range(3):
        close(net(x), wanted())
    assert len(traces) == 2
    net.second.factor = 5.0
    close(net(x), wanted())
    assert len(traces) == 3


def test_row_61_containers_may_be_mixed() -> None:
    def fn(batch: Any, *rest: Any, **named: Any) -> Any:
        (x, scale), table = batch
        return [x * scale + table["bias"][1], (named["name"], {"rest": rest[0] - x, "none": None})]

    x = drawn(2, 3)
    batch = ((x, 3), {"bias": ["first", x + 1, 2.5]})
    for run in (cw.jit(fn, fullgraph=True), fn):
        got, (name, more) = run(batch, x, name="net")
        close(got, x * 4 + 1)
        assert (name, more["none"]) == ("net", None)
        assert not more["rest"].asnumpy().any()
