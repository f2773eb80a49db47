"""Layers and losses give PyTorch's values and gradients in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops

torch = pytest.importorskip("torch")
tnn = torch.nn
RNG = np.random.default_rng(7)
IMAGE = RNG.standard_normal((2, 4, 7, 6)).astype(np.float32)
ROWS = RNG.standard_normal((5, 6)).astype(np.float32)


def check(cell: Any, peer: Any, names: dict[str, str], *arrays: np.ndarray) -> None:
    """Give `peer` the Cell's weights; compare values, input gradients and weight gradients."""
    with torch.no_grad():
        for own, other in names.items():
            getattr(peer, other).copy_(torch.from_numpy(getattr(cell, own).data))
    first, *rest = arrays
    x = torch.from_numpy(first).requires_grad_(True)
    expected = peer(x, *(torch.from_numpy(array) for array in rest))
    scale = RNG.standard_normal(tuple(expected.shape)).astype(np.float32)
    (expected * torch.from_numpy(scale)).sum().backward()

    def weighed(x: cw.Tensor) -> tuple[cw.Tensor, cw.Tensor]:
        out = cell(x, *(cw.Tensor(array) for array in rest))
        return ops.sum(out * cw.Tensor(scale)), out

    weights = tuple(getattr(cell, own) for own in names)
    derive = cw.value_and_grad(weighed, 0, weights, has_aux=True)
    (_, out), (dx, dweights) = derive(cw.Tensor(first))
    np.testing.assert_allclose(out.data, expected.detach().numpy(), rtol=2e-4, atol=2e-5)
    assert x.grad is not None
    np.testing.assert_allclose(dx.data, x.grad.numpy(), rtol=2e-3, atol=1e-4)
    for own, other, grad in zip(names, names.values(), dweights, strict=True):
        peers = getattr(peer, other).grad.numpy()
        np.testing.assert_allclose(grad.data, peers, rtol=2e-3, atol=2e-4, err_msg=own)


WEIGHTS = {"weight": "weight", "bias": "bias"}
NORM = {"gamma": "weight", "beta": "bias"}


@pytest.mark.parametrize(
    ("cell", "peer", "names", "array"),
    [
        (nn.Dense(6, 3), tnn.Linear(6, 3), WEIGHTS, ROWS),
        (nn.Dense(6, 3, has_bias=False), tnn.Linear(6, 3, bias=False), {"weight": "weight"}, ROWS),
        (
            nn.Conv2d(4, 6, 3, has_bias=True),
            tnn.Conv2d(4, 6, 3, padding="same"),
            WEIGHTS,
            IMAGE,
        ),
        (
            nn.Conv2d(4, 6, (3, 2), 2, "pad", (1, 1, 2, 2), group=2, has_bias=True),
            tnn.Conv2d(4, 6, (3, 2), 2, padding=(1, 2), groups=2),
            WEIGHTS,
            IMAGE,
        ),
        (
            nn.Conv2d(4, 2, 3, pad_mode="valid", dilation=2),
            tnn.Conv2d(4, 2, 3, dilation=2, bias=False),
            {"weight": "weight"},
            IMAGE,
        ),
        (nn.LayerNorm((6,), epsilon=1e-5), tnn.LayerNorm(6), NORM, ROWS),
        (
            nn.LayerNorm((7, 6), begin_norm_axis=2, begin_params_axis=2, epsilon=1e-5),
            tnn.LayerNorm((7, 6)),
            NORM,
            IMAGE,
        ),
        (nn.BatchNorm2d(4).set_train(), tnn.BatchNorm2d(4), NORM, IMAGE),
        (nn.BatchNorm2d(4), tnn.BatchNorm2d(4).eval(), NORM, IMAGE),
        (nn.BatchNorm1d(6).set_train(), tnn.BatchNorm1d(6), NORM, ROWS),
        (nn.MaxPool2d(3, 2), tnn.MaxPool2d(3, 2), {}, IMAGE),
        (nn.AvgPool2d(2, 2), tnn.AvgPool2d(2, 2), {}, IMAGE),
        (
            nn.AvgPool2d(3, 2, "pad", 1, count_include_pad=False),
            tnn.AvgPool2d(3, 2, 1, count_include_pad=False),
            {},
            IMAGE,
        ),
        (nn.Flatten(), tnn.Flatten(), {}, IMAGE),
        (nn.ReLU(), tnn.ReLU(), {}, ROWS),
        (nn.LeakyReLU(), tnn.LeakyReLU(0.2), {}, ROWS),
        (nn.GELU(), tnn.GELU("tanh"), {}, ROWS),
        (nn.GELU(approximate=False), tnn.GELU(), {}, ROWS),
        (nn.SiLU(), tnn.SiLU(), {}, ROWS),
        (nn.Sigmoid(), tnn.Sigmoid(), {}, ROWS),
        (nn.Tanh(), tnn.Tanh(), {}, ROWS),
        (nn.ELU(), tnn.ELU(), {}, ROWS),
        (nn.Softplus(), tnn.Softplus(), {}, ROWS),
        (nn.Softmax(), tnn.Softmax(-1), {}, ROWS),
        (nn.LogSoftmax(0), tnn.LogSoftmax(0), {}, ROWS),
        (nn.Identity(), tnn.Identity(), {}, ROWS),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Cell) else "",
)
def test_layers(cell: nn.Cell, peer: Any, names: dict[str, str], array: np.ndarray) -> None:
    check(cell, peer, names, array)


