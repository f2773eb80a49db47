"""Building a document: the graph that runs, with Cells and weights that outlive edits."""

import numpy as np
import pytest
from cellwire.engine.nn.cell import Cell
from cellwire.engine.run.graph import Graph, Source
from cellwire.engine.run.settings import TrainingSettings
from cellwire.engine.run.units import Clock, run_graph
from cellwire.nodes import changes as c
from cellwire.nodes import files
from cellwire.nodes.build import BuildCache, BuildError, build, data_sources, training_settings
from cellwire.nodes.document import Document
from cellwire.nodes.examples import EXAMPLES
from cellwire.nodes.infer import infer
from cellwire.nodes.items import Edge, Group, NodeItem, Training


def small() -> Document:
    """A constant times an input through a dense layer, with two readers."""
    document = Document("Small")
    for id, type, params in (
        ("input", "data.input", {"shape": [4], "rows": 3}),
        ("k", "data.constant", {"value": 2.0}),
        ("mul", "ops.mul", {}),
        ("dense", "nn.Dense", {"out_channels": 5}),
        ("join", "ops.concat", {"axis": 1}),
    ):
        document.apply(c.AddNode(NodeItem(id=id, type=type, name=id, params=params)))
    for edge in (
        Edge("input", "out", "mul", "input"),
        Edge("k", "out", "mul", "other"),
        Edge("mul", "out", "dense", "x"),
        Edge("dense", "out", "join", "tensors0"),
        Edge("mul", "out", "join", "tensors1"),
    ):
        document.apply(c.Connect(edge))
    return document


def weights(graph: Graph, id: str) -> dict[str, np.ndarray]:
    cell = graph.nodes[id].call
    assert isinstance(cell, Cell)
    return {name: parameter.data.copy() for name, parameter in cell.parameters_and_names()}


def test_the_graph_runs_as_it_is_drawn() -> None:
    graph = build(small())
    values = run_graph(graph, {"input": {"out": np.ones((2, 4), np.float32)}}, Clock())
    assert graph.order == ("input", "k", "mul", "dense", "join")
    assert [graph.nodes[id].kind for id in graph.order] == ["data", "data", "op", "cell", "op"]
    assert values[Source("mul", "out")].asnumpy().tolist() == [[2.0] * 4] * 2
    joined = values[Source("join", "out")].asnumpy()
    assert joined.shape == (2, 9)
    assert np.array_equal(joined[:, :5], values[Source("dense", "out")].asnumpy())


def test_shapes_are_what_inference_said() -> None:
    document = small()
    found = infer(document)
    for source, tensor in run_graph(build(document), {}, Clock()).items():
        aval = found.avals[source.node, source.port]
        assert tensor.dtype is aval.dtype
        assert len(tensor.shape) == aval.ndim
        for size, dim in zip(tensor.shape, aval.shape, strict=True):
            assert size == (3 if str(dim) == "N" else dim)


def test_cells_keep_their_weights_while_other_things_are_edited() -> None:
    document, cache = small(), BuildCache()
    first = build(document, cache)
    document.apply(c.MoveNodes({"dense": (50.0, 60.0)}))
    document.apply(c.SetParameters("k", {"value": 3.0}))
    document.apply(c.RenameNode("dense", "layer"))
    undo = document.apply(c.RemoveNode("dense"))
    document.apply(undo)
    second = build(document, cache)
    assert second.nodes["dense"].call is first.nodes["dense"].call
    assert second.nodes["dense"].name == "layer"
    document.apply(c.SetParameters("dense", {"out_channels": 6}))
    assert build(document, cache).nodes["dense"].call is not first.nodes["dense"].call


def test_fresh_weights_are_the_same_for_the_same_seed() -> None:
    document = small()
    first, second = (weights(build(document), "dense") for _ in range(2))
    assert all(np.array_equal(first[name], second[name]) for name in first)
    document.apply(c.SetTraining(Training(seed=1)))
    other = weights(build(document), "dense")
    assert not np.array_equal(first["weight"], other["weight"])


def test_a_drawing_with_errors_is_refused_with_all_of_them() -> None:
    document = small()
    document.apply(c.Disconnect("mul", "other"))
    document.apply(c.SetParameters("join", {"axis": 1.5}))
    with pytest.raises(BuildError, match="other of mul is not connected") as caught:
        build(document)
    assert [problem.node for problem in caught.value.problems] == ["mul", "join"]


def test_a_node_that_is_too_large_to_be_made_is_told_on_it() -> None:
    document = small()
    for size in (2**50, 10**30):
        document.apply(c.SetParameters("dense", {"out_channels": size}))
        with pytest.raises(BuildError, match="dense cannot be made") as caught:
            build(document)
        assert [problem.node for problem in caught.value.problems] == ["dense"]


def test_groups_are_built_where_they_can_run_as_one() -> None:
    document = small()
    document.apply(c.AddGroup(Group(id="g", name="g", nodes=("mul", "dense"))))
    assert build(document).groups["g"].nodes == {"mul", "dense"}
    document.apply(c.SetGroup(Group(id="g", name="g", nodes=("mul", "join"))))
    assert build(document).groups == {}


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_examples_are_canonical_and_build(name: str) -> None:
    path = files.ASSETS / "examples" / f"{name}.cellwire"
    assert path.read_text() == files.dumps(EXAMPLES[name]())
    document = files.load(path)
    found = infer(document)
    assert found.problems == ()
    graph = build(document)
    (source,) = data_sources(graph).values()
    assert (len(source.train), len(source.held_out)) == (1437, 360)
    assert found.loss is not None
    (loss,) = graph.losses()
    assert loss.id == found.loss
    values = run_graph(graph, {}, Clock())
    assert values[Source(loss.id, "out")].asnumpy() == pytest.approx(np.log(10), abs=1.0)


def test_training_settings_are_the_documents() -> None:
    document = Document()
    document.apply(c.SetTraining(Training(optimizer="SGD", epochs=3, extra={"warmup": 1})))
    settings = training_settings(document)
    assert (settings.optimizer, settings.epochs) == ("SGD", 3)


def test_a_new_document_trains_by_the_engines_own_settings() -> None:
    assert training_settings(Document("New")) == TrainingSettings()
