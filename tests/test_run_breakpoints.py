"""Breakpoints: the condition language, counts, and what an unreadable condition says."""

import numpy as np
import pytest
from cellwire.engine.run.breakpoints import Breakpoint, Breakpoints
from cellwire.engine.run.conditions import Arrival, ConditionError, holds, parse_condition
from cellwire.engine.run.graph import Edge
from cellwire.engine.run.inspect import statistics

EDGE = Edge("relu", "x")


def true_of(text: str, array: object, hit: int = 1, **changes: bool) -> bool:
    return holds(parse_condition(text), Arrival(statistics(np.asarray(array)), hit, **changes))


@pytest.mark.parametrize(
    ("text", "array", "expected"),
    [
        ("", [1.0], True),
        ("always", [1.0], True),
        ("nan", [1.0, np.nan], True),
        ("nan", [1.0, np.inf], False),
        ("inf", [1.0, -np.inf], True),
        ("nan or inf", [np.inf], True),
        ("not nan", [1.0], True),
        ("absmax > 100", [-101.0, 3.0], True),
        ("absmax > 100", [-100.0, 3.0], False),
        ("absmax > 1e3", [1001], True),
        ("mean > 1 and std < 0.1", [2.0, 2.0], True),
        ("mean > 1 and std < 0.1", [1.0, 3.0], False),
        ("zeros >= 50", [0, 1, 0, 2], True),
        ("size == 4", [0, 1, 0, 2], True),
        ("max - min > 2 * std", [0.0, 1.0, 2.0], True),
        ("-min == 3", [-3, 5], True),
        ("not (mean > 1 or nan)", [0.5], True),
        ("mean > 0", [], False),
        ("mean < 1", [np.nan, np.nan], False),
        ("mean / zeros > 1", [1.0], False),
    ],
)
def test_a_condition_is_judged_on_the_statistics(
    text: str, array: list[float], expected: bool
) -> None:
    assert true_of(text, array) is expected


def test_and_binds_tighter_than_or_and_not_tighter_than_and() -> None:
    assert true_of("mean > 0 or nan and inf", [1.0])
    assert not true_of("not mean > 0 and nan", [-1.0])


def test_hit_counts_arrivals() -> None:
    assert [true_of("hit % 10 == 0", [1.0], hit) for hit in (9, 10, 20)] == [False, True, True]


def test_changes_of_shape_and_dtype() -> None:
    assert true_of("shape changed", [1.0], shape_changed=True)
    assert not true_of("shape changed or dtype changed", [1.0])


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("mean", 0, "a comparison is missing"),
        ("mean >", 6, "found the end"),
        ("mean > 1)", 8, "unexpected ')'"),
        ("(mean > 1", 9, "expected ')'"),
        ("median > 1", 0, "found 'median'"),
        ("mean > $", 7, "unexpected '$'"),
        ("shape > 1", 6, "expected 'changed'"),
        ("nan > (inf or nan)", 6, "expected a number"),
        ("__import__('os')", 0, "unexpected"),
        ("mean > 1 and 2", 13, "a comparison is missing"),
    ],
)
def test_an_unreadable_condition_says_where_and_what_is_allowed(
    text: str, position: int, problem: str
) -> None:
    with pytest.raises(ConditionError) as caught:
        parse_condition(text)
    assert problem in str(caught.value)
    assert "absmax" in str(caught.value)
    if text != "__import__('os')":
        assert caught.value.position == position


def test_counts_grow_and_survive_an_edit_of_another_breakpoint() -> None:
    odd = Breakpoint(EDGE, "hit % 2 == 1")
    points = Breakpoints([odd])
    hits = [len(points.check(EDGE, np.ones(2))) for _ in range(4)]
    assert hits == [1, 0, 1, 0]
    points.replace([odd, Breakpoint(Edge("relu", "y"))])
    assert points.counts()[0] == (odd, 4, 2)
    assert points.check(EDGE, np.ones(2))[0].count == 3


def test_shape_change_is_seen_from_the_second_arrival() -> None:
    points = Breakpoints([Breakpoint(EDGE, "shape changed")])
    shapes = [(2,), (2,), (3,), (3,)]
    assert [len(points.check(EDGE, np.ones(shape))) for shape in shapes] == [0, 0, 1, 0]


def test_disabled_and_other_directions_are_not_hit() -> None:
    points = Breakpoints([Breakpoint(EDGE, enabled=False), Breakpoint(EDGE, direction="gradient")])
    assert points.check(EDGE, np.ones(1)) == ()
    assert len(points.check(EDGE, np.ones(1), "gradient")) == 1
    assert points.watched() == set()
    assert points.watched("gradient") == {EDGE}
