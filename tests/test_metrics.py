"""Metrics: values by hand, batches that add up, names, and mistakes."""

from __future__ import annotations

from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import train

SCORES = np.array([[0.2, 0.5, 0.3], [0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.4, 0.5, 0.1]], np.float32)
LABELS = np.array([1, 0, 1, 2], np.int32)
ONE_HOT = np.eye(3, dtype=np.int32)[LABELS]


def in_two_batches(metric: train.Metric, *arrays: Any) -> Any:
    for rows in (slice(0, 3), slice(3, None)):
        metric.update(*[cw.Tensor(array[rows]) for array in arrays])
    return metric.eval()


def test_accuracy_counts_examples() -> None:
    assert in_two_batches(train.Accuracy(), SCORES, LABELS) == 0.5
    assert in_two_batches(train.Accuracy("classification"), SCORES, ONE_HOT) == 0.5
    said = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
    assert in_two_batches(train.Accuracy("multilabel"), said, np.roll(said, 1, 0)) == 0.0
    assert in_two_batches(train.Accuracy("multilabel"), said, said) == 1.0


def test_precision_recall_and_their_means() -> None:
    np.testing.assert_allclose(in_two_batches(train.Precision(), SCORES, LABELS), [1, 0.5, 0])
    np.testing.assert_allclose(in_two_batches(train.Recall(), SCORES, LABELS), [1, 0.5, 0])
    assert train.Precision()(SCORES, LABELS).tolist() == pytest.approx([1, 0.5, 0])
    metric = train.Recall("classification")
    metric.update(SCORES, LABELS)
    assert metric.eval(average=True) == pytest.approx(0.5)
    # class 1: one of two said, one of two there
    np.testing.assert_allclose(train.F1()(SCORES, LABELS), [1, 0.5, 0])
    said, there = np.array([[1, 1], [1, 0]]), np.array([[1, 0], [1, 0]])
    np.testing.assert_allclose(train.Precision("multilabel")(said, there), [1, 0])
    skewed = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    half = train.Fbeta(0.5)(skewed, np.array([0, 1, 1]))
    # class 0: precision 1/2, recall 1; class 1: precision 1, recall 1/2
    np.testing.assert_allclose(half, [1.25 * 0.5 / (0.125 + 1), 1.25 * 0.5 / (0.25 + 0.5)])


def test_the_label_among_the_largest_scores() -> None:
    assert train.TopKCategoricalAccuracy(2)(SCORES, LABELS) == 0.5
    assert train.TopKCategoricalAccuracy(3)(SCORES, ONE_HOT) == 1.0
    assert train.Top1CategoricalAccuracy()(SCORES, LABELS) == 0.5
    assert in_two_batches(train.Top5CategoricalAccuracy(), SCORES, LABELS) == 1.0


def test_losses_and_errors_are_averaged() -> None:
    loss = train.Loss()
    loss.update(cw.Tensor(1.0))
    loss.update(cw.Tensor([3.0]))
    assert loss.eval() == 2.0
    predicted, wanted = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 4.0]])
    assert train.MAE()(predicted, wanted) == 2.5
    assert train.MSE()(predicted, wanted) == 6.5
    shares = np.array([[[0.5, 0.5], [0.25, 0.75]]])
    labels = np.array([[0, 1]])
    assert train.Perplexity()(shares, labels) == pytest.approx((1 / (0.5 * 0.75)) ** 0.5)
    assert train.Perplexity(ignore_label=1)(shares, labels) == pytest.approx(2.0)


def test_likeness_of_rows() -> None:
    rows = np.array([[1.0, 0.0], [3.0, 3.0], [0.0, 2.0]])
    root = 0.5**0.5
    expected = [[0, root, 0], [root, 0, root], [0, root, 0]]
    np.testing.assert_allclose(train.CosineSimilarity()(rows), expected, atol=1e-12)
    summed = train.CosineSimilarity(similarity="dot", reduction="sum", zero_diagonal=False)(rows)
    np.testing.assert_allclose(summed, [4, 27, 10])


