"""Saved training: the pair of files fits together whatever happens between the two writes."""

import os
from pathlib import Path

import numpy as np
import pytest
from cellwire.engine.run import state
from cellwire.engine.run.settings import (
    TrainingData,
    TrainingError,
    TrainingSettings,
    batch_rows,
    epoch_order,
    rate_at,
    steps_per_epoch,
    take,
)
from cellwire.engine.run.state import read_pair, state_path, weights_path, write_pair


def save(base: Path, value: float) -> None:
    array = np.full(3, value, np.float32)
    write_pair(base, {"dense.weight": array}, {"dense.weight:moment": array}, {"step": str(value)})


def test_a_pair_is_read_back_as_written(tmp_path: Path) -> None:
    save(tmp_path / "runs" / "a", 1.0)
    weights, moments, metadata = read_pair(tmp_path / "runs" / "a")
    np.testing.assert_array_equal(weights["dense.weight"], np.ones(3, np.float32))
    np.testing.assert_array_equal(moments["dense.weight:moment"], np.ones(3, np.float32))
    assert metadata["step"] == "1.0"
    assert sorted(p.name for p in (tmp_path / "runs").iterdir()) == [
        "a.safetensors",
        "a.state.safetensors",
    ]


def test_saved_files_have_the_rights_of_new_files(tmp_path: Path) -> None:
    save(tmp_path / "a", 1.0)
    (tmp_path / "other").write_text("")
    usual = (tmp_path / "other").stat().st_mode
    assert weights_path(tmp_path / "a").stat().st_mode == usual
    assert state_path(tmp_path / "a").stat().st_mode == usual


@pytest.mark.parametrize("replaced", [0, 1])
def test_a_crash_between_the_files_leaves_the_last_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: int
) -> None:
    save(tmp_path / "a", 1.0)
    calls = iter(range(9))
    replace = os.replace

    def crash(source: Path, target: Path) -> None:
        if next(calls) == replaced:
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(state.os, "replace", crash)
        with pytest.raises(KeyboardInterrupt):
            save(tmp_path / "a", 2.0)
    weights, _, metadata = read_pair(tmp_path / "a")
    assert metadata["step"] == "1.0"
    assert weights["dense.weight"][0] == 1.0
    assert weights_path(tmp_path / "a").exists()


def test_files_of_different_saves_are_refused(tmp_path: Path) -> None:
    save(tmp_path / "a", 1.0)
    save(tmp_path / "b", 2.0)
    os.replace(weights_path(tmp_path / "b"), weights_path(tmp_path / "a"))
    with pytest.raises(TrainingError, match="were not saved together"):
        read_pair(tmp_path / "a")


def test_missing_and_damaged_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="does not exist"):
        read_pair(tmp_path / "none")
    state_path(tmp_path / "a").write_bytes(b"no tensors")
    with pytest.raises(TrainingError, match="is damaged"):
        read_pair(tmp_path / "a")


def test_every_example_comes_once_an_epoch_and_the_order_is_the_seeds() -> None:
    settings = TrainingSettings(batch_size=4, seed=3)
    assert steps_per_epoch(settings, 10) == 3
    epochs = [epoch_order(settings, 10, epoch) for epoch in (0, 1)]
    for order in epochs:
        rows = np.concatenate([batch_rows(settings, order, at) for at in range(3)])
        assert sorted(rows) == list(range(10))
    assert list(epochs[0]) != list(epochs[1])
    np.testing.assert_array_equal(epoch_order(settings, 10, 1), epochs[1])
    unshuffled = TrainingSettings(batch_size=4, shuffle=False)
    np.testing.assert_array_equal(
        batch_rows(unshuffled, epoch_order(unshuffled, 10, 5), 1), [4, 5, 6, 7]
    )


def test_overfitting_repeats_one_batch() -> None:
    settings = TrainingSettings(batch_size=4, overfit_one_batch=True)
    assert steps_per_epoch(settings, 10) == 1
    first = batch_rows(settings, epoch_order(settings, 10, 0), 0)
    np.testing.assert_array_equal(batch_rows(settings, epoch_order(settings, 10, 7), 0), first)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [("constant", [1, 1, 1]), ("cosine", [1, 0.5, 0]), ("step", [1, 0.1, 0.001])],
)
def test_schedules(schedule: str, rates: list[float]) -> None:
    settings = TrainingSettings(learning_rate=1.0, schedule=schedule)  # pyright: ignore[reportArgumentType]
    assert [rate_at(settings, step, 6) for step in (0, 3, 6)] == pytest.approx(rates)


def test_data_must_have_examples_and_equal_columns() -> None:
    with pytest.raises(TrainingError, match="no examples"):
        TrainingData({"data": {"x": np.zeros((0, 2))}})
    with pytest.raises(TrainingError, match=r"data\.x has 3, data\.y has 2"):
        TrainingData({"data": {"x": np.zeros((3, 2)), "y": np.zeros(2)}})
    batch = take({"data": {"x": np.arange(5), "y": np.arange(5) * 10}}, np.array([4, 0]))
    assert batch["data"]["y"].tolist() == [40, 0]
