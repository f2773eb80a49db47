"""Symbolic sizes, broadcasting and abstract values."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from cellwire.engine.dtype import float32
from cellwire.engine.shape import (
    Aval,
    Dim,
    ShapeError,
    SymDim,
    broadcast_shapes,
    element_count,
    evaluate,
    substitute,
    symbols_of,
)
from hypothesis import given
from hypothesis import strategies as st

N, M = SymDim("N"), SymDim("M")


def test_equal_polynomials_are_equal_and_hash_alike() -> None:
    assert (N + 1) * (N - 1) == N * N - 1
    assert hash(N * 2 + M) == hash(M + N + N)
    assert N - N == 0
    assert (N * 4 - N * 3) == N
    assert pickle.loads(pickle.dumps(N * 3 + 1)) == N * 3 + 1


def test_quotients_are_exact_or_named() -> None:
    assert (N * 64) // 32 == N * 2
    assert (N * 64) // N == 64
    assert (N * 4 + 8) // (N + 2) == 4
    half = (N - 3) // 2 + 1
    assert str(half) == "(N-3)//2+1"
    assert half == (N - 3) // 2 + 1
    assert evaluate(half, {"N": 9}) == 4
    assert evaluate(N % 4, {"N": 10}) == 2
    with pytest.raises(ZeroDivisionError):
        N // 0


@pytest.mark.parametrize(
    ("dim", "text"), [(N, "N"), (N * 64, "64*N"), (N * M - 2, "M*N-2"), (-N, "-N"), (2 - N, "-N+2")]
)
def test_text(dim: Dim, text: str) -> None:
    assert str(dim) == text


operations = st.lists(st.tuples(st.sampled_from("+-*/"), st.integers(1, 9)), max_size=6)


@given(operations, st.integers(0, 50))
def test_symbolic_arithmetic_is_arithmetic(steps: list[tuple[str, int]], size: int) -> None:
    symbolic: Dim = N
    number = size
    for operation, operand in steps:
        if operation == "+":
            symbolic, number = symbolic + operand, number + operand
        elif operation == "-":
            symbolic, number = symbolic - operand, number - operand
        elif operation == "*":
            symbolic, number = symbolic * operand, number * operand
        else:
            symbolic, number = symbolic // operand, number // operand
    assert evaluate(symbolic, {"N": size}) == number


small_shapes = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@given(small_shapes, small_shapes)
def test_broadcasting_is_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ShapeError, match="do not broadcast"):
            broadcast_shapes(a, b)
    else:
        assert broadcast_shapes(a, b) == expected


def test_symbols_broadcast_with_themselves_and_one() -> None:
    assert broadcast_shapes((N, 1), (1, 3), (N, 3)) == (N, 3)
    for other in (M, 4):
        with pytest.raises(ShapeError, match="axis -1"):
            broadcast_shapes((N,), (other,))


def test_avals_print_as_on_wires_and_take_sizes() -> None:
    aval = Aval((N, 64, 8, 8), float32)
    assert str(aval) == "N×64×8×8 f32"
    assert str(Aval((), float32)) == "f32"
    assert aval.size == N * 4096
    assert aval.nbytes == N * 16384
    assert substitute(aval, {"N": 2}).shape == (2, 64, 8, 8)
    assert element_count(()) == 1
    assert symbols_of((N, (M - 1) // 2)) == {"N", "M"}
