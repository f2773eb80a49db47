"""Exported Python: reads well, is the same every time, and computes what the graph computes."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cellwire.engine.run.graph import Graph, Source
from cellwire.engine.run.units import Clock, run_graph, set_mode
from cellwire.nodes import changes as c
from cellwire.nodes.build import build, data_sources
from cellwire.nodes.document import Document
from cellwire.nodes.examples import EXAMPLES
from cellwire.nodes.export.layout import call, factor, literal
from cellwire.nodes.export.naming import Names, class_name, identifier
from cellwire.nodes.export.python import ExportError, export_python
from cellwire.nodes.items import Edge, NodeItem
from safetensors.numpy import load_file

COMPARE = """
import runpy, sys
import numpy as np
import cellwire as cw
names = runpy.run_path(sys.argv[1])
feeds = np.load(sys.argv[2])
model = names["load_model"]()
results = model(*(cw.Tensor(feeds[name]) for name in sys.argv[4:]))
results = results if isinstance(results, tuple) else (results,)
np.savez(sys.argv[3], *(result.asnumpy() for result in results))
names["main"]()
weights = model.trainable_params()
tensors = [cw.Tensor(feeds[name]) for name in sys.argv[4:]]
step = cw.value_and_grad(lambda *given: cw.ops.mean(cw.ops.square(model(*given))), None, weights)
before = weights[0].asnumpy().copy()
cw.nn.SGD(weights, 0.1)(step(*tensors)[1])
assert not np.array_equal(weights[0].asnumpy(), before)
"""


def drawing(nodes: dict[str, tuple[str, dict[str, object]]], *wires: str) -> Document:
    document = Document("Odd one")
    for id, (type, params) in nodes.items():
        document.apply(c.AddNode(NodeItem(id=id, type=type, name=id, params=params)))
    for wire in wires:
        left, right = wire.split(">")
        document.apply(c.Connect(Edge(*left.split("."), *right.split("."))))
    return document


def odd() -> Document:
    """Awkward names, a branch, a constant, a numbered input, two results."""
    document = drawing(
        {
            "in": ("data.input", {"shape": [4], "rows": 5}),
            "k": ("data.constant", {"value": -0.5, "shape": [4]}),
            "add": ("ops.add", {}),
            "2nd": ("nn.Dense", {"out_channels": 3}),
            "norm": ("nn.LayerNorm", {}),
            "join": ("ops.concat", {"axis": 1}),
            "class": ("ops.softmax", {}),
        },
        "in.out>add.input",
        "k.out>add.other",
        "add.out>2nd.x",
        "add.out>norm.x",
        "2nd.out>join.tensors0",
        "norm.out>join.tensors1",
        "join.out>class.input",
    )
    document.apply(c.RenameNode("2nd", "2nd Layer"))
    return document


def run_exported(source: Path, feeds: dict[str, np.ndarray], folder: Path) -> tuple[list, str]:
    """Run the exported file in another process, from another folder."""
    np.savez(folder / "feeds.npz", **feeds)
    arguments = [str(source), str(folder / "feeds.npz"), str(folder / "results.npz"), *feeds]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", COMPARE, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "CELLWIRE_CACHE_DIR": str(folder / "cache")},
    )
    assert done.returncode == 0, done.stderr
    with np.load(folder / "results.npz") as results:
        return [results[name] for name in results.files], done.stdout


def evaluated(graph: Graph, feeds: dict[str, dict[str, np.ndarray]]) -> dict[Source, np.ndarray]:
    for node in graph.nodes.values():
        set_mode(node, training=False)
    return {source: tensor.asnumpy() for source, tensor in run_graph(graph, feeds, Clock()).items()}


def test_arguments_are_named_where_tensors_do_not_come_first(tmp_path: Path) -> None:
    document = drawing(
        {
            "x": ("data.input", {"shape": [4], "rows": 5}),
            "order": ("ops.argsort", {}),
            "pick": ("ops.gather_elements", {"dim": 1}),
        },
        "x.out>order.input",
        "x.out>pick.input",
        "order.out>pick.index",
    )
    graph = build(document)
    text = export_python(document, graph, tmp_path / "picked.py").source.read_text()
    (line,) = [line for line in text.splitlines() if "gather_elements(" in line]
    assert "ops.gather_elements(input=x, index=x_2, dim=1)" in line
    rows = np.array([[3.0, 1.0, 2.0, 0.0]], np.float32)
    values = evaluated(graph, {"x": {"out": rows}})
    assert values[Source("pick", "out")].tolist() == [[0.0, 1.0, 2.0, 3.0]]


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_an_exported_example_gives_what_the_graph_gives(name: str, tmp_path: Path) -> None:
    document = EXAMPLES[name]()
    graph = build(document)
    exported = export_python(document, graph, tmp_path / f"{name}.py")
    ((id, data),) = data_sources(graph).items()
    batch = data.take(data.held_out)
    values = evaluated(graph, {id: batch})
    head = next(node for node in graph.nodes.values() if node.name == "head")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (logits,), printed = run_exported(exported.source, {"images": batch["images"]}, elsewhere)
    expected = values[Source(head.id, "out")]
    assert np.abs(logits - expected).max() <= 1e-6
    (loss,) = graph.losses()
    accuracy = np.mean(expected.argmax(axis=1) == batch["labels"])
    assert f"loss {values[Source(loss.id, 'out')].mean():.4f}" in printed
    assert f"accuracy {accuracy:.2%} on 360 held-out rows" in printed


def test_awkward_names_branches_and_several_results(tmp_path: Path) -> None:
    document = odd()
    graph = build(document)
    exported = export_python(document, graph, tmp_path / "odd.py")
    feed = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    values = evaluated(graph, {"in": {"out": feed}})
    text = exported.source.read_text()
    assert "class OddOne(nn.Cell):" in text
    assert "self.n2nd_layer = nn.Dense(4, 3)" in text
    (result,), _ = run_exported(exported.source, {"in": feed}, tmp_path)
    assert np.abs(result - values[Source("class", "out")]).max() <= 1e-6
    assert exported.weights is not None
    assert sorted(load_file(exported.weights)) == [
        "n2nd_layer.bias",
        "n2nd_layer.weight",
        "norm.beta",
        "norm.gamma",
    ]


def named() -> Document:
    """Nodes with the names that an exported file uses itself, and element types spelled out."""
    document = drawing(
        {
            "a": ("data.input", {"shape": [4], "rows": 5}),
            "b": ("data.input", {"shape": [4], "rows": 5}),
            "c": ("data.input", {"shape": [4], "rows": 5}),
            "dense": ("nn.Dense", {"out_channels": 4, "dtype": "float32"}),
            "sum": ("ops.add", {}),
            "more": ("ops.add", {}),
            "flags": ("ops.cast", {"dtype": "bool"}),
            "back": ("ops.cast", {"dtype": "float64"}),
        },
        "a.out>dense.x",
        "dense.out>sum.input",
        "b.out>sum.other",
        "sum.out>more.input",
        "c.out>more.other",
        "more.out>flags.input",
        "flags.out>back.input",
    )
    names = {"a": "load_model", "b": "model", "c": "a-b", "dense": "results", "sum": "a b"}
    for id, name in (names | {"more": "predict", "back": "load model"}).items():
        document.apply(c.RenameNode(id, name))
    document.apply(c.SetTitle("Path"))
    return document


def test_names_of_the_file_itself_are_left_to_it(tmp_path: Path) -> None:
    document = named()
    graph = build(document)
    exported = export_python(document, graph, tmp_path / "named.py")
    feeds = {id: np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4) for id in "abc"}
    values = evaluated(graph, {id: {"out": feed} for id, feed in feeds.items()})
    (result,), _ = run_exported(exported.source, feeds, tmp_path)
    assert np.abs(result - values[Source("back", "out")]).max() <= 1e-6


@pytest.mark.parametrize("draw", [*EXAMPLES.values(), odd, named])
def test_exported_files_are_the_same_each_time_and_clean(draw: object, tmp_path: Path) -> None:
    assert callable(draw)
    document = draw()
    first = export_python(document, build(document), tmp_path / "model_file.py")
    before = first.source.read_bytes(), first.weights and first.weights.read_bytes()
    again = export_python(document, build(document), tmp_path / "model_file.py")
    assert (again.source.read_bytes(), again.weights and again.weights.read_bytes()) == before
    assert all(len(line) <= 100 for line in again.source.read_text().splitlines())
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "model_file.py",
        "model_file.safetensors",
    ]
    if importlib.util.find_spec("ruff") is None:
        pytest.skip("ruff is not installed")
    settings = Path(__file__).resolve().parents[1] / "pyproject.toml"
    for command in (["check"], ["format", "--check", "--diff"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--config", str(settings), again.source.name],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def test_data_of_ones_own_is_loaded_from_beside_the_file(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i * i},{'even' if i % 2 == 0 else 'odd'}\n" for i in range(20))
    (tmp_path / "numbers.csv").write_text("n,square,parity\n" + rows)
    document = drawing(
        {
            "numbers": ("data.csv", {"path": "numbers.csv"}),
            "dense": ("nn.Dense", {"out_channels": 2}),
            "loss": ("nn.CrossEntropyLoss", {}),
        },
        "numbers.inputs>dense.x",
        "dense.out>loss.logits",
        "numbers.labels>loss.labels",
    )
    graph = build(document, base=tmp_path)
    (tmp_path / "out").mkdir()
    exported = export_python(document, graph, tmp_path / "out" / "parity.py", base=tmp_path)
    data = data_sources(graph)["numbers"].take(data_sources(graph)["numbers"].held_out)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (logits,), printed = run_exported(exported.source, {"inputs": data["inputs"]}, elsewhere)
    expected = evaluated(graph, {"numbers": data})[Source("dense", "out")]
    assert np.abs(logits - expected).max() <= 1e-6
    accuracy = np.mean(expected.argmax(axis=1) == data["labels"])
    assert f"accuracy {accuracy:.2%} on 4 held-out rows" in printed


def test_what_cannot_be_exported_is_listed_and_nothing_is_written(tmp_path: Path) -> None:
    document = EXAMPLES["digits_mlp"]()
    graph = build(document)
    loss = document.node_named("loss")
    assert loss is not None
    document.apply(c.AddNode(NodeItem(id="after", type="ops.neg", name="after")))
    document.apply(c.Connect(Edge(loss.id, "out", "after", "input")))
    with pytest.raises(ExportError, match=r"compute from a loss.*: after") as caught:
        export_python(document, graph, tmp_path / "model.py")
    assert caught.value.nodes == ("after",)
    document.apply(c.Disconnect("after", "input"))
    with pytest.raises(ExportError, match="after: input of after is not connected"):
        export_python(document, graph, tmp_path / "model.py")
    with pytest.raises(ExportError, match="cannot be imported"):
        export_python(document, graph, tmp_path / "my model.py")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("conv1", "conv1"),
        ("2nd Conv", "n2nd_conv"),
        ("class", "class_"),
        ("match", "match_"),
        ("input", "input_"),
        ("My-Block (left)", "my_block_left"),
        ("convBlock", "conv_block"),
        ("→", "node"),
        ("卷积1", "卷积1"),
    ],
)
def test_labels_become_identifiers(label: str, name: str) -> None:
    assert identifier(label) == name
    assert name.isidentifier()


def test_names_are_given_once() -> None:
    names = Names(["training"])
    assert [names.give(label) for label in ("x", "x", "X", "training")] == [
        "x", "x_2", "x_3", "training_2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Digits MLP", "DigitsMlp"),
        ("3 layers", "Model3Layers"),
        ("!", "Model"),
        ("none", "ModelNone"),
    ],
)
def test_titles_become_class_names(title: str, name: str) -> None:
    assert class_name(title) == name


def test_values_are_written_as_a_person_would() -> None:
    assert [literal(v) for v in ([3, 3], [1], "a\"b\\", 0.5, True, None)] == [
        "(3, 3)", "(1,)", "'a\"b\\\\'", "0.5", "True", "None",
    ]  # fmt: skip
    assert [factor(v) for v in (1 / 16, 1 / 255, 0.3, 2.0, -0.5)] == [
        "(1 / 16)", "(1 / 255)", "0.3", "2.0", "(-1 / 2)",
    ]  # fmt: skip


def test_long_calls_are_broken_as_a_formatter_does() -> None:
    assert call(4, "f(", ["a", "b"], ")", "N") == ["    f(a, b)  # N"]
    wide = ["a" * 50, "b" * 44]
    assert call(0, "long_name(", wide) == ["long_name(", f"    {', '.join(wide)}", ")"]
    wider = ["a" * 60, "b" * 60]
    assert call(0, "f(", wider) == ["f(", *(f"    {item}," for item in wider), ")"]
