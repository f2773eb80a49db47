"""Python's functions in compiled ones: MindSpore's page ``compile/python_builtin_functions``.

Each function that the page names is called on constants and on tensors. What reads a tensor's
numbers in the middle of a function (``int``, ``str``, ``asnumpy``) lets it run eagerly.
"""
# ruff: noqa: B009, B905, C406, C408, C409, C410, RUF057, SIM103, UP003, UP008, UP018
# the calls are those that the page names

from __future__ import annotations

from pathlib import Path
from typing import Any

import cellwire as ms
import numpy as np
from cellwire import Tensor, nn

TABLE = ms.tensor(np.ones((6, 4, 5)))
ROWS = ms.tensor(np.array([[1, 2], [3, 4], [5, 6]]))


@ms.jit_class
class Settings:
    """Has one number."""

    def __init__(self) -> None:
        self.width = 8


SETTINGS = Settings()


@ms.jit
def numbers(x: Tensor) -> Any:
    constants = int(3.6), int("12", 16), int("0xa", 16), float(1), float("12.5"), bool(), bool("a")
    return constants, int(x), float(x.asnumpy()[0]), bool(x.asnumpy())


@ms.jit
def texts() -> Any:
    return str(), str(0), str([1, 2]), str(ms.tensor([10])), str(np.array([1, 2]))


@ms.jit
def sequences(x: Tensor) -> Any:
    names = {"a": 1, "b": 2}
    return tuple([1, 2]), tuple(x), list((1, 2)), list(names), list(x), tuple(names)


@ms.jit
def dictionaries() -> Any:
    return dict(), dict(a="a", b=2), dict(zip(["one", "two"], [1, 2])), dict([("x", 1)])


@ms.jit
def attributes(x: Tensor) -> Any:
    found = getattr(SETTINGS, "width"), getattr(SETTINGS, "height", 2)
    return found, hasattr(SETTINGS, "width"), hasattr(SETTINGS, "height"), getattr(x, "shape")


@ms.jit
def lengths(x: Tensor) -> Any:
    return len((2, 3)), len([2, 3, 4]), len({"a": 2}), len(TABLE), len(x), len("wire")


@ms.jit
def kinds(x: Tensor) -> Any:
    are = isinstance((1,), tuple), isinstance(x, ms.Tensor), isinstance(3, (str, float))
    return are, type(1), type(1.5), type([1]), type((1,)), type({"a": 1}), type(x)


@ms.jit
def truths() -> Any:
    every = all(["a", "b"]), all(["a", ""]), all((1, 2)), all([]), all(())
    some = any(["a", ""]), any([0, "", False]), any((0, 1)), any([]), any(())
    return every, some


@ms.jit
def rounded(x: Tensor) -> Any:
    return round(10), round(10.567), round(10.72, -1), round(10.17, 1), round(x)


@ms.jit
def extremes(x: Tensor) -> Any:
    high = max([0, 3, 2]), max((1, 2), (1, 4)), max({1: 10, 2: 3}), max("a", "c"), max(2, 5, 3)
    low = min([0, 3, 2]), min((1, 2), (1, 4)), min({1: 10, 2: 3}), min("a", "c"), min(2, 5, 3)
    return high, low, max(x), min(x)


@ms.jit
def sums(x: Tensor) -> Any:
    return sum([0, 1, 2]), sum((0, 1, 2), 10), sum(x, 10), sum(ROWS), sum([1, x, x])


@ms.jit
def absolute(x: Tensor) -> Any:
    return abs(-45), abs(10.5), abs(x)


def plus(x: Any, y: Any) -> Any:
    return x + y


def is_odd(x: Any) -> bool:
    if x % 2:
        return True
    return False


@ms.jit()
def mapped() -> Any:
    sums = tuple(map(plus, (1, 2, 3), (4, 5, 6)))
    pairs = tuple(zip((1, 2, 3), (4, 5, 6)))
    return sums, pairs, list(filter(is_odd, (1, 2, 3))), list(filter(is_odd, [6, 7, 9]))


