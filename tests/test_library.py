"""The node library is read off the engine's Cells and ops."""

from typing import Literal

import pytest
from cellwire.engine.dtype import float32
from cellwire.engine.ops.registry import OPS
from cellwire.engine.tensor import Tensor
from cellwire.nodes.aliases import ALIASES
from cellwire.nodes.families import COMMON, FAVOURITES, ORDERS
from cellwire.nodes.inspection import param_specs, read_doc
from cellwire.nodes.library import LIBRARY, spec_of
from cellwire.nodes.outputs import OUTPUTS
from cellwire.nodes.spec import NodeSpec, ParamSpec


def spec(type: str) -> NodeSpec:
    found = spec_of(type)
    assert found is not None
    return found


def test_the_palette_has_the_kinds_of_the_engine() -> None:
    wanted = {
        "data.digits", "data.npz", "data.csv", "data.input", "data.constant",
        "nn.Dense", "nn.Conv2d", "nn.BatchNorm2d", "nn.LayerNorm", "nn.Dropout", "nn.MaxPool2d",
        "nn.AvgPool2d", "nn.Flatten", "nn.Embedding", "nn.ReLU",
        "ops.add", "ops.matmul", "ops.relu", "ops.softmax", "ops.reshape", "ops.concat",
        "ops.scale", "nn.CrossEntropyLoss", "nn.MSELoss",
    }  # fmt: skip
    assert wanted <= LIBRARY.keys()


def test_what_cannot_be_drawn_is_left_out() -> None:
    for type in ("nn.Cell", "nn.CellList", "nn.SequentialCell", "nn.Adam", "ops.softmax_grad"):
        assert type not in LIBRARY


def test_categories_and_kinds_go_together() -> None:
    pairs = {(item.category, item.kind) for item in LIBRARY.values()}
    assert pairs == {("Data", "data"), ("Cells", "cell"), ("Ops", "op"), ("Loss", "loss")}
    categories = [item.category for item in LIBRARY.values()]
    assert list(dict.fromkeys(categories)) == ["Data", "Cells", "Ops", "Loss"]


def test_every_kind_but_data_is_listed_in_a_family() -> None:
    families = {(item.category, item.family) for item in LIBRARY.values() if item.kind != "data"}
    assert families == {(category, f) for category, names in ORDERS.items() for f in names}
    assert set(FAVOURITES) | set(COMMON) <= LIBRARY.keys()
    assert ALIASES.keys() <= LIBRARY.keys()
    assert OUTPUTS.keys() <= LIBRARY.keys()


@pytest.mark.parametrize("type", list(LIBRARY))
def test_every_kind_says_what_it_is(type: str) -> None:
    item = spec(type)
    assert item.doc
    assert item.outputs
    assert item.stem.isidentifier()
    assert (item.make is None) == (item.kind == "data") == (item.data is not None)
    for param in item.params:
        value = param.default
        assert param.problem(value) is None or (param.required and value is None), param.name


def test_a_new_op_shows_up_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = {type.removeprefix("ops.") for type in LIBRARY if type.startswith("ops.")}
    undrawn = {
        name
        for name, op in OPS.items()
        if op.inputs
        and op.category not in ("gradient", "optimizer", "random")
        and not read_doc(op.doc).returns.strip().startswith("tuple")  # of several tensors
        and f"nn.{op.primitive}" not in LIBRARY  # drawn as a Cell
    } - drawn
    assert len(undrawn) <= 8, sorted(undrawn)


def test_cells_have_their_constructors_parameters() -> None:
    conv = spec("nn.Conv2d")
    assert [port.name for port in conv.inputs] == ["x"]
    kinds = {param.name: param.kind for param in conv.params}
    assert kinds["in_channels"] == "int"
    assert kinds["kernel_size"] == "shape"
    assert kinds["pad_mode"] == "choice"
    assert kinds["has_bias"] == "bool"
    in_channels = conv.param("in_channels")
    assert in_channels is not None
    assert in_channels.auto
    assert in_channels.problem(None) is None
    assert in_channels.problem(0) == "in_channels is 0, but takes a whole number of at least 1."


def test_losses_name_their_ports() -> None:
    assert [port.name for port in spec("nn.CrossEntropyLoss").inputs] == ["logits", "labels"]


