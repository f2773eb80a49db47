"""Running a drawn graph: order, stops on wires, steps back, partial reruns, errors, gradients."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cellwire.engine import nn, ops
from cellwire.engine.run.breakpoints import Breakpoint, Breakpoints
from cellwire.engine.run.events import Event, Failed, Finished, NodeDone, Paused
from cellwire.engine.run.executor import Execution
from cellwire.engine.run.graph import Edge, Graph, GraphError, Node, Source
from cellwire.engine.run.ratios import update_ratios
from cellwire.engine.run.units import Clock
from cellwire.engine.run.wires import Wires
from cellwire.engine.tensor import Tensor, from_numpy

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
FEEDS = {"data": {"out": X}}


def node(id_: str, call: Callable[..., Any], kind: Any = "op", **inputs: str) -> Node:
    return Node(id_, id_, call, {p: Source(s, "out") for p, s in inputs.items()}, kind=kind)


def data() -> Node:
    return Node("data", "data", lambda: None, kind="data")


def dense(weight: np.ndarray) -> nn.Dense:
    cell = nn.Dense(weight.shape[1], weight.shape[0], has_bias=False)
    cell.weight.set_data(from_numpy(weight))
    return cell


def fork() -> Graph:
    """data → dense → (relu, double) → add → mean."""
    weight = np.array([[1, 0, -1], [0.5, 1, 0]], np.float32)
    return Graph(
        [
            data(),
            node("dense", dense(weight), "cell", x="data"),
            node("relu", ops.relu, x="dense"),
            node("double", lambda x: x * 2.0, x="dense"),
            node("add", ops.add, x="relu", y="double"),
            node("loss", ops.mean, "loss", x="add"),
        ]
    )


@pytest.fixture
def execution() -> Iterator[Execution]:
    with Execution(fork(), FEEDS) as made:
        yield made


def events(execution: Execution, stop: Any = "node") -> list[Event]:
    found = [execution.advance(stop)]
    while not isinstance(found[-1], Finished | Failed):
        found.append(execution.advance(stop))
    return found


def test_nodes_run_one_by_one_and_keep_their_values(execution: Execution) -> None:
    done = events(execution)
    assert [e.node for e in done if isinstance(e, NodeDone)] == list(execution.graph.order)
    assert isinstance(done[1], NodeDone)
    assert done[1].outputs == {"out": "2×2 f32"}
    expected = X @ np.array([[1, 0, -1], [0.5, 1, 0]], np.float32).T
    np.testing.assert_allclose(execution.value(Source("dense", "out")), expected)
    np.testing.assert_allclose(execution.value(Edge("add", "x")), np.maximum(expected, 0))
    assert set(execution.times) == set(execution.graph.nodes)


def test_a_breakpoint_stops_before_the_consumer_runs(execution: Execution) -> None:
    execution.breakpoints.replace([Breakpoint(Edge("add", "y"), "absmax > 1")])
    paused = execution.advance()
    assert isinstance(paused, Paused)
    assert (paused.node, paused.edge, paused.count) == ("add", Edge("add", "y"), 1)
    assert paused.stats is not None
    assert not execution.has_value(Source("add", "out"))
    assert isinstance(execution.advance(), Finished)


def test_conditions_that_do_not_hold_do_not_stop(execution: Execution) -> None:
    execution.breakpoints.replace([Breakpoint(Edge("add", "y"), "nan or inf")])
    assert isinstance(execution.advance(), Finished)


def test_log_and_snapshot_go_on(execution: Execution) -> None:
    edge = Edge("add", "x")
    execution.breakpoints.replace(
        [Breakpoint(edge, action="log"), Breakpoint(edge, action="snapshot")]
    )
    assert isinstance(execution.advance(), Finished)
    assert [note.breakpoint.action for note in execution.notes] == ["log", "snapshot"]
    np.testing.assert_array_equal(execution.snapshots[edge, "forward"], execution.value(edge))


def test_run_to_a_node_and_step_on(execution: Execution) -> None:
    reached = execution.run_to("add")
    assert isinstance(reached, Paused)
    assert (reached.node, reached.reason) == ("add", "reached")
    done = execution.advance("node")
    assert isinstance(done, NodeDone)
    assert done.node == "add"


def test_stepping_back_keeps_values_and_computes_nothing_again() -> None:
    calls: list[str] = []

    def counted(x: Tensor) -> Tensor:
        calls.append("relu")
        return ops.relu(x)

    graph = Graph([data(), node("relu", counted, x="data"), node("out", ops.exp, x="relu")])
    with Execution(graph, FEEDS, breakpoints=Breakpoints([Breakpoint(Edge("relu", "x"))])) as run:
        assert isinstance(run.advance(), Paused)
        assert isinstance(run.advance(), Finished)
        for expected in ("out", "relu"):
            back = run.step_back()
            assert isinstance(back, Paused)
            assert back.node == expected
        assert run.has_value(Source("out", "out"))
        assert isinstance(run.advance(), Paused), "its breakpoint is hit on the way again"
        assert isinstance(run.advance(), Finished)
        assert calls == ["relu"]
        for _ in range(3):
            run.step_back()
        with pytest.raises(GraphError, match="at its start"):
            run.step_back()


def test_after_an_edit_only_what_is_downstream_runs_again(execution: Execution) -> None:
    execution.advance()
    before = execution.value(Source("double", "out"))
    execution.rerun_from("relu")
    assert not execution.has_value(Source("add", "out"))
    done = [e.node for e in events(execution) if isinstance(e, NodeDone)]
    assert done == ["relu", "add", "loss"]
    assert execution.value(Source("double", "out")) is before


def test_an_error_stands_on_the_node_with_its_inputs() -> None:
    graph = Graph([data(), node("w", lambda: Tensor(np.ones((4, 2), np.float32))),
                   node("product", ops.matmul, x="data", y="w")])  # fmt: skip
    with Execution(graph, FEEDS) as run:
        failed = run.advance()
        assert isinstance(failed, Failed)
        assert (failed.node, failed.inputs) == ("product", {"x": "2×3 f32", "y": "4×2 f32"})
        assert "product given x: 2×3 f32, y: 4×2 f32" in failed.message
        assert "x or y" in failed.fix
        assert "matmul" in failed.trace
        np.testing.assert_array_equal(run.inputs("product")["x"], X)
        assert isinstance(run.advance(), Failed), "it stays on the node"


def test_a_node_must_give_one_tensor_for_each_port() -> None:
    graph = Graph([data(), Node("two", "two", ops.relu, {"x": Source("data", "out")}, ("a", "b"))])
    with Execution(graph, FEEDS) as run:
        failed = run.advance()
        assert isinstance(failed, Failed)
        assert "two gave 1 results for its 2 outputs (a, b)" in failed.message


def test_values_that_are_not_there_say_why(execution: Execution) -> None:
    with pytest.raises(GraphError, match="relu has not run yet"):
        execution.value(Edge("add", "x"))
    with pytest.raises(GraphError, match="no node nowhere"):
        execution.run_to("nowhere")
    with pytest.raises(GraphError, match="no gradients yet"):
        execution.gradient(Edge("add", "x"))


def test_the_batch_is_pinned_and_random_numbers_repeat() -> None:
    graph = Graph([data(), node("drop", nn.Dropout(p=0.5), "cell", x="data"),
                   node("twin", nn.Dropout(p=0.5), "cell", x="data")])  # fmt: skip
    feeds = {"data": {"out": np.ones((8, 8), np.float32)}}
    with Execution(graph, feeds, training=True, clock=Clock(7, 1)) as run:
        run.advance()
        first = run.value(Source("drop", "out")).copy()
        assert (first == 0).any()
        assert not np.array_equal(first, run.value(Source("twin", "out")))
        run.rerun_from("drop")
        run.advance()
        np.testing.assert_array_equal(run.value(Source("drop", "out")), first)
        run.restart(clock=Clock(7, 2))
        run.advance()
        assert not np.array_equal(run.value(Source("drop", "out")), first)
        run.set_training(False)
        run.restart()
        run.advance()
        assert (run.value(Source("drop", "out")) == 1).all()


def test_a_rerun_does_not_count_running_statistics_twice() -> None:
    norm = nn.BatchNorm2d(1)
    graph = Graph([data(), node("norm", norm, "cell", x="data")])
    feeds = {"data": {"out": np.arange(8, dtype=np.float32).reshape(2, 1, 2, 2)}}
    with Execution(graph, feeds, training=True) as run:
        run.advance()
        once = norm.moving_mean.data.copy()
        assert once[0] != 0
        run.rerun_from("norm")
        run.advance()
        np.testing.assert_array_equal(norm.moving_mean.data, once)
        run.discard()
        np.testing.assert_array_equal(norm.moving_mean.data, np.zeros(1))


def test_gradients_are_known_on_every_wire_before_they_are_summed(execution: Execution) -> None:
    execution.advance()
    execution.backward()
    done = [e.node for e in events(execution) if isinstance(e, NodeDone)]
    assert done[0] == "loss"
    assert set(done) == set(execution.graph.nodes)
    mean = np.full((2, 2), 0.25, np.float32)
    positive = execution.value(Source("dense", "out")) > 0
    np.testing.assert_allclose(execution.gradient(Edge("relu", "x")), mean * positive)
    np.testing.assert_allclose(execution.gradient(Edge("double", "x")), mean * 2)
    total = mean * positive + mean * 2
    np.testing.assert_allclose(execution.gradient(Source("dense", "out")), total)
    weight = execution.parameter_gradients("dense")["weight"]
    np.testing.assert_allclose(weight, total.T @ X)


def test_one_value_over_two_wires_has_a_gradient_on_each() -> None:
    graph = Graph([data(), node("product", ops.mul, x="data", y="data"),
                   node("loss", ops.sum, "loss", x="product")])  # fmt: skip
    with Execution(graph, FEEDS) as run:
        run.advance()
        run.backward()
        run.advance()
        np.testing.assert_allclose(run.gradient(Edge("product", "x")), X)
        np.testing.assert_allclose(run.gradient(Source("data", "out")), 2 * X)


def test_a_gradient_breakpoint_stops_when_the_gradient_flows_back(execution: Execution) -> None:
    edge = Edge("double", "x")
    execution.breakpoints.replace([Breakpoint(edge, "absmax > 0.4", direction="gradient")])
    assert isinstance(execution.advance(), Finished)
    execution.backward()
    paused = execution.advance()
    assert isinstance(paused, Paused)
    assert (paused.node, paused.edge, paused.direction) == ("dense", edge, "gradient")
    with pytest.raises(GraphError, match="has not come to"):
        execution.gradient(Edge("dense", "x"))
    assert isinstance(execution.advance(), Finished)
    assert execution.gradient(Edge("dense", "x")).shape == (2, 3)


def test_stepping_back_leads_from_gradients_into_the_forward_pass(execution: Execution) -> None:
    execution.advance()
    execution.backward()
    execution.advance("node")
    back = execution.step_back()
    assert isinstance(back, Paused)
    assert (back.node, back.direction) == ("loss", "gradient")
    back = execution.step_back()
    assert isinstance(back, Paused)
    assert (back.node, back.direction) == ("loss", "forward")


def test_gradients_need_a_loss_of_one_number(execution: Execution) -> None:
    execution.advance()
    with pytest.raises(GraphError, match="one floating-point number"):
        execution.backward("add")
    with Execution(Graph([data()]), FEEDS) as run:
        run.advance()
        with pytest.raises(GraphError, match="has none: say which, or add one"):
            run.backward()


def test_values_beyond_the_budget_go_to_disk_and_come_back() -> None:
    wires = Wires(budget_bytes=100)
    for at in range(4):
        wires.put(Source(str(at), "out"), from_numpy(np.full(10, at, np.float32)))
    assert wires.spilled == (Source("0", "out"), Source("1", "out"))
    assert wires.held_bytes == 80
    folder = Path(wires._spilled[Source("0", "out")]).parent
    np.testing.assert_array_equal(wires.get(Source("0", "out")).data, np.zeros(10))
    assert wires.spilled == (Source("1", "out"), Source("2", "out"))
    wires.close()
    assert not folder.exists()
    assert Source("0", "out") not in wires


def test_the_update_ratio_of_a_step_that_is_not_made(execution: Execution) -> None:
    cell = execution.graph.nodes["dense"].call
    execution.advance()
    execution.backward()
    execution.advance()
    optimizer = nn.SGD(cell.trainable_params(), learning_rate=0.5)
    before = cell.weight.data.copy()
    ratios = update_ratios(execution, optimizer)
    gradient = execution.parameter_gradients("dense")["weight"]
    expected = 0.5 * np.linalg.norm(gradient) / np.linalg.norm(before)
    assert ratios == {"dense": pytest.approx(expected, rel=1e-5)}
    np.testing.assert_array_equal(cell.weight.data, before)


def test_a_run_of_an_edited_graph_takes_over_what_is_upstream(execution: Execution) -> None:
    execution.advance()
    nodes = dict(execution.graph.nodes)
    nodes["relu"] = node("relu", ops.tanh, x="dense")
    with Execution(Graph(nodes.values()), FEEDS) as edited:
        edited.take_over(execution, ["data", "dense", "double"])
        done = [event.node for event in events(edited) if isinstance(event, NodeDone)]
        assert done == ["relu", "add", "loss"]
        dense_out = edited.value(Source("dense", "out"))
        assert dense_out is execution.value(Source("dense", "out"))
        np.testing.assert_allclose(edited.value(Edge("add", "x")), np.tanh(dense_out), rtol=1e-6)
        for _ in range(6):
            edited.step_back()
        done = [event.node for event in events(edited) if isinstance(event, NodeDone)]
        assert done == list(edited.graph.order)
