"""Networks as graphs in files: they run without their classes, and foreign files are told."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.array_file import read_arrays, write_arrays
from cellwire.engine.graph_file import KEY, GraphFileError

X = cw.Tensor(np.random.default_rng(2).standard_normal((4, 3)).astype(np.float32))


class Net(nn.Cell):
    """Norm, dropout, a hook, a Cell with its own gradient, and a result of several parts."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4), nn.Dropout(p=0.5))
        self.twice = Twice()
        self.shift = cw.Tensor([1.0])
        self.layers[0].register_backward_pre_hook(lambda cell, douts: None)

    def construct(self, x: cw.Tensor, factor: float = 2.0) -> dict[str, Any]:
        hidden = ops.reshape(self.layers(x), (x.shape[0], 2, 2))[:, 0]
        return {"out": self.twice(hidden) * factor + self.shift, "all": (hidden.sum(), 3)}


class Twice(nn.Cell):
    def construct(self, x: cw.Tensor) -> cw.Tensor:
        return x * 2.0

    def bprop(self, x: cw.Tensor, out: cw.Tensor, dout: cw.Tensor) -> tuple[cw.Tensor]:
        return (dout * 2.0,)


def exported(tmp_path: Path, net: nn.Cell, *inputs: Any) -> nn.GraphCell:
    cw.export(net, *inputs, file_name=tmp_path / "net", file_format="MINDIR")
    return nn.GraphCell(cw.load(tmp_path / "net.mindir"))


def test_row_50_a_graph_runs_without_its_class(tmp_path: Path) -> None:
    net = Net().set_train()
    cell = exported(tmp_path, net, X, 3.0)
    assert net.layers[2].training
    net.set_train(False)
    expected, found = net(X, 3.0), cell(X, 3.0)
    np.testing.assert_allclose(found["out"].data, expected["out"].data, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["all"][0].data, expected["all"][0].data, rtol=1e-5)
    assert found["all"][1] == 3
    assert sorted(p.name for p in cell.trainable_params()) == [
        "layers.0.bias", "layers.0.weight", "layers.1.beta", "layers.1.gamma",
    ]  # fmt: skip
    assert [f.name for f in tmp_path.iterdir()] == ["net.mindir"]


