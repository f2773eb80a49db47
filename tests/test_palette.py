"""Every kind of node of the palette works as it is created: shapes, runs, and exported Python."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from cellwire.engine.run.events import Finished
from cellwire.engine.run.executor import Execution
from cellwire.engine.run.graph import Edge as EdgeOf
from cellwire.engine.run.graph import Source
from cellwire.engine.run.units import Clock, run_graph, set_mode
from cellwire.engine.tensor import Tensor
from cellwire.nodes import changes as c
from cellwire.nodes.build import build
from cellwire.nodes.document import Document
from cellwire.nodes.export.python import export_python
from cellwire.nodes.infer import infer
from cellwire.nodes.items import Edge, NodeItem
from cellwire.nodes.library import LIBRARY
from cellwire.nodes.spec import NodeSpec
from cellwire.nodes.wiring import can_connect

from .tables.palette_inputs import INPUTS, USUAL

DTYPES = {"f32": "float32", "i32": "int32", "i64": "int64", "b": "bool"}
COMPUTED = [type for type, spec in LIBRARY.items() if spec.kind != "data"]


def data(id: str, text: str) -> NodeItem:
    """A data node that gives what `N×4 f32` (rows) or `4 i32` (a constant) says."""
    *shape, dtype = text.split(" ")
    sizes = shape[0].split("×") if shape else []
    params: dict[str, object] = {"dtype": DTYPES[dtype]}
    if sizes[:1] == ["N"]:
        params |= {"shape": [int(size) for size in sizes[1:]], "rows": 4, "fill": "ones"}
        return NodeItem(id=id, type="data.input", name=id, params=params)
    params["shape"] = [int(size) for size in sizes]
    return NodeItem(id=id, type="data.constant", name=id, params=params)


def ports_of(spec: NodeSpec, inputs: list[str]) -> list[str]:
    """The ports to wire: those that are needed, or as many as there are inputs."""
    if spec.inputs[0].variadic:
        return [f"{spec.inputs[0].name}{index}" for index in range(2)]
    needed = [port.name for port in spec.inputs if port.required]
    first = [port.name for port in spec.inputs][: len(inputs)]
    return max(needed, first, key=len)


def drawing(spec: NodeSpec) -> Document:
    """A node as the palette makes it, with data wired into it; what a loss reads goes through."""
    document = Document("Tried out")
    item = NodeItem(id="node", type=spec.type, name="node", params=dict(spec.start))
    document.apply(c.AddNode(item))
    inputs = INPUTS.get(spec.type, USUAL).split(", ")
    for index, port in enumerate(ports_of(spec, inputs)):
        source = f"in{index}"
        document.apply(c.AddNode(data(source, inputs[min(index, len(inputs) - 1)])))
        if spec.kind == "loss":
            through = NodeItem(id=f"same{index}", type="ops.identity", name=f"same{index}")
            document.apply(c.AddNode(through))
            document.apply(c.Connect(Edge(source, "out", through.id, "input")))
            source = through.id
        document.apply(c.Connect(Edge(source, "out", "node", port)))
    return document


@pytest.mark.parametrize("type", COMPUTED)
def test_a_new_node_works(type: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = LIBRARY[type]
    document = drawing(spec)
    known = infer(document)
    assert not known.problems, known.problems[0]
    graph = build(document, inference=known)
    for node in graph.nodes.values():
        set_mode(node, training=False)
    with np.errstate(all="ignore"):
        results = run_graph(graph, {}, Clock())
        found = [tensor for source, tensor in results.items() if source.node == "node"]
        assert len(found) == len(spec.outputs)
        for port, tensor in zip(spec.outputs, found, strict=True):
            aval = known.avals["node", port.name]
            assert tensor.dtype == aval.dtype
            assert len(tensor.shape) == aval.ndim
            sizes = zip(tensor.shape, aval.shape, strict=True)
            assert all(size == told for size, told in sizes if isinstance(told, int))
        exported = export_python(document, graph, tmp_path / "drawn.py", inference=known)
        names = runpy.run_path(str(exported.source))
        names["main"]()
    assert "nan" not in capsys.readouterr().err


def wired(nodes: dict[str, tuple[str, dict[str, object]]], *wires: str) -> Document:
    document = Document("Several outputs")
    for id, (type, params) in nodes.items():
        start = dict(LIBRARY[type].start)
        document.apply(c.AddNode(NodeItem(id=id, type=type, name=id, params=start | params)))
    for wire in wires:
        left, right = wire.split(">")
        document.apply(c.Connect(Edge(*left.split("."), *right.split("."))))
    return document


def states() -> Document:
    """An LSTM whose last states begin another one, and the best of what that one gives."""
    return wired(
        {
            "x": ("data.input", {"shape": [5, 6], "rows": 4}),
            "first": ("nn.LSTM", {"hidden_size": 3}),
            "second": ("nn.LSTM", {"hidden_size": 3}),
            "best": ("ops.topk", {"k": 2}),
        },
        "x.out>first.x",
        "x.out>second.x",
        "first.h>second.h0",
        "first.c>second.c0",
        "second.output>best.input",
    )


def test_a_node_has_an_output_for_each_result() -> None:
    known = infer(states())
    assert not known.problems
    shapes = {f"{node}.{port}": str(aval) for (node, port), aval in known.avals.items()}
    assert shapes["first.output"] == "N×5×3 f32"
    assert shapes["first.h"] == shapes["first.c"] == "1×N×3 f32"
    assert (shapes["best.values"], shapes["best.indices"]) == ("N×5×2 f32", "N×5×2 i64")


def test_results_that_go_on_together_are_passed_as_one_tuple() -> None:
    graph = build(states())
    rows = np.random.default_rng(0).normal(size=(4, 5, 6)).astype(np.float32)
    results = run_graph(graph, {"x": {"out": rows}}, Clock())
    first, second = graph.nodes["first"].call, graph.nodes["second"].call
    _, ends = first(Tensor(rows))
    output, (h, _) = second(Tensor(rows), ends)
    values = results[Source("best", "values")].asnumpy()
    np.testing.assert_array_equal(values, np.sort(output.asnumpy())[..., :0:-1])
    np.testing.assert_array_equal(results[Source("second", "h")].asnumpy(), h.asnumpy())


def test_the_debugger_steps_over_several_outputs_and_back() -> None:
    document = states()
    document.apply(c.AddNode(NodeItem(id="loss", type="nn.MSELoss", name="loss")))
    document.apply(c.Connect(Edge("best", "values", "loss", "logits")))
    document.apply(c.Connect(Edge("second", "output", "loss", "labels")))
    document.apply(c.SetParameters("best", {"k": 3}))
    with Execution(build(document), training=True) as run:
        assert isinstance(run.advance(), Finished)
        run.backward()
        assert isinstance(run.advance(), Finished)
        gradient = run.gradient(EdgeOf("second", "h0"))
        assert gradient.shape == (1, 4, 3)
        assert np.abs(gradient).max() > 0
        assert np.abs(run.parameter_gradients("first")["weight_hh_l0"]).max() > 0


def test_the_exported_file_takes_several_results_apart(tmp_path: Path) -> None:
    document = states()
    source = export_python(document, build(document), tmp_path / "states.py").source
    lines = [line.strip().partition("  #")[0] for line in source.read_text().splitlines()]
    assert "_, (first_h, first_c) = self.first(x)" in lines
    assert "x_2, (_, _) = self.second(x, (first_h, first_c))" in lines  # the next line reads x_2
    assert "best_values, best_indices = ops.topk(x_2, 2)" in lines
    runpy.run_path(str(source))["main"]()


def test_a_parameter_that_drops_a_result_is_told() -> None:
    document = wired(
        {"x": ("data.input", {"shape": [4, 4]}), "svd": ("ops.svd", {"compute_uv": False})},
        "x.out>svd.input",
    )
    (problem,) = infer(document).errors
    assert problem.message.startswith("Svd gives 1 results with these parameters")
    assert problem.fix == "Set back the parameter that adds or drops a result."


def test_tensors_that_go_together_are_all_wired_or_none() -> None:
    document = states()
    document.apply(c.Disconnect("second", "c0"))
    (problem,) = infer(document).errors
    assert problem.message == "c0 of second is not connected, but h0 is."
    assert (problem.port, problem.fix) == ("c0", "Draw a wire to c0 as well, or to neither.")
    document.apply(c.Disconnect("second", "h0"))
    assert can_connect(document, "first", "h", "second", "h0").ok  # the other half may follow
