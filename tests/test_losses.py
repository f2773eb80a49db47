"""Activations and losses: what MindSpore's Cells compute, and drawn ones."""

from __future__ import annotations

import inspect
import math
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops

RNG = np.random.default_rng(0)


def tensor(*shape: int) -> cw.Tensor:
    return cw.Tensor(RNG.standard_normal(shape))


def test_row_22_defaults_unlike_torch() -> None:
    assert nn.LeakyReLU().alpha == 0.2
    assert nn.SoftmaxCrossEntropyWithLogits().reduction == "none"
    assert nn.SmoothL1Loss().reduction == "none"
    defaults = {
        nn.PReLU: {"channel": 1, "w": 0.25}, nn.RReLU: {"lower": 1 / 8, "upper": 1 / 3},
        nn.HuberLoss: {"reduction": "mean", "delta": 1.0}, nn.HShrink: {"lambd": 0.5},
        nn.FocalLoss: {"weight": None, "gamma": 2.0, "reduction": "mean"},
        nn.TripletMarginLoss: {
            "p": 2, "swap": False, "eps": 1e-6, "reduction": "mean", "margin": 1.0},
        nn.MultiMarginLoss: {"p": 1, "margin": 1.0, "reduction": "mean", "weight": None},
    }  # fmt: skip
    for cell, expected in defaults.items():
        parameters = inspect.signature(cell).parameters
        assert {name: p.default for name, p in parameters.items()} == expected


def test_activations_by_name() -> None:
    for name in ("relu6", "hswish", "logsoftmax", "mish", "prelu", "softmax2d"):
        assert nn.get_activation(name)(tensor(2, 3, 4, 4)).shape == (2, 3, 4, 4)
    with pytest.raises(KeyError, match="no activation"):
        nn.get_activation("none of these")


def test_slopes_of_rrelu_are_drawn_from_its_range() -> None:
    cw.set_seed(1)
    below = -np.ones((50, 20))
    found = -nn.RReLU()(cw.Tensor(below)).asnumpy()
    assert 1 / 8 <= found.min() < found.max() <= 1 / 3
    assert len(np.unique(found)) > 900
    assert abs(found.mean() - 11 / 48) < 0.01


def test_gumbel_choices_follow_the_probabilities() -> None:
    cw.set_seed(2)
    logits = np.log(np.array([0.1, 0.2, 0.7]))
    rows = cw.Tensor(np.tile(logits, (4000, 1)))
    chosen = ops.gumbel_softmax(rows, tau=0.5, hard=True).asnumpy()
    np.testing.assert_allclose(chosen.sum(1), 1, rtol=1e-6)
    np.testing.assert_allclose(chosen.mean(0), [0.1, 0.2, 0.7], atol=0.03)
    grad = cw.grad(lambda x: ops.sum(ops.gumbel_softmax(x, 0.5, True) * cw.Tensor(logits)))(rows)
    assert np.isfinite(grad.asnumpy()).all()
    assert np.abs(grad.asnumpy()).max() > 0
    with pytest.raises(ValueError, match="tau"):
        ops.gumbel_softmax(rows, tau=0.0)


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 2)])
def test_focal_loss_is_its_formula(shape: tuple[int, ...]) -> None:
    logits = tensor(*shape)
    labels = RNG.integers(0, 3, (4, 1, *shape[2:]))
    weight = np.array([1.0, 0.5, 2.0])
    right = np.take_along_axis(softmax(logits.asnumpy()), labels, 1)
    losses = -weight[labels] * (1 - right) ** 2 * np.log(right)
    cell = nn.FocalLoss(cw.Tensor(weight))
    found = cell(logits, cw.Tensor(labels.astype(np.int32)))
    np.testing.assert_allclose(found.asnumpy(), losses.mean(), rtol=1e-6)
    shares = softmax(RNG.standard_normal(shape))
    probabilities = softmax(logits.asnumpy())
    expected = -shares * (1 - probabilities) ** 2 * np.log(probabilities)
    found = nn.FocalLoss()(logits, cw.Tensor(shares))
    np.testing.assert_allclose(found.asnumpy(), expected.mean(), rtol=1e-6)


def test_dice_of_classes_is_the_mean_of_each() -> None:
    logits, label = tensor(2, 3, 4), (RNG.random((2, 3, 4)) > 0.5).astype(float)
    shares = softmax(logits.asnumpy())

    def dice(x: np.ndarray, y: np.ndarray) -> float:
        return 1 - 2 * (x * y).sum() / ((x * x).sum() + (y * y).sum() + 1e-5)

    each = [dice(shares[:, c], label[:, c]) for c in range(3)]
    found = nn.MultiClassDiceLoss()(logits, cw.Tensor(label))
    np.testing.assert_allclose(found.asnumpy(), np.mean(each), rtol=1e-6)
    weights = np.array([1.0, 0.0, 3.0])
    cell = nn.MultiClassDiceLoss(cw.Tensor(weights), ignore_indiex=0)
    found = cell(logits, cw.Tensor(label))
    np.testing.assert_allclose(found.asnumpy(), 3 * each[2] / 3, rtol=1e-6)


