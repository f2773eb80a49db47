"""Compiled groups: same values as eager, a report, taps at breakpoints, training through them."""

from typing import Any

import numpy as np
import pytest
from cellwire.engine import nn, ops
from cellwire.engine.autograd import value_and_grad
from cellwire.engine.run.breakpoints import Breakpoint, Breakpoints
from cellwire.engine.run.events import Finished, NodeDone, Paused
from cellwire.engine.run.executor import Execution
from cellwire.engine.run.graph import Edge, Graph, GraphError, Group, Node, Source
from cellwire.engine.run.groups import CompiledGroup, GroupError, parity_of
from cellwire.engine.run.groups import _median as measured
from cellwire.engine.run.history import StepResult
from cellwire.engine.run.settings import TrainingData, TrainingSettings
from cellwire.engine.run.training import TrainingRun
from cellwire.engine.run.units import Clock, run_graph
from cellwire.engine.tensor import Tensor, from_numpy

RNG = np.random.default_rng(3)
FEEDS = {"data": {"x": RNG.normal(0, 1, (8, 4)).astype(np.float32)}}
MEMBERS = frozenset({"dense", "norm", "relu"})


def chain(middle: Any = ops.relu) -> Graph:
    def node(id_: str, call: Any, source: str, kind: Any = "op", port: str = "out") -> Node:
        return Node(id_, id_, call, {"x": Source(source, port)}, kind=kind)

    return Graph(
        [
            Node("data", "data", lambda: None, outputs=("x",), kind="data"),
            node("dense", nn.Dense(4, 6), "data", "cell", "x"),
            node("norm", nn.LayerNorm((6,)), "dense", "cell"),
            node("relu", middle, "norm"),
            node("loss", ops.mean, "relu", "loss"),
        ]
    )


def classifier() -> Graph:
    """The chain with a head of its own weights, the same in every call."""
    nodes = dict(chain().nodes)
    rng = np.random.default_rng(1)
    weight = rng.normal(0, 0.5, (6, 4)).astype(np.float32)
    nodes["dense"].call.weight.set_data(from_numpy(weight))
    nodes["dense"].call.bias.set_data(from_numpy(weight[:, 0]))
    nodes["data"] = Node("data", "data", lambda: None, outputs=("x", "y"), kind="data")
    wires = {"logits": Source("relu", "out"), "labels": Source("data", "y")}
    nodes["loss"] = Node("loss", "loss", nn.CrossEntropyLoss(), wires, kind="loss")
    return Graph(nodes.values())


def compiled(graph: Graph, members: frozenset[str] = MEMBERS) -> CompiledGroup:
    group = CompiledGroup(graph, Group("g", "block", members))
    group.compile([from_numpy(FEEDS["data"]["x"])])
    return group


def outputs(graph: Graph, groups: list[CompiledGroup], **options: Any) -> np.ndarray:
    with Execution(graph, FEEDS, groups=groups, **options) as run:
        assert isinstance(run.advance(), Finished)
        return run.value(Source("relu", "out")).copy()


def test_a_compiled_group_is_one_step_with_eager_values() -> None:
    graph = chain()
    group = compiled(graph)
    with Execution(graph, FEEDS, groups=[group]) as run:
        done = []
        while not isinstance(event := run.advance("node"), Finished):
            assert isinstance(event, NodeDone)
            done.append(event.node)
        assert done == ["data", "g", "loss"]
        assert set(run.times) == {"data", "g", "loss"}
        with pytest.raises(GraphError, match="stayed inside a compiled group"):
            run.value(Edge("relu", "x"))
    np.testing.assert_allclose(outputs(graph, [group]), outputs(graph, []), atol=1e-6)


def test_the_report_accounts_for_every_node() -> None:
    group = compiled(chain())
    report = group.report
    assert group.state == "compiled"
    assert report is not None
    assert report.nodes == ("dense", "norm", "relu")
    named = {id_ for kernel in report.kernels for id_ in kernel.nodes}
    named |= {step.node for step in report.host_steps}
    assert named == MEMBERS
    assert report.parity_relative < 1e-4
    assert report.compile_seconds > 0
    assert report.eager_seconds > 0
    assert report.compiled_seconds > 0
    assert report.code