def test_row_50_it_trains_and_compiles(tmp_path: Path) -> None:
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 2))
    cell = exported(tmp_path, net, X)
    weights = ["0.weight", "2.bias"]

    def derived(network: nn.Cell) -> Any:
        own = dict(network.parameters_and_names())
        return cw.grad(lambda x: ops.sum(network(x) ** 2), 0, [own[name] for name in weights])

    expected, found = derived(net)(X), derived(cell)(X)
    compiled = cw.jit(derived(copy.deepcopy(cell)), fullgraph=True)(X)
    for (dx, dws), (want, wants) in ((found, expected), (compiled, expected)):
        np.testing.assert_allclose(dx.data, want.data, rtol=1e-4, atol=1e-5)
        for dw, other in zip(dws, wants, strict=True):
            np.testing.assert_allclose(dw.data, other.data, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(cw.jit(cell)(X).data, net(X).data, rtol=1e-5, atol=1e-6)


def test_values_can_be_given_anew(tmp_path: Path) -> None:
    net = nn.Dense(3, 2)
    cw.export(net, X, file_name=str(tmp_path / "dense.mindir"), file_format="MINDIR")
    graph = cw.load(str(tmp_path / "dense.mindir"))
    values = {"weight": cw.Parameter(np.zeros((2, 3), np.float32))}
    out = nn.GraphCell(graph, params_init=values)(X)
    np.testing.assert_allclose(out.data, np.broadcast_to(net.bias.data, (4, 2)))
    with pytest.raises(ValueError, match="no parameter 'w'"):
        nn.GraphCell(graph, {"w": X})
    with pytest.raises(TypeError, match=r"cw\.load"):
        nn.GraphCell("dense.mindir")


def test_sizes_can_stay_open(tmp_path: Path) -> None:
    net = nn.SequentialCell(nn.Flatten(), nn.Dense(6, 2), nn.Softmax())
    cell = exported(tmp_path, net, cw.Tensor(shape=[None, 2, 3], dtype=cw.float32))
    for batch in (1, 5, 1):
        x = cw.Tensor(np.random.default_rng(batch).standard_normal((batch, 2, 3)), cw.float32)
        np.testing.assert_allclose(cell(x).data, net(x).data, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="N×2×3 f32"):
        cell(X)


def test_nested_arguments_and_random_numbers(tmp_path: Path) -> None:
    class Noise(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(3, 2)

        def construct(self, x: cw.Tensor, hx: Any) -> Any:
            out, ends = self.lstm(x, hx)
            return out + ops.standard_normal(tuple(out.shape)), ends

    x, state = cw.Tensor(np.ones((2, 1, 3), np.float32)), ops.zeros((1, 1, 2))
    net = Noise()
    cell = exported(tmp_path, net, x, (state, state))
    cw.set_seed(4)
    first = net(x, (state, state))
    cw.set_seed(4)
    again = cell(x, (state, state))
    np.testing.assert_allclose(again[0].data, first[0].data, atol=1e-6)
    np.testing.assert_allclose(again[1][1].data, first[1][1].data, atol=1e-6)
    with pytest.raises(TypeError, match="the graph takes"):
        cell(x, state)


def test_what_a_graph_cannot_hold_is_told(tmp_path: Path) -> None:
    class Branch(nn.Cell):
        def construct(self, x: cw.Tensor) -> cw.Tensor:
            return x if x.sum() > 0 else -x

    class Counts(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.calls = cw.Parameter([0.0], requires_grad=False)

        def construct(self, x: cw.Tensor) -> cw.Tensor:
            self.calls.set_data(self.calls + 1)
            return x

    path = tmp_path / "no"
    with pytest.raises(GraphFileError, match=r"Branch cannot be exported: .*a branch depends"):
        cw.export(Branch(), X, file_name=path)
    with pytest.raises(GraphFileError, match="writes to 'calls'"):
        cw.export(Counts(), X, file_name=path)
    with pytest.raises(ValueError, match="MINDIR"):
        cw.export(nn.ReLU(), X, file_name=path, file_format="ONNX")
    with pytest.raises(TypeError, match="enc_key"):
        cw.export(nn.ReLU(), X, file_name=path, enc_key=b"0")
    with pytest.raises(TypeError, match="Cell"):
        cw.export(abs, X, file_name=path)  # pyright: ignore[reportArgumentType]
    assert list(tmp_path.iterdir()) == []


def test_foreign_damaged_and_newer_files_are_told(tmp_path: Path) -> None:
    path = tmp_path / "net.mindir"
    with pytest.raises(GraphFileError, match="does not exist"):
        cw.load(path)
    path.write_bytes(b"\x08MindSpore IR")
    with pytest.raises(GraphFileError, match="damaged"):
        cw.load(path)
    cw.save_checkpoint(nn.Dense(3, 2), tmp_path / "net.ckpt")
    with pytest.raises(GraphFileError, match="holds no graph"):
        cw.load(tmp_path / "net.ckpt")
    cw.export(nn.Dense(3, 2), X, file_name=path)
    arrays, metadata = read_arrays(path)
    text = json.loads(metadata[KEY])

    def changed(**parts: Any) -> None:
        write_arrays(path, arrays, {KEY: json.dumps({**text, **parts})})
        cw.load(path)

    with pytest.raises(GraphFileError, match="newer version"):
        changed(version=99)
    with pytest.raises(GraphFileError, match="'no_such_op'"):
        changed(nodes=[["no_such_op", [0], 1, {}]])
    for damage in ({"outputs": [77]}, {"held": []}, {"inputs": [[["tuple", 4], "Float32"]]}):
        with pytest.raises(GraphFileError, match="damaged"):
            changed(**damage)
    write_arrays(path, {}, metadata)
    with pytest.raises(GraphFileError, match="damaged"):
        cw.load(path)
