"""What compiled code may hold: MindSpore's page ``compile/static_graph``.

Constants and variables, numbers, strings, lists, tuples, dictionaries, ``None``, tensors,
primitives, Cells and parameters; attributes that are set; gradients; NumPy, SciPy and classes of
one's own. Where a graph cannot hold it, the function runs eagerly; the results are Python's.
"""
# ruff: noqa: C408

from __future__ import annotations

from pathlib import Path
from typing import Any

import cellwire as ms
import numpy as np
from cellwire import Parameter, Tensor, nn, ops
from scipy import linalg

NUMBERS = [1, 2, 3, 4]
NAMED = {"a": ms.tensor([1, 2, 3]), "b": ms.tensor([4, 5, 6])}


class Given(nn.Cell):
    """Gives back constants, tensors, and what ``mutable`` marks."""

    @ms.jit
    def construct(self, a: Any, b: Any, c: Any) -> Any:
        made = ms.tensor([1, 2, 3]) + ms.tensor([1, 1, 1])
        changing = ms.mutable((ms.tensor([1]), ms.tensor([2])))
        return a, b, c, made, ms.mutable(ms.tensor([3])), changing[0] + changing[1]


class Added(nn.Cell):
    """Adds numbers or tensors."""

    @ms.jit
    def construct(self, x: Any, y: Any) -> Any:
        return x + y


class Words(nn.Cell):
    """Takes strings apart and puts them together."""

    @ms.jit
    def construct(self) -> Any:
        first, second = "Node!", "Cellwire"
        told = "{} is {}".format("string", str(123))
        return first[0], second[4:], first + second, second * 2, "N" in first, "%s!" % second, told  # noqa: UP031


class Lists(nn.Cell):
    """Changes lists in each way that lists can be changed."""

    @ms.jit
    def construct(self, given: Any) -> Any:
        x = [[0, 1], 2, 3, 4]
        x[1] = 10
        x[2] = "ok"
        x[0][1] = 88
        x.append(5)
        x.extend((6, "a"))
        x.insert(3, 7)
        last = x.pop()
        x.reverse()
        parts = [1]
        parts.extend(ms.tensor([4, 5]))
        empty = [1]
        empty.clear()
        return x, last, parts, empty, x[1:3:1], given, [x[-1], (4, 5)], given[ms.tensor(1)]


class Tuples(nn.Cell):
    """Takes tuples apart, and Cells out of them."""

    def __init__(self) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.softmax = nn.Softmax()
        self.layers = (self.relu, self.softmax)

    @ms.jit
    def construct(self, x: Tensor, which: int) -> Any:
        row = (1, (2, 3, 4), 3, x)
        return (
            row[1][1],
            row[3],
            row[1:3],
            row[-3],
            row[1] + (5,),
            (1, 2) * 2,
            self.layers[which](x),
        )


class Dictionaries(nn.Cell):
    """Reads and changes a dictionary of its own."""

    @ms.jit
    def construct(self, x: Tensor) -> Any:
        named = {"a": x, "b": 2}
        keys, values, items = tuple(named.keys()), tuple(named.values()), list(named.items())
        named.update({"b": 3})
        named["c"] = (2, 3, 4)
        made = dict.fromkeys("wx", 0)
        return keys, values[1], items[1], named.get("z"), named, "a" in named, made, dict(y=keys)


class Nothing(nn.Cell):
    """Takes and gives None."""

    @ms.jit
    def construct(self, x: Tensor, y: Any = None) -> Any:
        if y is not None:
            return x, "given", y
        return x, "none", y


class Total(nn.Cell):
    """A primitive and a tensor made in ``construct``, and one made before."""

    def __init__(self) -> None:
        super().__init__()
        self.matmul = ops.MatMul()

    @ms.jit
    def construct(self, x: Tensor, y: Tensor) -> Any:
        total = ops.ReduceSum(True)(x, axis=1)
        return self.matmul(x, y), total, ms.tensor(total, dtype=ms.float16), int(11.1)