def test_a_loss_of_ones_own_reduces_as_losses_do() -> None:
    class Cubed(nn.LossBase):
        def construct(self, logits: cw.Tensor, labels: cw.Tensor) -> cw.Tensor:
            return self.get_loss(ops.pow(logits - labels, 3), 2.0)

    x, y = cw.Tensor([1.0, 3.0]), cw.Tensor([0.0, 1.0])
    assert float(Cubed()(x, y)) == 9
    assert float(Cubed("sum")(x, y)) == 18
    np.testing.assert_array_equal(Cubed("none")(x, y).asnumpy(), [2, 16])
    assert Cubed().get_axis(x) == (0,)


def test_one_example_alone_has_a_loss() -> None:
    logits = tensor(4)
    expected = ops.cross_entropy(ops.expand_dims(logits, 0), cw.Tensor([2]))
    for word in ("mean", "none"):
        found = ops.cross_entropy(logits, cw.Tensor(2), reduction=word)
        assert found.shape == ()
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-12)


def ctc(x: cw.Tensor, **options: Any) -> cw.Tensor:
    labels = np.array([[1, 1], [1, 2]])
    logs = ops.log_softmax(x, 2)
    return ops.ctc_loss(logs, labels, np.array([2, 2]), np.array([2, 2]), **options)[0]


def test_labels_that_do_not_fit_their_sequence() -> None:
    # Two equal labels need a blank between them: three steps.
    x = tensor(2, 2, 3)
    assert math.isinf(float(ctc(x, reduction="none")[0]))
    losses = ctc(x, reduction="none", zero_infinity=True).asnumpy()
    assert losses[0] == 0 < losses[1]
    grad = cw.grad(lambda v: ctc(v, zero_infinity=True))(x).asnumpy()
    assert np.isfinite(grad).all()
    assert not grad[:, 0].any()
    assert grad[:, 1].any()


def test_ctc_says_what_is_wrong() -> None:
    x, lengths = tensor(3, 1, 3), np.array([3])
    with pytest.raises(ValueError, match="other than the blank"):
        ops.ctc_loss(x, np.array([[0]]), lengths, np.array([1]))
    with pytest.raises(ValueError, match="input_lengths must be"):
        ops.ctc_loss(x, np.array([[1]]), np.array([4]), np.array([1]))
    with pytest.raises(ValueError, match=r"\[t, n, classes\]"):
        ops.ctc_loss(x[0], np.array([[1]]), lengths, np.array([1]))


def test_complaint_14_a_second_derivative_that_is_not_there_raises() -> None:
    def slope(v: cw.Tensor) -> cw.Tensor:
        return ops.sum(ops.square(cw.grad(lambda w: ctc(w, zero_infinity=True))(v)))

    with pytest.raises(NotImplementedError, match="first derivative alone"):
        cw.grad(slope)(tensor(2, 2, 3))


@pytest.mark.parametrize("name", ["SmoothL1Loss", "BCELoss", "KLDivLoss", "CTCLoss"])
def test_other_reductions_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="reduction must be"):
        getattr(nn, name)(reduction="average")


def test_sampled_softmax_of_all_classes_is_softmax() -> None:
    weights, biases, inputs = tensor(6, 3), tensor(6), tensor(4, 3)
    labels = np.array([[1], [5], [0], [2]], np.int32)
    every = (cw.Tensor(np.arange(6)), cw.Tensor(np.ones((4, 1))), cw.Tensor(np.ones(6)))
    cell = nn.SampledSoftmaxLoss(6, 6, sampled_values=every, reduction="mean")
    found = cell(weights, biases, cw.Tensor(labels), inputs)
    logits = ops.dense(inputs, weights, biases)
    expected = ops.cross_entropy(logits, cw.Tensor(labels[:, 0]))
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-6)
    drawn = nn.SampledSoftmaxLoss(3, 6, seed=1)(weights, biases, cw.Tensor(labels), inputs)
    assert drawn.shape == (4,)
    assert np.isfinite(drawn.asnumpy()).all()


def test_small_classes_are_drawn_more_often() -> None:
    cw.set_seed(3)
    labels = cw.Tensor(np.array([[0]]))
    sampled, of_right, of_drawn = ops.log_uniform_candidate_sampler(labels, 1, 4000, False, 9)
    share = np.bincount(sampled.asnumpy(), minlength=9) / 4000
    expected = np.log((np.arange(9) + 2) / (np.arange(9) + 1)) / np.log(10)
    np.testing.assert_allclose(share, expected, atol=0.03)
    np.testing.assert_allclose(of_right.asnumpy(), [[expected[0] * 4000]], rtol=1e-5)
    np.testing.assert_allclose(of_drawn.asnumpy(), expected[sampled.asnumpy()] * 4000, rtol=1e-5)
    unique = ops.log_uniform_candidate_sampler(labels, 1, 9, True, 9)[0]
    assert sorted(unique.asnumpy().tolist()) == list(range(9))
    with pytest.raises(ValueError, match="cannot be drawn"):
        ops.log_uniform_candidate_sampler(labels, 1, 10, True, 9)
