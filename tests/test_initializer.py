"""Initializers: their statistics, their names, and that the seed alone decides them."""

from __future__ import annotations

import math
from collections.abc import Callable

import cellwire as cw
import numpy as np
import pytest
from cellwire.common import initializer as init
from cellwire.common.initializer import Initializer, initializer
from scipy import stats

SHAPE = (120, 80, 1, 3)  # fan_in 240, fan_out 360


def draw(kind: str | Initializer | float, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    cw.set_seed(7)
    values = initializer(kind, shape, cw.float64).asnumpy()
    assert values.shape == shape
    assert values.dtype == np.float64
    return values


def is_uniform(values: np.ndarray, bound: float) -> bool:
    return stats.kstest(values.ravel() / bound, "uniform", (-1, 2)).pvalue > 0.01


def is_normal(values: np.ndarray, deviation: float) -> bool:
    return stats.kstest(values.ravel() / deviation, "norm").pvalue > 0.01


@pytest.mark.parametrize(
    ("kind", "bound"),
    [
        (init.Uniform(0.3), 0.3),
        ("uniform", 0.07),
        (init.XavierUniform(2.0), 2 * math.sqrt(6 / 600)),
        ("xavier_uniform", math.sqrt(6 / 600)),
        (init.HeUniform(math.sqrt(5)), 1 / math.sqrt(240)),
        (init.HeUniform(mode="fan_out", nonlinearity="relu"), math.sqrt(6 / 360)),
        (init.HeUniform(nonlinearity="tanh"), 5 / 3 * math.sqrt(3 / 240)),
        (init.VarianceScaling(2.0, "fan_avg", "uniform"), math.sqrt(3 * 2 / 300)),
    ],
)
def test_uniform_ones(kind: str | Initializer, bound: float) -> None:
    assert is_uniform(draw(kind), bound)


@pytest.mark.parametrize(
    ("kind", "deviation"),
    [
        (init.Normal(0.3), 0.3),
        ("Normal", 0.01),
        (init.XavierNormal(), math.sqrt(2 / 600)),
        ("HeNormal", math.sqrt(2 / 240)),
        (init.HeNormal(mode="fan_out"), math.sqrt(2 / 360)),
        (init.VarianceScaling(2.0, "fan_out", "untruncated_normal"), math.sqrt(2 / 360)),
    ],
)
def test_normal_ones(kind: str | Initializer, deviation: float) -> None:
    assert is_normal(draw(kind), deviation)


def test_truncated_ones_are_cut() -> None:
    values = draw(init.TruncatedNormal(0.5, mean=1.0, a=-1.0, b=2.0))
    assert values.min() >= 0.5
    assert values.max() <= 2.0
    assert stats.kstest(values.ravel(), stats.truncnorm(-1, 2, 1.0, 0.5).cdf).pvalue > 0.01
    scaled = draw("variance_scaling")
    np.testing.assert_allclose(scaled.std(), math.sqrt(1 / 240), rtol=0.02)
    assert np.abs(scaled).max() <= 2 * math.sqrt(1 / 240) / 0.8796


def test_constants() -> None:
    assert (draw("ones") == 1).all()
    assert (draw(init.Zero()) == 0).all()
    assert (draw(0.25) == 0.25).all()
    assert draw(init.Constant([1.0, 2.0]), (2, 2)).tolist() == [[1, 2], [1, 2]]
    assert draw("identity", (2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (4, 3, 2)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    matrix = draw(init.Orthogonal(2.0), shape).reshape(shape[0], -1)
    gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-12)


def test_sparse_has_its_zeros_in_every_column() -> None:
    values = draw(init.Sparse(0.3, 0.5), (10, 200))
    assert ((values == 0).sum(0) == 3).all()
    assert is_normal(values[values != 0], 0.5)


def test_dirac_passes_channels_through() -> None:
    x = cw.Tensor(np.random.default_rng(0).standard_normal((2, 4, 5, 5)).astype(np.float32))
    weight = initializer(init.Dirac(2), (4, 2, 3, 3), cw.float32)
    out = cw.ops.conv2d(x, weight, pad_mode="same", groups=2)
    np.testing.assert_allclose(out.asnumpy(), x.asnumpy())


def test_bilinear_weights_add_up_to_one_over_the_taps() -> None:
    values = draw("bilinear", (1, 1, 4, 4))[0, 0]
    assert values[0].tolist() == [0.0625, 0.1875, 0.1875, 0.0625]
    np.testing.assert_allclose(values[::2, ::2].sum() + values[1::2, 1::2].sum(), 2.0)


def test_the_seed_alone_decides() -> None:
    np.testing.assert_array_equal(draw("normal"), draw("normal"))
    cw.set_seed(7)
    first, second = initializer("normal", (3,)), initializer("normal", (3,))
    _ = second.asnumpy()
    assert not np.array_equal(first.asnumpy(), second.asnumpy())
    np.testing.assert_array_equal(first.asnumpy(), draw("normal", (3,)).astype(np.float32))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: initializer("best", (3,)), "best"),
        (lambda: initializer("normal"), "shape"),
        (lambda: initializer("normal", (0, 3)), "positive"),
        (lambda: init.HeNormal(mode="fan"), "mode"),
        (lambda: init.HeNormal(nonlinearity="sin"), "sin"),
        (lambda: init.VarianceScaling(-1.0), "scale"),
        (lambda: init.VarianceScaling(mode="fan"), "mode"),
        (lambda: init.VarianceScaling(distribution="cauchy"), "distribution"),
        (lambda: init.Sparse(2.0), "sparsity"),
        (lambda: init.Dirac(0), "groups"),
        (lambda: draw("xavier_normal", (3,)), "two axes"),
        (lambda: draw("orthogonal", (3,)), "two axes"),
        (lambda: draw("identity", (3,)), "two axes"),
        (lambda: draw(init.Sparse(0.5), (3,)), "two axes"),
        (lambda: draw("dirac", (3, 3)), "three to five"),
        (lambda: draw("bilinear", (3, 3)), "four axes"),
    ],
)
def test_mistakes_are_named(make: Callable[[], object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        make()
