"""Compiled functions: what is read and written with no name in the code, and writes of the same."""

from __future__ import annotations

import argparse
import functools
import logging
import string
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

import cellwire as cw
import pytest
from cellwire import nn


class Tracker:
    made = 0

    def __init__(self) -> None:
        self.count, self.last = 0, None

    def reset(self) -> None:
        self.__init__()


tracker = Tracker()


class Tracked:
    def __init__(self, value: Any) -> None:
        tracker.count += 1
        tracker.last = value * 2
        self.value = value


class Numbered:
    def __init__(self, value: Any) -> None:
        Tracker.made += 1
        self.value = value


class Slotted:
    __slots__ = ("factor", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.factor = value, 2.0


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y


def one() -> Any:
    return cw.Tensor([1.0])


def test_objects_that_begin_write_to_others_at_every_call() -> None:
    run = cw.jit(lambda x: Tracked(x * 3).value, fullgraph=True)
    for number in range(1, 6):
        assert run(one()).item() == 3
        assert tracker.count == number
        assert tracker.last is not None
        assert tracker.last.item() == 6
        tracker.last = None


def test_a_class_that_counts_its_objects_counts_each_once() -> None:
    run = cw.jit(lambda x: Numbered(x).value)
    with pytest.warns(cw.JitWarning, match="attributes of classes are not kept"):
        run(one())
    assert Tracker.made == 1
    run(one())
    assert Tracker.made == 2


def test_objects_with_slots_may_be_made_and_changed_inside() -> None:
    def fn(x: Any) -> Any:
        made = Slotted(x)
        made.factor += 1
        return made.value * made.factor

    run = cw.jit(fn, fullgraph=True)
    assert [run(one()).item() for _ in range(3)] == [3] * 3


def test_what_is_set_to_what_it_was_is_set_at_every_call() -> None:
    box = [1]
    state = types.SimpleNamespace(flag=True, none=None, name="a", box=box, items={"k": None})
    other = Tracker()

    def fn(x: Any) -> Any:
        state.flag, state.none, state.name, state.box = True, None, "a", box
        state.items["k"] = None
        other.reset()
        return x

    run = cw.jit(fn, fullgraph=True)
    for name in (None, "flag", "none", "name", "box", "last"):
        for _ in range(3):
            if name is not None:
                setattr(other if name == "last" else state, name, "other")
            state.items["k"] = 3 if name == "flag" else None
            run(one())
            assert (state.flag, state.none, state.name, state.box) == (True, None, "a", box)
            assert state.items == {"k": None}
            assert (other.count, other.last) == (0, None)


def test_patterns_of_classes_are_guarded() -> None:
    point = Point(0, 2.0)
    points, place = [point, Point(1, 3.0)], types.SimpleNamespace(at=point)

    def fn(t: Any, given: Any) -> Any:
        for one_of_them in points:
            match one_of_them:
                case Point(0, y):
                    t = t * y
                case Point(x=x, y=y):
                    t = t + x * y
        match place.at:
            case Point(z=z):
                return t + z
            case Point(x=0):
                return t + 100
        match given:
            case Point(x=x):
                return t + 10 * x
        return t

    run = cw.jit(fn, fullgraph=True)
    for name, value in (("x", 0), ("y", 5.0), ("x", 3), ("z", 7.0), ("z", 8.0)):
        setattr(point, name, value)
        for _ in range(3):
            assert run(one(), point).item() == fn(one(), point).item()
    points[1].x = 4
    assert run(one(), point).item() == fn(one(), point).item()


def test_a_pattern_that_looks_at_what_has_no_name_is_a_reason() -> None:
    points = [Point(0, 2.0)]

    def of_a_list(t: Any) -> Any:
        match points:
            case [Point(x=0, y=y)]:
                return t * y
        return t

    def of_either(t: Any) -> Any:
        match points[0] if len(points) == 1 else points[1]:
            case Point(x=0, y=y):
                return t * y
        return t

    for fn in (of_a_list, of_either):
        points[0].y, run = 2.0, cw.jit(fn)
        with pytest.warns(cw.JitWarning, match="class pattern reads attributes of what has no"):
            assert run(one()).item() == 2
        points[0].y = 5.0
        assert run(one()).item() == 5


def test_functions_registered_later_for_a_type_are_seen() -> None:
    @functools.singledispatch
    def chosen(by: Any, x: Any) -> Any:
        return x

    run = cw.jit(lambda x: chosen(3, x), fullgraph=True)
    assert [run(one()).item() for _ in range(3)] == [1] * 3
    chosen.register(int, lambda by, x: x * by)
    assert [run(one()).item() for _ in range(3)] == [3] * 3


def test_what_the_library_reads_of_an_object_is_guarded() -> None:
    options = argparse.Namespace()
    template, stop = string.Template("$a"), threading.Event()
    table = {"1": 1.0, "2": 2.0}

    def fn(x: Any) -> Any:
        x = x * 2 if "fast" in options else x
        x = x + table[template.substitute(a="1")]
        return x * 100 if stop.is_set() else x

    run = cw.jit(fn, fullgraph=True)
    changes: list[Callable[[], Any]] = [
        lambda: None, lambda: setattr(options, "fast", 1), lambda: delattr(options, "fast"),
        lambda: setattr(template, "template", "2"), stop.set, stop.clear,
    ]  # fmt: skip
    for change in changes:
        change()
        for _ in range(3):
            assert run(one()).item() == fn(one()).item()


def by_base(place: Any, x: Any) -> Any:
    object.__setattr__(place, "kept", x)
    return x


def by_itself(place: Any, x: Any) -> Any:
    place.__setattr__("kept", x)
    return x


def by_thread(place: Any, x: Any) -> Any:
    thread = threading.Thread(target=setattr, args=(place, "kept", x))
    thread.start()
    thread.join()
    return x


def by_level(place: Any, x: Any) -> Any:
    place.kept = x
    return x * logging.getLogger("cellwire.jit").getEffectiveLevel()


@pytest.mark.parametrize("fn", [by_base, by_itself, by_thread, by_level])
def test_what_nobody_is_told_of_is_refused(fn: Callable[..., Any]) -> None:
    place = types.SimpleNamespace(kept=None)
    run = cw.jit(lambda x: fn(place, x))
    for number in range(3):
        x = cw.Tensor([float(number)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if number else "default", cw.JitWarning)
            if number:
                run(x)
            else:
                with pytest.warns(cw.JitWarning, match="runs eagerly"):
                    run(x)
        assert place.kept is x


def test_cells_of_patterns_are_guarded() -> None:
    class Scale(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.by = 2.0

        def construct(self, x: Any) -> Any:
            match self:
                case Scale(by=by):
                    return x * by
            return x

    net = Scale()
    run = cw.jit(net, fullgraph=True)
    assert [run(one()).item() for _ in range(3)] == [2] * 3
    net.by = 3.0
    assert [run(one()).item() for _ in range(3)] == [3] * 3
