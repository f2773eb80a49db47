"""Checkpoints: what is saved comes back, and what does not fit is named."""

from __future__ import annotations

import threading
from pathlib import Path

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn
from cellwire.engine.checkpoint import CheckpointError


def net(width: int = 4) -> nn.SequentialCell:
    return nn.SequentialCell(nn.Dense(3, width), nn.BatchNorm1d(width))


def test_a_network_comes_back(tmp_path: Path) -> None:
    first, second = net(), net()
    cw.save_checkpoint(first, tmp_path / "net.ckpt")
    loaded = cw.load_checkpoint(str(tmp_path / "net.ckpt"))
    assert sorted(loaded) == sorted(name for name, _ in first.parameters_and_names())
    assert cw.load_param_into_net(second, loaded) == ([], [])
    for own, other in zip(first.get_parameters(), second.get_parameters(), strict=True):
        np.testing.assert_array_equal(own.data, other.data)
    assert [file.name for file in tmp_path.iterdir()] == ["net.ckpt"]


def test_an_optimizer_goes_on_where_it_was(tmp_path: Path) -> None:
    def step(layer: nn.Dense, optimizer: nn.Optimizer) -> None:
        optimizer(tuple(cw.Tensor(np.ones(p.shape, np.float32)) for p in optimizer.parameters))

    layer = nn.Dense(2, 2)
    optimizer = nn.Adam(layer.trainable_params(), 0.1)
    step(layer, optimizer)
    cw.save_checkpoint(optimizer, tmp_path / "optimizer")
    cw.save_checkpoint(layer, tmp_path / "layer")
    step(layer, optimizer)
    other = nn.Dense(2, 2)
    again = nn.Adam(other.trainable_params(), 0.5)
    cw.load_checkpoint(tmp_path / "layer", other)
    cw.load_checkpoint(tmp_path / "optimizer", again, strict_load=True)
    step(other, again)
    np.testing.assert_array_equal(other.weight.data, layer.weight.data)
    assert int(again.global_step) == 2


def test_names_on_one_side_only_are_listed(tmp_path: Path) -> None:
    entries = [
        {"name": "0.weight", "data": net()[0].weight},
        {"name": "extra", "data": cw.Tensor([1.0])},
    ]
    cw.save_checkpoint(entries, tmp_path / "part")
    loaded = cw.load_checkpoint(tmp_path / "part")
    missing, unused = cw.load_param_into_net(net(), loaded)
    assert "0.bias" in missing
    assert unused == ["extra"]
    with pytest.raises(CheckpointError, match="extra"):
        cw.load_param_into_net(net(), loaded, strict_load=True)


