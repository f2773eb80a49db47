"""Repeated calls of compiled functions: the short way, writes into Parameters, shared memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import nn, ops
from cellwire.engine.compiler.reasons import JitError


def tensor(*shape: int, seed: int = 0) -> Any:
    return cw.Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def called(fn: Callable[..., Any], *args: Any, times: int = 4) -> Any:
    """Compile and call several times, so that the last calls go the short way."""
    run = cw.jit(fn, fullgraph=True)
    for _ in range(times):
        run(*args)
    return run


def path_of(run: Any) -> Any:
    (situation,) = run.situations.values()
    return situation.paths[0]


class Norms(nn.Cell):
    """Biases and norms, whose gradients are column sums."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm((5,))
        self.dense = nn.Dense(5, 3)

    def construct(self, x: Any) -> Any:
        return self.dense(self.norm(x))


def test_a_training_step_leaves_nothing_to_be_written_by_python() -> None:
    def steps(jit: bool) -> tuple[list[np.ndarray], Any]:
        cw.set_seed(3)
        net = Norms()
        for i, p in enumerate(net.trainable_params()):
            p.set_data(tensor(*p.shape, seed=i))
        optimizer = nn.Adam(net.trainable_params(), 0.01)
        derive = cw.value_and_grad(lambda x: ops.mean(net(x) ** 2), None, optimizer.parameters)

        def step(x: Any) -> Any:
            value, grads = derive(x)
            optimizer(grads)
            return value

        run = cw.jit(step, fullgraph=True) if jit else step
        for seed in range(6):
            run(tensor(7, 5, seed=seed))
        return [p.data.copy() for p in (*net.trainable_params(), *optimizer.moment1)], run

    wanted, _ = steps(False)
    found, run = steps(True)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)
    path = path_of(run)
    assert path.quick is not None
    assert len(path.plan.settled) == len(path.call.writes) > 10


def test_versions_count_writes_on_the_short_way() -> None:
    weight = cw.Parameter(tensor(3))
    run = called(lambda x: weight.set_data(weight + x) is None, tensor(3))
    before = weight.version
    run(tensor(3))
    assert path_of(run).quick is not None
    assert weight.version == before + 1


def test_a_value_that_is_returned_and_written_is_both() -> None:
    weight = cw.Parameter(np.zeros(3, np.float32))

    def fn(x: Any) -> Any:
        value = weight + x
        weight.set_data(value)
        return value

    run = called(fn, cw.Tensor(np.ones(3, np.float32)))
    last = run(cw.Tensor(np.ones(3, np.float32)))
    assert weight.data.tolist() == [5, 5, 5] == last.data.tolist()
    run(cw.Tensor(np.ones(3, np.float32)))
    assert last.data.tolist() == [5, 5, 5]  # memory of its own


def test_two_parameters_change_places() -> None:
    a, b = cw.Parameter(np.zeros(3, np.float32)), cw.Parameter(np.ones(3, np.float32))

    def fn(x: Any) -> Any:
        first, second = a + 0.0, b + 0.0
        a.set_data(second)
        b.set_data(first)
        return x + 1

    run = called(fn, tensor(2), times=5)
    assert path_of(run).plan.settled
    assert (a.data.tolist(), b.data.tolist()) == ([1, 1, 1], [0, 0, 0])


@pytest.mark.parametrize("shared", ["argument", "outside"])
def test_memory_that_is_read_and_written_by_two_names_is_not_compiled(shared: str) -> None:
    def build() -> tuple[Any, Any, Any]:
        weight = cw.Parameter(np.arange(6, dtype=np.float32))
        return weight, cw.Tensor(np.zeros(3, np.float32)), weight[1:4]

    def results(jit: bool) -> list[Any]:
        weight, other, view = build()
        outside = view if shared == "outside" else other

        def step(x: Any) -> Any:
            weight.set_data(weight * 2)
            return x + outside

        run = cw.jit(step) if jit else step
        given = view if shared == "argument" else other
        return [run(given).data.tolist() for _ in range(4)]

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert results(True) == results(False)
    assert any("shares its memory" in str(w.message) for w in told)


