"""Loops over one native run: every place that a result may come from, against runs one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.compiler import jit, trace
from cellwire.engine.compiler.graph import Graph
from cellwire.engine.compiler.looping import Scan, While
from cellwire.engine.compiler.native_loops import native_loop
from cellwire.engine.compiler.subgraph import SubGraph
from cellwire.engine.dtype import float32, int64
from cellwire.engine.shape import Aval
from cellwire.engine.tensor import Tensor

RNG = np.random.default_rng(5)
VECTOR = Aval((5,), float32)


def body_of(fn: Callable[..., Any], inputs: int) -> Graph:
    return trace(fn, [VECTOR] * inputs).graph


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


BODIES: dict[str, Callable[..., Any]] = {
    "elements of their own": lambda c, d, x, s: (c * s + x, d - c, c * x, ops.sum(d * x)),
    "what is carried on": lambda c, d, x, s: (n := c * s + x, d * 0.5, n, d),
    "what was carried": lambda c, d, x, s: (c * s + x, d * x + s, c, d),
    "both, which share memory": lambda c, d, x, s: (n := c * s + x, d * x, n, c),
    "one twice": lambda c, d, x, s: (n := c * s + x, d * x, n, n),
    "another shape of it": lambda c, d, x, s: (
        n := c * s + x,
        d * x,
        n[None],
        ops.reshape(n, (5, 1)),
    ),
    "inputs": lambda c, d, x, s: (c * s + x, d, x, s),
    "what stays": lambda c, d, x, s: (c * s, d, d, d * x),
    "joined": lambda c, d, x, s: (c * s, d * x, ops.concat((c, d)), d),
    "constants": lambda c, d, x, s: (c * s, d + x, ops.ones((5,)), c),
}


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("name", BODIES)
def test_a_scan_is_its_runs_one_by_one(name: str, backwards: bool) -> None:
    graph = body_of(BODIES[name], 4)
    for length in (1, 4, 5):
        loop = Scan(SubGraph(graph), 2, 1, length, backwards)
        arrays = [numbers(5), numbers(5), numbers(length, 5), numbers(5)]
        before = [array.copy() for array in arrays]
        assert loop._native is not None
        found, expected = loop._run(*arrays), loop._run_one_by_one(*arrays)
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, other)
            assert mine.shape == other.shape
        assert not any(
            np.may_share_memory(one, other)
            for place, one in enumerate(found)
            for other in (*found[:place], *arrays)
        )
        for array, old in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize(
    "fn",
    [
        lambda c, d, x, s: (d, c * s, x),
        lambda c, d, x, s: (n := c * s + x, n, x),
        lambda c, d, x, s: (c * s, d * x, ops.bessel_i0(c)),
    ],
    ids=["swapped", "one for both", "in NumPy"],
)
def test_other_bodies_run_one_by_one(fn: Callable[..., Any]) -> None:
    graph = body_of(fn, 4)
    loop = Scan(SubGraph(graph), 2, 1, 3)
    assert loop._native is None
    arrays = [numbers(5), numbers(5), numbers(3, 5), numbers(5)]
    for mine, other in zip(loop._run(*arrays), loop._run_one_by_one(*arrays), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("runs", [0, 1, 2, 7, 9000])
def test_a_while_loop_stops_where_its_test_says_so(runs: int) -> None:
    scalar = Aval((), float32)
    avals = [scalar, VECTOR, scalar, VECTOR]
    test = trace(lambda n, c, end, s: n < end, avals).graph
    body = trace(lambda n, c, end, s: (n + 1, c * 0.5 + s), avals).graph
    loop = While(SubGraph(test), SubGraph(body))
    assert loop._native is not None
    start, step = numbers(5), numbers(5)
    count, value = loop._run(np.zeros((), np.float32), start, np.array(runs, np.float32), step)
    assert count == runs
    expected = start
    for _ in range(runs):
        expected = expected * np.float32(0.5) + step
    np.testing.assert_allclose(value, expected, rtol=1e-6)


TABLE = Aval((4, 5), float32)


def test_a_scan_that_looks_at_positions_is_native_and_stops_at_a_wrong_one() -> None:
    place = Aval((), int64)
    graph = trace(lambda c, i, t: (c * 0.5 + t[i], c), [VECTOR, place, TABLE]).graph
    loop = Scan(SubGraph(graph), 1, 1, 6)
    assert loop._native is not None
    start, table, right = numbers(5), numbers(4, 5), np.array([0, 3, -4, 2, 1, -1])
    expected = loop._run_one_by_one(start, right, table)
    for at in (0, 2, 5, None):
        places = right.copy()
        if at is not None:
            places[at] = 4 + at
            with pytest.raises(IndexError, match=f"position {4 + at}, axis 0 has size 4"):
                loop._run(start, places, table)
            continue
        for mine, other in zip(loop._run(start, places, table), expected, strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("wrong", [3, 5000])
def test_a_while_loop_stops_at_a_wrong_position(wrong: int) -> None:
    avals = [Aval((), int64), Aval((), float32), Aval((wrong,), float32)]
    test = trace(lambda n, c, x: n < 9000, avals).graph
    loop = While(SubGraph(test), SubGraph(trace(lambda n, c, x: (n + 1, x[n]), avals).graph))
    assert loop._native is not None
    start, table = np.zeros((), np.float32), numbers(wrong)

    def stays() -> bool:
        count, value = loop._run(np.array(9000), start, table)  # whose body never runs
        return (count, value) == (9000, 0)

    assert stays()
    with pytest.raises(IndexError, match=f"position {wrong}, axis 0 has size {wrong}"):
        loop._run(np.zeros((), np.int64), start, table)
    assert stays()


def test_a_plan_with_host_steps_is_no_native_loop() -> None:
    plan = SubGraph(body_of(lambda c: ops.logcumsumexp(c, 0), 1)).plan
    assert plan.report.host_steps
    assert native_loop(plan, 1) is None


def test_what_a_native_loop_gives_is_the_callers_own() -> None:
    run = jit(lambda x: ops.fori_loop(0, 3, lambda i, c: c + 1, x), fullgraph=True)
    x = Tensor(np.zeros(3, np.float32))
    first = run(x)
    first[0] = 9.0
    np.testing.assert_array_equal(run(x).asnumpy(), [3, 3, 3])
    np.testing.assert_array_equal(x.asnumpy(), [0, 0, 0])