@pytest.mark.parametrize(
    ("type", "params", "summary"),
    [
        ("nn.Conv2d", {"in_channels": 32, "out_channels": 64}, "Conv2d 32→64 · 3×3"),
        ("nn.Dense", {"in_channels": 1024, "out_channels": 10}, "Dense 1024→10"),
        ("nn.Dense", {"out_channels": 10}, "Dense ?→10"),
        ("nn.MaxPool2d", {"kernel_size": 2, "stride": 2}, "MaxPool2d 2×2"),
        ("nn.LSTM", {"input_size": 8, "hidden_size": 32, "batch_first": True}, "LSTM 8→32"),
        (
            "nn.MultiheadAttention",
            {"embed_dim": 8, "num_heads": 2},
            "MultiheadAttention 8 · num_heads 2",
        ),
        ("ops.scale", {"factor": 1 / 16}, "× 1/16"),
        ("ops.scale", {"factor": 2.5}, "× 2.5"),
        ("ops.relu", {}, "ReLU"),
        ("ops.softmax", {"axis": 1}, "Softmax axis 1"),
        ("data.digits", {}, "1,437 train · 360 test"),
        ("data.input", {"shape": [3, 4]}, "N×3×4 f32"),
        ("data.csv", {}, "no file chosen"),
    ],
)
def test_summaries_are_one_line(type: str, params: dict[str, object], summary: str) -> None:
    assert spec(type).summary(params) == summary


def test_new_pools_begin_with_a_window_that_pools() -> None:
    assert spec("nn.MaxPool2d").start == {"kernel_size": 2, "stride": 2}
    assert spec("nn.Conv2d").start == {}


def test_numbered_ports_grow_with_their_wires() -> None:
    concat = spec("ops.concat")
    (port,) = concat.inputs
    assert port.variadic
    names = [item.name for item in concat.input_ports([f"{port.name}0", f"{port.name}2"])]
    assert names == [f"{port.name}{index}" for index in range(4)]
    assert concat.takes(f"{port.name}11")
    assert not concat.takes(port.name)
    assert not concat.takes(f"{port.name}01")


@pytest.mark.parametrize(
    ("param", "value", "problem"),
    [
        (ParamSpec("n", "int", 1, minimum=1), True, "n is True, but takes a whole number"),
        (ParamSpec("n", "int", 1, minimum=1, maximum=9), 10, "from 1 to 9"),
        (ParamSpec("n", "int"), None, "n needs a value"),
        (ParamSpec("k", "shape", minimum=1), [3, 0], "list of them of at least 1"),
        (ParamSpec("m", "choice", "a", choices=("a", "b")), "c", "one of a, b"),
        (ParamSpec("s", "str", ""), 3, "takes text"),
    ],
)
def test_values_that_do_not_fit_are_told(param: ParamSpec, value: object, problem: str) -> None:
    assert problem in (param.problem(value) or "")


def test_parameters_come_from_hints_and_docstrings() -> None:
    def function(
        input: object,
        extent: int | tuple[int, int],
        mode: str = "same",
        how: Literal["a", "b"] = "a",
        rate: float | None = None,
        dtype: object = float32,
        init: object = len,
    ) -> None:
        """Do it.

        Parameters
        ----------
        extent : int
            How large,
            in pixels.
        mode : {"same", "valid"}
            How it ends.
        """

    params = param_specs(function, read_doc(function.__doc__), skip=("input",))
    assert params is not None
    assert [(p.name, p.kind, p.default, p.optional) for p in params] == [
        ("extent", "shape", None, False),
        ("mode", "choice", "same", False),
        ("how", "choice", "a", False),
        ("rate", "float", None, True),
        ("dtype", "choice", "float32", False),
    ]
    assert params[0].doc == "How large, in pixels."
    assert params[1].choices == ("same", "valid")


def test_tensors_that_do_not_come_first_are_given_by_name() -> None:
    item = spec("ops.gather_elements")
    assert item.by_name
    assert item.make is not None
    call = item.make({"dim": 1})
    assert call(Tensor([[1, 2]]), Tensor([[1]])).tolist() == [[2]]  # type: ignore[attr-defined]
    assert not spec("ops.gather").by_name
