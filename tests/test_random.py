"""Random streams and distributions: what depends on a key alone, and what the numbers are like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import ops
from cellwire.engine.compiler.jitted import JitError, JitWarning
from scipy import stats

COUNT = 4000
LEAST = 1e-3
"""The chance, over seeds, of a sample that fits its distribution worse; the seeds are fixed."""

DISTRIBUTIONS: dict[str, tuple[Callable[[], Any], Any]] = {
    "rand": (lambda: ops.rand(COUNT), stats.uniform()),
    "rand in float64": (lambda: ops.rand(COUNT, dtype=cw.float64), stats.uniform()),
    "randn": (lambda: ops.randn(COUNT), stats.norm()),
    "rand_like": (lambda: ops.rand_like(ops.zeros(COUNT)), stats.uniform()),
    "randn_like": (lambda: ops.randn_like(ops.zeros(COUNT)), stats.norm()),
    "standard_normal": (lambda: ops.standard_normal((COUNT,)), stats.norm()),
    "standard_laplace": (lambda: ops.standard_laplace((COUNT,)), stats.laplace()),
    "uniform": (lambda: ops.uniform((COUNT,), -2, 3), stats.uniform(-2, 5)),
    "normal": (lambda: ops.normal((COUNT,), 1.5, 0.5), stats.norm(1.5, 0.5)),
    "laplace": (lambda: ops.laplace((COUNT,), -1, 2), stats.laplace(-1, 2)),
    "random_gamma": (lambda: ops.random_gamma((COUNT,), 2.5), stats.gamma(2.5)),
    "gamma": (lambda: ops.gamma((COUNT,), 0.7, 4.0), stats.gamma(0.7, scale=0.25)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_numbers_are_of_their_distribution(name: str) -> None:
    draw, expected = DISTRIBUTIONS[name]
    cw.set_seed(11)
    numbers = draw().asnumpy().astype(np.float64)
    assert stats.kstest(numbers, expected.cdf).pvalue > LEAST


COUNTS: dict[str, tuple[Callable[[], Any], list[float]]] = {
    "randint": (lambda: ops.randint(0, 4, (COUNT,)), [0.25] * 4),
    "bernoulli": (lambda: ops.bernoulli(ops.zeros(COUNT), 0.3), [0.7, 0.3]),
    "multinomial": (lambda: ops.multinomial(cw.Tensor([1.0, 0.0, 3.0]), COUNT), [0.25, 0, 0.75]),
    "random_categorical": (
        lambda: ops.random_categorical(cw.Tensor([[0.0, np.log(3.0)]]), COUNT), [0.25, 0.75]
    ),
    "first of two without replacement": (
        lambda: ops.multinomial(ops.ones((COUNT, 1)) * cw.Tensor([1.0, 3.0]), 1, False),
        [0.25, 0.75],
    ),
    "random_poisson": (
        lambda: ops.minimum(ops.random_poisson((COUNT,), 1.0), 3.0),
        [*stats.poisson(1).pmf([0, 1, 2]), stats.poisson(1).sf(2)],
    ),
    "poisson": (
        lambda: ops.minimum(ops.poisson(ops.ones(COUNT)), 3.0),
        [*stats.poisson(1).pmf([0, 1, 2]), stats.poisson(1).sf(2)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_counts_have_their_probabilities(name: str) -> None:
    draw, chances = COUNTS[name]
    cw.set_seed(12)
    values = draw().asnumpy().astype(np.int64).ravel()
    found = np.bincount(values, minlength=len(chances))
    possible = np.array(chances) > 0
    assert found[~possible].sum() == 0
    expected = np.array(chances)[possible] * len(values)
    assert stats.chisquare(found[possible], expected).pvalue > LEAST


def test_ranges_are_kept() -> None:
    drawn = ops.randint(-3, 2, (500,)).asnumpy()
    assert drawn.min() == -3
    assert drawn.max() == 1
    assert drawn.dtype == np.int64
    assert sorted(ops.randperm(40).tolist()) == list(range(40))
    assert sorted(ops.randperm(4, offset=3, dtype=cw.int32).tolist()) == [3, 4, 5, 6]
    rows = ops.shuffle(cw.Tensor(np.arange(40).reshape(20, 2))).asnumpy()
    assert sorted(rows[:, 0]) == list(range(0, 40, 2))
    assert (rows[:, 1] == rows[:, 0] + 1).all()
    assert not (rows[:, 0] == np.arange(0, 40, 2)).all()


def test_choices_without_replacement_are_different() -> None:
    chosen = ops.multinomial(ops.ones((50, 6)), 6, replacement=False).asnumpy()
    assert (np.sort(chosen, 1) == np.arange(6)).all()
    assert len({tuple(row) for row in chosen}) > 1


DRAWS: dict[str, Callable[[], Any]] = {
    "rand": lambda: ops.rand(3), "normal": lambda: ops.normal((3,), 1.0, 2.0),
    "randint": lambda: ops.randint(0, 1000, (3,)), "randperm": lambda: ops.randperm(9),
    "gamma": lambda: ops.gamma((3,), 1.0, 2.0), "laplace": lambda: ops.laplace((3,), 0.0, 1.0),
    "bernoulli": lambda: ops.bernoulli(ops.zeros(64)),
    "multinomial": lambda: ops.multinomial(ops.ones(50), 3),
    "shuffle": lambda: ops.shuffle(ops.ones((9, 1)).cumsum(0)),
    "dropout": lambda: ops.dropout(ops.ones(64)),
    "dropout2d": lambda: ops.dropout2d(ops.ones((8, 8, 2, 2))),
    "alpha_dropout": lambda: ops.alpha_dropout(ops.ones(64), training=True) > 0,
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_the_same_numbers_eager_and_compiled(name: str) -> None:
    draw = DRAWS[name]
    cw.set_seed(3)
    eager = [draw().asnumpy(), draw().asnumpy()]
    assert (eager[0] != eager[1]).any()
    compiled = cw.jit(draw, fullgraph=True)
    cw.set_seed(3)
    for expected in eager:
        np.testing.assert_array_equal(compiled().asnumpy(), expected)


def test_a_seed_of_its_own_leaves_the_stream_alone() -> None:
    cw.set_seed(5)
    following = ops.rand(2).asnumpy()
    cw.set_seed(5)
    first, second = ops.rand(3, seed=9).asnumpy(), ops.rand(3, seed=9).asnumpy()
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(ops.rand(2).asnumpy(), following)


def test_generators_are_streams_of_their_own() -> None:
    generator = cw.Generator()
    assert generator.initial_seed() == 0
    assert generator.manual_seed(7) is generator
    first = ops.rand(3, seed=generator).asnumpy()
    state = generator.get_state()
    second = ops.randn(3, seed=generator).asnumpy()
    generator.set_state(state)
    np.testing.assert_array_equal(ops.randn(3, seed=generator).asnumpy(), second)
    np.testing.assert_array_equal(ops.rand(3, seed=cw.Generator(7)).asnumpy(), first)
    chosen = generator.seed()
    assert generator.initial_seed() == chosen
    assert repr(cw.Generator(4)) == "Generator(seed=4, step=0)"
    with pytest.raises(ValueError, match="get_state"):
        generator.set_state(cw.Tensor([1.0, 2.0]))


def test_a_generator_ends_a_trace_with_the_reason() -> None:
    generator = cw.Generator(1)

    def drawn(x: cw.Tensor) -> cw.Tensor:
        return x + ops.rand(2, seed=generator)

    with pytest.raises(JitError, match="Generator was drawn from"):
        cw.jit(drawn, fullgraph=True)(ops.zeros(2))
    loose = cw.jit(drawn)
    with pytest.warns(JitWarning, match="Generator was drawn from"):
        values = [loose(ops.zeros(2)).asnumpy() for _ in range(2)]
    again = cw.Generator(1)
    for value in values:
        np.testing.assert_array_equal(value, ops.rand(2, seed=again).asnumpy())


def test_the_current_stream_is_saved_and_goes_on() -> None:
    cw.manual_seed(21)
    assert cw.initial_seed() == 21
    ops.rand(1)
    state = cw.get_rng_state()
    expected = ops.rand(3).asnumpy()
    cw.set_rng_state(state)
    np.testing.assert_array_equal(ops.rand(3).asnumpy(), expected)
    assert cw.seed() == cw.get_seed()
    cw.set_seed(0)


def test_seeds_are_whole_numbers_that_are_not_negative() -> None:
    for wrong, error in ((1.5, TypeError), (True, TypeError), (-1, ValueError)):
        with pytest.raises(error, match="seed"):
            cw.set_seed(wrong)
        with pytest.raises(error, match="seed"):
            cw.Generator(wrong)


@pytest.mark.parametrize(("function", "shape", "lead"), [
    (ops.dropout1d, (40, 6, 3), 2), (ops.dropout1d, (60, 3), 1),
    (ops.dropout2d, (40, 6, 2, 3), 2), (ops.dropout2d, (60, 2, 3), 1),
    (ops.dropout3d, (40, 6, 1, 2, 3), 2), (ops.dropout3d, (60, 1, 2, 3), 1),
])  # fmt: skip
def test_channels_are_dropped_as_a_whole(function: Any, shape: Any, lead: int) -> None:
    cw.set_seed(2)
    out = function(ops.ones(shape), 0.25).asnumpy().reshape(*shape[:lead], -1)
    np.testing.assert_allclose(np.unique(out), [0, 4 / 3], 1e-6)
    assert (out == out[..., :1]).all()
    assert abs((out == 0).mean() - 0.25) < 0.15
    assert function(ops.ones(shape), 0.25, False).asnumpy().all()
    with pytest.raises(ValueError, match=r"0\.\.1"):
        function(ops.ones(shape), 1.5)


def test_gradients_meet_the_mask_that_was_drawn() -> None:
    def dropped(x: cw.Tensor) -> Any:
        out = ops.dropout2d(x, 0.5)
        return out.sum(), out

    x = ops.ones((4, 5, 2, 2))
    for run in (dropped, cw.jit(dropped, fullgraph=True)):
        gradient, (out,) = cw.grad(run, has_aux=True)(x)
        np.testing.assert_array_equal(gradient.asnumpy(), out.asnumpy())


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    cw.set_seed(4)
    x = ops.randn(200, 100)
    for function in (ops.alpha_dropout, ops.feature_alpha_dropout):
        out = function(x, 0.3, True).asnumpy()
        assert abs(out.mean()) < 0.03
        assert abs(out.std() - 1) < 0.03
        np.testing.assert_array_equal(function(x, 0.3).asnumpy(), x.asnumpy())


def test_parameters_of_distributions_have_gradients() -> None:
    low, high = cw.Tensor([0.0, 1.0]), cw.Tensor([4.0, 5.0])
    below, above = cw.grad(lambda a, b: ops.uniform((3, 2), a, b, 5).sum(), (0, 1))(low, high)
    part = ops.rand(3, 2, seed=5).asnumpy().sum(0)
    np.testing.assert_allclose(above.asnumpy(), part, 1e-6)
    np.testing.assert_allclose(below.asnumpy(), 3 - part, 1e-6)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: ops.randint(3, 3, (2,)), "less than high"),
    (lambda: ops.randperm(-1), "negative"),
    (lambda: ops.bernoulli(ops.zeros(3), 1.5), "0..1"),
    (lambda: ops.multinomial(cw.Tensor([1.0, -1.0]), 1), "not negative"),
    (lambda: ops.multinomial(cw.Tensor([1.0, 0.0]), 2, False), "positive weights"),
    (lambda: ops.multinomial(ops.ones((2, 2, 2)), 1), "one or two axes"),
    (lambda: ops.normal((2, 3), ops.zeros(4), 1.0), "broadcast"),
    (lambda: ops.shuffle(cw.Tensor(1.0)), "no axes"),
    (lambda: ops.dropout1d(ops.ones((2, 2, 2, 2))), "axes"),
])  # fmt: skip
def test_mistakes_are_told(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("compiled", [False, True])
def test_integers_between_bounds_that_are_tensors(compiled: bool) -> None:
    def drawn(low: cw.Tensor, high: cw.Tensor) -> cw.Tensor:
        return ops.uniform((2, 3000), low, high, 7, cw.int32)

    run = cw.jit(drawn, fullgraph=True) if compiled else drawn
    low = cw.Tensor(np.array([[-2], [5]], np.int32))
    numbers = run(low, cw.Tensor(7, cw.int32))
    assert numbers.dtype == cw.int32
    for row, (least, most) in zip(numbers.asnumpy(), [(-2, 6), (5, 6)], strict=True):
        found, counts = np.unique(row, return_counts=True)
        assert found.tolist() == list(range(least, most + 1))
        assert counts.min() > 0.8 * counts.mean()
    with pytest.raises(TypeError, match="type of numbers"):
        ops.uniform((2,), 0, 5, dtype=cw.bool_)


@pytest.mark.parametrize("dtype", [cw.float16, cw.bfloat16])
def test_numbers_of_narrow_types_stay_below_one(dtype: Any) -> None:
    numbers = ops.rand(20000, dtype=dtype, seed=3).astype(cw.float32).asnumpy()
    assert numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.01
