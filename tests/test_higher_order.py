"""Functions of functions by MindSpore's names: loops, maps, dispatch on types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellwire.engine.compiler  # noqa: F401 - installs the eager compiler, as users have it
import numpy as np
import pytest
from cellwire.engine import ops
from cellwire.engine.compiler import jit
from cellwire.engine.tensor import Tensor


def x_of(*values: float) -> Tensor:
    return Tensor(np.array(values, np.float32))


def eager(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def compiled(fn: Callable[..., Any]) -> Callable[..., Any]:
    return jit(fn, fullgraph=True)


HOW = pytest.mark.parametrize("how", [eager, compiled], ids=["eager", "jit"])


def test_loops_by_mindspores_names() -> None:
    assert ops.WhileLoop()(lambda x: x < 10, lambda x: x + 3, 0) == 12
    assert ops.ForiLoop()(0, 4, lambda i, total: i + total, 0) == 6
    assert ops.Scan()(lambda c, x: (c + x, c + x), 0, [1, 2, 3, 4]) == (10, [1, 3, 6, 10])
    assert ops.Scan()(lambda c, x: (c + 1, x), 0, None, 2) == (2, [None, None])
    for call, error in (
        (lambda: ops.ForiLoop()(0, 4, lambda i: i, 0), ValueError),
        (lambda: ops.ForiLoop()(0, 4, 3, 0), TypeError),
        (lambda: ops.Scan()(lambda c, x: c, 0, [1]), ValueError),
        (lambda: ops.Scan()(lambda c, x: (c, x), 0, 5), TypeError),
        (lambda: ops.Scan()(lambda c, x: (c, x), 0, [1], 2), ValueError),
        (lambda: ops.WhileLoop()(lambda x: x, lambda: 1, 0), ValueError),
    ):
        with pytest.raises(error):
            call()


@HOW
def test_maps(how: Callable[[Any], Any]) -> None:
    add = ops.MultitypeFuncGraph("add")

    @add.register("Number", "Number")
    def _(x: float, y: float) -> float:
        return x + y

    @add.register("Tensor", "Tensor")
    def _(x: Tensor, y: Tensor) -> Tensor:
        return x + y * 10

    @add.register(str, str)
    def _(x: str, y: str) -> str:
        return y + x

    x = x_of(1)
    found = how(lambda x: ops.HyperMap(add)((x, [1, (x, 2)]), (x, [3, (x, 4)])))(x)
    assert found[0].tolist() == [11]
    assert found[1][0] == 4
    assert found[1][1][0].tolist() == [11]
    assert found[1][1][1] == 6
    assert [t.tolist() for t in how(lambda x: ops.Map()(ops.square, [x, x * 2]))(x)] == [[1], [4]]
    assert add("a", "b") == "ba"
    with pytest.raises(TypeError, match="no function for"):
        add(1, "a")
    with pytest.raises(TypeError, match="no type"):
        add.register("Nothing")
    with pytest.raises(TypeError, match="tuples and lists"):
        ops.Map(ops.square)(x)
    with pytest.raises(ValueError, match="same length"):
        ops.HyperMap()(add, (1, 2), (1,))


def test_maps_from_the_last_element() -> None:
    order: list[int] = []
    assert ops.Map(lambda x: order.append(x) or x, True)((1, 2, 3)) == (1, 2, 3)
    assert order == [3, 2, 1]


def test_partial_and_depend() -> None:
    assert ops.Partial()(lambda a, b, c: (a, b, c), 1, c=3)(2) == (1, 2, 3)
    assert ops.partial(ops.add, x_of(1))(x_of(2)).tolist() == [3]
    assert ops.Depend()(x_of(1), "anything").tolist() == [1]
    assert ops.depend(x_of(1), None).tolist() == [1]
    with pytest.raises(TypeError, match="callable"):
        ops.partial(3)
