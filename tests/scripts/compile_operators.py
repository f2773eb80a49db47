"""Operators in compiled functions: what MindSpore's page ``compile/operators`` names.

Each operator on tensors, numbers, tuples, lists and strings, as in Python itself; compiled code
must say what Python says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cellwire as ms
import numpy as np
from cellwire import Tensor, ops

A = Tensor([7, -3, 2], ms.int32)
B = Tensor([2, 2, 3], ms.int32)
F = Tensor([0.5, 2.0, -1.5], ms.float32)


@ms.jit
def unary(a: Tensor, f: Tensor) -> Any:
    return +a, -f, ~(a > 0)


@ms.jit
def arithmetic(a: Tensor, b: Tensor) -> Any:
    return a + b, a - b, a * b, a / b, a % b, a // b, b ** a.abs()


@ms.jit
def bits(a: Tensor, b: Tensor) -> Any:
    return a & b, a | b, a ^ b, a & 1, 6 | b, 5 & 3, 5 | 3, 5 ^ 3, 1 << 4, 64 >> 2


@ms.jit
def mixed(f: Tensor, n: Any, pair: Any) -> Any:
    with_number = f + n, n - f, f * n, n / f, f % n, f // n, f**2, 2**f
    three = (1, 2, 3)
    with_sequence = f + three, [1, 2, 3] - f, f * [1, 2, 3], three / f, pair + three
    return with_number, with_sequence


@ms.jit
def sequences(x: Any, word: str) -> Any:
    row = [1]
    return x + x, x * 2, [x] * 2 + row, word + "wire", 3 * word, row + row


@ms.jit
def products(m: Tensor) -> Any:
    n = m @ m
    n @= m
    return n


@ms.jit
def assigned(f: Tensor, k: int) -> Any:
    out = f
    out += k
    out -= 1
    out *= f
    out /= 2
    out **= 2
    out //= 0.5
    out %= 5
    bit = k
    bit <<= 2
    bit |= 1
    bit &= 7
    bit ^= 2
    bit >>= 1
    text = "a"
    text += "b"
    row = [1]
    row *= 2
    row += [k]
    return out, bit, text, row


@ms.jit
def logic(flag: Any, x: Tensor, nothing: Any) -> Any:
    one = x.sum() > 0
    return flag and x, nothing or x, not flag, not one, one and x.max() > 1, flag or nothing


@ms.jit
def compared(a: Tensor, b: Tensor, n: int, word: str) -> Any:
    tensors = a < b, a <= b, a > b, a >= b, a == b, a != b, a > n, n >= a
    members = n in (1, 2), n not in [1, 2], word in {"x": 1}, word in ("x", "y"), a[0] in (7, 8)
    kinds = word is None, word is not None, a.dtype == b.dtype, a.dtype != ms.float32
    return tensors, members, kinds, (1, n) == (1, 2), [n] != [2], word == "x", n < 3


def same(compiled: Any, expected: Any) -> None:
    """Both are equal, part by part."""
    if isinstance(expected, tuple | list):
        assert type(compiled) is type(expected)
        assert len(compiled) == len(expected)
        for one, other in zip(compiled, expected, strict=True):
            same(one, other)
    elif isinstance(expected, Tensor):
        assert compiled.dtype == expected.dtype
        assert np.allclose(compiled.asnumpy(), expected.asnumpy(), equal_nan=True)
    else:
        assert compiled == expected


def main(folder: Path) -> None:
    matrix = Tensor([[1.0, 2.0], [0.0, 1.0]])
    calls = [
        (unary, (A, F)),
        (arithmetic, (A, B)),
        (bits, (A, B)),
        (mixed, (F, 3, (1, 2))),
        (sequences, ((1, 2, 3), "cell")),
        (products, (matrix,)),
        (assigned, (F, 3)),
        (logic, (True, F, None)),
        (logic, (False, A, 0)),
        (compared, (A, B, 2, "x")),
    ]
    for function, arguments in calls:
        expected = function.__wrapped__(*arguments)
        for _ in range(2):
            same(function(*arguments), expected)
    assert arithmetic(A, B)[3].dtype == ms.float32
    assert products(matrix).tolist() == [[1, 6], [0, 1]]
    assert ops.is_tensor(unary(A, F)[2])