class FromArray(nn.Cell):
    """Makes a tensor of an array that it is given."""

    @ms.jit
    def construct(self, x: Any) -> Tensor:
        return ms.tensor(x, dtype=ms.float32) + 1


class Replaced(nn.Cell):
    """Puts a tensor in its parameter's place."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(ms.tensor(3, ms.float32), name="w")

    @ms.jit
    def construct(self, x: Tensor) -> Tensor:
        self.weight = x
        return self.weight * 2


class Kept(nn.Cell):
    """A parameter that is written, and a number that is read."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(ms.tensor(3, ms.float32), name="w")
        self.length = 1

    @ms.jit
    def construct(self, x: Tensor) -> Tensor:
        ops.assign(self.weight, x)
        return x + self.length


class Sum(nn.Cell):
    """A sum of three, of which one may be no tensor."""

    def construct(self, x: Any, y: Any, z: Any) -> Any:
        return x + y + z


class Derived(nn.Cell):
    """The gradients of another Cell."""

    def __init__(self, net: nn.Cell) -> None:
        super().__init__()
        self.net = net

    @ms.jit
    def construct(self, x: Any, y: Any, z: Any) -> Any:
        return ms.grad(self.net, grad_position=(0, 1, 2))(x, y, z)


class Nested(nn.Cell):
    """Gives tensors deep in containers."""

    @ms.jit
    def construct(self, a: Tensor) -> Any:
        return a, ({"a": a, "b": 2}, (1, 2))


class Method(nn.Cell):
    """Calls a method of its class."""

    @classmethod
    def times(cls, x: Any, y: Any) -> Any:
        return x * y

    @ms.jit
    def construct(self, x: Any, y: Any) -> Any:
        return self.times(x, y)


class Missing(nn.Cell):
    """Reads what it has not."""

    @ms.jit
    def construct(self, x: Any) -> Any:
        return x + self.nowhere


class Settings:
    """A class of one's own, without any mark."""

    def __init__(self) -> None:
        self.size = 99
        self.step = 1

    def next_size(self, x: int) -> int:
        return x + self.step


class UsesSettings(nn.Cell):
    """Reads attributes and calls a method of such an object."""

    def __init__(self) -> None:
        super().__init__()
        self.settings = Settings()

    @ms.jit
    def construct(self, x: Tensor) -> Any:
        return x + self.settings.next_size(self.settings.size), (None, 1) in ((None, 1), 2)


SETTINGS = Settings()


@ms.jit
def reverses() -> list[int]:
    NUMBERS.reverse()
    return NUMBERS


@ms.jit
def sets_attributes() -> None:
    SETTINGS.size = 100


@ms.jit
def with_arrays(x: Tensor) -> Any:
    both = np.array([1, 2, 3]) + x.asnumpy()
    both[0] += 1
    if both[0] <= 3:
        both[1] = 0
    both.shape = (3, 1)
    return ms.tensor(both, dtype=ms.float32), linalg.qr([[1, 2], [3, 4]])[0].shape


@ms.jit
def tries(x: Any, y: Any) -> Any:
    try:
        return x / y
    except ZeroDivisionError:
        return "divided by zero"


class Remembers(nn.Cell):
    """Sets an attribute of itself in compiled code."""

    def __init__(self) -> None:
        super().__init__()
        self.last = 1

    @ms.jit(capture_mode="bytecode")
    def construct(self, x: Tensor) -> Tensor:
        self.last = x + 1
        return self.last