def test_a_breakpoint_inside_stops_there_and_the_rest_stays_compiled() -> None:
    graph = chain()
    group = compiled(graph)
    edge = Edge("relu", "x")
    points = Breakpoints([Breakpoint(edge)])
    with Execution(graph, FEEDS, groups=[group], breakpoints=points) as run:
        paused = run.advance()
        assert isinstance(paused, Paused)
        assert (paused.node, paused.edge) == ("relu", edge)
        value = run.value(edge).copy()
        assert not run.has_value(Source("relu", "out"))
        assert [unit.nodes for unit in run._forward.units[1:3]] == [("dense", "norm"), ("relu",)]
        assert isinstance(run.advance(), Finished)
    with Execution(graph, FEEDS) as eager:
        eager.advance()
        np.testing.assert_allclose(value, eager.value(edge), atol=1e-6)
    assert group.state == "compiled"
    np.testing.assert_allclose(
        outputs(graph, [group], breakpoints=Breakpoints([Breakpoint(edge, "nan")])),
        outputs(graph, []),
        atol=1e-6,
    )


def test_breakpoints_can_come_and_go_while_a_run_stands() -> None:
    graph = chain()
    points = Breakpoints([Breakpoint(Edge("norm", "x"))])
    with Execution(graph, FEEDS, groups=[compiled(graph)], breakpoints=points) as run:
        assert isinstance(run.advance(), Paused)
        points.replace([Breakpoint(Edge("relu", "x"))])
        paused = run.advance()
        assert isinstance(paused, Paused)
        assert paused.edge == Edge("relu", "x")
        run.step_back()
        points.replace([])
        assert isinstance(run.advance(), Finished)


def test_run_to_a_node_inside_and_watch_a_wire_inside() -> None:
    graph = chain()
    group = compiled(graph)
    with Execution(graph, FEEDS, groups=[group]) as run:
        reached = run.run_to("norm")
        assert isinstance(reached, Paused)
        assert reached.node == "norm"
        assert run.has_value(Source("dense", "out"))
    with Execution(graph, FEEDS, groups=[group]) as run:
        run.watch([Edge("norm", "x")])
        run.advance()
        assert run.value(Edge("norm", "x")).shape == (8, 6)
        assert [unit.id for unit in run._forward.units] == ["data", "g", "loss"]


def test_gradients_are_known_on_wires_inside() -> None:
    graph = chain()
    gradients = []
    for groups in ([], [compiled(graph)]):
        with Execution(graph, FEEDS, groups=groups) as run:
            run.advance()
            run.backward()
            run.advance()
            gradients.append((run.gradient(Edge("relu", "x")), run.gradient(Edge("dense", "x"))))
    for eager, fused in zip(*gradients, strict=True):
        np.testing.assert_allclose(fused, eager, atol=1e-6)


def test_training_through_a_group_uses_its_forward_and_backward_plan() -> None:
    graph = chain()
    group = compiled(graph)
    piece = group.whole()
    parameters = tuple(graph.nodes["dense"].call.trainable_params())
    x = from_numpy(FEEDS["data"]["x"])

    def through_group() -> Tensor:
        return ops.mean(piece.run([x], Clock())[0])

    def eager() -> Tensor:
        return run_graph(graph, FEEDS, Clock())[Source("loss", "out")]

    results = []
    for fn in (through_group, eager):
        value, gradients = value_and_grad(fn, None, parameters)()
        results.append([value.data, *(gradient.data for gradient in gradients)])
    for fused, plain in zip(*results, strict=True):
        np.testing.assert_allclose(fused, plain, rtol=1e-4, atol=1e-6)


def test_changed_weights_need_no_new_plan_and_an_edit_compiles_again() -> None:
    graph = chain()
    group = compiled(graph)
    weight = graph.nodes["dense"].call.weight
    weight.set_data(from_numpy(weight.data * 2))
    np.testing.assert_allclose(outputs(graph, [group]), outputs(graph, []), atol=1e-5)
    edited = chain(ops.tanh)
    group.mark_stale(edited, "relu was edited")
    assert (group.state, group.reason) == ("stale", "relu was edited")
    np.testing.assert_allclose(outputs(edited, [group]), outputs(edited, []), atol=1e-6)
    assert group.state == "compiled"