LABELS = np.array([0, 5, 2, 2, 1], np.int64)
TARGETS = RNG.random((5, 6)).astype(np.float32)
CLASS_WEIGHTS = RNG.random(6).astype(np.float32)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    ("cell", "peer", "labels"),
    [
        (nn.MSELoss, tnn.MSELoss, TARGETS),
        (nn.L1Loss, tnn.L1Loss, TARGETS),
        (nn.MAELoss, tnn.L1Loss, TARGETS),
        (nn.BCEWithLogitsLoss, tnn.BCEWithLogitsLoss, TARGETS),
        (nn.CrossEntropyLoss, tnn.CrossEntropyLoss, LABELS),
        (nn.CrossEntropyLoss, tnn.CrossEntropyLoss, TARGETS),
        (
            lambda reduction: nn.CrossEntropyLoss(cw.Tensor(CLASS_WEIGHTS), 2, reduction, 0.1),
            lambda reduction: tnn.CrossEntropyLoss(
                torch.from_numpy(CLASS_WEIGHTS), ignore_index=2, reduction=reduction,
                label_smoothing=0.1,
            ),
            LABELS,
        ),
        (nn.NLLLoss, tnn.NLLLoss, LABELS),
        (
            lambda reduction: nn.SoftmaxCrossEntropyWithLogits(True, reduction),
            tnn.CrossEntropyLoss,
            LABELS,
        ),
    ],
)  # fmt: skip
def test_losses(
    cell: Callable[..., nn.Cell], peer: Callable[..., Any], labels: np.ndarray, reduction: str
) -> None:
    check(cell(reduction=reduction), peer(reduction=reduction), {}, ROWS, labels)


def test_running_statistics_move_as_torchs_do() -> None:
    cell, peer = nn.BatchNorm2d(4).set_train(), tnn.BatchNorm2d(4)
    for _ in range(2):
        cell(cw.Tensor(IMAGE))
        peer(torch.from_numpy(IMAGE))
    mean, var = peer.running_mean, peer.running_var
    assert mean is not None
    assert var is not None
    np.testing.assert_allclose(cell.moving_mean.data, mean.numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(cell.moving_variance.data, var.numpy(), rtol=1e-4)


def test_embedding() -> None:
    cell, peer = nn.Embedding(9, 3), tnn.Embedding(9, 3)
    with torch.no_grad():
        peer.weight.copy_(torch.from_numpy(cell.embedding_table.data))
    numbers = np.array([[1, 8], [1, 0]])
    expected = peer(torch.from_numpy(numbers))
    expected.square().sum().backward()
    loss = cw.value_and_grad(lambda x: ops.sum(ops.square(cell(x))), None, cell.trainable_params())
    _, (grad,) = loss(cw.Tensor(numbers))
    np.testing.assert_array_equal(cell(cw.Tensor(numbers)).data, expected.detach().numpy())
    np.testing.assert_allclose(grad.data, peer.weight.grad.numpy(), rtol=1e-5)
    one_hot = nn.Embedding(9, 3, use_one_hot=True, embedding_table=cell.embedding_table)
    np.testing.assert_allclose(one_hot(cw.Tensor(numbers)).data, expected.detach().numpy())