def values_in_graphs() -> None:
    a, b, c, made, three, both = Given()(1, [1, 2], ("x", ms.tensor([9])))
    assert (a, b, c[0], c[1].tolist()) == (1, [1, 2], "x", [9])
    assert (made.tolist(), three.tolist(), both.tolist()) == ([2, 3, 4], [3], [3])
    assert Added()(ms.mutable(1), ms.mutable(2)) == 3
    assert Added()(ms.tensor([1]), ms.tensor([2])).tolist() == [3]
    expected = ("N", "wire", "Node!Cellwire", "CellwireCellwire", True, "Cellwire!")
    assert Words()() == (*expected, "string is 123")

    x, last, parts, empty, middle, given, rest, second = Lists()(NUMBERS)
    assert x == [6, 5, 4, 7, "ok", 10, [0, 88]]
    assert (last, empty, middle, given, second) == ("a", [], [5, 4], NUMBERS, 2)
    assert [int(part) for part in parts] == [1, 4, 5]
    assert rest == [[0, 88], (4, 5)]
    vector = ms.tensor([-1.0, 0.0])
    for which, shown in ((0, [0, 0]), (1, nn.Softmax()(vector).tolist())):
        three, same, part, inner, longer, twice, out = Tuples()(vector, which)
        assert (three, part, inner) == (3, ((2, 3, 4), 3), (2, 3, 4))
        assert (longer, twice, same.tolist()) == ((2, 3, 4, 5), (1, 2, 1, 2), [-1, 0])
        assert np.allclose(out.asnumpy(), shown)
    keys, two, item, none, named, member, made, again = Dictionaries()(vector)
    assert (keys, two, item, none, member) == (("a", "b"), 2, ("b", 2), None, True)
    assert (list(named), named["b"], named["c"]) == (["a", "b", "c"], 3, (2, 3, 4))
    assert (made, again) == ({"w": 0, "x": 0}, {"y": ("a", "b")})
    assert Nothing()(vector)[1:] == ("none", None)
    assert Nothing()(vector, 4)[1:] == ("given", 4)


def cells_in_graphs() -> None:
    product, total, half, eleven = Total()(ops.ones((1, 3)), ops.ones((3, 4)))
    assert (product.tolist(), total.tolist(), eleven) == ([[3, 3, 3, 3]], [[3]], 11)
    assert half.dtype == ms.float16
    assert FromArray()(np.array([0, 1])).tolist() == [1, 2]
    replaced = Replaced()
    assert (int(replaced(ms.tensor(5.0))), int(replaced.weight)) == (10, 5)
    assert isinstance(replaced.weight, Parameter)
    net = Kept()
    assert net(ms.tensor(5.0)) == 6
    assert net.weight == 5
    net.length = 2  # MindSpore would go on adding 1
    assert net(ms.tensor(5.0)) == 7

    grads = Derived(Sum())(ms.tensor([1]), 2, ms.tensor([3]))
    assert [grad.tolist() for grad in grads] == [[1], [1]]
    assert ms.grad(Nested())(ms.tensor([1])).tolist() == [2]
    assert Method()(ms.tensor(2), ms.tensor(3)) == 6
    try:
        Missing()(ms.tensor(1))
    except AttributeError as error:
        print(error)
    else:
        raise RuntimeError("an attribute that is missing was read")
    out, member = UsesSettings()(ms.tensor(1))
    assert (int(out), member) == (101, True)


def beyond_graphs() -> None:
    assert reverses() is NUMBERS
    assert NUMBERS == [4, 3, 2, 1]
    reverses()
    sets_attributes()
    assert SETTINGS.size == 100
    column, shape = with_arrays(ms.tensor([1, 1, 1]))
    assert (column.tolist(), column.dtype, shape) == ([[3], [0], [4]], ms.float32, (2, 2))
    assert (tries(1, 0), tries(1, 2)) == ("divided by zero", 0.5)
    net = Remembers()
    assert net(ms.tensor([1, 2])).tolist() == [2, 3]
    assert net.last.tolist() == [2, 3]


def main(folder: Path) -> None:
    for _ in range(2):
        values_in_graphs()
        cells_in_graphs()
        beyond_graphs()