def test_an_argument_that_comes_to_share_memory_later_is_noticed() -> None:
    weight = cw.Parameter(np.arange(6, dtype=np.float32))

    def step(x: Any) -> Any:
        weight.set_data(weight * 2)
        return x + 1

    run = called(step, cw.Tensor(np.zeros(3, np.float32)))
    assert path_of(run).quick is not None
    before = weight.data.copy()
    with pytest.raises(JitError, match="shares its memory"):
        run(weight[1:4])
    np.testing.assert_array_equal(weight.data, before)


def test_tensors_that_are_returned_as_they_came_are_the_same_objects() -> None:
    weight, outside = cw.Parameter(tensor(3)), tensor(3, seed=1)
    kept: list[Any] = []

    def fn(x: Any, y: Any) -> Any:
        z = x + y
        weight.set_data(weight + 1)
        kept.append(z)
        return {"x": x, "zs": [z, (y, z)]}, weight, outside, z * 2

    run = cw.jit(fn, fullgraph=True)
    for turn in range(6):
        x, y, before = tensor(3, seed=turn), tensor(3, seed=turn + 9), weight.data.copy()
        found, parameter, other, twice = run(x, y)
        z, (same_y, same_z) = found["zs"]
        assert found["x"] is x
        assert same_y is y
        assert z is same_z is kept[-1]
        assert parameter is weight
        assert other is outside
        np.testing.assert_array_equal(weight.data, before + 1)
        np.testing.assert_array_equal(z.data, x.data + y.data)
        np.testing.assert_array_equal(twice.data, z.data * 2)
    assert path_of(run).quick is not None
    assert len(path_of(run).call.graph.outputs) == 3


def test_a_function_that_only_returns_what_it_is_given_has_gradients() -> None:
    run = cw.jit(lambda x, y: (x, y, x), fullgraph=True)
    x, y = tensor(3), tensor(3, seed=1)
    for _ in range(4):
        assert all(a is b for a, b in zip(run(x, y), (x, y, x), strict=True))

    def loss(x: Any, y: Any) -> Any:
        first, second, third = run(x, y)
        return ops.sum(first * second + third)

    for derive in (cw.grad(loss, (0, 1)), cw.jit(cw.grad(loss, (0, 1)), fullgraph=True)):
        dx, dy = derive(x, y)
        np.testing.assert_array_equal(dx.data, y.data + 1)
        np.testing.assert_array_equal(dy.data, x.data)


def test_a_tensor_made_anew_or_written_inside_is_no_object_from_outside() -> None:
    base = np.ones(3, np.float32)

    def fn(x: Any) -> Any:
        made = cw.Tensor(base)
        changed = x + 0
        changed[0] = 5.0
        return made, changed, x

    run = called(fn, tensor(3))
    x = tensor(3, seed=4)
    first, second = run(x), run(x)
    assert first[0] is not second[0]
    assert first[1] is not x
    assert first[2] is x
    first[0][0] = 7.0
    np.testing.assert_array_equal(second[0].data, np.ones(3))


def test_effects_go_the_short_way(capsys: pytest.CaptureFixture[str]) -> None:
    def session(jit: bool) -> tuple[Any, ...]:
        cell, log, state = Norms(), [], {"last": None}
        for i, p in enumerate(cell.trainable_params()):
            p.set_data(tensor(*p.shape, seed=i))
        cell.calls, cell.factor = 0, 1.0

        def step(x: Any, y: Any) -> Any:
            cell.calls += 1
            made = cell(x) * y
            log.append((made, cell.calls, y))
            state["last"] = x
            print("call", cell.calls, made.shape)
            return made

        run = cw.jit(step, fullgraph=True) if jit else step
        results, given = [], []
        for turn in range(12):
            given.append((tensor(7, 5, seed=turn), tensor(7, 3, seed=turn + 20)))
            results.append(run(*given[-1]))
            assert state["last"] is given[-1][0]
            assert log[-1][0] is results[-1]
            assert log[-1][2] is given[-1][1]
            if turn == 8:
                cell.calls = 100
        if jit:
            assert path_of(run).quick is not None
        values = [made.data.copy() for made in results]
        return cell.calls, [count for _, count, _ in log], values, capsys.readouterr().out

    compiled, eager = session(True), session(False)
    assert compiled[:2] == eager[:2]
    assert compiled[3] == eager[3]
    for ours, other in zip(compiled[2], eager[2], strict=True):
        np.testing.assert_allclose(ours, other, rtol=1e-5, atol=1e-6)


