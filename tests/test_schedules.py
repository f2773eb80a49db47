"""Learning-rate schedules: lists and Cells by their formulas, in eager mode and inside jit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn

STEPS = 25


def cosine(t: float) -> float:
    return 0.01 + 0.5 * 0.09 * (1 + math.cos(math.pi * min(t, 10) / 10))


def polynomial(t: float) -> float:
    return 0.09 * (1 - min(t, 10) / 10) ** 2 + 0.01


def renewed(t: float) -> float:
    whole = 10 * max(math.ceil(t / 10), 1)
    return 0.09 * (1 - min(t, whole) / whole) ** 2 + 0.01


@pytest.mark.parametrize(
    ("cell", "rate"),
    [
        (lambda: nn.ExponentialDecayLR(0.1, 0.9, 4), lambda t: 0.1 * 0.9 ** (t / 4)),
        (lambda: nn.ExponentialDecayLR(0.1, 0.9, 4, True), lambda t: 0.1 * 0.9 ** (t // 4)),
        (lambda: nn.NaturalExpDecayLR(0.1, 0.2, 4), lambda t: 0.1 * math.exp(-0.2 * t)),
        (
            lambda: nn.NaturalExpDecayLR(0.1, 0.2, 4, True),
            lambda t: 0.1 * math.exp(-0.2 * (t // 4 * 4)),
        ),
        (lambda: nn.InverseDecayLR(0.1, 0.5, 4), lambda t: 0.1 / (1 + 0.5 * t / 4)),
        (lambda: nn.InverseDecayLR(0.1, 0.5, 4, True), lambda t: 0.1 / (1 + 0.5 * (t // 4))),
        (lambda: nn.CosineDecayLR(0.01, 0.1, 10), cosine),
        (lambda: nn.PolynomialDecayLR(0.1, 0.01, 10, 2.0), polynomial),
        (lambda: nn.PolynomialDecayLR(0.1, 0.01, 10, 2.0, True), renewed),
        (lambda: nn.WarmUpLR(0.1, 8), lambda t: 0.1 * min(t, 8) / 8),
    ],
)
def test_cells_give_the_rate_of_a_step(
    cell: Callable[[], nn.Cell], rate: Callable[[float], float]
) -> None:
    schedule = cell()
    compiled = cw.jit(schedule, fullgraph=True)
    for step in range(STEPS):
        number = cw.Tensor(step, cw.int32)
        assert float(schedule(number)) == pytest.approx(rate(step), rel=2e-5, abs=1e-9)
        assert float(compiled(number)) == pytest.approx(rate(step), rel=2e-5, abs=1e-9)


@pytest.mark.parametrize(
    ("rates", "rate"),
    [
        (nn.exponential_decay_lr(0.1, 0.9, STEPS, 2, 4), lambda e: 0.1 * 0.9 ** (e / 4)),
        (nn.exponential_decay_lr(0.1, 0.9, STEPS, 2, 4, True), lambda e: 0.1 * 0.9 ** (e // 4)),
        (nn.natural_exp_decay_lr(0.1, 0.2, STEPS, 2, 4), lambda e: 0.1 * math.exp(-0.2 * e)),
        (
            nn.natural_exp_decay_lr(0.1, 0.2, STEPS, 2, 4, True),
            lambda e: 0.1 * math.exp(-0.2 * (e // 4 * 4)),
        ),
        (nn.inverse_decay_lr(0.1, 0.5, STEPS, 2, 4), lambda e: 0.1 / (1 + 0.5 * e / 4)),
        (nn.inverse_decay_lr(0.1, 0.5, STEPS, 2, 4, True), lambda e: 0.1 / (1 + 0.5 * (e // 4))),
        (nn.cosine_decay_lr(0.01, 0.1, STEPS, 2, 10), cosine),
        (nn.polynomial_decay_lr(0.1, 0.01, STEPS, 2, 10, 2.0), polynomial),
        (nn.polynomial_decay_lr(0.1, 0.01, STEPS, 2, 10, 2.0, True), renewed),
        (nn.warmup_lr(0.1, STEPS, 2, 8), lambda e: 0.1 * min(e, 8) / 8),
        (nn.warmup_lr(0.1, STEPS, 2, 0), lambda e: 0.1),
    ],
)
def test_lists_have_a_rate_a_step(rates: list[float], rate: Callable[[int], float]) -> None:
    assert rates == pytest.approx([rate(step // 2) for step in range(STEPS)])


def test_rates_that_stay_up_to_milestones() -> None:
    assert nn.piecewise_constant_lr([2, 3, 5], [0.3, 0.2, 0.1]) == [0.3, 0.3, 0.2, 0.1, 0.1]


@pytest.mark.parametrize("compiled", [False, True])
def test_an_optimizer_asks_its_schedule_each_step(compiled: bool) -> None:
    class Warm(nn.LearningRateSchedule):
        def __init__(self) -> None:
            super().__init__()
            self.warm = nn.WarmUpLR(0.4, 4)
            self.decay = nn.CosineDecayLR(0.0, 0.4, 8)

        def construct(self, global_step: Any) -> Any:
            early = cw.ops.cast(global_step < 4, cw.float32)
            return self.warm(global_step) * early + self.decay(global_step) * (1.0 - early)

    param = cw.Parameter(np.zeros(3, np.float32), "w")
    optimizer = nn.SGD([param], Warm())
    run = (
        cw.jit(lambda g: optimizer((g,)), fullgraph=True)
        if compiled
        else (lambda g: optimizer((g,)))
    )
    rates = [0.4 * t / 4 for t in range(4)]
    rates += [0.2 * (1 + math.cos(math.pi * t / 8)) for t in range(4, 8)]
    for step in range(8):
        assert float(optimizer.get_lr()) == pytest.approx(rates[step], rel=1e-5, abs=1e-8)
        run(cw.Tensor(np.ones(3, np.float32)))
    np.testing.assert_allclose(param.data, -sum(rates), rtol=1e-5)
    if compiled:
        assert sum(len(s.paths) for s in run.situations.values()) == 1


def test_groups_may_have_schedules_of_their_own() -> None:
    params = [cw.Parameter(np.zeros(2, np.float32), name) for name in "ab"]
    groups = [{"params": [params[0]], "lr": nn.WarmUpLR(0.4, 4)}, {"params": [params[1]]}]
    optimizer = nn.SGD(groups, [0.1, 0.2, 0.3])
    one = cw.Tensor(np.ones(2, np.float32))
    for _ in range(4):
        optimizer((one, one))
    np.testing.assert_allclose(params[0].data, -0.6, rtol=1e-5)
    np.testing.assert_allclose(params[1].data, -0.9, rtol=1e-5)
    assert [float(rate) for rate in optimizer.get_lr()] == pytest.approx([0.4, 0.3])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.ExponentialDecayLR(-0.1, 0.9, 4), ValueError),
        (lambda: nn.WarmUpLR("0.1", 4), TypeError),
        (lambda: nn.CosineDecayLR(0.2, 0.1, 4), ValueError),
        (lambda: nn.PolynomialDecayLR(0.1, -1.0, 4, 1.0), ValueError),
        (lambda: nn.LearningRateSchedule()(cw.Tensor(1)), NotImplementedError),
        (lambda: nn.piecewise_constant_lr([2, 1], [0.1, 0.2]), ValueError),
        (lambda: nn.piecewise_constant_lr([2], []), ValueError),
        (lambda: nn.exponential_decay_lr(0.1, 0.9, 10, 2.5, 4), TypeError),
        (lambda: nn.cosine_decay_lr(0.1, 0.1, 10, 2, 4), ValueError),
        (lambda: nn.warmup_lr(0.1, 10, 2, -1), ValueError),
        (lambda: nn.polynomial_decay_lr(0.1, -1, 10, 2, 4, 1.0), ValueError),
    ],
)
def test_mistakes_are_named(make: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()
