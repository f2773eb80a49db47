"""Other names of ops are the same functions, and MindSpore's own primitives agree with the ops."""

from __future__ import annotations

import cellwire as cw
import numpy as np
import pytest
from cellwire import ops

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)
LABELS = np.array([2, 0], np.int32)


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ("gt", "greater"), ("ge", "greater_equal"), ("lt", "less"), ("le", "less_equal"),
        ("eq", "equal"), ("ne", "not_equal"), ("inv", "reciprocal"), ("clip", "clamp"),
        ("absolute", "abs"), ("multiply", "mul"), ("subtract", "sub"), ("negative", "neg"),
        ("true_divide", "div"), ("floor_divide", "floor_div"), ("sgn", "sign"), ("cat", "concat"),
    ],
)  # fmt: skip
def test_other_names_are_the_same_functions(other: str, name: str) -> None:
    assert getattr(ops, other) is getattr(ops, name)
    assert other in ops.__all__


def test_l2_loss_is_half_the_sum_of_squares() -> None:
    assert float(ops.L2Loss()(cw.Tensor(X))) == pytest.approx(float((X**2).sum()) / 2)


def test_cross_entropy_primitives_give_loss_and_gradient() -> None:
    logits, hits = cw.Tensor(X), cw.Tensor(np.eye(3, dtype=np.float32)[LABELS])
    loss, gradient = ops.SoftmaxCrossEntropyWithLogits()(logits, hits)
    rows = ops.cross_entropy(logits, cw.Tensor(LABELS), reduction="none")
    np.testing.assert_allclose(loss.asnumpy(), rows.asnumpy(), rtol=1e-6)
    derived = cw.grad(lambda x: ops.SoftmaxCrossEntropyWithLogits()(x, hits)[0].sum())(logits)
    np.testing.assert_allclose(gradient.asnumpy(), derived.asnumpy(), atol=1e-6)
    mean = ops.SparseSoftmaxCrossEntropyWithLogits()(logits, cw.Tensor(LABELS))
    assert float(mean) == pytest.approx(float(loss.mean()))
    sparse = ops.SparseSoftmaxCrossEntropyWithLogits(is_grad=True)(logits, cw.Tensor(LABELS))
    np.testing.assert_allclose(sparse.asnumpy(), gradient.asnumpy() / 2, atol=1e-7)


def test_extrema_come_with_their_places() -> None:
    places, values = ops.ArgMaxWithValue(1, keep_dims=True)(cw.Tensor(X))
    assert (places.asnumpy().tolist(), values.asnumpy().tolist()) == ([[2], [1]], [[3.0], [4.0]])
    places, values = ops.ArgMinWithValue()(cw.Tensor(X))
    assert (places.asnumpy().tolist(), values.asnumpy().tolist()) == ([1, 0, 1], [0.5, -2.0, -1.0])