def test_a_number_that_is_compared_and_counted_takes_its_path_on_the_short_way() -> None:
    counts = {"n": 0}

    def fn(x: Any) -> Any:
        counts["n"] += 1
        return x + 1 if counts["n"] > 8 else x * 2

    run = called(fn, tensor(2), times=8)
    assert path_of(run).quick is not None
    x = tensor(2)
    for _ in range(4):
        np.testing.assert_array_equal(run(x).data, x.data + 1)
    assert counts["n"] == 12
    counts["n"] = 0
    np.testing.assert_array_equal(run(x).data, x.data * 2)


def test_random_draws_go_the_short_way() -> None:
    def fn(x: Any) -> Any:
        return ops.dropout(x, p=0.5) + ops.dropout(x, p=0.5)

    x = cw.Tensor(np.ones((4, 8), np.float32))
    cw.set_seed(5)
    wanted = [fn(x).data for _ in range(6)]
    cw.set_seed(5)
    run = cw.jit(fn, fullgraph=True)
    for each in wanted:
        np.testing.assert_array_equal(run(x).data, each)


def test_branches_on_values_go_the_short_way_and_draw_as_eager_does() -> None:
    counter = cw.Parameter(np.zeros(1, np.float32))

    def fn(x: Any) -> Any:
        y = x * ops.uniform((2,), 0.5, 1.0)
        if ops.sum(x) > 0:
            counter.set_data(counter + 1)
            return y
        return y - ops.uniform((2,), 0.5, 1.0)

    def results(run: Callable[..., Any]) -> list[Any]:
        cw.set_seed(9)
        counter.set_data(np.zeros(1, np.float32))
        signs = [1, 1, 1, 1, -1, -1, 1, -1, 1, 1, -1, -1, -1, -1]
        found = [run(cw.Tensor(np.full(2, s, np.float32))).data.tolist() for s in signs]
        return [found, counter.data.tolist()]

    run = cw.jit(fn, fullgraph=True)
    wanted = results(fn)
    for found in (results(run), results(run)):
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
        assert found[1] == wanted[1]
    (situation,) = run.situations.values()
    assert len(situation.paths) == 2


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ([1.0, 2.0], lambda held: held.append(3.0)),
        ([1.0, 2.0], lambda held: held.__setitem__(0, 5.0)),
        ([1.0, 2.0], lambda held: held.reverse()),
        ({"a": 1.0, "b": 2.0}, lambda held: held.update(b=3.0)),
        ({"a": 1.0, "b": 2.0}, lambda held: held.update(c=3.0)),
        ([(1.0, [2.0])], lambda held: held[0][1].append(4.0)),
    ],
)
def test_containers_from_outside_are_watched_item_by_item(
    before: Any, change: Callable[[Any], Any]
) -> None:
    held = before

    def total(value: Any) -> float:
        if isinstance(value, float):
            return value
        parts = value.values() if isinstance(value, dict) else value
        return sum(2 * i + total(part) for i, part in enumerate(parts))

    def fn(x: Any) -> Any:
        return x * total(held)

    x = cw.Tensor(np.ones(2, np.float32))
    run = called(fn, x)
    change(held)
    np.testing.assert_array_equal(run(x).data, fn(x).data)
