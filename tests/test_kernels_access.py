"""How loops reach memory: strides, gathers, scatters, narrow elements, and nothing beside them."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes  # noqa: F401 - it makes NumPy know bfloat16
import numpy as np
import pytest
from cellwire.kernels.loops import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    Buffer,
    Function,
    Let,
    Loop,
    Store,
    Var,
    affine,
    cast,
    load,
)
from loop_functions import SHORT, X_I, X, Y, over_i, run


def test_strided_and_gathered_loads_and_strided_stores() -> None:
    labels = Buffer("labels", INT64)
    body = (
        Let("label", load(labels, affine("i"))),
        Store(
            "y",
            affine(("i", 2)),
            load(X, affine("label", ("i", (4, "s")))) + load(X, affine(offset=1)),
        ),
        Store("y", affine(("i", 2), offset=1), cast(Var("i"), FLOAT32)),
    )
    function = over_i(*body, buffers=(X, Y, labels), ints=("n", "s"))
    for n in (3, 37):
        table = np.random.default_rng(n).normal(size=(n, 8)).astype(np.float32)
        chosen = np.random.default_rng(n).integers(0, 8, n)
        out = np.zeros((n, 2), np.float32)
        for target in (None, SHORT):
            run(function, [table, out, chosen], [n, 2], target)
            expected = table[np.arange(n), chosen] + table[0, 1]
            np.testing.assert_array_equal(
                out, np.stack([expected, np.arange(n)], 1).astype(np.float32)
            )


@pytest.mark.parametrize("stride", [2, 3, 4, 5, -1])
@pytest.mark.parametrize("dtype", [FLOAT16, FLOAT32, FLOAT64, INT64, BOOL])
def test_every_stride_touches_only_its_elements(stride: int, dtype: Any) -> None:
    x, y = Buffer("x", dtype), Buffer("y", dtype)
    for n, target in product((1, 3, 16, 37), (None, SHORT)):
        start = 0 if stride > 0 else n - 1
        reach = (n - 1) * abs(stride) + 1
        at = affine(("i", stride), offset=start)
        dense, sparse = np.arange(n).astype(dtype), np.arange(reach).astype(dtype)
        for extent in (n, "n"):
            take = Loop("i", extent, (Store("y", affine("i"), load(x, at)),), True)
            out = np.zeros(n, dtype)
            run(Function("f", (x, y), ("n",), (take,)), [sparse, out], [n], target)
            np.testing.assert_array_equal(out, sparse[::stride])
            put = Loop("i", extent, (Store("y", at, load(x, affine("i"))),), True)
            out, expected = np.ones(reach, dtype), np.ones(reach, dtype)
            expected[::stride] = dense
            run(Function("f", (x, y), ("n",), (put,)), [dense, out], [n], target)
            np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("turned", [False, True], ids=["lanes first", "lanes last"])
def test_lanes_that_read_rows_of_their_own(turned: bool) -> None:
    terms = ("i", ("row", 40))
    place = affine(*(reversed(terms) if turned else terms))
    rows = Buffer("rows", INT64)
    body = (Let("row", load(rows, affine("i"))), Store("y", affine("i"), load(X, place)))
    x = np.arange(400, dtype=np.float32).reshape(10, 40)
    given = np.random.default_rng(2).integers(0, 10, 37)
    found = np.zeros(37, np.float32)
    run(over_i(*body, buffers=(X, rows, Y)), [x, given, found], [37])
    np.testing.assert_array_equal(found, x[given, np.arange(37)])


def test_half_floats_and_bools_in_memory() -> None:
    half, flags = Buffer("x", FLOAT16), Buffer("y", BOOL)
    value = cast(load(half, affine("i")), FLOAT32) * 2.0
    kept = Var("v", FLOAT32)
    body = (
        Let("v", value),
        Store("x", affine("i"), cast(kept, FLOAT16)),
        Store("y", affine("i"), kept > 1.0),
    )
    for n in (5, 40):
        data = np.linspace(-3, 3, n).astype(np.float16)
        out, flag = data.copy(), np.zeros(n, bool)
        run(over_i(*body, buffers=(half, flags)), [out, flag], [n])
        np.testing.assert_array_equal(out, data * np.float16(2))
        np.testing.assert_array_equal(flag, out > 1)


def test_a_scatter_add_runs_in_a_plain_loop() -> None:
    labels = Buffer("labels", INT64)
    add = Store("y", affine("label"), load(Y, affine("label")) + X_I)
    loop = Loop("i", "n", (Let("label", load(labels, affine("i"))), add))
    data, places = np.arange(9, dtype=np.float32), np.array([0, 2, 2, 1, 0, 0, 2, 1, 2])
    out = np.zeros(3, np.float32)
    run(Function("f", (X, Y, labels), ("n",), (loop,)), [data, out, places], [9])
    np.testing.assert_array_equal(out, np.bincount(places, data))


NARROWER = [
    ("f4", "u1"), ("f4", "i1"), ("f4", "i2"), ("f4", "f2"), ("f4", "?"), ("i4", "i1"), ("i4", "u2"),
    ("i8", "i4"), ("i8", "i2"), ("f8", "f4"), ("f8", "f2"), ("f8", "i4"), ("u2", "u1"),
    ("f4", "bfloat16"),
]  # fmt: skip


@pytest.mark.parametrize(("wide", "narrow"), NARROWER)
def test_a_tail_of_narrower_numbers_ends_where_they_end(wide: str, narrow: str) -> None:
    """Tails of every length, one lane above all, leave what follows as it was."""
    source, target = Buffer("x", np.dtype(wide)), Buffer("y", np.dtype(narrow))
    for count in range(1, 35):
        store = Store("y", affine("i"), cast(load(source, affine("i")), target.dtype))
        function = Function("f", (source, target), (), (Loop("i", count, (store,), True),))
        given = (np.arange(count) % 2).astype(source.dtype)
        room = np.full(count * target.dtype.itemsize + 64, 0xA5, np.uint8)
        run(function, (given, room))
        made = room[: count * target.dtype.itemsize].view(target.dtype)
        np.testing.assert_array_equal(made, given.astype(target.dtype))
        assert (room[count * target.dtype.itemsize :] == 0xA5).all(), count