@ms.jit()
def counted() -> Any:
    ranges = tuple(range(0, 6, 2)), tuple(range(1, 4)), tuple(range(3))
    return ranges, tuple(enumerate((100, 200), 3)), [(i, row.sum()) for i, row in enumerate(ROWS)]


@ms.jit
def of_arrays(x: Tensor) -> Any:
    array = x.asnumpy()
    told = isinstance(array, np.ndarray), hasattr(array, "__len__"), len(array), all(array > 0)
    return told, any(array > 0), max(array), min(array), sum(array), abs(array), tuple(array)


@ms.jit()
def powers(x: Tensor, y: Tensor) -> Any:
    return pow(x, y), pow(x, 2), pow(2, 3)


@ms.jit
def printed(x: Tensor) -> Tensor:
    print("x is", x)
    return x


class Parent(nn.Cell):
    """Multiplies and adds."""

    def __init__(self, factor: int) -> None:
        super().__init__()
        self.factor = factor

    def construct(self, x: Any, y: Any) -> Any:
        return self.factor * x

    def plus_factor(self, x: Any) -> Any:
        return self.factor + x


class Child(Parent):
    """Uses what its parent can."""

    @ms.jit
    def construct(self, x: Any, y: Any) -> Any:
        return super().construct(x, y), super(Child, self).plus_factor(x)


def main(folder: Path) -> None:
    x = ms.tensor([3, -1, 2])
    for _ in range(2):
        constants, whole, broken, truth = numbers(ms.tensor([-1.0], ms.float32))
        assert constants == (3, 18, 10, 1.0, 12.5, False, True)
        assert (whole, broken, truth) == (-1, -1.0, True)
        assert texts() == ("", "0", "[1, 2]", "[10]", "[1 2]")
        two, parts, pair, keys, items, names = sequences(x)
        assert (two, pair, keys, names) == ((1, 2), [1, 2], ["a", "b"], ("a", "b"))
        assert [int(part) for part in parts] == [int(item) for item in items] == [3, -1, 2]
        assert dictionaries() == ({}, {"a": "a", "b": 2}, {"one": 1, "two": 2}, {"x": 1})
        assert attributes(x) == ((8, 2), True, False, (3,))
        assert lengths(x) == (2, 3, 1, 6, 3, 4)
        assert kinds(x) == ((True, True, False), int, float, list, tuple, dict, Tensor)
        every, some = truths()
        assert every == (True, False, True, True, True)
        assert some == (True, False, True, False, False)
        assert rounded(x)[:4] == (10, 11, 10.0, 10.2)
        high, low, top, bottom = extremes(x)
        assert (high, top) == ((3, (1, 4), 2, "c", 5), 3)
        assert (low, bottom) == ((0, (1, 2), 1, "a", 2), -1)
        plain, more, of_tensor, of_rows, of_all = sums(x)
        assert (plain, more, of_tensor) == (3, 13, 14)
        assert (of_rows.tolist(), of_all.tolist()) == ([9, 12], [7, -1, 5])
        assert absolute(x)[:2] == (45, 10.5)
        assert absolute(x)[2].tolist() == [3, 1, 2]
        assert mapped() == ((5, 7, 9), ((1, 4), (2, 5), (3, 6)), [1, 3], [7, 9])
        ranges, numbered, row_sums = counted()
        assert ranges == ((0, 2, 4), (1, 2, 3), (0, 1, 2))
        assert numbered == ((3, 100), (4, 200))
        assert [(i, int(total)) for i, total in row_sums] == [(0, 3), (1, 7), (2, 11)]
        told, some, most, least, total, sizes, parts = of_arrays(x)
        assert (told, some) == ((True, True, 3, False), True)
        assert (most, least, total, sizes.tolist(), parts) == (3, -1, 4, [3, 1, 2], (3, -1, 2))
        raised, squared, eight = powers(x, ms.tensor([2, 2, 3]))
        assert (raised.tolist(), squared.tolist(), eight) == ([9, 1, 8], [9, 1, 4], 8)
        assert printed(x).tolist() == x.tolist()
        assert Child(3)(3, 6) == (9, 6)
