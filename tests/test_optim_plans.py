"""An optimizer's update of all parameters is one run of machine code, and stays right."""

from __future__ import annotations

import copy
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn

START = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
GRADS = [
    np.random.default_rng(step).standard_normal((3, 4)).astype(np.float32) for step in range(4)
]


def weight(name: str = "weight", data: np.ndarray = START) -> cw.Parameter:
    return cw.Parameter(data, name)


def two_layers() -> tuple[list[cw.Parameter], tuple[cw.Tensor, ...]]:
    params = [weight("a"), weight("b", START[0])]
    return params, (cw.Tensor(GRADS[0]), cw.Tensor(GRADS[1][0]))


def test_the_update_of_all_parameters_is_one_run_of_machine_code() -> None:
    params, grads = two_layers()
    optimizer = nn.Adam(params, 0.01)
    buffers = [param.data for param in optimizer.get_parameters()]
    versions = [param.version for param in params]
    for _ in range(3):
        optimizer(grads)
    (report,) = optimizer._updates.reports
    assert report.native_runs == 1
    assert not report.host_steps
    assert all(p.data is b for p, b in zip(optimizer.get_parameters(), buffers, strict=True))
    assert [param.version for param in params] == [version + 3 for version in versions]


def test_more_arrays_than_a_plan_passes_one_by_one_are_written() -> None:
    def made() -> list[cw.Parameter]:
        return [weight(f"w{k}", START[0] + k) for k in range(130)]

    together, apart = made(), made()
    optimizer = nn.Momentum(together, 0.1, 0.9)
    plain = [nn.Momentum([param], 0.1, 0.9) for param in apart]
    for step in range(4):
        grads = [cw.Tensor(np.roll(GRADS[step][0], k)) for k in range(130)]
        optimizer(grads)
        for one, grad in zip(plain, grads, strict=True):
            one((grad,))
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_allclose(one.data, other.data, rtol=1e-6)


def test_memory_that_is_not_in_rows_is_written() -> None:
    params = [weight("w", np.asfortranarray(START)), weight("v")]
    assert not params[0].data.flags.c_contiguous
    for param in params:
        optimizer = nn.Momentum([param], 0.1, 0.9)
        for grad in GRADS:
            optimizer((cw.Tensor(grad),))
    np.testing.assert_allclose(params[0].data, params[1].data, rtol=1e-6)


@pytest.mark.parametrize("change", ["attribute", "rate", "number", "momentum of a group"])
def test_settings_changed_between_steps_count(change: str) -> None:
    results = []
    for eager in (True, False):
        params, grads = two_layers()
        optimizer = nn.Momentum(params, 0.01, 0.9)
        for step in range(5):
            if step == 3:
                match change:
                    case "attribute":
                        optimizer.momentum = 0.1
                    case "rate":
                        optimizer.learning_rate.set_data(np.float32(0.5))
                    case "number":
                        optimizer.learning_rate = 0.5
                    case _:
                        optimizer.use_nesterov = True
            if eager:
                optimizer._updates.clear()
            optimizer(grads)
        results.append([param.data.copy() for param in params])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


def test_a_parameter_may_be_its_own_gradient() -> None:
    params, _ = two_layers()
    optimizer = nn.SGD(params, 0.5, momentum=0.5)
    expected, accum = START.astype(np.float64), np.zeros_like(START)
    for _ in range(4):
        optimizer(params)
        accum = accum * 0.5 + expected
        expected = expected - 0.5 * accum
    np.testing.assert_allclose(params[0].data, expected, rtol=1e-5, atol=1e-6)


def test_new_memory_of_a_parameter_is_written_to() -> None:
    params, grads = two_layers()
    optimizer = nn.SGD(params, 1.0)
    for _ in range(3):
        optimizer(grads)
    params[0].set_dtype(cw.float16)
    before = params[0].data.copy()
    optimizer(grads)
    np.testing.assert_allclose(params[0].data, before - GRADS[0], rtol=1e-2, atol=1e-2)


def test_a_copied_optimizer_is_on_its_own() -> None:
    params, grads = two_layers()
    optimizer = nn.Momentum(params, 0.1, 0.9)
    for _ in range(3):
        optimizer(grads)
    twin = copy.deepcopy(optimizer)
    held = [param.data.copy() for param in params]
    for _ in range(3):
        twin(grads)
    assert all((param.data == array).all() for param, array in zip(params, held, strict=True))
    optimizer(grads)
    assert not (params[0].data == held[0]).all()


def test_an_optimizer_of_ones_own_runs_as_it_is_written() -> None:
    class Halving(nn.Optimizer):
        rate = 0.5

        def construct(self, gradients: Any) -> bool:
            for param, grad in zip(self.parameters, self.decay_weight(gradients), strict=True):
                param.set_data(param - grad * self.rate)
            return True

    param = weight()
    optimizer = Halving(0.1, [param], weight_decay=1.0)
    for _ in range(3):
        optimizer((cw.Tensor(np.zeros((3, 4), np.float32)),))
    Halving.rate = 1.0
    optimizer((param * 0.0,))
    np.testing.assert_array_equal(param.data, np.zeros((3, 4)))


@pytest.mark.parametrize("schedule", ["set", "list", "cell", "function"])
def test_complaint_03_a_changing_rate_does_not_recompile(schedule: str) -> None:
    rates = {
        "set": 0.1, "list": [0.1 / (k + 1) for k in range(8)],
        "cell": nn.InverseDecayLR(0.1, 1.0, 1),
        "function": lambda step: 0.1 / (step + 1.0),
    }  # fmt: skip
    param = weight()
    optimizer = nn.SGD([param], rates[schedule])
    loss = cw.value_and_grad(lambda x: (param * x).sum(), None, optimizer.parameters)

    @cw.jit(fullgraph=True)
    def step(x: cw.Tensor) -> cw.Tensor:
        value, grads = loss(x)
        optimizer(grads)
        return value

    x = cw.Tensor(np.ones((3, 4), np.float32))
    for k in range(8):
        if schedule == "set":
            optimizer.learning_rate.set_data(np.float32(0.1 / (k + 1)))
        step(x)
    assert sum(len(situation.paths) for situation in step.situations.values()) == 1
    total = sum(0.1 / (k + 1) for k in range(8))
    np.testing.assert_allclose(param.data, START - total, rtol=1e-5, atol=1e-6)
    eager = weight()
    optimizer = nn.SGD([eager], rates[schedule])
    for k in range(8):
        if schedule == "set":
            optimizer.learning_rate = 0.1 / (k + 1)
        optimizer((x,))
    assert len(optimizer._updates.reports) == 1
    np.testing.assert_allclose(eager.data, param.data, rtol=1e-6, atol=1e-7)
