"""Live inference: shapes on every wire, problems on the right node and port, with a fix."""

from pathlib import Path

import numpy as np
import pytest
from cellwire.nodes import changes as c
from cellwire.nodes import files
from cellwire.nodes.document import Document
from cellwire.nodes.infer import Inference, between, infer
from cellwire.nodes.items import Breakpoint, Edge, Group, NodeItem, Training
from cellwire.nodes.wiring import can_connect


def drawing(nodes: dict[str, tuple[str, dict[str, object]]], *wires: str) -> Document:
    """A document of nodes named by their ids; wires are `a.out>b.in`."""
    document = Document("Drawing")
    for id, (type, params) in nodes.items():
        document.apply(c.AddNode(NodeItem(id=id, type=type, name=id, params=params)))
    for wire in wires:
        left, right = wire.split(">")
        document.apply(c.Connect(Edge(*left.split("."), *right.split("."))))
    return document


def cnn() -> Document:
    return drawing(
        {
            "digits": ("data.digits", {}),
            "scale": ("ops.scale", {"factor": 1 / 16}),
            "conv": ("nn.Conv2d", {"out_channels": 32, "has_bias": True}),
            "relu": ("ops.relu", {}),
            "pool": ("nn.MaxPool2d", {"kernel_size": 2, "stride": 2}),
            "flat": ("nn.Flatten", {}),
            "head": ("nn.Dense", {"out_channels": 10}),
            "loss": ("nn.CrossEntropyLoss", {}),
        },
        "digits.images>scale.input",
        "scale.out>conv.x",
        "conv.out>relu.input",
        "relu.out>pool.x",
        "pool.out>flat.x",
        "flat.out>head.x",
        "head.out>loss.logits",
        "digits.labels>loss.labels",
    )


def only(inference: Inference) -> tuple[str | None, str | None, str, str]:
    (problem,) = inference.errors
    return problem.node, problem.port, problem.message, problem.fix


def test_every_wire_has_its_shape_and_every_node_its_summary() -> None:
    found = infer(cnn())
    assert found.problems == ()
    assert {key: str(aval) for key, aval in found.edges.items()} == {
        ("scale", "input"): "N×1×8×8 u8",
        ("conv", "x"): "N×1×8×8 f32",
        ("relu", "input"): "N×32×8×8 f32",
        ("pool", "x"): "N×32×8×8 f32",
        ("flat", "x"): "N×32×4×4 f32",
        ("head", "x"): "N×512 f32",
        ("loss", "logits"): "N×10 f32",
        ("loss", "labels"): "N i32",
    }
    assert found.order[0] == "digits"
    assert found.order[-1] == "loss"
    assert found.loss == "loss"
    assert found.summaries["conv"] == "Conv2d 1→32 · 3×3 · has_bias True" or (
        found.summaries["conv"] == "Conv2d 1→32 · 3×3"
    )
    assert found.params["conv"]["in_channels"] == 1
    assert found.params["head"]["in_channels"] == 512


def test_costs_are_counted_for_one_sample() -> None:
    found = infer(cnn())
    assert found.costs["conv"].parameters == 32 * 9 + 32
    assert found.costs["conv"].flops == pytest.approx(2 * 32 * 9 * 64, rel=0.1)
    assert found.costs["head"].parameters == 512 * 10 + 10
    assert found.costs["head"].flops == pytest.approx(2 * 512 * 10, rel=0.01)
    assert found.costs["flat"].parameters == 0
    assert found.cost.parameters == 320 + 5130


def test_an_open_input_is_told_on_its_port_and_what_follows_stays_quiet() -> None:
    document = cnn()
    document.apply(c.Disconnect("conv", "x"))
    found = infer(document)
    assert only(found) == ("conv", "x", "x of conv is not connected.", "Draw a wire to x.")
    assert ("pool", "x") not in found.edges
    assert ("loss", "labels") in found.edges


def test_a_wrong_size_names_ports_and_shapes_and_gives_a_fix_that_works() -> None:
    document = cnn()
    document.apply(c.SetParameters("head", {"in_channels": 100}))
    node, _, message, fix = only(infer(document))
    assert node == "head"
    assert "x is N×512 f32" in message
    assert "100" in message
    assert fix == "Set in_channels to 512, or clear it to take it from the wire."


def test_floats_where_whole_numbers_are_needed_are_to_be_cast() -> None:
    document = cnn()
    node_item = NodeItem(id="y", type="data.input", name="y", params={"shape": []})
    document.apply(c.AddNode(node_item))
    document.apply(c.Connect(Edge("y", "out", "loss", "labels")))
    node, _, message, fix = only(infer(document))
    assert node == "loss"
    assert "labels is N f32" in message
    assert fix == "Put a Cast node to int32 before labels: it takes whole numbers."


def test_images_where_rows_are_needed_are_to_be_flattened() -> None:
    document = cnn()
    document.apply(c.AddNode(NodeItem(id="bn", type="nn.BatchNorm1d", name="bn")))
    document.apply(c.Connect(Edge("conv", "out", "bn", "x")))
    node, port, message, fix = only(infer(document))
    assert (node, port) == ("bn", "x")
    assert "x is N×32×8×8 f32" in message
    assert fix == "Put a Flatten node before x: it takes rows of numbers."


def test_parameters_are_checked_before_anything_else() -> None:
    document = cnn()
    document.apply(c.SetParameters("conv", {"pad_mode": "round", "colour": 3}))
    found = infer(document)
    (error,) = found.errors
    assert error.node == "conv"
    assert error.message.startswith("pad_mode is 'round', but takes one of ")
    (warning,) = [problem for problem in found.problems if problem.severity == "warning"]
    assert warning.message == "Conv2d has no parameter colour; it is kept and not used."


