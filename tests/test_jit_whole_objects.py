"""Library code that reads whole objects, and containers that no guard looks into."""

from __future__ import annotations

import array
import collections
import contextvars
import copy
import dataclasses
import types
from collections.abc import Callable
from typing import Any

import pytest
from alike import alike, told_and_right


@dataclasses.dataclass
class Rates:
    first: float
    rest: list[float]


@pytest.mark.parametrize(
    "read",
    [
        lambda d: dataclasses.asdict(d)["first"],
        lambda d: dataclasses.astuple(d)[0],
        lambda d: dataclasses.replace(d, rest=[]).first,
        lambda d: copy.copy(d).first,
        lambda d: copy.deepcopy(d).first,
        lambda d: copy.deepcopy([{"d": d}])[0]["d"].first,
        lambda d: dataclasses.asdict(Outer(d))["inner"]["first"],
    ],
)
def test_functions_that_read_all_of_an_object_from_outside_are_refused(
    read: Callable[[Any], float],
) -> None:
    rates = Rates(2.0, [1.0])
    told_and_right(lambda x: x * read(rates), lambda: setattr(rates, "first", 3.0))


@dataclasses.dataclass
class Outer:
    inner: Rates


def test_copies_of_what_the_code_made_itself_are_compiled() -> None:
    def made(x: Any) -> Any:
        mine = Rates(3.0, [1.0, 2.0])
        given = dataclasses.asdict(mine)
        box = collections.UserDict(k=4.0)
        return x * given["first"] * copy.deepcopy([1.0, {"a": 2.0}])[0] * len(box)

    alike(made)


@pytest.mark.parametrize(
    ("read", "change", "held"),
    [
        (lambda c: c.get(), lambda c: c.set(5.0), contextvars.ContextVar("rate", default=1.0)),
        (sum, lambda a: a.append(7.0), array.array("f", [1.0, 2.0])),
        (len, lambda u: u.update(z=1), collections.UserDict(a=1)),
        (lambda c: c["a"], lambda c: c.update(a=4), collections.ChainMap({}, {"a": 2})),
        (lambda u: u[0], lambda u: u.insert(0, 4.0), collections.UserList([1.0])),
    ],
)
def test_containers_that_no_guard_looks_into_are_refused(
    read: Callable[[Any], Any], change: Callable[[Any], object], held: Any
) -> None:
    told_and_right(lambda x: x * read(held), lambda: change(held))


def test_views_of_dictionaries_are_refused() -> None:
    inner = {"a": 1.0}
    view = types.MappingProxyType(inner)
    told_and_right(lambda x: x * max(view.values()), lambda: inner.update(a=5.0))
