"""Compiled functions: variables of functions around, containers of other classes, names."""

from __future__ import annotations

import warnings
from collections import Counter, namedtuple
from typing import Any

import cellwire as cw
import pytest
from cellwire import nn


class Sized(list[Any]):
    """A list that may have an attribute."""

    scale = 1.0


class Pair(tuple[Any, ...]):
    """A tuple with a method."""

    def first(self) -> Any:
        return self[0]


class Noted(namedtuple("Noted", "value more")):
    """A named tuple that is made in another way than its items say."""

    note: int

    def __new__(cls, value: Any, note: int) -> Noted:
        made = super().__new__(cls, value, None)
        made.note = note
        return made


def test_a_variable_of_the_function_around_is_counted_by_the_first_function_entered() -> None:
    count, latest = 0, None

    def fn(x: Any) -> Any:
        nonlocal count, latest
        count += 1
        latest = x * count
        return latest + 1

    run, x = cw.jit(fn, fullgraph=True), cw.Tensor([2.0])
    for number in (1, 2, 3, 4, 10, 11):
        if number == 10:
            count = 9
        assert run(x).item() == 2 * number + 1
        assert count == number
        assert latest is not None
        assert latest.item() == 2 * number


def test_a_variable_of_the_function_around_may_have_no_value_yet() -> None:
    def fn(x: Any) -> Any:
        try:
            return x * factor
        except NameError:
            return x

    run, x = cw.jit(fn), cw.Tensor([2.0])
    with pytest.warns(cw.JitWarning, match="'factor', a variable of the function around, has no"):
        assert run(x).item() == 2
    factor = 3
    assert run(x).item() == 6


def test_counters_and_tuples_of_other_classes_are_given_and_returned_as_they_are() -> None:
    def fn(pair: Any, counts: Any) -> Any:
        return Pair((pair.first() * counts["a"], counts)), Counter(counts)

    run, x = cw.jit(fn, fullgraph=True), cw.Tensor([2.0])
    for _ in range(4):
        made, counts = run(Pair((x, x)), Counter(a=3))
        assert type(made) is Pair
        assert made.first().item() == 6
        assert made[1] == counts == {"a": 3}
        assert type(made[1]) is type(counts) is Counter


def test_attributes_of_containers_are_not_compiled_in() -> None:
    run = cw.jit(lambda given: given[0] * given.scale)
    for scale in (1.0, 2.0, 3.0, 3.0):
        given = Sized([cw.Tensor([2.0])])
        given.scale = scale
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cw.JitWarning)
            assert run(given).item() == 2 * scale
    with pytest.warns(cw.JitWarning, match="a Noted, which a graph cannot make"):
        assert cw.jit(lambda x: Noted(x, 7))(cw.Tensor([2.0])).note == 7


def test_names_and_flags_of_parameters_are_watched_wherever_they_are_read() -> None:
    several = tuple(cw.Parameter(cw.Tensor([1.0]), name=f"part{i}") for i in range(1100))

    def fn(x: Any) -> Any:
        for part in several[:3]:
            if part.name.endswith("9"):
                x = x + 10
            if not part.requires_grad:
                x = x + 100
            if part.layerwise_parallel:
                x = x + 1000
        return x

    run, x = cw.jit(fn, fullgraph=True), cw.Tensor([2.0])
    assert [run(x).item() for _ in range(3)] == [2] * 3
    several[1].name = "part9"
    assert [run(x).item() for _ in range(3)] == [12] * 3
    several[2].requires_grad = False
    assert [run(x).item() for _ in range(3)] == [112] * 3
    several[0].layerwise_parallel = True
    assert [run(x).item() for _ in range(3)] == [1112] * 3
    several[1].name = "part1"
    assert [run(x).item() for _ in range(3)] == [1102] * 3


def test_a_tensor_that_a_call_replaces_is_handed_on_itself() -> None:
    class Place:
        held = cw.Tensor([0.0])

    place = Place()
    place.held = first = cw.Tensor([1.0])

    def fn(x: Any) -> Any:
        before, place.held = place.held, x
        return before, before + x

    run = cw.jit(fn, fullgraph=True)
    for _ in range(5):
        x = cw.Tensor([2.0])
        before, both = run(x)
        assert before is first
        assert place.held is x
        assert both.item() == before.item() + 2
        first = x


def test_parameters_and_buffers_put_in_the_place_of_others_are_listed() -> None:
    net = nn.SequentialCell(nn.Dense(2, 2, weight_init="ones", has_bias=False))
    run = cw.jit(lambda: sum(p.sum() for p in net.get_parameters()), fullgraph=True)
    assert [run().item() for _ in range(3)] == [4] * 3
    net[0].weight = cw.Parameter(cw.Tensor([[5.0, 1.0]]), name="other")
    assert [run().item() for _ in range(3)] == [6] * 3

    net.register_buffer("scale", cw.Tensor([2.0]))
    run = cw.jit(lambda: sum(b.sum() for b in net.buffers()), fullgraph=True)
    assert [run().item() for _ in range(3)] == [2] * 3
    net.scale = cw.Tensor([3.0])
    assert [run().item() for _ in range(3)] == [3] * 3