def test_shapes_that_differ_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    cw.save_checkpoint(net(5), tmp_path / "wide")
    small = net(4)
    before = small[0].weight.data.copy()
    with pytest.raises(CheckpointError, match=r"'0.weight' has shape \[4, 3\].*\[5, 3\]"):
        cw.load_checkpoint(tmp_path / "wide", small)
    np.testing.assert_array_equal(small[0].weight.data, before)


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nowhere"):
        cw.load_checkpoint(tmp_path / "nowhere.ckpt")
    cw.save_checkpoint(net(), tmp_path / "cut.ckpt")
    data = (tmp_path / "cut.ckpt").read_bytes()
    (tmp_path / "cut.ckpt").write_bytes(data[: len(data) // 2])
    with pytest.raises(CheckpointError, match=r"cut\.ckpt is damaged"):
        cw.load_checkpoint(tmp_path / "cut.ckpt")
    with pytest.raises(TypeError, match="save_checkpoint"):
        cw.save_checkpoint(3, tmp_path / "three")


# ---- what is saved besides, and what is read ---------------------------------------------------


def test_numbers_texts_and_tensors_are_saved_besides(tmp_path: Path) -> None:
    more = {"epoch": 3, "rate": 0.1, "done": True, "note": "best", "mask": cw.Tensor([1, 2])}
    cw.save_checkpoint(net(), tmp_path / "net.ckpt", append_dict=more)
    loaded = cw.load_checkpoint(tmp_path / "net.ckpt")
    assert int(loaded["epoch"]) == 3
    assert float(loaded["rate"]) == 0.1
    assert bool(loaded["done"])
    assert loaded["note"] == "best"
    assert loaded["mask"].tolist() == [1, 2]
    missing, unused = cw.load_param_into_net(net(), loaded)
    assert missing == []
    assert sorted(unused) == sorted(more)
    with pytest.raises(TypeError, match="append_dict"):
        cw.save_checkpoint(net(), tmp_path / "net.ckpt", append_dict={"x": [1]})


def test_names_are_chosen_when_saving_and_when_loading(tmp_path: Path) -> None:
    path = tmp_path / "net.ckpt"
    cw.save_checkpoint(net(), path, choice_func=lambda name: not name.endswith("bias"))
    assert "0.bias" not in cw.load_checkpoint(path)
    assert list(cw.load_checkpoint(path, specify_prefix="0.")) == ["0.weight"]
    left = cw.load_checkpoint(path, filter_prefix=["1.moving", "0."])
    assert sorted(left) == ["1.beta", "1.gamma"]
    assert list(cw.load_checkpoint(path, choice_func=lambda name: "beta" in name)) == ["1.beta"]
    with pytest.raises(CheckpointError, match="asked for"):
        cw.load_checkpoint(path, specify_prefix="nothing")
    with pytest.raises(TypeError, match="filter_prefix"):
        cw.load_checkpoint(path, filter_prefix=[3])  # pyright: ignore[reportArgumentType]


def test_file_names_get_the_formats_ending(tmp_path: Path) -> None:
    threads = threading.active_count()
    cw.save_checkpoint(net(), str(tmp_path / "a"))
    cw.save_checkpoint(net(), tmp_path / "b.v2", format="safetensors", async_save=True)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["a.ckpt", "b.v2.safetensors"]
    assert threading.active_count() == threads
    assert cw.load_checkpoint(tmp_path / "a").keys() == cw.load_checkpoint(tmp_path / "b.v2").keys()
    for wrong in ({"format": "npz"}, {"enc_key": b"0"}, {"async_save": "later"}):
        with pytest.raises(ValueError, match="save_checkpoint"):
            cw.save_checkpoint(net(), tmp_path / "c", **wrong)
    with pytest.raises(ValueError, match="encryption"):
        cw.load_checkpoint(tmp_path / "a", dec_key=b"0")


def test_a_checksum_tells_damage(tmp_path: Path) -> None:
    path = tmp_path / "net.ckpt"
    cw.save_checkpoint(net(), path)
    with pytest.raises(CheckpointError, match="no checksum"):
        cw.load_checkpoint(path, crc_check=True)
    cw.save_checkpoint(net(), path, crc_check=True)
    cw.load_checkpoint(path, crc_check=True)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="checksum differs"):
        cw.load_checkpoint(path, crc_check=True)


def test_dtypes_convert_among_their_kind_only() -> None:
    half = {n: cw.Tensor(p.asnumpy(), cw.float16) for n, p in net().parameters_and_names()}
    assert cw.load_param_into_net(net(), half) == ([], [])
    with pytest.raises(CheckpointError, match=r"'0\.weight' is Float32.*Float16"):
        cw.load_param_into_net(net(), half, strict_load=True)
    whole = {"0.weight": cw.Tensor(np.ones((4, 3), np.int64))}
    with pytest.raises(CheckpointError, match=r"'0\.weight' is Float32.*Int64"):
        cw.load_param_into_net(net(), whole)
    with pytest.raises(CheckpointError, match="no Tensor"):
        cw.load_param_into_net(net(), {"0.weight": "text"})
    with pytest.raises(TypeError, match="dict"):
        cw.load_param_into_net(net(), [1])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="Cell"):
        cw.load_param_into_net(3, {})  # pyright: ignore[reportArgumentType]


def test_a_parameters_own_name_is_found_too() -> None:
    class Own(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scale = cw.Parameter([1.0], name="s")

    cell = Own()
    assert cw.load_param_into_net(cell, {"s": cw.Tensor([5.0])}) == ([], [])
    assert cell.scale.tolist() == [5.0]
