"""Cheap values are computed again where they are read late, unless that would cost more memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.autograd import value_and_grad
from cellwire.engine.compiler import plan as plans
from cellwire.engine.compiler.differentiate import differentiate
from cellwire.engine.compiler.graph import Graph, Node, interpret, verify
from cellwire.engine.compiler.plan import compile_graph
from cellwire.engine.compiler.recompute import recompute
from cellwire.engine.compiler.simplify import simplify
from cellwire.engine.compiler.trace import trace
from cellwire.engine.dtype import float32
from cellwire.engine.shape import Aval

F32 = np.float32


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(F32)


def graph_of(fn: Callable[..., Any], *arrays: np.ndarray) -> Graph:
    return simplify(trace(fn, [Aval(a.shape, float32) for a in arrays]).graph)


def repeated(graph: Graph, arrays: list[np.ndarray]) -> list[str]:
    """Run the pass, check that it changes no bit, and return the ops that it repeats."""
    found, late = recompute(graph)
    verify(found)
    for new, old in zip(interpret(found, arrays), interpret(graph, arrays), strict=True):
        np.testing.assert_array_equal(new, old)
    return [node.op.name for node in found.nodes if node in late]


def layers(x: Any, w: Any, v: Any) -> Any:
    return ops.sum(ops.square(ops.dense(ops.relu(ops.dense(x, w)), v)))


def test_a_mask_is_taken_from_an_activation_that_a_product_needs_anyway() -> None:
    arrays = [normal(0, 32, 64), normal(1, 64, 64), normal(2, 8, 64)]
    graph = graph_of(value_and_grad(layers, (0, 1, 2)), *arrays)
    assert repeated(graph, arrays) == ["greater", "cast"]


def test_what_only_a_mask_needs_is_kept_as_one_byte_an_element() -> None:
    def fn(x: Any, w: Any) -> Any:
        h = ops.relu(ops.dense(x, w))
        return ops.sum(ops.exp(ops.dense(ops.exp(h) + h, w)))

    arrays = [normal(0, 32, 64) / 64, normal(1, 64, 64) / 64]
    graph = graph_of(value_and_grad(fn, (0, 1)), *arrays)
    found, _ = recompute(graph)
    assert repeated(graph, arrays) == ["cast"]
    mask = next(node.outputs[0] for node in found.nodes if node.op.name == "greater")
    readers = [node.op.name for node in found.nodes if mask in node.inputs]
    assert readers == ["cast"]


def test_nothing_expensive_is_repeated_and_nothing_small() -> None:
    def fn(x: Any, w: Any) -> Any:
        h = ops.exp(ops.dense(x, w))
        return ops.dense(ops.dense(h + 1.0, w), w) + h

    arrays = [normal(0, 32, 64), normal(1, 64, 64) / 64]
    assert repeated(graph_of(fn, *arrays), arrays) == []
    small = [normal(0, 2, 8), normal(1, 8, 8), normal(2, 4, 8)]
    assert repeated(graph_of(value_and_grad(layers, (0, 1, 2)), *small), small) == []


def test_inputs_are_not_read_late_where_the_plan_writes_over_them() -> None:
    def fn(x: Any, b: Any, w: Any) -> Any:
        h = x + b
        return ops.dense(ops.dense(ops.exp(h), w), w) * h

    arrays = [normal(0, 32, 64), normal(3, 32, 64), normal(1, 64, 64)]
    graph = graph_of(fn, *arrays)
    assert repeated(graph, arrays) == ["add"]
    assert recompute(graph, [graph.inputs[1]]) == (graph, frozenset())


def test_what_is_repeated_keeps_its_origin_and_joins_its_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arrays = [normal(0, 32, 64), normal(1, 64, 64), normal(2, 8, 64)]
    graph = graph_of(value_and_grad(layers, (0, 1, 2)), *arrays)
    plan = compile_graph(graph)
    kept: tuple[frozenset[Node], ...] = (frozenset(),)
    monkeypatch.setattr(plans, "recompute", lambda graph, written: (graph, *kept))
    monkeypatch.setattr(plans, "find_plan", lambda *args: None)
    before = compile_graph(graph)
    count = [sum(k.calls for k in p.report.kernels) for p in (plan, before)]
    assert count[0] == count[1]
    assert plan.report.arena_bytes < before.report.arena_bytes
    for found, wanted in zip(plan(*arrays), before(*arrays), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-5)


def test_a_training_step_with_norms_and_masks_gives_the_eager_numbers() -> None:
    net = cw.nn.SequentialCell(
        cw.nn.Dense(32, 64), cw.nn.ReLU(), cw.nn.LayerNorm((64,)), cw.nn.Dense(64, 64),
        cw.nn.ReLU(), cw.nn.Dense(64, 16),
    )  # fmt: skip
    x = cw.Tensor(normal(5, 48, 32))

    def loss(x: Any) -> Any:
        return ops.mean(ops.square(net(x)))

    derive = cw.value_and_grad(loss, None, net.trainable_params())
    (found, slopes), (wanted, direct) = cw.jit(derive, fullgraph=True)(x), derive(x)
    np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-5)
    for slope, expected in zip(slopes, direct, strict=True):
        np.testing.assert_allclose(slope.asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-6)


def test_a_backward_part_takes_over_no_more_than_it_needs() -> None:
    def fn(x: Any, y: Any) -> Any:
        total = ops.exp(x + y)
        return ops.sum(ops.exp(ops.square(total) * (total - 1.0)))

    arrays = [normal(0, 32, 32) / 8, normal(1, 32, 32) / 8]
    graph = trace(fn, [Aval(a.shape, float32) for a in arrays]).graph
    derivative = differentiate(graph, 1, (0, 1))
    verify(derivative.backward)
    made = {node.outputs[0]: node.op.name for node in graph.nodes}
    assert [made[v] for v in derivative.residuals] == ["exp", "exp"]
    _, *kept = interpret(derivative.forward, arrays)
    slopes = interpret(derivative.backward, [*kept, np.ones((), F32)])
    direct = cw.value_and_grad(fn, (0, 1))(*map(cw.Tensor, arrays))[1]
    for slope, wanted in zip(slopes, direct, strict=True):
        np.testing.assert_allclose(slope, wanted.asnumpy(), rtol=1e-5)


def test_a_backward_part_reads_no_input_that_it_did_not_need() -> None:
    def fn(x: Any, y: Any) -> Any:
        return ops.sum(ops.square(x + y))

    graph = trace(fn, [Aval((32, 32), float32)] * 2).graph
    derivative = differentiate(graph, 1, (0, 1))
    assert not set(graph.inputs) & set(derivative.residuals)
