"""Plans on disk: found by what was traced, equal to new ones, made anew where anything differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine.compiler import fuse, kept_plans, plan
from cellwire.engine.compiler.graph import Graph
from cellwire.engine.compiler.trace import trace
from cellwire.engine.origin import Origin, at
from cellwire.kernels import runtime

ops = cw.ops


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CELLWIRE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CELLWIRE_KEPT_PLANS", "1")
    return tmp_path


@pytest.fixture
def nothing_is_fused(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function after whose call a plan that is not found is an error."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("compiled anew")

    return lambda: monkeypatch.setattr(fuse.Fuser, "run", refuse)


def model(x: Any, w: Any, factor: float = 2.0, rounds: int = 6) -> Any:
    """Products, rows, a host step and constants."""
    h = x
    for _ in range(rounds):
        h = ops.softmax(ops.relu(ops.matmul(h, w)) * factor, -1)
    return h + 1.5, ops.logcumsumexp(h, -1)


def graph_of(**settings: Any) -> Graph:
    avals = [cw.Tensor(np.zeros((4, 8), np.float32)).aval, cw.Tensor(np.eye(8, dtype="f4")).aval]
    with at(Origin((), "node", "out", "forward")):
        return trace(lambda x, w: model(x, w, **settings), avals).graph


ARRAYS = [np.random.default_rng(0).standard_normal(s).astype("f4") for s in ((4, 8), (8, 8))]


def test_a_plan_is_found_and_gives_the_same(nothing_is_fused: Any, cache: Path) -> None:
    new = plan.compile_graph(graph_of())
    expected = [a.copy() for a in new(*ARRAYS)]
    assert len([*cache.rglob("*.plan")]) == 1
    nothing_is_fused()
    found = plan.compile_graph(graph_of())
    for got, want in zip(found(*ARRAYS), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    assert not found.report.compiled
    assert found.report.host_steps
    assert found.report.kernels == new.report.kernels
    assert found.report.host_steps == new.report.host_steps
    assert found.report.code == new.report.code
    assert found.report.arena_bytes == new.report.arena_bytes
    with pytest.raises(AssertionError, match="compiled anew"):
        plan.compile_graph(graph_of(factor=3.0))


def test_a_plan_that_draws_is_found(nothing_is_fused: Any) -> None:
    def noisy(x: Any, w: Any) -> Any:
        return model(x, w)[0] + ops.randn(4, 8)

    def drawn() -> np.ndarray:
        cw.set_seed(3)
        return cw.jit(noisy, fullgraph=True)(*map(cw.Tensor, ARRAYS)).asnumpy()

    first = drawn()
    nothing_is_fused()
    np.testing.assert_array_equal(drawn(), first)


def test_a_training_step_is_found_and_updates_in_place(nothing_is_fused: Any) -> None:
    def losses() -> list[float]:
        cw.set_seed(1)
        net = cw.nn.SequentialCell(cw.nn.Dense(4, 8), cw.nn.ReLU(), cw.nn.Dense(8, 2))
        optimizer = cw.nn.Adam(net.trainable_params(), 0.1)
        derive = cw.value_and_grad(lambda x: net(x).square().mean(), None, optimizer.parameters)

        @cw.jit(fullgraph=True)
        def step(x: Any) -> Any:
            loss, grads = derive(x)
            optimizer(grads)
            return loss

        x = cw.Tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
        return [float(step(x)) for _ in range(3)]

    first = losses()
    nothing_is_fused()
    assert losses() == first
    assert first[2] < first[0]


@pytest.mark.parametrize("damage", ["plan", "object"])
def test_what_is_damaged_or_gone_is_made_anew(cache: Path, damage: str) -> None:
    expected = [a.copy() for a in plan.compile_graph(graph_of())(*ARRAYS)]
    for file in cache.rglob("*.plan" if damage == "plan" else "*.o"):
        if damage == "plan":
            file.write_bytes(file.read_bytes()[:-1])
        else:
            file.unlink()
    runtime._libraries.clear()
    for got, want in zip(plan.compile_graph(graph_of())(*ARRAYS), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    graph = graph_of()
    key = kept_plans.plan_key(graph, {})
    assert key is not None
    assert kept_plans.find_plan(key, graph) is not None


def test_the_key_covers_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of()
    constants = {v: a + 7 for v, a in graph.constants.items()}
    assert constants
    others = [
        graph_of(factor=3.0),
        graph_of(rounds=7),
        Graph(graph.inputs[::-1], graph.nodes, graph.outputs, graph.constants),
        Graph(graph.inputs, graph.nodes, graph.outputs[::-1], graph.constants),
        Graph(graph.inputs, graph.nodes, graph.outputs, constants),
    ]
    keys = {kept_plans.plan_key(g, {}) for g in (graph, graph_of(), *others)}
    keys.add(kept_plans.plan_key(graph, {0: 0}))
    monkeypatch.setattr(kept_plans, "thread_count", lambda: 7)
    keys.add(kept_plans.plan_key(graph, {}))
    monkeypatch.setattr(kept_plans, "_sources", lambda: "others")
    keys.add(kept_plans.plan_key(graph, {}))
    assert len(keys) == 9
    assert None not in keys


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), (0.0, -0.0), ("1", 1), ((1,), (1, None)), ((1, (2,)), (1, 2))],
)
def test_attributes_differ_as_text(one: Any, other: Any) -> None:
    assert kept_plans.plain(one) != kept_plans.plain(other)


def test_what_cannot_be_written_down_is_not_kept(cache: Path) -> None:
    def branching(x: Any) -> Any:
        for _ in range(kept_plans.SMALLEST):
            x = ops.relu(x + 1.0)
        return cw.ops.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, x)

    step = cw.jit(branching, fullgraph=True)
    x = cw.Tensor(np.ones(3, np.float32))
    np.testing.assert_array_equal(step(x).asnumpy(), branching(x).asnumpy())
    assert not [*cache.rglob("*.plan")]
    assert kept_plans.plain(object()) is None
    assert kept_plans.plain((1, [2])) is None