def test_regions_that_cover_each_other() -> None:
    assert train.Dice()(np.eye(3), np.eye(3)) == pytest.approx(1.0, abs=1e-5)
    assert train.Dice()(np.eye(2), np.ones((2, 2))) == pytest.approx(2 * 2 / 6, abs=1e-5)
    one, other = np.zeros((6, 6), int), np.zeros((6, 6), int)
    one[1, 1] = other[4, 5] = 1
    assert train.HausdorffDistance()(one, other, 1) == pytest.approx(5.0)
    assert train.HausdorffDistance("taxicab")(one, other, 1) == 7.0
    assert train.HausdorffDistance("chessboard", directed=True)(one, other, 1) == 4.0
    other[1, 1] = 1
    assert train.HausdorffDistance(directed=True)(one, other, 1) == 0.0
    assert train.HausdorffDistance(directed=True)(other, one, 1) == 5.0
    assert train.HausdorffDistance(percentile=50, directed=True)(other, one, 1) == 2.5
    assert np.isnan(train.HausdorffDistance(directed=True)(one, other, 7))


def test_which_classes_are_taken_for_which() -> None:
    said, there = np.array([1, 0, 1, 1]), np.array([1, 0, 0, 1])
    expected = np.array([[1, 1], [0, 2]])
    np.testing.assert_array_equal(in_two_batches(train.ConfusionMatrix(2), said, there), expected)
    for normalize, sums in (("target", [[2], [2]]), ("prediction", [[1, 3]]), ("all", 4)):
        metric = train.ConfusionMatrix(2, normalize)
        np.testing.assert_allclose(metric(said, there), expected / np.array(sums))
    shares = np.array([0.6, 0.1, 0.7, 0.9], np.float32)
    np.testing.assert_array_equal(train.ConfusionMatrix(2)(shares, there), expected)
    np.testing.assert_array_equal(
        train.ConfusionMatrix(3)(SCORES, LABELS), [[1, 0, 0], [0, 1, 1], [0, 1, 0]]
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sensitivity", 2 / 3), ("specificity", 1 / 2), ("ppv", 2 / 3), ("npv", 1 / 2),
        ("miss_rate", 1 / 3), ("fall out", 1 / 2), ("fdr", 1 / 3), ("for", 1 / 2),
        ("threat score", 2 / 4), ("accuracy", 3 / 5), ("balanced accuracy", 7 / 12),
        ("f1", 4 / 6), ("mcc", (2 * 1 - 1 * 1) / 6), ("fm", 2 / 3), ("informedness", 1 / 6),
        ("markedness", 1 / 6), ("pt", ((2 / 3 * 0.5) ** 0.5 - 0.5) / (2 / 3 - 0.5)),
    ],
)  # fmt: skip
def test_shares_of_right_and_wrong(name: str, expected: float) -> None:
    # two true positives, one false positive, one true negative, one false negative
    said = np.array([[[1, 1, 1, 0, 0]]])
    there = np.array([[[1, 1, 0, 0, 1]]])
    metric = train.ConfusionMatrixMetric(skip_channel=False, metric_name=name)
    assert metric(said, there) == pytest.approx(expected)


def test_shares_of_examples_and_channels() -> None:
    said = np.array([[[1, 1], [1, 0]], [[0, 0], [1, 1]]])
    there = np.array([[[1, 0], [1, 1]], [[1, 1], [1, 0]]])
    kept = train.ConfusionMatrixMetric(False, "sensitivity", True, "none")(said, there)
    np.testing.assert_allclose(kept, [[1, 0.5], [0, 1]])
    assert train.ConfusionMatrixMetric(True, "recall", True, "mean")(said, there) == 0.75
    by_class = train.ConfusionMatrixMetric(False, "recall", False, "mean_batch")(said, there)
    np.testing.assert_allclose(by_class, [1 / 3, 2 / 3])