def test_another_batch_size_gets_a_plan_of_its_own() -> None:
    graph = chain()
    group = compiled(graph)
    feeds = {"data": {"x": FEEDS["data"]["x"][:3]}}
    with Execution(graph, feeds, groups=[group]) as run:
        run.advance()
        assert run.value(Source("relu", "out")).shape == (3, 6)


def test_the_measured_time_of_a_call_is_one_of_a_warm_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now, calls = [0.0], [0]
    monkeypatch.setattr("cellwire.engine.run.groups.time.perf_counter", lambda: now[0])

    def run() -> None:
        calls[0] += 1
        now[0] += 0.05 if calls[0] <= 3 or calls[0] == 5 else 0.001

    assert measured(run) == pytest.approx(0.001)
    assert 5 <= calls[0] <= 40


def test_what_cannot_be_compiled_runs_eagerly_and_says_why() -> None:
    def branching(x: Tensor) -> Tensor:
        return ops.relu(x) if float(x.data.sum()) > 0 else x

    graph = chain(branching)
    group = CompiledGroup(graph, Group("g", "block", MEMBERS))
    with pytest.raises(GroupError, match="block runs eagerly: TraceBreak"):
        group.compile([from_numpy(FEEDS["data"]["x"])])
    assert group.state == "failed"
    # Eager ops compile from their second call on, which may change the last bit.
    np.testing.assert_allclose(outputs(graph, [group]), outputs(graph, []), rtol=1e-5, atol=1e-6)


def test_parity_takes_nan_for_equal_and_different_shapes_for_wrong() -> None:
    same = np.array([1.0, np.nan, np.inf], np.float32)
    assert parity_of([same], [same.copy()]).good
    assert not parity_of([same], [np.nan_to_num(same)]).good
    assert not parity_of([same], [same[:2]]).good
    off = parity_of([np.array([100.0])], [np.array([101.0])])
    assert (off.absolute, off.relative, off.good) == (1.0, 0.01, False)


def test_a_breakpoint_set_after_the_run_is_hit_when_it_is_walked_again() -> None:
    graph = chain()
    points = Breakpoints()
    with Execution(graph, FEEDS, groups=[compiled(graph)], breakpoints=points) as run:
        run.advance()
        expected = run.value(Source("loss", "out")).copy()
        run.step_back()
        run.step_back()
        points.replace([Breakpoint(Edge("relu", "x"))])
        paused = run.advance()
        assert isinstance(paused, Paused)
        assert paused.edge == Edge("relu", "x")
        assert run.value(Edge("relu", "x")).shape == (8, 6)
        assert isinstance(run.advance(), Finished)
        np.testing.assert_allclose(run.value(Source("loss", "out")), expected, atol=1e-6)


def test_a_training_run_goes_through_groups_and_stops_inside_them() -> None:
    labels = RNG.integers(0, 6, 24).astype(np.int32)
    points = RNG.normal(0, 1, (24, 4)).astype(np.float32)
    data = TrainingData({"data": {"x": points, "y": labels}})
    settings = TrainingSettings(batch_size=8, epochs=2, compile_step=False)
    losses = []
    for grouped in (False, True):
        graph = classifier()
        groups = [CompiledGroup(graph, Group("g", "block", MEMBERS))] if grouped else []
        for group in groups:
            group.mark_stale(graph, "it has not run yet")
        points_ = Breakpoints()
        run = TrainingRun(graph, data, settings, breakpoints=points_, groups=groups)
        for _ in range(3):
            assert isinstance(run.step(), StepResult)
        assert run.path == ("groups" if grouped else "eager")
        points_.replace([Breakpoint(Edge("norm", "x"))])
        paused = run.step()
        assert isinstance(paused, Paused)
        assert paused.edge == Edge("norm", "x")
        points_.replace([])
        while not run.finished:
            assert isinstance(run.step(), StepResult)
        losses.append(run.history.losses)
        assert all(group.state == "compiled" for group in groups)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)


def test_a_group_with_data_in_it_runs_node_by_node_and_says_why() -> None:
    graph = chain()
    group = CompiledGroup(graph, Group("g", "block", MEMBERS | {"data"}))
    with pytest.raises(GroupError, match="data gives data; take it out of the group"):
        group.compile([])
    assert not group.usable
    with Execution(graph, FEEDS, groups=[group]) as run:
        assert isinstance(run.advance(), Finished)
        assert set(run.times) == set(graph.nodes)
