"""Layers where they are MindSpore's own: defaults, modes, initial values, mistakes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn
from cellwire.engine.compiler import abstract_eval
from cellwire.engine.shape import Aval, SymDim


def default(cell: type, name: str) -> object:
    return inspect.signature(cell).parameters[name].default


def test_row_22_defaults_are_not_torchs() -> None:
    assert default(nn.Conv2d, "pad_mode") == "same"
    assert default(nn.Conv2d, "has_bias") is False
    assert default(nn.BatchNorm2d, "momentum") == 0.9
    assert default(nn.LayerNorm, "epsilon") == 1e-7
    assert default(nn.LeakyReLU, "alpha") == 0.2
    assert default(nn.MaxPool2d, "kernel_size") == default(nn.MaxPool2d, "stride") == 1
    assert default(nn.SGD, "learning_rate") == 0.1
    assert default(nn.SoftmaxCrossEntropyWithLogits, "reduction") == "none"
    with pytest.raises(TypeError):
        nn.Dense(100)  # pyright: ignore[reportCallIssue]


def test_dropout_drops_in_training_only_and_by_the_seed() -> None:
    cell, x = nn.Dropout(p=0.25), cw.Tensor(np.ones((100, 100), np.float32))
    np.testing.assert_array_equal(cell(x).data, x.data)
    cell.set_train()
    cw.set_seed(1)
    first = cell(x).data
    cw.set_seed(1)
    np.testing.assert_array_equal(cell(x).data, first)
    assert set(np.unique(first)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((first == 0).mean() - 0.25) < 0.02


def test_initial_values_depend_on_the_seed_alone_not_on_when_they_are_read() -> None:
    cw.set_seed(3)
    first = nn.Dense(3, 4)
    cw.set_seed(3)
    second = nn.Dense(3, 4)
    _ = second.bias.data
    np.testing.assert_array_equal(first.weight.data, second.weight.data)
    np.testing.assert_array_equal(first.bias.data, second.bias.data)
    assert not np.array_equal(nn.Dense(3, 4).weight.data, first.weight.data)


@pytest.mark.parametrize(
    ("name", "low", "high", "deviation"),
    [
        ("zeros", 0, 0, 0),
        ("ones", 1, 1, 0),
        ("normal", -0.06, 0.06, 0.01),
        ("uniform", -0.07, 0.07, 0.07 / 3**0.5),
        ("TruncatedNormal", -0.02, 0.02, 0.0088),
        ("XavierUniform", -((6 / 300) ** 0.5), (6 / 300) ** 0.5, (2 / 300) ** 0.5),
        ("HeUniform", -((6 / 200) ** 0.5), (6 / 200) ** 0.5, (2 / 200) ** 0.5),
        (0.5, 0.5, 0.5, 0),
    ],
)
def test_initializers(name: str | float, low: float, high: float, deviation: float) -> None:
    values = cw.initializer.initializer(name, (100, 200), cw.float32).data
    assert values.dtype == np.float32
    assert values.min() >= low - 1e-6
    assert values.max() <= high + 1e-6
    assert abs(values.std() - deviation) <= 0.03 * deviation


def test_building_a_layer_draws_nothing() -> None:
    dense = nn.Dense(4096, 4096)
    assert not dense.weight.is_made
    out = abstract_eval(dense, Aval((SymDim("N"), 4096), cw.float32))
    assert str(out) == "N×4096 f32"
    assert not dense.weight.is_made


def test_padding_index_starts_as_zeros() -> None:
    table = nn.Embedding(4, 3, padding_idx=1).embedding_table.data
    assert not table[1].any()
    assert table[0].any()


def test_layer_norm_of_the_last_axis_of_two() -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    out = nn.LayerNorm((3, 4))(cw.Tensor(x)).data
    centred = x - x.mean(-1, keepdims=True)
    np.testing.assert_allclose(out, centred / x.std(-1, keepdims=True), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.Dense(0, 3), ValueError),
        (lambda: nn.Dense(3, 2.5), TypeError),
        (lambda: nn.Conv2d(3, 4, 3, group=2), ValueError),
        (lambda: nn.Conv2d(3, 4, 3, padding=1), ValueError),
        (lambda: nn.BatchNorm2d(3, momentum=2.0), ValueError),
        (lambda: nn.Dropout(p=1.5), ValueError),
        (lambda: nn.Embedding(3, 2, padding_idx=3), ValueError),
        (lambda: nn.MSELoss("most"), ValueError),
        (lambda: nn.Dense(3, 2, weight_init="nothing"), ValueError),
        (lambda: nn.Dense(3, 2, activation="nothing"), KeyError),
        (lambda: nn.BatchNorm2d(3)(cw.Tensor(np.ones((2, 3), np.float32))), ValueError),
        (lambda: nn.Dense(3, 2)(cw.Tensor(np.ones((2, 4), np.float32))), ValueError),
    ],
)
def test_mistakes_are_named(make: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_python_can_suggest_a_cells_right_name() -> None:
    with pytest.raises(AttributeError, match=r"cellwire\.nn has no 'Conv2D'") as caught:
        _ = nn.Conv2D
    assert caught.value.name == "Conv2D"
    assert "Conv2d" in dir(caught.value.obj)


def test_identity_gives_tuples_back_as_they_are() -> None:
    pair: Any = (cw.Tensor([1.0]), cw.Tensor([2.0, 3.0]))
    for run in (nn.Identity(), cw.jit(nn.Identity())):
        assert [item.shape for item in run(pair)] == [(1,), (2,)]