def test_hits_against_false_alarms_and_the_area_under_them() -> None:
    scores = np.array([0.1, 0.4, 0.35, 0.8], np.float32)
    alarms, hits, thresholds = in_two_batches(train.ROC(), scores, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(alarms, [0, 0, 0.5, 0.5, 1])
    np.testing.assert_allclose(hits, [0, 0.5, 0.5, 1, 1])
    np.testing.assert_allclose(thresholds, [1.8, 0.8, 0.4, 0.35, 0.1], rtol=1e-6)
    assert train.auc(alarms, hits) == 0.75
    assert train.auc(alarms[::-1], hits[::-1]) == 0.75
    assert train.auc([0.5, 0.0, 1.0], [0.5, 0.0, 1.0], reorder=True) == 0.5
    curves = train.ROC(class_num=3)(SCORES, LABELS)
    assert [len(part) for part in curves] == [3, 3, 3]
    assert train.auc(curves[0][0], curves[1][0]) == 1.0
    turned = train.ROC(pos_label=0)(1 - scores, np.array([0, 0, 1, 1]))
    assert train.auc(turned[0], turned[1]) == 0.75


def test_metrics_have_names() -> None:
    assert {"accuracy", "acc", "F1", "loss", "mae", "roc_curve", "top_1_accuracy"} <= set(
        train.names()
    )
    metric = train.get_metric_fn("precision", eval_type="multilabel")
    assert isinstance(metric, train.Precision)
    with pytest.raises(KeyError, match="no metric"):
        train.get_metric_fn("speed")


def test_a_metric_of_ones_own_and_chosen_inputs() -> None:
    class Sum(train.Metric):
        def clear(self) -> None:
            self.total = 0.0

        @train.rearrange_inputs
        def update(self, *inputs: Any) -> None:
            self.total += float(np.sum(inputs[0])) - float(np.sum(inputs[1]))

        def eval(self) -> float:
            return self.total

    metric = Sum().set_indexes([2, 0])
    assert metric([1.0], [5.0], [3.0, 1.0]) == 3.0
    assert metric.indexes == [2, 0]
    with pytest.raises(ValueError, match="ints"):
        metric.set_indexes("01")


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: train.Accuracy("many"), TypeError),
        (lambda: train.Accuracy()(SCORES), ValueError),
        (lambda: train.Accuracy()(SCORES, LABELS[:2]), ValueError),
        (lambda: train.Accuracy("multilabel")(SCORES, SCORES), ValueError),
        (lambda: train.Accuracy().eval(), RuntimeError),
        (lambda: train.Precision()(SCORES, LABELS + 2), ValueError),
        (lambda: train.Loss()(SCORES), ValueError),
        (lambda: train.MSE()(SCORES, LABELS), ValueError),
        (lambda: train.TopKCategoricalAccuracy(0), ValueError),
        (lambda: train.TopKCategoricalAccuracy(1.5), TypeError),
        (lambda: train.Fbeta(0), ValueError),
        (lambda: train.ConfusionMatrix(2, "rows"), ValueError),
        (lambda: train.ConfusionMatrix(2)(LABELS, LABELS), ValueError),
        (lambda: train.ConfusionMatrix(2)(np.array([2]), np.array([0])), ValueError),
        (lambda: train.Recall()(SCORES, LABELS - 1), ValueError),
        (lambda: train.ConfusionMatrixMetric(metric_name="speed"), ValueError),
        (lambda: train.HausdorffDistance("miles"), ValueError),
        (lambda: train.CosineSimilarity("angle"), ValueError),
        (lambda: train.ROC()(SCORES, LABELS), ValueError),
        (lambda: train.auc([0, 1, 0.5], [0, 1, 1]), ValueError),
        (lambda: train.MAE()("a", "b"), TypeError),
    ],
)
def test_mistakes_are_named(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_metrics_stand_among_the_cells_too() -> None:
    assert cw.nn.Loss is train.Loss
    assert cw.nn.Top1CategoricalAccuracy is train.Top1CategoricalAccuracy
    with pytest.raises(AttributeError, match="no 'Lossy'"):
        cw.nn.Lossy  # noqa: B018
