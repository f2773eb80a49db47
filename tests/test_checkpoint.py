"""Checkpoints: what is saved comes back, and what does not fit is named."""

from __future__ import annotations

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
