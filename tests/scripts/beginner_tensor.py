"""Make tensors and compute with them: what MindSpore's tutorial ``beginner/tensor`` calls.

Tensors from lists, arrays, initializers and other tensors; their attributes; square brackets;
arithmetic; ``concat`` and ``stack``; to NumPy and back, sharing memory.
"""

from __future__ import annotations

from pathlib import Path

import cellwire as ms
import numpy as np
from cellwire import Tensor, ops
from cellwire.common.initializer import Normal, One


def make() -> None:
    """Ways to make a tensor."""
    scores = Tensor([3, 0, 2])
    assert (str(scores), scores.shape, scores.dtype) == ("[3 0 2]", (3,), ms.int64)
    assert Tensor(np.array([3, 0, 2], np.int16)).dtype == ms.int16
    assert Tensor(scores).tolist() == [3, 0, 2]
    assert (Tensor(2.5).dtype, Tensor(True).dtype) == (ms.float32, ms.bool_)
    assert Tensor((1.0, 2.0), dtype=ms.float16).dtype == ms.float16

    filled = ms.Tensor(shape=(2, 3), dtype=ms.float32, init=One())
    drawn = ms.Tensor(shape=(2, 3), dtype=ms.float32, init=Normal())
    assert str(filled) == "[[1. 1. 1.]\n [1. 1. 1.]]"
    assert drawn.shape == (2, 3)
    assert 0 < float(drawn.abs().max()) < 0.1  # the default deviation is 0.01

    assert ops.ones_like(scores).tolist() == [1, 1, 1]
    assert str(ops.zeros_like(scores)) == "[0 0 0]"


def look() -> None:
    """What a tensor says of itself, and its parts."""
    table = Tensor(np.arange(6).reshape(2, 3), ms.int32)
    print("dtype:", table.dtype)
    assert str(table.dtype) == "Int32"
    assert (table.shape, table.ndim, table.size) == ((2, 3), 2, 6)
    assert (table.itemsize, table.nbytes, table.strides) == (4, 24, (12, 4))

    assert table[1].tolist() == [3, 4, 5]
    assert table[1, 2] == 5
    assert str(table[:, -1]) == "[2 5]"
    assert f"{table[..., 0]}" == "[0 3]"


def compute() -> None:
    """Arithmetic, and putting tensors together."""
    a = Tensor(np.array([2, 3, 4]), ms.float32)
    b = Tensor(np.array([7, 8, 9]), ms.float32)
    assert str(a + b) == "[ 9. 11. 13.]"
    assert (a - b).tolist() == [-5, -5, -5]
    assert (a * b).tolist() == [14, 24, 36]
    assert np.allclose((b / a).asnumpy(), [3.5, 8 / 3, 2.25])
    assert (b % a).tolist() == [1, 2, 1]
    assert (b // a).tolist() == [3, 2, 2]

    long = ops.concat((a, b), axis=0)
    tall = ops.stack([a, b])
    assert (long.shape, tall.shape) == ((6,), (2, 3))
    assert tall[1].tolist() == b.tolist()


def convert() -> None:
    """Arrays and tensors share their memory."""
    ones = ops.ones(4, ms.float32)
    array = ones.asnumpy()
    assert isinstance(array, np.ndarray)
    values = np.ones(4)
    shared = Tensor.from_numpy(values)
    np.add(values, 1, out=values)
    assert str(shared) == "[2. 2. 2. 2.]"


def main(folder: Path) -> None:
    make()
    look()
    compute()
    convert()
