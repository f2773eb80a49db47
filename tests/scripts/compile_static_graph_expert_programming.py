"""Ways to compile better: MindSpore's page ``compile/static_graph_expert_programming``.

``lazy_inline``, ``HyperMap`` with ``MultitypeFuncGraph``, classes with the mark ``jit_class``,
``select`` in place of ``if``, ``vmap`` in place of ``for``, ``Depend``, and parameters written in
a loop.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cellwire as ms
import numpy as np
from cellwire import Parameter, Tensor, lazy_inline, nn, ops, vmap


class Block(nn.Cell):
    """A layer of which a network has many."""

    @lazy_inline
    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Dense(width, width)

    def construct(self, x: Tensor) -> Tensor:
        return x + ops.relu(self.dense(x))


class Deep(nn.Cell):
    """Layers one after another."""

    def __init__(self, layers: int, width: int) -> None:
        super().__init__()
        self.blocks = nn.CellList()
        for _ in range(layers):
            self.blocks.append(Block(width))
        self.layers = layers

    def construct(self, x: Tensor) -> Tensor:
        for i in range(self.layers):
            x = self.blocks[i](x)
        return x


square = ops.MultitypeFuncGraph("square")


@square.register("Tensor")
def square_tensor(x: Tensor) -> Tensor:
    return ops.square(x)


@square.register("Number")
def square_number(x: float) -> float:
    return x * x


class Squares(nn.Cell):
    """Maps one function over a nested tuple."""

    def __init__(self) -> None:
        super().__init__()
        self.map = ops.HyperMap(square)

    def construct(self, x: Any) -> Any:
        return self.map(x)


@ms.jit_class
class Scale:
    """Multiplies a sum."""

    base = ms.tensor([1, 2, 3])

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def act(self, x: Tensor, y: Tensor) -> Tensor:
        return self.factor * (x + y)

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        return self.act(x, y)


@ms.jit_class
class Holder:
    """Holds another such object."""

    def __init__(self, inner: Scale) -> None:
        self.inner = inner


class UsesClasses(nn.Cell):
    """Reads attributes and calls methods of marked objects, one of which it makes itself."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = Scale(2)
        self.holder = Holder(Scale(5))

    def construct(self, x: Tensor, y: Tensor) -> Any:
        own = Scale(3)
        total = self.scale.factor + self.scale.act(x, y) + self.holder.inner.factor
        return total, own(x, y), own.factor, self.holder.inner.base, own.base


@ms.jit
def with_if(x: Tensor, y: Tensor) -> Tensor:
    out = 0
    for _ in range(5):
        if x < y:
            x = x + 2 * y
        else:
            x = x - y
        out = out + x
    return out


@ms.jit
def with_select(x: Tensor, y: Tensor) -> Tensor:
    out = 0
    for _ in range(5):
        x = ops.select(x < y, x + 2 * y, x - y)
        out = out + x
    return out


def hard_swish(x: Tensor) -> Tensor:
    return ops.HSwish()(x)


@ms.jit
def row_by_row(rows: Tensor) -> Tensor:
    return ops.stack([hard_swish(rows[i]) for i in range(rows.shape[0])])


class Ordered(nn.Cell):
    """One op runs after another that gives it nothing."""

    def construct(self, x: Tensor) -> Tensor:
        first = ops.sub(x, 1)
        return ops.neg(ops.Depend()(x, first))


class Written(nn.Cell):
    """Writes a parameter and reads it, again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(np.array(0), ms.int32), name="param")

    def construct(self, x: Tensor) -> Tensor:
        out = 0
        i = 0
        while i < 4:
            ops.assign(self.weight, i)
            out = x * self.weight + out
            i = i + 1
        return out


class Derived(nn.Cell):
    """Gradients of all inputs of another Cell."""

    def __init__(self, net: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.net = net
        self.derive = ops.GradOperation(get_all=True)

    def construct(self, *inputs: Tensor) -> Any:
        return self.derive(self.net)(*inputs)


def main(folder: Path) -> None:
    batch = Tensor(np.random.randn(4, 6).astype(np.float32))
    net = Deep(3, 6)
    expected = net(batch).asnumpy()
    ms.set_context(mode=ms.GRAPH_MODE)
    assert np.allclose(net(batch).asnumpy(), expected, rtol=1e-4, atol=1e-5)

    two, (three, four) = Squares()((ms.tensor([1.0, 2.0]), (3, ms.tensor(4.0))))
    assert (two.tolist(), three, float(four)) == ([1, 4], 9, 16)

    x, y = Tensor(2, dtype=ms.int32), Tensor(3, dtype=ms.int32)
    total, called, three, base, of_class = UsesClasses()(x, y)
    assert (int(total), int(called), three) == (17, 15, 3)
    assert base.tolist() == of_class.tolist() == [1, 2, 3]
    try:
        ms.jit_class(Deep)
    except TypeError as error:
        print(error)
    else:
        raise RuntimeError("a Cell was marked")

    assert int(with_if(Tensor([0]), Tensor([1]))) == int(with_select(Tensor([0]), Tensor([1])))
    rows = Tensor((np.random.randn(20, 2) * 5).astype(np.float32))
    by_rows = row_by_row(rows).asnumpy()
    assert np.allclose(vmap(hard_swish, in_axes=(0,))(rows).asnumpy(), by_rows, rtol=1e-6)
    assert Ordered()(Tensor([1.0, 2.0])).tolist() == [-1, -2]

    written = Written()
    assert int(written(Tensor(np.array(1), ms.int32))) == 0 + 1 + 2 + 3
    assert int(written.weight) == 3
    (derived,) = Derived(written)(Tensor(np.array(1), ms.int32))
    assert int(derived) == 6