def test_a_cycle_is_told_on_its_nodes_and_the_rest_is_inferred() -> None:
    document = cnn()
    document.apply(c.Connect(Edge("relu", "out", "conv", "x")))
    found = infer(document)
    assert {problem.node for problem in found.errors} == {"conv", "relu"}
    assert found.errors[0].message == "These nodes feed each other: conv → relu → conv."
    assert ("scale", "input") in found.edges


def test_a_condition_that_cannot_be_read_is_told_on_its_wire() -> None:
    document = cnn()
    mark = Breakpoint(target="relu", input="input", condition="absmaxx > 1")
    document.apply(c.SetBreakpoint(mark))
    (problem,) = infer(document).problems
    assert (problem.node, problem.port, problem.severity) == ("relu", "input", "warning")
    assert "absmaxx" in problem.message


def test_unknown_kinds_and_loose_wires_are_told() -> None:
    document = files.loads(
        '{"format": "cellwire", "version": 1, "nodes": [{"id": "a", "type": "x.Y", "name": "a"}],'
        '"edges": [["gone", "out", "a", "x"]]}'
    )
    found = infer(document)
    assert only(found)[:3] == (
        "a",
        None,
        "This version has no node of type x.Y; it is kept as it is.",
    )
    (warning,) = [problem for problem in found.problems if problem.severity == "warning"]
    assert warning.node is None


def test_of_several_losses_one_is_chosen() -> None:
    document = cnn()
    document.apply(c.AddNode(NodeItem(id="other", type="nn.CrossEntropyLoss", name="other")))
    document.apply(c.Connect(Edge("head", "out", "other", "logits")))
    document.apply(c.Connect(Edge("digits", "labels", "other", "labels")))
    found = infer(document)
    assert {problem.node for problem in found.errors} == {"loss", "other"}
    assert found.loss is None
    document.apply(c.SetTraining(Training(loss="other")))
    found = infer(document)
    assert found.errors == ()
    assert found.loss == "other"


def test_a_wire_to_a_port_that_is_not_there_is_kept_and_told() -> None:
    document = cnn()
    document.apply(c.Connect(Edge("scale", "out", "relu", "y")))
    node, port, message, _ = only(infer(document))
    assert (node, port) == ("relu", "y")
    assert message == "A wire goes into y, but the inputs of ReLU are: input."


def test_a_group_that_a_path_leaves_and_enters_again_is_told() -> None:
    document = cnn()
    assert between(document, ["conv", "pool"]) == {"relu"}
    document.apply(c.AddGroup(Group(id="g", name="features", nodes=("conv", "pool"))))
    (problem,) = infer(document).problems
    assert problem.severity == "warning"
    assert problem.message == "A path leaves features and comes back through relu."


def test_data_files_are_told_apart_by_their_headers(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", inputs=np.zeros((7, 3)), labels=np.zeros(7, np.int64))
    document = drawing({"d": ("data.npz", {"path": "d.npz"})})
    found = infer(document, tmp_path)
    assert {port: str(aval) for (_, port), aval in found.avals.items()} == {
        "inputs": "N×3 f32",
        "labels": "N i32",
    }
    document.apply(c.SetParameters("d", {"labels": "y"}))
    node, _, message, fix = only(infer(document, tmp_path))
    assert node == "d"
    assert message == "d.npz has no array of numbers 'y'; it has inputs, labels."
    assert fix == "Take the name of an array in the file."


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        ("digits.images>scale.input", "This wire is there already."),
        ("relu.out>scale.input", "This would make a cycle: scale feeds relu."),
        ("relu.out>relu.input", "A node cannot feed itself."),
        ("digits.pixels>scale.input", "Digits has no output pixels."),
        ("digits.images>relu.y", "ReLU has no input y."),
        ("digits.gone>gone.y", "One of the nodes is gone."),
    ],
)
def test_wires_that_cannot_be_are_refused_with_the_reason(wire: str, reason: str) -> None:
    left, right = wire.split(">")
    verdict = can_connect(cnn(), *left.split("."), *right.split("."))
    assert not verdict.ok
    assert verdict.reason == reason


def test_a_wire_that_fits_says_which_one_it_replaces() -> None:
    document = cnn()
    verdict = can_connect(document, "scale", "out", "relu", "input")
    assert verdict.ok
    assert verdict.replaces == Edge("conv", "out", "relu", "input")
    document.apply(c.Disconnect("relu", "input"))
    assert can_connect(document, "conv", "out", "relu", "input").replaces is None


def test_a_wire_whose_shape_does_not_fit_is_refused_with_both_shapes() -> None:
    verdict = can_connect(cnn(), "digits", "labels", "conv", "x")
    assert not verdict.ok
    assert "N i32" in verdict.reason


def test_layers_of_windows_and_norms_take_their_channels_from_the_wire_and_have_costs() -> None:
    found = infer(
        drawing(
            {
                "images": ("data.input", {"shape": [4, 5, 5]}),
                "wide": ("nn.Conv2dTranspose", {"out_channels": 6, "kernel_size": 2, "stride": 2}),
                "norm": ("nn.GroupNorm", {"num_groups": 2}),
                "mean": ("nn.AdaptiveAvgPool2d", {"output_size": [1, 2]}),
            },
            "images.out>wide.x", "wide.out>norm.x", "norm.out>mean.x",
        )
    )  # fmt: skip
    assert found.params["wide"]["in_channels"] == 4
    assert found.params["norm"]["num_channels"] == 6
    assert found.costs["wide"].flops == 2 * 4 * 25 * 6 * 4
    assert found.costs["wide"].parameters == 4 * 6 * 4
    assert not found.problems
