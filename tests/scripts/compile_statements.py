"""Statements in compiled functions: what MindSpore's page ``compile/statements`` names.

``raise``, ``assert``, ``pass``, ``return``, ``break``, ``continue``, ``if``, ``for``, ``while``,
``def``, ``lambda``, ``partial``, parameters of each kind, comprehensions and ``with``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cellwire as ms
import numpy as np
from cellwire import Tensor, nn, ops

HIGH, LOW = 1, -1
SPREAD = ms.tensor(np.ones((2, 3)))


class Checked(nn.Cell):
    """Refuses what is not positive."""

    @ms.jit
    def construct(self, x: Tensor, limit: Tensor) -> Tensor:
        if x <= limit:
            raise ValueError("x must be above the limit.")
        else:
            x += 1
        return x


class OneOf(nn.Cell):
    """Refuses what is none of three numbers."""

    @ms.jit
    def construct(self, x: Tensor) -> Tensor:
        assert x in [2, 3, 4]
        return x


class Grown(nn.Cell):
    """Runs loops that end early or leave turns out."""

    @ms.jit
    def construct(self, x: Any) -> Any:
        i = 0
        while i < 6:
            if i > 3:
                pass
            else:
                x = x * 1.5
            i += 1
        for step in range(8):
            if step == 2:
                continue
            if step > 3:
                x *= 3
                break
            x = x * 2
        return x


@ms.jit
def first_positive(x: Any) -> Any:
    if x > 0:
        return x
    else:
        return 0


@ms.jit
def nothing() -> None:
    inner = 3
    assert inner == 3


@ms.jit()
def branch(x: Tensor, y: Tensor) -> Any:
    out = 3
    if (x > y).any():
        out = HIGH
    else:
        out = LOW
    return out if (x > y).all() else out * 10


@ms.jit()
def summed() -> Tensor:
    total = SPREAD
    for number in (1, 2, 3):
        total += number
    for number in [1, 2]:
        total = total * number
    return total


@ms.jit()
def early(x: Any, y: Any) -> Any:
    while x < y:
        x += 1
        return HIGH
    return LOW


@ms.jit()
def climbed(x: Tensor, y: Tensor) -> Tensor:
    """A loop that tensors decide."""
    out = x
    while x < y:
        x += 1
        if x > 4:
            break
        out = added(out, x)
    return out


def added(a: Any, b: Any) -> Any:
    return a + b


@ms.jit()
def functions(x: Any, y: Any) -> Any:
    multiply = lambda a, b: a * b  # noqa: E731

    def power(base: Any, by: int = 2) -> Any:
        return base**by

    plus_two = ops.partial(added, b=2)
    return added(x, y), multiply(x, y), power(x), power(x, by=3), plus_two(x), plus_two(a=y)


@ms.jit
def parameters(x: Any, y: Any = 10, *rest: Any, scale: Any = 1, **named: Any) -> Any:
    total = (x + y) * scale
    for item in rest:
        total = total + item
    return total - named["less"] if "less" in named else total


@ms.jit()
def comprehensions(x: Tensor) -> Any:
    squares = [n * n for n in range(1, 8) if n % 2 == 0]
    kept = {name: value for name, value in [("a", 1), ("b", 2)] if value > 1}
    powers = [x**n for n in (1, 2, 3)]
    nested = [b for pair in ((1, 2), (3, 4)) for b in pair]
    return squares, kept, powers, nested, sum(n for n in squares)


@ms.jit_class
class Doubled:
    """Gives twice its number within ``with``."""

    def __init__(self) -> None:
        self.number = ms.tensor([2])

    def __enter__(self) -> Tensor:
        return self.number * 2

    def __exit__(self, *error: object) -> None:
        return None


class Within(nn.Cell):
    """Uses an object that opens and closes."""

    @ms.jit
    def construct(self) -> tuple[Tensor, Tensor]:
        result = 1
        context = Doubled()
        with context as number:
            result += number
        return result, context.number


def refused(kind: type[Exception], function: Any, *arguments: Any) -> None:
    try:
        function(*arguments)
    except kind as error:
        print(f"{kind.__name__}: {error}")
    else:
        raise RuntimeError(f"{function} did not raise {kind.__name__}")


def main(folder: Path) -> None:
    for _ in range(2):
        assert Checked()(ms.tensor(2), ms.tensor(1)) == 3
        refused(ValueError, Checked(), ms.tensor(-2), ms.tensor(-1))
        assert OneOf()(ms.tensor(3)) == 3
        refused(AssertionError, OneOf(), ms.tensor(-1))
        assert Grown()(2) == 2 * 1.5**4 * 8 * 3
        assert np.isclose(float(Grown()(ms.tensor(2.0))), 2 * 1.5**4 * 8 * 3)
        assert (first_positive(10), first_positive(-1)) == (10, 0)
        assert first_positive(ms.tensor(4)) == 4
        assert nothing() is None
        x, y = ms.tensor([1, 4], ms.int32), ms.tensor([0, 3], ms.int32)
        assert (branch(x, y), branch(y, x), branch(x, x[::-1])) == (1, -10, 10)
        assert summed().tolist() == [[14.0] * 3] * 2
        assert (early(1, 5), early(5, 1)) == (1, -1)
        assert climbed(ms.tensor(1), ms.tensor(9)) == 1 + 2 + 3 + 4
        assert climbed(ms.tensor(1), ms.tensor(3)) == 1 + 2 + 3
        assert functions(2, 5) == (7, 10, 4, 8, 4, 7)
        assert functions(ms.tensor(2), ms.tensor(5))[3] == 8
        assert parameters(1) == 11
        assert parameters(1, 2, 3, 4, scale=2, less=5) == 8
        squares, kept, powers, nested, total = comprehensions(ms.tensor([1.0, 2.0]))
        assert (squares, kept, nested, total) == ([4, 16, 36], {"b": 2}, [1, 2, 3, 4], 56)
        assert powers[2].tolist() == [1, 8]
        result, number = Within()()
        assert (result.tolist(), number.tolist()) == ([5], [2])
